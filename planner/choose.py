"""Which plan runs a query, and why."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ssql.planner.logical import (
    Aggregate,
    Distinct,
    Epochs,
    Join,
    Order,
    Plan,
    Query,
    walk,
)
from ssql.planner.span import Span
from ssql.planner.windows import LookupJoin, TimeWindow


@dataclass(frozen=True, slots=True)
class Choice:
    """A query with the plan that runs it."""

    query: Query
    plan: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A legal query that no plan runs yet."""

    what: str
    span: Span
    help: str


# Their value depends on the order of rows, which Spark's own versions take from arrival.
_ORDERED = frozenset(
    {"first", "first_value", "last", "last_value", "collect_list", "array_agg", "any_value"}
)


def choose(query: Query) -> Choice | Unsupported:
    if missing := _missing(query.plan):
        return missing
    if query.output.late_sink is not None:
        return Unsupported("LATE INTO", query.statement_span, "drop it for now")
    aggregates = [n for n in walk(query.plan) if isinstance(n, Aggregate)]
    if not query.plan.is_streaming:
        return Choice(query, "batch", "it reads stored tables only, so it runs once")
    if not aggregates:
        return Choice(query, "stateless", "it keeps no state: every row is handled on its own")
    if query.forced_plan not in (None, "wid"):
        return Unsupported(
            f"the plan {query.forced_plan} for this query",
            query.span,
            "drop the hint, or ask for wid",
        )
    if aggregates[0].window is None:
        return Choice(
            query, "native", "GROUP BY on the stream's time: each instant closes by itself"
        )
    return Choice(
        query, "wid", "RANGE = SLIDE, so each row is in one window and panes save nothing"
    )


def _missing(plan: Plan) -> Unsupported | None:
    help = "this version compiles projections, filters, look-ups and tumbling windows"
    for node in walk(plan):
        what = None
        match node:
            case Epochs():
                what = "a query by epochs"
            case Join() if not isinstance(node.window, LookupJoin):
                what = "a join of streams"
            case Order() if node.is_streaming:
                what = "ordered output of a stream"
            case Distinct() if node.is_streaming:
                what = "DISTINCT over a stream"
            case Aggregate():
                what = _missing_aggregate(node)
        if what:
            return Unsupported(what, node.span, help)
    return None


def _missing_aggregate(node: Aggregate) -> str | None:
    if not node.is_streaming:
        return None if node.window is None else "a window over stored data"
    if any(isinstance(n, Aggregate) for n in walk(node.input)):
        return "an aggregate over an aggregate"
    if node.window is not None:
        if not isinstance(node.window, TimeWindow) or not node.window.is_tumbling:
            return "a window that does not tumble"
        if any(c.window != node.window for c in node.calls):
            return "several RANGEs in one query"
    for call in node.calls:
        if call.function in _ORDERED or call.function == "heavy_hitters":
            return f"the aggregate {call.function} over a stream"
        for distinct in call.scalar.tree.find_all(exp.Distinct):
            if (
                call.function != "count"
                or len(distinct.expressions) != 1
                or call.scalar.tree.find(exp.Filter)
            ):
                return f"DISTINCT in {call.function} over a stream"
    return None
