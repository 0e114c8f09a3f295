"""Sliding windows in time, over panes: `[e - RANGE, e)` for e = origin + k·SLIDE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np
import pyarrow as pa

from ssql.runtime.operators.extents import covered, of_each
from ssql.runtime.operators.merging import Layout, Sorted, bounds
from ssql.runtime.operators.tables import Numbers


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows by the number k of their end; panes of the greatest length that all are made of."""

    range_us: int
    slide_us: int
    origin_us: int
    ranges: tuple[int, ...]  # of each part

    @property
    def pane_us(self) -> int:
        return gcd(self.slide_us, self.range_us, *self.ranges)

    def pane_of(self, times: Numbers) -> Numbers:
        return (times - self.origin_us) // self.pane_us

    def first(self, panes: Numbers) -> Numbers:
        """The first window that a pane is in."""
        return of_each(panes, self._first)

    def _first(self, panes: Numbers) -> Numbers:
        return -(-(panes + 1) * self.pane_us // self.slide_us)

    def after_last(self, panes: Numbers) -> Numbers:
        """The first window that a pane is in no more; for a pane between windows, its first."""
        return of_each(panes, self._after_last)

    def _after_last(self, panes: Numbers) -> Numbers:
        last = (panes * self.pane_us + self.range_us) // self.slide_us + 1
        return np.maximum(last, self._first(panes))

    def closed(self, watermark: int) -> int:
        """The last window that nothing more can come into."""
        return (watermark - self.origin_us) // self.slide_us

    def end_us(self, windows: Numbers) -> Numbers:
        return windows * self.slide_us + self.origin_us

    def in_windows(self, panes: Numbers) -> Numbers:
        """Those that are not between windows."""
        return self.first(panes) < self.after_last(panes)

    def due(self, panes: Numbers, closed: int | None) -> int | None:
        """When the next window of these panes ends, after the `closed` ones."""
        first = self.first(panes)
        if closed is not None:
            first = np.maximum(first, closed + 1)
        open_ = first < self.after_last(panes)
        return int(self.end_us(first[open_].min())) if open_.any() else None

    def expired(self, panes: Numbers, closed: int) -> Numbers:
        """Those in no open window, and those between windows."""
        return self.after_last(panes) <= np.maximum(self.first(panes), closed + 1)

    def results(
        self, rows: Sorted, layout: Layout, after: int | None, closed: int | None
    ) -> Iterator[pa.Table]:
        """The windows after `after` up to `closed`, of rows at their panes."""
        first, last = self.first(rows.positions), self.after_last(rows.positions)
        if after is not None:
            first = np.maximum(first, after + 1)
        if closed is not None:
            last = np.minimum(last, closed + 1)
        for here in rows.slices(last - first):
            piece = rows.part(here)
            row, window = covered(piece.groups, first[here], last[here])
            if len(row):
                yield self._results(piece, layout, row, window)

    def _results(self, rows: Sorted, layout: Layout, row: Numbers, window: Numbers) -> pa.Table:
        per_slide = self.slide_us // self.pane_us
        high = window * per_slide
        low = {r: high - r // self.pane_us for r in {self.range_us, *self.ranges}}
        end = self.end_us(window)
        return rows.windows(
            layout, row, [low[r] for r in self.ranges], high, bounds(end - self.range_us, end)
        )
