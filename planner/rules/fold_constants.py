"""Constants: `1 = 1` is TRUE, `TRUE AND x` is x, `60 * 60` is 3600, and WHERE TRUE is nothing.

Only what Spark is certain to compute alike: whole numbers as long as they stay in INT, their
comparisons, and AND, OR and NOT. Spark's division, decimals, texts, casts and functions have
meanings of their own, which are Spark's to compute. Keys are left alone, too: a number alone among
these would be a position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import add, eq, ge, gt, le, lt, mul, ne, sub

from sqlglot import exp

from ssql.planner.logical import Filter, Plan, Project
from ssql.planner.rules.conjuncts import joined, split
from ssql.planner.rules.rebuilding import from_below
from ssql.planner.scalar import Named, Scalar

_LARGEST = 2**31 - 1
_LONGEST = 18  # digits that are compared; what has more may be of any type
_SUMS: dict[type, Callable[[int, int], int]] = {exp.Add: add, exp.Sub: sub, exp.Mul: mul}
_COMPARISONS: dict[type, Callable[[int, int], bool]] = {
    exp.EQ: eq, exp.NEQ: ne, exp.LT: lt, exp.LTE: le, exp.GT: gt, exp.GTE: ge,
}  # fmt: skip
_FOLDED = (*_SUMS, *_COMPARISONS, exp.And, exp.Or, exp.Not)
# What a constant may stand in. In `INTERVAL (1 + 1) DAYS`, say, it is more than a number.
_AROUND = (*_FOLDED, exp.Paren, exp.Case, exp.If, exp.In, exp.Between, exp.Anonymous)


def fold_constants(plan: Plan) -> Plan:
    return from_below(plan, _node)


def _node(plan: Plan) -> Plan:
    match plan:
        case Filter():
            return _filter(plan)
        case Project():
            items = tuple(map(_item, plan.items))
            same = all(a is b for a, b in zip(items, plan.items, strict=True))
            return plan if same else replace(plan, items=items)
        case _:
            return plan


def _item(item: Named) -> Named:
    tree = folded(item.scalar.tree)
    if tree is item.scalar.tree:
        return item
    return replace(item, scalar=replace(item.scalar, tree=tree))


def _filter(plan: Filter) -> Plan:
    before = split(plan.condition)
    after = list(map(_condition, before))
    if never := [c for c in after if _truth(c.tree) is False]:
        after = never[:1]  # the stream is still read: time moves on
    kept = [c for c in after if _truth(c.tree) is not True]
    if not kept:
        return plan.input
    if len(kept) == len(before) and all(a is b for a, b in zip(kept, before, strict=True)):
        return plan
    return replace(plan, condition=joined(kept, plan.condition))


def _condition(condition: Scalar) -> Scalar:
    tree = folded(condition.tree)
    return condition if tree is condition.tree else replace(condition, tree=tree)


# ------------------------------------------------------------------ expressions


def folded(tree: exp.Expression) -> exp.Expression:
    """The expression without its constant parts; itself if there are none."""
    if not any(_value(n) is not None for n in tree.walk()):
        return tree
    root = tree.copy()
    made: set[int] = set()  # the nodes that stand for something that was computed
    for node in reversed(list(root.walk())):  # what is inside of a node comes first
        value = _value(node)
        if value is None and isinstance(node, exp.Paren) and id(node.this) in made:
            # Brackets around a number below zero stay: `x - -1` reads badly, and `--` worse.
            value = node.this if not isinstance(node.this, exp.Neg) else None
        if value is None:
            continue
        made.add(id(value))
        if node is root:
            value.pop()
            root = value
        else:
            node.replace(value)
    return root


def _value(node: exp.Expression) -> exp.Expression | None:
    """What a node is with its constants computed; None: it has to stay."""
    if not isinstance(node, _FOLDED) or not isinstance(node.parent, (*_AROUND, type(None))):
        return None
    if isinstance(node, exp.Not):
        truth = _truth(node.this)
        return None if truth is None else exp.Boolean(this=not truth)
    if isinstance(node, exp.And | exp.Or):
        return _connected(node)
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    if compare := _COMPARISONS.get(type(node)):
        return exp.Boolean(this=compare(left, right))
    result = _SUMS[type(node)](left, right)
    if max(abs(left), abs(right), abs(result)) > _LARGEST:
        return None
    number = exp.Literal.number(abs(result))
    return exp.Neg(this=number) if result < 0 else number


def _connected(node: exp.And | exp.Or) -> exp.Expression | None:
    decisive = isinstance(node, exp.Or)  # TRUE decides an OR, FALSE an AND
    for side, other in ((node.left, node.right), (node.right, node.left)):
        truth = _truth(side)
        if truth is decisive:
            return exp.Boolean(this=decisive)
        if truth is not None and _is_condition(other):
            return other
    return None


def _truth(tree: exp.Expression) -> bool | None:
    return bool(tree.this) if isinstance(tree, exp.Boolean) else None


def _is_condition(tree: exp.Expression) -> bool:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return isinstance(tree, exp.Boolean | exp.Predicate | exp.Connector | exp.Not)


def _number(tree: exp.Expression) -> int | None:
    if isinstance(tree, exp.Neg):
        number = _number(tree.this) if isinstance(tree.this, exp.Literal) else None
        return None if number is None else -number
    if not isinstance(tree, exp.Literal) or tree.is_string:
        return None
    text = tree.name
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST else None
