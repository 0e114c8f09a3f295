"""The road that the rows of an aggregate take to an operator and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    FloatType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from ssql.runtime.operators.merging import AT, Layout
from ssql.runtime.operators.packing import (
    BUCKET,
    BUCKETS,
    EVENT_TIME,
    PAYLOAD,
    bucket_sql,
    packed_rows,
)
from ssql.runtime.operators.processor import Kernel, Processor, processed
from ssql.runtime.operators.tables import from_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


@dataclass(frozen=True, slots=True)
class Part:
    """A column of an aggregate: how it is merged (`sum`, `max`, …), what it is of a row, its name,
    and a RANGE of its own where it has one."""

    how: str
    sql: str
    name: str
    range: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What an operator's rows are: Spark SQL of their time, keys, parts and other columns."""

    at: str
    keys: tuple[tuple[str, str], ...]  # names, and Spark SQL
    meeting: tuple[int, ...]  # the keys that must meet, by number; none: all rows meet
    parts: tuple[Part, ...]
    order: tuple[str, ...] = ()
    buckets: int = BUCKETS
    chained: bool = False  # the rows are results of windows: none of them is late
    ticks: bool = False  # every bucket is told how far rows have come, even if it has none
    in_time: bool = True  # windows have times as bounds, else row numbers
    window: str = "window"  # the column of a result's bounds
    event_time: str = ""  # and that of its time, for windows over it


def key_names(number: int) -> list[str]:
    return [f"key_{i}" for i in range(number)]


def part_names(number: int) -> list[str]:
    return [f"part_{i}" for i in range(number)]


def order_names(number: int) -> list[str]:
    return [f"order_{i}" for i in range(number)]


def key_columns(keys: Mapping[str, str] | Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Names and Spark SQL of keys that are given by name, or as columns."""
    if isinstance(keys, Mapping):
        return tuple(keys.items())
    return tuple((name, "`" + name.replace("`", "``") + "`") for name in keys)


def all_of(keys: Mapping[str, str] | Sequence[str]) -> tuple[int, ...]:
    return tuple(range(len(keys)))


def layout_of(traffic: Traffic) -> Layout:
    names = part_names(len(traffic.parts))
    parts = {n: p.how for n, p in zip(names, traffic.parts, strict=True)}
    return Layout(tuple(key_names(len(traffic.keys))), parts)


def travel(frame: DataFrame, traffic: Traffic, kernel: Kernel) -> DataFrame:
    """Rows to a kernel and back: a DataFrame of windows, keys and parts. The kernel's rows have the
    columns `at`, the keys and the parts by number, and what else it asked for; its results `start`
    and `end` of their windows, the keys and the parts."""
    rows = _with_plain_zeros(frame.selectExpr(*_columns(traffic)))
    if not frame.isStreaming:  # of a stream, rows without a time never come this far
        rows = rows.where(f"{AT} IS NOT NULL")
    buckets = traffic.buckets if traffic.meeting else 1
    packed = packed_rows(rows, buckets, ticks=traffic.ticks)
    result = _result_schema(rows.schema, traffic)
    returned = processed(packed, Processor(kernel, takes_late=traffic.chained))
    return returned.mapInArrow(_unpacker(traffic), result)


# ------------------------------------------------------------------ there


def _columns(traffic: Traffic) -> Iterator[str]:
    meeting = [traffic.keys[i][1] for i in traffic.meeting]
    yield f"{bucket_sql(meeting, traffic.buckets)} AS {BUCKET}"
    yield f"{traffic.at} AS {AT}"
    for name, (_, sql) in zip(key_names(len(traffic.keys)), traffic.keys, strict=True):
        yield f"{sql} AS {name}"
    for name, part in zip(part_names(len(traffic.parts)), traffic.parts, strict=True):
        yield f"{part.sql} AS {name}"
    for name, sql in zip(order_names(len(traffic.order)), traffic.order, strict=True):
        yield f"{sql} AS {name}"


def _with_plain_zeros(rows: DataFrame) -> DataFrame:
    """Spark's groups know one zero; so must the keys here."""
    changes = {
        field.name: rows[field.name] + F.lit(0.0).cast(field.dataType)
        for field in rows.schema
        if field.name.startswith("key_") and isinstance(field.dataType, (DoubleType, FloatType))
    }
    return rows.withColumns(changes) if changes else rows


# ------------------------------------------------------------------ and back


def _result_schema(rows: StructType, traffic: Traffic) -> StructType:
    bound: DataType = TimestampType() if traffic.in_time else LongType()
    window = StructType([StructField("start", bound), StructField("end", bound)])
    fields = [StructField(traffic.window, window)]
    names = [name for name, _ in traffic.keys] + [p.name for p in traffic.parts]
    columns = key_names(len(traffic.keys)) + part_names(len(traffic.parts))
    fields += [StructField(n, rows[c].dataType) for n, c in zip(names, columns, strict=True)]
    if traffic.event_time:
        fields.append(StructField(traffic.event_time, TimestampType(), True, EVENT_TIME))
    return StructType(fields)


def _unpacker(traffic: Traffic) -> Any:
    in_time, timed = traffic.in_time, bool(traffic.event_time)
    columns = key_names(len(traffic.keys)) + part_names(len(traffic.parts))

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column(PAYLOAD).to_pylist():
                if blob is not None:
                    table = from_bytes(blob)
                    yield from _returned(table, columns, in_time=in_time, timed=timed)

    return unpack


def _returned(
    table: pa.Table, columns: list[str], *, in_time: bool, timed: bool
) -> Iterator[pa.RecordBatch]:
    for batch in table.to_batches():
        bounds = [batch.column("start"), batch.column("end")]
        if in_time:
            bounds = [b.cast(pa.timestamp("us", tz="UTC")) for b in bounds]
        window = pa.StructArray.from_arrays(bounds, ["start", "end"])
        arrays = [window, *(batch.column(c) for c in columns)]
        names = ["window", *columns]
        if timed:
            arrays.append(batch.column("time").cast(pa.timestamp("us", tz="UTC")))
            names.append("time")
        yield pa.RecordBatch.from_arrays(arrays, names=names)
