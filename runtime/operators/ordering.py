"""Rows in order of time, over all keys and batches: held until nothing can come before them, then
put in order by one task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from ssql.runtime.operators.merging import AT, positions_of
from ssql.runtime.operators.numbered import final_rows
from ssql.runtime.operators.packing import BUCKET, BUCKETS, PAYLOAD, bucket_sql, packed_rows
from ssql.runtime.operators.processor import Moment, Processor, processed
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import Numbers, column, from_bytes, ranks, stacked, taken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_SHOWN = 20_000  # rows that go back to Spark at once
MOST_ORDERED = 1_000_000  # that are put in order at once


@dataclass(frozen=True, slots=True)
class By:
    """What rows of one time are put in order by, in Spark SQL."""

    sql: str
    descending: bool = False
    nulls_first: bool | None = None  # None: as Spark does


def in_time_order(
    returned: DataFrame,
    schema: StructType,
    shown: Callable[[pa.Table], list[pa.Array]],
    ties: Sequence[tuple[str, By]] = (),
) -> DataFrame:
    """What an operator has released, as rows in order of `at`. `ties` are the columns that rows of
    one time go by before all others."""

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        blobs = [b for batch in batches for b in batch.column(PAYLOAD).to_pylist() if b is not None]
        for table in in_pieces([from_bytes(blob) for blob in blobs], MOST_ORDERED):
            ordered = taken(table, time_order(table, ties))
            for begin in range(0, ordered.num_rows, MOST_SHOWN):
                arrays = shown(ordered.slice(begin, MOST_SHOWN).combine_chunks())
                yield pa.RecordBatch.from_arrays(arrays, names=schema.fieldNames())

    return returned.repartition(1).mapInArrow(unpack, schema)


def in_pieces(tables: Sequence[pa.Table], most: int) -> Iterator[pa.Table]:
    """The rows of all tables, piece by piece: those of a piece are earlier than those of the next
    one, and about as many as `most`. A backlog is larger than what one table of texts can hold."""
    if not tables:
        return
    times = [positions_of(table) for table in tables]
    every = np.concatenate(times)
    places = np.arange(most, len(every), most)
    cuts = np.unique(np.partition(every, places)[places]) if len(places) else places
    edges = [None, *cuts.tolist(), None]
    for low, high in pairwise(edges):
        found = []
        for table, at in zip(tables, times, strict=True):
            here = np.ones(len(at), np.bool_) if low is None else at >= low
            if high is not None:
                here &= at < high
            found.append(taken(table, here))
        piece = stacked([t for t in found if t.num_rows] or found[:1])
        if piece.num_rows:
            yield piece


def time_order(table: pa.Table, ties: Sequence[tuple[str, By]] = ()) -> Numbers:
    """The order of rows by `at`; those of one time by `ties`, and then by all other columns that
    have an order, so that it is always the same."""
    times = positions_of(table)
    order = np.argsort(times, kind="stable")
    rising = times[order]
    same = np.append(rising[1:] == rising[:-1], False) if len(rising) else np.zeros(0, np.bool_)
    tied = np.flatnonzero(same | np.append(False, same[:-1])[: len(same)])
    if not len(tied):
        return order
    rows = taken(table, order[tied])
    first = dict(ties)
    names = [*first, *(n for n in table.column_names if n not in first and n != AT)]
    keys = [
        _tie_places(column(rows, name), first.get(name))
        for name in names
        if name in first or _has_order(rows.schema.field(name).type)
    ]
    order[tied] = order[tied][np.lexsort((*reversed(keys), rising[tied]))]
    return order


def _tie_places(values: pa.Array, by: By | None) -> Numbers:
    places = ranks(values)
    if by is None:
        return places
    if by.descending:
        places = -places
    nulls_first = not by.descending if by.nulls_first is None else by.nulls_first
    size = len(values) + 1
    missing = values.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, -2 * size if nulls_first else 2 * size, places)


def _has_order(type: pa.DataType) -> bool:
    """Maps have none in Spark either."""
    if pa.types.is_map(type):
        return False
    return all(_has_order(type.field(i).type) for i in range(type.num_fields))


# ------------------------------------------------------------------ rows of any kind


@dataclass(frozen=True, slots=True)
class HoldKernel:
    """Rows are held until the watermark has passed them."""

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterable[pa.Table]:
        final = final_rows(state, rows, now)
        return () if final is None else (final,)


def in_order(
    rows: DataFrame,
    *,
    time: str = "",
    event_time: str = "",
    then: Sequence[By] = (),
) -> DataFrame:
    """Rows in order of `time` or, where they are results of windows or joins, of the time that
    Spark knows them by: the column `event_time`, which is dropped."""
    names = [n for n in rows.columns if n != event_time]
    fields = {f"c_{i}": rows.schema[n] for i, n in enumerate(names)}
    columns = [f"{_quoted(n)} AS c_{i}" for i, n in enumerate(names)]
    ties = {f"t_{i}": by for i, by in enumerate(then)}
    columns += [f"{by.sql} AS {name}" for name, by in ties.items()]
    at = f"unix_micros({event_time or time})"
    bucket = bucket_sql([at], BUCKETS)
    plain = rows.selectExpr(f"{bucket} AS {BUCKET}", f"{at} AS {AT}", *columns)
    if not rows.isStreaming:
        plain = plain.where(f"{AT} IS NOT NULL")
    packed = packed_rows(plain, BUCKETS)
    returned = processed(packed, Processor(HoldKernel(), takes_late=bool(event_time)))
    schema = StructType([StructField(f.name, f.dataType) for f in fields.values()])

    def shown(table: pa.Table) -> list[pa.Array]:
        return [column(table, name) for name in fields]

    return in_time_order(returned, schema, shown, tuple(ties.items()))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
