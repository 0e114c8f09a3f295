"""Window joins with results in order of time: sync-filter, filter-order, and what adapts to the
load (Hammad, Aref and Elmagarmid, In-Order Execution of Continuous Queries).

Sync-filter holds rows until all sides have progressed beyond them, and joins them then.
Filter-order joins rows as they come, and holds results until no earlier one can follow. Which rows
are joined at a step is all that differs: those that have become final, or those that have arrived.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    DataType,
    DoubleType,
    FloatType,
    StructField,
    StructType,
    TimestampType,
)

from ssql.planner.durations import microseconds
from ssql.runtime.operators.asking import Asked, Question, question
from ssql.runtime.operators.meeting import JoinWindow, Meeting, MetSide
from ssql.runtime.operators.merging import AT, positions_of
from ssql.runtime.operators.ordering import By, in_time_order
from ssql.runtime.operators.packing import (
    BUCKET,
    BUCKETS,
    EVENT_TIME,
    PAYLOAD,
    bucket_sql,
    packed_rows,
)
from ssql.runtime.operators.processor import END_US, Moment, Processor, processed
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import Numbers, column, from_bytes, stacked, taken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SYNC_FILTER, FILTER_ORDER, ADAPTIVE = "sync-filter", "filter-order", "adaptive"
ALPHA = 0.3
# An adaptive join goes back once the load is this much below what made it switch.
HYSTERESIS = 0.8
MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class OrderedJoinKernel:
    """`columns`: what a result has of each side. Results are in order of the time of the side `by`,
    or of the latest of all. `parallel`: how many buckets one task has to itself."""

    meeting: Meeting
    columns: tuple[tuple[str, ...], ...]
    plan: str = SYNC_FILTER
    questions: tuple[Question, ...] = ()
    by: int | None = None
    alpha: float = ALPHA
    parallel: float = 1.0
    seconds: Callable[[], float] = clock.perf_counter

    def step(
        self, state: State, tables: Sequence[pa.Table | None], now: Moment
    ) -> Iterable[pa.Table]:
        on_arrival = self._joins_on_arrival(state)
        dues: list[int] = []
        new = [
            _due_rows(state, f"held_{s}", table, now, dues, all_are=on_arrival)
            for s, table in enumerate(tables)
        ]
        old = [state.table(f"side_{s}") for s in range(len(new))]
        begun = self.seconds()
        released = self._released(state, now, dues)
        joined = any(n is not None for n in new)
        if joined:
            sides = [MetSide(a, b) for a, b in zip(old, new, strict=True)]
            results: Iterable[pa.Table] = self._results(sides)
            if on_arrival or self.plan == ADAPTIVE or self.by is not None:
                results = self._held(state, results, now, dues)
            released = [*released, results]
        taken_seconds = self.seconds() - begun
        self._keep(state, old, new, now, dues)
        self._watch(state, taken_seconds if joined else 0.0, now)
        state.memo.pop("due", None)
        if dues and not now.is_end:
            state.memo["due"] = min(dues)
        elif now.is_end or not dues:
            state.memo.clear()
        return (table for part in released for table in part)

    # -------------------------------------------------------------- results

    def _results(self, sides: list[MetSide]) -> Iterator[pa.Table]:
        tables = [side.table for side in sides]
        for places in self.meeting.of(sides):
            for asked in self.questions:
                kept = asked.kept(tables, places)
                places = tuple(p[kept] for p in places)
            if not len(places[0]):
                continue
            times = [side.times[p] for side, p in zip(sides, places, strict=True)]
            at = np.maximum.reduce(times) if self.by is None else times[self.by]
            arrays, names = [pa.array(at, pa.int64())], [AT]
            for number, (side, place) in enumerate(zip(sides, places, strict=True)):
                assert side.table is not None, "what meets is there"
                rows = taken(side.table.select(list(self.columns[number])), place)
                arrays += rows.columns
                names += [in_result(number, name) for name in rows.column_names]
            yield pa.Table.from_arrays(arrays, names)

    def _final_before(self, now: Moment) -> int:
        """No result of an earlier time can come any more."""
        if now.is_end:
            return END_US
        if self.by is None:
            return now.watermark
        window = self.meeting.window
        return now.watermark - (window.size_us - 1 if window.size_us else window.most_us[self.by])

    def _released(self, state: State, now: Moment, dues: list[int]) -> list[Iterable[pa.Table]]:
        """Of the results that were held. Those that were given before may still be there."""
        held = state.table("results")
        if held is None:
            return []
        bound, times = self._final_before(now), positions_of(held)
        given = times < state.memo.get("given", 0)
        final = ~given & (times < bound)
        state.change("results", expired=given | final)
        self._wake_for(times[times >= bound], now, dues)
        return [[taken(held, final)]] if final.any() else []

    def _held(
        self, state: State, results: Iterable[pa.Table], now: Moment, dues: list[int]
    ) -> list[pa.Table]:
        """What is final of the results; the others are held."""
        bound, final, kept = self._final_before(now), list[pa.Table](), list[pa.Table]()
        for table in results:
            early = positions_of(table) < bound
            final.append(taken(table, early))
            if not early.all():
                kept.append(taken(table, ~early))
        if kept:
            added = stacked(kept)
            state.change("results", added=added)
            self._wake_for(positions_of(added), now, dues)
        return [t for t in final if t.num_rows]

    def _wake_for(self, times: Numbers, now: Moment, dues: list[int]) -> None:
        if len(times):
            dues.append(int(times.min()) + now.watermark - self._final_before(now) + 1)

    # -------------------------------------------------------------- state

    def _keep(
        self,
        state: State,
        old: Sequence[pa.Table | None],
        new: Sequence[pa.Table | None],
        now: Moment,
        dues: list[int],
    ) -> None:
        """Rows that later ones may meet. A stream that falls silent leaves none behind."""
        window, last = self.meeting.window, list[int]()
        for side, (before, added) in enumerate(zip(old, new, strict=True)):
            over = [
                None if t is None else window.is_over(side, positions_of(t), now.watermark)
                for t in (before, added)
            ]
            kept = None if added is None or over[1] is None else taken(added, ~over[1])
            state.change(f"side_{side}", added=kept, expired=over[0])
            for table, gone in zip((before, added), over, strict=True):
                if table is not None and gone is not None and not gone.all():
                    last.append(int(positions_of(table)[~gone].max()))
        state.memo["given"] = self._final_before(now)
        if last and not dues:
            dues.append(max(last) + max(*window.most_us, window.size_us) + 1)

    # -------------------------------------------------------------- when to switch

    def _joins_on_arrival(self, state: State) -> bool:
        if self.plan != ADAPTIVE:
            return self.plan == FILTER_ORDER
        before = bool(state.memo.get("on_arrival", False))
        seconds, passed = state.memo.get("load", (0.0, 0.0))
        if passed:
            # c·|w|·λ1·λ2: half of the share of time that joining takes, as both sides join.
            load = self.parallel * seconds / (2 * passed)
            before = load >= self.alpha * (HYSTERESIS if before else 1.0)
        state.memo["on_arrival"] = before
        return before

    def _watch(self, state: State, seconds: float, now: Moment) -> None:
        """The seconds that joining took, and those that have passed, the last ones most of all."""
        if self.plan != ADAPTIVE:
            return
        since = state.memo.get("since", 0)
        state.memo["since"] = now.watermark
        before, passed = state.memo.get("load", (0.0, 0.0))
        passing = (now.watermark - since) / MICROS if since else 0.0
        window = max(*self.meeting.window.most_us, self.meeting.window.size_us) / MICROS
        left = 0.5 ** (passing / max(window, 1.0))
        state.memo["load"] = (before * left + seconds, passed * left + passing)


def _due_rows(
    state: State, name: str, rows: pa.Table | None, now: Moment, dues: list[int], *, all_are: bool
) -> pa.Table | None:
    """The rows to be joined now: all that there are, or those that are final; the others wait."""
    held = state.table(name)
    found, old, added = [], None, None
    for table in (held, rows):
        if table is None:
            continue
        final = (positions_of(table) < now.watermark) | now.is_end | all_are
        found.append(taken(table, final))
        if not final.all():
            dues.append(int(positions_of(table)[~final].min()) + 1)
        if table is held:
            old = final
        else:
            added = taken(table, ~final)
    state.change(name, added=added, replaced=old)
    tables = [t for t in found if t.num_rows]
    return stacked(tables) if tables else None


def in_result(side: int, name: str) -> str:
    return f"{side}_{name}"


# ------------------------------------------------------------------ with Spark


@dataclass(frozen=True, slots=True)
class Side:
    """A stream that is joined: its rows, the name that its columns are known by in the results (if
    it has one), Spark SQL of its time and of what it is joined by, and for how long its rows wait
    for later ones."""

    rows: DataFrame
    name: str
    time: str
    keys: Sequence[str | None] = ()
    range: str | None = None


def ordered_join(
    sides: Sequence[Side],
    *,
    plan: str,
    within: str | None = None,
    tumbling: str | None = None,
    origin: int = 0,
    by: str | None = None,
    then: Sequence[By] = (),
    asked: Sequence[Asked] = (),
    alpha: float = ALPHA,
    event_time: str = "",
) -> DataFrame:
    """The results of a window join, each side's columns in a struct of its name, in order of time:
    of the latest of a result's times, or of that of the side `by`.

    The windows are the sides' own `range`, or for all of them `within` (inclusive) or `tumbling`.
    Keys of one place are equal, and what is `asked` holds. `event_time`: results go into another
    window, and in no order, with their time in this column.
    """
    spark = sides[0].rows.sparkSession
    types = [_key_type(spark, sides, at) for at in range(len(sides[0].keys))]
    meets = [i for i, _ in enumerate(types) if all(s.keys[i] is not None for s in sides)]
    buckets = BUCKETS if meets else 1
    packed = None
    for number, side in enumerate(sides):
        rows = _packable(side, types, meets, buckets)
        one = packed_rows(rows, buckets, side=number)
        packed = one if packed is None else packed.union(one)
    assert packed is not None
    names = [s.name for s in sides]
    kernel = OrderedJoinKernel(
        Meeting(_window(sides, within, tumbling, origin), _classes(sides)),
        tuple(tuple(_columns_of(s)) for s in sides),
        plan,
        tuple(question(a, tuple(_place(sides, name) for name in a.arguments)) for a in asked),
        None if by is None else names.index(by),
        alpha,
        max(buckets / spark.sparkContext.defaultParallelism, 1.0),
    )
    returned = processed(packed, Processor(kernel, takes_late=False, sides=len(sides)))
    schema = _results_schema(sides, event_time)
    shown = _shown(sides, timed=bool(event_time))
    if event_time:
        return returned.mapInArrow(_unordered(shown, schema.fieldNames()), schema)
    ties = [(in_result(*_place(sides, b.sql)), b) for b in then]
    return in_time_order(returned, schema, shown, ties)


def _window(
    sides: Sequence[Side], within: str | None, tumbling: str | None, origin: int
) -> JoinWindow:
    if tumbling is not None:
        size = microseconds(tumbling)
        return JoinWindow((size - 1,) * len(sides), size, origin)
    if within is not None:
        return JoinWindow((microseconds(within),) * len(sides))
    # A window of 3 minutes keeps a row for less than 3 minutes: one at the very end is out.
    return JoinWindow(tuple(microseconds(s.range or "") - 1 for s in sides))


def _classes(sides: Sequence[Side]) -> tuple[tuple[str | None, ...], ...]:
    return tuple(
        tuple(None if s.keys[at] is None else f"key_{at}" for s in sides)
        for at in range(len(sides[0].keys))
    )


def _key_type(spark: SparkSession, sides: Sequence[Side], at: int) -> DataType:
    """The type that Spark compares these keys by."""
    types = [
        side.rows.selectExpr(f"{side.keys[at]} AS key").schema["key"].dataType.simpleString()
        for side in sides
        if side.keys[at] is not None
    ]
    nulls = ", ".join(f"CAST(NULL AS {t})" for t in types)
    return spark.range(1).selectExpr(f"coalesce({nulls}) AS key").schema["key"].dataType


def _columns_of(side: Side) -> list[str]:
    return [f"c_{i}" for i, _ in enumerate(side.rows.columns)]


def _packable(side: Side, types: list[DataType], meets: list[int], buckets: int) -> DataFrame:
    """What of its rows a side brings. A row without a key meets none."""
    keys = {}
    for at, (key, type) in enumerate(zip(side.keys, types, strict=True)):
        if key is not None:
            cast = f"CAST({key} AS {type.simpleString()})"
            # Spark takes one zero for the other; so must the keys here.
            is_floating = isinstance(type, DoubleType | FloatType)
            keys[at] = f"({cast} + CAST(0 AS {type.simpleString()}))" if is_floating else cast
    known = " AND ".join([f"{side.time} IS NOT NULL", *(f"{k} IS NOT NULL" for k in keys.values())])
    columns = zip(_columns_of(side), side.rows.columns, strict=True)
    return side.rows.where(known).selectExpr(
        f"{bucket_sql([keys[i] for i in meets], buckets)} AS {BUCKET}",
        f"unix_micros({side.time}) AS {AT}",
        *(f"{sql} AS key_{at}" for at, sql in keys.items()),
        *(f"`{name.replace('`', '``')}` AS {short}" for short, name in columns),
    )


def _results_schema(sides: Sequence[Side], event_time: str) -> StructType:
    fields = []
    for side in sides:
        own = [StructField(f.name, f.dataType) for f in side.rows.schema]
        fields += [StructField(side.name, StructType(own))] if side.name else own
    if event_time:
        fields.append(StructField(event_time, TimestampType(), True, EVENT_TIME))
    return StructType(fields)


def _shown(sides: Sequence[Side], *, timed: bool) -> Callable[[pa.Table], list[pa.Array]]:
    shapes = [(n, bool(s.name), _columns_of(s), s.rows.columns) for n, s in enumerate(sides)]

    def shown(table: pa.Table) -> list[pa.Array]:
        arrays = []
        for number, is_named, columns, names in shapes:
            own = [column(table, in_result(number, c)) for c in columns]
            arrays += [pa.StructArray.from_arrays(own, list(names))] if is_named else own
        if timed:
            arrays.append(column(table, AT).cast(pa.timestamp("us", tz="UTC")))
        return arrays

    return shown


def _unordered(shown: Callable[[pa.Table], list[pa.Array]], names: list[str]) -> Any:
    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column(PAYLOAD).to_pylist():
                if blob is not None:
                    yield pa.RecordBatch.from_arrays(shown(from_bytes(blob)), names=names)

    return unpack


def _place(sides: Sequence[Side], wanted: str) -> tuple[int, str]:
    """The side that `side.column` is of, and what the column is called here."""
    for number, side in enumerate(sides):
        for short, name in zip(_columns_of(side), side.rows.columns, strict=True):
            known = {f"{a}.{b}" for a in _spellings(side.name) for b in _spellings(name)}
            if wanted in known:
                return number, short
    raise ValueError(f"{wanted} is no column of a side")


def _spellings(name: str) -> tuple[str, str]:
    """With and without the quotes of Spark SQL."""
    return name, "`" + name.replace("`", "``") + "`"
