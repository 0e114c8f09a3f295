"""Aggregate calls of a plan, taken apart for their recipes."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from ssql.planner.aggregates import recipe_of
from ssql.planner.aggregates.recipes import Call, Recipe
from ssql.planner.logical import Aggregate, AggregateCall, Filter, Plan, StreamScan
from ssql.planner.scalar import column
from ssql.planner.windows import RowWindow

Render = Callable[[exp.Expression], str]
# What Spark cannot compare, on its own or inside of something else; nor what nobody knows.
_UNORDERED = re.compile(r"\b(MAP|VARIANT|GEOMETRY|GEOGRAPHY|OBJECT)\b|\?", re.IGNORECASE)


def recipe_for(
    call: AggregateCall, plan: Aggregate, render: Render, *conditions: str
) -> Recipe | None:
    """The recipe of one call; `conditions` narrow the rows that it takes, beside its FILTER."""
    return recipe_of(call.function, _taken_apart(call, plan, render, conditions))


def _taken_apart(
    call: AggregateCall, plan: Aggregate, render: Render, conditions: tuple[str, ...]
) -> Call:
    tree, ignores, plain = call.scalar.tree, False, True
    own: list[str] = []
    while not isinstance(tree, exp.Anonymous):
        match tree:
            case exp.Filter():
                own.append(render(tree.expression.this))
            case exp.IgnoreNulls():
                ignores = True
            case exp.RespectNulls():
                pass
            case _:
                plain = False
                break
        tree = tree.this
    arguments = tree.expressions if plain else []
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = arguments[0].expressions
    if call.function in ("first", "first_value", "last", "last_value", "any_value"):
        ignores |= any(isinstance(a, exp.Boolean) and a.this for a in arguments[1:])
        arguments = arguments[:1]
    return Call(
        text=render(tree),
        arguments=tuple(render(a) for a in arguments),
        type=call.argument_type,
        result=call.scalar.type,
        order=f"struct({', '.join(map(render, order_of(plan)))})",
        distinct=distinct,
        ignore_nulls=ignores,
        is_plain=plain,
        conditions=(*own, *conditions),
    )


def order_of(plan: Aggregate) -> list[exp.Expression]:
    """Rows are in order of time; ties are broken by SEQUENCE BY, then by the other columns."""
    window = plan.window
    times = [] if window is None or isinstance(window, RowWindow) else [window.attribute.tree]
    fields = [f for f in plan.input.schema if not f.hidden]
    times += [column(f.name, f.relation) for f in fields if f.progressing]
    others = [column(f.name, f.relation) for f in fields if not _UNORDERED.search(f.type)]
    sequence = _sequence(plan.input)
    return list(dict.fromkeys([*times, *([sequence] if sequence is not None else []), *others]))


def _sequence(plan: Plan) -> exp.Expression | None:
    while isinstance(plan, Filter):
        plan = plan.input
    if isinstance(plan, StreamScan) and plan.stream.sequence:
        return column(plan.stream.sequence, plan.alias)
    return None
