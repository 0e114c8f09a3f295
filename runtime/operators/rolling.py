"""Windows from panes, each pane merged once, however many windows it is in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ssql.planner.durations import microseconds
from ssql.runtime.operators.merging import AT, Layout, Sorted, positions_of
from ssql.runtime.operators.packing import BUCKETS
from ssql.runtime.operators.processor import Moment
from ssql.runtime.operators.road import Part, Traffic, all_of, key_columns, layout_of, travel
from ssql.runtime.operators.sliding import Sliding
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import group_codes, stacked, taken, with_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class RollingKernel:
    layout: Layout
    shape: Sliding

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterable[pa.Table]:
        after: int | None = state.memo.get("closed")
        new = None
        if rows is not None and rows.num_rows:
            new = self._panes(rows)
            # A pane comes when it is final, and the first of its windows may be so too.
            due = self.shape.due(positions_of(new), after)
            known = [d for d in (due, state.memo.get("due")) if d is not None]
            if known:
                state.memo["due"] = min(known)
        if not now.is_end and state.memo.get("due", now.watermark + 1) > now.watermark:
            state.change("panes", added=new)
            return ()
        return self._close(state, new, after, now)

    def _panes(self, rows: pa.Table) -> pa.Table:
        panes = self.shape.pane_of(positions_of(rows))
        return taken(with_numbers(rows, AT, panes), self.shape.in_windows(panes))

    def _close(
        self, state: State, new: pa.Table | None, after: int | None, now: Moment
    ) -> Iterable[pa.Table]:
        old = state.table("panes")
        tables = [t for t in (old, new) if t is not None]
        if not tables:
            state.memo.clear()
            return ()
        table = stacked(tables)
        panes, closed = positions_of(table), self.shape.closed(now.watermark)
        expired = self.shape.expired(panes, closed) | now.is_end
        kept = 0 if old is None else old.num_rows
        added = None if new is None else taken(new, ~expired[kept:])
        state.change("panes", added=added, expired=expired[:kept])
        due = self.shape.due(panes[~expired], closed)
        state.memo = {} if due is None else {"closed": closed, "due": due}
        (codes,), _ = group_codes([table], self.layout.keys)
        # What has expired before this step is still in its chunk, and in no window to come.
        rows = Sorted(table, codes, panes)
        return self.shape.results(rows, self.layout, after, None if now.is_end else closed)


def rolling(
    panes: DataFrame,
    *,
    pane: str,
    range: str,
    slide: str,
    keys: Mapping[str, str] | Sequence[str],
    parts: Sequence[Part],
    origin: int = 0,
    window: str = "window",
    event_time: str = "",
    buckets: int = BUCKETS,
) -> DataFrame:
    """Windows of panes. `pane` is the column of a pane's bounds, as F.window() gives it. Windows
    end at `origin`, in microseconds since the epoch, and whole SLIDEs from there."""
    shape = Sliding(
        microseconds(range),
        microseconds(slide),
        origin,
        tuple(microseconds(p.range or range) for p in parts),
    )
    traffic = Traffic(
        at=f"unix_micros({pane}.end) - 1",
        keys=key_columns(keys),
        meeting=all_of(keys),
        parts=tuple(parts),
        window=window,
        buckets=buckets,
        chained=True,
        event_time=event_time,
    )
    return travel(panes, traffic, RollingKernel(layout_of(traffic), shape))
