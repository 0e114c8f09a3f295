"""Event time as it passes through a plan, and the times that a stream accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ssql.planner.catalog import Stream
from ssql.planner.logical import (
    Aggregate,
    Alias,
    Filter,
    Join,
    Order,
    Plan,
    Project,
    StreamScan,
    Union,
    walk,
)
from ssql.planner.scalar import Scalar, column
from ssql.planner.windows import LandmarkWindow, LookupJoin, RowWindow, TimeWindow, TupleWindow

# A row outside of these is left out, and counted. One far in the future (a broken clock, a
# placeholder) would move the watermark over everything that is still to come; and Spark's watermark
# begins at the epoch, so that windows before it would be late from the start.
EARLIEST, LATEST = "1970-01-01", "2200-01-01"

# Spark knows the time of a windowed result as the last microsecond of its window.
CLOSING_US = 1


def shifts(plan: Plan, name: str, relation: str | None = None) -> set[int | None]:
    """How a time column of a plan relates to the event time that Spark tracks below it.

    None: Spark tracks the column itself. A number: event time is the column plus so many
    microseconds, and comes in a column of its own. More than one: Spark has no such time.
    """
    match plan:
        case StreamScan():
            return {None}
        case Aggregate(window=TimeWindow() as window):
            # Its own windows were shifted by as much as the time that they go by.
            length_us = window.range_us if name == "window_start" else 0
            inner = shifts_of(plan.input, window.attribute)
            return {(shift or 0) + length_us - CLOSING_US for shift in inner}
        case Aggregate(window=LandmarkWindow() as window):
            return {(s or 0) - CLOSING_US for s in shifts_of(plan.input, window.attribute)}
        case Aggregate(window=TupleWindow() as window):  # such a window ends with a row
            length_us = window.range_us if name == "window_start" else 0
            return {(s or 0) + length_us for s in shifts_of(plan.input, window.attribute)}
        case Aggregate():
            key = next(k for k in plan.keys if k.name == name)
            return {shift or 0 for shift in shifts_of(plan.input, key.scalar)}
        case Project():
            item = next(i for i in plan.items if i.name == name)
            return shifts_of(plan.input, item.scalar)
        case Filter() | Order():
            return shifts(plan.input, name, relation)
        case Alias():
            return shifts(plan.input, name)
        case Union():
            at = [f.name for f in plan.schema].index(name)
            found: set[int | None] = set()
            for member in plan.members:
                field = [f for f in member.schema if not f.hidden][at]
                found |= shifts(member, field.name, field.relation)
            return found
        case Join() if keeps_state(plan):
            return {0}  # the event time of its results is made of the column itself
        case Join():
            for side in plan.sides:
                for field in side.input.schema:
                    if field.name == name and relation in (None, field.relation):
                        return shifts(side.input, name, relation)
    return {None}


def keeps_state(plan: Plan) -> bool:
    """Do rows of streams wait in this very operator?"""
    if isinstance(plan, Join):
        return plan.is_streaming and not isinstance(plan.window, LookupJoin)
    return isinstance(plan, Aggregate | Order) and plan.is_streaming


def joined_streams(plan: Plan, by_operator: Sequence[Join] = ()) -> Iterator[Stream]:
    """The streams whose rows come to a join of Spark's as they are; some joins are our own."""
    for node in walk(plan):
        is_own = any(node is join for join in by_operator)
        if isinstance(node, Join) and keeps_state(node) and not is_own:
            waiting: list[Plan] = list(node.inputs)
            while waiting:
                below = waiting.pop()
                if isinstance(below, StreamScan):
                    yield below.stream
                elif not keeps_state(below):
                    waiting += below.inputs


def shifts_of(plan: Plan, time: Scalar) -> set[int | None]:
    """The same for the time of a plan's rows; what is no column is the time of a join's results,
    the latest of its sides'."""
    if time.column is None:
        return {0}
    relation, name = time.column
    return shifts(plan, name, relation)


def latest(times: Sequence[Scalar]) -> Scalar:
    """The latest of several times."""
    if len(times) == 1:
        return times[0]
    tree = exp.Anonymous(this="greatest", expressions=[t.tree.copy() for t in times])
    return Scalar(tree=tree, type=times[0].type)


def time_of(plan: Aggregate) -> Scalar | None:
    """The time that closes the groups of an aggregate: its window's, that of its rows where these
    are counted, or that of a key."""
    if isinstance(plan.window, TimeWindow | LandmarkWindow | TupleWindow):
        return plan.window.attribute
    if not plan.is_streaming:
        return None
    times = [f for f in plan.input.schema if f.progressing]
    if isinstance(plan.window, RowWindow):
        return latest([Scalar(tree=column(t.name, t.relation), type=t.type) for t in times])
    names = {(f.relation, f.name) for f in times}
    return next((k.scalar for k in plan.keys if k.scalar.column in names), None)
