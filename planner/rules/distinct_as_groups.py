"""SELECT DISTINCT over a stream: a group for each row, without aggregates.

One of the columns is the stream's time (bind refuses the others), so each instant closes by itself
and nothing is kept for ever.
"""

from __future__ import annotations

from sqlglot import exp

from ssql.planner.logical import Aggregate, Distinct, Epochs, Filter, Plan, Project, walk
from ssql.planner.rules.certain import is_pure
from ssql.planner.rules.rebuilding import from_below
from ssql.planner.scalar import Named, Scalar, column


def distinct_as_groups(plan: Plan) -> Plan:
    return from_below(plan, _node)


def _node(plan: Plan) -> Plan:
    if not isinstance(plan, Distinct) or not plan.is_streaming:
        return plan
    if any(isinstance(n, Epochs) for n in walk(plan)):
        return plan  # of each epoch, not of all times
    if not any(f.progressing for f in plan.schema):
        return plan
    source, items = _source(plan.input)
    keys: dict[exp.Expression, Named] = {}
    for item in items:  # Spark takes a time once
        keys.setdefault(item.scalar.tree, item)
    groups = Aggregate(
        input=source, keys=tuple(keys.values()), calls=(), window=None, span=plan.span
    )
    shown = tuple(
        Named(
            name=i.name,
            scalar=Scalar(
                tree=column(keys[i.scalar.tree].name), type=i.scalar.type, span=i.scalar.span
            ),
            span=i.span,
        )
        for i in items
    )
    return Project(input=groups, items=shown, span=plan.span)


def _source(plan: Plan) -> tuple[Plan, tuple[Named, ...]]:
    """What is grouped, and by what: rows by the SELECT list, where Spark can group by that."""
    if isinstance(plan, Project):
        below = plan.input.input if isinstance(plan.input, Filter) else plan.input
        if not isinstance(below, Aggregate) and all(is_pure(i.scalar.tree) for i in plan.items):
            return plan.input, plan.items
        spans = [(i.scalar.span, i.span) for i in plan.items]
    else:
        spans = [(plan.span, plan.span)] * len(plan.schema)
    items = tuple(
        Named(
            name=f.name,
            scalar=Scalar(tree=column(f.name, f.relation), type=f.type, span=inner),
            span=outer,
        )
        for f, (inner, outer) in zip(plan.schema, spans, strict=True)
    )
    return plan, items
