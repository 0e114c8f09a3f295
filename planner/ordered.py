"""Results in order of time: which joins give them, and what keeps an operator from running one."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ssql.planner.join_keys import JoinConditions, conditions_of
from ssql.planner.logical import Aggregate, Alias, Join, Order, Plan, Project, Schema, Union, walk
from ssql.planner.progress import keeps_state, latest, time_of
from ssql.planner.rules.columns import below_alias, below_project, below_union, with_columns
from ssql.planner.rules.order_results import join_below, visible_orders
from ssql.planner.scalar import Scalar
from ssql.planner.windows import EpochJoin, WithinJoin

# The plans of joins whose results come in order of time.
SYNC_FILTER, FILTER_ORDER, ADAPTIVE = "sync-filter", "filter-order", "adaptive"
JOIN_PLANS = (SYNC_FILTER, FILTER_ORDER, ADAPTIVE)


@dataclass(frozen=True, slots=True)
class OrderedJoin:
    """A join of streams whose results come in order of time. `order` is what asks for it; None:
    WINDOW does, and the results go into another window, which takes them in any order."""

    join: Join
    order: Order | None
    time: Scalar | None = None  # of the results, as that window goes by

    @property
    def conditions(self) -> JoinConditions:
        return conditions_of(self.join)

    @property
    def by(self) -> int | None:
        """The side by whose time results are ordered; None: by the latest of all."""
        if self.order is None or _is_latest(self.order.keys[0], self.join):
            return None
        key = self.order.keys[0].column
        return next(at for at, s in enumerate(self.join.sides) if s.time and s.time.column == key)

    def obstacle(self) -> str | None:
        """What keeps our operator from running it, as what follows `because`; None: nothing."""
        join = self.join
        for side in join.sides:
            if side.time is None:
                return "stored rows take part"
            if side.kind not in ("INNER", "CROSS"):
                return "rows that match nothing are results as well"
            if any(map(keeps_state, walk(side.input))):
                return "results of windows take part"
        if has_names_twice(join.schema):
            return "a column without a qualifier is called like one of its sides"
        if self.order is not None:
            return self._order_obstacle(self.order)
        if self.time is not None and not _is_latest(self.time, join):
            return "a window goes by the time of one of its sides"
        return None

    def _order_obstacle(self, order: Order) -> str | None:
        times = {s.time.column: s for s in self.join.sides if s.time is not None}
        key = order.keys[0]
        if not _is_latest(key, self.join):
            if key.column not in times:
                return f"{key.sql} is not the time that a side is joined by"
            if times[key.column].input.schema[0].relation is None:
                return "the side that it is ordered by has no name"
        for further in order.keys[1:]:
            if further.column is None or further.column[0] is None:
                return f"{further.sql} is no column of a side"
        return None


def has_names_twice(schema: Schema) -> bool:
    """What goes through an operator has the columns of a relation in a struct of its name, and
    those of no relation as they are."""
    bare = [f.name for f in schema if f.relation is None]
    relations = dict.fromkeys(f.relation for f in schema if f.relation)
    folded = [n.casefold() for n in (*bare, *relations)]
    return len(set(folded)) < len(folded)


def ordered_joins(plan: Plan) -> list[OrderedJoin]:
    """The joins of a plan whose results come in order."""
    found: list[OrderedJoin] = []
    times: dict[int, Scalar | None] = {}
    _ask_times(plan, None, times)
    orders = {id(join): o for o in visible_orders(plan) if (join := join_below(o)) is not None}
    for node in walk(plan):
        if not isinstance(node, Join) or not keeps_state(node):
            continue
        if isinstance(node.window, EpochJoin):
            continue
        order = orders.get(id(node))
        if order is not None or isinstance(node.window, WithinJoin):
            found.append(OrderedJoin(node, order, times[id(node)]))
    return found


def _ask_times(plan: Plan, time: Scalar | None, found: dict[int, Scalar | None]) -> None:
    """By the ids of joins: the time of their results that what keeps state above them goes by.
    `time` is that of the plan's own rows."""
    match plan:
        case Join() if keeps_state(plan):
            found[id(plan)] = time
            for side in plan.sides:
                _ask_times(side.input, side.time, found)
        case Join():
            for side in plan.sides:
                _ask_times(side.input, time if side.input.is_streaming else None, found)
        case Aggregate():
            _ask_times(plan.input, time_of(plan), found)
        case Alias():
            _ask_times(plan.input, time and with_columns(time, below_alias(plan)), found)
        case Project():
            _ask_times(plan.input, time and with_columns(time, below_project(plan)), found)
        case Union():
            for member in plan.members:
                asked = time and with_columns(time, below_union(plan, member))
                _ask_times(member, asked, found)
        case Order() if plan.is_streaming and time is None:
            _ask_times(plan.input, plan.keys[0], found)
        case _:
            for below in plan.inputs:
                _ask_times(below, time, found)


def _is_latest(key: Scalar, join: Join) -> bool:
    times = [s.time for s in join.sides if s.time is not None]
    wanted, tree = latest(times).tree, key.tree
    if isinstance(tree, exp.Anonymous) and tree.name.lower() == "greatest":
        return set(tree.expressions) == set(wanted.expressions)
    return bool(tree == wanted)
