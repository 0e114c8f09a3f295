"""What a query over landmark, row and slide-by-tuple windows has to answer.

As in `oracle`: no code of ssql, whole microseconds, and every extent is filled from all rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from oracle import (
    Aggregate,
    Condition,
    Row,
    grouped,
    in_row_order,
    instant_text,
    milliseconds,
)


class Extent(NamedTuple):
    start: int | None
    end: int
    rows: list[Row]


# ---------------------------------------------------------------- queries
@dataclass(frozen=True, slots=True, kw_only=True)
class ExtentQuery(ABC):
    """Aggregates over extents that are laid out for each value of `partition` on its own."""

    time: str = "ts"
    partition: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...]
    where: Condition | None = None
    having: Condition | None = None

    def __post_init__(self) -> None:
        if not self.aggregates:
            raise ValueError("a window needs an aggregate")
        if any(a.range_us is not None for a in self.aggregates):
            raise ValueError("all aggregates share one RANGE")
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Complains about sizes that mean nothing."""

    @abstractmethod
    def clause(self) -> str:
        """The window clause of every aggregate."""

    @abstractmethod
    def extents(self, rows: Sequence[Row]) -> Iterator[Extent]:
        """The extents over the rows of one partition, which are in row order and not none."""

    @property
    def by(self) -> tuple[str, ...]:
        """The grouping columns, each once."""
        return tuple(dict.fromkeys((*self.partition, *self.keys)))

    def sql(self, source: str) -> str:
        items = [*self.by, *(f"{a.sql()} {self.clause()}" for a in self.aggregates)]
        text = f"SELECT {', '.join(items)} FROM {source}"
        if self.where:
            text += f" WHERE {self.where.sql()}"
        if self.keys:
            text += f" GROUP BY {', '.join(self.keys)}"
        if self.having:
            text += f" HAVING {self.having.sql()}"
        return text

    def _bracketed(self, *items: str) -> str:
        partition = [f"PA {', '.join(self.partition)}"] if self.partition else []
        return f"[{', '.join([*items, *partition])}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class LandmarkQuery(ExtentQuery):
    """`(-∞, e)` for every e = origin + k·SLIDE, from the first e after the first row to the first
    e after the last row, whether or not a row has come since the e before."""

    slide_us: int
    origin_us: int = 0

    def _check(self) -> None:
        if self.slide_us <= 0:
            raise ValueError("SLIDE is positive")
        if self.partition:
            raise ValueError("a landmark window has no partitions")

    def clause(self) -> str:
        origin = [f"ORIGIN '{instant_text(self.origin_us)}'"] if self.origin_us else []
        return self._bracketed(
            "RANGE ALL", f"SLIDE {milliseconds(self.slide_us)}", f"WA {self.time}", *origin
        )

    def extents(self, rows: Sequence[Row]) -> Iterator[Extent]:
        first, last = rows[0][self.time], rows[-1][self.time]
        k = (first - self.origin_us) // self.slide_us + 1
        while True:
            end = self.origin_us + k * self.slide_us
            yield Extent(None, end, [r for r in rows if r[self.time] < end])
            if end > last:
                return
            k += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuery(ExtentQuery):
    """`[(w+1)·SLIDE - RANGE, (w+1)·SLIDE)` of row numbers for every w >= 0 that holds a row."""

    range_rows: int
    slide_rows: int

    def _check(self) -> None:
        if min(self.range_rows, self.slide_rows) <= 0:
            raise ValueError("RANGE and SLIDE are positive")

    def clause(self) -> str:
        return self._bracketed(
            f"RANGE {_rows(self.range_rows)}", f"SLIDE {_rows(self.slide_rows)}", "WA row-num"
        )

    def extents(self, rows: Sequence[Row]) -> Iterator[Extent]:
        w = 0
        # Starts grow with w: after one beyond the last row, no extent holds a row.
        while (start := (w + 1) * self.slide_rows - self.range_rows) < len(rows):
            end = (w + 1) * self.slide_rows
            yield Extent(start, end, [r for n, r in enumerate(rows) if start <= n < end])
            w += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleQuery(ExtentQuery):
    """`(w - RANGE, w]` for the times w of every SLIDE-th row, counted from 1.

    By rank(ts) or by row-num makes no difference: a time that has several such rows has one
    extent, and rows of one time stand together in both orders.
    """

    range_us: int
    slide_rows: int
    order: str = "row-num"

    def _check(self) -> None:
        if min(self.range_us, self.slide_rows) <= 0:
            raise ValueError("RANGE and SLIDE are positive")
        if self.order not in ("row-num", "rank"):
            raise ValueError(f"no such order: {self.order}")

    def clause(self) -> str:
        return self._bracketed(
            f"RANGE {milliseconds(self.range_us)}",
            f"RATTR {self.time}",
            f"SLIDE {_rows(self.slide_rows)}",
            f"SATTR {'row-num' if self.order == 'row-num' else f'rank({self.time})'}",
        )

    def extents(self, rows: Sequence[Row]) -> Iterator[Extent]:
        times = [r[self.time] for r in rows]
        ends = {ts for n, ts in enumerate(times, start=1) if n % self.slide_rows == 0}
        for end in sorted(ends):
            start = end - self.range_us
            yield Extent(start, end, [r for r in rows if start < r[self.time] <= end])


def _rows(n: int) -> str:
    return f"{n} row" if n == 1 else f"{n} rows"


# ---------------------------------------------------------------- evaluation
def evaluate_rows(
    query: ExtentQuery, rows: Iterable[Row], columns: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One dict per partition, extent and group; `columns` is the declared order, that of the
    first row when absent."""
    admitted = in_row_order(rows, query.time, query.where, columns)
    result = []
    for part in grouped(admitted, query.partition).values():
        for extent in query.extents(part):
            for key, group in grouped(extent.rows, query.by).items():
                row = {
                    "window_start": extent.start,
                    "window_end": extent.end,
                    **dict(zip(query.by, key, strict=True)),
                    **{a.name: a.over(group) for a in query.aggregates},
                }
                if query.having is None or query.having.holds(row):
                    result.append(row)
    return result
