"""The aggregates: what each takes, and what plans may assume of it.

Any other aggregate of Spark's is taken as opaque: native plans run it, others cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
    synopsis: str


def _all() -> tuple[AggregateFunction, ...]:
    any_, number, ordered, boolean = (
        Argument.ANY,
        Argument.NUMBER,
        Argument.ORDERED,
        Argument.BOOLEAN,
    )
    dist, alg, hol = Merging.DISTRIBUTIVE, Merging.ALGEBRAIC, Merging.HOLISTIC
    one = AggregateFunction
    return (
        one("count", any_, 1, 32, dist, True, "count(*) or count(x)"),
        one("count_if", boolean, 1, 1, dist, True, "count_if(condition)"),
        one("sum", number, 1, 1, dist, True, "sum(x)"),
        one("avg", number, 1, 1, alg, True, "avg(x)"),
        one("min", ordered, 1, 1, dist, False, "min(x)"),
        one("max", ordered, 1, 1, dist, False, "max(x)"),
        one("variance", number, 1, 1, alg, True, "variance(x)"),
        one("var_samp", number, 1, 1, alg, True, "var_samp(x)"),
        one("var_pop", number, 1, 1, alg, True, "var_pop(x)"),
        one("stddev", number, 1, 1, alg, True, "stddev(x)"),
        one("stddev_samp", number, 1, 1, alg, True, "stddev_samp(x)"),
        one("stddev_pop", number, 1, 1, alg, True, "stddev_pop(x)"),
        one("first", any_, 1, 2, dist, False, "first(x [, ignore_nulls])"),
        one("last", any_, 1, 2, dist, False, "last(x [, ignore_nulls])"),
        one("bool_and", boolean, 1, 1, dist, False, "bool_and(condition)"),
        one("bool_or", boolean, 1, 1, dist, False, "bool_or(condition)"),
        one("collect_list", any_, 1, 1, hol, False, "collect_list(x)"),
        one("collect_set", any_, 1, 1, hol, False, "collect_set(x)"),
        one("approx_count_distinct", any_, 1, 2, hol, False, "approx_count_distinct(x [, error])"),
        one("approx_percentile", number, 2, 3, hol, False, "approx_percentile(x, p [, accuracy])"),
        one("percentile", number, 2, 3, hol, False, "percentile(x, p [, frequency])"),
        one("median", number, 1, 1, hol, False, "median(x)"),
        one("mode", any_, 1, 2, hol, False, "mode(x)"),
        one("heavy_hitters", any_, 2, 2, hol, False, "heavy_hitters(x, least_share)"),
    )


_ALIASES = {
    "mean": "avg", "std": "stddev", "first_value": "first", "last_value": "last",
    "percentile_approx": "approx_percentile", "array_agg": "collect_list", "every": "bool_and",
    "any": "bool_or", "some": "bool_or",
}  # fmt: skip
AGGREGATES: dict[str, AggregateFunction] = {a.name: a for a in _all()}
AGGREGATES |= {alias: AGGREGATES[name] for alias, name in _ALIASES.items()}

# Ours, not Spark's.
OWN_AGGREGATES = frozenset({"heavy_hitters"})
