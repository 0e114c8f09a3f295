"""Calls of the operators that Spark lacks: which one runs a plan, and with what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from ssql.compiler.emit.python import Argument, Call, Nested, literal
from ssql.planner.catalog import Function
from ssql.planner.choose import Choice
from ssql.planner.durations import spell
from ssql.planner.join_keys import question_in
from ssql.planner.logical import Aggregate
from ssql.planner.rules.order_results import visible_orders
from ssql.planner.windows import LandmarkWindow, RowWindow, TimeWindow, TupleWindow


@dataclass(frozen=True, slots=True)
class Operator:
    """A function of `runtime/operators/`, and whether it takes panes or rows."""

    module: str
    function: str
    of_panes: bool = False


# The state of operators over streams is kept by nothing else of Spark's.
STATE_STORE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}


OPERATORS = {
    "rolling": Operator("rolling", "rolling", of_panes=True),
    "landmark": Operator("landmark", "landmark", of_panes=True),
    "adaptwid": Operator("adaptwid", "adaptwid"),
    "rows": Operator("rows", "row_windows"),
    "partitioned": Operator("rows", "row_windows"),
    "slide-by-tuple": Operator("tuples", "tuple_windows"),
}


def operators_of(choice: Choice, functions: Sequence[Function]) -> set[tuple[str, str]]:
    """The names that a query takes from our operators, each with its module."""
    used = [OPERATORS[a.plan] for a in choice.aggregates if a.plan in OPERATORS]
    found = {(o.module, o.function) for o in used} | ({("road", "Part")} if used else set())
    if any(j.by_operator for j in choice.joins):
        found |= {("ordered_join", "Side"), ("ordered_join", "ordered_join")}
    own = [j.ordered for j in choice.joins if j.by_operator]
    if any(question_in(o.join, c, functions) for o in own for c in o.conditions.others):
        found.add(("asking", "Asked"))
    orders = list(visible_orders(choice.query.plan))
    by_join = {id(j.ordered.order) for j in choice.joins if j.by_operator}
    if any(id(o) not in by_join for o in orders):
        found.add(("ordering", "in_order"))
    if any(len(o.keys) > 1 for o in orders):
        found.add(("ordering", "By"))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPart:
    """A column that an operator merges."""

    how: str
    sql: str
    name: str
    range_us: int | None

    def text(self) -> Nested:
        items = [literal(self.how), literal(self.sql), literal(self.name)]
        if self.range_us is not None:
            items.append(literal(spell(self.range_us)))
        return Nested("Part(", tuple(items), ")")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What an operator reads: a DataFrame, the time of its rows (or the column of their panes), its
    keys by name with their Spark SQL, and how its results are called."""

    frame: str
    time: str
    order: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]
    parts: tuple[OperatorPart, ...]
    window_name: str
    shift_us: int
    is_chained: bool
    event_time: str  # of windows over the results; empty: there are none


def operator_call(operator: Operator, plan: Aggregate, given: Input) -> Call:
    arguments: list[Argument] = [given.frame]
    if given.time:
        arguments.append(f"{'pane' if operator.of_panes else 'time'}={literal(given.time)}")
    arguments += _window(plan, given)
    arguments.append(_keys(given.keys))
    partition = _partition(plan)
    if partition:
        arguments.append(_list("partition", map(literal, partition)))
    arguments.append(_list("parts", (p.text() for p in given.parts)))
    if given.window_name != "window":
        arguments.append(f"window={literal(given.window_name)}")
    if given.is_chained and not operator.of_panes:
        arguments.append("chained=True")
    if given.event_time:
        arguments.append(f"event_time={literal(given.event_time)}")
    return Call(operator.function, tuple(arguments))


def _window(plan: Aggregate, given: Input) -> list[Argument]:
    window = plan.window
    match window:
        case TimeWindow():
            range_, slide = literal(spell(window.range_us)), literal(spell(window.slide_us))
            return [f"range={range_}", f"slide={slide}", *_origin(window.origin_us, given)]
        case LandmarkWindow():
            return [f"slide={literal(spell(window.slide_us))}", *_origin(window.origin_us, given)]
        case RowWindow():
            order = _list("order", map(literal, given.order))
            return [order, f"range={window.range_rows}", f"slide={window.slide_rows}"]
        case TupleWindow():
            return [f"range={literal(spell(window.range_us))}", f"slide={window.slide_rows}"]
        case None:
            raise AssertionError("an operator has a window")
        case _:
            assert_never(window)


def _origin(origin_us: int, given: Input) -> list[Argument]:
    at = origin_us + given.shift_us
    return [f"origin={at}"] if at else []


def _keys(keys: tuple[tuple[str, str], ...]) -> Argument:
    if all(sql.strip("`") == name for name, sql in keys):
        return _list("keys", (literal(name) for name, _ in keys))
    return Nested("keys={", tuple(f"{literal(n)}: {literal(sql)}" for n, sql in keys), "}")


def _partition(plan: Aggregate) -> list[str]:
    """The names of the keys that rows are counted by."""
    if not isinstance(plan.window, RowWindow | TupleWindow):
        return []
    trees = [p.tree for p in plan.window.partition]
    return [k.name for k in plan.keys if k.scalar.tree in trees]


def _list(name: str, items: Iterable[Argument]) -> Nested:
    return Nested(f"{name}=[", tuple(items), "]")
