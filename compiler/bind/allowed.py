"""Which expressions are Spark's: everything else that sqlglot can read is refused.

sqlglot reads the union of many dialects, and some of what it reads it hands on as unchecked text.
Here stands what may be in a tree at all.
"""

from __future__ import annotations

from sqlglot import exp

from ssql.compiler import codes
from ssql.compiler.diagnostics import fail
from ssql.compiler.dialect import Expression

_OPERATORS = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.DPipe, exp.Paren,
    exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ,
    exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape,
    exp.Any, exp.All, exp.Collate, exp.Case, exp.If,
)  # fmt: skip
_VALUES = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.RawString, exp.HexString,
    exp.Interval, exp.IntervalSpan, exp.Var, exp.Star, exp.Tuple, exp.Array, exp.Bracket, exp.Dot,
    exp.Concat, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentUser,
)  # fmt: skip
_CALLS = (
    exp.Anonymous, exp.Alias, exp.Lambda, exp.Kwarg, exp.Distinct, exp.Filter, exp.Where,
    exp.WithinGroup, exp.Order, exp.Ordered, exp.IgnoreNulls, exp.RespectNulls,
    exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.ColumnDef,
    exp.Extract, exp.Trim, exp.Substring, exp.StrPosition, exp.Overlay,
)  # fmt: skip
_ALLOWED = frozenset((*_OPERATORS, *_VALUES, *_CALLS))
_INTERVAL_UNITS = frozenset(
    "MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR".split()
)


def check_allowed(expression: Expression, node: exp.Expression) -> None:
    """Refuse a node that Spark has not, or not in this form."""
    if type(node) not in _ALLOWED or not _is_well_formed(node):
        raise fail(
            codes.BAD_EXPRESSION,
            "Spark SQL has no such expression",
            expression.span_of(node),
            helps=["write it with the functions and operators of Spark SQL"],
        )


def _is_well_formed(node: exp.Expression) -> bool:
    match node:
        case exp.In():
            return bool(node.expressions or node.args.get("query")) and not node.args.get("unnest")
        case exp.Is():
            return isinstance(node.expression, exp.Null | exp.Boolean | exp.Not)
        case exp.Bracket():
            return len(node.expressions) == 1
        case exp.Interval():
            unit = node.args.get("unit")
            if unit is None:
                return bool(node.this) and node.this.is_string and not node.this.name.isdigit()
            ends = (unit.this, unit.expression) if isinstance(unit, exp.IntervalSpan) else (unit,)
            return all(str(end.name).upper().removesuffix("S") in _INTERVAL_UNITS for end in ends)
    return True
