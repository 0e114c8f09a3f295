"""An operator as Spark calls it: a kernel, its state, and when it is called again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import BinaryType, LongType, Row, StructField, StructType

from ssql.runtime.operators.merging import AT
from ssql.runtime.operators.packing import BUCKET, LATEST, PAYLOAD, SIDE
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import from_bytes, numbers, stacked, taken, to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RETURNED_ROWS = 200_000  # that go back at once
_LATE = "late"
# No row is later than the year 2200, so a watermark from there on says that there are no more.
END_US = 7_258_118_400_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """How far time has come: rows before `watermark` are all there; at the end, all rows are.
    `latest` is the greatest time of any row, of all buckets, that came with this step."""

    watermark: int
    is_end: bool
    latest: int | None = None


class Kernel(Protocol):
    """What an operator does with the rows of one bucket."""

    def step(self, state: State, rows: Any, now: Moment) -> Iterable[pa.Table]:
        """Take rows in, and give the results that are final now. Rows are a table, or None if there
        are none; where an operator has several inputs, the tables by input. `state.memo["due"]` is
        when to be called again.

        The state is as it shall be when this returns; results may be computed later, table by
        table."""


_operators = count(1)  # Spark wants each observation under a name of its own


def processed(packed: DataFrame, processor: Processor) -> DataFrame:
    """Packed rows through a kernel: its results, packed, in a column `payload`."""
    if packed.isStreaming:
        returned = packed.groupBy(BUCKET).transformWithState(
            processor, _RETURNED, "Append", "EventTime"
        )
        # Rows that came too late, where whoever runs the query can see their number.
        return returned.observe(f"late {next(_operators)}", F.sum(_LATE).alias("rows"))
    # Not the method itself: Spark counts the arguments of what it is given.
    return packed.groupBy(BUCKET).applyInArrow(lambda rows: processor.at_once(rows), _RETURNED)


_RETURNED = StructType([StructField(PAYLOAD, BinaryType()), StructField(_LATE, LongType())])


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

    def __init__(self, kernel: Kernel, *, takes_late: bool, sides: int = 1) -> None:
        self._kernel = kernel
        self._takes_late = takes_late
        self._sides = sides

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._chunks = handle.getMapState("chunks", "table STRING, chunk BIGINT", "blob BINARY")
        self._kept = handle.getValueState("kept", "json STRING")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        found = [(row[LATEST], row[SIDE], row[PAYLOAD]) for row in rows]
        latest = max(at for at, _, _ in found)
        tables = self._by_side((side, blob) for _, side, blob in found)
        yield from self._step(tables, latest, timerValues)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,
    ) -> Iterator[Row]:
        yield from self._step([None] * self._sides, None, timerValues)

    def close(self) -> None:
        """Spark keeps the state."""

    def at_once(self, packed: pa.Table) -> pa.Table:
        """All rows of a bucket, and the end."""
        columns = (packed.column(c).to_pylist() for c in (SIDE, PAYLOAD))
        tables = self._by_side(zip(*columns, strict=True))
        state = State(HeldChunks(), None)
        latest = max(packed.column(LATEST).to_pylist())
        now = Moment(END_US, is_end=True, latest=latest)
        results = self._kernel.step(state, self._input(tables), now)
        blobs = list(_pieces(results))
        late = pa.array([0] * len(blobs), pa.int64())
        return pa.Table.from_arrays([pa.array(blobs, pa.binary()), late], [PAYLOAD, _LATE])

    def _by_side(self, packed: Iterable[tuple[int, bytes]]) -> list[pa.Table | None]:
        found: list[list[pa.Table]] = [[] for _ in range(self._sides)]
        for side, blob in packed:
            found[side].append(from_bytes(blob))
        return [stacked(tables) if tables else None for tables in found]

    def _input(self, tables: list[pa.Table | None]) -> Any:
        return tables if self._sides > 1 else tables[0]

    def _step(
        self, tables: list[pa.Table | None], latest: int | None, timer_values: Any
    ) -> Iterator[Row]:
        watermark = int(timer_values.getCurrentWatermarkInMs()) * 1000
        now = Moment(watermark, is_end=watermark >= END_US, latest=latest)
        found = self._kept.get()
        kept = json.loads(found[0]) if found else None
        state = State(_SparkChunks(self._chunks), kept)
        registered = state.memo.pop("timer", None)
        late = 0
        if not self._takes_late:
            tables, late = _in_time(tables, watermark)
        results = self._kernel.step(state, self._input(tables), now)
        self._remember(state, registered, watermark, has_fired=latest is None)
        for blob in _pieces(results):
            yield Row(**{PAYLOAD: blob, _LATE: late})
            late = 0
        if late:
            yield Row(**{PAYLOAD: None, _LATE: late})

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


def _in_time(tables: list[pa.Table | None], watermark: int) -> tuple[list[pa.Table | None], int]:
    """Without the rows that are older than the watermark, and how many these are."""
    kept = [t if t is None else taken(t, numbers(t, AT) >= watermark) for t in tables]
    before, after = (sum(t.num_rows for t in ts if t is not None) for ts in (tables, kept))
    return kept, before - after


def _pieces(results: Iterable[pa.Table]) -> Iterator[bytes]:
    for table in results:
        for begin in range(0, table.num_rows, RETURNED_ROWS):
            yield to_bytes(table.slice(begin, RETURNED_ROWS))
