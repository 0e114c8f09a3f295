"""The SELECT list: items as they are bound, and the columns that they become."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from ssql.compiler import ast, codes
from ssql.compiler.bind.scalars import Bound, ScalarBinder
from ssql.compiler.bind.scope import Scope
from ssql.compiler.diagnostics import did_you_mean, fail
from ssql.compiler.dialect import Expression
from ssql.compiler.source import Span
from ssql.planner.logical import Field
from ssql.planner.scalar import Named, Scalar, column, to_sql

_STAR = re.compile(
    r"(?:(`(?:[^`]|``)+`|[^\W\d]\w*)\s*\.\s*)?\*\s*(?:EXCEPT\s*\(([^()]*)\)\s*)?\Z", re.IGNORECASE
)
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Item:
    """A SELECT item: what it computes, what it is called, and whether somebody chose that name."""

    bound: Bound
    name: str
    chosen: bool
    window: ast.WindowClause | None
    span: Span


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result."""

    name: str
    scalar: Scalar
    chosen: bool
    span: Span


def bind_items(select: ast.Select, scalars: ScalarBinder) -> list[Item]:
    items: list[Item] = []
    for written in select.items:
        if star := _STAR.match(written.expression.text):
            items.extend(_star_items(written, star, scalars.scope))
            continue
        expression = Expression.of_item(written.expression.text, written.expression.span.start)
        bound = scalars.resolve(expression, "SELECT", aggregates=True)
        alias = written.alias.text if written.alias else None
        if expression.alias:
            if alias is not None:
                raise fail(
                    codes.SYNTAX,
                    f"{expression.alias[0]} and {alias} are two aliases for one item",
                    expression.alias[1],
                    helps=["keep one of them, or check for a missing operator"],
                )
            alias = expression.alias[0]
        name = alias or default_name(bound.tree)
        items.append(Item(bound, name, alias is not None, written.window, written.span))
    return items


def _star_items(written: ast.SelectItem, star: re.Match[str], scope: Scope) -> list[Item]:
    span = written.expression.span
    if written.alias or written.window:
        raise fail(
            codes.MISPLACED_STAR,
            "* has neither an alias nor a window",
            span,
            helps=["name the columns"],
        )
    name = star.group(1)
    if name and name.startswith("`"):
        name = name[1:-1].replace("``", "`")
    fields = [f for f in (scope.of_relation(name) if name else scope.schema) if not f.hidden]
    if not fields and name:
        raise fail(
            codes.UNKNOWN_QUALIFIER,
            f"unknown relation {name}",
            span,
            helps=did_you_mean(name, scope.relations(), "relations in this FROM"),
        )
    if not fields:
        raise fail(
            codes.MISPLACED_STAR,
            "there is no FROM that * could stand for",
            span,
            helps=["name what to select"],
        )
    for excepted in (star.group(2) or "").split(",") if star.group(2) is not None else ():
        gone = Scope(tuple(fields)).find(excepted.strip().strip("`"), span)
        fields.remove(gone)
    return [_star_item(f, written.expression) for f in fields]


def _star_item(field: Field, star: ast.Scalar) -> Item:
    placeholder = Expression("NULL", star.span.start)
    placeholder.text = star.text
    bound = Bound(placeholder, column(field.name, field.relation))
    return Item(bound, field.name, False, None, star.span)


def default_name(tree: exp.Expression) -> str:
    """What a column is called that nobody named: its column, or its text without qualifiers."""
    if isinstance(tree, exp.Column | exp.Dot):
        return str(tree.name)

    def unqualified(node: exp.Expression) -> exp.Expression:
        return column(node.name) if isinstance(node, exp.Column) and node.table else node

    return to_sql(tree.transform(unqualified))[:_LONGEST_NAME]


def unique(outputs: list[Output]) -> tuple[Named, ...]:
    """No two columns of a result have one name: those that nobody named are numbered."""
    taken: set[str] = set()
    for output in outputs:
        if output.chosen:
            if output.name.casefold() in taken:
                raise fail(
                    codes.DUPLICATE_COLUMN,
                    f"two columns are called {output.name}",
                    output.span,
                    helps=["give one of them another name with AS"],
                )
            taken.add(output.name.casefold())
    named = []
    for output in outputs:
        name, number = output.name, 0
        while not output.chosen and name.casefold() in taken:
            number += 1
            name = f"{output.name}_{number}"
        taken.add(name.casefold())
        named.append(Named(name=name, scalar=output.scalar, span=output.span))
    return tuple(named)
