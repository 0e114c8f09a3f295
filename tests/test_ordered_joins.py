"""Results in order of time: whatever the plan, the batches, the skew between streams and the restarts,
they are those of the definition, once each, and in order over the whole output."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from join_oracle import JoinQuery, Side, above, below, equal
from oracle import Row, same
from running import run_text, write_rows
from streams import MS, SECOND, START, arrivals
from test_joins import (
    ALIASES,
    DELAY_US,
    STREAMS,
    _lengths,
    _rows,
    files_ddl,
    run_with_a_restart,
    timed,
)

PLANS = ("sync-filter", "filter-order", "adaptive")


@st.composite
def ordered_queries(draw: st.DrawFn) -> JoinQuery:
    number = draw(st.sampled_from([2, 2, 3]))
    kind = draw(st.sampled_from(["within", "within", "sliding", "tumbling"]))
    sides = [Side("s", "a", range_us=draw(_lengths))]
    for at in range(1, number):
        b, other = ALIASES[at], draw(st.integers(0, at - 1))
        on = []
        if draw(st.sampled_from([True, True, True, False])):
            on.append(equal(ALIASES[other], b, "k", "k", other))
        if draw(st.booleans()):
            on.append(below(ALIASES[other], b, "v", other))
        if draw(st.sampled_from([True, False, False])):
            on.append(above(b, "v", 0))
        stream = draw(st.sampled_from(STREAMS[: at + 1]))
        sides.append(Side(stream, b, ",", tuple(on), draw(_lengths)))
    times = [f"{a}.ts" for a in ALIASES[:number]]
    order = draw(
        st.sampled_from([f"greatest({', '.join(times)})", "a.ts", f"{times[-1]}, a.v DESC"])
    )
    if kind == "within" and draw(st.booleans()):
        order = ""
    return JoinQuery(
        tuple(sides),
        ("k", "v", "ts"),
        tumbling_us=draw(st.sampled_from([SECOND, 2_500 * MS])) if kind == "tumbling" else None,
        within_us=draw(_lengths) if kind == "within" else None,
        order=order,
    )


def order_of(query: JoinQuery, row: Row) -> Any:
    """What a result is ordered by."""
    times = {s.alias: row[f"{s.alias}_ts"] for s in query.sides}
    if not query.order or query.order.startswith("greatest"):
        return max(times.values())
    key, _, then = query.order.partition(", ")
    if not then:
        return times[key[0]]
    value = row["a_v"]  # descending, NULL last
    return times[key[0]], (1, 0) if value is None else (0, -value)


@pytest.mark.spark
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_ordered_joins_give_what_the_definition_says(spark: Any, data: st.DataObject) -> None:
    """Random joins over random streams, each in batches of its own, with a restart in the middle."""
    query, plan = data.draw(ordered_queries()), data.draw(st.sampled_from(PLANS))
    names = sorted({s.stream for s in query.sides})
    rows = {name: data.draw(_rows, label=name) for name in names}
    batches = {name: data.draw(arrivals(rows[name], DELAY_US)) for name in names}
    restart = data.draw(st.integers(0, max(map(len, batches.values()))))
    found = run_with_a_restart(query, batches, restart, plan)
    seen = (query.sql(), plan, batches, restart)
    assert same(found, query.evaluate(rows)) is None, seen
    keys = [order_of(query, row) for row in found]
    assert keys == sorted(keys), seen


@pytest.mark.spark
def test_time_alone_wakes_what_is_due(spark: Any, tmp_path: Path) -> None:
    """Each batch has rows of one key, so that other buckets release theirs by timers only, which
    know milliseconds: results in between come neither too early nor too late."""
    chance, text, rows = random.Random(5), "", {}
    for name in ("s", "t"):
        times = sorted(START + chance.randrange(30_000) for _ in range(84))
        rows[name] = [{"k": f"k{at // 12 % 3}", "v": at, "ts": ts} for at, ts in enumerate(times)]
        for at in range(7):
            part = rows[name][at * 12 : (at + 1) * 12]
            write_rows(tmp_path / name / f"{at}.json", part, at)
        text += files_ddl(name, tmp_path / name).replace("5 SECONDS", "0 SECONDS")
    query = JoinQuery(
        (Side("s", "a"), Side("t", "b", ",", (equal("a", "b", "k", "k", 0),))),
        ("k", "v", "ts"),
        within_us=4_000,
    )
    found = timed(run_text(f"{text}{query.sql()};", "filter-order", until_done=True).rows)
    assert same(found, query.evaluate(rows)) is None
    times = [max(row["a_ts"], row["b_ts"]) for row in found]
    assert len(times) > 300
    assert times == sorted(times)
