"""What is certain of an expression. Whatever is not listed here may be anything."""

from __future__ import annotations

import re

from sqlglot import exp

from ssql.planner.logical import Schema

_NODES = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Var,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
    exp.Is, exp.In, exp.Between, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod,
    exp.Neg, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Interval,
    exp.DPipe,
)  # fmt: skip
# No function of a user's has the name of one of Spark's: bind sees to it.
_FUNCTIONS = frozenset(
    """
    abs ceil ceiling coalesce concat concat_ws date_trunc day dayofmonth dayofweek floor greatest
    hour if ifnull initcap isnotnull isnull least left length lower lpad ltrim minute month nullif
    nvl replace right round rpad rtrim second sign split substr substring to_date trim trunc upper
    year
    """.split()
)


# What bind marks calls of the user's own functions with.
IN_PYTHON = "in Python"


def is_pure(tree: exp.Expression, *, may_be_python: bool = False) -> bool:
    """The same value whenever it is computed, and as often: nothing volatile, nothing in Python
    (unless that is said to be no matter), nothing that makes rows."""
    return all(
        node.name.lower() in _FUNCTIONS or (may_be_python and IN_PYTHON in node.meta)
        if isinstance(node, exp.Anonymous)
        else isinstance(node, _NODES)
        for node in tree.walk()
    )


# ------------------------------------------------------------------ what cannot fail

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_KINDS = (
    (re.compile(r"TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL(\(.*\))?"), "number"),
    (re.compile(r"STRING"), "text"),
    (re.compile(r"BOOLEAN"), "boolean"),
    (re.compile(r"TIMESTAMP"), "time"),
    (re.compile(r"DATE"), "date"),
)
_OF_TEXT = {"lower": "text", "upper": "text", "trim": "text", "length": "number"}


def cannot_fail(condition: exp.Expression, schema: Schema) -> bool:
    """Comparisons of like with like, and what AND, OR and NOT make of them: such a condition may
    see rows that it did not see before, and nobody will know. Anything else may divide by zero, or
    read a number that is none."""
    types = {(f.relation, f.name): f.type for f in schema}

    def kind(tree: exp.Expression) -> str | None:
        match tree:
            case exp.Paren():
                return kind(tree.this)
            case exp.Column():
                type = types.get((tree.table or None, tree.name), "")
                return next((k for pattern, k in _KINDS if pattern.fullmatch(type)), None)
            case exp.Literal():
                return "text" if tree.is_string else "number"
            case exp.Neg(this=exp.Literal(is_string=False)):
                return "number"
            case exp.Boolean():
                return "boolean"
            case exp.Anonymous() if len(tree.expressions) == 1:
                is_text = kind(tree.expressions[0]) == "text"
                return _OF_TEXT.get(tree.name.lower()) if is_text else None
            case _:
                return None

    def alike(*trees: exp.Expression) -> bool:
        kinds = {kind(t) for t in trees}
        return len(kinds) == 1 and None not in kinds

    stack = [condition]
    while stack:  # not by recursion: there are conditions with a thousand ORs
        match stack.pop():
            case exp.And() | exp.Or() as both:
                stack += [both.left, both.right]
            case exp.Not() | exp.Paren() as one:
                stack.append(one.this)
            case exp.Boolean():
                pass
            case exp.Column() as flag if kind(flag) == "boolean":
                pass
            case exp.Is(expression=exp.Null() | exp.Boolean()) as asked if kind(asked.this):
                pass
            case exp.In() as listed if listed.expressions and alike(
                listed.this, *listed.expressions
            ):
                pass
            case exp.Between() as between if alike(
                between.this, between.args["low"], between.args["high"]
            ):
                pass
            case exp.Like() as like if (
                alike(like.this, like.expression)
                and isinstance(like.expression, exp.Literal)
                and "\\" not in like.expression.name
                and kind(like.this) == "text"
            ):
                pass
            case node if isinstance(node, _COMPARISONS) and alike(node.left, node.right):
                pass
            case _:
                return False
    return True
