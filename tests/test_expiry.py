"""What an operator lets go of, it lets go of when no window can want it any more: not before."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from streams import MS, SECOND

from ssql.runtime.operators.merging import Layout
from ssql.runtime.operators.processor import HeldChunks, Moment
from ssql.runtime.operators.state import MOST_CHUNKS, State
from ssql.runtime.operators.tuples import TuplesKernel

RANGE = SECOND
COUNT = TuplesKernel(Layout((), {"part_0": "sum"}), (), RANGE, 1)


class Tuples:
    """Windows of a second that end with each row, counted."""

    def __init__(self) -> None:
        self.chunks, self.kept = HeldChunks(), None

    def step(self, watermark: int, *times: int) -> dict[int, int]:
        """The counts of windows that are final now, by their ends."""
        ones = pa.array([1] * len(times), pa.int64())
        rows = pa.table({"at": pa.array(times, pa.int64()), "part_0": ones})
        state = State(self.chunks, self.kept)
        tables = list(COUNT.step(state, rows if times else None, Moment(watermark, is_end=False)))
        kept: Any = state.kept()
        self.kept = None if kept is None else json.loads(json.dumps(kept))
        return {
            end: count
            for table in tables
            for end, count in zip(
                table["end"].to_pylist(), table["part_0"].to_pylist(), strict=True
            )
        }


@pytest.mark.parametrize("early", [1, MS])
def test_a_row_is_kept_for_the_last_window_that_it_is_in(early: int) -> None:
    tuples = Tuples()
    first, last = 100 * SECOND, 101 * SECOND - 1
    assert tuples.step(first, first) == {}
    assert tuples.step(first + RANGE - early) == {first: 1}
    assert tuples.step(first + RANGE - early, last) == {}
    assert tuples.step(last + 1) == {last: 2}


def test_a_row_is_gone_with_its_last_window() -> None:
    tuples = Tuples()
    tuples.step(0, 100 * SECOND)
    assert tuples.step(101 * SECOND) == {100 * SECOND: 1}
    assert tuples.kept is None and not tuples.chunks.blobs


def test_rows_of_many_batches_count_together() -> None:
    """More batches than there may be chunks: what is put together is still all there."""
    tuples, batches = Tuples(), 3 * MOST_CHUNKS
    found = {}
    for number in range(batches + 1):
        at = 100 * SECOND + number
        found |= tuples.step(at, at)
    assert found == {100 * SECOND + n: n + 1 for n in range(batches)}
