"""Conditions as the conditions that all have to hold."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from sqlglot import exp

from ssql.planner.scalar import Scalar
from ssql.planner.span import NOWHERE


def split(condition: Scalar) -> list[Scalar]:
    """What AND stands between, each with its place in the source, if that is known."""
    trees: list[exp.Expression] = []
    stack = [condition.tree]
    while stack:
        tree = stack.pop()
        if isinstance(tree, exp.And):
            stack += [tree.right, tree.left]
        else:
            trees.append(tree)
    if len(trees) == 1:
        return [condition]
    known = len(condition.conjuncts) == len(trees)
    spans = condition.conjuncts if known else (condition.span,) * len(trees)
    return [
        replace(condition, tree=tree, span=span, conjuncts=())
        for tree, span in zip(trees, spans, strict=True)
    ]


def joined(conditions: list[Scalar], whole: Scalar) -> Scalar:
    """Some of the conditions of `whole`, as one. They may come from places apart, so that the
    whole of it has none."""
    if len(conditions) == 1:
        return conditions[0]
    tree = reduce(lambda a, b: exp.And(this=a, expression=b), (c.tree.copy() for c in conditions))
    spans = tuple(c.span for c in conditions)
    return replace(whole, tree=tree, span=NOWHERE, conjuncts=spans)
