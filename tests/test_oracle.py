"""The oracle against values worked out by hand, and the streams against what they promise."""

from __future__ import annotations

import re
from typing import Any

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import (
    Aggregate,
    Condition,
    Row,
    WindowQuery,
    evaluate,
    evaluate_instants,
    extents,
    instant,
    instant_text,
    same,
)
from sqlglot import exp
from streams import (
    COLUMNS,
    PACKET_COLUMNS,
    SECOND,
    arrivals,
    late,
    packet_rows,
    packets,
    queries_with_rows,
    rows_for,
    time_queries,
)

relaxed = settings(deadline=None)
COUNT = Aggregate(name="n", function="count")


def query(range_s: float, slide_s: float, *aggregates: Aggregate, **more: Any) -> WindowQuery:
    return WindowQuery(
        range_us=round(range_s * SECOND),
        slide_us=round(slide_s * SECOND),
        aggregates=aggregates or (COUNT,),
        **more,
    )


def at(*seconds: float) -> list[dict[str, Any]]:
    return [{"ts": round(s * SECOND)} for s in seconds]


def counted(q: WindowQuery, rows: list[dict[str, Any]]) -> list[tuple[float, float, int]]:
    return [
        (r["window_start"] / SECOND, r["window_end"] / SECOND, r["n"]) for r in evaluate(q, rows)
    ]


def value(function: str, values: list[Any], *arguments: Any, **more: Any) -> Any:
    """The aggregate of one window that holds the values in this order."""
    rows = [{"v": v, "ts": i, "in": 1} for i, v in enumerate(values)]
    # One more row, which the aggregate does not take: a window without rows has no result.
    rows.append({"v": 99, "ts": len(values), "in": 0})
    aggregate = Aggregate(
        name="x",
        function=function,
        column="v",
        arguments=arguments,
        where=Condition(column="in", operator="=", value=1),
        **more,
    )
    (row,) = evaluate(query(1, 1, aggregate), rows)
    return row["x"]


def test_an_extent_has_its_start_and_not_its_end() -> None:
    assert counted(query(10, 10), at(0, 9.999999, 10)) == [(0, 10, 2), (10, 20, 1)]


def test_a_row_is_in_every_extent_that_covers_it() -> None:
    assert counted(query(3, 1), at(5)) == [(3, 6, 1), (4, 7, 1), (5, 8, 1)]


def test_a_range_that_is_no_multiple_of_the_slide() -> None:
    # Every second half minute is in two extents, the others in one.
    assert counted(query(90, 60), at(20, 40)) == [(-30, 60, 2), (30, 120, 1)]
    assert counted(query(90, 60), at(30)) == [(-30, 60, 1), (30, 120, 1)]


def test_rows_between_extents_are_in_none() -> None:
    assert counted(query(2, 5), at(0, 2.999999, 3, 4.999999, 5, 8)) == [(3, 5, 2), (8, 10, 1)]


def test_long_gaps_give_no_rows() -> None:
    days = 86_400
    assert counted(query(2, 1), at(0, 300 * days)) == [
        (-1, 1, 1),
        (0, 2, 1),
        (300 * days - 1, 300 * days + 1, 1),
        (300 * days, 300 * days + 2, 1),
    ]


def test_origins_and_times_before_the_epoch() -> None:
    assert counted(query(10, 10), at(-0.000001, -10, 0)) == [(-10, 0, 2), (0, 10, 1)]
    late_origin = query(10, 10, origin_us=1_000_007 * SECOND)
    assert counted(late_origin, at(6.5, 7)) == [(-3, 7, 1), (7, 17, 1)]


@given(
    st.lists(st.integers(-60, 60), min_size=1, max_size=6),
    st.integers(1, 25),
    st.integers(1, 25),
    st.integers(-30, 30),
)
def test_extents_are_those_of_the_definition(
    times: list[int], length: int, slide: int, origin: int
) -> None:
    ends = [origin + k * slide for k in range(-200, 201)]
    assert extents(times, range_us=length, slide_us=slide, origin_us=origin) == [
        e for e in ends if any(e - length <= ts < e for ts in times)
    ]


def test_several_ranges_share_the_ends_and_the_start_of_the_longest() -> None:
    short = Aggregate(name="short", function="sum", column="v", range_us=SECOND)
    long = Aggregate(name="long", function="sum", column="v")
    rows: list[Row] = [
        {"k": "a", "v": 1, "ts": 0},
        {"k": "a", "v": 10, "ts": SECOND},
        {"k": "b", "v": 100, "ts": SECOND},
    ]
    result = evaluate(query(2, 1, short, long, keys=("k",)), rows)
    expected = [
        (-1, 1, "a", 1, 1),
        (0, 2, "a", 10, 11),
        (0, 2, "b", 100, 100),
        (1, 3, "a", None, 10),
        (1, 3, "b", None, 100),
    ]
    names = ("window_start", "window_end", "k", "short", "long")
    assert [tuple(r[n] for n in names) for r in result] == [
        (s * SECOND, e * SECOND, *rest) for s, e, *rest in expected
    ]
    # The query's RANGE counts only where an aggregate uses it.
    (row,) = evaluate(query(50, 1, short), rows[:1])
    assert (row["window_start"], row["window_end"]) == (0, SECOND)


def test_where_filter_having_and_null_keys() -> None:
    rows: list[Row] = [
        {"k": None, "v": 1, "ts": 0},
        {"k": None, "v": None, "ts": 1},
        {"k": "a", "v": 5, "ts": 2},
        {"k": "a", "v": -5, "ts": 3},
        {"k": "b", "v": 7, "ts": None},
    ]
    big = Condition(column="v", operator=">", value=3)
    both = query(1, 1, COUNT, Aggregate(name="m", function="count", where=big), keys=("k",))
    assert [(r["k"], r["n"], r["m"]) for r in evaluate(both, rows)] == [(None, 2, 0), ("a", 2, 1)]
    # Neither `v > 3` nor its opposite holds of a NULL.
    small = Condition(column="v", operator="<=", value=3)
    assert [r["n"] for r in evaluate(query(1, 1, where=small), rows)] == [2]
    some = Condition(column="n", operator=">=", value=3)
    assert evaluate(query(1, 1, keys=("k",), having=some), rows) == []
    assert [r["n"] for r in evaluate(query(1, 1, having=some), rows)] == [4]
    assert evaluate(query(1, 1, where=Condition(column="k", operator="=")), rows) == []


@pytest.mark.parametrize(
    ("function", "arguments", "empty", "filled"),
    [
        ("count", (), 0, 4),
        ("sum", (), None, 12),
        ("avg", (), None, 3.0),
        ("min", (), None, 1),
        ("max", (), None, 5),
        ("var_pop", (), None, 2.0),
        ("var_samp", (), None, 8 / 3),
        ("stddev_pop", (), None, 2**0.5),
        ("stddev_samp", (), None, (8 / 3) ** 0.5),
        ("collect_list", (), [], [5, 3, 1, 3]),
        ("collect_set", (), [], [1, 3, 5]),
        ("approx_count_distinct", (), 0, 3),
        ("approx_percentile", (0.5,), None, 3),
        ("percentile", (0.9,), None, 4.4),
        ("median", (), None, 3.0),
        ("mode", (), None, 3),
        ("heavy_hitters", (0.5,), [], [3]),
    ],
)
def test_nulls_are_ignored(
    function: str, arguments: tuple[Any, ...], empty: Any, filled: Any
) -> None:
    assert value(function, [], *arguments) == empty
    assert value(function, [None], *arguments) == empty
    # Worked out for 1, 3, 3, 5.
    found = value(function, [5, None, 3, 1, None, 3], *arguments)
    assert same([{"x": found}], [{"x": filled}]) is None
    assert type(found) is type(filled)


def test_one_value_varies_not_at_all_or_unknowably() -> None:
    assert value("var_pop", [7]) == 0.0
    assert value("stddev_pop", [7]) == 0.0
    assert value("var_samp", [7]) is None
    assert value("stddev_samp", [7]) is None


def test_distinct() -> None:
    values = [4, 4, None, 1, 4]
    assert value("count", values, distinct=True) == 2
    assert value("sum", values, distinct=True) == 5
    assert value("avg", values, distinct=True) == 2.5
    with pytest.raises(ValueError, match="DISTINCT"):
        Aggregate(name="x", function="first", column="v", distinct=True)


def test_percentiles() -> None:
    assert value("percentile", [10, 40, 20, 30], 0.0) == 10.0
    assert value("percentile", [10, 40, 20, 30], 0.25) == 17.5
    assert value("median", [10, 40, 20, 30]) == 25.0
    assert value("percentile", [10, 40, 20, 30], 1.0) == 40.0
    # The approximate one gives a value that is there: ceil(p * n) of them are not above it.
    assert value("approx_percentile", [10, 40, 20, 30], 0.0) == 10
    assert value("approx_percentile", [10, 40, 20, 30], 0.25) == 10
    assert value("approx_percentile", [10, 40, 20, 30], 0.26) == 20
    assert value("approx_percentile", [10, 40, 20, 30], 0.5) == 20
    assert value("approx_percentile", [10, 40, 20, 30], 1.0) == 40
    # 0.07 * 100 is more than 7 in doubles.
    assert value("approx_percentile", list(range(1, 101)), 0.07) == 7


def test_heavy_hitters_reach_their_share_exactly() -> None:
    values = ["a"] * 3 + ["b"] * 2 + ["c"] * 5 + [None] * 90
    assert value("heavy_hitters", values, 0.3) == ["a", "c"]
    assert value("heavy_hitters", values, 0.2) == ["a", "b", "c"]
    assert value("heavy_hitters", values, 0.31) == ["c"]
    # 0.07 * 100 is more than 7 in doubles.
    assert value("heavy_hitters", ["a"] * 7 + ["b"] * 93, 0.07) == ["a", "b"]


def test_mode_takes_the_least_of_the_most_frequent() -> None:
    assert value("mode", [3, 2, 3, 2, 1]) == 2
    assert value("mode", ["b", "a", "b", None, None, None]) == "b"


def test_row_order_is_time_then_the_columns_as_declared() -> None:
    rows: list[Row] = [
        {"b": 1, "a": 2, "ts": 1},
        {"b": 2, "a": 1, "ts": 1},
        {"b": 9, "a": None, "ts": 1},
        {"b": 5, "a": 5, "ts": 0},
    ]
    several = query(
        1,
        1,
        Aggregate(name="all", function="collect_list", column="b"),
        Aggregate(name="first", function="first", column="b"),
        Aggregate(name="last", function="last", column="b"),
    )
    for order, expected in {
        ("ts", "a", "b"): [5, 9, 2, 1],
        ("ts", "b", "a"): [5, 1, 2, 9],
    }.items():
        for arrived in (rows, rows[::-1]):
            (row,) = evaluate(several, arrived, order)
            assert (row["all"], row["first"], row["last"]) == (expected, 5, expected[-1])


def test_first_and_last_may_be_null() -> None:
    assert value("first", [None, 1, 2]) is None
    assert value("last", [1, 2, None]) is None
    assert value("collect_list", [None, 2, 1]) == [2, 1]


def test_aggregates_of_conditions() -> None:
    rows = [{"v": v, "ts": 0} for v in (1, 5, None)]

    def of(function: str, least: int) -> Any:
        condition = Condition(column="v", operator=">=", value=least)
        aggregate = Aggregate(name="x", function=function, arguments=(condition,))
        return evaluate(query(1, 1, aggregate), rows)[0]["x"]

    assert [of("count_if", n) for n in (1, 5, 6)] == [2, 1, 0]
    assert [of("bool_and", n) for n in (1, 5, 6)] == [True, False, False]
    assert [of("bool_or", n) for n in (1, 5, 6)] == [True, True, False]
    assert value("bool_and", [None]) is None
    assert value("count_if", [True, None, False, True]) == 2


def test_groups_by_the_instant() -> None:
    rows: list[Row] = [
        {"k": "a", "v": 1, "ts": 60},
        {"k": "b", "v": 1, "ts": 60},
        {"k": "a", "v": 1, "ts": 0},
        {"k": "a", "v": None, "ts": 60},
        {"k": "a", "v": 2, "ts": None},
    ]
    expected = [
        {"k": "a", "ts": 0, "n": 1},
        {"k": "a", "ts": 60, "n": 2},
        {"k": "b", "ts": 60, "n": 1},
    ]
    assert same(evaluate_instants(("k",), "ts", (COUNT,), rows), expected) is None
    known = Condition(column="v", operator="IS NOT NULL")
    found = evaluate_instants(("k",), "ts", (COUNT,), rows, ("k", "v", "ts"), known)
    assert [r["n"] for r in found] == [1, 1, 1]


def test_same_compares_bags() -> None:
    rows: list[Row] = [{"k": "a", "x": 1.0, "l": [1, 2]}, {"k": None, "x": None, "l": []}]
    assert same(rows[::-1], rows) is None
    assert same([{"k": "a", "x": 1 + 1e-12, "l": (1, 2)}, rows[1]], rows) is None
    assert same([], []) is None
    again = same([*rows, rows[0]], rows)
    assert again is not None and "0 missing, 1 unexpected" in again
    for other in (
        {"k": "a", "x": 1.00001, "l": [1, 2]},
        {"k": "a", "x": None, "l": [1, 2]},
        {"k": "a", "x": True, "l": [1, 2]},
        {"k": "a", "x": float("nan"), "l": [1, 2]},
        {"k": "a", "x": 1.0, "l": [2, 1]},
        {"k": "a", "x": 1.0, "l": [1, True]},
        {"k": "a", "x": 1.0, "l": None},
        {"k": "a", "x": 1.0},
        {"k": "a", "x": 1.0, "l": [1, 2], "more": None},
    ):
        text = same([other, rows[1]], rows)
        assert text is not None and "1 missing, 1 unexpected" in text, other


def test_same_says_what_differs() -> None:
    found = [{"window_start": 0, "window_end": SECOND, "n": 1}]
    expected = [{"window_start": -SECOND, "window_end": 500_000, "n": 2}]
    assert same(found, expected) == (
        "1 rows found, 1 expected: 1 missing, 1 unexpected\n"
        "  missing: [1969-12-31 23:59:59, 1970-01-01 00:00:00.5) n=2\n"
        "  unexpected: [1970-01-01 00:00:00, 1970-01-01 00:00:01) n=1"
    )


def test_the_text_of_a_query() -> None:
    condition = Condition(column="k", operator="<>", value="it's")
    text = WindowQuery(
        range_us=90 * SECOND,
        slide_us=60 * SECOND,
        origin_us=instant("2026-01-01 00:00:07"),
        keys=("k", "p"),
        aggregates=(
            Aggregate(name="a0", function="count"),
            Aggregate(
                name="a1",
                function="sum",
                column="v",
                distinct=True,
                where=Condition(column="v", operator=">", value=3),
                range_us=1_500,
            ),
            Aggregate(name="a2", function="heavy_hitters", column="p", arguments=(0.05,)),
            Aggregate(name="a3", function="count_if", arguments=(condition,)),
        ),
        where=Condition(column="d", operator="IS NOT NULL"),
        having=Condition(column="a0", operator=">=", value=2),
    ).sql("source")
    rest = "SLIDE 60000 ms, WA ts, ORIGIN '2026-01-01 00:00:07']"
    assert text == (
        f"SELECT k, p, count(*) AS a0 [RANGE 90000 ms, {rest}, "
        f"sum(DISTINCT v) FILTER (WHERE v > 3) AS a1 [RANGE 1.5 ms, {rest}, "
        f"heavy_hitters(p, 0.05) AS a2 [RANGE 90000 ms, {rest}, "
        f"count_if(k <> 'it\\'s') AS a3 [RANGE 90000 ms, {rest} "
        "FROM source WHERE d IS NOT NULL GROUP BY k, p HAVING a0 >= 2"
    )


@relaxed
@given(time_queries)
def test_texts_are_sql_with_a_window_after_each_aggregate(q: WindowQuery) -> None:
    assert q.longest_us <= 20 * q.slide_us
    clause = r" \[RANGE \d+ ms, SLIDE \d+ ms, WA ts(, ORIGIN '[-0-9:. ]+')?\]"
    plain, clauses = re.subn(clause, "", q.sql("source"))
    assert clauses == len(q.aggregates)
    select = sqlglot.parse_one(plain, dialect="spark")
    assert isinstance(select, exp.Select)
    assert select.named_selects == [*q.keys, *(a.name for a in q.aggregates)]


@given(st.integers(instant("1000-01-01"), instant("9999-12-31")))
def test_instants_and_their_texts(us: int) -> None:
    assert instant(instant_text(us)) == us


@relaxed
@given(queries_with_rows)
def test_windows_hold_each_row_as_often_as_they_cover_it(case: tuple[WindowQuery, Any]) -> None:
    shape, rows = case
    length, slide, origin = shape.longest_us, shape.slide_us, shape.origin_us
    q = WindowQuery(range_us=length, slide_us=slide, origin_us=origin, aggregates=(COUNT,))
    # As many as there are ends in (ts, ts + RANGE].
    covered = sum((r["ts"] + length - origin) // slide - (r["ts"] - origin) // slide for r in rows)
    assert sum(r["n"] for r in evaluate(q, rows, COLUMNS)) == covered
    evaluated = evaluate(shape, rows, COLUMNS)
    assert same(evaluate(shape, rows[::-1], COLUMNS), evaluated) is None


@relaxed
@given(st.data(), st.sampled_from([0, 1, 5 * SECOND, 600 * SECOND]))
def test_arrivals_are_never_late(data: st.DataObject, delay_us: int) -> None:
    rows = data.draw(packet_rows | time_queries.flatmap(lambda q: rows_for(q, null_times=True)))
    batches = data.draw(arrivals(rows, delay_us))
    assert all(batches)
    assert same([r for batch in batches for r in batch], rows) is None
    newest = None
    for batch in batches:
        times = [r["ts"] for r in batch if r["ts"] is not None]
        assert newest is None or all(ts >= newest - delay_us for ts in times)
        newest = max([*times, newest] if newest is not None else times, default=None)
    assert late(batches, delay_us) == []


def test_late_rows_are_found() -> None:
    batches = [at(10), at(5, 4.999999, 30), [{"ts": None}], at(25)]
    assert late(batches, 5 * SECOND) == at(4.999999)


def test_packets_are_repeatable_skewed_and_mildly_out_of_order() -> None:
    rows = packets(7, 1_000, disorder_us=2 * SECOND)
    assert rows == packets(7, 1_000, disorder_us=2 * SECOND)
    assert rows != packets(8, 1_000, disorder_us=2 * SECOND)
    assert all(tuple(r) == PACKET_COLUMNS for r in rows)
    assert late([[r] for r in rows], 2 * SECOND) == []
    assert late([[r] for r in rows], SECOND // 2) != []
    assert packets(7, 1_000, disorder_us=0) == sorted(
        packets(7, 1_000, disorder_us=0), key=lambda r: r["ts"]
    )
    sources = [r["srcIP"] for r in rows]
    assert sources.count("10.0.0.1") > 3 * sources.count("10.0.0.8") > 0
    assert all(r["ts"] % (60 * SECOND) == 0 for r in packets(7, 50, grain_us=60 * SECOND))
