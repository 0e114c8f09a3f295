"""How an aggregate is computed in two steps: what a pane keeps, how panes merge, what is shown.

A recipe is Spark SQL text. Where an operator of ours merges instead of Spark, a part says `how`,
and what it is of a single row. Every one of them gives the same value whatever the order in which
rows arrive and however they are split into panes: where Spark's own aggregate does not (first,
mode, collect_list, the sketches), the recipe says what is meant instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ssql.planner.scalar import UNKNOWN_TYPE

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An aggregate call taken apart: texts over the rows that it aggregates."""

    text: str  # the call as Spark would run it, without its FILTER
    arguments: tuple[str, ...]
    type: str  # of the first argument
    result: str  # the type of its value
    order: str  # a struct that puts rows into their order: time, then the other columns
    distinct: bool = False
    ignore_nulls: bool = False
    is_plain: bool = True  # no WITHIN GROUP and the like around it
    conditions: tuple[str, ...] = ()  # FILTER (WHERE …), and a RANGE of its own

    @property
    def x(self) -> str:
        return self.arguments[0]

    def where(self, *more: str) -> str:
        return filter_clause(*self.conditions, *more)

    def only(self, value: str, *more: str, otherwise: str = "NULL") -> str:
        """The value of a row, where it counts."""
        conditions = (*self.conditions, *more)
        if not conditions:
            return value
        return f"if({_all_of(conditions)}, {value}, {otherwise})"


def filter_clause(*conditions: str) -> str:
    if not conditions:
        return ""
    return f" FILTER (WHERE {_all_of(conditions)})"


def _all_of(conditions: tuple[str, ...]) -> str:
    return conditions[0] if len(conditions) == 1 else " AND ".join(f"({c})" for c in conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A column that a pane keeps. `merge` is over the columns of the parts, by their names."""

    name: str
    rows: str
    merge: str = "sum({part}){where}"
    empty: str | None = None  # the value where no pane is in range; None: NULL
    how: str | None = (
        None  # how operators merge it (runtime/operators/ranges.py); None: they do not
    )
    row: str | None = None  # what it is of a single row; None: only Spark can make it
    lift: str = "{part}"  # how a pane's column goes into an operator,
    shape: str = "{part}"  # and what is made of the operator's column before it is finished


Columns = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    parts: tuple[Part, ...]
    finish: Callable[[Columns], str] | None = None  # None: the one part is the value
    whole: str | None = None  # Spark's own aggregate, if it gives the same from rows at once
    mergeable: bool = True
    finish_merged: Callable[[Columns], str] | None = None  # after an operator; None: as ever
    of_rows: Recipe | None = None  # for operators that see rows, where that is another one

    @property
    def for_panes(self) -> Recipe | None:
        """For an operator that merges panes."""
        return self if self.mergeable and all(p.how for p in self.parts) else None

    @property
    def for_rows(self) -> Recipe | None:
        """For an operator that merges rows."""
        recipe = self.of_rows or self
        return recipe if all(p.how and p.row for p in recipe.parts) else None


Builder = Callable[[Call], Recipe | None]


def opaque(call: Call) -> Recipe:
    """Any other aggregate of Spark's: computed from rows, and from nothing else."""
    part = Part(name="value", rows=f"{call.text}{call.where()}")
    return Recipe(parts=(part,), mergeable=False)


def itself(function: str) -> Builder:
    """The aggregate of a window is the aggregate of its panes' values: min, max, …"""

    def build(call: Call) -> Recipe | None:
        if call.distinct and function == "bit_xor":  # of the others DISTINCT changes nothing
            return None
        rows = f"{function}({', '.join(call.arguments)}){call.where()}"
        merge = f"{function}({{part}}){{where}}"
        how = {"bool_and": "min", "bool_or": "max"}.get(function, function)
        return Recipe(
            parts=(Part(name=function, rows=rows, merge=merge, how=how, row=call.only(call.x)),)
        )

    return build


def counted(function: str) -> Builder:
    def build(call: Call) -> Recipe | None:
        if call.distinct:
            if function != "count":
                return None
            return distinct_values(call, lambda values: f"CAST(size({values}) AS BIGINT)")
        rows = f"{function}({', '.join(call.arguments)}){call.where()}"
        if function == "count_if":
            counts = call.arguments
        else:
            counts = tuple(f"isnotnull({a})" for a in call.arguments if a != "*")
        row = call.only("1L", *counts, otherwise="0L")
        return Recipe(parts=(Part(name="count", rows=rows, empty="0", how="sum", row=row),))

    return build


def summed(call: Call) -> Recipe | None:
    if call.distinct:
        if call.result == UNKNOWN_TYPE:
            return None
        zero = f"CAST(0 AS {call.result})"
        add = f"(total, value) -> CAST(total + value AS {call.result})"
        return distinct_values(
            call, lambda v: f"if(size({v}) > 0, aggregate({v}, {zero}, {add}), NULL)"
        )
    wide = f"{call.x} + 0L" if call.result == UNKNOWN_TYPE else f"CAST({call.x} AS {call.result})"
    part = Part(name="sum", rows=f"sum({call.x}){call.where()}", how="sum", row=call.only(wide))
    if call.result.startswith("DECIMAL"):  # a sum of sums would be wider
        return Recipe(parts=(part,), finish=lambda c: f"CAST({c['sum']} AS {call.result})")
    return Recipe(parts=(part,))


def averaged(call: Call) -> Recipe | None:
    exact = call.type.startswith(("DECIMAL", "INTERVAL"))
    if call.distinct:
        if exact:
            return None
        add = "CAST(0 AS DOUBLE), (total, value) -> total + value"
        return distinct_values(
            call, lambda v: f"if(size({v}) > 0, aggregate({v}, {add}) / size({v}), NULL)"
        )
    value = call.x if exact else f"CAST({call.x} AS DOUBLE)"
    wide = f"CAST({call.x} AS {_wider(call.type)})" if exact else value
    parts = (
        Part(name="sum", rows=f"sum({value}){call.where()}", how="sum", row=call.only(wide)),
        counted_values(call),
    )

    def finish(c: Columns) -> str:
        mean = f"{c['sum']} / {c['count']}"
        return f"CAST({mean} AS {call.result})" if call.type.startswith("DECIMAL") else mean

    return Recipe(parts=parts, finish=finish, whole=f"avg({call.x}){call.where()}")


def counted_values(call: Call) -> Part:
    """How many values there are, beside something else of them."""
    row = call.only("1L", f"isnotnull({call.x})", otherwise="0L")
    rows = f"count({call.x}){call.where()}"
    return Part(name="count", rows=rows, empty="0", how="sum", row=row)


def _wider(type: str) -> str:
    """The type of a sum of decimals, as Spark has it."""
    digits = re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", type)
    return f"DECIMAL({min(38, int(digits[1]) + 10)}, {digits[2]})" if digits else type


# ------------------------------------------------------------------ sets of values


def distinct_values(call: Call, finish: Callable[[str], str]) -> Recipe:
    """Spark refuses DISTINCT aggregates on streams: the set of values is kept instead."""
    value = call.x
    conditions: tuple[str, ...] = ()
    if len(call.arguments) > 1:  # of several columns, rows with a NULL do not count
        value = f"struct({', '.join(call.arguments)})"
        conditions = tuple(f"isnotnull({a})" for a in call.arguments)
    part = Part(
        name="values",
        rows=f"collect_set({value}){call.where(*conditions)}",
        merge="array_distinct(flatten(collect_list({part}){where}))",
        how="concat",
        row=call.only(f"array({value})", *(conditions or (f"isnotnull({value})",))),
        shape="array_distinct({part})",
    )
    return Recipe(parts=(part,), finish=lambda c: finish(c["values"]))


def collected_set(call: Call) -> Recipe:
    return distinct_values(call, lambda values: f"array_sort({values})")


# ------------------------------------------------------------------ variance

# Chan's formula: exact where the sum of squares would drown in the square of the sum.
_MERGED = (
    "aggregate(filter({panes}, pane -> pane.n > 0), "
    "named_struct('n', 0D, 'mean', 0D, 'm2', 0D), "
    "(a, b) -> named_struct("
    "'n', a.n + b.n, "
    "'mean', a.mean + (b.mean - a.mean) * b.n / (a.n + b.n), "
    "'m2', a.m2 + b.m2 + (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n / (a.n + b.n)), "
    "all -> {value})"
)


def moments(function: str, value: str) -> Builder:
    """Variances and deviations; `value` is computed from `all`: n, mean and m2 of all panes."""

    def build(call: Call) -> Recipe:
        if call.distinct:
            one = "named_struct('n', 1D, 'mean', CAST(value AS DOUBLE), 'm2', 0D)"
            return distinct_values(
                call,
                lambda values: _MERGED.format(
                    panes=f"transform({values}, value -> {one})", value=value
                ),
            )
        x, where = f"CAST({call.x} AS DOUBLE)", call.where()
        rows = (
            f"named_struct('n', CAST(count({call.x}){where} AS DOUBLE), "
            f"'mean', avg({x}){where}, "
            f"'m2', var_pop({x}){where} * count({call.x}){where})"
        )
        n = call.only("1D", f"isnotnull({call.x})", otherwise="0D")
        part = Part(
            name="moments",
            rows=rows,
            merge="collect_list({part}){where}",
            how="moments",
            row=f"named_struct('n', {n}, 'mean', {x}, 'm2', 0D)",
        )
        return Recipe(
            parts=(part,),
            finish=lambda c: _MERGED.format(panes=c["moments"], value=value),
            finish_merged=lambda c: value.replace("all.", f"{c['moments']}."),
            whole=f"{function}({call.x}){where}",
        )

    return build


# ------------------------------------------------------------------ by the order of rows


def extreme(function: str, ordered_by: Callable[[Call], str]) -> Builder:
    """The value of the row that is first or last by some order: `function` is min or max."""

    def build(call: Call) -> Recipe:
        order = ordered_by(call)
        counts = (f"isnotnull({call.x})",) if call.ignore_nulls else ()
        where = call.where(*counts)
        pair = f"named_struct('at', {order}, 'value', {call.x})"
        part = Part(
            name="pair",
            rows=f"{function}_by({pair}, {order}){where}",
            merge=f"{function}_by({{part}}, {{part}}.at){{where}}",
            how=f"{function}_by",
            row=call.only(pair, *counts, f"isnotnull({order})"),
        )
        return Recipe(
            parts=(part,),
            finish=lambda c: f"{c['pair']}.value",
            whole=f"{function}_by({call.x}, {order}){where}",
        )

    return build


def by_time(call: Call) -> str:
    return call.order


def by_second(call: Call) -> str:
    """max_by(x, y): by y, and where y ties, by the order of rows; never by a NULL y."""
    y = call.arguments[1]
    return f"if(isnull({y}), NULL, struct({y}, {call.order}))"


def collected_list(call: Call) -> Recipe | None:
    if call.distinct:
        return None
    row, counts = f"struct({call.order} AS at, {call.x} AS value)", f"isnotnull({call.x})"
    part = Part(
        name="rows",
        rows=f"collect_list({row}){call.where(counts)}",
        merge="flatten(collect_list({part}){where})",
        how="concat",
        row=call.only(f"array({row})", counts),
    )
    return Recipe(
        parts=(part,), finish=lambda c: f"transform(array_sort({c['rows']}), row -> row.value)"
    )


# ------------------------------------------------------------------ holistic ones


def all_values(call: Call, finish: Callable[[str], str], whole: str | None = None) -> Recipe:
    """All values; `finish` computes from the sorted array of them, called `v`."""
    part = Part(
        name="values",
        rows=f"collect_list({call.x}){call.where()}",
        merge="flatten(collect_list({part}){where})",
        how="concat",
        row=call.only(f"array({call.x})", f"isnotnull({call.x})"),
    )
    of_sorted = f"v -> if(size(v) > 0, {finish('v')}, NULL)"
    return Recipe(
        parts=(part,),
        finish=lambda c: f"transform(array(array_sort({c['values']})), {of_sorted})[0]",
        whole=whole,
    )


def _at_share(share: str) -> str:
    """The value at a share of the way through `v`, between two of them as Spark computes it."""
    at = f"({share}) * (size(v) - 1)"
    low, high = f"CAST(floor({at}) AS INT)", f"CAST(ceil({at}) AS INT)"
    between = f"({high} - {at}) * v[{low}] + ({at} - {low}) * v[{high}]"
    return f"CAST(if(v[{low}] = v[{high}], v[{low}], {between}) AS DOUBLE)"


def percentile(call: Call) -> Recipe | None:
    if call.distinct or len(call.arguments) != 2 or call.type.startswith("INTERVAL"):
        return None
    share = call.arguments[1]
    whole = f"percentile({call.x}, {share}){call.where()}"
    doubles = _as_doubles(call)
    if is_array(share):
        each = _at_share("CAST(share AS DOUBLE)")
        return all_values(doubles, lambda v: f"transform({share}, share -> {each})", whole)
    return all_values(doubles, lambda v: _at_share(f"CAST({share} AS DOUBLE)"), whole)


def median(call: Call) -> Recipe | None:
    if call.distinct or call.type.startswith("INTERVAL"):
        return None
    return all_values(
        _as_doubles(call), lambda v: _at_share("0.5D"), f"median({call.x}){call.where()}"
    )


def _as_doubles(call: Call) -> Call:
    return replace(
        call, arguments=(f"CAST({call.x} AS DOUBLE)", *call.arguments[1:]), type="DOUBLE"
    )


def is_array(text: str) -> bool:
    return text.lower().startswith("array(")


def mode(call: Call) -> Recipe | None:
    """The most frequent value, and of several the least: one walk over the runs of equal ones."""
    if call.distinct or not call.is_plain:
        return None
    start = "named_struct('best', v[0], 'times', 0, 'value', v[0], 'run', 0)"
    step = (
        "(s, x) -> named_struct("
        "'best', if(if(x = s.value, s.run + 1, 1) > s.times, x, s.best), "
        "'times', greatest(s.times, if(x = s.value, s.run + 1, 1)), "
        "'value', x, "
        "'run', if(x = s.value, s.run + 1, 1))"
    )
    whole = f"mode({call.x}, true){call.where()}"
    return all_values(call, lambda v: f"aggregate(v, {start}, {step}, s -> s.best)", whole)


def heavy_hitters(call: Call) -> Recipe | None:
    """The values that make up a share of all. Of a sorted array, a value that fills `least` places
    stands at a multiple of `least`, so no more than 1 / share of them are looked at."""
    if call.distinct:
        return None
    least = (
        f"greatest(CAST(ceil(CAST({call.arguments[1]} AS DECIMAL(20, 10)) * size(v)) AS INT), 1)"
    )
    candidates = f"filter(sequence(1, size(v)), place -> place % {least} = 0)"
    candidates = f"array_distinct(transform({candidates}, place -> v[place - 1]))"
    fills = f"get(v, CAST(array_position(v, x) AS INT) - 2 + {least}) = x"
    part_of = all_values(call, lambda v: f"filter({candidates}, x -> coalesce({fills}, false))")
    finish = part_of.finish
    assert finish is not None
    # of no values there are no heavy ones
    return Recipe(
        parts=part_of.parts, finish=lambda c: f"coalesce({finish(c)}, slice({c['values']}, 1, 0))"
    )
