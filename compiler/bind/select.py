"""Queries: one SELECT, UNION ALL of several, and WITH."""

from __future__ import annotations

from itertools import islice

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.grouping import Grouping
from ssql.compiler.bind.items import Output, bind_items, unique
from ssql.compiler.bind.joins import FromBinder
from ssql.compiler.bind.ordering import bind_order, by_join_time
from ssql.compiler.bind.relations import RelationBinder, check_union_member
from ssql.compiler.bind.scalars import ScalarBinder
from ssql.compiler.bind.scope import Scope
from ssql.compiler.diagnostics import fail
from ssql.compiler.source import Span
from ssql.planner.logical import Distinct, Epochs, Limit, Plan, Project, Union, walk
from ssql.planner.scalar import Named, Scalar, column

MAX_NODES = 500


def bind_query(query: ast.Query, context: Context) -> Plan:
    names: set[str] = set()
    for common in query.common:
        if common.name.text.casefold() in names:
            raise fail(
                codes.ALREADY_EXISTS,
                f"WITH has {common.name.text} already",
                common.name.span,
                helps=["choose another name"],
            )
        names.add(common.name.text.casefold())
        context = context.with_common(common.name.text, bind_query(common.query, context))
    plans = [bind_select(select, context) for select in query.selects]
    if len(plans) == 1:
        return plans[0]
    return _united(query, plans, context)


def _united(query: ast.Query, plans: list[Plan], context: Context) -> Plan:
    """UNION and UNION ALL, from left to right; then what orders or cuts the whole."""
    result, members = plans[0], [plans[0]]
    for plan, select, operator in zip(plans[1:], query.selects[1:], query.unions, strict=True):
        check_union_member(plans[0], plan, select)
        members.append(plan)
        result = Union(members=tuple(members), span=query.span)
        if operator.drops_duplicates:
            if result.is_streaming:
                raise fail(
                    codes.SET_UNION_ON_STREAM,
                    "UNION drops duplicates, which an endless stream cannot",
                    operator.span,
                    helps=["write UNION ALL"],
                )
            result = Distinct(input=result, span=query.span)
            members = [result]
    if query.order_by:
        columns = tuple(
            Named(name=f.name, scalar=Scalar(tree=column(f.name), type=f.type, span=query.span))
            for f in result.schema
        )
        whole = Project(input=result, items=columns, span=query.span)
        result = bind_order(query.order_by, context, whole, whole)
    if query.limit is not None:
        result = _limit(query.limit, query.limit_span, result)
    return result


def bind_select(select: ast.Select, context: Context) -> Plan:
    plan = FromBinder(context, RelationBinder(context, bind_query)).bind(select)
    _check_size(plan, select)
    scalars = ScalarBinder(context, Scope(plan.schema))
    grouping = Grouping(context, plan, select, scalars)
    items = bind_items(select, scalars)
    if grouping.is_needed(items):
        plan, outputs = grouping.bind(items)
    else:
        if select.within is not None and not select.order_by:
            plan = by_join_time(plan, select.within.span)
        outputs = [Output(i.name, scalars.scalar(i.bound), i.chosen, i.span) for i in items]
    project = Project(input=plan, items=unique(outputs), span=select.span)
    result: Plan = _distinct(select, project) if select.distinct else project
    if select.order_by:
        result = bind_order(select.order_by, context, project, result, (items, scalars))
    if select.limit is not None:
        result = _limit(select.limit, select.limit_span, result)
    return result


def _check_size(plan: Plan, select: ast.Select) -> None:
    """A WITH that reads the one before it twice, and so on, doubles with every step."""
    if sum(1 for _ in islice(walk(plan), MAX_NODES + 1)) > MAX_NODES:
        raise fail(
            codes.TOO_LARGE,
            f"this query has more than {MAX_NODES} operators, views inlined",
            select.head,
            helps=["split it, and keep what comes between in a sink"],
        )


def _distinct(select: ast.Select, plan: Plan) -> Plan:
    by_epoch = any(isinstance(n, Epochs) for n in walk(plan))
    if plan.is_streaming and not by_epoch and not any(f.progressing for f in plan.schema):
        raise fail(
            codes.NEVER_CLOSES,
            "DISTINCT over a stream would have to keep every row for ever",
            select.head,
            helps=["select the stream's time column too, or use count(DISTINCT …) with a window"],
        )
    return Distinct(input=plan, span=select.span)


def _limit(count: int, span: Span | None, plan: Plan) -> Plan:
    assert span is not None
    if plan.is_streaming:
        raise fail(
            codes.LIMIT_ON_STREAM,
            "LIMIT on a stream depends on what arrives first",
            span,
            helps=["drop it, or use a window and HAVING"],
        )
    return Limit(input=plan, count=count, span=span)
