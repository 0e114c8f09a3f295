"""The road that rows take to an operator and back: packed by bucket, as Arrow.

Rows come to Python one by one in Spark's own stateful operators; packed, they come as one value a
bucket and task. A bucket is a hash of the keys that must meet, never a key itself: there are few of
them, and each is handled at once, by a kernel.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    Row,
    StructField,
    StructType,
    TimestampType,
)

from ssql.runtime.operators.extents import boxed
from ssql.runtime.operators.merging import AT, Layout
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import from_bytes, numbers, stacked, taken, to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

BUCKETS = 16
# Rows that are packed at once, and results that go back at once.
PACKED_ROWS = 250_000
RETURNED_ROWS = 200_000

_BUCKET, _TIME, _LATEST, _PAYLOAD, _LATE = "bucket", "event_time", "latest", "payload", "late"
_EVENT_TIME = {"spark.watermarkDelayMs": 0}  # Spark's own mark of an event-time column
# No row is later than the year 2200, so a watermark from there on says that there are no more.
END_US = 7_258_118_400_000_000
_NEVER_LATE = 253_402_300_799_000_000  # the year 9999


@dataclass(frozen=True, slots=True)
class Part:
    """A column of an aggregate: how it is merged (`sum`, `max`, …), what it is of a row, its name,
    and a RANGE of its own where it has one."""

    how: str
    sql: str
    name: str
    range: str | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """How far time has come: rows before `watermark` are all there; at the end, all rows are.
    `latest` is the greatest time of any row, of all buckets, that came with this step."""

    watermark: int
    is_end: bool
    latest: int | None = None


class Kernel(Protocol):
    """What an operator does with the rows of one bucket. Its columns are `at`, the keys and the
    parts by number, and what else it asked for."""

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterable[pa.Table]:
        """Take rows in, and give the results that are final now: `start` and `end` of their
        windows, the keys and the parts. `state.memo["due"]` is when to be called again.

        The state is as it shall be when this returns; results may be computed later, table by
        table."""


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


_operators = count(1)  # Spark wants each observation under a name of its own


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
    """Rows to a kernel and back: a DataFrame of windows, keys and parts."""
    rows = _with_plain_zeros(frame.selectExpr(*_columns(traffic)))
    if not frame.isStreaming:  # of a stream, rows without a time never come this far
        rows = rows.where(f"{AT} IS NOT NULL")
    packed = rows.mapInArrow(_packer(traffic), _packed_schema())
    result = _result_schema(rows.schema, traffic)
    processor = Processor(kernel, chained=traffic.chained)
    if frame.isStreaming:
        returned = packed.groupBy(_BUCKET).transformWithState(
            processor, _RETURNED, "Append", "EventTime"
        )
        # Rows that came too late, where whoever runs the query can see their number.
        returned = returned.observe(f"late {next(_operators)}", F.sum(_LATE).alias("rows"))
    else:
        # Not the method itself: Spark counts the arguments of what it is given.
        returned = packed.groupBy(_BUCKET).applyInArrow(
            lambda rows: processor.at_once(rows), _RETURNED
        )
    return returned.mapInArrow(_unpacker(traffic), result)


# ------------------------------------------------------------------ there


def _columns(traffic: Traffic) -> Iterator[str]:
    meeting = [traffic.keys[i][1] for i in traffic.meeting]
    yield f"{_bucket_sql(meeting, traffic.buckets)} AS {_BUCKET}"
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


def _bucket_sql(meeting: Sequence[str], buckets: int) -> str:
    return f"pmod(hash({', '.join(meeting)}), {buckets})" if meeting else "0"


def _packed_schema() -> StructType:
    return StructType(
        [
            StructField(_BUCKET, IntegerType()),
            StructField(_TIME, TimestampType(), True, _EVENT_TIME),
            StructField(_LATEST, LongType()),
            StructField(_PAYLOAD, BinaryType()),
        ]
    )


def _packer(traffic: Traffic) -> Any:
    labels = _labels(traffic.buckets if traffic.meeting else 1)
    ticks = traffic.ticks

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(batch)
            if sum(b.num_rows for b in held) >= PACKED_ROWS:
                yield _packed(pa.Table.from_batches(held), labels, ticks=ticks)
                held = []
        if any(b.num_rows for b in held):
            yield _packed(pa.Table.from_batches(held), labels, ticks=ticks)

    return pack


def _packed(table: pa.Table, labels: list[int], *, ticks: bool) -> pa.RecordBatch:
    """One row a bucket. Its time is the end of time: which of its rows are late is not for Spark to
    say, which would take all or none of them."""
    table = table.combine_chunks()
    buckets = numbers(table, _BUCKET)
    order = boxed(buckets)
    rows = _nullable(taken(table.drop([_BUCKET]), order))
    edges = np.searchsorted(buckets[order], np.arange(len(labels) + 1))
    latest = int(numbers(rows, AT).max())
    found, blobs = [], []
    for bucket, label in enumerate(labels):
        part = rows.slice(edges[bucket], edges[bucket + 1] - edges[bucket])
        if part.num_rows or ticks:
            found.append(label)
            blobs.append(to_bytes(part))
    columns = [
        pa.array(found, pa.int32()),
        pa.array([_NEVER_LATE] * len(found), pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        pa.array([latest] * len(found), pa.int64()),
        pa.array(blobs, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=[_BUCKET, _TIME, _LATEST, _PAYLOAD])


def _nullable(table: pa.Table) -> pa.Table:
    """What Spark knows to be never NULL may be so in one batch and not in another."""
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    return pa.Table.from_arrays(table.columns, schema=schema)


def _labels(number: int) -> list[int]:
    """Names of buckets that Spark's hash partitioner spreads evenly over tasks, where their number
    is a divisor of that of the buckets."""
    found: dict[int, int] = {}
    label = 0
    while len(found) < number:
        found.setdefault(_murmur3(label) % number, label)
        label += 1
    return [found[i] for i in range(number)]


def _murmur3(value: int, seed: int = 42) -> int:
    """Spark's hash of an INT."""
    mask = 0xFFFFFFFF
    mixed = (value * 0xCC9E2D51) & mask
    mixed = ((mixed << 15) | (mixed >> 17)) & mask
    mixed = (mixed * 0x1B873593) & mask
    result = seed ^ mixed
    result = ((result << 13) | (result >> 19)) & mask
    result = (result * 5 + 0xE6546B64) & mask
    result ^= 4
    result ^= result >> 16
    result = (result * 0x85EBCA6B) & mask
    result ^= result >> 13
    result = (result * 0xC2B2AE35) & mask
    result ^= result >> 16
    return result - 2**32 if result >= 2**31 else result


# ------------------------------------------------------------------ the operator

_RETURNED = StructType([StructField(_PAYLOAD, BinaryType()), StructField(_LATE, LongType())])


class _SparkChunks:
    """Chunks in Spark's state."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def read(self, table: str, chunk: int) -> bytes:
        return bytes(self._state.getValue((table, chunk))[0])

    def write(self, table: str, chunk: int, blob: bytes) -> None:
        self._state.updateValue((table, chunk), (blob,))

    def remove(self, table: str, chunk: int) -> None:
        self._state.removeKey((table, chunk))


class HeldChunks:
    """Chunks in memory."""

    def __init__(self) -> None:
        self.blobs: dict[tuple[str, int], bytes] = {}

    def read(self, table: str, chunk: int) -> bytes:
        return self.blobs[table, chunk]

    def write(self, table: str, chunk: int, blob: bytes) -> None:
        self.blobs[table, chunk] = blob

    def remove(self, table: str, chunk: int) -> None:
        del self.blobs[table, chunk]


class Processor(StatefulProcessor):
    """A kernel as Spark calls it: with the rows of a bucket, and when time has come."""

    def __init__(self, kernel: Kernel, *, chained: bool) -> None:
        self._kernel = kernel
        self._chained = chained

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._chunks = handle.getMapState("chunks", "table STRING, chunk BIGINT", "blob BINARY")
        self._kept = handle.getValueState("kept", "json STRING")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        found = [(row[_LATEST], from_bytes(row[_PAYLOAD])) for row in rows]
        latest = max(at for at, _ in found)
        yield from self._step(stacked([table for _, table in found]), latest, timerValues)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,
    ) -> Iterator[Row]:
        yield from self._step(None, None, timerValues)

    def close(self) -> None:
        """Spark keeps the state."""

    def at_once(self, packed: pa.Table) -> pa.Table:
        """All rows of a bucket, and the end."""
        rows = stacked([from_bytes(blob) for blob in packed.column(_PAYLOAD).to_pylist()])
        state = State(HeldChunks(), None)
        latest = max(packed.column(_LATEST).to_pylist())
        results = self._kernel.step(state, rows, Moment(END_US, is_end=True, latest=latest))
        blobs = list(_pieces(results))
        late = pa.array([0] * len(blobs), pa.int64())
        return pa.Table.from_arrays([pa.array(blobs, pa.binary()), late], [_PAYLOAD, _LATE])

    def _step(self, rows: pa.Table | None, latest: int | None, timer_values: Any) -> Iterator[Row]:
        watermark = int(timer_values.getCurrentWatermarkInMs()) * 1000
        now = Moment(watermark, is_end=watermark >= END_US, latest=latest)
        found = self._kept.get()
        kept = json.loads(found[0]) if found else None
        state = State(_SparkChunks(self._chunks), kept)
        registered = state.memo.pop("timer", None)
        late = 0
        if rows is not None and not self._chained:
            rows, late = _in_time(rows, watermark)
        results = self._kernel.step(state, rows, now)
        self._remember(state, registered, watermark, has_fired=latest is None)
        for blob in _pieces(results):
            yield Row(**{_PAYLOAD: blob, _LATE: late})
            late = 0
        if late:
            yield Row(**{_PAYLOAD: None, _LATE: late})

    def _remember(
        self, state: State, registered: int | None, watermark: int, *, has_fired: bool
    ) -> None:
        """Rows come before timers: what they have settled, a timer need not come for again."""
        due = state.memo.get("due")
        wanted = None if due is None else max(-(-due // 1000), watermark // 1000 + 1)
        if registered is not None and registered != wanted and not has_fired:
            self._handle.deleteTimer(registered)
        if wanted is not None and wanted != registered:
            self._handle.registerTimer(wanted)
        if wanted is not None:
            state.memo["timer"] = wanted
        kept = state.kept()
        if kept is None:
            self._kept.clear()
        else:
            self._kept.update((json.dumps(kept),))


def _in_time(rows: pa.Table, watermark: int) -> tuple[pa.Table, int]:
    """Without the rows that are older than the watermark, and how many these are."""
    kept = numbers(rows, AT) >= watermark
    late = rows.num_rows - int(np.count_nonzero(kept))
    return (taken(rows, kept), late) if late else (rows, 0)


def _pieces(results: Iterable[pa.Table]) -> Iterator[bytes]:
    for table in results:
        for begin in range(0, table.num_rows, RETURNED_ROWS):
            yield to_bytes(table.slice(begin, RETURNED_ROWS))


# ------------------------------------------------------------------ and back


def _result_schema(rows: StructType, traffic: Traffic) -> StructType:
    bound: DataType = TimestampType() if traffic.in_time else LongType()
    window = StructType([StructField("start", bound), StructField("end", bound)])
    fields = [StructField(traffic.window, window)]
    names = [name for name, _ in traffic.keys] + [p.name for p in traffic.parts]
    columns = key_names(len(traffic.keys)) + part_names(len(traffic.parts))
    fields += [StructField(n, rows[c].dataType) for n, c in zip(names, columns, strict=True)]
    if traffic.event_time:
        fields.append(StructField(traffic.event_time, TimestampType(), True, _EVENT_TIME))
    return StructType(fields)


def _unpacker(traffic: Traffic) -> Any:
    in_time, timed = traffic.in_time, bool(traffic.event_time)
    columns = key_names(len(traffic.keys)) + part_names(len(traffic.parts))

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column(_PAYLOAD).to_pylist():
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
