"""Every plan in a run that is killed again and again: nothing is lost, doubled or out of order."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from oracle import Aggregate, Row, WindowQuery, evaluate, same
from row_oracle import ExtentQuery, LandmarkQuery, RowQuery, TupleQuery, evaluate_rows
from running import write_rows
from streams import PACKET_COLUMNS, SECOND, packets
from test_processes import await_, numbers, packets_ddl, start
from test_run_faults import iso, sink_rows

MINUTE = 60 * SECOND
KILLS = 10
FILES_A_KILL, ROWS_A_FILE = 2, 15
OF_LEN = (
    Aggregate(name="n", function="count"),
    Aggregate(name="top", function="max", column="len"),
    Aggregate(name="latest", function="last", column="len"),
)
SLIDING = WindowQuery(range_us=MINUTE, slide_us=20 * SECOND, keys=("srcIP",), aggregates=OF_LEN)
QUERIES: dict[str, WindowQuery | ExtentQuery] = {
    "rolling": SLIDING,
    "adaptwid": SLIDING,
    "landmark": LandmarkQuery(slide_us=MINUTE, keys=("srcIP",), aggregates=OF_LEN),
    "partitioned": RowQuery(range_rows=25, slide_rows=10, partition=("srcIP",), aggregates=OF_LEN),
    "tuples": TupleQuery(range_us=MINUTE, slide_rows=3, keys=("srcIP",), aggregates=OF_LEN),
}


# Packets and those that go the same way at about the same time. While there is little to do, the
# adaptive plan is sync-filter.
PAIRS = (
    "INSERT INTO {} SELECT /*+ PLAN({}) */ a.srcIP, a.len AS before, b.len AS after,"
    " greatest(a.ts, b.ts) AS ts FROM packets a, packets b"
    " WHERE a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.len < b.len WINDOW 5 seconds;\n"
)
JOINS = {"filter_order": "filter-order", "adaptive": "adaptive"}


def insert(name: str, query: WindowQuery | ExtentQuery) -> str:
    select = query.sql("packets")
    if isinstance(query, WindowQuery):
        select = select.replace("SELECT", f"SELECT /*+ PLAN({name}) */", 1)
    return f"INSERT INTO {name} {select};\n"


@pytest.mark.spark
def test_killed_ten_times(tmp_path: Path) -> None:
    """All in one run. The sinks hold each result once, for readers that do not know Spark's
    manifest, too."""
    inserts = {name: insert(name, query) for name, query in QUERIES.items()}
    inserts |= {name: PAIRS.format(name, plan) for name, plan in JOINS.items()}
    rows = killed_ten_times(tmp_path, inserts)
    for name, query in QUERIES.items():
        expected = (
            evaluate(query, rows, PACKET_COLUMNS)
            if isinstance(query, WindowQuery)
            else evaluate_rows(query, rows, PACKET_COLUMNS)
        )
        assert same(sink_rows(tmp_path / name), expected) is None, name
    check_joins(tmp_path, rows)


def check_joins(directory: Path, rows: list[Row]) -> None:
    pairs = [
        (a, b)
        for a in rows
        for b in rows
        if (a["srcIP"], a["destIP"]) == (b["srcIP"], b["destIP"]) and a["len"] < b["len"]
    ]
    expected = [shown(a, b) for a, b in pairs if abs(a["ts"] - b["ts"]) <= 5 * SECOND]
    assert len(expected) > 20
    for name in JOINS:
        assert same(results_of(sink_rows(directory / name)), expected) is None, name
        times = [row["ts"] for row in results_of(rows_by_batch(directory / name))]
        assert len(times) == len(expected)
        assert times == sorted(times), name


def results_of(found: list[Row]) -> list[Row]:
    """JSON has no column where there is no value."""
    columns = ("srcIP", "before", "after")
    return [{**{c: row.get(c) for c in columns}, "ts": iso(row["ts"])} for row in found]


def shown(a: Row, b: Row) -> Row:
    ts = max(a["ts"], b["ts"])
    return {"srcIP": a["srcIP"], "before": a["len"], "after": b["len"], "ts": ts}


def rows_by_batch(directory: Path) -> list[Row]:
    """As the batches wrote them, one after another. Every tenth list of files repeats those before
    it."""
    lists = (directory / "_spark_metadata").glob("[0-9]*")
    files: dict[Path, None] = {}
    for listed in sorted(lists, key=lambda file: int(file.name.split(".")[0])):
        for line in listed.read_text().splitlines()[1:]:
            files[Path(unquote(urlparse(json.loads(line)["path"]).path))] = None
    return [json.loads(row) for file in files for row in file.read_text().splitlines()]


def killed_ten_times(tmp_path: Path, inserts: dict[str, str]) -> list[Row]:
    """The rows that came. Files keep coming; each kill strikes in the middle of a batch of one of
    the queries."""
    data, checkpoint, file = tmp_path / "in", tmp_path / "checkpoint", tmp_path / "job.ssql"
    data.mkdir()
    sinks = "".join(
        f"CREATE SINK {n} WITH (connector = 'file', format = 'json', path = '{tmp_path}/{n}');\n"
        for n in inserts
    )
    file.write_text(packets_ddl(data) + sinks + "".join(inserts.values()))
    # Whole milliseconds: Spark writes no more of a time into JSON.
    rows = packets(31, ROWS_A_FILE * FILES_A_KILL * (KILLS + 1), minutes=9, grain_us=1_000)
    written = 0

    def more() -> None:
        nonlocal written
        for _ in range(FILES_A_KILL):
            part = rows[written * ROWS_A_FILE : (written + 1) * ROWS_A_FILE]
            write_rows(data / f"{written:03}.json", part, written)
            written += 1

    kills_in_batch = 0
    for kill in range(KILLS):
        log = checkpoint / f"query_{kill % len(inserts) + 1}"
        before = numbers(log / "offsets")
        more()
        run = start(file, "--checkpoint", str(checkpoint))

        def in_a_new_batch(log: Path = log, before: set[int] = before) -> bool:
            planned = numbers(log / "offsets")
            return bool(planned - before) and bool(planned - numbers(log / "commits"))

        await_("a batch", in_a_new_batch, run)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        kills_in_batch += bool(numbers(log / "offsets") - numbers(log / "commits"))
    more()
    run = start(file, "--checkpoint", str(checkpoint), "--until-done", "--flush")
    _, err = run.communicate(timeout=600)
    assert run.returncode == 0, err
    assert kills_in_batch >= KILLS // 2
    return rows
