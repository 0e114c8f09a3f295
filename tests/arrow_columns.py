"""Columns and values of all the types that operators meet, for the tests of what they stand on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

at_leisure = settings(deadline=None)  # the first example of each pays for what is loaded


def column_of(values: Sequence[Any], type: pa.DataType, cut: int = 0) -> pa.ChunkedArray:
    """Values as Spark's batches bring them: in several pieces, and not from a buffer's beginning."""
    array = pa.array([*values[:1], *values, *values[:1]], type).slice(1, len(values))
    cut = cut % (len(values) + 1)
    return pa.chunked_array([array.slice(0, cut), array.slice(cut)], type)


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


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**digits - 1
    unscaled = st.one_of(
        st.integers(-999, 999), st.integers(-most // 40, most // 40), st.integers(-most, most)
    )
    return unscaled.map(lambda n: scaled(n, scale))


def scaled(unscaled: int, scale: int) -> Decimal:
    sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
    return Decimal((sign, digits, -scale))


INT64 = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1))
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
AT = pa.struct([("a", pa.int64()), ("b", pa.float64()), ("c", pa.string())])
ATS = structs(
    {
        "a": st.none() | st.integers(-1, 1),
        "b": st.none() | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5]),
        "c": st.none() | st.sampled_from(["", "a", "ä", "b"]),
    }
)


def rows_numbered(numbers: Sequence[int]) -> pa.Table:
    names = pa.array([None if n % 5 == 0 else f"row {n}" for n in numbers], pa.string())
    return pa.table({"n": pa.array(numbers, pa.int64()), "name": names})
