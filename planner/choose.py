"""Which plan runs a query, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import gcd
from typing import assert_never

from sqlglot import exp

from ssql.planner.aggregates.calls import recipe_for
from ssql.planner.aggregates.recipes import Recipe
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
from ssql.planner.windows import (
    LandmarkWindow,
    LookupJoin,
    RowWindow,
    TimeWindow,
    TupleWindow,
)

# Spark makes one projection per window that a row is in, and takes them all into one plan.
MOST_WINDOWS_PER_ROW = 4_000


# The plans of windows in time, which a query may ask for. Other windows have one plan each.
TIME_PLANS = ("wid", "paned", "rolling", "adaptwid")
# Those in which an operator of ours takes part, not Spark alone.
OPERATORS = frozenset({"rolling", "adaptwid", "landmark", "rows", "partitioned", "slide-by-tuple"})


@dataclass(frozen=True, slots=True)
class AggregatePlan:
    """How one aggregate of a query runs: by one of TIME_PLANS, by the plan of its window's kind, or
    `native` for one without a window."""

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
    """A legal query that no plan runs yet, or not the one that was asked for."""

    what: str
    span: Span
    help: str
    why: str = "is not compiled yet"

    @property
    def message(self) -> str:
        return f"{self.what} {self.why}"


def choose(query: Query, asked: str | None = None) -> Choice | Unsupported:
    """`asked` is a plan for all windows in time of a file; a hint in the query counts more."""
    if missing := _missing(query.plan):
        return missing
    if query.output.late_sink is not None:
        return Unsupported("LATE INTO", query.statement_span, "drop it for now")
    aggregates = [n for n in walk(query.plan) if isinstance(n, Aggregate)]
    plans: list[AggregatePlan] = []
    for node in aggregates:
        plan = _aggregate_plan(node, query, asked)
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


def _aggregate_plan(
    node: Aggregate, query: Query, asked: str | None
) -> AggregatePlan | Unsupported:
    match node.window:
        case TimeWindow():
            return _time_plan(node, node.window, query.forced_plan or asked)
        case None:
            reason = "GROUP BY on the stream's time: each instant closes by itself"
            reason = reason if node.is_streaming else "there is no window"
            return AggregatePlan(node, "native", reason)
        case window:
            plan, reason = _only_plan(window)
            if query.forced_plan not in (None, plan):
                return Unsupported(
                    f"the plan {query.forced_plan}",
                    window.span,
                    f"it has one plan, {plan}: drop the hint",
                    "cannot run this window",
                )
            pane_us = window.slide_us if isinstance(window, LandmarkWindow) else 0
            return _operable(node, plan) or AggregatePlan(node, plan, reason, pane_us)


def _only_plan(window: LandmarkWindow | RowWindow | TupleWindow) -> tuple[str, str]:
    match window:
        case LandmarkWindow():
            return "landmark", "RANGE ALL: a group keeps one aggregate, of all its panes so far"
        case RowWindow(partition=()):
            return "rows", "rows are numbered in order of time, all of them in one task"
        case RowWindow():
            return "partitioned", "rows are numbered in order of time, for each value of PA"
        case TupleWindow():
            return "slide-by-tuple", "windows end with rows: each time is aggregated once"
        case _:
            assert_never(window)


def _time_plan(
    node: Aggregate, window: TimeWindow, forced: str | None
) -> AggregatePlan | Unsupported:
    pane_us = pane_of(node)
    if forced not in (None, *TIME_PLANS):
        plans = f"{', '.join(TIME_PLANS[:-1])} or {TIME_PLANS[-1]}"
        return Unsupported(
            f"the plan {forced}", node.span, f"ask for {plans}", "cannot run this query"
        )
    if forced in OPERATORS:
        return _operable(node, forced) or AggregatePlan(node, forced, "it was asked for", pane_us)
    unmergeable = [c for c in node.calls if not _recipe(c, node).mergeable]
    copies = -(-window.range_us // window.slide_us)
    if forced == "paned" and unmergeable:
        return Unsupported(
            unmergeable[0].scalar.sql,
            unmergeable[0].scalar.span,
            "nobody knows how to merge it from panes: ask for the plan wid",
            "cannot be computed by the plan paned",
        )
    if copies > MOST_WINDOWS_PER_ROW:
        return _too_many(node, window, forced, pane_us)
    if forced is not None:
        return AggregatePlan(node, forced, "it was asked for", pane_us)
    if window.range_us <= window.slide_us:
        what = "=" if window.is_tumbling else "<"
        reason = f"RANGE {what} SLIDE, so each row is in one window and panes save nothing"
        return AggregatePlan(node, "wid", reason, pane_us)
    if unmergeable:
        reason = f"{unmergeable[0].scalar.sql} cannot be merged from panes"
        return AggregatePlan(node, "wid", reason, pane_us)
    reason = (
        f"a row is in up to {copies} windows: it is aggregated once, in one of"
        f" {window.range_us // pane_us} panes of {spell(pane_us)} a window, and windows are made of"
        " panes"
    )
    return AggregatePlan(node, "paned", reason, pane_us)


def _too_many(
    node: Aggregate, window: TimeWindow, forced: str | None, pane_us: int
) -> AggregatePlan | Unsupported:
    """More windows a row than Spark can plan: the plan whose cost does not grow with them."""
    if forced is None and _operable(node, "rolling") is None:
        reason = (
            f"a row is in more than {MOST_WINDOWS_PER_ROW:,} windows, too many for Spark's own"
            " windows: each pane is merged once, however many windows it is in"
        )
        return AggregatePlan(node, "rolling", reason, pane_us)
    return Unsupported(
        f"the plan {forced or 'wid'}",
        window.span,
        "ask for the plan rolling, or choose a longer SLIDE or a shorter RANGE",
        f"cannot run windows of which a row is in more than {MOST_WINDOWS_PER_ROW:,}",
    )


def _operable(node: Aggregate, plan: str) -> Unsupported | None:
    """What keeps an operator of ours from running an aggregate; None: nothing does."""
    of_panes = plan in ("rolling", "landmark")
    for call in node.calls:
        recipe = _recipe(call, node)
        if (recipe.for_panes if of_panes else recipe.for_rows) is None:
            return Unsupported(
                call.scalar.sql,
                call.scalar.span,
                "only Spark's own windows in time have it: ask for the plan wid"
                if isinstance(node.window, TimeWindow)
                else "use another aggregate, or a window in time",
                f"cannot be computed by the plan {plan}",
            )
    for key in node.keys:
        if _NESTED.search(key.scalar.type):
            return Unsupported(
                f"GROUP BY {key.scalar.type}",
                key.scalar.span,
                "group by its fields, or by to_json(…) of it",
                f"cannot be computed by the plan {plan}",
            )
    return None


_NESTED = re.compile(r"\b(ARRAY|STRUCT|MAP|VARIANT)\b", re.IGNORECASE)


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


def _recipe(call: AggregateCall, node: Aggregate) -> Recipe:
    recipe = recipe_for(call, node, to_sql)
    assert recipe is not None, "what has no recipe has been refused"
    return recipe


# ------------------------------------------------------------------ what has no plan yet


def _missing(plan: Plan) -> Unsupported | None:
    help = "this version compiles projections, filters, look-ups and windowed aggregates"
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
                if missing := _missing_aggregate(node):
                    return missing
        if what:
            return Unsupported(what, node.span, help)
    return None


def _missing_aggregate(node: Aggregate) -> Unsupported | None:
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
