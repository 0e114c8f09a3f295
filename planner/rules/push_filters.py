"""Filters toward the source: a condition is met before rows are aggregated or computed on.

A condition moves if it gets below an aggregate, or below a SELECT list whose expressions it does
not use; else it stays where it was written. It passes an aggregate if it is about whole groups, and
the windows of other groups do not depend on these. The watermark is the stream's own, below every
filter, so that time moves as before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from ssql.planner.logical import (
    Aggregate,
    Alias,
    Epochs,
    Filter,
    Join,
    Order,
    Plan,
    Project,
    Union,
    walk,
)
from ssql.planner.progress import keeps_state
from ssql.planner.rules.certain import cannot_fail, is_pure
from ssql.planner.rules.columns import (
    Trees,
    below_alias,
    below_project,
    below_union,
    columns_of,
    with_columns,
)
from ssql.planner.rules.conjuncts import joined, split
from ssql.planner.rules.rebuilding import from_below, over
from ssql.planner.scalar import Scalar, column
from ssql.planner.windows import EpochJoin, LandmarkWindow, RowWindow, TimeWindow, TupleWindow


def push_filters(plan: Plan) -> Plan:
    return from_below(plan, _node)


def _node(plan: Plan) -> Plan:
    if not isinstance(plan, Filter):
        return plan
    below, kept = plan.input, list[Scalar]()
    for condition in split(plan.condition):
        placed = _moved(below, replace(plan, condition=condition))
        if placed is not None and placed.gains:
            below = placed.plan
        else:
            kept.append(condition)
    if below is plan.input:
        return plan
    if not kept:
        return below
    return replace(plan, input=below, condition=joined(kept, plan.condition))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A plan with a filter in it, and whether it is any better for it."""

    plan: Plan
    gains: bool


def _moved(plan: Plan, filter: Filter) -> _Placed | None:
    """On the way down it may see rows that other filters dropped before it."""
    tree = filter.condition.tree
    if not columns_of(tree) or not cannot_fail(tree, plan.schema):
        return None
    return _place(plan, filter)


def _place(plan: Plan, filter: Filter) -> _Placed | None:
    """The plan with the filter in it, as deep as it goes; None: it cannot even stand on top."""
    match plan:
        case Alias():
            return _below(plan, filter, below_alias(plan)) or _on_top(plan, filter)
        case Project():
            return _below_project(plan, filter) or _on_top(plan, filter)
        case Union():
            return _in_members(plan, filter) or _on_top(plan, filter)
        case Order():
            same: Trees = {(f.relation, f.name): column(f.name, f.relation) for f in plan.schema}
            return _below(plan, filter, same) or _on_top(plan, filter)
        case Join():
            return _in_side(plan, filter) or _on_top(plan, filter)
        case Filter():
            # On top of it unless there is more to gain: it may guard what the condition computes.
            if is_pure(plan.condition.tree) and cannot_fail(filter.condition.tree, plan.schema):
                placed = _place(plan.input, filter)
                if placed is not None and placed.gains:
                    return _Placed(over(plan, [placed.plan]), True)
            return None if isinstance(plan.input, Aggregate) else _on_top(plan, filter)
        case Aggregate():
            if not _is_of_groups(plan, filter):
                return None
            placed = _below(plan, filter, _below_aggregate(plan))
            return placed and _Placed(placed.plan, True)
        case _:
            return _on_top(plan, filter)


def _on_top(plan: Plan, filter: Filter) -> _Placed:
    return _Placed(replace(filter, input=plan), False)


def _below(plan: Plan, filter: Filter, trees: Trees) -> _Placed | None:
    condition = with_columns(filter.condition, trees)
    placed = _place(plan.inputs[0], replace(filter, input=plan.inputs[0], condition=condition))
    return placed and _Placed(over(plan, [placed.plan]), placed.gains)


def _below_project(plan: Project, filter: Filter) -> _Placed | None:
    if not all(is_pure(i.scalar.tree) for i in plan.items):
        return None
    trees = below_project(plan)
    placed = _below(plan, filter, trees)
    if placed is None or placed.gains:
        return placed
    used = [trees[c] for c in columns_of(filter.condition.tree)]
    computes = any(not isinstance(t, exp.Column | exp.Literal) for t in trees.values())
    return _Placed(placed.plan, computes and all(isinstance(t, exp.Column) for t in used))


def _in_members(plan: Union, filter: Filter) -> _Placed | None:
    placed: list[_Placed] = []
    for member in plan.members:
        fields = [f for f in member.schema if not f.hidden]
        if any(f.type != whole.type for whole, f in zip(plan.schema, fields, strict=True)):
            return None  # compared as the type that Spark makes of all members
        condition = with_columns(filter.condition, below_union(plan, member))
        one = _place(member, replace(filter, input=member, condition=condition))
        if one is None:
            return None
        placed.append(one)
    return _Placed(over(plan, [p.plan for p in placed]), any(p.gains for p in placed))


def _in_side(plan: Join, filter: Filter) -> _Placed | None:
    """Where rows wait for partners, those that give no result in any case need not wait."""
    if not keeps_state(plan) or isinstance(plan.window, EpochJoin):
        return None
    if any(side.kind not in ("INNER", "CROSS") for side in plan.sides):
        return None
    used = columns_of(filter.condition.tree)
    for at, side in enumerate(plan.sides):
        if used <= {(f.relation, f.name) for f in side.input.schema}:
            placed = _place(side.input, replace(filter, input=side.input))
            if placed is not None:
                inputs = [*plan.inputs[:at], placed.plan, *plan.inputs[at + 1 :]]
                return _Placed(over(plan, inputs), True)
    return None


# ------------------------------------------------------------------ aggregates


def _below_aggregate(plan: Aggregate) -> Trees:
    return {(None, k.name): k.scalar.tree for k in plan.keys}


def _is_of_groups(plan: Aggregate, filter: Filter) -> bool:
    """Is the condition about keys, and are the other groups the same without those it drops?"""
    keys = _below_aggregate(plan)
    used = columns_of(filter.condition.tree)
    if not used <= keys.keys() or not all(is_pure(keys[c]) for c in used):
        return False
    if any(isinstance(n, Epochs) for n in walk(plan)):
        return False
    match plan.window:
        case None:
            return True
        case TimeWindow() as window:
            # A row between two windows has not been asked before.
            has_gaps = window.range_us < window.slide_us
            below = with_columns(filter.condition, keys).tree
            return not has_gaps or cannot_fail(below, plan.input.schema)
        case LandmarkWindow():
            return False  # windows go on up to the last row of all groups
        case RowWindow() | TupleWindow() as window:
            # Rows are counted by partition: those of another one do not count.
            partition = [p.tree for p in window.partition]
            return bool(partition) and all(keys[c] in partition for c in used)
