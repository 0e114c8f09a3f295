"""Queries over row, slide-by-tuple and landmark windows and their rows: what holds for all of
them, and which corners they reach."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import sqlglot
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from oracle import Aggregate, Row, instant, same
from row_oracle import ExtentQuery, LandmarkQuery, RowQuery, TupleQuery, evaluate_rows
from row_streams import landmark_queries, row_queries, rows_for_rows, tuple_queries
from sqlglot import exp
from streams import COLUMNS, SECOND

relaxed = settings(deadline=None)
COUNT = Aggregate(name="n", function="count")
some_queries = row_queries() | tuple_queries() | landmark_queries()


def with_rows(queries: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, list[Row]]]:
    return queries.flatmap(lambda q: st.tuples(st.just(q), rows_for_rows(q)))


@relaxed
@given(with_rows(some_queries))
def test_results_do_not_depend_on_arrival(case: tuple[ExtentQuery, list[Row]]) -> None:
    query, rows = case
    expected = evaluate_rows(query, rows, COLUMNS)
    assert same(evaluate_rows(query, rows[::-1], COLUMNS), expected) is None


@relaxed
@given(with_rows(row_queries()))
def test_row_windows_hold_each_row_as_often_as_they_cover_it(
    case: tuple[RowQuery, list[Row]],
) -> None:
    shape, rows = case
    length, slide = shape.range_rows, shape.slide_rows
    query = RowQuery(
        range_rows=length, slide_rows=slide, partition=shape.partition, aggregates=(COUNT,)
    )
    result = evaluate_rows(query, rows, COLUMNS)
    # As many as there are multiples of SLIDE in (n, n + RANGE], for the numbers n of a partition.
    sizes = Counter(tuple(r[c] for c in shape.partition) for r in rows)
    for value, size in sizes.items():
        own = [r for r in result if tuple(r[c] for c in shape.partition) == value]
        assert sum(r["n"] for r in own) == sum(
            (n + length) // slide - n // slide for n in range(size)
        )
        assert all(r["window_end"] - r["window_start"] == length for r in own)


@relaxed
@given(with_rows(tuple_queries()))
def test_tuple_windows_end_where_enough_rows_have_come(
    case: tuple[TupleQuery, list[Row]],
) -> None:
    shape, rows = case
    n, length = shape.slide_rows, shape.range_us
    query = TupleQuery(range_us=length, slide_rows=n, aggregates=(COUNT,))
    times = [r["ts"] for r in rows]
    # A multiple of n is among the numbers of the rows at w.
    expected = {
        w: sum(w - length < ts <= w for ts in times)
        for w in times
        if sum(ts <= w for ts in times) // n > sum(ts < w for ts in times) // n
    }
    assert {r["window_end"]: r["n"] for r in evaluate_rows(query, rows, COLUMNS)} == expected


@relaxed
@given(with_rows(landmark_queries()))
def test_landmark_windows_only_grow(case: tuple[LandmarkQuery, list[Row]]) -> None:
    shape, rows = case
    query = LandmarkQuery(slide_us=shape.slide_us, origin_us=shape.origin_us, aggregates=(COUNT,))
    result = evaluate_rows(query, rows, COLUMNS)
    ends, counts = [r["window_end"] for r in result], [r["n"] for r in result]
    assert counts == sorted(counts) and counts[-1] == len(rows)
    assert ends == list(range(ends[0], ends[-1] + 1, shape.slide_us))
    assert (ends[0] - shape.origin_us) % shape.slide_us == 0
    assert 0 < ends[0] - rows[0]["ts"] <= shape.slide_us
    assert 0 < ends[-1] - rows[-1]["ts"] <= shape.slide_us
    assert len(ends) < 200


@relaxed
@given(some_queries)
def test_texts_are_sql_with_a_window_after_each_aggregate(query: ExtentQuery) -> None:
    plain, clauses = re.subn(r" \[RANGE [^]]+\]", "", query.sql("source"))
    assert clauses == len(query.aggregates)
    select = sqlglot.parse_one(plain, dialect="spark")
    assert isinstance(select, exp.Select)
    assert select.named_selects == [*query.by, *(a.name for a in query.aggregates)]


@relaxed
@given(some_queries.flatmap(lambda q: rows_for_rows(q, null_times=True)))
def test_rows_are_in_the_order_of_time_and_of_our_age(rows: list[Row]) -> None:
    times = [r["ts"] for r in rows if r["ts"] is not None]
    assert times == sorted(times)
    assert all(instant("1970-01-01") < ts < instant("2200-01-01") for ts in times)
    assert all(tuple(r) == COLUMNS for r in rows)


@pytest.mark.parametrize("queries", [row_queries, tuple_queries, landmark_queries])
def test_only_the_functions_asked_for(queries: Any) -> None:
    @relaxed
    @given(queries(functions=("sum", "max")))
    def check(query: ExtentQuery) -> None:
        assert {a.function for a in query.aggregates} <= {"sum", "max"}

    check()


# ---------------------------------------------------------------- corners
@pytest.mark.parametrize(
    ("queries", "condition"),
    [
        (row_queries(), lambda q: q.slide_rows > q.range_rows),
        (row_queries(), lambda q: q.range_rows > q.slide_rows and q.range_rows % q.slide_rows),
        (row_queries(), lambda q: q.partition == ("k", "p") and q.having and q.where),
        (row_queries(), lambda q: q.partition and set(q.keys) - set(q.partition)),
        (tuple_queries(), lambda q: q.order == "rank" and q.slide_rows > 1 and q.partition),
        (landmark_queries(), lambda q: q.origin_us and q.keys and q.having),
    ],
)
def test_queries_reach(queries: st.SearchStrategy[Any], condition: Callable[[Any], object]) -> None:
    assert condition(found_by(queries, condition))


def _steps(rows: list[Row]) -> list[int]:
    return [b["ts"] - a["ts"] for a, b in pairwise(rows)]


def _goes_quiet(rows: list[Row]) -> bool:
    """Some k comes back after two seconds without it, in which another k had rows."""
    for k in {r["k"] for r in rows}:
        for before, after in pairwise([i for i, r in enumerate(rows) if r["k"] == k]):
            silence = rows[after]["ts"] - rows[before]["ts"]
            if silence > 2 * SECOND and after > before + 1:
                return True
    return False


@pytest.mark.parametrize(
    "condition",
    [
        lambda rows: max(_steps(rows), default=0) > 2 * SECOND,
        lambda rows: _steps(rows).count(0) >= 5,
        lambda rows: any(a == b for a, b in pairwise(rows)),
        # One time exactly RANGE after another is where `<` and `<=` differ.
        lambda rows: {r["ts"] + SECOND for r in rows} & {r["ts"] for r in rows},
        _goes_quiet,
    ],
)
def test_rows_of_tuple_windows_reach(condition: Callable[[list[Row]], object]) -> None:
    query = TupleQuery(range_us=SECOND, slide_rows=2, aggregates=(COUNT,))
    assert condition(found_by(rows_for_rows(query), condition))


@pytest.mark.parametrize(
    "condition",
    [
        lambda rows: any(r["ts"] % SECOND == 0 for r in rows[1:]),
        lambda rows: max(_steps(rows), default=0) > 3 * SECOND,
    ],
)
def test_rows_of_landmark_windows_reach(condition: Callable[[list[Row]], object]) -> None:
    query = LandmarkQuery(slide_us=SECOND, aggregates=(COUNT,))
    assert condition(found_by(rows_for_rows(query), condition))


def found_by(strategy: st.SearchStrategy[Any], condition: Callable[[Any], object]) -> Any:
    """The first example that meets a condition; if there is none, hypothesis says so."""
    # The same examples in every run, and no smaller ones: nobody looks at them.
    tries = settings(max_examples=2_000, derandomize=True, database=None, phases=[Phase.generate])
    return find(strategy, lambda found: bool(condition(found)), settings=tries)
