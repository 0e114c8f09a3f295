"""What is known of streams: where each figure comes from, and what is kept of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssql.compiler.pipeline import check
from ssql.compiler.source import Source
from ssql.planner import remembered, statistics
from ssql.planner.catalog import Stream
from ssql.planner.cost.workload import workload_of
from ssql.planner.cost.zipf import distinct_behind, expected_distinct
from ssql.planner.logical import Aggregate, walk
from ssql.planner.statistics import (
    ASSUMED,
    DECLARED,
    LEARNED,
    NOTHING_KNOWN,
    SAMPLED,
    Figure,
    Memory,
    Observed,
    Run,
    memory_of,
)


def ddl(options: str = "", name: str = "m") -> str:
    return (
        f"CREATE STREAM {name} (srcIP STRING, destIP STRING, len INT, ts TIMESTAMP,"
        " WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)"
        f" WITH (connector = 'file', format = 'json', path = 'in'{options});"
    )


def stream_of(options: str = "") -> Stream:
    checked = check(Source("q.ssql", ddl(options)))
    assert not checked.diagnostics.has_errors
    found = checked.catalog.find("m")
    assert isinstance(found, Stream)
    return found


def aggregate_of(text: str) -> Aggregate:
    checked = check(Source("q.ssql", text))
    assert not checked.diagnostics.has_errors, list(checked.diagnostics)
    found = [n for n in walk(checked.program.queries[0].plan) if isinstance(n, Aggregate)]
    return found[0]


SEEN = Observed(rate=7.0, distinct={"srcip": 70.0, "destip,srcip": 90.0}, skew=0.7, rows=700)
LOOKED_AT = Observed(
    rate=6.0, distinct={"srcip": 60.0, "len": 66.0}, skew=0.6, row_bytes=61.0, rows=600
)


def test_declared_before_learned_before_sampled_before_assumed() -> None:
    memory = NOTHING_KNOWN.with_sampled("M", LOOKED_AT).with_learned("m", SEEN)
    figures = memory.figures(stream_of(", stats.rate = 8, stats.distinct.destIP = 80"))
    assert figures.rate == Figure(8.0, DECLARED)
    assert figures.skew == Figure(0.7, LEARNED)
    assert figures.row_bytes == Figure(61.0, SAMPLED)
    assert figures.distinct_of("srcIP") == Figure(70.0, LEARNED)
    assert figures.distinct_of("len") == Figure(66.0, SAMPLED)
    assert figures.distinct_of("destIP") == Figure(80.0, DECLARED)
    assert figures.distinct_of("ts").origin == ASSUMED
    assert figures.disorder_seconds == Figure(5.0, ASSUMED)


def test_nothing_is_known_of_a_new_stream() -> None:
    figures = NOTHING_KNOWN.figures(stream_of())
    origins = {figures.rate.origin, figures.skew.origin, figures.batch_rows.origin}
    assert origins == {ASSUMED} and figures.groups is None
    assert figures.row_bytes.value == 20 + 20 + 4 + 8


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    run = Run(
        plan="paned", rows=9, seconds=1.5, batches=2, batch_seconds=0.7, state_rows=3, state_bytes=4
    )
    memory = Memory(sampled={"m": LOOKED_AT}, learned={"m": SEEN}, runs={"query_1": run})
    file = str(tmp_path / "traffic.ssql")
    assert remembered.load(file) == NOTHING_KNOWN
    assert remembered.save(file, memory) == tmp_path / ".traffic.stats.json"
    assert remembered.load(file) == memory
    assert [p.name for p in tmp_path.iterdir()] == [".traffic.stats.json"]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"format": 99, "streams": {}}', '{"format": 1, "streams": 3}',
        '{"format": 1, "streams": {"m": {"guessed": {}}}}',
        '{"format": 1, "streams": {"m": {"learned": {"rate": "fast"}}}}',
        '{"format": 1, "streams": {"m": {"learned": {"speed": 3}}}}',
    ],
)  # fmt: skip
def test_a_damaged_file_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        memory_of(text)


# ------------------------------------------------------------------ declarations


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("stats.rte = 5", "there is no statistic rte"),
        ("stats.rate = 0", "stats.rate takes rows a second, above 0"),
        ("stats.rate = 'fast'", "stats.rate takes rows a second, above 0"),
        ("stats.groups = true", "stats.groups takes a number of groups, from 1 on"),
        ("stats.skew = 6", "stats.skew takes Zipf's exponent, from 0 (none) to 5"),
        ("stats.distinct.nobody = 5", "there is no column nobody"),
        ("stats.distinct.srcIP = 0", "stats.distinct.srcIP takes a number of values, from 1 on"),
    ],
)
def test_what_cannot_be_declared(option: str, said: str) -> None:
    found = list(check(Source("q.ssql", ddl(f", {option}"))).diagnostics)
    assert [d.message for d in found] == [said]
    assert found[0].helps


def test_every_statistic_can_be_declared() -> None:
    values = ", ".join(f"{name} = 2" for name in statistics.names() if not name.endswith("COLUMN"))
    figures = NOTHING_KNOWN.figures(stream_of(f", {values}"))
    known = (figures.rate, figures.skew, figures.row_bytes, figures.batch_rows)
    assert {f.origin for f in known} == {DECLARED}
    assert figures.groups == Figure(2.0, DECLARED)


# ------------------------------------------------------------------ what comes into an aggregate

BY_SOURCE = "SELECT srcIP, count(*) [RANGE 4 minutes, SLIDE 1 minute] FROM {} GROUP BY srcIP;"


def groups_of(text: str, memory: Memory = NOTHING_KNOWN) -> Figure:
    return workload_of(aggregate_of(text), memory).groups


def test_groups_by_their_columns() -> None:
    options = ", stats.distinct.srcIP = 50, stats.distinct.destIP = 4"
    assert groups_of(ddl(options) + BY_SOURCE.format("m")) == Figure(50.0, DECLARED)
    both = "SELECT srcIP, destIP, count(*) [RANGE 1 minute] FROM m GROUP BY srcIP, destIP;"
    assert groups_of(ddl(options) + both).value == 200.0
    assert groups_of(ddl(", stats.groups = 9") + both) == Figure(9.0, DECLARED)
    seen = NOTHING_KNOWN.with_learned("m", SEEN)
    assert groups_of(ddl() + both, seen) == Figure(90.0, LEARNED)
    assert groups_of(ddl() + "SELECT count(*) [RANGE 1 minute] FROM m;").value == 1.0


def test_groups_through_views_and_unions() -> None:
    text = (
        ddl(", stats.distinct.srcIP = 50, stats.rate = 10")
        + ddl(", stats.distinct.srcIP = 70, stats.rate = 20", "n")
        + "CREATE VIEW v AS SELECT srcIP AS who, ts FROM m WHERE len > 3;"
    )
    of_view = "SELECT who, count(*) [RANGE 1 minute, WA ts] FROM v GROUP BY who;"
    assert groups_of(text + of_view) == Figure(50.0, DECLARED)
    load = workload_of(aggregate_of(text + BY_SOURCE.format("m UNION n")), NOTHING_KNOWN)
    assert (load.rate.value, load.groups.value) == (30.0, 70.0)
    assert set(load.streams) == {"m", "n"}


def test_results_of_windows_are_rows_of_others() -> None:
    inner = "SELECT srcIP, count(*) AS n [RANGE 1 minute] FROM m GROUP BY srcIP"
    text = ddl(", stats.rate = 1000, stats.distinct.srcIP = 30") + (
        f"SELECT srcIP, max(n) AS top [RANGE 1 hour, SLIDE 1 minute] FROM ({inner}) AS c"
        " GROUP BY srcIP;"
    )
    load = workload_of(aggregate_of(text), NOTHING_KNOWN)
    assert math.isclose(load.rate.value, 30 / 60, rel_tol=0.01)
    assert load.groups == Figure(30.0, DECLARED)


# ------------------------------------------------------------------ values among rows


@given(st.floats(1, 1e7), st.floats(1, 1e6), st.floats(0, 3))
def test_distinct_values_are_bounded(rows: float, of: float, skew: float) -> None:
    found = expected_distinct(rows, of, skew)
    assert 0 < found <= min(rows, of) * 1.0001
    assert found <= expected_distinct(2 * rows, of, skew) * 1.0001
    assert found <= expected_distinct(rows, of, 0.0) * 1.01  # skew hides values


@given(st.integers(2, 10**6), st.floats(0.2, 30))
def test_what_is_behind_a_sample(of: int, times: float) -> None:
    rows = of * times
    behind = distinct_behind(rows, expected_distinct(rows, of, 0.0))
    assert math.isclose(behind, of, rel_tol=0.06)


def test_a_sample_of_nothing_but_new_values_says_very_many() -> None:
    assert distinct_behind(1_000, 1_000) > 1e6
    assert distinct_behind(0, 0) == 0
