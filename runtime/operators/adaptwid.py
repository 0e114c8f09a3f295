"""AdaptWID: sparse groups keep rows, dense groups keep an aggregate a pane.

After Li, "Window Queries over Data Streams", 6.3, with panes: the aggregates of an eager group are
those of its panes, so that a group in transition has both, and windows are merged from whatever is
there. Rows are the aggregates of one row, so both have the same columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ssql.planner.durations import microseconds
from ssql.runtime.operators.extents import ordered, segments
from ssql.runtime.operators.merging import AT, Layout, Sorted, merged_rows, positions_of
from ssql.runtime.operators.packing import BUCKETS
from ssql.runtime.operators.processor import Moment
from ssql.runtime.operators.road import Part, Traffic, all_of, key_columns, layout_of, travel
from ssql.runtime.operators.sliding import Sliding
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import (
    Numbers,
    group_codes,
    numbers,
    stacked,
    taken,
    with_numbers,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VOLUME = "volume"  # how many rows an entry stands for
# Back to lazy at so much of what made a group eager.
LOWER = 0.75


@dataclass(frozen=True, slots=True)
class _Entries:
    """What a step has before it: the entries that were kept, `old` in number, and new ones."""

    table: pa.Table
    groups: Numbers
    panes: Numbers
    expired: Numbers
    old: int


@dataclass(frozen=True, slots=True)
class AdaptKernel:
    """`eagerness` multiplies the threshold of Cond. 6.9: at 0 all groups are eager, at infinity
    all are lazy."""

    layout: Layout
    shape: Sliding
    eagerness: float = 1.0

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterable[pa.Table]:
        after: int | None = state.memo.get("closed")
        closed = self.shape.closed(now.watermark)
        old, eager = state.table("entries"), state.table("eager")
        new = self._rows(rows) if rows is not None and rows.num_rows else None
        tables = [t for t in (old, new) if t is not None]
        if not tables:
            state.memo.clear()
            return ()
        table = stacked(tables)
        known = [table] if eager is None else [table, eager]
        (groups, *of_eager), count = group_codes(known, self.layout.keys)
        was_eager = np.zeros(count, np.bool_)
        for codes in of_eager:
            was_eager[codes] = True
        panes = positions_of(table)
        expired = self.shape.expired(panes, closed) | now.is_end
        entries = _Entries(table, groups, panes, expired, 0 if old is None else old.num_rows)
        is_eager = self._eager(entries, was_eager, closed)
        self._keep(state, entries, is_eager)
        if not np.array_equal(is_eager, was_eager):
            state.replace("eager", self._members(entries, is_eager))
        due = self.shape.due(panes[~expired], closed)
        state.memo = {} if due is None else {"closed": closed, "due": due}
        if not now.is_end and after is not None and closed <= after:
            return ()
        found = Sorted(table, groups, panes)
        return self.shape.results(found, self.layout, after, None if now.is_end else closed)

    def _rows(self, rows: pa.Table) -> pa.Table:
        """Rows as entries of their panes."""
        panes = self.shape.pane_of(positions_of(rows))
        entries = with_numbers(rows.select(self.layout.columns), AT, panes)
        return entries.append_column(VOLUME, pa.array(np.ones(len(panes), np.int64)))

    def _eager(self, entries: _Entries, was_eager: Numbers, closed: int) -> Numbers:
        """For each group, by Cond. 6.9: do its rows take more room than aggregates of its panes?"""
        left = ~entries.expired
        volumes = numbers(entries.table, VOLUME)[left]
        volume = np.bincount(entries.groups[left], volumes, len(was_eager))
        limit = self._threshold(int(entries.panes.max()), closed)
        return (volume > limit) | (was_eager & (volume > LOWER * limit))

    def _threshold(self, newest: int, closed: int) -> float:
        """A row has the columns of an aggregate, so what counts is the number of panes. Their
        duration (`wed`) is that of the oldest open window up to now, or RANGE."""
        if "concat" in self.layout.parts.values() and self.eagerness > 0:
            return float("inf")  # lists are as long as their rows, whoever has them
        begun = int(self.shape.end_us(np.array(closed + 1))) - self.shape.range_us
        reached = (newest + 1) * self.shape.pane_us + self.shape.origin_us
        duration = max(reached - begun, self.shape.range_us)
        return self.eagerness * duration / self.shape.pane_us

    def _keep(self, state: State, entries: _Entries, is_eager: Numbers) -> None:
        """The entries of eager groups are merged, and everything that has changed is written."""
        dense = np.flatnonzero(~entries.expired & is_eager[entries.groups])
        order = dense[ordered(entries.groups[dense], entries.panes[dense])]
        begins = segments(entries.groups[order], entries.panes[order])
        sizes = np.diff(np.append(begins, len(order)))
        several = order[np.repeat(sizes > 1, sizes)]  # the only ones that change
        replaced = np.zeros(len(entries.groups), np.bool_)
        replaced[several] = True
        old, gone = entries.old, replaced | entries.expired
        added = [taken(entries.table.slice(old), ~gone[old:])]
        if len(several):
            layout = Layout(self.layout.keys, {**self.layout.parts, VOLUME: "sum"})
            groups, panes = entries.groups[several], entries.panes[several]
            added.append(merged_rows(taken(entries.table, several), groups, panes, layout)[0])
        state.change(
            "entries", added=stacked(added), replaced=replaced[:old], expired=entries.expired[:old]
        )

    def _members(self, entries: _Entries, is_eager: Numbers) -> pa.Table:
        """A row of each eager group."""
        place = np.full(len(is_eager), -1)
        place[entries.groups] = np.arange(len(entries.groups))
        members = place[is_eager & (place >= 0)]
        return taken(entries.table.select([AT, *self.layout.keys]), members)


def adaptwid(
    rows: DataFrame,
    *,
    time: str,
    range: str,
    slide: str,
    keys: Mapping[str, str] | Sequence[str],
    parts: Sequence[Part],
    origin: int = 0,
    chained: bool = False,
    window: str = "window",
    event_time: str = "",
    buckets: int = BUCKETS,
) -> DataFrame:
    """Sliding windows of rows by `time`. Windows end at `origin`, in microseconds since the epoch,
    and whole SLIDEs from there. `chained`: the rows are results of windows."""
    shape = Sliding(
        microseconds(range),
        microseconds(slide),
        origin,
        tuple(microseconds(p.range or range) for p in parts),
    )
    traffic = Traffic(
        at=f"unix_micros({time})",
        keys=key_columns(keys),
        meeting=all_of(keys),
        parts=tuple(parts),
        window=window,
        buckets=buckets,
        chained=chained,
        event_time=event_time,
    )
    return travel(rows, traffic, AdaptKernel(layout_of(traffic), shape))
