"""What a query over time windows has to answer, computed the slow and plain way.

Shares no code with ssql: times are whole microseconds since the epoch, rows are dicts, and an
extent is tested against every row. Nothing here is incremental, so nothing can be left over.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

Row = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NULL_TESTS = ("IS NULL", "IS NOT NULL")


def instant(text: str) -> int:
    """Microseconds since the epoch of a time in UTC, as in '2026-01-01 00:00:07.25'."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def instant_text(us: int) -> str:
    moment = _EPOCH + timedelta(microseconds=us)
    fraction = f"{moment.microsecond:06}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}" + (f".{fraction}" if fraction else "")


# ---------------------------------------------------------------- queries
@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison of a column with a constant, true, false or unknown as in SQL."""

    column: str
    operator: str
    value: Any = None

    def __post_init__(self) -> None:
        if self.operator not in (*_COMPARISONS, *_NULL_TESTS):
            raise ValueError(f"no such operator: {self.operator}")

    def truth(self, row: Row) -> bool | None:
        found = row[self.column]
        if self.operator == "IS NULL":
            return found is None
        if self.operator == "IS NOT NULL":
            return found is not None
        if found is None or self.value is None:
            return None
        return _COMPARISONS[self.operator](found, self.value)

    def holds(self, row: Row) -> bool:
        return self.truth(row) is True

    def sql(self) -> str:
        if self.operator in _NULL_TESTS:
            return f"{self.column} {self.operator}"
        return f"{self.column} {self.operator} {_literal(self.value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One aggregate of the SELECT list; `range_us` is its own RANGE, if it differs.

    `count_if`, `bool_and` and `bool_or` take a boolean column or, as the first of `arguments`, a
    Condition; the percentiles and `heavy_hitters` take their fraction there.
    """

    name: str
    function: str
    column: str | None = None
    distinct: bool = False
    arguments: tuple[Any, ...] = ()
    where: Condition | None = None
    range_us: int | None = None

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ValueError(f"no such aggregate: {self.function}")
        if self._condition is not None and self.function not in _OF_CONDITIONS:
            raise ValueError(f"{self.function} takes no condition")
        if self.column is None and self.function != "count" and self._condition is None:
            raise ValueError(f"{self.function} of what?")
        if self.column is None and self.distinct:
            raise ValueError("DISTINCT of what?")
        if self.distinct and self.function not in _DISTINCT:
            raise ValueError(f"{self.function}(DISTINCT …) has no meaning here")
        if self.function in _FRACTIONS and len(self.arguments) != 1:
            raise ValueError(f"{self.function} takes a fraction")

    @property
    def _condition(self) -> Condition | None:
        given = self.arguments[0] if self.arguments else None
        return given if isinstance(given, Condition) else None

    def over(self, rows: Sequence[Row]) -> Any:
        """Its value over rows that are already in row order."""
        chosen = [r for r in rows if self.where is None or self.where.holds(r)]
        values: list[Any]
        if self._condition is not None:
            values = [self._condition.truth(r) for r in chosen]
        elif self.column is not None:
            values = [r[self.column] for r in chosen]
        else:
            return len(chosen)
        if self.function in _OF_NULLS_TOO:
            return FUNCTIONS[self.function](values)
        values = [v for v in values if v is not None]
        if self.distinct:
            values = sorted(set(values))
        if self.function in _FRACTIONS:
            return FUNCTIONS[self.function](values, _exact(self.arguments[0]))
        return FUNCTIONS[self.function](values)

    def sql(self) -> str:
        of = self._condition.sql() if self._condition else self.column or "*"
        if self.distinct:
            of = f"DISTINCT {of}"
        if self.function in _FRACTIONS:
            of += f", {_literal(self.arguments[0])}"
        kept = f" FILTER (WHERE {self.where.sql()})" if self.where else ""
        return f"{self.function}({of}){kept} AS {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowQuery:
    """Aggregates over `[e - RANGE, e)` for every e = origin + k·SLIDE."""

    range_us: int
    slide_us: int
    origin_us: int = 0
    time: str = "ts"
    keys: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...]
    where: Condition | None = None
    having: Condition | None = None

    def __post_init__(self) -> None:
        if not self.aggregates:
            raise ValueError("a window needs an aggregate")
        if min(self.slide_us, *map(self.range_of, self.aggregates)) <= 0:
            raise ValueError("RANGE and SLIDE are positive")

    def range_of(self, aggregate: Aggregate) -> int:
        return self.range_us if aggregate.range_us is None else aggregate.range_us

    @property
    def longest_us(self) -> int:
        return max(self.range_of(a) for a in self.aggregates)

    def sql(self, source: str) -> str:
        items = [*self.keys, *(f"{a.sql()} {self._clause(a)}" for a in self.aggregates)]
        text = f"SELECT {', '.join(items)} FROM {source}"
        if self.where:
            text += f" WHERE {self.where.sql()}"
        if self.keys:
            text += f" GROUP BY {', '.join(self.keys)}"
        if self.having:
            text += f" HAVING {self.having.sql()}"
        return text

    def _clause(self, aggregate: Aggregate) -> str:
        items = [
            f"RANGE {milliseconds(self.range_of(aggregate))}",
            f"SLIDE {milliseconds(self.slide_us)}",
            f"WA {self.time}",
        ]
        if self.origin_us:
            items.append(f"ORIGIN '{instant_text(self.origin_us)}'")
        return f"[{', '.join(items)}]"


def milliseconds(us: int) -> str:
    return f"{us // 1000 if us % 1000 == 0 else Decimal(us) / 1000} ms"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


# ---------------------------------------------------------------- evaluation
def extents(times: Iterable[int], *, range_us: int, slide_us: int, origin_us: int) -> list[int]:
    """The ends of all extents that hold one of the times."""
    ends = set()
    for ts in times:
        k = (ts - origin_us) // slide_us + 1  # the first end after ts
        while origin_us + k * slide_us - range_us <= ts:
            ends.add(origin_us + k * slide_us)
            k += 1
    return sorted(ends)


def evaluate(
    query: WindowQuery, rows: Iterable[Row], columns: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One dict per extent and group; `columns` is the declared order, that of the first row
    when absent."""
    admitted = in_row_order(rows, query.time, query.where, columns)
    ends = extents(
        (r[query.time] for r in admitted),
        range_us=query.longest_us,
        slide_us=query.slide_us,
        origin_us=query.origin_us,
    )
    result = []
    for end in ends:
        start = end - query.longest_us
        members = [r for r in admitted if start <= r[query.time] < end]
        for key, group in grouped(members, query.keys).items():
            row = {
                "window_start": start,
                "window_end": end,
                **dict(zip(query.keys, key, strict=True)),
            }
            for aggregate in query.aggregates:
                own = end - query.range_of(aggregate)
                row[aggregate.name] = aggregate.over(
                    [r for r in group if own <= r[query.time] < end]
                )
            if query.having is None or query.having.holds(row):
                result.append(row)
    return result


def evaluate_instants(
    keys: Sequence[str],
    time: str,
    aggregates: Sequence[Aggregate],
    rows: Iterable[Row],
    columns: Sequence[str] = (),
    where: Condition | None = None,
) -> list[dict[str, Any]]:
    """`SELECT keys, time, aggregates … GROUP BY keys, time`: one group per distinct time."""
    by = (*keys, time)
    groups = grouped(in_row_order(rows, time, where, columns), by)
    return [
        {**dict(zip(by, key, strict=True)), **{a.name: a.over(group) for a in aggregates}}
        for key, group in groups.items()
    ]


def in_row_order(
    rows: Iterable[Row], time: str, where: Condition | None, columns: Sequence[str]
) -> list[Row]:
    admitted = [r for r in rows if r[time] is not None and (where is None or where.holds(r))]
    if not admitted:
        return []
    rest = [c for c in columns or admitted[0] if c != time]

    def place(row: Row) -> tuple[Any, ...]:
        # NULLs first; the zero is never compared with a value, for the flag before it differs
        ties = ((row[c] is not None, 0 if row[c] is None else row[c]) for c in rest)
        return (row[time], *ties)

    return sorted(admitted, key=place)


def grouped(rows: Iterable[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in keys), []).append(row)
    return groups


# ---------------------------------------------------------------- aggregates
# Fractions throughout: an expected value is rounded once, at the end.
def _exact(value: Any) -> Fraction:
    """The number as written: 0.05 is one twentieth, not the nearest double."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    return math.fsum(values) if isinstance(values[0], float) else sum(values)


def _mean(values: list[Any]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0)) / len(values)


def _variance(values: list[Any], less: int) -> float | None:
    if len(values) <= less:
        return None
    mean = _mean(values)
    return float(sum((Fraction(v) - mean) ** 2 for v in values) / (len(values) - less))


def _deviation(values: list[Any], less: int) -> float | None:
    variance = _variance(values, less)
    return None if variance is None else math.sqrt(variance)


def _percentile(values: list[Any], p: Fraction) -> float | None:
    if not values:
        return None
    ordered = sorted(map(Fraction, values))
    position = p * (len(ordered) - 1)
    below, above = ordered[math.floor(position)], ordered[math.ceil(position)]
    return float(below + (position - math.floor(position)) * (above - below))


def _approx_percentile(values: list[Any], p: Fraction) -> Any:
    if not values:
        return None
    return sorted(values)[max(math.ceil(p * len(values)), 1) - 1]


def _mode(values: list[Any]) -> Any:
    counts = Counter(values)
    return min(counts, key=lambda v: (-counts[v], v), default=None)


def _heavy_hitters(values: list[Any], share: Fraction) -> list[Any]:
    return sorted(v for v, n in Counter(values).items() if n >= share * len(values))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "count": len,
    "count_if": lambda values: values.count(True),
    "sum": _sum,
    "avg": lambda values: float(_mean(values)) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "var_pop": lambda values: _variance(values, 0),
    "var_samp": lambda values: _variance(values, 1),
    "stddev_pop": lambda values: _deviation(values, 0),
    "stddev_samp": lambda values: _deviation(values, 1),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "collect_list": list,
    "collect_set": lambda values: sorted(set(values)),
    "approx_count_distinct": lambda values: len(set(values)),
    "approx_percentile": _approx_percentile,
    "percentile": _percentile,
    "median": lambda values: _percentile(values, Fraction(1, 2)),
    "mode": _mode,
    "heavy_hitters": _heavy_hitters,
    "bool_and": lambda values: all(values) if values else None,
    "bool_or": lambda values: any(values) if values else None,
}
_FRACTIONS = frozenset({"approx_percentile", "percentile", "heavy_hitters"})
_OF_CONDITIONS = frozenset({"count_if", "bool_and", "bool_or"})
_OF_NULLS_TOO = frozenset({"first", "last"})
_DISTINCT = frozenset({"count", "sum", "avg", "min", "max"})


# ---------------------------------------------------------------- comparison
def same(found: Sequence[Row], expected: Sequence[Row], *, shown: int = 5) -> str | None:
    """None if both are the same bag of rows, up to the rounding of floats; else what differs.

    An int and a float are compared as numbers: of which type a column is, is for the schema.
    """
    names = {name for row in (*found, *expected) for name in row}
    rounded = {n for n in names if any(_has_float(r.get(n)) for r in (*found, *expected))}

    def exactly(row: Row) -> frozenset[Any]:
        return frozenset((n, _hashable(v)) for n, v in row.items() if n not in rounded)

    unclaimed: dict[frozenset[Any], list[Row]] = {}
    for row in found:
        unclaimed.setdefault(exactly(row), []).append(row)
    missing = []
    for row in expected:
        candidates = unclaimed.get(exactly(row), [])
        for i, candidate in enumerate(candidates):
            if candidate.keys() == row.keys() and all(_close(candidate[n], row[n]) for n in row):
                del candidates[i]
                break
        else:
            missing.append(row)
    unexpected = [row for rows in unclaimed.values() for row in rows]
    if not missing and not unexpected:
        return None
    lines = [
        f"{len(found)} rows found, {len(expected)} expected: "
        f"{len(missing)} missing, {len(unexpected)} unexpected"
    ]
    for label, rows in (("missing", missing), ("unexpected", unexpected)):
        lines += [f"  {label}: {_shown(r)}" for r in sorted(rows, key=_reading_order)[:shown]]
        if len(rows) > shown:
            lines.append(f"  {label}: … and {len(rows) - shown} more")
    return "\n".join(lines)


def _has_float(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_float, value))
    return isinstance(value, float)


def _hashable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return (isinstance(value, bool), value)  # in Python, True == 1


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, int | float) and isinstance(other, int | float):
        if isinstance(one, int) and isinstance(other, int):
            return one == other
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def _reading_order(row: Row) -> tuple[str, str]:
    end = row.get("window_end")
    # Shifted, so that times before the epoch sort before the others as texts too.
    return (f"{end + 10**18:020}" if isinstance(end, int) else "", _shown(row))


def _shown(row: Row) -> str:
    rest = dict(row)
    window = ""
    start, end = row.get("window_start"), row.get("window_end")
    if isinstance(start, int) and isinstance(end, int):
        window = f"[{instant_text(start)}, {instant_text(end)}) "
        del rest["window_start"], rest["window_end"]
    return window + " ".join(f"{name}={value!r}" for name, value in rest.items())
