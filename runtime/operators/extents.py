"""Which windows rows are in, and which rows are in a window: for all of them at once."""

from __future__ import annotations

import numpy as np

from ssql.runtime.operators.tables import Numbers


def covered(groups: Numbers, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
    """Each window of each group once, of rows that are in the windows `[first, last)`.

    Rows are in the order of their groups, and within a group neither `first` nor `last` falls. The
    answer: for each window a row of its group (the first one that is in it), and its number.
    """
    begin = first.copy()
    if len(groups) > 1:
        same = groups[1:] == groups[:-1]
        begin[1:] = np.where(same, np.maximum(first[1:], last[:-1]), first[1:])
    counts = np.maximum(last - begin, 0)
    row = np.repeat(np.arange(len(groups)), counts)
    before = np.cumsum(counts) - counts
    return row, begin[row] + np.arange(len(row)) - before[row]


class Places:
    """Rows in the order of their groups and, within these, of their positions."""

    def __init__(self, groups: Numbers, positions: Numbers) -> None:
        self._low = int(positions.min()) if len(positions) else 0
        self._size = int(positions.max()) - self._low + 1 if len(positions) else 1
        self._distinct: Numbers | None = None
        if len(groups) and (int(groups.max()) + 2) * (self._size + 1) >= 2**62:
            self._distinct = np.sort(positions)  # their ranks are closer together
            self._size = len(positions)
        self._keys = self._key(groups, positions)

    def _key(self, groups: Numbers, positions: Numbers) -> Numbers:
        if self._distinct is not None:
            return groups * (self._size + 1) + np.searchsorted(self._distinct, positions)
        return (
            groups * (self._size + 1)
            + np.clip(positions, self._low, self._low + self._size)
            - self._low
        )

    def at(self, groups: Numbers, positions: Numbers) -> Numbers:
        """The first row of a group whose position is not below the given one."""
        return np.searchsorted(self._keys, self._key(groups, positions))


def segments(groups: Numbers, positions: Numbers) -> Numbers:
    """Where each run of equal pairs begins."""
    if not len(groups):
        return np.zeros(0, np.int64)
    new = np.empty(len(groups), np.bool_)
    new[0] = True
    np.not_equal(groups[1:], groups[:-1], out=new[1:])
    new[1:] |= positions[1:] != positions[:-1]
    return np.flatnonzero(new)


def ordered(groups: Numbers, positions: Numbers) -> Numbers:
    """The order of rows by group and position. One sort of one key, where the pair fits into it."""
    if not len(groups):
        return np.zeros(0, np.int64)
    low, high = int(positions.min()), int(positions.max())
    size = high - low + 1
    if (int(groups.max()) + 1) * size < 2**63:
        return np.argsort(groups * size + (positions - low), kind="stable")
    return np.lexsort((positions, groups))
