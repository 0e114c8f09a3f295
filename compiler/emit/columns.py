"""Spark SQL text for expressions, names and schemas."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from ssql.planner.catalog import Column
from ssql.planner.logical import Schema
from ssql.planner.scalar import Named, Scalar, column, to_sql


def sql_of(scalar: Scalar, schema: Schema) -> str:
    """The expression over a DataFrame of this schema; qualified only where it must be."""
    return to_sql(unqualified(scalar.tree, schema))


def unqualified(tree: exp.Expression, schema: Schema) -> exp.Expression:
    """The expression with bare column names, where only one relation is in sight."""
    if len({f.relation for f in schema}) > 1:
        return tree

    def bare(node: exp.Expression) -> exp.Expression:
        return column(node.name) if isinstance(node, exp.Column) and node.table else node

    return tree.transform(bare)


def item_sql(item: Named, schema: Schema) -> str:
    """`expression AS name`, or only the name where that is the same."""
    sql = sql_of(item.scalar, schema)
    name = to_sql(column(item.name))
    return sql if sql == name else f"{sql} AS {name}"


def ddl(columns: Iterable[Column]) -> str:
    """A schema as Spark reads it: `srcIP STRING, ts TIMESTAMP`."""
    return ", ".join(f"{to_sql(column(c.name))} {c.type}" for c in columns)
