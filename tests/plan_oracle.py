"""Logical plans evaluated in plain Python, straight from what their nodes mean: enough of them to
say whether a rule changed a plan's result. It shares no code with the rules."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from ssql.planner.logical import (
    Aggregate,
    AggregateCall,
    Alias,
    Distinct,
    Filter,
    Plan,
    Project,
    StreamScan,
    TableScan,
    Union,
)
from ssql.planner.windows import TimeWindow

Values = dict[tuple[str | None, str], Any]
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul,
    exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt,
    exp.LTE: operator.le, exp.GT: operator.gt, exp.GTE: operator.ge,
}  # fmt: skip


def evaluate(plan: Plan, tables: dict[str, list[dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """The rows of a plan, in no order."""
    fields = [(f.relation, f.name) for f in plan.schema if not f.hidden]
    return [tuple(row[f] for f in fields) for row in _rows(plan, tables)]


def _rows(plan: Plan, tables: dict[str, list[dict[str, Any]]]) -> list[Values]:
    match plan:
        case StreamScan():
            return [{(plan.alias, k): v for k, v in r.items()} for r in tables[plan.stream.name]]
        case TableScan():
            return [{(plan.alias, k): v for k, v in r.items()} for r in tables[plan.table.name]]
        case Alias():
            return [
                {(plan.name, n): v for (_, n), v in r.items()} for r in _rows(plan.input, tables)
            ]
        case Filter():
            rows = _rows(plan.input, tables)
            return [r for r in rows if value(plan.condition.tree, r) is True]
        case Project():
            return [
                {(None, i.name): value(i.scalar.tree, r) for i in plan.items}
                for r in _rows(plan.input, tables)
            ]
        case Union():
            names = [f.name for f in plan.schema]
            found = (row for m in plan.members for row in evaluate(m, tables))
            return [{(None, n): v for n, v in zip(names, row, strict=True)} for row in found]
        case Distinct():
            rows = _rows(plan.input, tables)
            return list({tuple(r.items()): r for r in rows}.values())
        case Aggregate():
            return list(_groups(plan, _rows(plan.input, tables)))
    raise AssertionError(f"{type(plan).__name__} is not evaluated here")


def _groups(plan: Aggregate, rows: list[Values]) -> Iterator[Values]:
    groups: dict[tuple[Any, ...], list[Values]] = defaultdict(list)
    for row in rows:
        keys = tuple(value(k.scalar.tree, row) for k in plan.keys)
        for bounds in _windows(plan, row):
            groups[bounds, keys].append(row)
    if not plan.keys and plan.window is None and not groups:
        groups[(), ()] = []
    for (bounds, keys), members in groups.items():
        shown: Values = dict(
            zip([(None, "window_start"), (None, "window_end")], bounds, strict=False)
        )
        shown |= {(None, k.name): v for k, v in zip(plan.keys, keys, strict=True)}
        yield shown | {(None, c.name): _called(c, members) for c in plan.calls}


def _windows(plan: Aggregate, row: Values) -> list[tuple[int, ...]]:
    if plan.window is None:
        return [()]
    window = plan.window
    assert isinstance(window, TimeWindow)
    ts = value(window.attribute.tree, row)
    end = window.origin_us + ((ts - window.origin_us) // window.slide_us + 1) * window.slide_us
    found = []
    while end - window.range_us <= ts:
        found.append((end - window.range_us, end))
        end += window.slide_us
    return found


def _called(call: AggregateCall, rows: list[Values]) -> Any:
    (argument,) = call.scalar.tree.expressions
    if isinstance(argument, exp.Star):
        return len(rows)
    values = [v for v in (value(argument, r) for r in rows) if v is not None]
    match call.function:
        case "count":
            return len(values)
        case "sum":
            return sum(values) if values else None
        case "min":
            return min(values, default=None)
        case "max":
            return max(values, default=None)
    raise AssertionError(f"{call.function} is not evaluated here")


def value(tree: exp.Expression, row: Values) -> Any:
    match tree:
        case exp.Column():
            return row[tree.table or None, tree.name]
        case exp.Literal():
            return tree.name if tree.is_string else int(tree.name)
        case exp.Boolean():
            return tree.this
        case exp.Null():
            return None
        case exp.Paren():
            return value(tree.this, row)
        case exp.Neg():
            inner = value(tree.this, row)
            return None if inner is None else -inner
        case exp.Not():
            inner = value(tree.this, row)
            return None if inner is None else not inner
        case exp.And() | exp.Or():
            decisive = isinstance(tree, exp.Or)
            sides = (value(tree.left, row), value(tree.right, row))
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        case exp.Is():
            return value(tree.this, row) is value(tree.expression, row)
        case exp.Anonymous() if tree.name.lower() == "upper":
            inner = value(tree.expressions[0], row)
            return None if inner is None else inner.upper()
        case _:
            left, right = value(tree.left, row), value(tree.right, row)
            return None if left is None or right is None else _BINARY[type(tree)](left, right)
