"""The aggregates: what each takes, and what plans may assume of it.

Any other aggregate of Spark's is taken as opaque: native plans run it, others cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ssql.planner.scalar import UNKNOWN_TYPE


class Argument(Enum):
    ANY = "any type"
    NUMBER = "a number"
    ORDERED = "a type with an order"
    BOOLEAN = "a boolean"


class Merging(Enum):
    """How a window's value is had from those of its panes (Gray et al.)."""

    DISTRIBUTIVE = "distributive"  # from the panes' values
    ALGEBRAIC = "algebraic"  # from a few numbers a pane
    HOLISTIC = "holistic"  # from all values, or a sketch of them


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    name: str
    argument: Argument
    least: int
    most: int
    merging: Merging
    differential: bool  # a pane can be taken away again
    result: Callable[[str], str]  # the type of its value, from that of its argument
    synopsis: str


def _same(argument: str) -> str:
    return argument


def _always(type: str) -> Callable[[str], str]:
    return lambda _: type


def _array(argument: str) -> str:
    return argument if argument == UNKNOWN_TYPE else f"ARRAY<{argument}>"


def _sum(argument: str) -> str:
    if decimal := _DECIMAL.fullmatch(argument):
        return f"DECIMAL({min(38, int(decimal[1]) + 10)}, {decimal[2]})"
    if argument in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        return "BIGINT"
    return "DOUBLE" if argument in ("FLOAT", "DOUBLE", "STRING") else argument


def _average(argument: str) -> str:
    if decimal := _DECIMAL.fullmatch(argument):
        return f"DECIMAL({min(38, int(decimal[1]) + 4)}, {min(38, int(decimal[2]) + 4)})"
    return argument if argument.startswith("INTERVAL") else "DOUBLE"


_DECIMAL = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_BIGINT, _DOUBLE, _BOOLEAN = _always("BIGINT"), _always("DOUBLE"), _always("BOOLEAN")


def _all() -> tuple[AggregateFunction, ...]:
    any_, number, ordered, boolean = (
        Argument.ANY, Argument.NUMBER, Argument.ORDERED, Argument.BOOLEAN,
    )  # fmt: skip
    dist, alg, hol = Merging.DISTRIBUTIVE, Merging.ALGEBRAIC, Merging.HOLISTIC
    one = AggregateFunction
    return (
        one("count", any_, 1, 32, dist, True, _BIGINT, "count(*) or count(x)"),
        one("count_if", boolean, 1, 1, dist, True, _BIGINT, "count_if(condition)"),
        one("sum", number, 1, 1, dist, True, _sum, "sum(x)"),
        one("avg", number, 1, 1, alg, True, _average, "avg(x)"),
        one("min", ordered, 1, 1, dist, False, _same, "min(x)"),
        one("max", ordered, 1, 1, dist, False, _same, "max(x)"),
        one("variance", number, 1, 1, alg, True, _DOUBLE, "variance(x)"),
        one("var_samp", number, 1, 1, alg, True, _DOUBLE, "var_samp(x)"),
        one("var_pop", number, 1, 1, alg, True, _DOUBLE, "var_pop(x)"),
        one("stddev", number, 1, 1, alg, True, _DOUBLE, "stddev(x)"),
        one("stddev_samp", number, 1, 1, alg, True, _DOUBLE, "stddev_samp(x)"),
        one("stddev_pop", number, 1, 1, alg, True, _DOUBLE, "stddev_pop(x)"),
        one("first", any_, 1, 2, dist, False, _same, "first(x [, ignore_nulls])"),
        one("last", any_, 1, 2, dist, False, _same, "last(x [, ignore_nulls])"),
        one("bool_and", boolean, 1, 1, dist, False, _BOOLEAN, "bool_and(condition)"),
        one("bool_or", boolean, 1, 1, dist, False, _BOOLEAN, "bool_or(condition)"),
        one("collect_list", any_, 1, 1, hol, False, _array, "collect_list(x)"),
        one("collect_set", any_, 1, 1, hol, False, _array, "collect_set(x)"),
        one(
            "approx_count_distinct", any_, 1, 2, hol, False, _BIGINT,
            "approx_count_distinct(x [, error])",
        ),
        one(
            "approx_percentile", number, 2, 3, hol, False, _always(UNKNOWN_TYPE),
            "approx_percentile(x, p [, accuracy])",
        ),
        one(
            "percentile", number, 2, 3, hol, False, _always(UNKNOWN_TYPE),
            "percentile(x, p [, frequency])",
        ),
        one("median", number, 1, 1, hol, False, _DOUBLE, "median(x)"),
        one("mode", any_, 1, 2, hol, False, _same, "mode(x)"),
        one("heavy_hitters", any_, 2, 2, hol, False, _array, "heavy_hitters(x, least_share)"),
    )  # fmt: skip


_ALIASES = {
    "mean": "avg", "std": "stddev", "first_value": "first", "last_value": "last",
    "percentile_approx": "approx_percentile", "array_agg": "collect_list", "every": "bool_and",
    "any": "bool_or", "some": "bool_or",
}  # fmt: skip
AGGREGATES: dict[str, AggregateFunction] = {a.name: a for a in _all()}
AGGREGATES |= {alias: AGGREGATES[name] for alias, name in _ALIASES.items()}

# Ours, not Spark's.
OWN_AGGREGATES = frozenset({"heavy_hitters"})
