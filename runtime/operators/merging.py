"""Rows with equal keys and positions to one, and the rows of windows to results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ssql.runtime.operators.extents import Places, is_ordered, ordered, segments
from ssql.runtime.operators.ranges import merged
from ssql.runtime.operators.tables import Numbers, numbers, taken, with_numbers

# Results that are computed at once.
MOST_RESULTS = 250_000
AT = "at"  # the time of a row, in microseconds, or the number of its pane


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of an operator's rows: its keys, and how its parts are merged."""

    keys: tuple[str, ...]
    parts: dict[str, str]

    @property
    def columns(self) -> list[str]:
        return [AT, *self.keys, *self.parts]


def merged_rows(
    table: pa.Table, groups: Numbers, positions: Numbers, layout: Layout
) -> tuple[pa.Table, Numbers]:
    """One row a group and position, and the groups of these."""
    if not is_ordered(groups, positions):
        order = ordered(groups, positions)
        groups, positions, table = groups[order], positions[order], taken(table, order)
    return merged_runs(table, groups, positions, layout)


def merged_runs(
    table: pa.Table, groups: Numbers, positions: Numbers, layout: Layout
) -> tuple[pa.Table, Numbers]:
    """The same, of rows that are in order."""
    low = segments(groups, positions)
    if len(low) == table.num_rows:
        return with_numbers(table, AT, positions).select(layout.columns), groups
    high = np.append(low[1:], len(groups))
    parts = merged(table, layout.parts, low, high)
    keys = taken(table.select(list(layout.keys)), low).columns if layout.keys else []
    at = pa.array(positions[low], pa.int64())
    return pa.Table.from_arrays([at, *keys, *parts], layout.columns), groups[low]


class Sorted:
    """Rows by group and position, from which windows are computed."""

    def __init__(self, table: pa.Table, groups: Numbers, positions: Numbers) -> None:
        self._order: Numbers | None = None  # they are in order as they are
        if not is_ordered(groups, positions):
            self._order = ordered(groups, positions)
        self.table = table if self._order is None else taken(table, self._order)
        self.groups, self.positions = self.sorted(groups), self.sorted(positions)

    def __len__(self) -> int:
        return len(self.groups)

    def sorted(self, values: Numbers) -> Numbers:
        """What each row has, in the order of the rows here."""
        return values if self._order is None else values[self._order]

    def slices(self, counts: Numbers) -> Iterator[slice]:
        """Whole groups, with about MOST_RESULTS of `counts` each."""
        if not len(self):
            return
        edges = np.flatnonzero(np.diff(self.groups)) + 1
        total = np.cumsum(np.maximum(counts, 0))
        begin = 0
        while begin < len(self):
            before = total[begin - 1] if begin else 0
            limit = int(np.searchsorted(total, before + MOST_RESULTS))
            after = edges[edges > begin]
            place = int(np.searchsorted(after, limit))
            end = int(after[place]) if place < len(after) else len(self)
            yield slice(begin, end)
            begin = end

    def part(self, here: slice) -> Sorted:
        found = object.__new__(Sorted)
        found.table = self.table.slice(here.start, here.stop - here.start)
        found.groups, found.positions = self.groups[here], self.positions[here]
        found._order = None
        return found

    def windows(
        self,
        layout: Layout,
        rows: Numbers,
        low: Sequence[Numbers],
        high: Numbers,
        first: dict[str, pa.Array],
    ) -> pa.Table:
        """Results: `rows` have the keys of the windows, `low` and `high` are the positions that
        they begin and end with (`low` for each part), `first` the columns that come first."""
        places, groups = Places(self.groups, self.positions), self.groups[rows]
        begins: dict[int, Numbers] = {}
        for positions in low:
            if id(positions) not in begins:
                begins[id(positions)] = places.at(groups, positions)
        lows = [begins[id(positions)] for positions in low]
        return self.results(layout, first, lows, places.at(groups, high), rows)

    def results(
        self,
        layout: Layout,
        first: dict[str, pa.Array],
        low: Sequence[Numbers],
        high: Numbers,
        rows: Numbers | None = None,
    ) -> pa.Table:
        """The rows `[low, high)` of each window to one; each has a row, or its keys from `rows`."""
        arrays = dict(first)
        for name in layout.keys:
            of_key = high - 1 if rows is None else rows
            arrays[name] = taken(self.table.select([name]), of_key).column(0)
        for (name, how), begins in zip(layout.parts.items(), low, strict=True):
            (arrays[name],) = merged(self.table, {name: how}, begins, high)
        return pa.Table.from_arrays(list(arrays.values()), list(arrays))


def positions_of(table: pa.Table) -> Numbers:
    return numbers(table, AT)


def bounds(start: Numbers | None, end: Numbers, time: Numbers | None = None) -> dict[str, pa.Array]:
    """The first columns of results; `time` is that of windows over them."""
    first = pa.nulls(len(end), pa.int64()) if start is None else pa.array(start, pa.int64())
    found = {"start": first, "end": pa.array(end, pa.int64())}
    found["time"] = pa.array(end - 1 if time is None else time, pa.int64())
    return found
