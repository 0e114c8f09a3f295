"""The order of rows: by time, then by what was asked for, then by everything else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssql.runtime.operators.ordering import By, in_pieces, time_order
from ssql.runtime.operators.tables import taken

times = st.lists(st.integers(0, 9), max_size=30)


@given(st.lists(times, min_size=1, max_size=4), st.integers(1, 8))
def test_pieces_are_one_after_another(found: list[list[int]], most: int) -> None:
    tables = [pa.table({"at": pa.array(t, pa.int64())}) for t in found]
    pieces = [piece["at"].to_pylist() for piece in in_pieces(tables, most)]
    assert sorted(at for piece in pieces for at in piece) == sorted(at for t in found for at in t)
    assert all(max(a) < min(b) for a, b in pairwise(pieces))
    assert all(pieces)


def test_no_tables_are_no_pieces() -> None:
    assert list(in_pieces([], 3)) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2) | st.none()), max_size=20))
@pytest.mark.parametrize(
    ("descending", "nulls_first", "missing"),
    [(False, None, -1), (False, False, 9), (True, None, 9), (True, True, -9)],
)
def test_ties_go_by_what_was_asked_for(
    descending: bool, nulls_first: bool | None, missing: int, rows: list[tuple[int, int | None]]
) -> None:
    table = pa.table(
        {
            "at": pa.array([at for at, _ in rows], pa.int64()),
            "v": pa.array([v for _, v in rows], pa.int32()),
        }
    )
    order = time_order(table, [("v", By("v", descending, nulls_first))])

    def key(row: dict[str, Any]) -> tuple[int, int]:
        sign = -1 if descending else 1
        return row["at"], missing if row["v"] is None else sign * row["v"]

    found = [key(row) for row in taken(table, order).to_pylist()]
    assert found == sorted(found)


@pytest.mark.parametrize(
    "values",
    [
        [True, None, False],
        [b"b", b"", None],
        [1.5, float("nan"), None],
        [[1, 2], [], None],
        [{"x": 2}, {"x": None}, None],
    ],
)
def test_the_order_is_always_the_same(values: list[Any]) -> None:
    """Whatever the order in which rows come, and of whatever type they are."""
    table = pa.table({"at": pa.array([7] * 3, pa.int64()), "v": values})
    turned = table.take([2, 0, 1])
    found = [taken(t, time_order(t)).to_pylist() for t in (table, turned)]
    assert repr(found[0]) == repr(found[1])


def test_maps_have_no_order() -> None:
    maps = pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int32()))
    table = pa.table({"at": pa.array([2, 1], pa.int64()), "m": maps})
    assert time_order(table).tolist() == [1, 0]
    assert len(time_order(table.take([0, 0]))) == 2
