"""Windows in time: every plan gives what the definitions say, on stored rows.

The same queries as streams, with batches and restarts, are in test_streaming.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from compiled import collected, frame_of, job_of, module_of, stream_ddl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import WindowQuery, evaluate, same
from streams import COLUMNS, TYPES, queries_with_rows

PACKETS = stream_ddl("s", TYPES, "5 SECONDS", "connector = 'file', format = 'json', path = 'x'")


def results(spark: Any, text: str, rows: list[dict[str, Any]], plan: str) -> list[dict[str, Any]]:
    job = job_of(f"{PACKETS}{text};", plan)
    return collected(module_of(job).query_1(frame_of(spark, rows, TYPES)))


@pytest.mark.spark
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(queries_with_rows, st.sampled_from(["wid", "paned"]))
def test_plans_give_what_the_definitions_say(
    spark: Any, case: tuple[WindowQuery, list[dict[str, Any]]], plan: str
) -> None:
    query, rows = case
    found = results(spark, query.sql("s"), rows, plan)
    assert same(found, evaluate(query, rows, COLUMNS)) is None, (query.sql("s"), plan)
