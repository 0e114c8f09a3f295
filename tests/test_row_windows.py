"""Landmark, row and slide-by-tuple windows: stored or as streams, whatever the batches, the order of
arrival and the restarts, the results are those of the definitions, once each."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from compiled import collected, frame_of, job_of, module_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import same
from row_oracle import evaluate_rows
from row_streams import landmark_queries, row_queries, rows_for_rows, tuple_queries
from running import run_text, write_rows
from streams import COLUMNS, TYPES, arrivals
from test_streaming import DELAY_US, files_ddl

_KINDS = {"landmark": landmark_queries(), "rows": row_queries(), "tuples": tuple_queries()}


@pytest.mark.spark
@pytest.mark.parametrize("kind", list(_KINDS))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_stored_rows_give_what_the_definitions_say(
    spark: Any, kind: str, data: st.DataObject
) -> None:
    query = data.draw(_KINDS[kind])
    rows = data.draw(rows_for_rows(query, null_times=kind != "rows"))
    ddl = files_ddl("s", Path("x"))
    job = job_of(f"{ddl}{query.sql('s')};")
    found = collected(module_of(job).query_1(frame_of(spark, rows, TYPES)))
    assert same(found, evaluate_rows(query, rows, COLUMNS)) is None, query.sql("s")


@pytest.mark.spark
@pytest.mark.parametrize("kind", list(_KINDS))
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_streams_give_what_the_definitions_say(spark: Any, kind: str, data: st.DataObject) -> None:
    """Random queries over random streams, in random batches, with a restart in the middle."""
    query = data.draw(_KINDS[kind])
    rows = data.draw(rows_for_rows(query))
    batches = data.draw(arrivals(rows, DELAY_US))
    restart = data.draw(st.integers(0, len(batches)))
    with tempfile.TemporaryDirectory() as directory:
        files, checkpoint = Path(directory) / "in", f"{directory}/checkpoint"
        files.mkdir()
        text = f"{files_ddl('s', files)}{query.sql('s')};"
        found = []
        for part, flush in ((range(restart), False), (range(restart, len(batches)), True)):
            for at in part:
                write_rows(files / f"{at}.json", batches[at], at)
            ran = run_text(text, until_done=True, checkpoint=checkpoint, flush=flush)
            found += ran.rows
            assert ran.summaries[0].late == 0
        if kind != "landmark":
            assert ran.summaries[0].state_rows == 0
    expected = evaluate_rows(query, rows, COLUMNS)
    assert same(found, expected) is None, (text, batches, restart)
