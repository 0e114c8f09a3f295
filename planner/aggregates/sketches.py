"""Recipes of approximate aggregates: Spark's mergeable sketches."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2

from ssql.planner.aggregates.recipes import (
    INTEGERS,
    Call,
    Columns,
    Part,
    Recipe,
    all_values,
    counted_values,
    distinct_values,
    is_array,
)


def approx_count_distinct(call: Call) -> Recipe | None:
    """A HyperLogLog sketch. Its estimate goes by the order of rows until it is merged with another,
    so it is merged with itself."""
    bits = 12
    if len(call.arguments) > 1:
        try:
            error = float(call.arguments[1])
        except ValueError:
            return None
        if not 0 < error < 1:
            return None
        bits = max(4, min(21, ceil(2 * log2(1.04 / error))))
    # By its hash: the sketch takes few types, and would leave out the empty string.
    counts = f"isnotnull({call.x})"
    part = Part(
        name="sketch",
        rows=f"hll_sketch_agg(xxhash64({call.x}), {bits}){call.where(counts)}",
        merge="hll_union_agg({part}){where}",
        how="concat",
        lift=_SKETCHES,
    )

    def finish(c: Columns) -> str:
        merged = f"hll_union({c['sketch']}, {c['sketch']})"
        return f"coalesce(hll_sketch_estimate({merged}), 0)"

    # Rows have no sketch to begin with: their values are kept, and counted.
    hashes = replace(
        call, arguments=(f"xxhash64({call.x})",), conditions=(*call.conditions, counts)
    )
    exact = distinct_values(hashes, lambda values: f"CAST(size({values}) AS BIGINT)")

    def finish_merged(c: Columns) -> str:
        merged = f"aggregate({c['sketch']}, get({c['sketch']}, 0), (a, b) -> hll_union(a, b))"
        return f"coalesce(hll_sketch_estimate({merged}), 0)"

    return Recipe(parts=(part,), finish=finish, finish_merged=finish_merged, of_rows=exact)


# Operators collect sketches, and Spark merges them.
_SKETCHES = "array_compact(array({part}))"


def approx_percentile(call: Call) -> Recipe | None:
    """A KLL sketch: exact until a window has more values than the accuracy asks for."""
    if call.distinct or len(call.arguments) < 2:
        return None
    accuracy = call.arguments[2] if len(call.arguments) > 2 else "10000"
    if not accuracy.isdecimal() or int(accuracy) < 1:
        return None
    size = min(65_535, max(200, ceil((2.296 * int(accuracy)) ** (1 / 0.9021))))
    encoded = _sketched_as(call.type)
    if encoded is None:
        return None
    kind, encode, decode = encoded
    share = call.arguments[1]
    parts = (
        Part(
            name="sketch",
            rows=f"kll_sketch_agg_{kind}({encode.format(x=call.x)}, {size}){call.where()}",
            merge=f"kll_merge_agg_{kind}({{part}}, {size}){{where}}",
            how="concat",
            lift=_SKETCHES,
            shape=(
                "aggregate(slice({part}, 2, greatest(size({part}) - 1, 0)), get({part}, 0), "
                f"(a, b) -> kll_sketch_merge_{kind}(a, b))"
            ),
        ),
        counted_values(call),
    )

    def finish(c: Columns) -> str:
        if is_array(share):
            shares = f"CAST({share} AS ARRAY<DOUBLE>)"
            quantiles = f"kll_sketch_get_quantile_{kind}({c['sketch']}, {shares})"
            value = f"transform({quantiles}, x -> {decode.format(x='x')})"
        else:
            quantile = f"kll_sketch_get_quantile_{kind}({c['sketch']}, CAST({share} AS DOUBLE))"
            value = decode.format(x=quantile)
        return f"CASE WHEN {c['count']} > 0 THEN {value} END"

    def of_sorted(v: str) -> str:
        """As the sketch has it: the least value that has at least this share up to it."""
        least = f"{v}[greatest(CAST(ceil(CAST({{share}} AS DOUBLE) * size({v})) AS INT) - 1, 0)]"
        if is_array(share):
            return f"transform({share}, share -> {least.format(share='share')})"
        return least.format(share=share)

    return Recipe(parts=parts, finish=finish, of_rows=all_values(call, of_sorted))


def _sketched_as(type: str) -> tuple[str, str, str] | None:
    """The kind of sketch for a type, and how values go in and come out again."""
    if type in INTEGERS:
        return "bigint", "CAST({x} AS BIGINT)", f"CAST({{x}} AS {type})"
    if type in ("FLOAT", "DOUBLE") or type.startswith("DECIMAL"):
        return "double", "CAST({x} AS DOUBLE)", f"CAST({{x}} AS {type})"
    if type in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return "bigint", "unix_micros({x})", "timestamp_micros({x})"
    if type == "DATE":
        return "bigint", "CAST(unix_date({x}) AS BIGINT)", "date_from_unix_date(CAST({x} AS INT))"
    return None
