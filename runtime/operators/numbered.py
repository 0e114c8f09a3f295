"""Rows in their order, held until nothing can come before them any more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ssql.runtime.operators.extents import ordered, segments
from ssql.runtime.operators.merging import Layout, merged_rows, positions_of
from ssql.runtime.operators.road import Moment
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import (
    Numbers,
    column,
    group_codes,
    numbers,
    ranks,
    stacked,
    taken,
)

COUNT = "count"


def final_rows(state: State, rows: pa.Table | None, now: Moment) -> pa.Table | None:
    """The rows that have become final, in no order; the others wait in `pending`. What is due is
    when the first of these is final; nothing, if there are none."""
    state.memo.pop("due", None)
    old = state.table("pending")
    tables = [t for t in (old, rows) if t is not None and t.num_rows]
    if not tables:
        return None
    table = stacked(tables)
    times = positions_of(table)
    final = (times < now.watermark) | now.is_end
    kept = 0 if old is None else old.num_rows
    added = taken(table.slice(kept), ~final[kept:])
    state.change("pending", added=added, replaced=final[:kept])
    if not final.all():
        state.memo["due"] = int(times[~final].min()) + 1
    return taken(table, final) if final.any() else None


def in_order(table: pa.Table, groups: Numbers, ties: list[str]) -> Numbers:
    """The order of rows by group and time; those at one time by the columns `ties`."""
    order = ordered(groups, positions_of(table))
    if not ties:
        return order
    of_group, times = groups[order], positions_of(table)[order]
    begins = segments(of_group, times)
    sizes = np.diff(np.append(begins, len(order)))
    if (sizes == 1).all():
        return order
    run = np.repeat(np.arange(len(sizes)), sizes)
    tied = np.flatnonzero(np.repeat(sizes > 1, sizes))
    rows = taken(table.select(ties), order[tied])
    keys = [ranks(column(rows, name)) for name in reversed(ties)]
    order[tied] = order[tied][np.lexsort((*keys, run[tied]))]
    return order


class Partitions:
    """The values of the partition keys in an operator's tables, as numbers, and how many rows each
    had before. A table that is not there has no rows."""

    def __init__(self, keys: tuple[str, ...], **tables: pa.Table | None) -> None:
        self._keys = keys
        self._tables = {name: t for name, t in tables.items() if t is not None}
        codes, self.size = group_codes(list(self._tables.values()), keys)
        self._codes = dict(zip(self._tables, codes, strict=True))
        self.counts = np.zeros(self.size, np.int64)
        if "counts" in self._tables:
            self.counts[self.of("counts")] = numbers(self._tables["counts"], COUNT)

    def of(self, name: str) -> Numbers:
        return self._codes.get(name, np.zeros(0, np.int64))

    def counted(self, name: str) -> Numbers:
        """With the rows of a table, how many rows there were."""
        return self.counts + np.bincount(self.of(name), minlength=self.size)

    def table(self, counts: Numbers) -> pa.Table:
        """The counts of all values, to be kept; one that is not there is 0."""
        codes = np.concatenate(list(self._codes.values()))
        row_of = np.full(self.size, -1)
        row_of[codes] = np.arange(len(codes))
        distinct = np.flatnonzero((row_of >= 0) & (counts > 0))
        rows = row_of[distinct]
        columns = [pa.array(counts[distinct], pa.int64())]
        if self._keys:
            keys = stacked([t.select(list(self._keys)) for t in self._tables.values()])
            columns = [*taken(keys, rows).columns, *columns]
        return pa.Table.from_arrays(columns, [*self._keys, COUNT])


def entries_of(
    table: pa.Table, partitions: Numbers, positions: Numbers, layout: Layout
) -> tuple[pa.Table, Numbers]:
    """One entry a group and position, and the partitions of these."""
    (groups,), count = group_codes([table], layout.keys)
    partition_of = np.zeros(count, np.int64)
    partition_of[groups] = partitions
    entries, of_entry = merged_rows(table.select(layout.columns), groups, positions, layout)
    return entries, partition_of[of_entry]


def places_in_group(groups: Numbers) -> Numbers:
    """0, 1, 2, … for the rows of each group; groups stand together."""
    begins = segments(groups, groups)
    sizes = np.diff(np.append(begins, len(groups)))
    return np.arange(len(groups)) - np.repeat(begins, sizes)
