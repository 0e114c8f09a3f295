"""ORDER BY of a stream, down to the join whose results it is about, which then gives them in order;
and away where rows go into a window, a join or another order, which take them in any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ssql.planner.logical import (
    Aggregate,
    Alias,
    Distinct,
    Epochs,
    Filter,
    Join,
    Order,
    Plan,
    Project,
    walk,
)
from ssql.planner.progress import keeps_state
from ssql.planner.rules.columns import Trees, below_alias, below_project, with_columns
from ssql.planner.rules.rebuilding import over
from ssql.planner.scalar import column


def order_results(plan: Plan) -> Plan:
    return _placed(plan, in_any_order=False)


def _placed(plan: Plan, *, in_any_order: bool) -> Plan:
    if isinstance(plan, Epochs):
        return plan
    is_order = isinstance(plan, Order) and plan.is_streaming and not _is_by_epochs(plan)
    if isinstance(plan, Order) and is_order:
        if in_any_order:
            return _placed(plan.input, in_any_order=True)
        plan = _lowered(plan)
        if not isinstance(plan, Order):
            return _placed(plan, in_any_order=False)
    below = in_any_order or is_order or _regroups(plan)
    return over(plan, [_placed(i, in_any_order=below) for i in plan.inputs])


def _is_by_epochs(plan: Plan) -> bool:
    return any(isinstance(n, Epochs) for n in walk(plan))


def _lowered(order: Order) -> Plan:
    """The order below SELECT lists and names, if that brings it to a join; else as it is."""
    below = order.input
    trees: Trees
    if isinstance(below, Project):
        trees = below_project(below)
    elif isinstance(below, Alias):
        trees = below_alias(below)
    elif isinstance(below, Filter) and join_below(order) is None:
        trees = {(f.relation, f.name): column(f.name, f.relation) for f in below.schema}
    else:
        return order
    keys = tuple(replace(with_columns(k, trees), span=k.span) for k in order.keys)
    moved = _lowered(replace(order, input=below.input, keys=keys))
    if not _reaches_join(moved):
        return order
    return over(below, [moved])


def _reaches_join(plan: Plan) -> bool:
    while isinstance(plan, Alias | Project | Filter):
        plan = plan.input
    return join_below(plan) is not None


def visible_orders(plan: Plan) -> Iterator[Order]:
    """Those orders of a stream that show in the results."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Order) and node.is_streaming:
            yield node
        elif not _regroups(node):
            waiting += node.inputs


def join_below(plan: Plan) -> Join | None:
    """The join of streams that an ORDER BY is about: there are but conditions between them."""
    if not isinstance(plan, Order) or not plan.is_streaming:
        return None
    below = plan.input
    while isinstance(below, Filter):
        below = below.input
    return below if isinstance(below, Join) and keeps_state(below) else None


def _regroups(plan: Plan) -> bool:
    """Does it take rows in no order, and give others in no order?"""
    return isinstance(plan, Aggregate | Distinct) or (isinstance(plan, Join) and keeps_state(plan))
