"""The aggregates: what each takes, what plans may assume of it, and how panes compute it.

Any other aggregate of Spark's is taken as opaque: `wid` runs it, plans with panes cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ssql.planner.aggregates import recipes, sketches
from ssql.planner.aggregates.recipes import Builder
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
    recipe: Builder


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
        Argument.ANY,
        Argument.NUMBER,
        Argument.ORDERED,
        Argument.BOOLEAN,
    )
    dist, alg, hol = Merging.DISTRIBUTIVE, Merging.ALGEBRAIC, Merging.HOLISTIC
    one, r = AggregateFunction, recipes
    sample = "if(all.n > 1, all.m2 / (all.n - 1), NULL)"
    population = "if(all.n > 0, all.m2 / all.n, NULL)"
    first, last = r.extreme("min", r.by_time), r.extreme("max", r.by_time)
    least_by, greatest_by = r.extreme("min", r.by_second), r.extreme("max", r.by_second)
    unknown = _always(UNKNOWN_TYPE)

    def spread(name: str, value: str) -> AggregateFunction:
        return one(name, number, 1, 1, alg, True, _DOUBLE, f"{name}(x)", r.moments(name, value))

    def merged(
        name: str, argument: Argument, result: Callable[[str], str], synopsis: str
    ) -> AggregateFunction:
        return one(name, argument, 1, 1, dist, False, result, synopsis, r.itself(name))

    return (
        one("count", any_, 1, 32, dist, True, _BIGINT, "count(*) or count(x)", r.counted("count")),
        one(
            "count_if", boolean, 1, 1, dist, True, _BIGINT, "count_if(condition)",
            r.counted("count_if"),
        ),
        one("sum", number, 1, 1, dist, True, _sum, "sum(x)", r.summed),
        one("avg", number, 1, 1, alg, True, _average, "avg(x)", r.averaged),
        merged("min", ordered, _same, "min(x)"),
        merged("max", ordered, _same, "max(x)"),
        merged("bool_and", boolean, _BOOLEAN, "bool_and(condition)"),
        merged("bool_or", boolean, _BOOLEAN, "bool_or(condition)"),
        merged("bit_and", number, _same, "bit_and(x)"),
        merged("bit_or", number, _same, "bit_or(x)"),
        merged("bit_xor", number, _same, "bit_xor(x)"),
        spread("variance", sample),
        spread("var_samp", sample),
        spread("var_pop", population),
        spread("stddev", f"sqrt({sample})"),
        spread("stddev_samp", f"sqrt({sample})"),
        spread("stddev_pop", f"sqrt({population})"),
        one("first", any_, 1, 2, dist, False, _same, "first(x [, ignore_nulls])", first),
        one("last", any_, 1, 2, dist, False, _same, "last(x [, ignore_nulls])", last),
        one("min_by", any_, 2, 2, dist, False, _same, "min_by(x, y)", least_by),
        one("max_by", any_, 2, 2, dist, False, _same, "max_by(x, y)", greatest_by),
        one("collect_list", ordered, 1, 1, hol, False, _array, "collect_list(x)", r.collected_list),
        one("collect_set", ordered, 1, 1, hol, False, _array, "collect_set(x)", r.collected_set),
        one(
            "approx_count_distinct", any_, 1, 2, hol, False, _BIGINT,
            "approx_count_distinct(x [, error])", sketches.approx_count_distinct,
        ),
        one(
            "approx_percentile", any_, 2, 3, hol, False, unknown,
            "approx_percentile(x, p [, accuracy])", sketches.approx_percentile,
        ),
        one(
            "percentile", number, 2, 3, hol, False, unknown,
            "percentile(x, p [, frequency])", r.percentile,
        ),
        one("median", number, 1, 1, hol, False, _DOUBLE, "median(x)", r.median),
        one("mode", ordered, 1, 2, hol, False, _same, "mode(x)", r.mode),
        one(
            "heavy_hitters", ordered, 2, 2, hol, False, _array,
            "heavy_hitters(x, least_share)", r.heavy_hitters,
        ),
    )  # fmt: skip


_ALIASES = {
    "mean": "avg", "std": "stddev", "first_value": "first", "last_value": "last",
    "percentile_approx": "approx_percentile", "array_agg": "collect_list", "every": "bool_and",
    "any": "bool_or", "some": "bool_or", "any_value": "first",
}  # fmt: skip
AGGREGATES: dict[str, AggregateFunction] = {a.name: a for a in _all()}
AGGREGATES |= {alias: AGGREGATES[name] for alias, name in _ALIASES.items()}

# Ours, not Spark's.
OWN_AGGREGATES = frozenset({"heavy_hitters"})

# Their value depends on the order in which rows arrive, and nothing says which one is meant.
ARRIVAL_ORDERED = frozenset({"listagg", "string_agg", "histogram_numeric"})


def recipe_of(function: str, call: recipes.Call) -> recipes.Recipe | None:
    """How a call is computed; None if this form of it has no meaning on a stream."""
    known = AGGREGATES.get(function)
    recipe = known.recipe(call) if known is not None and call.is_plain else None
    if recipe is not None:
        return recipe
    if call.distinct or function in ARRIVAL_ORDERED or function in OWN_AGGREGATES:
        return None
    return recipes.opaque(call)
