"""Windows of so many rows, over all of them or a partition: `[(w+1)s - r, (w+1)s)` for w ≥ 0.

Rows are numbered in the order of time once they are final. What is kept of numbered rows is one
aggregate a pane, as many rows as RANGE and SLIDE have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ssql.runtime.operators.extents import covered
from ssql.runtime.operators.merging import Layout, Sorted, bounds, positions_of
from ssql.runtime.operators.numbered import (
    Partitions,
    entries_of,
    final_rows,
    groups_of,
    places_in_group,
    rows_in_order,
)
from ssql.runtime.operators.packing import BUCKETS
from ssql.runtime.operators.processor import END_US, Moment
from ssql.runtime.operators.road import (
    Part,
    Traffic,
    key_columns,
    key_names,
    layout_of,
    order_names,
    part_names,
    travel,
)
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import Numbers, stacked, taken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class RowsKernel:
    layout: Layout
    partition: tuple[str, ...]  # some of the keys: rows are numbered for each of their values
    ties: tuple[str, ...]
    range_rows: int
    slide_rows: int

    @property
    def pane_rows(self) -> int:
        return gcd(self.range_rows, self.slide_rows)

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterable[pa.Table]:
        final = final_rows(state, rows, now)
        panes = state.table("panes") if final is not None or now.is_end else None
        if panes is None and final is None:
            self._keep_counts(state, None, now)
            return ()
        kept = 0 if panes is None else panes.num_rows
        partitions = Partitions(
            self.partition, counts=state.table("counts"), panes=panes, final=final
        )
        tables = [] if panes is None else [panes]
        of_row = partitions.of("panes")
        if final is not None:
            new, of_new = self._numbered(final, partitions)
            tables.append(new)
            of_row = np.concatenate([of_row, of_new])
        table, counts = stacked(tables), partitions.counted("final")
        closed = partitions.counts // self.slide_rows
        done = self._ended(counts) if now.is_end else counts // self.slide_rows
        expired = self._expired(positions_of(table), done[of_row])
        added = taken(table.slice(kept), ~expired[kept:])
        state.change("panes", added=added, expired=expired[:kept])
        self._keep_counts(state, partitions.table(counts), now)
        return self._results(table, of_row, closed, done)

    def _numbered(self, final: pa.Table, partitions: Partitions) -> tuple[pa.Table, Numbers]:
        """One entry a group and pane of rows, and the partitions of these."""
        order = rows_in_order(final, partitions.of("final"), list(self.ties))
        of_row = partitions.of("final")[order]
        number = partitions.counts[of_row] + places_in_group(of_row)
        return entries_of(
            taken(final, order), of_row, number // self.pane_rows, self.layout, self.partition
        )

    def _keep_counts(self, state: State, counts: pa.Table | None, now: Moment) -> None:
        if now.is_end:
            state.replace("counts", None)
            state.memo.clear()
            return
        if counts is not None:
            state.replace("counts", counts)
        if state.rows("counts"):
            state.memo.setdefault("due", END_US)  # windows are open until the end

    # The windows w ≥ 0 that a pane is in are [first, after_last).

    def _first(self, panes: Numbers) -> Numbers:
        return -(-(panes + 1) * self.pane_rows // self.slide_rows) - 1

    def _after_last(self, panes: Numbers) -> Numbers:
        last = (panes * self.pane_rows + self.range_rows) // self.slide_rows
        return np.maximum(last, self._first(panes))

    def _expired(self, panes: Numbers, done: Numbers) -> Numbers:
        """Those in no window that is not done, and those between windows."""
        return self._after_last(panes) <= np.maximum(self._first(panes), done)

    def _ended(self, counts: Numbers) -> Numbers:
        """At the end: the first window that begins after the last row."""
        return np.maximum(-(-(counts + self.range_rows) // self.slide_rows) - 1, 0)

    def _results(
        self, table: pa.Table, partitions: Numbers, closed: Numbers, done: Numbers
    ) -> Iterable[pa.Table]:
        groups = groups_of(table, partitions, self.layout, self.partition)
        rows = Sorted(table, groups, positions_of(table))
        of_row = rows.sorted(partitions)
        first = np.maximum(self._first(rows.positions), closed[of_row])
        last = np.minimum(self._after_last(rows.positions), done[of_row])
        for here in rows.slices(last - first):
            piece = rows.part(here)
            row, window = covered(piece.groups, first[here], last[here])
            if len(row):
                yield self._windows(piece, row, window)

    def _windows(self, rows: Sorted, row: Numbers, window: Numbers) -> pa.Table:
        end = (window + 1) * self.slide_rows
        high = end // self.pane_rows
        low = (end - self.range_rows) // self.pane_rows
        lows = [low] * len(self.layout.parts)
        return rows.windows(self.layout, row, lows, high, bounds(end - self.range_rows, end))


def row_windows(
    rows: DataFrame,
    *,
    time: str,
    order: Sequence[str],
    range: int,
    slide: int,
    keys: Mapping[str, str] | Sequence[str],
    partition: Sequence[str] = (),
    parts: Sequence[Part],
    chained: bool = False,
    window: str = "window",
    buckets: int = BUCKETS,
) -> DataFrame:
    """Windows of `range` rows every `slide` rows. Rows are numbered by `time`, those at one time by
    `order`, for each value of the keys named in `partition`. `chained`: the rows are results of
    windows."""
    columns = key_columns(keys)
    names = [name for name, _ in columns]
    meeting = tuple(names.index(p) for p in partition)
    alike = [time, *(columns[i][1] for i in meeting)]
    brought, ties = _ties(order, alike, [sql for _, sql in columns], [p.sql for p in parts])
    traffic = Traffic(
        at=f"unix_micros({time})" if time else "0L",
        keys=columns,
        meeting=meeting,
        parts=tuple(parts),
        order=brought,
        window=window,
        buckets=buckets,
        chained=chained,
        in_time=False,
    )
    layout = layout_of(traffic)
    kernel = RowsKernel(
        layout,
        tuple(layout.keys[i] for i in traffic.meeting),
        ties,
        range,
        slide,
    )
    return travel(rows, traffic, kernel)


def _ties(
    order: Sequence[str], alike: Sequence[str], keys: Sequence[str], parts: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What rows must bring along to be put in order, and all columns that then say their order.
    What is alike in rows that are compared does not matter, and nothing is brought twice."""
    names = dict(zip(map(_plain, parts), part_names(len(parts)), strict=True))
    names |= dict(zip(map(_plain, keys), key_names(len(keys)), strict=True))
    same = set(map(_plain, alike))
    compared = [sql for sql in order if _plain(sql) not in same]
    brought = [sql for sql in compared if _plain(sql) not in names]
    names |= dict(zip(map(_plain, brought), order_names(len(brought)), strict=True))
    return tuple(brought), tuple(names[_plain(sql)] for sql in compared)


def _plain(sql: str) -> str:
    """A column's name is the same with and without quotes."""
    return sql[1:-1] if re.fullmatch(r"`\w+`", sql) else sql
