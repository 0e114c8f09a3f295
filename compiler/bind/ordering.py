"""ORDER BY: stored data by anything, streams by their time."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlglot import exp

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.scalars import ScalarBinder
from ssql.compiler.bind.scope import Scope
from ssql.compiler.bind.windows import join_time
from ssql.compiler.diagnostics import SsqlError, fail
from ssql.compiler.source import Span
from ssql.planner.logical import Aggregate, Filter, Order, Plan, Project
from ssql.planner.scalar import Scalar, column

_DIRECTION = re.compile(r"\s+(?:(ASC|DESC)\b\s*)?(NULLS\s+(?:FIRST|LAST)\s*)?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Key:
    text: ast.Scalar
    descending: bool


def bind_order(select: ast.Select, context: Context, project: Project, result: Plan) -> Plan:
    """Order by columns of the result or, if they are not there, by those that it comes from.

    The result is the projection itself, or what DISTINCT leaves of it.
    """
    keys = [_key(text) for text in select.order_by]
    try:
        over: Plan = project
        scalars = [_bind(k, project, context) for k in keys]
    except SsqlError as not_in_result:
        if result is not project or _is_grouped(project.input):
            raise
        over = project.input
        try:
            scalars = [_bind(k, over, context) for k in keys]
        except SsqlError:
            raise not_in_result from None
    if project.is_streaming:
        _check_by_time(scalars[0], keys[0], over)
    descending = tuple(k.descending for k in keys)
    below = result if over is project else over
    order = Order(input=below, keys=tuple(scalars), descending=descending, span=select.span)
    return order if over is project else replace(project, input=order)


def _key(text: ast.Scalar) -> _Key:
    direction = _DIRECTION.search(text.text)
    bare = text.text[: direction.start()] if direction else text.text
    span = Span(text.span.start, text.span.start + len(bare))
    descending = bool(direction and (direction.group(1) or "").upper() == "DESC")
    return _Key(ast.Scalar(text=bare, span=span), descending)


def _bind(key: _Key, plan: Plan, context: Context) -> Scalar:
    binder = ScalarBinder(context, Scope(plan.schema))
    scalar = binder.scalar(binder.bind(key.text, "ORDER BY"))
    tree = scalar.tree
    if isinstance(tree, exp.Literal) and tree.is_int and isinstance(plan, Project):
        if not 1 <= int(tree.name) <= len(plan.items):
            raise fail(
                codes.BAD_GROUP_POSITION,
                f"there is no SELECT item {tree.name}",
                key.text.span,
                helps=[f"the items are numbered from 1 to {len(plan.items)}"],
            )
        field = plan.schema[int(tree.name) - 1]
        return Scalar(tree=column(field.name), type=field.type, span=key.text.span)
    return scalar


def _is_grouped(plan: Plan) -> bool:
    while isinstance(plan, Filter):
        plan = plan.input
    return isinstance(plan, Aggregate)


def _check_by_time(scalar: Scalar, key: _Key, plan: Plan) -> None:
    times = {(f.relation, f.name) for f in plan.schema if f.progressing}
    if not times and isinstance(plan, Project):
        times = {(None, f.name) for f in plan.input.schema if f.progressing}
    if not key.descending and (scalar.column in times or _is_join_time(scalar, plan)):
        return
    shown = ", ".join(f"{r}.{n}" if r else n for r, n in sorted(times, key=str))
    raise fail(
        codes.ORDER_BY_NOT_TIME,
        "a stream has no last row, so it cannot be sorted backwards"
        if key.descending
        else "a stream can be put in order of its time only",
        key.text.span,
        helps=[
            f"order by {shown}" if shown else "drop ORDER BY: there is no time among the columns"
        ],
    )


def _is_join_time(scalar: Scalar, plan: Plan) -> bool:
    """`greatest(S.ts, T.ts)`, in any order of its sides."""
    time, tree = join_time(plan, scalar.span), scalar.tree
    if time is None or not isinstance(tree, exp.Anonymous) or tree.name.lower() != "greatest":
        return False
    return set(tree.expressions) == set(time.tree.expressions)
