"""Rows packed by bucket, as Arrow: one value a bucket and task, since Spark's own stateful
operators hand rows to Python one by one.

A bucket is a hash of the keys that must meet, never a key itself: there are few of them, and each
is handled at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from ssql.runtime.operators.extents import boxed
from ssql.runtime.operators.merging import AT
from ssql.runtime.operators.tables import numbers, taken, to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKETS = 16
PACKED_ROWS = 250_000  # that are packed at once
# The columns of packed rows: `side` says which input they are of.
BUCKET, SIDE, TIME, LATEST, PAYLOAD = "bucket", "side", "event_time", "latest", "payload"
EVENT_TIME = {"spark.watermarkDelayMs": 0}  # Spark's own mark of an event-time column
NEVER_LATE = 253_402_300_799_000_000  # the year 9999


def packed_rows(rows: DataFrame, buckets: int, *, ticks: bool = False, side: int = 0) -> DataFrame:
    """Rows, with a column `bucket` from 0 on and their time in `at`, as one blob a bucket. `ticks`:
    a bucket without rows has an empty one."""
    labels = bucket_labels(buckets)

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(batch)
            if sum(b.num_rows for b in held) >= PACKED_ROWS:
                yield packed_batch(pa.Table.from_batches(held), labels, ticks=ticks, side=side)
                held = []
        if any(b.num_rows for b in held):
            yield packed_batch(pa.Table.from_batches(held), labels, ticks=ticks, side=side)

    return rows.mapInArrow(pack, _PACKED)


def bucket_sql(meeting: Sequence[str], buckets: int) -> str:
    return f"pmod(hash({', '.join(meeting)}), {buckets})" if meeting else "0"


_PACKED = StructType(
    [
        StructField(BUCKET, IntegerType()),
        StructField(SIDE, IntegerType()),
        StructField(TIME, TimestampType(), True, EVENT_TIME),
        StructField(LATEST, LongType()),
        StructField(PAYLOAD, BinaryType()),
    ]
)


def packed_batch(
    table: pa.Table, labels: list[int], *, ticks: bool, side: int = 0
) -> pa.RecordBatch:
    """One row a bucket. Its time is the end of time: which of its rows are late is not for Spark to
    say, which would take all or none of them."""
    table = table.combine_chunks()
    buckets = numbers(table, BUCKET)
    order = boxed(buckets)
    rows = _nullable(taken(table.drop([BUCKET]), order))
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
        pa.array([side] * len(found), pa.int32()),
        pa.array([NEVER_LATE] * len(found), pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        pa.array([latest] * len(found), pa.int64()),
        pa.array(blobs, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=_PACKED.fieldNames())


def _nullable(table: pa.Table) -> pa.Table:
    """What Spark knows to be never NULL may be so in one batch and not in another."""
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    return pa.Table.from_arrays(table.columns, schema=schema)


def bucket_labels(number: int) -> list[int]:
    """Names of buckets that Spark's hash partitioner spreads evenly over tasks, where their number
    is a divisor of that of the buckets."""
    found: dict[int, int] = {}
    label = 0
    while len(found) < number:
        found.setdefault(murmur3(label) % number, label)
        label += 1
    return [found[i] for i in range(number)]


def murmur3(value: int, seed: int = 42) -> int:
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
