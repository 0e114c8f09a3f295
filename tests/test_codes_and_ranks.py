"""Keys as numbers, and the order of values, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from arrow_columns import (
    AT,
    ATS,
    EXTREMES,
    at_leisure,
    column_of,
    decimals,
    nullable,
    rows_numbered,
    spark_order,
    structs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ssql.runtime.operators.tables import group_codes, ranks, stacked

KEYS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int32(), st.none() | st.integers(-2, 2)),
    "s": (pa.string(), st.none() | st.sampled_from(["", "a", "b", "ä"])),
    "f": (pa.float64(), st.none() | st.sampled_from([0.0, 1.5, math.inf, math.nan])),
    "b": (pa.bool_(), st.none() | st.booleans()),
    "d": (pa.decimal128(10, 2), st.none() | decimals(2, 2)),
    "t": (
        pa.struct([("x", pa.int32()), ("y", pa.string())]),
        st.none() | structs({"x": st.none() | st.integers(0, 1), "y": st.sampled_from("pq")}),
    ),
    "n": (pa.null(), st.none()),
}


def key_table(rows: Sequence[dict[str, Any]], names: Sequence[str], cut: int) -> pa.Table:
    if not rows and cut % 2:  # a table without a single piece
        return pa.schema([(n, KEYS[n][0]) for n in names]).empty_table()
    return pa.table({n: column_of([r[n] for r in rows], KEYS[n][0], cut) for n in names})


@at_leisure
@given(st.data())
def test_codes_of_groups(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(KEYS)), unique=True))
    row = structs({n: KEYS[n][1] for n in names})
    tables = data.draw(st.lists(st.lists(row, max_size=8), max_size=3))
    cut = data.draw(st.integers(0, 5))
    if names:
        given_tables = [key_table(rows, names, cut) for rows in tables]
    else:
        given_tables = [pa.table({"other": pa.array([1] * len(rows))}) for rows in tables]
    codes, count = group_codes(given_tables, names)
    assert [len(c) for c in codes] == [len(rows) for rows in tables]
    flat = [int(c) for of_table in codes for c in of_table]
    assert all(0 <= code < count for code in flat)
    values = [repr(r) for rows in tables for r in rows]  # NaN is itself
    assert len(set(zip(flat, values, strict=True))) == len(set(flat)) == len(set(values))


def test_codes_of_many_keys_stay_small() -> None:
    """Sixteen keys of 3,000 values each: not all combinations, which no number could hold."""
    source = np.random.default_rng(3)
    chosen = source.integers(0, 3_000, (2_000, 16))
    chosen[1_000:] = chosen[:1_000]
    names = [f"k{i}" for i in range(16)]
    table = pa.table({n: chosen[:, i] for i, n in enumerate(names)})
    (left, right), count = group_codes([table.slice(0, 1_000), table.slice(1_000)], names)
    assert count <= 3 * 2_000 + 1_024
    assert max(left.max(), right.max()) < count
    assert np.array_equal(left, right)
    assert len(np.unique(left)) == len(np.unique(chosen, axis=0))


def test_codes_of_empty_tables() -> None:
    empty = rows_numbered([])
    assert group_codes([], ["n"]) == ([], 0)
    (first, second), _ = group_codes([empty, rows_numbered([4, 5, 4])], ["n", "name"])
    assert first.tolist() == [] and second[0] == second[2] != second[1]
    (first, second), count = group_codes([empty, empty], ["n"])
    assert len(first) == len(second) == 0 and count >= 0


@pytest.mark.parametrize("kind", EXTREMES)
def test_ranks(kind: str) -> None:
    type, values_of = EXTREMES[kind]

    @settings(at_leisure, max_examples=40)
    @given(st.lists(nullable(values_of), max_size=20), st.integers(0, 20))
    def check(values: list[Any], cut: int) -> None:
        assert_ranked(values, stacked([pa.table({"v": column_of(values, type, cut)})]))

    check()


def assert_ranked(values: list[Any], table: pa.Table) -> None:
    chunks = table.column("v").chunks
    array = chunks[0] if chunks else pa.array([], table.schema.field("v").type)
    keys, found = [spark_order(v) for v in values], ranks(array).tolist()
    order = sorted(range(len(values)), key=keys.__getitem__)
    for before, after in pairwise(order):
        assert (found[before] < found[after]) == (keys[before] < keys[after])
        assert (found[before] == found[after]) == (keys[before] == keys[after])


@at_leisure
@given(st.lists(st.none() | ATS, max_size=20))
def test_ranks_of_structs(values: list[Any]) -> None:
    nested = pa.struct([("x", AT), ("y", pa.int32())])
    assert_ranked(values, pa.table({"v": pa.array(values, AT)}))
    pairs = [{"x": v, "y": i % 2 or None} for i, v in enumerate(values)]
    assert_ranked(pairs, pa.table({"v": pa.array(pairs, nested)}))


def test_ranks_of_nothing_but_nulls() -> None:
    assert ranks(pa.nulls(3)).tolist() == [0, 0, 0]
    assert len(set(ranks(pa.nulls(3, AT)).tolist())) == 1
