"""Columns that nobody uses are not computed: items of inner SELECT lists, calls of inner
aggregates.

Rows are numbered, and `first` and the like choose among them, by all of their columns: below those,
and below DISTINCT, all columns are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from sqlglot import exp

from ssql.planner.logical import (
    Aggregate,
    Alias,
    Distinct,
    Epochs,
    Filter,
    Join,
    Limit,
    OneRow,
    Order,
    Plan,
    Project,
    StreamScan,
    TableScan,
    Union,
)
from ssql.planner.rules.columns import Column, columns_of, is_all, takes_all
from ssql.planner.rules.rebuilding import over
from ssql.planner.scalar import Named, Scalar
from ssql.planner.windows import RowWindow, TupleWindow

# The aggregates that take no notice of the order of rows.
_UNORDERED = frozenset(
    """
    approx_count_distinct approx_percentile avg bit_and bit_or bit_xor bool_and bool_or collect_set
    count count_if heavy_hitters max mean median min mode percentile percentile_approx std stddev
    stddev_pop stddev_samp sum var_pop var_samp variance
    """.split()
)
_GENERATORS = ("explode", "explode_outer")  # they make rows: dropped, there would be others

Used = Set[Column] | None  # None: all columns


def prune_columns(plan: Plan) -> Plan:
    return _pruned(plan, None)


def _pruned(plan: Plan, used: Used) -> Plan:
    """The plan with the columns that are used, and maybe with others."""
    match plan:
        case StreamScan() | TableScan() | OneRow() | Epochs():
            return plan
        case Distinct():
            return over(plan, [_pruned(plan.input, None)])
        case Limit():
            return over(plan, [_pruned(plan.input, used)])
        case Filter():
            return over(plan, [_pruned(plan.input, _with(used, [plan.condition]))])
        case Order():
            return over(plan, [_pruned(plan.input, _with(used, plan.keys))])
        case Alias():
            return over(plan, [_pruned(plan.input, _below_alias(plan, used))])
        case Project():
            return _project(plan, used)
        case Union():
            return _union(plan, used)
        case Join():
            return _join(plan, used)
        case Aggregate():
            return _aggregate(plan, used)


def _with(used: Used, scalars: Iterable[Scalar]) -> Used:
    """The columns that are used, and those of some expressions."""
    found = set[Column]()
    for scalar in scalars:
        if takes_all(scalar.tree):
            return None
        found |= columns_of(scalar.tree)
    return None if used is None else used | found


def _below_alias(plan: Alias, used: Used) -> Used:
    if used is None:
        return None
    fields = (f for f in plan.input.schema if not f.hidden)
    return {(f.relation, f.name) for f in fields if (plan.name, f.name) in used}


def _project(plan: Project, used: Used) -> Plan:
    if is_all(plan) and not _is_aggregated(plan.input):
        # It passes on what there is; to choose among that would be one more step, not one less.
        items = _items(plan, used)
        wanted = None if used is None else _with(set(), (i.scalar for i in items))
        below = _pruned(plan.input, wanted)
        left = {(f.relation, f.name) for f in below.schema}
        items = tuple(i for i in plan.items if i.scalar.column in left)
        whole = over(plan, [below])
        return whole if len(items) == len(plan.items) else replace(plan, input=below, items=items)
    items = _items(plan, used)
    below = _pruned(plan.input, _with(set(), (i.scalar for i in items)))
    if len(items) == len(plan.items):
        return over(plan, [below])
    return replace(plan, input=below, items=items)


def _is_aggregated(plan: Plan) -> bool:
    """What is shown of an aggregate is a step of its own in any case."""
    return isinstance(plan.input if isinstance(plan, Filter) else plan, Aggregate)


def _items(plan: Project, used: Used) -> tuple[Named, ...]:
    """The items that are used; one at least, for a row without columns is none."""
    if used is None:
        return plan.items
    kept = tuple(i for i in plan.items if (None, i.name) in used or _makes_rows(i.scalar))
    return kept or plan.items[:1]


def _makes_rows(scalar: Scalar) -> bool:
    return isinstance(scalar.tree, exp.Anonymous) and scalar.tree.name.lower() in _GENERATORS


def _union(plan: Union, used: Used) -> Plan:
    """Members lose a column all together or not at all."""
    if used is None:
        return over(plan, [_pruned(m, None) for m in plan.members])
    places = [at for at, f in enumerate(plan.schema) if (None, f.name) in used]
    members = []
    for member in plan.members:
        fields = [f for f in member.schema if not f.hidden]
        members.append(_pruned(member, {(fields[at].relation, fields[at].name) for at in places}))
    left = {
        tuple(at for at, f in enumerate(_visible(old)) if f in _visible(new))
        for old, new in zip(plan.members, members, strict=True)
    }
    return over(plan, members if len(left) == 1 else [_pruned(m, None) for m in plan.members])


def _visible(plan: Plan) -> list[Column]:
    return [(f.relation, f.name) for f in plan.schema if not f.hidden]


def _join(plan: Join, used: Used) -> Plan:
    scalars = [s for side in plan.sides for s in (side.on, side.time) if s is not None]
    wanted = _with(used, scalars)
    if wanted is None:
        return over(plan, [_pruned(i, None) for i in plan.inputs])
    sides = ({(f.relation, f.name) for f in i.schema} & wanted for i in plan.inputs)
    return over(plan, [_pruned(i, own) for i, own in zip(plan.inputs, sides, strict=True)])


def _aggregate(plan: Aggregate, used: Used) -> Plan:
    calls = plan.calls
    if used is not None:
        # One is kept at least: it is what the window was written with.
        calls = tuple(c for c in calls if (None, c.name) in used) or calls[:1]
    by_order = isinstance(plan.window, RowWindow | TupleWindow)
    if by_order or not all(c.function in _UNORDERED for c in calls):
        wanted: Used = None
    else:
        scalars = [k.scalar for k in plan.keys] + [c.scalar for c in calls]
        if plan.window is not None and not isinstance(plan.window, RowWindow):
            scalars.append(plan.window.attribute)
        wanted = _with(set(), scalars)
    below = _pruned(plan.input, wanted)
    if len(calls) == len(plan.calls):
        return over(plan, [below])
    return replace(plan, input=below, calls=calls)
