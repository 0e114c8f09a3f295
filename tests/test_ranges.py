"""Aggregates over ranges of rows, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from arrow_columns import (
    AT,
    ATS,
    EXTREMES,
    INT64,
    at_leisure,
    column_of,
    decimals,
    nullable,
    scaled,
    spark_order,
    structs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ssql.runtime.operators.ranges import is_known, merged

Ranges = list[tuple[int, int]]


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


def test_merges_have_names() -> None:
    assert all(map(is_known, ("sum", "min", "max_by", "bit_xor", "moments", "concat")))
    assert not is_known("median")


# ------------------------------------------------------------------ sums


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
            expected = [None if s is None else scaled(s, scale) for s in sums]
            assert merge("sum", column, ranges) == expected

    check()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_decimal_sum_beyond_128_bits_is_no_small_one(sign: int) -> None:
    values = [scaled(sign * (10**38 - 1), 0)] * 9
    column = column_of(values, pa.decimal128(38, 0))
    for many in range(2, 10):
        with pytest.raises(OverflowError):
            merge("sum", column, [(0, many)])
    assert merge("sum", column, [(3, 4)]) == values[:1]


# ------------------------------------------------------------------ extremes


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
