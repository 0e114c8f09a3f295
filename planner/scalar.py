"""Scalar expressions inside of plans."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from ssql.planner.span import NOWHERE, Span
from ssql.planner.spark_sql import to_sql

__all__ = ["UNKNOWN_TYPE", "Named", "Scalar", "column", "to_sql"]

UNKNOWN_TYPE = "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A bound expression. Its columns name fields of the plan that it stands over.

    The tree is a value: whoever wants another one copies it first.
    """

    tree: exp.Expression
    type: str  # Spark SQL's name of it, or UNKNOWN_TYPE
    span: Span = field(default=NOWHERE, compare=False)
    conjuncts: tuple[Span, ...] = field(default=(), compare=False)  # what AND stands between

    @property
    def sql(self) -> str:
        return to_sql(self.tree)

    @property
    def column(self) -> tuple[str | None, str] | None:
        """(relation, name) if the expression is nothing but a column."""
        if isinstance(self.tree, exp.Column):
            return (self.tree.table or None, self.tree.name)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An expression under the name that its column has."""

    name: str
    scalar: Scalar
    span: Span = field(default=NOWHERE, compare=False)  # of the whole item, where there is one


def column(name: str, relation: str | None = None) -> exp.Column:
    """A reference to a field; quoted only where Spark needs it."""
    return exp.column(_identifier(name), table=_identifier(relation) if relation else None)


def _identifier(name: str) -> exp.Identifier:
    plain = name.isascii() and name.isidentifier() and name.upper() not in _QUOTED_WORDS
    return exp.to_identifier(name, quoted=not plain)


# Words that Spark (in its ANSI mode too) or sqlglot would not take for a name.
_QUOTED_WORDS = frozenset(
    """
    ALL AND ANTI ANY AS ASC AUTHORIZATION BETWEEN BOTH CASE CAST CHECK COLLATE COLUMN
    CONSTRAINT CREATE CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP
    CURRENT_USER DATE DESC DISTINCT DIV DROP ELSE END ESCAPE EXCEPT EXISTS EXTRACT FALSE
    FETCH FILTER FOR FOREIGN FROM FULL FUNCTION GRANT GROUP GROUPING HAVING IF IN INNER
    INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LEADING LEFT LIKE LIMIT MAP MINUS NATURAL
    NOT NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS OVERLAY PARTITION POSITION PRIMARY RANGE
    REFERENCES RIGHT RLIKE ROLLUP ROW ROWS SELECT SEMI SESSION_USER SET SOME SQL STRUCT
    TABLE TABLESAMPLE THEN TIME TIMESTAMP TO TRAILING TRUE TRUNCATE UNION UNIQUE UNKNOWN
    UPDATE USER USING VALUES WHEN WHERE WITH
    """.split()
)
