"""The oracle of row, slide-by-tuple and landmark windows against values worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import Aggregate, Condition, Row, instant
from row_oracle import ExtentQuery, LandmarkQuery, RowQuery, TupleQuery, evaluate_rows
from streams import SECOND

COUNT = Aggregate(name="n", function="count")
LIST = Aggregate(name="l", function="collect_list", column="v")
BIG = Condition(column="v", operator=">=", value=10)
SEVERAL = Condition(column="n", operator=">=", value=2)


def by_rows(length: int, slide: int, *aggregates: Aggregate, **more: Any) -> RowQuery:
    return RowQuery(range_rows=length, slide_rows=slide, aggregates=aggregates or (LIST,), **more)


def by_tuples(range_s: float, slide: int = 1, *aggregates: Aggregate, **more: Any) -> TupleQuery:
    length = round(range_s * SECOND)
    return TupleQuery(range_us=length, slide_rows=slide, aggregates=aggregates or (COUNT,), **more)


def landmark(slide_s: float, *aggregates: Aggregate, **more: Any) -> LandmarkQuery:
    return LandmarkQuery(
        slide_us=round(slide_s * SECOND), aggregates=aggregates or (COUNT,), **more
    )


def numbered(n: int) -> list[Row]:
    """Rows whose v is their number, last one first."""
    return [{"v": i, "ts": i * SECOND} for i in reversed(range(n))]


def keyed(text: str) -> list[Row]:
    """A row per letter, in this order; '-' is NULL, and v the place."""
    return [
        {"k": None if letter == "-" else letter, "v": i, "ts": i * SECOND}
        for i, letter in enumerate(text)
    ]


def at(*seconds: float | None) -> list[Row]:
    return [{"ts": None if s is None else round(s * SECOND)} for s in seconds]


def found(query: ExtentQuery, rows: list[Row], columns: tuple[str, ...] = ()) -> list[tuple]:
    return [tuple(r.values()) for r in evaluate_rows(query, rows, columns)]


def timed(query: ExtentQuery, rows: list[Row]) -> list[tuple]:
    """With the window's bounds in seconds."""
    return [
        (None if start is None else start / SECOND, end / SECOND, *rest)
        for start, end, *rest in found(query, rows)
    ]


# ---------------------------------------------------------------- rows
def test_row_windows_that_fill_up_and_run_out() -> None:
    assert found(by_rows(4, 1), numbered(2)) == [
        (-3, 1, [0]),
        (-2, 2, [0, 1]),
        (-1, 3, [0, 1]),
        (0, 4, [0, 1]),
        (1, 5, [1]),
    ]


def test_row_windows_that_tumble() -> None:
    assert found(by_rows(2, 2), numbered(5)) == [(0, 2, [0, 1]), (2, 4, [2, 3]), (4, 6, [4])]
    assert found(by_rows(2, 2), numbered(4)) == [(0, 2, [0, 1]), (2, 4, [2, 3])]
    assert found(by_rows(1, 1), numbered(2)) == [(0, 1, [0]), (1, 2, [1])]


def test_row_windows_of_a_range_that_is_no_multiple_of_the_slide() -> None:
    assert found(by_rows(3, 2), numbered(5)) == [
        (-1, 2, [0, 1]),
        (1, 4, [1, 2, 3]),
        (3, 6, [3, 4]),
    ]
    # The extent [5, 8) begins with the sixth row.
    assert found(by_rows(3, 2), numbered(6))[-2:] == [(3, 6, [3, 4, 5]), (5, 8, [5])]


def test_row_windows_with_gaps_leave_rows_out() -> None:
    assert found(by_rows(2, 5), numbered(9)) == [(3, 5, [3, 4]), (8, 10, [8])]
    assert found(by_rows(2, 5), numbered(8)) == [(3, 5, [3, 4])]
    assert found(by_rows(2, 5), numbered(4)) == [(3, 5, [3])]
    assert found(by_rows(2, 5), numbered(3)) == []


def test_a_range_of_1000_rows_over_25_rows() -> None:
    # (w+1)·10 - 1000 <= 24 up to w = 101.
    result = found(by_rows(1_000, 10, COUNT), numbered(25))
    assert [(start, end) for start, end, _ in result] == [
        ((w + 1) * 10 - 1_000, (w + 1) * 10) for w in range(102)
    ]
    # Full from row 24 on, and the first rows leave when starts are above 0: 10 and 20.
    assert [n for *_, n in result] == [10, 20, *[25] * 98, 15, 5]
    assert (result[0], result[-1]) == ((-990, 10, 10), (20, 1_020, 5))


def test_rows_of_one_time_are_numbered_by_their_columns() -> None:
    rows: list[Row] = [
        {"a": 2, "v": 1, "ts": 5},
        {"a": None, "v": 9, "ts": 5},
        {"a": 1, "v": 2, "ts": 5},
        {"a": 1, "v": None, "ts": 5},
        {"a": 7, "v": 7, "ts": 4},
    ]
    n = Aggregate(name="n", function="count")
    for order, expected in {
        ("a", "v", "ts"): [([7, 9], 2), ([2], 2), ([1], 1)],
        ("ts", "v", "a"): [([7], 2), ([1, 2], 2), ([9], 1)],
    }.items():
        for arrived in (rows, rows[::-1]):
            result = evaluate_rows(by_rows(2, 2, LIST, n), arrived, order)
            assert [(r["l"], r["n"]) for r in result] == expected


def test_equal_rows_have_a_number_each() -> None:
    rows: list[Row] = [{"v": 4, "ts": 0}] * 3
    assert found(by_rows(2, 2), rows) == [(0, 2, [4, 4]), (2, 4, [4])]


def test_partitions_are_numbered_on_their_own_null_too() -> None:
    assert found(by_rows(2, 2, partition=("k",)), keyed("a-a-a")) == [
        (0, 2, "a", [0, 2]),
        (2, 4, "a", [4]),
        (0, 2, None, [1, 3]),
    ]


def test_partitions_of_several_columns() -> None:
    rows: list[Row] = [
        {"k": "a", "p": 1, "v": 0, "ts": 0},
        {"k": "a", "p": 2, "v": 1, "ts": 1},
        {"k": None, "p": 1, "v": 2, "ts": 2},
        {"k": "a", "p": 1, "v": 3, "ts": 3},
    ]
    assert found(by_rows(1, 2, partition=("p", "k")), rows) == [(1, 2, 1, "a", [3])]
    assert found(by_rows(2, 2, partition=("p", "k")), rows) == [
        (0, 2, 1, "a", [0, 3]),
        (0, 2, 2, "a", [1]),
        (0, 2, 1, None, [2]),
    ]


def test_keys_group_the_rows_of_an_extent() -> None:
    # Numbered together, as opposed to PA; w = 0 holds no row of b.
    assert found(by_rows(2, 2, keys=("k",)), keyed("aabab")) == [
        (0, 2, "a", [0, 1]),
        (2, 4, "b", [2]),
        (2, 4, "a", [3]),
        (4, 6, "b", [4]),
    ]


def test_keys_beside_partitions() -> None:
    rows = [{**r, "p": 1 if i < 3 else 2} for i, r in enumerate(keyed("abaab"))]
    expected = [
        (0, 2, 1, "a", [0]),
        (0, 2, 1, "b", [1]),
        (2, 4, 1, "a", [2]),
        (0, 2, 2, "a", [3]),
        (0, 2, 2, "b", [4]),
    ]
    assert found(by_rows(2, 2, partition=("p",), keys=("k",)), rows) == expected
    # A column that is both is there once.
    assert found(by_rows(2, 2, partition=("p",), keys=("k", "p")), rows) == expected


def test_where_comes_before_the_numbers_filter_and_having_after() -> None:
    rows: list[Row] = [
        {"k": "a", "v": v, "ts": ts} for ts, v in enumerate([10, 1, None, 11, 2, 12, 13, 14, 15])
    ]
    rows.append({"k": "a", "v": 99, "ts": None})
    # 10, 11, 12, 13, 14, 15 are rows 0 to 5.
    assert found(by_rows(3, 3, where=BIG), rows) == [(0, 3, [10, 11, 12]), (3, 6, [13, 14, 15])]
    filtered = Aggregate(name="l", function="collect_list", column="v", where=BIG)
    assert found(by_rows(3, 3, filtered, COUNT), rows) == [
        (0, 3, [10], 3),
        (3, 6, [11, 12], 3),
        (6, 9, [13, 14, 15], 3),
    ]
    none = Aggregate(name="m", function="count", where=Condition(column="v", operator="="))
    having = Condition(column="n", operator=">", value=1)
    assert found(by_rows(4, 4, COUNT, none, having=having), rows) == [(0, 4, 4, 0), (4, 8, 4, 0)]
    assert found(by_rows(4, 4, where=Condition(column="v", operator="=")), rows) == []


# ---------------------------------------------------------------- tuples
def test_an_extent_per_time_without_its_start_and_with_its_end() -> None:
    assert timed(by_tuples(4), at(5, 1, 0, 1, 4)) == [
        (-4, 0, 1),
        (-3, 1, 3),
        (0, 4, 3),  # the row at 0 is out
        (1, 5, 2),
    ]
    assert timed(by_tuples(4.000001), at(0, 4)) == [(-4.000001, 0, 1), (-0.000001, 4, 2)]


def test_gaps_longer_than_the_range_have_no_extents() -> None:
    assert timed(by_tuples(2), at(0, 86_400, None)) == [(-2, 0, 1), (86_398, 86_400, 1)]


def test_an_extent_at_every_nth_row() -> None:
    # The second and the fourth row; the fifth is in none.
    assert timed(by_tuples(4, 2), at(0, 1, 1, 4, 5)) == [(-3, 1, 3), (0, 4, 3)]
    assert timed(by_tuples(4, 5), at(0, 1, 1, 4, 5)) == [(1, 5, 2)]
    assert timed(by_tuples(4, 6), at(0, 1, 1, 4, 5)) == []


@pytest.mark.parametrize("order", ["row-num", "rank"])
def test_every_nth_row_of_one_time_is_one_extent(order: str) -> None:
    # The second and the fourth row are both at 0, and all rows at 0 are in the extent.
    assert timed(by_tuples(4, 2, order=order), at(0, 0, 0, 0, 0, 7)) == [(-4, 0, 5), (3, 7, 1)]
    # The third row is at 1, so is the sixth; the ninth at 3.
    rows = at(0, 1, 1, 1, 1, 1, 2, 2, 3, 3)
    assert timed(by_tuples(1, 3, order=order), rows) == [(0, 1, 5), (2, 3, 2)]


def test_tuples_are_counted_per_partition_null_too() -> None:
    assert timed(by_tuples(10, partition=("k",)), keyed("ab-a")) == [
        (-10, 0, "a", 1),
        (-7, 3, "a", 2),
        (-9, 1, "b", 1),
        (-8, 2, None, 1),
    ]
    # The second row of each: at 3, at 4 and at 5; c has one only.
    assert timed(by_tuples(3, 2, partition=("k",)), keyed("ab-a-bc")) == [
        (0, 3, "a", 1),
        (2, 5, "b", 1),
        (1, 4, None, 2),
    ]


def test_keys_group_the_rows_of_an_extent_of_tuples() -> None:
    assert timed(by_tuples(2, keys=("k",)), keyed("abaa")) == [
        (-2, 0, "a", 1),
        (-1, 1, "a", 1),
        (-1, 1, "b", 1),
        (0, 2, "b", 1),
        (0, 2, "a", 1),
        (1, 3, "a", 2),
    ]
    rows = [{**r, "p": i % 2} for i, r in enumerate(keyed("abbb"))]
    # p = 0: a at 0, b at 2; p = 1: b at 1 and at 3.
    assert timed(by_tuples(9, 2, LIST, partition=("p",), keys=("k", "p")), rows) == [
        (-7, 2, 0, "a", [0]),
        (-7, 2, 0, "b", [2]),
        (-6, 3, 1, "b", [1, 3]),
    ]


def test_where_filter_and_having_of_tuples() -> None:
    rows: list[Row] = [{"v": v, "ts": ts * SECOND} for ts, v in enumerate([10, 1, None, 11, 2, 12])]
    assert timed(by_tuples(3, 2, LIST, where=BIG), rows) == [(0, 3, [11])]
    assert timed(by_tuples(4, 1, LIST, where=BIG), rows) == [
        (-4, 0, [10]),
        (-1, 3, [10, 11]),
        (1, 5, [11, 12]),
    ]
    filtered = Aggregate(name="l", function="collect_list", column="v", where=BIG)
    assert timed(by_tuples(2, 3, COUNT, filtered), rows) == [(0, 2, 2, []), (3, 5, 2, [12])]
    assert timed(by_tuples(2, having=SEVERAL), at(0, 1, 5)) == [(-1, 1, 2)]


# ---------------------------------------------------------------- landmarks
def test_landmarks_go_on_from_the_first_row_to_the_last() -> None:
    rows: list[Row] = [
        {"k": k, "ts": ts * SECOND} for ts, k in ((48, "a"), (12, None), (3, "a"), (41, "b"))
    ]
    assert timed(landmark(10, keys=("k",)), rows) == [
        (None, 10, "a", 1),
        (None, 20, "a", 1),
        (None, 20, None, 1),
        (None, 30, "a", 1),  # no row since, and the groups are still there
        (None, 30, None, 1),
        (None, 40, "a", 1),
        (None, 40, None, 1),
        (None, 50, "a", 2),
        (None, 50, None, 1),
        (None, 50, "b", 1),
    ]


def test_a_row_at_a_landmark_is_after_it() -> None:
    assert timed(landmark(10), at(10)) == [(None, 20, 1)]
    assert timed(landmark(10), at(10, 9.999999, 20)) == [
        (None, 10, 1),
        (None, 20, 2),
        (None, 30, 3),
    ]


def test_landmarks_with_an_origin_and_before_the_epoch() -> None:
    later = landmark(10, origin_us=1_000_007 * SECOND)
    assert timed(later, at(6.5, 7, None)) == [(None, 7, 1), (None, 17, 2)]
    assert timed(landmark(10), at(-0.000001, -10, 0)) == [(None, 0, 2), (None, 10, 3)]


def test_where_filter_and_having_of_landmarks() -> None:
    rows: list[Row] = [
        {"v": v, "ts": ts * SECOND} for ts, v in ((5, 1), (15, 10), (25, None), (35, 20), (99, 2))
    ]
    # Neither the first row nor the last is admitted.
    assert timed(landmark(10, LIST, where=BIG), rows) == [
        (None, 20, [10]),
        (None, 30, [10]),
        (None, 40, [10, 20]),
    ]
    filtered = Aggregate(name="l", function="collect_list", column="v", where=BIG)
    assert timed(landmark(50, COUNT, filtered), rows) == [
        (None, 50, 4, [10, 20]),
        (None, 100, 5, [10, 20]),
    ]
    assert timed(landmark(10, having=SEVERAL), rows[:3]) == [(None, 20, 2), (None, 30, 3)]
    assert timed(landmark(10, where=Condition(column="v", operator="=")), rows) == []


# ---------------------------------------------------------------- all kinds
def test_results_begin_with_the_window_and_the_grouping_columns() -> None:
    rows: list[Row] = [{"v": 1, "k": "a", "p": 2, "ts": 0}]
    names = ["window_start", "window_end", "p", "k", "n", "l"]
    for query in (
        by_rows(1, 1, COUNT, LIST, partition=("p",), keys=("k", "p")),
        by_tuples(1, 1, COUNT, LIST, partition=("p",), keys=("k", "p")),
        landmark(1, COUNT, LIST, keys=("p", "k")),
    ):
        (row,) = evaluate_rows(query, rows)
        assert list(row) == names
        assert evaluate_rows(query, []) == []


def test_the_texts_of_queries() -> None:
    highest = Aggregate(name="a0", function="max", column="v")
    kept = Aggregate(name="a1", function="count", where=BIG)
    rest: dict[str, Any] = {
        "keys": ("k",),
        "where": Condition(column="d", operator="IS NOT NULL"),
        "having": Condition(column="a0", operator=">=", value=2),
    }
    end = "FROM s WHERE d IS NOT NULL GROUP BY k HAVING a0 >= 2"
    clause = "[RANGE 10 rows, SLIDE 2 rows, WA row-num, PA p, k]"
    assert by_rows(10, 2, highest, kept, partition=("p", "k"), **rest).sql("s") == (
        f"SELECT p, k, max(v) AS a0 {clause}, count(*) FILTER (WHERE v >= 10) AS a1 {clause} {end}"
    )
    clause = "[RANGE 5000 ms, RATTR ts, SLIDE 5 rows, SATTR rank(ts), PA p]"
    assert by_tuples(5, 5, highest, order="rank", partition=("p",), **rest).sql("s") == (
        f"SELECT p, k, max(v) AS a0 {clause} {end}"
    )
    clause = "[RANGE ALL, SLIDE 500 ms, WA ts, ORIGIN '2026-01-01 00:00:07']"
    origin = instant("2026-01-01 00:00:07")
    assert landmark(0.5, highest, origin_us=origin, **rest).sql("s") == (
        f"SELECT k, max(v) AS a0 {clause} {end}"
    )
    assert by_rows(1, 1, highest, partition=("k",)).sql("s") == (
        "SELECT k, max(v) AS a0 [RANGE 1 row, SLIDE 1 row, WA row-num, PA k] FROM s"
    )
    assert by_tuples(0.0015, 1, highest).sql("s") == (
        "SELECT max(v) AS a0 [RANGE 1.5 ms, RATTR ts, SLIDE 1 row, SATTR row-num] FROM s"
    )
    assert landmark(60, highest).sql("s") == (
        "SELECT max(v) AS a0 [RANGE ALL, SLIDE 60000 ms, WA ts] FROM s"
    )


def test_queries_without_a_meaning() -> None:
    for make in (
        lambda: by_rows(0, 1),
        lambda: by_rows(1, 0),
        lambda: by_tuples(0),
        lambda: by_tuples(1, 0),
        lambda: landmark(0),
    ):
        with pytest.raises(ValueError, match="positive"):
            make()
    with pytest.raises(ValueError, match="order"):
        by_tuples(1, order="arrival")
    with pytest.raises(ValueError, match="partitions"):
        landmark(1, partition=("k",))
    with pytest.raises(ValueError, match="aggregate"):
        RowQuery(range_rows=1, slide_rows=1, aggregates=())
    with pytest.raises(ValueError, match="one RANGE"):
        by_tuples(1, 1, Aggregate(name="n", function="count", range_us=1))
