"""Slide-by-tuple windows: `(w - RANGE, w]` for the time w of every n-th row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ssql.planner.durations import microseconds
from ssql.runtime.operators.extents import Places, covered, segments
from ssql.runtime.operators.merging import MOST_RESULTS, Layout, Sorted, bounds, positions_of
from ssql.runtime.operators.numbered import (
    Partitions,
    entries_of,
    final_rows,
    groups_of,
    places_in_group,
)
from ssql.runtime.operators.packing import BUCKETS
from ssql.runtime.operators.processor import END_US, Moment
from ssql.runtime.operators.road import Part, Traffic, key_columns, layout_of, travel
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import Numbers, stacked, taken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class TuplesKernel:
    """Which of the rows at one time is the n-th one does not matter: a window goes by its time."""

    layout: Layout
    partition: tuple[str, ...]
    range_us: int
    slide_rows: int

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterable[pa.Table]:
        final = final_rows(state, rows, now)
        old = state.table("entries")
        if final is None:
            self._let_go(state, old, now)
            return ()
        partitions = Partitions(
            self.partition, counts=state.table("counts"), entries=old, final=final
        )
        rows = Sorted(final, partitions.of("final"), positions_of(final))
        final, of_final, times = rows.table, rows.groups, rows.positions
        of_window, ends = self._windows(of_final, times, partitions.counts)
        new, of_new = entries_of(final, of_final, times, self.layout, self.partition)
        table = stacked([t for t in (old, new) if t is not None])
        of_row = np.concatenate([partitions.of("entries"), of_new])
        kept = 0 if old is None else old.num_rows
        expired = self._expired(positions_of(table), now)
        added = taken(new, ~expired[kept:])
        state.change("entries", added=added, expired=expired[:kept])
        if self.slide_rows > 1:
            counts = partitions.counted("final") % self.slide_rows
            state.replace("counts", None if now.is_end else partitions.table(counts))
        self._wake(state, positions_of(table)[~expired], now)
        return self._results(table, of_row, of_window, ends, kept)

    def _windows(
        self, partitions: Numbers, times: Numbers, before: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Every n-th row is a window, and those of one time are one: partitions and times."""
        if self.slide_rows > 1:
            number = before[partitions] + places_in_group(partitions) + 1
            nth = np.flatnonzero(number % self.slide_rows == 0)
            partitions, times = partitions[nth], times[nth]
        distinct = segments(partitions, times)
        if len(distinct) < len(times):
            partitions, times = partitions[distinct], times[distinct]
        return partitions, times

    def _expired(self, times: Numbers, now: Moment) -> Numbers:
        return (
            np.ones(len(times), np.bool_) if now.is_end else times <= now.watermark - self.range_us
        )

    def _let_go(self, state: State, old: pa.Table | None, now: Moment) -> None:
        """Nothing is final: what time has passed over goes."""
        times = np.zeros(0, np.int64)
        if old is not None:
            expired = self._expired(positions_of(old), now)
            state.change("entries", expired=expired)
            times = positions_of(old)[~expired]
        if now.is_end:
            state.replace("counts", None)
        self._wake(state, times, now)

    def _wake(self, state: State, times: Numbers, now: Moment) -> None:
        """A stream that falls silent leaves no entries behind."""
        if now.is_end:
            state.memo.clear()
        elif len(times):
            state.memo.setdefault("due", int(times.max()) + self.range_us)
        elif state.rows("counts"):
            state.memo.setdefault("due", END_US)

    def _results(
        self, table: pa.Table, partitions: Numbers, of_window: Numbers, times: Numbers, old: int
    ) -> Iterable[pa.Table]:
        """`of_window` and `times` are the windows, by partition and time; so many entries are
        `old`."""
        if not len(times):
            return
        groups = groups_of(table, partitions, self.layout, self.partition)
        rows = Sorted(table, groups, positions_of(table))
        if groups is partitions:
            is_new = rows.sorted(np.arange(len(rows)) >= old)
            yield from self._one_each(rows, of_window, times, is_new)
            return
        windows = Places(of_window, times)
        of_row = rows.sorted(partitions)
        first = windows.at(of_row, rows.positions)
        last = windows.at(of_row, rows.positions + self.range_us)
        for here in rows.slices(last - first):
            piece = rows.part(here)
            row, window = covered(piece.groups, first[here], last[here])
            if len(row):
                end = times[window]
                lows = [end - self.range_us + 1] * len(self.layout.parts)
                yield piece.windows(
                    self.layout, row, lows, end + 1, bounds(end - self.range_us, end, end)
                )

    def _one_each(
        self, rows: Sorted, of_window: Numbers, times: Numbers, is_new: Numbers
    ) -> Iterable[pa.Table]:
        """Groups are the partitions: each window has the row that it ends with, and one result."""
        places = Places(rows.groups, rows.positions)
        # Rows of one time are one entry, and if each of them ends a window, so does the entry.
        last = np.flatnonzero(is_new) if self.slide_rows == 1 else places.at(of_window, times)
        for at in range(0, len(times), MOST_RESULTS):
            here = slice(at, at + MOST_RESULTS)
            of, end = of_window[here], times[here]
            low, high = places.at(of, end - self.range_us + 1), last[here] + 1
            begin = low[0]  # windows and rows are in the same order
            part = rows.part(slice(begin, high[-1]))
            lows = [low - begin] * len(self.layout.parts)
            first = bounds(end - self.range_us, end, end)
            yield part.results(self.layout, first, lows, high - begin)


def tuple_windows(
    rows: DataFrame,
    *,
    time: str,
    range: str,
    slide: int,
    keys: Mapping[str, str] | Sequence[str],
    partition: Sequence[str] = (),
    parts: Sequence[Part],
    chained: bool = False,
    window: str = "window",
    event_time: str = "",
    buckets: int = BUCKETS,
) -> DataFrame:
    """Windows of a length in time that end with every `slide`-th row, counted for each value of the
    keys named in `partition`. `chained`: the rows are results of windows."""
    columns = key_columns(keys)
    names = [name for name, _ in columns]
    traffic = Traffic(
        at=f"unix_micros({time})",
        keys=columns,
        meeting=tuple(names.index(p) for p in partition),
        parts=tuple(parts),
        window=window,
        buckets=buckets,
        chained=chained,
        event_time=event_time,
    )
    layout = layout_of(traffic)
    partitions = tuple(layout.keys[i] for i in traffic.meeting)
    return travel(rows, traffic, TuplesKernel(layout, partitions, microseconds(range), slide))
