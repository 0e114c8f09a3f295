"""Spark SQL text for expression trees, as close to what was written as sqlglot allows."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError


class SparkText(Spark):  # type: ignore[misc]
    """Spark's dialect with a generator that keeps operators where sqlglot would rewrite them.

    It matters: the function that sqlglot makes of `<<` binds otherwise than the operator does, and
    a NOT in front of `x IN (…)` cannot stand on the right of a comparison.
    """

    class Generator(Spark.Generator):  # type: ignore[misc]
        TRANSFORMS = {  # noqa: RUF012
            node: transform
            for node, transform in Spark.Generator.TRANSFORMS.items()
            if node not in (exp.BitwiseLeftShift, exp.BitwiseRightShift)
        }

        def not_sql(self, expression: exp.Not) -> str:
            inner = expression.this
            match inner:
                case exp.Is():
                    return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
                case exp.In() if inner.expressions:
                    values = ", ".join(self.sql(value) for value in inner.expressions)
                    return f"{self.sql(inner, 'this')} NOT IN ({values})"
                case exp.Between():
                    low, high = self.sql(inner, "low"), self.sql(inner, "high")
                    return f"{self.sql(inner, 'this')} NOT BETWEEN {low} AND {high}"
            return str(super().not_sql(expression))

        def nullsafeeq_sql(self, expression: exp.NullSafeEQ) -> str:
            return str(self.binary(expression, "<=>"))

        def neg_sql(self, expression: exp.Neg) -> str:
            inner = expression.this
            if isinstance(inner, exp.Cast | exp.TryCast) and isinstance(inner.this, exp.Literal):
                # -128Y: 128 alone would be too large for its type
                return f"CAST(-{inner.this.name} AS {self.sql(inner, 'to')})"
            return str(super().neg_sql(expression))


_DIALECT = SparkText()


def to_sql(tree: exp.Expression) -> str:
    """On one line, functions in lower case as in Spark's own documentation."""
    try:
        return str(tree.sql(dialect=_DIALECT, normalize_functions="lower", comments=False))
    except TokenError as error:
        # sqlglot reads the names of types while it writes them; that fails only for want of stack
        raise RecursionError("an expression is nested too deeply to be written") from error
