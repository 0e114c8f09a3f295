"""What a join of streams is joined by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ssql.planner.catalog import Function
from ssql.planner.logical import Join
from ssql.planner.rules.certain import is_pure
from ssql.planner.rules.columns import Column, columns_of
from ssql.planner.rules.conjuncts import split
from ssql.planner.scalar import UNKNOWN_TYPE, Scalar
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
    columns = [*_columns(join)]
    own, before = columns[at], set[Column]().union(*columns[:at])
    for condition in split(side.on):
        equality = condition.tree.unnest()
        if isinstance(equality, exp.EQ):
            ends = [columns_of(equality.left), columns_of(equality.right)]
            if any(a and a <= own and b and b <= before for a, b in (ends, ends[::-1])):
                return True
    return False


@dataclass(frozen=True, slots=True)
class JoinConditions:
    """The conditions of an inner join: what is equal, by side (None: a side has no part in it);
    those about one side alone, by side; and the others."""

    keys: tuple[tuple[exp.Expression | None, ...], ...]
    own: tuple[tuple[Scalar, ...], ...]
    others: tuple[Scalar, ...]

    def is_joined_by_all(self) -> bool:
        return any(None not in key for key in self.keys)


def conditions_of(join: Join) -> JoinConditions:
    number = len(join.sides)
    classes: list[dict[int, exp.Expression]] = []
    own: list[list[Scalar]] = [[] for _ in range(number)]
    others: list[Scalar] = []
    for condition in (c for side in join.sides if side.on is not None for c in split(side.on)):
        used = _sides_of(join, condition.tree)
        equality = _equality(join, condition)
        if len(used) == 1 and is_pure(condition.tree):
            own[used.pop()].append(condition)
        elif equality is None or not _has_key(join, equality):
            others.append(condition)
        else:
            _added(join, classes, equality)
    keys = tuple(tuple(found.get(at) for at in range(number)) for found in classes)
    return JoinConditions(keys, tuple(map(tuple, own)), tuple(others))


_Equality = dict[int, exp.Expression]  # of two sides
# Functions and operators whose values are texts, numbers or times: never nested.
_KEY_FUNCTIONS = frozenset(
    """
    abs ceil date_trunc day floor hour left length lower ltrim minute month right rtrim second
    substr substring to_date trim upper year
    """.split()
)
_KEY_NODES = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul,
    exp.IntDiv, exp.Mod,
)  # fmt: skip
_NO_KEY = re.compile(r"\b(ARRAY|STRUCT|MAP|VARIANT|INTERVAL|COLLATE)\b", re.IGNORECASE)


def _has_key(join: Join, equality: _Equality) -> bool:
    """Can an operator tell these values apart as Spark does?"""
    types = _types(join)
    for tree in equality.values():
        for node in tree.walk():
            if isinstance(node, exp.Anonymous):
                if node.name.lower() not in _KEY_FUNCTIONS:
                    return False
            elif not isinstance(node, _KEY_NODES):
                return False
        used = [types[c] for c in columns_of(tree)]
        if any(t == UNKNOWN_TYPE or _NO_KEY.search(t) for t in used):
            return False
    return True


def _added(join: Join, classes: list[_Equality], equality: _Equality) -> None:
    """To the class of one of its ends, or as one of its own. A class has one expression of a side,
    and its values are compared as they are: as another type, more of them may be equal."""
    for found in classes:
        known = any(found.get(at) == tree for at, tree in equality.items())
        fits = all(found.get(at, tree) == tree for at, tree in equality.items())
        if known and fits and _is_of_one_type(join, {**found, **equality}):
            found.update(equality)
            return
    classes.append(dict(equality))


def _is_of_one_type(join: Join, equality: _Equality) -> bool:
    types = _types(join)
    trees = list(equality.values())
    columns = [(c.table or None, c.name) for c in trees if isinstance(c, exp.Column)]
    return len(columns) == len(trees) and len({types[c] for c in columns}) == 1


def _types(join: Join) -> dict[Column, str]:
    return {(f.relation, f.name): f.type for s in join.sides for f in s.input.schema}


def _equality(join: Join, condition: Scalar) -> _Equality | None:
    tree = condition.tree.unnest()
    if not isinstance(tree, exp.EQ):
        return None
    ends = [(_sides_of(join, end), end) for end in (tree.left, tree.right)]
    if any(len(sides) != 1 for sides, _ in ends) or ends[0][0] == ends[1][0]:
        return None
    return {sides.pop(): end for sides, end in ends}


@dataclass(frozen=True, slots=True)
class Question:
    """A condition that a Python function answers: of columns, and compared with a number (Python's
    text of it) or true by itself."""

    function: Function
    arguments: tuple[exp.Column, ...]
    comparison: str = ""
    value: str = ""


_COMPARISONS = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.EQ: "=", exp.NEQ: "<>"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Their values are the same in Python whoever hands them over.
_PLAIN = frozenset({"STRING", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE"})


def question_in(join: Join, condition: Scalar, functions: Sequence[Function]) -> Question | None:
    """A condition of a join as an operator of ours can ask it, when rows meet; None: only Spark
    can."""
    tree = condition.tree.unnest()
    comparison, value = _COMPARISONS.get(type(tree), ""), ""
    if comparison:
        call, number = tree.left.unnest(), tree.right.unnest()
        if isinstance(number, exp.Anonymous):
            call, number = number, call
            comparison = _TURNED.get(comparison, comparison)
        sign, bare = ("-", number.this) if isinstance(number, exp.Neg) else ("", number)
        if not isinstance(bare, exp.Literal) or bare.is_string or not _NUMBER.fullmatch(bare.name):
            return None
        is_whole = bare.name.isdigit()
        tree, value = call, f"{sign}{int(bare.name) if is_whole else float(bare.name)!r}"
    if not isinstance(tree, exp.Anonymous):
        return None
    function = next((f for f in functions if f.name.casefold() == tree.name.casefold()), None)
    if function is None or not all(isinstance(a, exp.Column) and a.table for a in tree.expressions):
        return None
    wanted = {"DOUBLE", "INT", "BIGINT"} if comparison else {"BOOLEAN"}
    known = _types(join)
    types = {p.type.upper() for p in function.parameters}
    types |= {known.get((a.table or None, a.name), UNKNOWN_TYPE) for a in tree.expressions}
    if function.returns.upper() not in wanted or not types <= _PLAIN or not tree.expressions:
        return None
    return Question(function, tuple(tree.expressions), comparison, value)


_NUMBER = re.compile(r"\d+(\.\d+)?|\.\d+")


def _sides_of(join: Join, tree: exp.Expression) -> set[int]:
    used = columns_of(tree)
    return {at for at, columns in enumerate(_columns(join)) if used & columns}


def _columns(join: Join) -> Iterator[set[Column]]:
    for side in join.sides:
        yield {(f.relation, f.name) for f in side.input.schema}
