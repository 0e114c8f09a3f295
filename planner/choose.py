"""Which plan runs a query, and why."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from sqlglot import exp

from ssql.planner.aggregates.calls import recipe_for
from ssql.planner.durations import spell
from ssql.planner.logical import (
    Aggregate,
    AggregateCall,
    Distinct,
    Epochs,
    Join,
    Order,
    Plan,
    Query,
    walk,
)
from ssql.planner.progress import shifts, time_of
from ssql.planner.scalar import to_sql
from ssql.planner.span import Span
from ssql.planner.windows import LookupJoin, TimeWindow

# Spark makes one projection per window that a row is in, and takes them all into one plan.
MOST_WINDOWS_PER_ROW = 4_000


@dataclass(frozen=True, slots=True)
class AggregatePlan:
    """How one aggregate of a query runs: `wid`, `paned`, or `native` for one without a window."""

    node: Aggregate
    plan: str
    reason: str
    pane_us: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A query with the plan that runs it."""

    query: Query
    plan: str
    reason: str
    aggregates: tuple[AggregatePlan, ...] = ()

    def plan_of(self, node: Aggregate) -> AggregatePlan:
        return next(a for a in self.aggregates if a.node is node)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A legal query that no plan runs yet."""

    what: str
    span: Span
    help: str


def choose(query: Query, forced: str | None = None) -> Choice | Unsupported:
    """`forced` is a plan for all queries of a file; a hint in the query counts more."""
    if missing := _missing(query.plan):
        return missing
    if query.output.late_sink is not None:
        return Unsupported("LATE INTO", query.statement_span, "drop it for now")
    aggregates = [n for n in walk(query.plan) if isinstance(n, Aggregate)]
    plans: list[AggregatePlan] = []
    for node in aggregates:
        plan = _aggregate_plan(node, query.forced_plan or forced)
        if isinstance(plan, Unsupported):
            return plan
        plans.append(plan)
    if not query.plan.is_streaming:
        return Choice(query, "batch", "it reads stored tables only, so it runs once", tuple(plans))
    if not aggregates:
        return Choice(query, "stateless", "it keeps no state: every row is handled on its own")
    names = " over ".join(dict.fromkeys(p.plan for p in plans))
    reasons = "; ".join(dict.fromkeys(p.reason for p in plans))
    return Choice(query, names, reasons, tuple(plans))


# ------------------------------------------------------------------ aggregates


def _aggregate_plan(node: Aggregate, forced: str | None) -> AggregatePlan | Unsupported:
    if not isinstance(node.window, TimeWindow):
        reason = "GROUP BY on the stream's time: each instant closes by itself"
        return AggregatePlan(node, "native", reason if node.is_streaming else "there is no window")
    if forced not in (None, "wid", "paned"):
        return Unsupported(f"the plan {forced} for this query", node.span, "ask for wid or paned")
    window, pane_us = node.window, pane_of(node)
    panes = window.range_us // pane_us
    unmergeable = [c for c in node.calls if not _mergeable(c, node)]
    if forced == "paned" and unmergeable:
        return Unsupported(
            f"{unmergeable[0].scalar.sql} with panes",
            unmergeable[0].scalar.span,
            "nobody knows how to merge it from panes: ask for the plan wid",
        )
    if -(-window.range_us // window.slide_us) > MOST_WINDOWS_PER_ROW:
        return Unsupported(
            f"a row in more than {MOST_WINDOWS_PER_ROW:,} windows",
            window.span,
            "choose a longer SLIDE or a shorter RANGE",
        )
    if forced is not None:
        return AggregatePlan(node, forced, "it was asked for", pane_us)
    if window.range_us <= window.slide_us:
        what = "=" if window.is_tumbling else "<"
        reason = f"RANGE {what} SLIDE, so each row is in one window and panes save nothing"
        return AggregatePlan(node, "wid", reason, pane_us)
    if unmergeable:
        reason = f"{unmergeable[0].scalar.sql} cannot be merged from panes"
        return AggregatePlan(node, "wid", reason, pane_us)
    copies = -(-window.range_us // window.slide_us)
    reason = (
        f"a row is in up to {copies} windows: it is aggregated once, in one of {panes} panes of"
        f" {spell(pane_us)} a window, and windows are made of panes"
    )
    return AggregatePlan(node, "paned", reason, pane_us)


def pane_of(node: Aggregate) -> int:
    """The longest pane that all windows of an aggregate are made of."""
    assert isinstance(node.window, TimeWindow)
    return gcd(node.window.slide_us, *(w.range_us for w in windows_of(node)))


def windows_of(node: Aggregate) -> list[TimeWindow]:
    """The windows of an aggregate's calls, the longest first."""
    windows = [w for w in (node.window, *(c.window for c in node.calls)) if w is not None]
    assert all(isinstance(w, TimeWindow) for w in windows)
    by_range = {w.range_us: w for w in reversed(windows) if isinstance(w, TimeWindow)}
    return [by_range[r] for r in sorted(by_range, reverse=True)]


def _mergeable(call: AggregateCall, node: Aggregate) -> bool:
    recipe = recipe_for(call, node, to_sql)
    return recipe is not None and recipe.mergeable


# ------------------------------------------------------------------ what has no plan yet


def _missing(plan: Plan) -> Unsupported | None:
    help = "this version compiles projections, filters, look-ups and windows in time"
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
                if missing := _missing_aggregate(node, help):
                    return missing
        if what:
            return Unsupported(what, node.span, help)
    return None


def _missing_aggregate(node: Aggregate, help: str) -> Unsupported | None:
    if node.window is not None and not isinstance(node.window, TimeWindow):
        return Unsupported("a window by rows, or without a RANGE", node.window.span, help)
    time = time_of(node) if node.is_streaming else None
    if time is not None and time.column:
        relation, name = time.column
        if len(shifts(node.input, name, relation)) > 1:
            return Unsupported(
                f"an aggregate by {name} over results of different windows",
                time.span,
                "go by window_end, or aggregate them one by one",
            )
    for call in node.calls:
        if not (node.is_streaming or node.window or call.function == "heavy_hitters"):
            continue  # stored data: Spark's own aggregates, whatever they are
        if recipe_for(call, node, to_sql) is None:
            distinct = call.scalar.tree.find(exp.Distinct)
            what = f"{'DISTINCT in ' if distinct else ''}{call.function} over a stream"
            return Unsupported(what, call.scalar.span, "use another aggregate")
        inner = call.scalar.tree.find(exp.Anonymous)
        if call.function in _OF_A_SHARE and inner is not None and len(inner.expressions) > 1:
            share = inner.expressions[1]
            if not all(map(_is_share, _items(share))):
                return Unsupported(
                    f"{call.function} of anything but shares from 0 to 1",
                    call.scalar.span,
                    "write a number, as in 0.95, or several, as in array(0.5, 0.95)",
                )
    return None


def _items(share: exp.Expression) -> list[exp.Expression]:
    is_array = isinstance(share, exp.Array) or share.name.lower() == "array"
    return list(share.expressions) if is_array else [share]


def _is_share(tree: exp.Expression) -> bool:
    while isinstance(tree, exp.Cast | exp.TryCast | exp.Paren):
        tree = tree.this
    return isinstance(tree, exp.Literal) and not tree.is_string and 0 <= float(tree.name) <= 1


_OF_A_SHARE = frozenset({"percentile", "approx_percentile", "percentile_approx", "heavy_hitters"})
