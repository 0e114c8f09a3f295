"""AdaptWID's two forms: when a group keeps rows, when aggregates, and what it has in between."""

from __future__ import annotations

import json

import pyarrow as pa
from streams import SECOND

from ssql.runtime.operators.adaptwid import AdaptKernel
from ssql.runtime.operators.merging import Layout
from ssql.runtime.operators.processor import END_US, HeldChunks, Moment
from ssql.runtime.operators.sliding import Sliding
from ssql.runtime.operators.state import State


class Group:
    """One group in one bucket, RANGE 10 s and SLIDE 1 s. Its state is read anew before each step."""

    def __init__(self) -> None:
        shape = Sliding(10 * SECOND, SECOND, 0, (10 * SECOND,))
        self.kernel = AdaptKernel(Layout(("key_0",), {"part_0": "sum"}), shape)
        self.chunks, self.kept = HeldChunks(), None
        self.counts: dict[int, int] = {}  # by the ends of windows, in seconds

    def step(self, watermark: int, rows: int = 0, at: int = 0) -> None:
        """`rows` rows within the second `at`."""
        times = pa.array([at * SECOND + i for i in range(rows)], pa.int64())
        ones = pa.array([1] * rows, pa.int64())
        table = pa.table({"at": times, "key_0": ["a"] * rows, "part_0": ones})
        moment = Moment(watermark * SECOND, is_end=watermark * SECOND > END_US)
        state = State(self.chunks, self.kept)
        results = self.kernel.step(state, table if rows else None, moment)
        kept = state.kept()
        for found in results:
            ends = found["end"].to_numpy() // SECOND
            self.counts |= dict(zip(ends.tolist(), found["part_0"].to_pylist(), strict=True))
        self.kept = None if kept is None else json.loads(json.dumps(kept))

    def rows_in(self, table: str) -> int:
        found = State(self.chunks, self.kept).table(table)
        return 0 if found is None else found.num_rows


def test_a_group_becomes_eager_and_lazy_again() -> None:
    group = Group()
    group.step(99, rows=5, at=100)
    assert (group.rows_in("entries"), group.rows_in("eager")) == (5, 0)
    group.step(100, rows=40, at=101)  # more rows than panes
    assert (group.rows_in("entries"), group.rows_in("eager")) == (2, 1)
    group.step(107, rows=3, at=108)
    assert (group.rows_in("entries"), group.rows_in("eager")) == (3, 1)
    group.step(112, rows=3, at=112)  # the dense panes have expired: few rows are left
    assert (group.rows_in("entries"), group.rows_in("eager")) == (1 + 3, 0)  # both forms
    group.step(END_US // SECOND + 1)
    assert group.counts == (
        {101: 5}
        | dict.fromkeys(range(102, 109), 45)
        | {109: 48, 110: 48, 111: 43}
        | {112: 3}
        | dict.fromkeys(range(113, 119), 6)
        | dict.fromkeys(range(119, 123), 3)
    )
    assert group.kept is None and not group.chunks.blobs


def test_rows_of_several_steps_count_together() -> None:
    """The ten panes of a window make a group eager with more rows than that, whenever they came."""
    group = Group()
    group.step(100, rows=9, at=100)
    assert group.rows_in("eager") == 0
    group.step(100, rows=3, at=100)
    assert group.rows_in("eager") == 1


def test_a_group_that_loses_a_little_stays_eager() -> None:
    """Between the two thresholds a group is what it was, so that it does not go to and fro."""
    group = Group()
    group.step(100, rows=3, at=100)
    group.step(100, rows=9, at=101)  # 12 rows, and 10 panes
    assert group.rows_in("eager") == 1
    group.step(110, rows=0)  # 9 of them are left: fewer than panes, more than three quarters
    assert group.rows_in("eager") == 1
    lazy = Group()
    lazy.step(100, rows=9, at=101)
    lazy.step(110, rows=0)
    assert lazy.rows_in("eager") == 0
