"""ORDER BY: stored data by anything, streams by their time."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlglot import exp

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.items import Item
from ssql.compiler.bind.scalars import ScalarBinder
from ssql.compiler.bind.scope import Scope
from ssql.compiler.bind.windows import join_time
from ssql.compiler.diagnostics import SsqlError, fail
from ssql.compiler.source import Span
from ssql.planner.logical import Aggregate, Filter, Order, Plan, Project
from ssql.planner.rules.columns import below_project, with_columns
from ssql.planner.scalar import Scalar, column

_DIRECTION = re.compile(r"\s+(?:(ASC|DESC)\b\s*)?(?:NULLS\s+(FIRST|LAST)\s*)?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Key:
    text: ast.Scalar
    descending: bool
    nulls_first: bool | None


def bind_order(
    keys: tuple[ast.Scalar, ...],
    context: Context,
    project: Project,
    result: Plan,
    select_list: tuple[list[Item], ScalarBinder] | None = None,
) -> Plan:
    """Order by columns of the result or, if they are not there, by those that it comes from.

    The result is the projection itself, or what DISTINCT leaves of it.
    """
    split = [_key(text) for text in keys]
    over: Plan = project
    try:
        scalars = [_over_result(k, project, context, select_list) for k in split]
    except SsqlError as not_in_result:
        if result is not project or _is_grouped(project.input):
            raise
        over = project.input
        try:
            scalars = [_below(k, project, context) for k in split]
        except SsqlError:
            raise not_in_result from None
    if project.is_streaming:
        _check_by_time(scalars[0], split[0], over)
    order = Order(
        input=result if over is project else over,
        keys=tuple(scalars),
        descending=tuple(k.descending for k in split),
        nulls_first=tuple(k.nulls_first for k in split),
        span=keys[0].span.to(keys[-1].span),
    )
    return order if over is project else replace(project, input=order)


def by_join_time(plan: Plan, span: Span) -> Plan:
    """`WINDOW w` says that results come in order of their time."""
    time = join_time(plan, span)
    assert time is not None, "WINDOW was checked to stand with a join of streams"
    return Order(input=plan, keys=(time,), descending=(False,), nulls_first=(None,), span=span)


def _key(text: ast.Scalar) -> _Key:
    direction = _DIRECTION.search(text.text)
    bare = text.text[: direction.start()] if direction else text.text
    span = Span(text.span.start, text.span.start + len(bare))
    descending = bool(direction and (direction.group(1) or "").upper() == "DESC")
    nulls = (direction.group(2) or "").upper() if direction else ""
    return _Key(ast.Scalar(text=bare, span=span), descending, nulls == "FIRST" if nulls else None)


def _over_result(
    key: _Key,
    project: Project,
    context: Context,
    select_list: tuple[list[Item], ScalarBinder] | None,
) -> Scalar:
    """A position, an item of the SELECT list written once more, or an expression of columns."""
    if (position := _position(key, project)) is not None:
        return position
    if select_list is not None and (item := _same_item(key, *select_list)) is not None:
        # What a star stands for has the place of the star.
        here = [i for i in project.items if i.span == item.span]
        here = [i for i in here if len(here) == 1 or i.scalar.tree == item.bound.tree]
        for named in here:
            return Scalar(tree=column(named.name), type=named.scalar.type, span=key.text.span)
    binder = ScalarBinder(context, Scope(project.schema))
    return binder.scalar(binder.bind(key.text, "ORDER BY"))


def _same_item(key: _Key, items: list[Item], scalars: ScalarBinder) -> Item | None:
    try:
        tree = scalars.bind(key.text, "ORDER BY", aggregates=True).tree
    except SsqlError:
        return None
    return next((i for i in items if i.bound.tree == tree), None)


def _below(key: _Key, project: Project, context: Context) -> Scalar:
    if (position := _position(key, project)) is not None:
        assert isinstance(position.tree, exp.Column)
        return next(i.scalar for i in project.items if i.name == position.tree.name)
    binder = ScalarBinder(context, Scope(project.input.schema))
    aliases = {i.name.casefold(): i.scalar for i in project.items}
    if not binder.scope.has_column(key.text.text) and key.text.text.casefold() in aliases:
        return aliases[key.text.text.casefold()]
    return binder.scalar(binder.bind(key.text, "ORDER BY"))


def _position(key: _Key, project: Project) -> Scalar | None:
    if not key.text.text.strip().isdigit():
        return None
    number = int(key.text.text)
    if not 1 <= number <= len(project.items):
        raise fail(
            codes.BAD_GROUP_POSITION,
            f"there is no SELECT item {number}",
            key.text.span,
            helps=[f"the items are numbered from 1 to {len(project.items)}"],
        )
    field = project.schema[number - 1]
    return Scalar(tree=column(field.name), type=field.type, span=key.text.span)


def _is_grouped(plan: Plan) -> bool:
    while isinstance(plan, Filter):
        plan = plan.input
    return isinstance(plan, Aggregate)


def _check_by_time(scalar: Scalar, key: _Key, plan: Plan) -> None:
    if isinstance(plan, Project):  # `greatest(a.ts, b.ts) AS at … ORDER BY at`
        expanded = with_columns(scalar, below_project(plan))
        if not key.descending and _is_join_time(expanded, plan.input):
            return
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
