"""Every plan in a run that is killed again and again: nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from oracle import Aggregate, WindowQuery, evaluate, same
from row_oracle import ExtentQuery, LandmarkQuery, RowQuery, TupleQuery, evaluate_rows
from running import write_rows
from streams import PACKET_COLUMNS, SECOND, packets
from test_processes import await_, numbers, packets_ddl, start
from test_run_faults import sink_rows

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
    "paned": SLIDING,
    "rolling": SLIDING,
    "adaptwid": SLIDING,
    "landmark": LandmarkQuery(slide_us=MINUTE, keys=("srcIP",), aggregates=OF_LEN),
    "partitioned": RowQuery(range_rows=25, slide_rows=10, partition=("srcIP",), aggregates=OF_LEN),
    "tuples": TupleQuery(range_us=MINUTE, slide_rows=3, keys=("srcIP",), aggregates=OF_LEN),
}


def insert(name: str, query: WindowQuery | ExtentQuery) -> str:
    select = query.sql("packets")
    if isinstance(query, WindowQuery):
        select = select.replace("SELECT", f"SELECT /*+ PLAN({name}) */", 1)
    return f"INSERT INTO {name} {select};\n"


@pytest.mark.spark
def test_killed_ten_times(tmp_path: Path) -> None:
    """All in one run, while files keep coming; each kill strikes in the middle of a batch of one of
    them. The sinks hold each result once, for readers that do not know Spark's manifest, too."""
    data, checkpoint, file = tmp_path / "in", tmp_path / "checkpoint", tmp_path / "job.ssql"
    data.mkdir()
    sinks = "".join(
        f"CREATE SINK {n} WITH (connector = 'file', format = 'json', path = '{tmp_path}/{n}');\n"
        for n in QUERIES
    )
    inserts = "".join(insert(name, query) for name, query in QUERIES.items())
    file.write_text(packets_ddl(data) + sinks + inserts)
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
        log = checkpoint / f"query_{kill % len(QUERIES) + 1}"
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
    for name, query in QUERIES.items():
        expected = (
            evaluate(query, rows, PACKET_COLUMNS)
            if isinstance(query, WindowQuery)
            else evaluate_rows(query, rows, PACKET_COLUMNS)
        )
        assert same(sink_rows(tmp_path / name), expected) is None, name
