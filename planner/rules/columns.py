"""The columns of expressions: which there are, and others in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from ssql.planner.logical import Alias, Plan, Project, Union
from ssql.planner.scalar import Scalar, column

Column = tuple[str | None, str]  # the relation, and the name
Trees = Mapping[Column, exp.Expression]


def column_of(node: exp.Column) -> Column:
    return (node.table or None, node.name)


def columns_of(tree: exp.Expression) -> set[Column]:
    return {column_of(c) for c in tree.find_all(exp.Column)}


def takes_all(tree: exp.Expression) -> bool:
    """`struct(*)`: every column there is. In count(*) the star is none."""
    return any(
        s.parent is None or s.parent.name.lower() != "count" for s in tree.find_all(exp.Star)
    )


def with_columns(scalar: Scalar, trees: Trees) -> Scalar:
    """The expression with others for its columns."""

    def other(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column):
            return node
        tree = trees[column_of(node)].copy()
        alone = isinstance(tree, exp.Column | exp.Literal | exp.Boolean | exp.Anonymous | exp.Paren)
        return tree if alone else exp.Paren(this=tree)

    return replace(scalar, tree=scalar.tree.transform(other))


def below_alias(plan: Alias) -> Trees:
    """What the columns of an alias are called below it."""
    return {
        (plan.name, f.name): column(f.name, f.relation) for f in plan.input.schema if not f.hidden
    }


def below_project(plan: Project) -> Trees:
    return {(None, i.name): i.scalar.tree for i in plan.items}


def below_union(plan: Union, member: Plan) -> Trees:
    """What the columns of a union are called in one of its members."""
    fields = [f for f in member.schema if not f.hidden]
    pairs = zip(plan.schema, fields, strict=True)
    return {(None, whole.name): column(f.name, f.relation) for whole, f in pairs}


def is_all(plan: Project) -> bool:
    """`SELECT *`: it passes on what it gets."""
    fields = [(f.name, (f.relation, f.name)) for f in plan.input.schema if not f.hidden]
    return [(i.name, i.scalar.column) for i in plan.items] == fields
