"""The rows that come into an aggregate, as far as anybody knows them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ssql.planner.cost.zipf import expected_distinct
from ssql.planner.logical import (
    Aggregate,
    Alias,
    Distinct,
    Epochs,
    Filter,
    Join,
    Limit,
    OneRow,
    Order,
    Plan,
    Project,
    StreamScan,
    TableScan,
    Union,
)
from ssql.planner.scalar import Scalar
from ssql.planner.statistics import (
    ASSUMED,
    GROUPS,
    Figure,
    Memory,
    StreamFigures,
    width_of,
)
from ssql.planner.windows import TimeWindow

# A table whose size nobody knows; look-ups in it give one row each.
_STORED_ROWS = 10_000.0
CALCULATED = "calculated"


Columns = dict[tuple[str | None, str], Figure]  # by relation and name


@dataclass(frozen=True, slots=True)
class Rows:
    """A stream somewhere in a plan: its figures, and the values of its columns."""

    rate: Figure
    skew: Figure
    batch_seconds: Figure
    delay_seconds: Figure
    distinct: Columns
    groups: Figure | None  # declared for all keys together
    streams: tuple[str, ...]
    together: Mapping[frozenset[str], Figure] = field(default_factory=dict)  # several columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What an aggregate is given, and what it makes of it. Times are in seconds."""

    rate: Figure
    groups: Figure
    skew: Figure
    batch_seconds: Figure
    delay_seconds: Figure
    values: Figure  # that what a set collects may have
    key_bytes: float
    streams: tuple[str, ...]

    def groups_in(self, rows: float) -> float:
        """How many groups so many rows are of, by Zipf's law."""
        return expected_distinct(rows, self.groups.value, self.skew.value)

    def values_in(self, rows: float) -> float:
        return expected_distinct(rows, self.values.value, 0.0)


def workload_of(node: Aggregate, memory: Memory) -> Workload:
    rows = rows_of(node.input, memory)
    return Workload(
        rate=rows.rate,
        groups=_groups(rows, (k.scalar for k in node.keys)),
        skew=rows.skew,
        batch_seconds=rows.batch_seconds,
        delay_seconds=rows.delay_seconds,
        values=_values(rows, node),
        key_bytes=sum(width_of(k.scalar.type) for k in node.keys),
        streams=rows.streams,
    )


# ------------------------------------------------------------------ from streams upwards


def rows_of(plan: Plan, memory: Memory) -> Rows:
    match plan:
        case StreamScan():
            return _of_stream(plan, memory.figures(plan.stream))
        case Alias():
            inner = rows_of(plan.input, memory)
            under_name: Columns = {(plan.name, n): f for (_, n), f in inner.distinct.items()}
            return replace(inner, distinct=under_name)
        case Project():
            inner = rows_of(plan.input, memory)
            shown: Columns = {(None, i.name): values_of(inner, i.scalar) for i in plan.items}
            return replace(inner, distinct=shown, together={})
        case Union():
            return _united(plan, [rows_of(m, memory) for m in plan.members])
        case Join():
            return _joined([rows_of(s.input, memory) for s in plan.sides])
        case Aggregate():
            return _results(plan, memory)
        case Filter() | Distinct() | Order() | Limit() | Epochs():
            return rows_of(plan.input, memory)
        case TableScan() | OneRow():
            assumed = Figure(_STORED_ROWS, ASSUMED)
            none = Figure(0.0, ASSUMED)
            return Rows(assumed, none, Figure(1.0, ASSUMED), none, {}, None, ())


def _of_stream(scan: StreamScan, figures: StreamFigures) -> Rows:
    rate, batch = figures.rate, figures.batch_rows
    seconds = Figure(batch.value / rate.value, batch.origin)
    delay = scan.stream.watermark.delay_us / 1e6 if scan.stream.watermark else 0.0
    return Rows(
        rate,
        figures.skew,
        seconds,
        Figure(delay, "declared"),
        {(scan.alias, c.name): figures.distinct_of(c.name) for c in scan.stream.columns},
        figures.groups,
        (scan.stream.name,),
        {frozenset(names): f for names, f in figures.together.items()},
    )


def _united(plan: Union, members: list[Rows]) -> Rows:
    """Rows add up; keys are taken to be the same ones everywhere."""
    first = max(members, key=lambda m: m.rate.value)
    fields = [[f for f in m.schema if not f.hidden] for m in plan.members]
    found = {}
    for at, shown in enumerate(f for f in plan.schema if not f.hidden):
        of_members = [
            m.distinct.get((fs[at].relation, fs[at].name), Figure(GROUPS, ASSUMED))
            for m, fs in zip(members, fields, strict=True)
        ]
        found[(shown.relation, shown.name)] = max(of_members, key=lambda f: f.value)
    declared = [m.groups for m in members if m.groups is not None]
    return replace(
        first,
        rate=Figure(sum(m.rate.value for m in members), first.rate.origin),
        delay_seconds=max((m.delay_seconds for m in members), key=lambda f: f.value),
        distinct=found,
        groups=max(declared, key=lambda f: f.value) if declared else None,
        together={},
        streams=tuple(dict.fromkeys(s for m in members for s in m.streams)),
    )


def _joined(sides: list[Rows]) -> Rows:
    """A look-up gives as many rows as come; of streams that meet, the faster one counts."""
    streaming = [s for s in sides if s.streams] or sides
    first = max(streaming, key=lambda s: s.rate.value)
    found = {key: figure for side in sides for key, figure in side.distinct.items()}
    return replace(
        first,
        distinct=found,
        streams=tuple(dict.fromkeys(s for side in sides for s in side.streams)),
    )


def _results(plan: Aggregate, memory: Memory) -> Rows:
    inner = rows_of(plan.input, memory)
    groups = _groups(inner, (k.scalar for k in plan.keys))
    found: Columns = {(None, k.name): values_of(inner, k.scalar) for k in plan.keys}
    rate = inner.rate.value
    if isinstance(plan.window, TimeWindow):
        in_window = rate * plan.window.range_us / 1e6
        results = expected_distinct(in_window, groups.value, inner.skew.value)
        rate = results / (plan.window.slide_us / 1e6)
    return replace(
        inner,
        rate=Figure(rate, CALCULATED),
        skew=Figure(0.0, CALCULATED),
        distinct=found,
        groups=None,
        together={},
    )


# ------------------------------------------------------------------ values of columns


def values_of(rows: Rows, scalar: Scalar) -> Figure:
    """How many values an expression has: at most as many as its columns together."""
    if scalar.type == "BOOLEAN":
        return Figure(2.0, CALCULATED)
    columns = list(scalar.tree.find_all(exp.Column))
    found = [rows.distinct.get((c.table or None, c.name)) for c in columns]
    known = [f if f is not None else Figure(GROUPS, ASSUMED) for f in found]
    if not known:
        return Figure(1.0, CALCULATED)
    return _product(known)


def _product(figures: Iterable[Figure]) -> Figure:
    figures = list(figures)
    value = min(math.prod(f.value for f in figures), 1e12)
    if len(figures) == 1:
        return figures[0]
    assumed = any(f.origin == ASSUMED for f in figures)
    return Figure(value, ASSUMED if assumed else CALCULATED)


def _groups(rows: Rows, keys: Iterable[Scalar]) -> Figure:
    keys = list(keys)
    if not keys:
        return Figure(1.0, CALCULATED)
    if rows.groups is not None:
        return rows.groups
    columns = frozenset(k.column[1].casefold() for k in keys if k.column)
    if len(columns) == len(keys) and columns in rows.together:
        return rows.together[columns]
    found = [values_of(rows, k) for k in keys]
    if all(f.origin == ASSUMED for f in found):  # nothing is gained by multiplying guesses
        return Figure(GROUPS, ASSUMED)
    return _product(found)


def _values(rows: Rows, node: Aggregate) -> Figure:
    """Of the first argument of an aggregate that collects values."""
    found = []
    for call in node.calls:
        columns = list(call.scalar.tree.find_all(exp.Column))
        found += [rows.distinct.get((c.table or None, c.name)) for c in columns]
    known = [f for f in found if f is not None and f.origin != ASSUMED]
    return max(known, key=lambda f: f.value) if known else Figure(GROUPS, ASSUMED)
