"""The kinds of windows. What each of them means is defined in docs/semantics.md.

Lengths in time are whole microseconds, positions in time are microseconds since the epoch, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import gcd

from ssql.planner.scalar import Scalar
from ssql.planner.span import NOWHERE, Span

ROWS_TYPE = "BIGINT"
TIME_TYPE = "TIMESTAMP"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWindow:
    """Sliding, or tumbling where RANGE = SLIDE: `[e - RANGE, e)` for e = origin + k·SLIDE."""

    range_us: int
    slide_us: int
    origin_us: int = 0
    attribute: Scalar
    span: Span = field(default=NOWHERE, compare=False)

    bound_type = TIME_TYPE

    @property
    def is_tumbling(self) -> bool:
        return self.range_us == self.slide_us

    @property
    def pane_us(self) -> int:
        return gcd(self.range_us, self.slide_us)

    @property
    def panes(self) -> int:
        """Panes in one window: P."""
        return self.range_us // self.pane_us


@dataclass(frozen=True, slots=True, kw_only=True)
class LandmarkWindow:
    """`(-∞, e)` for e = origin + k·SLIDE."""

    slide_us: int
    origin_us: int = 0
    attribute: Scalar
    span: Span = field(default=NOWHERE, compare=False)

    bound_type = TIME_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWindow:
    """Row counts, per partition where there are partition columns."""

    range_rows: int
    slide_rows: int
    partition: tuple[Scalar, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)

    bound_type = ROWS_TYPE


class RowOrder(Enum):
    ROW_NUMBER = "row-num"
    RANK = "rank"


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleWindow:
    """Slide-by-tuple: `(w - RANGE, w]` for the time w of every n-th row."""

    range_us: int
    slide_rows: int
    order: RowOrder
    attribute: Scalar
    partition: tuple[Scalar, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)

    bound_type = TIME_TYPE


Window = TimeWindow | LandmarkWindow | RowWindow | TupleWindow


# ------------------------------------------------------------------ windows of joins


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingJoin:
    """`L [RANGE a], R [RANGE b]`: the ranges stand with the sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TumblingJoin:
    """All times in the same `[k·size, (k+1)·size)`, shifted by the origin."""

    size_us: int
    origin_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinJoin:
    """`WINDOW w`: all times within w of one another, inclusive; results in order of time."""

    size_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualTimeJoin:
    """The predicate equates the times of the sides, so each instant closes on its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupJoin:
    """At most one side is a stream; the others are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochJoin:
    """The chunks that the sides hold at each epoch."""


JoinWindow = SlidingJoin | TumblingJoin | WithinJoin | EqualTimeJoin | LookupJoin | EpochJoin
