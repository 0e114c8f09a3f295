"""Conditions of WHERE into the joins that they are about: `FROM a, b WHERE a.x = b.x` is a join ON.

Spark finds the key of a join there, and a reader too. A condition moves into the last side that it
uses, if neither that side nor one after it keeps rows that match nothing.
"""

from __future__ import annotations

from dataclasses import replace

from ssql.planner.logical import Filter, Join, JoinSide, Plan
from ssql.planner.rules.certain import is_pure
from ssql.planner.rules.columns import Column, columns_of
from ssql.planner.rules.conjuncts import joined, split
from ssql.planner.rules.rebuilding import from_below
from ssql.planner.scalar import Scalar

_INNER = frozenset({",", "CROSS", "INNER"})


def join_conditions(plan: Plan) -> Plan:
    return from_below(plan, _node)


def _node(plan: Plan) -> Plan:
    if not isinstance(plan, Filter) or not isinstance(plan.input, Join):
        return plan
    join, kept = plan.input, list[Scalar]()
    moved: dict[int, list[Scalar]] = {}
    for condition in split(plan.condition):
        at = _place(join, condition)
        if at is None:
            kept.append(condition)
        else:
            moved.setdefault(at, []).append(condition)
    if not moved:
        return plan
    sides = (
        replace(side, kind="INNER", on=_and(side.on, moved[at])) if at in moved else side
        for at, side in enumerate(join.sides)
    )
    below = replace(join, sides=tuple(sides))
    if not kept:
        return below
    return replace(plan, input=below, condition=joined(kept, plan.condition))


def _place(join: Join, condition: Scalar) -> int | None:
    """The side whose ON takes a condition; None: it stays where it is."""
    used = columns_of(condition.tree)
    owners = {column: at for at, side in enumerate(join.sides) for column in _columns(side)}
    is_certain = is_pure(condition.tree, may_be_python=True)
    if not used or not is_certain or not used <= owners.keys():
        return None
    at = max(owners[c] for c in used)
    if at == 0 or len({owners[c] for c in used}) == 1:
        return None  # about one side alone: Spark asks it there anyway
    is_inner = join.sides[at].kind in _INNER
    later = (side.kind for side in join.sides[at + 1 :])
    return at if is_inner and all(kind in _INNER or kind == "LEFT" for kind in later) else None


def _columns(side: JoinSide) -> set[Column]:
    return {(f.relation, f.name) for f in side.input.schema}


def _and(on: Scalar | None, more: list[Scalar]) -> Scalar:
    conditions = [*(split(on) if on is not None else []), *more]
    return joined(conditions, conditions[0])
