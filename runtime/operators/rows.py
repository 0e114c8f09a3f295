"""Windows of so many rows, over all of them or a partition: `[(w+1)s - r, (w+1)s)` for w ≥ 0.

Rows are numbered in the order of time once they are final. What is kept of numbered rows is one
aggregate a pane, as many rows as RANGE and SLIDE have in common.
"""

from __future__ import annotations

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
    in_order,
    places_in_group,
)
from ssql.runtime.operators.road import (
    BUCKETS,
    END_US,
    Moment,
    Part,
    Traffic,
    key_columns,
    layout_of,
    order_names,
    travel,
)
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import Numbers, group_codes, stacked, taken

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
        order = in_order(final, partitions.of("final"), list(self.ties))
        of_row = partitions.of("final")[order]
        number = partitions.counts[of_row] + places_in_group(of_row)
        return entries_of(taken(final, order), of_row, number // self.pane_rows, self.layout)

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
        (groups,), _ = group_codes([table], self.layout.keys)
        rows = Sorted(table, groups, positions_of(table))
        of_row = partitions[rows.order]
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
    traffic = Traffic(
        at=f"unix_micros({time})" if time else "0L",
        keys=columns,
        meeting=tuple(names.index(p) for p in partition),
        parts=tuple(parts),
        order=tuple(order),
        window=window,
        buckets=buckets,
        chained=chained,
        in_time=False,
    )
    layout = layout_of(traffic)
    kernel = RowsKernel(
        layout,
        tuple(layout.keys[i] for i in traffic.meeting),
        tuple(order_names(len(order))),
        range,
        slide,
    )
    return travel(rows, traffic, kernel)
