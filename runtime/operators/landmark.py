"""Landmark windows: `(-∞, e)` for e = origin + k·SLIDE, from panes as long as a SLIDE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ssql.planner.durations import microseconds
from ssql.runtime.operators.extents import covered
from ssql.runtime.operators.merging import (
    AT,
    Layout,
    Sorted,
    bounds,
    merged_rows,
    positions_of,
)
from ssql.runtime.operators.packing import BUCKETS
from ssql.runtime.operators.processor import END_US, Moment
from ssql.runtime.operators.road import Part, Traffic, all_of, key_columns, layout_of, travel
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import Numbers, group_codes, stacked, with_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class LandmarkKernel:
    """A group keeps one aggregate, of all its panes so far. Panes come when they are final, and
    every bucket is told of each: windows go on up to the last pane of any group."""

    layout: Layout
    slide_us: int
    origin_us: int

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterable[pa.Table]:
        after: int | None = state.memo.get("closed")
        old = state.table("groups") if now.latest is not None else None
        tables = [] if old is None else [old]
        if rows is not None and rows.num_rows:
            panes = (positions_of(rows) - self.origin_us) // self.slide_us
            tables.append(with_numbers(rows.select(self.layout.columns), AT, panes + 1))
        if not tables or now.latest is None:
            self._end(state, now)
            return ()
        closed = (now.latest - self.origin_us) // self.slide_us + 1
        closed = closed if after is None else max(closed, after)
        state.memo = {"closed": closed, "due": END_US}  # for nothing but to leave nothing behind
        table = stacked(tables)
        ends = positions_of(table)  # the first window that an entry is in
        (codes,), _ = group_codes([table], self.layout.keys)
        if len(tables) > 1 or old is None:
            everything, _ = merged_rows(table, codes, np.full(len(codes), closed), self.layout)
            state.replace("groups", everything)
        self._end(state, now)
        return self._results(Sorted(table, codes, ends), after, closed)

    def _end(self, state: State, now: Moment) -> None:
        if now.is_end:
            state.replace("groups", None)
            state.memo.clear()

    def _results(self, rows: Sorted, after: int | None, closed: int) -> Iterable[pa.Table]:
        first = rows.positions if after is None else np.maximum(rows.positions, after + 1)
        last = np.full(len(rows), closed + 1)
        for here in rows.slices(last - first):
            piece = rows.part(here)
            row, window = covered(piece.groups, first[here], last[here])
            if len(row):
                yield self._windows(piece, row, window)

    def _windows(self, rows: Sorted, row: Numbers, window: Numbers) -> pa.Table:
        end = window * self.slide_us + self.origin_us
        low = np.full(len(row), np.iinfo(np.int64).min)
        lows = [low] * len(self.layout.parts)
        return rows.windows(self.layout, row, lows, window + 1, bounds(None, end))


def landmark(
    panes: DataFrame,
    *,
    pane: str,
    slide: str,
    keys: Mapping[str, str] | Sequence[str],
    parts: Sequence[Part],
    origin: int = 0,
    window: str = "window",
    event_time: str = "",
    buckets: int = BUCKETS,
) -> DataFrame:
    """Windows of all panes so far. `pane` is the column of a pane's bounds, as F.window() gives it;
    panes are as long as a SLIDE and end at `origin`, in microseconds since the epoch."""
    traffic = Traffic(
        at=f"unix_micros({pane}.end) - 1",
        keys=key_columns(keys),
        meeting=all_of(keys),
        parts=tuple(parts),
        window=window,
        buckets=buckets,
        chained=True,
        ticks=True,
        event_time=event_time,
    )
    return travel(panes, traffic, LandmarkKernel(layout_of(traffic), microseconds(slide), origin))
