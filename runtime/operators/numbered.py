"""Rows in their order, held until nothing can come before them any more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ssql.runtime.operators.extents import ordered, segments
from ssql.runtime.operators.merging import Layout, merged_rows, merged_runs, positions_of
from ssql.runtime.operators.processor import END_US, Moment
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
    found, due, old, added = [], END_US, None, None
    if (held := state.table("pending")) is not None:
        old = _is_final(held, now)
        found.append(taken(held, old))
        due = _first(held, ~old, due)
    if rows is not None and rows.num_rows:
        final = _is_final(rows, now)
        found.append(taken(rows, final))
        added = taken(rows, ~final)
        due = _first(rows, ~final, due)
    state.change("pending", added=added, replaced=old)
    if due < END_US:
        state.memo["due"] = due + 1
    tables = [t for t in found if t.num_rows]
    return stacked(tables) if tables else None


def _first(table: pa.Table, waiting: Numbers, known: int) -> int:
    return int(positions_of(table)[waiting].min(initial=known))


def _is_final(table: pa.Table, now: Moment) -> Numbers:
    return (positions_of(table) < now.watermark) | now.is_end


def rows_in_order(table: pa.Table, groups: Numbers, ties: list[str]) -> Numbers:
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
    table: pa.Table, partitions: Numbers, positions: Numbers, layout: Layout, keys: tuple[str, ...]
) -> tuple[pa.Table, Numbers]:
    """One entry a group and position, and the partitions of these, which have some of the groups'
    `keys` or all. Rows are in order of partitions and positions."""
    rows = table.select(layout.columns)
    if set(keys) == set(layout.keys):
        return merged_runs(rows, partitions, positions, layout)
    (groups,), count = group_codes([table], layout.keys)
    partition_of = np.zeros(count, np.int64)
    partition_of[groups] = partitions
    entries, of_entry = merged_rows(rows, groups, positions, layout)
    return entries, partition_of[of_entry]


def groups_of(
    table: pa.Table, partitions: Numbers, layout: Layout, keys: tuple[str, ...]
) -> Numbers:
    """The groups of rows, numbered; they are the partitions where the keys of both are."""
    if set(keys) == set(layout.keys):
        return partitions
    (groups,), _ = group_codes([table], layout.keys)
    return groups


def places_in_group(groups: Numbers) -> Numbers:
    """0, 1, 2, … for the rows of each group; groups stand together."""
    begins = segments(groups, groups)
    sizes = np.diff(np.append(begins, len(groups)))
    return np.arange(len(groups)) - np.repeat(begins, sizes)
