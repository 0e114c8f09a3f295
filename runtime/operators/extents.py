"""Which windows rows are in, and which rows are in a window: for all of them at once."""

from __future__ import annotations

from collections.abc import Callable

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
        self._groups, self._positions = groups, positions
        self._low = int(positions.min()) if len(positions) else 0
        self._size = int(positions.max()) - self._low + 1 if len(positions) else 1
        self._none = int(groups.max()) + 1 if len(groups) else 0  # a group that is not here
        self._distinct: Numbers | None = None
        if len(groups) and (self._none + 1) * (self._size + 1) >= 2**62:
            self._distinct = np.sort(positions)  # their ranks are closer together
            self._size = len(positions)
        self._keys: Numbers | None = None  # one number for group and position; made when needed

    def _key(self, groups: Numbers, positions: Numbers) -> Numbers:
        groups = np.minimum(groups, self._none)  # those that are asked for may be any
        if self._distinct is not None:
            return groups * (self._size + 1) + np.searchsorted(self._distinct, positions)
        key = np.clip(positions, self._low, self._low + self._size)
        key -= self._low
        key += groups * (self._size + 1)
        return key

    def at(self, groups: Numbers, positions: Numbers) -> Numbers:
        """The first row of a group whose position is not below the given one."""
        if self._are_of_one(groups):
            return np.searchsorted(self._positions, positions)
        if self._keys is None:
            self._keys = self._key(self._groups, self._positions)
        return np.searchsorted(self._keys, self._key(groups, positions))

    def _are_of_one(self, groups: Numbers) -> bool:
        """Is there but one group, and nobody asks for another?"""
        if not len(self._groups) or self._groups[0] != self._groups[-1]:
            return False
        return bool((groups == self._groups[0]).all())


def of_each(positions: Numbers, compute: Callable[[Numbers], Numbers]) -> Numbers:
    """What is computed of each position: once for all that are between the first and the last, if
    these are fewer."""
    if not len(positions):
        return compute(positions)
    low, high = int(positions.min()), int(positions.max())
    if high - low >= len(positions):
        return compute(positions)
    return compute(np.arange(low, high + 1))[positions - low]


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
    """The order of rows by group and position. Rows mostly come in the order of time, which costs
    next to nothing to see; groups are small numbers, which are put into their boxes."""
    by_position = None if _is_rising(positions) else _by_position(positions)
    if by_position is None:
        return np.arange(len(groups)) if _is_rising(groups) else boxed(groups)
    in_time = groups[by_position]
    return by_position if _is_rising(in_time) else by_position[boxed(in_time)]


def is_ordered(groups: Numbers, positions: Numbers) -> bool:
    """Are rows by group and position already? Said for sure where time rises over all groups."""
    return _is_rising(positions) and _is_rising(groups)


def _is_rising(values: Numbers) -> bool:
    return not (values[1:] < values[:-1]).any()


def _by_position(positions: Numbers) -> Numbers:
    low, high = int(positions.min()), int(positions.max())
    return boxed(positions - low) if high - low < _BOXES else np.argsort(positions, kind="stable")


_BOXES = 2**16  # numpy sorts numbers of 16 bits by counting them


def boxed(codes: Numbers) -> Numbers:
    """The order of numbers from 0 on, equal ones as they stand."""
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    left = codes >> 16
    while left.any():
        order = order[np.argsort(left[order].astype(np.uint16), kind="stable")]
        left = left >> 16
    return order
