"""Queries as streams: whatever the batches, the order of arrival and the restarts, the results are
those of the definitions, once each."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from compiled import stream_ddl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Aggregate, WindowQuery, evaluate, same
from running import run_text, write_rows
from streams import COLUMNS, SECOND, TYPES, arrivals, queries_with_rows

DELAY_US = 5 * SECOND


def files_ddl(name: str, directory: Path, types: dict[str, str] = TYPES) -> str:
    options = f"connector = 'file', format = 'json', path = '{directory}', maxFilesPerTrigger = 1"
    return stream_ddl(name, types, "5 SECONDS", options)


@pytest.mark.spark
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_streams_give_what_the_definitions_say(spark: Any, data: st.DataObject) -> None:
    """Random queries over random streams, in random batches, with a restart in the middle."""
    query: WindowQuery
    query, rows = data.draw(queries_with_rows)
    batches = data.draw(arrivals(rows, DELAY_US))
    plan = data.draw(st.sampled_from(["wid", "paned", "rolling", "adaptwid"]))
    restart = data.draw(st.integers(0, len(batches)))
    with tempfile.TemporaryDirectory() as directory:
        files, checkpoint = Path(directory) / "in", f"{directory}/checkpoint"
        files.mkdir()
        text = f"{files_ddl('s', files)}{query.sql('s')};"
        found = []
        for part, flush in ((range(restart), False), (range(restart, len(batches)), True)):
            for at in part:
                write_rows(files / f"{at}.json", batches[at], at)
            ran = run_text(text, plan, until_done=True, checkpoint=checkpoint, flush=flush)
            found += ran.rows
            assert ran.summaries[0].late == 0
        assert ran.summaries[0].state_rows == 0
    accepted = [r for r in rows if r["ts"] is None or r["ts"] >= 0]  # streams begin with the epoch
    expected = evaluate(query, accepted, COLUMNS)
    assert same(found, expected) is None, (text, plan, batches, restart)


@pytest.mark.spark
@pytest.mark.parametrize("plan", ["wid", "paned"])
def test_rows_from_before_the_epoch(spark: Any, tmp_path: Path, plan: str) -> None:
    """Spark's watermark begins at the epoch: earlier rows are rejected, and counted as such."""
    times = (-20 * SECOND, -1, 0, 3 * SECOND)
    rows = [{"k": "a", "p": 0, "v": at, "d": 0.5, "ts": ts} for at, ts in enumerate(times)]
    write_rows(tmp_path / "0.json", rows)
    query = WindowQuery(
        range_us=10 * SECOND,
        slide_us=5 * SECOND,
        keys=("k",),
        aggregates=(Aggregate(name="n", function="count"),),
    )
    ran = run_text(f"{files_ddl('s', tmp_path)}{query.sql('s')};", plan, until_done=True)
    assert same(ran.rows, evaluate(query, rows[2:], COLUMNS)) is None
    assert (ran.summaries[0].rejected, ran.summaries[0].late) == (2, 0)
