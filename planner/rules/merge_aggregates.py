"""An aggregate over the results of a tumbling window as one aggregate over the rows.

`sum(n) [RANGE 1 hour]` of counts by the minute is `count(*) [RANGE 1 hour]`: minutes are panes, and
whether windows are made of panes is for `choose` to say. The outer windows go by window_start and
are whole numbers of inner ones, so that both hold the same rows. A group of the inner aggregate has
a row, and a group of the outer one has a group: none comes or goes.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ssql.planner.logical import Aggregate, AggregateCall, Alias, Epochs, Plan, Project, walk
from ssql.planner.rules.certain import is_pure
from ssql.planner.rules.columns import Trees, below_alias, below_project, column_of
from ssql.planner.rules.rebuilding import from_below
from ssql.planner.scalar import Named, Scalar
from ssql.planner.windows import TimeWindow

# The outer function over the inner one: together they are the inner one.
_COMPOSED = frozenset({("sum", "count"), ("sum", "sum"), ("min", "min"), ("max", "max")})
# Sums of these are exact and never too large; a sum of DECIMALs has another type if it is summed.
_EXACT = ("TINYINT", "SMALLINT", "INT")


def merge_aggregates(plan: Plan) -> Plan:
    return from_below(plan, _node)


def _node(plan: Plan) -> Plan:
    if not isinstance(plan, Aggregate) or not isinstance(plan.window, TimeWindow):
        return plan
    below, views = plan.input, list[Trees]()
    while isinstance(below, Alias | Project):
        views.append(below_alias(below) if isinstance(below, Alias) else below_project(below))
        below = below.input
    if not views or not isinstance(below, Aggregate):
        return plan  # a filter on aggregates, HAVING too, is in the way
    return _merged(plan, plan.window, below, _through(views)) or plan


def _through(views: list[Trees]) -> Trees:
    """The columns of the first view over what is below the last; those that are computed between
    them are left out."""
    first, *others = views
    trees = dict(first)
    for view in others:
        trees = {
            name: view[column_of(tree)]
            for name, tree in trees.items()
            if isinstance(tree, exp.Column) and column_of(tree) in view
        }
    return trees


def _merged(
    outer: Aggregate, window: TimeWindow, inner: Aggregate, trees: Trees
) -> Aggregate | None:
    size = inner.window
    if not isinstance(size, TimeWindow) or not size.is_tumbling:
        return None
    if any(isinstance(n, Epochs) for n in walk(inner)):
        return None
    # A call with a RANGE of its own may have no rows in a window: a count of none is 0, and a sum
    # of no counts is NULL.
    if any(c.window not in (None, size) for c in inner.calls):
        return None
    if any(c.window not in (None, window) for c in outer.calls):
        return None
    if _below(window.attribute, trees) != "window_start" or not _is_made_of(window, size):
        return None
    keys = [_key(k, inner, trees) for k in outer.keys]
    over_rows = replace(window, attribute=size.attribute)
    calls = [_composed(c, inner, over_rows, trees) for c in outer.calls]
    if None in keys or None in calls:
        return None
    return replace(
        outer,
        input=inner.input,
        keys=tuple(k for k in keys if k),
        calls=tuple(c for c in calls if c),
        window=over_rows,
    )


def _below(scalar: Scalar, trees: Trees) -> str | None:
    """The column of the inner aggregate that an expression is, if it is nothing else."""
    tree = trees.get(scalar.column) if scalar.column else None
    return str(tree.name) if isinstance(tree, exp.Column) and not tree.table else None


def _is_made_of(window: TimeWindow, size: TimeWindow) -> bool:
    """Do all windows begin and end where windows of this size do?"""
    lengths = (window.range_us, window.slide_us, window.origin_us - size.origin_us)
    return not any(length % size.range_us for length in lengths)


def _key(key: Named, inner: Aggregate, trees: Trees) -> Named | None:
    name = _below(key.scalar, trees)
    same = next((k for k in inner.keys if k.name == name), None)
    if same is None or not is_pure(same.scalar.tree):
        return None
    return replace(key, scalar=replace(same.scalar, span=key.scalar.span))


def _composed(
    call: AggregateCall, inner: Aggregate, window: TimeWindow, trees: Trees
) -> AggregateCall | None:
    argument = _argument(call)
    name = _below(replace(call.scalar, tree=argument), trees) if argument is not None else None
    of = next((c for c in inner.calls if c.name == name), None)
    if of is None or _argument(of) is None:
        return None
    if (call.function, of.function) not in _COMPOSED:
        return None
    if of.function == "sum" and of.argument_type not in _EXACT:
        return None
    return replace(
        of, name=call.name, scalar=replace(of.scalar, span=call.scalar.span), window=window
    )


def _argument(call: AggregateCall) -> exp.Expression | None:
    """The only argument of a call that is nothing but a call: no FILTER, no DISTINCT."""
    tree = call.scalar.tree
    if not isinstance(tree, exp.Anonymous) or len(tree.expressions) != 1:
        return None
    argument: exp.Expression = tree.expressions[0]
    return None if isinstance(argument, exp.Distinct) else argument
