"""Windows in time: every plan gives what the definitions say, on stored rows.

The same queries as streams, with batches and restarts, are in test_streaming.py.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import ceil
from operator import xor
from typing import Any

import pytest
from compiled import collected, frame_of, job_of, module_of, stream_ddl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import WindowQuery, evaluate, same
from streams import COLUMNS, SECOND, TYPES, queries_with_rows

PACKETS = stream_ddl("s", TYPES, "5 SECONDS", "connector = 'file', format = 'json', path = 'x'")


def results(spark: Any, text: str, rows: list[dict[str, Any]], plan: str) -> list[dict[str, Any]]:
    job = job_of(f"{PACKETS}{text};", plan)
    return collected(module_of(job).query_1(frame_of(spark, rows, TYPES)))


@pytest.mark.spark
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(queries_with_rows, st.sampled_from(["wid", "paned", "rolling", "adaptwid"]))
def test_plans_give_what_the_definitions_say(
    spark: Any, case: tuple[WindowQuery, list[dict[str, Any]]], plan: str
) -> None:
    query, rows = case
    found = results(spark, query.sql("s"), rows, plan)
    assert same(found, evaluate(query, rows, COLUMNS)) is None, (query.sql("s"), plan)


# ------------------------------------------------------------------ aggregates that rows like these
# do not try: large offsets, decimals, ties, arrays, sketches

WIDE = {
    "k": "STRING", "big": "DOUBLE", "price": "DECIMAL(10, 2)", "v": "INT", "m": "INT", "day": "DATE",
    "ts": "TIMESTAMP",
}  # fmt: skip
START = 1_767_225_600_000_000


def wide_rows(n: int) -> list[dict[str, Any]]:
    made = random.Random(4)
    return [
        {
            "k": made.choice("ab"),
            "big": 1e9 + made.random(),
            "price": Decimal(made.randrange(-10_000, 10_000)) / 100
            if made.random() < 0.9
            else None,
            "v": made.choice([1, 2, 3, None]),
            "m": made.randrange(3_000),
            "day": date(2026, 1, 1) + timedelta(days=made.randrange(30)),
            "ts": START + made.randrange(10) * SECOND,  # many ties
        }
        for _ in range(n)
    ]


def in_windows(rows: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """RANGE 6 s, SLIDE 2 s: rows by the end of their windows, in row order."""
    columns = [c for c in WIDE if c != "ts"]

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        return (
            row["ts"],
            *((row[c] is not None, row[c] or 0) if c != "day" else row[c] for c in columns),
        )

    windows: dict[int, list[dict[str, Any]]] = {}
    for end in range(START, START + 20 * SECOND, 2 * SECOND):
        members = [r for r in rows if end - 6 * SECOND <= r["ts"] < end]
        if members:
            windows[end] = sorted(members, key=place)
    return windows


def one_window(spark: Any, rows: list[dict[str, Any]], plan: str, aggregate: str) -> dict[int, Any]:
    ddl = stream_ddl("s", WIDE, "5 SECONDS", "connector = 'file', format = 'json', path = 'x'")
    job = job_of(f"{ddl}SELECT {aggregate} AS a [RANGE 6 seconds, SLIDE 2 seconds] FROM s;", plan)
    shuffled = random.Random(plan).sample(rows, len(rows))
    frame = frame_of(spark, shuffled, WIDE).repartition(3)
    return {r["window_end"]: r["a"] for r in collected(module_of(job).query_1(frame))}


def values(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [r[name] for r in rows if r[name] is not None]


def approximate(expected: float) -> Any:
    return pytest.approx(expected, rel=0.06)


EXPECTED: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "stddev(big)": lambda rows: pytest.approx(statistics.stdev(values(rows, "big")), rel=1e-6),
    "var_pop(DISTINCT v)": lambda rows: pytest.approx(
        statistics.pvariance(set(values(rows, "v"))), rel=1e-9
    ),
    "sum(price)": lambda rows: sum(values(rows, "price")),
    "avg(price)": lambda rows: round(
        sum(values(rows, "price")) / len(values(rows, "price")) + Decimal("1e-20"), 6
    ),
    "sum(DISTINCT price)": lambda rows: sum(set(values(rows, "price"))),
    "first(v)": lambda rows: rows[0]["v"],
    "last(v)": lambda rows: rows[-1]["v"],
    "first(v, true)": lambda rows: values(rows, "v")[0],
    "last(v) IGNORE NULLS": lambda rows: values(rows, "v")[-1],
    "max_by(m, v)": lambda rows: max(
        ((r["v"], i) for i, r in enumerate(rows) if r["v"] is not None),
    ),
    "collect_list(v)": lambda rows: values(rows, "v"),
    "count(DISTINCT k, v)": lambda rows: len({(r["k"], r["v"]) for r in rows if r["v"] is not None}),
    "percentile(m, array(0.0, 0.25, 1.0))": lambda rows: [
        pytest.approx(q) for q in quantiles(values(rows, "m"), (0, 0.25, 1))
    ],
    "approx_percentile(m, array(0.1, 0.9))": lambda rows: [
        sorted(values(rows, "m"))[ceil(len(rows) * p) - 1] for p in (Fraction(1, 10), Fraction(9, 10))
    ],
    "approx_percentile(ts, 0.5)": lambda rows: sorted(values(rows, "ts"))[ceil(len(rows) / 2) - 1],
    "approx_percentile(day, 0.5)": lambda rows: sorted(values(rows, "day"))[ceil(len(rows) / 2) - 1],
    "approx_percentile(v, 0.5) FILTER (WHERE v > 5)": lambda rows: None,
    "approx_count_distinct(m)": lambda rows: approximate(len(set(values(rows, "m")))),
    "approx_count_distinct(price, 0.01)": lambda rows: approximate(len(set(values(rows, "price")))),
    "bit_xor(m)": lambda rows: reduce(xor, values(rows, "m")),
    "max_by(m, NOT (v > 1))": lambda rows: max(
        ((not r["v"] > 1, i) for i, r in enumerate(rows) if r["v"] is not None),
    ),
    "collect_list(v > 1 OR v > 2)": lambda rows: [
        v > 1 for v in values(rows, "v")
    ],
    "approx_count_distinct(if(v = 1, '', k))": lambda rows: len(
        {"" if r["v"] == 1 else r["k"] for r in rows}
    ),
    "any_value(k)": lambda rows: rows[0]["k"],
    "corr(m, big)": lambda rows: pytest.approx(
        statistics.correlation(values(rows, "m"), [b - 1e9 for b in values(rows, "big")]), abs=1e-6
    ),
}  # fmt: skip


def quantiles(found: list[int], shares: tuple[float, ...]) -> list[float]:
    ordered = sorted(found)
    at = [share * (len(ordered) - 1) for share in shares]
    return [ordered[int(a)] + (ordered[ceil(a)] - ordered[int(a)]) * (a - int(a)) for a in at]


@pytest.mark.spark
@pytest.mark.parametrize("aggregate", EXPECTED)
def test_aggregates(spark: Any, aggregate: str) -> None:
    rows = wide_rows(1_500)
    expected = {end: EXPECTED[aggregate](members) for end, members in in_windows(rows).items()}
    if aggregate.startswith("max_by"):
        windows = in_windows(rows)
        expected = {end: windows[end][at]["m"] for end, (_, at) in expected.items()}
    plans = ["wid"] if aggregate.startswith("corr") else ["wid", "paned"]
    found = [one_window(spark, rows, plan, aggregate) for plan in plans]
    for one in found:
        assert one == expected
    if aggregate.startswith("approx"):
        assert found[0] == found[1]  # not only nearly
