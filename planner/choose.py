"""Which plan runs a query, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import assert_never

from ssql.planner.cost.candidates import Candidate, candidates, cheapest
from ssql.planner.cost.estimate import shape_of
from ssql.planner.cost.joins import (
    ALPHA,
    JoinCandidate,
    JoinLoad,
    join_candidates,
    join_choice,
    join_load,
    rows_kept_bytes,
)
from ssql.planner.cost.reasons import reason_for
from ssql.planner.cost.workload import Workload, workload_of
from ssql.planner.legality import (
    TIME_PLANS,
    Unsupported,
    inoperable,
    missing,
    obstacle,
)
from ssql.planner.logical import Aggregate, Join, Plan, Query, walk
from ssql.planner.ordered import FILTER_ORDER, JOIN_PLANS, OrderedJoin, ordered_joins
from ssql.planner.progress import keeps_state
from ssql.planner.rules.order_results import join_below, visible_orders
from ssql.planner.statistics import NOTHING_KNOWN, Memory
from ssql.planner.windows import EpochJoin, LandmarkWindow, RowWindow, TimeWindow, TupleWindow

MEMORY = "ssql.memory"
JOIN_ALPHA = "ssql.join.alpha"
MEMORY_BYTES = 8 * 2**30  # of state that may be, unless SET ssql.memory says otherwise


def bytes_of(text: str) -> float:
    """`512m`, `8g`, `1.5 GB`: as Spark takes them. Anything else is a ValueError."""
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(text)
    return float(found[1]) * 1024.0 ** ["", "k", "m", "g", "t"].index(found[2])


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a choice depends on beside the query."""

    asked: str | None = None  # a plan for all windows in time of a file, or its ordered joins
    # By the numbers of queries: the plans in a checkpoint of their aggregates and ordered joins.
    kept: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    memory: Memory = NOTHING_KNOWN
    limit_bytes: float = MEMORY_BYTES
    alpha: float = ALPHA  # SET ssql.join.alpha


UNKNOWN = Circumstances()


@dataclass(frozen=True, slots=True)
class AggregatePlan:
    """How one aggregate of a query runs: by one of TIME_PLANS, by the plan of its window's kind, or
    `native` for one without a window."""

    node: Aggregate
    plan: str
    reason: str
    pane_us: int = 0
    candidates: tuple[Candidate, ...] = ()  # for windows in time: this plan and the others
    load: Workload | None = None


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """How a join with results in order of time runs. Not `by_operator`: it is Spark's own join, and
    its results are put in order."""

    ordered: OrderedJoin
    plan: str
    reason: str
    by_operator: bool
    candidates: tuple[JoinCandidate, ...]
    load: JoinLoad
    alpha: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A query with the plan that runs it."""

    query: Query
    plan: str
    reason: str
    aggregates: tuple[AggregatePlan, ...] = ()
    joins: tuple[JoinPlan, ...] = ()

    def plan_of(self, node: Aggregate) -> AggregatePlan:
        return next(a for a in self.aggregates if a.node is node)

    def join_plan_of(self, node: Join) -> JoinPlan | None:
        """None: nobody asks for an order of its results."""
        return next((j for j in self.joins if j.ordered.join is node), None)

    @property
    def plans(self) -> tuple[str, ...]:
        """Those that a checkpoint was written by."""
        return (*(a.plan for a in self.aggregates), *(j.plan for j in self.joins))


def choose(query: Query, given: Circumstances = UNKNOWN) -> Choice | Unsupported:
    """A hint in the query counts more than what was asked for all of a file."""
    if found := missing(query.plan):
        return found
    if query.output.late_sink is not None:
        return Unsupported("LATE INTO", query.statement_span, "drop it for now")
    aggregates = [n for n in walk(query.plan) if isinstance(n, Aggregate)]
    plans: list[AggregatePlan] = []
    for at, node in enumerate(aggregates):
        plan = _aggregate_plan(node, at, query, given)
        if isinstance(plan, Unsupported):
            return plan
        plans.append(plan)
    joins: list[JoinPlan] = []
    for at, ordered in enumerate(ordered_joins(query.plan), len(aggregates)):
        join = _join_plan(ordered, at, query, given)
        if isinstance(join, Unsupported):
            return join
        joins.append(join)
    if query.forced_plan in JOIN_PLANS and not joins:
        return Unsupported(
            f"the plan {query.forced_plan}",
            query.span,
            "add ORDER BY the time of the results, or WINDOW 10 minutes",
            "cannot run this query: no join in it gives its results in order",
        )
    if not query.plan.is_streaming:
        return Choice(query, "batch", "it reads stored tables only, so it runs once", tuple(plans))
    names, reasons = zip(*_parts(query.plan, plans, joins), strict=True)
    return Choice(
        query,
        " over ".join(dict.fromkeys(names)),
        "; ".join(dict.fromkeys(reasons)),
        tuple(plans),
        tuple(joins),
    )


def _parts(
    plan: Plan, aggregates: list[AggregatePlan], joins: list[JoinPlan]
) -> list[tuple[str, str]]:
    """The plans of a query's operators that keep state, with the reasons."""
    found = []
    if any(join_below(order) is None for order in visible_orders(plan)):
        why = "rows are held until nothing can come before them, and put in order"
        found.append(("in-order", why))
    found += [(p.plan, p.reason) for p in aggregates]
    found += [(j.plan, j.reason) for j in joins]
    known = [j.ordered.join for j in joins]
    kept = (n for n in walk(plan) if isinstance(n, Join) and keeps_state(n))
    if any(all(n is not k for k in known) for n in kept):
        why = "no order is asked for, so streams are joined as their rows come, by Spark itself"
        found.append(("order-agnostic", why))
    return found or [("stateless", "it keeps no state: every row is handled on its own")]


def _join_plan(
    ordered: OrderedJoin, at: int, query: Query, given: Circumstances
) -> JoinPlan | Unsupported:
    obstacle, load = ordered.obstacle(), join_load(ordered, given.memory)
    found = join_candidates(ordered, load)
    are_shown = ordered.order is not None
    plan, reason = join_choice(found, load, given.alpha, are_shown=are_shown)
    kept = given.kept.get(query.number, ())
    if forced := next((p for p in (query.forced_plan, given.asked) if p in JOIN_PLANS), None):
        plan, reason = forced, "it was asked for"
    elif at < len(kept):
        plan, reason = kept[at], "the checkpoint was written by it"
    if obstacle and plan != FILTER_ORDER:
        return Unsupported(
            f"the plan {plan}",
            ordered.join.span,
            f"drop it, or ask for {FILTER_ORDER}",
            f"cannot run this join: {obstacle}",
        )
    return JoinPlan(ordered, plan, reason, not obstacle, found, load, given.alpha)


def large_joins(plan: Plan, given: Circumstances) -> Iterator[tuple[Join, float]]:
    """The joins of streams that keep more than may be, as far as that is known, and how much."""
    for node in walk(plan):
        if isinstance(node, Join) and keeps_state(node) and not isinstance(node.window, EpochJoin):
            load = join_load(OrderedJoin(node, None), given.memory)
            if load.is_known and (kept := rows_kept_bytes(load)) > given.limit_bytes:
                yield node, kept


def _aggregate_plan(
    node: Aggregate, at: int, query: Query, given: Circumstances
) -> AggregatePlan | Unsupported:
    match node.window:
        case TimeWindow() as window:
            asked = (p for p in (query.forced_plan, given.asked) if p not in (None, *JOIN_PLANS))
            forced, why = next(asked, None), "it was asked for"
            kept = given.kept.get(query.number, ())
            if forced is None and at < len(kept):
                forced, why = kept[at], "the checkpoint was written by it"
            return _time_plan(node, window, forced, why, given)
        case None:
            reason = "GROUP BY on the stream's time: each instant closes by itself"
            reason = reason if node.is_streaming else "there is no window"
            return AggregatePlan(node, "native", reason)
        case window:
            plan, reason = _only_plan(window)
            if query.forced_plan not in (None, plan, *JOIN_PLANS):
                return Unsupported(
                    f"the plan {query.forced_plan}",
                    window.span,
                    f"it has one plan, {plan}: drop the hint",
                    "cannot run this window",
                )
            pane_us = window.slide_us if isinstance(window, LandmarkWindow) else 0
            return inoperable(node, plan) or AggregatePlan(node, plan, reason, pane_us)


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
    node: Aggregate, window: TimeWindow, forced: str | None, why: str, given: Circumstances
) -> AggregatePlan | Unsupported:
    if forced not in (None, *TIME_PLANS):
        plans = f"{', '.join(TIME_PLANS[:-1])} or {TIME_PLANS[-1]}"
        return Unsupported(
            f"the plan {forced}", node.span, f"ask for {plans}", "cannot run this query"
        )
    pane_us, load = pane_of(node), workload_of(node, given.memory)
    shape = shape_of(window, pane_us)
    found = candidates(node, window, load, shape, given.limit_bytes)
    if forced is not None:
        refused = obstacle(node, window, forced)
        return refused or AggregatePlan(node, forced, why, pane_us, found, load)
    chosen = cheapest(found)
    if chosen is None:
        refused = obstacle(node, window, TIME_PLANS[0])
        assert refused is not None, "nothing else keeps all plans from a query"
        return refused
    reason = reason_for(chosen, found, window, load, pane_us)
    return AggregatePlan(node, chosen.plan, reason, pane_us, found, load)


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
