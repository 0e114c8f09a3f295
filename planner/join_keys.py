"""What a join of streams is joined by."""

from __future__ import annotations

from sqlglot import exp

from ssql.planner.logical import Join
from ssql.planner.windows import EqualTimeJoin, TumblingJoin


def is_equi_join(join: Join, at: int) -> bool:
    """Is a side joined by a key? Spark has no other join of two streams."""
    if isinstance(join.window, EqualTimeJoin | TumblingJoin):
        return True  # the time itself, or the window that it is in
    return has_equality(join, at)


def has_equality(join: Join, at: int) -> bool:
    """Does ON say that something of a side equals something of those before it?"""
    side = join.sides[at]
    if side.on is None:
        return False
    own = {(f.relation, f.name) for f in side.input.schema}
    before = {(f.relation, f.name) for s in join.sides[:at] for f in s.input.schema}
    tree = side.on.tree
    for part in tree.flatten() if isinstance(tree, exp.And) else (tree,):
        equality = part.unnest()
        if not isinstance(equality, exp.EQ):
            continue
        ends = [_columns(equality.left), _columns(equality.right)]
        if any(a and a <= own and b and b <= before for a, b in (ends, ends[::-1])):
            return True
    return False


def _columns(tree: exp.Expression) -> set[tuple[str | None, str]]:
    return {(c.table or None, c.name) for c in tree.find_all(exp.Column)}
