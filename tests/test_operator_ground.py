"""What operators stand on, against plain Python: ranges, extents, kept tables, codes and ranks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssql.runtime.operators import state as state_module
from ssql.runtime.operators.extents import Places, covered, ordered, segments
from ssql.runtime.operators.ranges import is_known, merged
from ssql.runtime.operators.road import HeldChunks
from ssql.runtime.operators.state import FORMAT, MOST_CHUNKS, State
from ssql.runtime.operators.tables import group_codes, ranks, stacked

Ranges = list[tuple[int, int]]
at_leisure = settings(deadline=None)  # the first example of each pays for what is loaded


# ------------------------------------------------------------------ columns and their ranges


def column_of(values: Sequence[Any], type: pa.DataType, cut: int = 0) -> pa.ChunkedArray:
    """Values as Spark's batches bring them: in several pieces, and not from a buffer's beginning."""
    array = pa.array([*values[:1], *values, *values[:1]], type).slice(1, len(values))
    cut = cut % (len(values) + 1)
    return pa.chunked_array([array.slice(0, cut), array.slice(cut)], type)


def merge(how: str, column: pa.ChunkedArray, ranges: Ranges) -> list[Any]:
    low, high = (np.array([r[i] for r in ranges], np.int64) for i in (0, 1))
    (found,) = merged(pa.table({"part": column}), {"part": how}, low, high)
    assert found.type == column.type
    found.validate(full=True)
    return found.to_pylist()


def every_range(length: int) -> Ranges:
    """All of them, empty ones too: so many rows so often that they are taken by blocks."""
    return [(low, high) for low in range(length + 1) for high in range(low, length + 1)]


@st.composite
def ranged(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[list[Any], Ranges, int]:
    """Values, ranges of them, and where to cut them in two."""
    found = draw(st.lists(values, min_size=1, max_size=24))
    length = len(found)
    if draw(st.booleans()):
        ranges = every_range(length)
    else:
        bound = st.integers(0, length)
        pairs = draw(st.lists(st.tuples(bound, bound), max_size=8))
        ranges = [(min(pair), max(pair)) for pair in pairs]
    return found, ranges, draw(st.integers(0, length))


def rows_of(values: Sequence[Any], low: int, high: int) -> list[Any]:
    return [v for v in values[low:high] if v is not None]


def same(found: Any, expected: Any) -> bool:
    """NaN is itself here."""
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    return bool(found == expected)


def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values, values, values)


def structs(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts whose keys are always in this order, as the fields of a struct are."""
    return st.tuples(*fields.values()).map(lambda values: dict(zip(fields, values, strict=True)))


def spark_order(value: Any) -> Any:
    """NULL first, NaN last, structs by their fields."""
    if isinstance(value, dict):
        return (1, tuple(map(spark_order, value.values())))
    if value is None:
        return (0,)
    return (1, 1, 0.0) if value != value else (1, 0, value)


def test_merges_have_names() -> None:
    assert all(map(is_known, ("sum", "min", "max_by", "bit_xor", "moments", "concat")))
    assert not is_known("median")


# ------------------------------------------------------------------ sums

INT64 = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1))


@at_leisure
@given(ranged(nullable(INT64)))
def test_sums_of_whole_numbers(given: tuple[list[Any], Ranges, int]) -> None:
    values, ranges, cut = given
    column = column_of(values, pa.int64(), cut)
    groups = [rows_of(values, *r) for r in ranges]
    sums = [sum(group) if group else None for group in groups]
    if any(s is not None and not -(2**63) <= s < 2**63 for s in sums):
        with pytest.raises(OverflowError, match="beyond 64 bits"):
            merge("sum", column, ranges)
    else:
        assert merge("sum", column, ranges) == sums


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ([2**63 - 1], True),
        ([-(2**63)], True),
        ([2**63 - 1, 1], False),
        ([-(2**63), -1], False),
        ([2**63 - 1, 1, -1], True),  # in between it does not
        ([-(2**63), -(2**63), 2**63 - 1, 2**63 - 1, 2], True),
        ([2**62, None, 2**62], False),
        ([2**62, None, 2**62 - 1], True),
        ([2**31] * 5, True),
        ([-(2**63)] * 4, False),  # beyond by whole turns of 64 bits
    ],
)
def test_sums_at_the_limits_of_64_bits(values: list[int | None], fits: bool) -> None:
    column, whole = column_of(values, pa.int64()), [(0, len(values))]
    if fits:
        assert merge("sum", column, whole) == [sum(v or 0 for v in values)]
    else:
        with pytest.raises(OverflowError):
            merge("sum", column, whole)


FLOATS = st.one_of(
    st.floats(-1e150, 1e150), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])
)


@at_leisure
@given(ranged(nullable(FLOATS)))
def test_sums_of_doubles(given: tuple[list[Any], Ranges, int]) -> None:
    values, ranges, cut = given
    found = merge("sum", column_of(values, pa.float64(), cut), ranges)
    for got, bounds in zip(found, ranges, strict=True):
        group = rows_of(values, *bounds)
        if not group:
            assert got is None
        elif not all(map(math.isfinite, group)):
            assert same(got, sum(group))
        else:
            room = 1e-13 * sum(map(abs, group))
            assert math.isclose(got, math.fsum(group), rel_tol=0, abs_tol=room)


def test_a_small_double_beside_a_great_one_keeps_its_sums() -> None:
    """What a difference of running sums would not."""
    values = [1e300, 0.25, 0.5] + [0.125] * 30
    found = merge("sum", column_of(values, pa.float64()), every_range(len(values)))
    for got, (low, high) in zip(found, every_range(len(values)), strict=True):
        if low > 0 and high > low:
            assert got == sum(values[low:high])


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**digits - 1
    unscaled = st.one_of(
        st.integers(-999, 999), st.integers(-most // 40, most // 40), st.integers(-most, most)
    )
    return unscaled.map(lambda n: _scaled(n, scale))


def _scaled(unscaled: int, scale: int) -> Decimal:
    sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
    return Decimal((sign, digits, -scale))


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits))) * 10 ** (int(exponent) + scale)
    return -number if sign else number


@pytest.mark.parametrize(("digits", "scale"), [(10, 2), (20, 0), (38, 4), (38, 38)])
def test_sums_of_decimals(digits: int, scale: int) -> None:
    @at_leisure
    @given(ranged(nullable(decimals(digits, scale))))
    def check(given: tuple[list[Any], Ranges, int]) -> None:
        values, ranges, cut = given
        column = column_of(values, pa.decimal128(digits, scale), cut)
        groups = [rows_of(values, *r) for r in ranges]
        sums = [sum(_unscaled(v, scale) for v in g) if g else None for g in groups]
        if any(s is not None and abs(s) >= 10**digits for s in sums):
            with pytest.raises(OverflowError, match="beyond decimal128"):
                merge("sum", column, ranges)
        else:
            expected = [None if s is None else _scaled(s, scale) for s in sums]
            assert merge("sum", column, ranges) == expected

    check()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_decimal_sum_beyond_128_bits_is_no_small_one(sign: int) -> None:
    values = [_scaled(sign * (10**38 - 1), 0)] * 9
    column = column_of(values, pa.decimal128(38, 0))
    for many in range(2, 10):
        with pytest.raises(OverflowError):
            merge("sum", column, [(0, many)])
    assert merge("sum", column, [(3, 4)]) == values[:1]


# ------------------------------------------------------------------ extremes

EXTREMES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int64": (pa.int64(), INT64),
    "float64": (pa.float64(), st.floats()),
    "float32": (pa.float32(), st.floats(width=32)),
    "string": (pa.string(), st.text(st.sampled_from("ab\x00é\uffff\U0001f600"), max_size=3)),
    "binary": (pa.binary(), st.binary(max_size=2)),
    "date": (pa.date32(), st.dates(date(1, 1, 1), date(9999, 12, 31))),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    ),
    "decimal": (pa.decimal128(10, 2), decimals(10, 2)),
    "wide decimal": (pa.decimal128(38, 6), decimals(38, 6)),
    "bool": (pa.bool_(), st.booleans()),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        structs({"a": st.none() | st.integers(-2, 2), "b": st.none() | st.sampled_from("xyz")}),
    ),
}


@pytest.mark.parametrize("how", ["min", "max"])
@pytest.mark.parametrize("kind", EXTREMES)
def test_extremes(how: str, kind: str) -> None:
    type, values_of = EXTREMES[kind]
    choose: Callable[..., Any] = min if how == "min" else max

    @settings(at_leisure, max_examples=40)
    @given(ranged(nullable(values_of)))
    def check(given: tuple[list[Any], Ranges, int]) -> None:
        values, ranges, cut = given
        found = merge(how, column_of(values, type, cut), ranges)
        for got, bounds in zip(found, ranges, strict=True):
            group = rows_of(values, *bounds)
            assert same(got, choose(group, key=spark_order) if group else None)

    check()


AT = pa.struct([("a", pa.int64()), ("b", pa.float64()), ("c", pa.string())])
ATS = structs(
    {
        "a": st.none() | st.integers(-1, 1),
        "b": st.none() | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5]),
        "c": st.none() | st.sampled_from(["", "a", "ä", "b"]),
    }
)


@pytest.mark.parametrize("how", ["min_by", "max_by"])
@pytest.mark.parametrize("null_at", [False, True])
def test_values_at_extremes(how: str, null_at: bool) -> None:
    type = pa.struct([("at", AT), ("value", pa.int64())])
    pairs = structs(
        {"at": st.none() | ATS if null_at else ATS, "value": st.none() | st.integers(0, 99)}
    )
    choose: Callable[..., Any] = min if how == "min_by" else max

    @at_leisure
    @given(ranged(nullable(pairs)))
    def check(given: tuple[list[Any], Ranges, int]) -> None:
        values, ranges, cut = given
        found = merge(how, column_of(values, type, cut), ranges)
        for got, bounds in zip(found, ranges, strict=True):
            group = rows_of(values, *bounds)
            if not group:
                assert got is None
                continue
            at = choose(spark_order(row["at"]) for row in group)
            # Among those at one place any one will do, but it is one of this range.
            allowed = [repr(row) for row in group if spark_order(row["at"]) == at]
            assert repr(got) in allowed

    check()


# ------------------------------------------------------------------ bits, moments, lists


@pytest.mark.parametrize(
    ("how", "combine"),
    [
        ("bit_and", lambda a, b: a & b),
        ("bit_or", lambda a, b: a | b),
        ("bit_xor", lambda a, b: a ^ b),
    ],
)
@pytest.mark.parametrize("bits", [8, 32, 64])
def test_bits(how: str, combine: Callable[[int, int], int], bits: int) -> None:
    type = {8: pa.int8(), 32: pa.int32(), 64: pa.int64()}[bits]

    @settings(at_leisure, max_examples=40)
    @given(ranged(nullable(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))))
    def check(given: tuple[list[Any], Ranges, int]) -> None:
        values, ranges, cut = given
        found = merge(how, column_of(values, type, cut), ranges)
        for got, bounds in zip(found, ranges, strict=True):
            group = rows_of(values, *bounds)
            expected = group[0] if group else None
            for value in group[1:]:
                expected = combine(expected, value)
            assert got == expected

    check()


def moments_of(values: Sequence[float]) -> dict[str, float]:
    n = len(values)
    mean = math.fsum(values) / n if n else 0.0
    return {"n": n, "mean": mean, "m2": math.fsum((v - mean) ** 2 for v in values)}


@pytest.mark.parametrize("count", [pa.int64(), pa.float64()])
def test_moments(count: pa.DataType) -> None:
    type = pa.struct([("n", count), ("mean", pa.float64()), ("m2", pa.float64())])
    measured = st.floats(-1000, 1000).map(lambda v: round(v, 3))

    @at_leisure
    @given(ranged(st.none() | st.lists(measured, max_size=3)))
    def check(given: tuple[list[Any], Ranges, int]) -> None:
        lists, ranges, cut = given
        entries = [None if v is None else moments_of(v) for v in lists]
        found = merge("moments", column_of(entries, type, cut), ranges)
        for got, bounds in zip(found, ranges, strict=True):
            expected = moments_of([v for group in rows_of(lists, *bounds) for v in group])
            assert got["n"] == expected["n"]
            assert math.isclose(got["mean"], expected["mean"], rel_tol=1e-9, abs_tol=1e-9)
            assert math.isclose(got["m2"], expected["m2"], rel_tol=1e-9, abs_tol=1e-6)

    check()


@pytest.mark.parametrize(
    ("type", "values_of"),
    [
        (pa.int64(), st.integers(0, 99)),
        (pa.string(), st.text("abc", max_size=2)),
        (pa.struct([("a", pa.int32())]), structs({"a": st.integers(0, 9)})),
    ],
    ids=str,
)
def test_lists_one_after_another(type: pa.DataType, values_of: st.SearchStrategy[Any]) -> None:
    @at_leisure
    @given(ranged(st.none() | st.lists(st.none() | values_of, max_size=3)))
    def check(given: tuple[list[Any], Ranges, int]) -> None:
        lists, ranges, cut = given
        found = merge("concat", column_of(lists, pa.list_(type), cut), ranges)
        expected = [[v for part in rows_of(lists, *r) for v in part] for r in ranges]
        assert found == expected

    check()


def test_null_lists_with_values_beneath_are_empty() -> None:
    """A NULL's slot in a list's offsets need not be empty."""
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 5]), pa.array([1, 2, 3, 4, 5]), mask=pa.array([False, True, False])
    )
    column = pa.chunked_array([lists])
    assert merge("concat", column, [(0, 3), (1, 2), (1, 3), (2, 2)]) == [[1, 2, 5], [], [5], []]


# ------------------------------------------------------------------ many rows, many ranges


def test_long_ranges_that_overlap() -> None:
    """Several thousand rows: many levels of blocks, of which the topmost is padded."""
    source = np.random.default_rng(7)
    length = 5_000
    low = np.sort(source.integers(0, length, 400))
    high = np.minimum(low + source.integers(0, 4_000, 400), length)
    high[::37] = low[::37]
    numbers = source.integers(-(2**40), 2**40, length)
    doubles = source.normal(3, 100, length)
    known = source.random(length) > 0.3
    holed = pa.array(doubles, mask=~known)
    single = {"n": pa.array(np.ones(length)), "mean": pa.array(doubles)}
    single["m2"] = pa.array(np.zeros(length))
    table = pa.table(
        {
            "s": numbers,
            "d": holed,
            "least": holed,
            "x": pa.array(numbers, mask=~known),
            "m": pa.StructArray.from_arrays(list(single.values()), list(single)),
            "w": pa.array([str(n % 9973) for n in numbers]),
        }
    )
    hows = {"s": "sum", "d": "sum", "least": "min", "x": "bit_xor", "m": "moments", "w": "max"}
    found = dict(zip(hows, (a.to_pylist() for a in merged(table, hows, low, high)), strict=True))
    words = table.column("w").to_pylist()
    assert int((high - low).sum()) > 6 * length
    for i, (begin, end) in enumerate(zip(low, high, strict=True)):
        here, valid = slice(begin, end), known[begin:end]
        if begin == end:
            assert all(found[name][i] is None for name in hows if name != "m")
            assert found["m"][i] == {"n": 0, "mean": 0, "m2": 0}
            continue
        assert found["s"][i] == int(numbers[here].sum())
        if valid.any():
            assert math.isclose(found["d"][i], math.fsum(doubles[here][valid]), abs_tol=1e-6)
            assert found["least"][i] == doubles[here][valid].min()
            assert found["x"][i] == int(np.bitwise_xor.reduce(numbers[here][valid]))
        assert found["m"][i]["n"] == end - begin
        assert math.isclose(found["m"][i]["mean"], doubles[here].mean(), abs_tol=1e-8)
        spread = doubles[here].var() * (end - begin)
        assert math.isclose(found["m"][i]["m2"], spread, rel_tol=1e-9, abs_tol=1e-6)
        assert found["w"][i] == max(words[begin:end])


HOWS = {
    "sum": pa.int64(),
    "min": pa.float64(),
    "max": pa.string(),
    "min_by": pa.struct([("at", AT), ("value", pa.int64())]),
    "bit_or": pa.int32(),
    "moments": pa.struct([("n", pa.int64()), ("mean", pa.float64()), ("m2", pa.float64())]),
    "concat": pa.list_(pa.int64()),
}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("rows", [0, 3])
def test_no_ranges(how: str, rows: int) -> None:
    column = pa.chunked_array([pa.nulls(rows, HOWS[how])])
    assert merge(how, column, []) == []


@pytest.mark.parametrize("how", HOWS)
def test_nothing_but_nulls(how: str) -> None:
    column = pa.chunked_array([pa.nulls(9, HOWS[how])])
    nothing = {"moments": {"n": 0, "mean": 0, "m2": 0}, "concat": []}.get(how)
    for ranges in ([(0, 9), (2, 5), (9, 9)], every_range(9)):
        assert merge(how, column, ranges) == [nothing] * len(ranges)


# ------------------------------------------------------------------ extents


@st.composite
def rows_in_windows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    groups, first, last = [], [], []
    for group in draw(st.lists(st.integers(0, 6), max_size=4, unique=True).map(sorted)):
        size = draw(st.integers(1, 6))
        bounds = st.lists(st.integers(-6, 12), min_size=size, max_size=size).map(sorted)
        groups += [group] * size
        first += draw(bounds)
        last += draw(bounds)  # it may be before `first`: a row between windows, or one cut off
    return np.array(groups, np.int64), np.array(first, np.int64), np.array(last, np.int64)


@at_leisure
@given(rows_in_windows())
def test_covered_windows(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    groups, first, last = rows
    expected: dict[tuple[int, int], int] = {}
    for row, (group, begin, end) in enumerate(zip(*(c.tolist() for c in rows), strict=True)):
        for window in range(begin, end):
            expected.setdefault((group, window), row)
    row, window = covered(groups, first, last)
    found = list(zip(groups[row].tolist(), window.tolist(), strict=True))
    assert len(set(found)) == len(found)
    assert dict(zip(found, row.tolist(), strict=True)) == expected


POSITIONS = st.one_of(
    st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]), st.integers(-(2**62), 2**62)
)
PAIRS = st.lists(st.tuples(st.integers(0, 4), POSITIONS), max_size=20)


def numbers_of(pairs: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array([p[i] for p in pairs], np.int64) for i in (0, 1))


@at_leisure
@given(PAIRS, PAIRS)
def test_places(rows: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    rows = sorted(rows)
    found = Places(*numbers_of(rows)).at(*numbers_of(asked))
    assert found.tolist() == [sum(row < pair for row in rows) for pair in asked]


@at_leisure
@given(PAIRS)
def test_order_and_segments(rows: list[tuple[int, int]]) -> None:
    groups, positions = numbers_of(rows)
    order = ordered(groups, positions)
    # Python's sort is stable, and so must this be.
    assert order.tolist() == sorted(range(len(rows)), key=rows.__getitem__)
    in_order = [rows[i] for i in order]
    begins = [i for i, pair in enumerate(in_order) if i == 0 or in_order[i - 1] != pair]
    assert segments(groups[order], positions[order]).tolist() == begins


def test_order_of_more_than_one_key_holds() -> None:
    pairs = [(2**40, 5), (0, 2**40), (2**40, -(2**40)), (0, 0), (2**40, 5)]
    assert ordered(*numbers_of(pairs)).tolist() == [3, 1, 2, 0, 4]


# ------------------------------------------------------------------ state


def rows_numbered(numbers: Sequence[int]) -> pa.Table:
    names = pa.array([None if n % 5 == 0 else f"row {n}" for n in numbers], pa.string())
    return pa.table({"n": pa.array(numbers, pa.int64()), "name": names})


def held_numbers(state: State, name: str = "t") -> list[int]:
    table = state.table(name)
    if table is None:
        return []
    numbers = table.column("n").to_pylist()
    assert table.equals(rows_numbered(numbers))
    assert state.rows(name) == len(numbers)
    return numbers


def reopened(chunks: HeldChunks, state: State) -> State:
    """As in the next batch: what is kept is JSON."""
    return State(chunks, json.loads(json.dumps(state.kept())))


def mask(rows: Sequence[int], chosen: Any) -> np.ndarray:
    return np.array([n in chosen for n in rows], np.bool_)


def test_appended_rows_are_there_in_the_next_batch() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    assert state.kept() is None and state.table("t") is None and state.rows("t") == 0
    state.change("t", added=rows_numbered([1, 2]))
    state.change("other", added=rows_numbered([7]))
    state.memo["due"] = 12
    state = reopened(chunks, state)
    state.change("t", added=rows_numbered([3]))
    state.change("t", added=rows_numbered([]))
    state.change("t")
    state = reopened(chunks, state)
    assert held_numbers(state) == [1, 2, 3]
    assert held_numbers(state, "other") == [7]
    assert state.memo == {"due": 12}
    assert len(chunks.blobs) == 3  # an addition writes nothing but itself


def test_replaced_rows_go_at_once_and_expired_ones_when_most_have() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered(range(10)))
    state.change("t", added=rows_numbered(range(10, 20)))
    first, second = chunks.blobs
    held = held_numbers(state)
    state.change("t", expired=mask(held, range(4)))
    assert held_numbers(state) == list(range(20))  # six of ten are left
    state = reopened(chunks, state)
    state.change("t", expired=mask(held, range(5)))
    assert sorted(held_numbers(state)) == list(range(5, 20))
    assert first not in chunks.blobs and second in chunks.blobs
    held = held_numbers(state)
    state.change("t", added=rows_numbered([99]), replaced=mask(held, {12}))
    assert sorted(held_numbers(state)) == [*range(5, 12), *range(13, 20), 99]
    held = held_numbers(state)
    state.change("t", expired=mask(held, held))
    assert chunks.blobs == {} and state.kept() is None
    assert state.table("t") is None


def test_a_table_anew() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered([1, 2]))
    state.change("t", added=rows_numbered([3]))
    state.replace("t", rows_numbered([8, 9]))
    assert held_numbers(reopened(chunks, state)) == [8, 9]
    assert len(chunks.blobs) == 1
    state.replace("t", rows_numbered([]))
    assert chunks.blobs == {} and state.kept() is None
    state.replace("never there", None)
    assert state.kept() is None


def test_what_is_remembered_beside_the_tables_keeps_the_state() -> None:
    state = State(HeldChunks(), None)
    state.memo["due"] = 1
    assert state.kept() == {"format": FORMAT, "memo": {"due": 1}, "chunks": {}, "next": 0}


def test_many_small_chunks_become_few() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    most = 0
    for number in range(300):
        state.change("t", added=rows_numbered([number]))
        most = max(most, len(chunks.blobs))
        if number % 7 == 0:
            state = reopened(chunks, state)
    assert most <= MOST_CHUNKS
    assert sorted(held_numbers(state)) == list(range(300))


def test_large_tables_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "LARGEST_CHUNK", 4_000)
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered(range(1_000)))
    pieces = len(chunks.blobs)
    assert pieces > 4
    assert held_numbers(reopened(chunks, state)) == list(range(1_000))
    for number in range(1_000, 1_100):
        state.change("t", added=rows_numbered([number]))
    # The large ones are not read again for the sake of small ones.
    assert list(chunks.blobs)[:pieces] == [("t", i) for i in range(pieces)]
    assert len(chunks.blobs) <= pieces + MOST_CHUNKS
    assert sorted(held_numbers(reopened(chunks, state))) == list(range(1_100))


def test_a_row_that_is_larger_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "LARGEST_CHUNK", 1)
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered([1, 2, 3]))
    assert len(chunks.blobs) == 3
    assert held_numbers(reopened(chunks, state)) == [1, 2, 3]


@pytest.mark.parametrize("version", [FORMAT + 1, FORMAT - 1, None, str(FORMAT)])
def test_a_state_of_another_format_is_refused(version: object) -> None:
    kept = {"format": version, "memo": {}, "chunks": {}, "next": 0}
    with pytest.raises(RuntimeError, match=f"format {version}.*reads format {FORMAT}.*start anew"):
        State(HeldChunks(), kept)
    with pytest.raises(RuntimeError, match="format None"):
        State(HeldChunks(), {"memo": {}})


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["change", "change", "change", "replace", "reopen"]),
        st.integers(0, 12),  # rows added
        st.none() | st.integers(0, 9),  # which of ten are replaced
        st.none() | st.integers(0, 120),  # below which rows are expired
    ),
    max_size=50,
)


@settings(at_leisure, max_examples=60)
@given(CHANGES, st.sampled_from([1, 300, 2**24]))
def test_changes_one_after_another(changes: list[tuple[Any, ...]], largest: int) -> None:
    """No row that is alive is lost or doubled, none that is replaced stays, and what is written is
    what is told to be."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(state_module, "LARGEST_CHUNK", largest)
        chunks = HeldChunks()
        state = State(chunks, None)
        alive: set[int] = set()
        expired: set[int] = set()
        number = 0
        for what, many, digit, limit in changes:
            added = list(range(number, number + many))
            number += many
            if what == "reopen":
                state = reopened(chunks, state)
            elif what == "replace":
                state.replace("t", rows_numbered(added))
                alive, expired = set(added), set()
            else:
                held = held_numbers(state)
                gone = {n for n in held if digit is not None and n % 10 == digit}
                expired |= {n for n in held if limit is not None and n < limit}
                state.change(
                    "t",
                    added=rows_numbered(added) if many else None,
                    replaced=None if digit is None else mask(held, gone),
                    expired=None if limit is None else mask(held, expired),
                )
                alive = (alive - gone - expired) | set(added)
                expired -= gone
            now = held_numbers(state)
            assert len(set(now)) == len(now)
            assert alive <= set(now) <= alive | expired
            assert all(len(blob) for blob in chunks.blobs.values())
            assert (state.kept() is None) == (not now)


# ------------------------------------------------------------------ codes and ranks

KEYS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int32(), st.none() | st.integers(-2, 2)),
    "s": (pa.string(), st.none() | st.sampled_from(["", "a", "b", "ä"])),
    "f": (pa.float64(), st.none() | st.sampled_from([0.0, 1.5, math.inf, math.nan])),
    "b": (pa.bool_(), st.none() | st.booleans()),
    "d": (pa.decimal128(10, 2), st.none() | decimals(2, 2)),
    "t": (
        pa.struct([("x", pa.int32()), ("y", pa.string())]),
        st.none() | structs({"x": st.none() | st.integers(0, 1), "y": st.sampled_from("pq")}),
    ),
    "n": (pa.null(), st.none()),
}


def key_table(rows: Sequence[dict[str, Any]], names: Sequence[str], cut: int) -> pa.Table:
    if not rows and cut % 2:  # a table without a single piece
        return pa.schema([(n, KEYS[n][0]) for n in names]).empty_table()
    return pa.table({n: column_of([r[n] for r in rows], KEYS[n][0], cut) for n in names})


@at_leisure
@given(st.data())
def test_codes_of_groups(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(KEYS)), unique=True))
    row = structs({n: KEYS[n][1] for n in names})
    tables = data.draw(st.lists(st.lists(row, max_size=8), max_size=3))
    cut = data.draw(st.integers(0, 5))
    if names:
        given_tables = [key_table(rows, names, cut) for rows in tables]
    else:
        given_tables = [pa.table({"other": pa.array([1] * len(rows))}) for rows in tables]
    codes, count = group_codes(given_tables, names)
    assert [len(c) for c in codes] == [len(rows) for rows in tables]
    flat = [int(c) for of_table in codes for c in of_table]
    assert all(0 <= code < count for code in flat)
    values = [repr(r) for rows in tables for r in rows]  # NaN is itself
    assert len(set(zip(flat, values, strict=True))) == len(set(flat)) == len(set(values))


def test_codes_of_many_keys_stay_small() -> None:
    """Sixteen keys of 3,000 values each: not all combinations, which no number could hold."""
    source = np.random.default_rng(3)
    chosen = source.integers(0, 3_000, (2_000, 16))
    chosen[1_000:] = chosen[:1_000]
    names = [f"k{i}" for i in range(16)]
    table = pa.table({n: chosen[:, i] for i, n in enumerate(names)})
    (left, right), count = group_codes([table.slice(0, 1_000), table.slice(1_000)], names)
    assert count <= 3 * 2_000 + 1_024
    assert max(left.max(), right.max()) < count
    assert np.array_equal(left, right)
    assert len(np.unique(left)) == len(np.unique(chosen, axis=0))


def test_codes_of_empty_tables() -> None:
    empty = rows_numbered([])
    assert group_codes([], ["n"]) == ([], 0)
    (first, second), _ = group_codes([empty, rows_numbered([4, 5, 4])], ["n", "name"])
    assert first.tolist() == [] and second[0] == second[2] != second[1]
    (first, second), count = group_codes([empty, empty], ["n"])
    assert len(first) == len(second) == 0 and count >= 0


@pytest.mark.parametrize("kind", EXTREMES)
def test_ranks(kind: str) -> None:
    type, values_of = EXTREMES[kind]

    @settings(at_leisure, max_examples=40)
    @given(st.lists(nullable(values_of), max_size=20), st.integers(0, 20))
    def check(values: list[Any], cut: int) -> None:
        assert_ranked(values, stacked([pa.table({"v": column_of(values, type, cut)})]))

    check()


def assert_ranked(values: list[Any], table: pa.Table) -> None:
    chunks = table.column("v").chunks
    array = chunks[0] if chunks else pa.array([], table.schema.field("v").type)
    keys, found = [spark_order(v) for v in values], ranks(array).tolist()
    order = sorted(range(len(values)), key=keys.__getitem__)
    for before, after in pairwise(order):
        assert (found[before] < found[after]) == (keys[before] < keys[after])
        assert (found[before] == found[after]) == (keys[before] == keys[after])


@at_leisure
@given(st.lists(st.none() | ATS, max_size=20))
def test_ranks_of_structs(values: list[Any]) -> None:
    nested = pa.struct([("x", AT), ("y", pa.int32())])
    assert_ranked(values, pa.table({"v": pa.array(values, AT)}))
    pairs = [{"x": v, "y": i % 2 or None} for i, v in enumerate(values)]
    assert_ranked(pairs, pa.table({"v": pa.array(pairs, nested)}))


def test_ranks_of_nothing_but_nulls() -> None:
    assert ranks(pa.nulls(3)).tolist() == [0, 0, 0]
    assert len(set(ranks(pa.nulls(3, AT)).tolist())) == 1
