"""Windows and rows by number, against plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from arrow_columns import at_leisure
from hypothesis import given
from hypothesis import strategies as st

from ssql.runtime.operators.extents import Places, boxed, covered, ordered, segments


@st.composite
def rows_in_windows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    groups, first, last = [], [], []
    for group in draw(st.lists(st.integers(0, 6), max_size=4, unique=True).map(sorted)):
        size = draw(st.integers(1, 6))
        bounds = st.lists(st.integers(-6, 12), min_size=size, max_size=size).map(sorted)
        groups += [group] * size
        first += draw(bounds)
        last += draw(bounds)  # it may be before `first`: a row between windows, or one cut off
    return np.array(groups, np.int64), np.array(first, np.int64), np.array(last, np.int64)


@at_leisure
@given(rows_in_windows())
def test_covered_windows(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    groups, first, last = rows
    expected: dict[tuple[int, int], int] = {}
    for row, (group, begin, end) in enumerate(zip(*(c.tolist() for c in rows), strict=True)):
        for window in range(begin, end):
            expected.setdefault((group, window), row)
    row, window = covered(groups, first, last)
    found = list(zip(groups[row].tolist(), window.tolist(), strict=True))
    assert len(set(found)) == len(found)
    assert dict(zip(found, row.tolist(), strict=True)) == expected


POSITIONS = st.one_of(
    st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]), st.integers(-(2**62), 2**62)
)
PAIRS = st.lists(st.tuples(st.integers(0, 4), POSITIONS), max_size=20)


def numbers_of(pairs: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array([p[i] for p in pairs], np.int64) for i in (0, 1))


@at_leisure
@given(PAIRS, PAIRS)
def test_places(rows: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    rows = sorted(rows)
    found = Places(*numbers_of(rows)).at(*numbers_of(asked))
    assert found.tolist() == [sum(row < pair for row in rows) for pair in asked]


@at_leisure
@given(PAIRS)
def test_order_and_segments(rows: list[tuple[int, int]]) -> None:
    groups, positions = numbers_of(rows)
    order = ordered(groups, positions)
    # Python's sort is stable, and so must this be.
    assert order.tolist() == sorted(range(len(rows)), key=rows.__getitem__)
    in_order = [rows[i] for i in order]
    begins = [i for i, pair in enumerate(in_order) if i == 0 or in_order[i - 1] != pair]
    assert segments(groups[order], positions[order]).tolist() == begins


def test_order_of_more_than_one_key_holds() -> None:
    pairs = [(2**40, 5), (0, 2**40), (2**40, -(2**40)), (0, 0), (2**40, 5)]
    assert ordered(*numbers_of(pairs)).tolist() == [3, 1, 2, 0, 4]


CODES = st.lists(st.sampled_from([0, 1, 2**16 - 1, 2**16, 2**16 + 1, 2**33, 2**33 + 2**16]))


@at_leisure
@given(CODES)
def test_boxes_for_codes_of_many_bits(codes: list[int]) -> None:
    expected = sorted(range(len(codes)), key=codes.__getitem__)
    assert boxed(np.array(codes, np.int64)).tolist() == expected
