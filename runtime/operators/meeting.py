"""Which rows of several sides meet in a window join: for all of them at once.

A result is a row of each side. With T the latest of their times, each row of a side is at most so
far from T; that is the same as a bound for each pair of sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ssql.runtime.operators.extents import Places, ordered
from ssql.runtime.operators.merging import AT
from ssql.runtime.operators.tables import Numbers, group_codes, numbers, stacked

# Rows of which the partners are looked for at once, and results that are found at once.
MOST_FOUND = 500_000


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """`most_us`: how much earlier than T a row of each side may be. In tumbling windows all times
    are in one `[origin + k·size, origin + (k+1)·size)`."""

    most_us: tuple[int, ...]
    size_us: int = 0
    origin_us: int = 0

    def number(self, times: Numbers) -> Numbers:
        """Of the tumbling window that a time is in."""
        return (times - self.origin_us) // self.size_us

    def is_over(self, side: int, times: Numbers, watermark: int) -> Numbers:
        """Can these rows of a side meet none that is still to come?"""
        if self.size_us:
            return (self.number(times) + 1) * self.size_us + self.origin_us <= watermark
        return times < watermark - self.most_us[side]


@dataclass(frozen=True, slots=True)
class Meeting:
    """`classes`: of each equality, the column that each side has for it; None: it has none."""

    window: JoinWindow
    classes: tuple[tuple[str | None, ...], ...]

    def of(self, sides: Sequence[MetSide]) -> Iterator[tuple[Numbers, ...]]:
        """All results with at least one new row: for each side the places of its rows, old ones
        first. Each result has the last of its new rows by side as its anchor: sides before that
        bring rows of both kinds, sides after it old ones."""
        codes = self._codes(sides)
        for anchor, side in enumerate(sides):
            count = side.count - side.old
            if not count:
                continue
            others = self._in_order(anchor)
            begun = _Met({anchor: np.arange(side.old, side.count)}, side.times[side.old :])
            begun.until = begun.latest + self.window.most_us[anchor]
            yield from self._grown(begun, others, anchor, sides, codes)

    def _in_order(self, anchor: int) -> list[int]:
        """The other sides, those first that an equality leads to."""
        left = [s for s in range(len(self.window.most_us)) if s != anchor]
        found, known = [], {anchor}
        while left:
            by_equality = (s for s in left if self._shared(s, known))
            following = next(by_equality, left[0])
            left.remove(following)
            found.append(following)
            known.add(following)
        return found

    def _shared(self, side: int, known: set[int]) -> list[tuple[int, int]]:
        """The equalities between a side and those that are known: each with one of these."""
        found = []
        for number, columns in enumerate(self.classes):
            others = [k for k in known if columns[k] is not None]
            if columns[side] is not None and others:
                found.append((number, others[0]))
        return found

    def _codes(self, sides: Sequence[MetSide]) -> list[list[Numbers | None]]:
        """By equality and side: a number for each row's value."""
        found: list[list[Numbers | None]] = []
        for columns in self.classes:
            tables = {
                at: side.table.select([name]).rename_columns(["key"])
                for at, (side, name) in enumerate(zip(sides, columns, strict=True))
                if name is not None and side.table is not None
            }
            codes, _ = group_codes(list(tables.values()), ["key"])
            by_side = dict(zip(tables, codes, strict=True))
            found.append([by_side.get(s) for s in range(len(sides))])
        return found

    def _grown(
        self,
        partial: _Met,
        others: list[int],
        anchor: int,
        sides: Sequence[MetSide],
        codes: list[list[Numbers | None]],
    ) -> Iterator[tuple[Numbers, ...]]:
        if not others:
            yield tuple(partial.rows[s] for s in range(len(sides)))
            return
        other, *left = others
        side = sides[other]
        count = side.count if other < anchor else side.old
        if not count:
            return
        mine, theirs = self._groups(partial, other, count, sides, codes)
        order = ordered(theirs, side.times[:count])
        places = Places(theirs[order], side.times[:count][order])
        low = places.at(mine, partial.latest - self.window.most_us[other])
        found = np.maximum(places.at(mine, partial.until + 1) - low, 0)
        for here in _slices(found):
            row = here.start + np.repeat(np.arange(here.stop - here.start), found[here])
            before = np.cumsum(found[here]) - found[here]
            place = np.arange(len(row)) + (low[here] - before)[row - here.start]
            grown = partial.with_side(other, row, order[place], side, self.window.most_us[other])
            yield from self._grown(grown, left, anchor, sides, codes)

    def _groups(
        self,
        partial: _Met,
        other: int,
        count: int,
        sides: Sequence[MetSide],
        codes: list[list[Numbers | None]],
    ) -> tuple[Numbers, Numbers]:
        """One number for all that must be equal: of the results so far, and of a side's rows."""
        pairs = []
        for number, known in self._shared(other, set(partial.rows)):
            of_known, of_other = codes[number][known], codes[number][other]
            assert of_known is not None and of_other is not None
            pairs.append((of_known[partial.rows[known]], of_other[:count]))
        if self.window.size_us:
            times = partial.latest, sides[other].times[:count]
            windows = [self.window.number(t) for t in times]
            first = min(int(w.min(initial=0)) for w in windows)
            pairs.append((windows[0] - first, windows[1] - first))
        mine, theirs = np.zeros(len(partial), np.int64), np.zeros(count, np.int64)
        for ours, others in map(_small, pairs):
            size = max(int(ours.max(initial=0)), int(others.max(initial=0))) + 1
            mine, theirs = _small((mine * size + ours, theirs * size + others))
        return mine, theirs


def _small(codes: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Numbers that can be multiplied: below 2**31, and equal where they were."""
    ours, theirs = codes
    if max(int(ours.max(initial=0)), int(theirs.max(initial=0))) < 2**31:
        return codes
    both = np.unique(np.concatenate([ours, theirs]), return_inverse=True)[1]
    return both[: len(ours)], both[len(ours) :]


class MetSide:
    """The rows of a side, old ones first; there may be none of either."""

    def __init__(self, old: pa.Table | None, new: pa.Table | None) -> None:
        tables = [t for t in (old, new) if t is not None]
        self.table = stacked(tables) if tables else None
        self.old = 0 if old is None else old.num_rows
        self.times = numbers(self.table, AT) if self.table is not None else np.zeros(0, np.int64)

    @property
    def count(self) -> int:
        return len(self.times)


class _Met:
    """Rows of some sides that meet: their places, the latest of their times, and until when a row
    of another side may be."""

    def __init__(self, rows: dict[int, Numbers], latest: Numbers) -> None:
        self.rows, self.latest = rows, latest
        self.until = latest

    def __len__(self) -> int:
        return len(self.latest)

    def with_side(self, side: int, row: Numbers, place: Numbers, of: MetSide, most_us: int) -> _Met:
        times = of.times[place]
        rows = {s: places[row] for s, places in self.rows.items()}
        grown = _Met({**rows, side: place}, np.maximum(self.latest[row], times))
        grown.until = np.minimum(self.until[row], times + most_us)
        return grown


def _slices(counts: Numbers) -> Iterator[slice]:
    """Rows together that have about MOST_FOUND partners."""
    total = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = total[begin - 1] if begin else 0
        end = int(np.searchsorted(total, before + MOST_FOUND, side="right"))
        end = max(end, begin + 1)
        if total[end - 1] > before:
            yield slice(begin, end)
        begin = end
