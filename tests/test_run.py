"""`ssql run`: formats, sources that do not end, generated rows, settings."""

from __future__ import annotations

import csv
import json
import socketserver
import threading
from pathlib import Path
from typing import Any

import pytest
from compiled import job_of
from oracle import instant
from running import run_text
from streams import SECOND

from ssql.cli import main
from ssql.runtime import session
from ssql.runtime.run import Options, Runner

pytestmark = pytest.mark.spark
STORED = """
CREATE TABLE t (id INT, name STRING, at TIMESTAMP, local TIMESTAMP_NTZ, seen ARRAY<TIMESTAMP>,
  more STRUCT<at: TIMESTAMP, n: INT>, days MAP<STRING, TIMESTAMP>, ratio DOUBLE, `odd ``name` STRING)
WITH (connector = 'file', format = 'parquet', path = '{path}');
SELECT * FROM t WHERE id = 1; SELECT id, at FROM t WHERE id = 2;
"""


@pytest.fixture(scope="module")
def stored(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("stored") / "t"
    times = "TIMESTAMP '2026-01-01 00:00:00'", "TIMESTAMP '2026-01-01 00:00:00.25'"
    spark.range(1, 3).selectExpr(
        "CAST(id AS INT) AS id",
        "if(id = 1, 'a \"b\", c', NULL) AS name",
        f"{times[0]} AS at",
        "TIMESTAMP_NTZ '2026-01-01 00:00:00.5' AS local",
        f"array({times[1]}, NULL) AS seen",
        f"named_struct('at', {times[0]}, 'n', 1) AS more",
        f"map('k', {times[1]}) AS days",
        "CAST('NaN' AS DOUBLE) AS ratio",
        "'x' AS `odd ``name`",
    ).write.parquet(str(path))
    return STORED.replace("{path}", str(path))


def shown(file: Path, text: str, format: str, capsys: pytest.CaptureFixture[str]) -> str:
    file.write_text(text)
    assert main(["run", str(file), "--until-done", "--format", format]) == 0
    return capsys.readouterr().out


def test_jsonl(stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(tmp_path / "q.ssql", stored, "jsonl", capsys).splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "_query": 1,
            "id": 1,
            "name": 'a "b", c',
            "at": "2026-01-01T00:00:00Z",
            "local": "2026-01-01T00:00:00.5",
            "seen": ["2026-01-01T00:00:00.25Z", None],
            "more": {"at": "2026-01-01T00:00:00Z", "n": 1},
            "days": {"k": "2026-01-01T00:00:00.25Z"},
            "ratio": "NaN",
            "odd `name": "x",
        },
        {"_query": 2, "id": 2, "at": "2026-01-01T00:00:00Z"},
    ]


def test_csv(stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = stored.rsplit("SELECT", 1)
    rows = list(csv.reader(shown(tmp_path / "q.ssql", first, "csv", capsys).splitlines()))
    assert rows[0][:3] == ["id", "name", "at"]
    assert rows[1][:3] == ["1", 'a "b", c', "2026-01-01 00:00:00"]
    assert json.loads(rows[1][4]) == ["2026-01-01T00:00:00.25Z", None]
    alone = stored.split("SELECT")[0] + "SELECT" + second
    assert shown(tmp_path / "q.ssql", alone, "csv", capsys) == "id,at\n2,2026-01-01 00:00:00\n"


def test_table(stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = stored.split("SELECT")[0] + "SELECT id, name FROM t;"
    lines = shown(tmp_path / "q.ssql", text, "table", capsys).splitlines()
    assert lines == ["id  name", "──  ────────", '1   a "b", c', "2   NULL"]


def test_stored_rows_keep_their_order(
    stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = stored.split("SELECT")[0] + "SELECT id FROM t ORDER BY id DESC;"
    assert shown(tmp_path / "q.ssql", text, "table", capsys).split() == ["id", "──", "2", "1"]


def test_times_are_utc_in_any_zone(
    spark: Any, stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "SET spark.sql.session.timeZone = 'America/New_York';" + stored.rsplit("SELECT", 1)[0]
    try:
        row = json.loads(shown(tmp_path / "q.ssql", text, "jsonl", capsys))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row["at"] == "2026-01-01T00:00:00Z"
    assert row["seen"] == ["2026-01-01T00:00:00.25Z", None]


# ------------------------------------------------------------------ sources


def until(text: str, rows: int, plan: str | None = None) -> list[dict[str, Any]]:
    """Run without an end, and stop when there are so many rows."""
    lines: list[str] = []
    runner: Runner

    def write(chunk: str) -> None:
        lines.extend(chunk.splitlines())
        if len(lines) >= rows:
            runner.stop()

    runner = Runner(job_of(text, plan), Options(format="jsonl"), write, lambda text: None)
    deadline = threading.Timer(120, runner.stop)
    deadline.start()
    runner.run()
    deadline.cancel()
    assert len(lines) >= rows
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("plan", ["wid", "paned"])
def test_rows_in_real_time(spark: Any, plan: str) -> None:
    found = until(
        "CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND)"
        " WITH (connector = 'datagen', rate = 50, keys = 2);"
        "SELECT k, count(*) AS n [RANGE 2 seconds, SLIDE 1 second] FROM s GROUP BY k;",
        4,
        plan,
    )
    assert {r["k"] for r in found} == {"key_0", "key_1"}
    assert all(1 <= r["n"] <= 100 for r in found)


def test_rate(spark: Any) -> None:
    found = until(
        "CREATE STREAM ticks (value BIGINT, timestamp TIMESTAMP, WATERMARK FOR timestamp AS timestamp)"
        " WITH (connector = 'rate', rowsPerSecond = 10); SELECT value % 2 AS odd, value FROM ticks;",
        10,
    )
    assert sorted(r["value"] for r in found)[:10] == list(range(10))
    assert all(r["odd"] == r["value"] % 2 for r in found)


class _Lines(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for n in range(5):
            self.wfile.write(f'{{"n": {n}, "ts": "2026-01-01T00:00:0{n}Z"}}\n'.encode())
        self.wfile.write(b"not JSON\n")
        self.wfile.flush()
        self.rfile.read()  # until the other end has seen enough


def test_socket(spark: Any) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Lines) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = until(
            "CREATE STREAM s (n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'socket',"
            f" host = '127.0.0.1', port = {server.server_address[1]}); SELECT n FROM s;",
            5,
        )
        server.shutdown()
    assert sorted(r["n"] for r in found) == [0, 1, 2, 3, 4]


DATAGEN = (
    "CREATE STREAM s (ip STRING, k STRING, n INT, b BOOLEAN, d DECIMAL(9, 2), day DATE, l ARRAY<INT>,"
    " ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 3 SECONDS) WITH (connector = 'datagen',"
    " rows = 1000, rate = 100, keys = 4, skew = 2, disorder = 3, nulls = 0.1, integers = 50, seed = {seed},"
    " batch = {batch}); SELECT * FROM s;"
)


def test_generated_rows(spark: Any) -> None:
    """Seeded: the same rows every time, however many are read at once."""
    rows = [
        sorted(
            map(json.dumps, run_text(DATAGEN.format(seed=seed, batch=batch), until_done=True).rows)
        )
        for seed, batch in ((1, 1000), (1, 400), (2, 1000))
    ]
    assert rows[0] == rows[1] != rows[2]
    found = [json.loads(r) for r in rows[0]]
    assert len(found) == 1000
    keys = [r["k"] for r in found if r["k"]]
    assert set(keys) == {f"key_{i}" for i in range(4)}
    assert keys.count("key_0") > 2 * keys.count("key_3")
    assert {r["ip"] for r in found if r["ip"]} == {f"10.0.0.{i}" for i in range(4)}
    assert 50 < sum(r["n"] is None for r in found) < 150
    assert all(0 <= r["n"] < 50 for r in found if r["n"] is not None)
    start = instant("2026-01-01 00:00:00")
    assert all(start - 3 * SECOND <= r["ts"] < start + 10 * SECOND for r in found)
    assert all(r["l"] is None for r in found)


def test_settings() -> None:
    """Ours, then a checkpoint's, then the user's."""
    chosen = session.settings("local[3]", {}, set(), {})
    assert chosen["spark.sql.shuffle.partitions"] == "3"
    assert chosen["spark.sql.session.timeZone"] == "UTC"
    kept = session.settings("local[3]", {}, set(), {"spark.sql.shuffle.partitions": "8"})
    assert kept["spark.sql.shuffle.partitions"] == "8"
    given = session.settings(
        "local[3]",
        {"spark.sql.shuffle.partitions": "5"},
        {"kafka"},
        {"spark.sql.shuffle.partitions": "8"},
    )
    assert given["spark.sql.shuffle.partitions"] == "5"
    assert given["spark.jars.packages"].startswith("org.apache.spark:spark-sql-kafka-0-10_2.13:")
    own = session.settings("local", {"spark.jars": "/jars/spark-sql-kafka.jar"}, {"kafka"}, {})
    assert "spark.jars.packages" not in own
    cluster = session.settings("spark://host:7077", {}, set(), {})
    assert "spark.driver.host" not in cluster
