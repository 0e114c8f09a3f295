"""The kernel of ordered joins, without Spark: whatever the plan, the steps and the disorder, results
are those of the definition, once each, and in order of time."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssql.runtime.operators.asking import Asked
from ssql.runtime.operators.meeting import JoinWindow, Meeting, MetSide
from ssql.runtime.operators.ordered_join import (
    ADAPTIVE,
    FILTER_ORDER,
    SYNC_FILTER,
    OrderedJoinKernel,
)
from ssql.runtime.operators.processor import END_US, HeldChunks, Moment
from ssql.runtime.operators.state import State

PLANS = (SYNC_FILTER, FILTER_ORDER, ADAPTIVE)
Event = tuple[int, str, int]  # time, key and number


def table_of(rows: list[Event]) -> pa.Table | None:
    if not rows:
        return None
    return pa.table(
        {
            "at": pa.array([at for at, _, _ in rows], pa.int64()),
            "key_0": [key for _, key, _ in rows],
            "c_0": pa.array([number for _, _, number in rows], pa.int64()),
        }
    )


class Operator:
    """A kernel with its state, as Spark would call it: with rows, and when something is due."""

    def __init__(self, kernel: OrderedJoinKernel) -> None:
        self.kernel, self.chunks = kernel, HeldChunks()
        self.kept: dict[str, Any] | None = None
        self.watermark = 0

    def step(
        self, *sides: list[Event], watermark: int | None = None, is_end: bool = False
    ) -> list[tuple[int, ...]]:
        """The results that are given: their time, and the numbers of their rows."""
        self.watermark = END_US if is_end else max(self.watermark, watermark or 0)
        state = State(self.chunks, self.kept)
        now = Moment(self.watermark, is_end=is_end)
        sides = sides or ([],) * len(self.kernel.columns)
        tables = list(self.kernel.step(state, [table_of(s) for s in sides], now))
        self.kept = state.kept()
        found = []
        for table in tables:
            rows = zip(*(table.column(n).to_pylist() for n in table.column_names), strict=True)
            found += list(rows)
        return found

    @property
    def due(self) -> int | None:
        return self.kept["memo"].get("due") if self.kept else None


def kernel_of(
    plan: str, window: JoinWindow, *, keyed: bool = True, by: int | None = None, **more: Any
) -> OrderedJoinKernel:
    number = len(window.most_us)
    classes = (("key_0",) * number,) if keyed else ()
    return OrderedJoinKernel(Meeting(window, classes), (("c_0",),) * number, plan, by=by, **more)


def expected(
    sides: list[list[Event]], window: JoinWindow, *, keyed: bool, by: int | None
) -> list[tuple[int, ...]]:
    found = []
    for rows in product(*sides):
        times = [at for at, _, _ in rows]
        if keyed and len({key for _, key, _ in rows}) > 1:
            continue
        if window.size_us and len({(t - window.origin_us) // window.size_us for t in times}) > 1:
            continue
        if all(max(times) - t <= most for t, most in zip(times, window.most_us, strict=True)):
            at = max(times) if by is None else times[by]
            found.append((at, *(number for _, _, number in rows)))
    return found


# ------------------------------------------------------------------ random streams

events = st.lists(st.tuples(st.integers(100, 160), st.sampled_from("ab")), max_size=8)


@st.composite
def windows(draw: st.DrawFn, number: int) -> JoinWindow:
    if draw(st.booleans()):
        size = draw(st.sampled_from([7, 10, 25]))
        return JoinWindow((size - 1,) * number, size, draw(st.sampled_from([0, 3])))
    return JoinWindow(tuple(draw(st.integers(0, 20)) for _ in range(number)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_all_plans_give_the_same_in_order(data: st.DataObject) -> None:
    number = data.draw(st.sampled_from([2, 2, 3]))
    window = data.draw(windows(number))
    keyed, by = data.draw(st.booleans()), data.draw(st.none() | st.integers(0, number - 1))
    sides, numbers = [], iter(range(1000))
    for _ in range(number):
        sides.append([(at, key, next(numbers)) for at, key in data.draw(events)])
    wanted = expected(sides, window, keyed=keyed, by=by)
    # What has come so far decides how far time is; a row within the disorder is never late.
    disorder = data.draw(st.sampled_from([0, 5, 100]))
    steps, watermark = [], 0
    left = [sorted(s) for s in sides]
    while any(left):
        batch = []
        for side in left:
            at_hand = [r for r in side if r[0] <= min(side)[0] + disorder]
            chosen = data.draw(st.lists(st.sampled_from(at_hand), unique=True)) if at_hand else []
            batch.append(chosen)
        if not any(batch):
            batch = [side[:1] for side in left]
        steps.append((batch, watermark))
        left = [[r for r in side if r not in b] for side, b in zip(left, batch, strict=True)]
        first = min((min(side)[0] for side in left if side), default=200)
        watermark = max(watermark, data.draw(st.integers(watermark, max(watermark, first))))
    for plan in PLANS:
        load = iter(
            data.draw(st.lists(st.sampled_from([0.0, 1e-6, 1.0]), min_size=64, max_size=64))
        )
        ticking = {"now": 0.0}

        def seconds(load: Any = load, ticking: dict[str, float] = ticking) -> float:
            ticking["now"] += next(load, 0.0)
            return ticking["now"]

        operator = Operator(kernel_of(plan, window, keyed=keyed, by=by, seconds=seconds))
        found: list[tuple[int, ...]] = []
        for batch, mark in steps:
            given_now = operator.step(*batch, watermark=mark)
            found += in_step(given_now, found)
        found += in_step(operator.step(is_end=True), found)
        assert sorted(found) == sorted(wanted), plan
        assert operator.kept is None and not operator.chunks.blobs


def in_step(
    given_now: list[tuple[int, ...]], before: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """What a step gave, which the sink puts in order; nothing in it is earlier than before."""
    if given_now and before:
        assert min(r[0] for r in given_now) > max(r[0] for r in before)
    return sorted(given_now)


# ------------------------------------------------------------------ the paper's example

S = {"c4": (4, "c"), "b6": (6, "b"), "a8": (8, "a"), "a12": (12, "a")}
T = {"a1": (1, "a"), "d2": (2, "d"), "a5": (5, "a"), "b9": (9, "b"), "c10": (10, "c")}
NAMES = [*S, *T]


def row_of(name: str) -> Event:
    at, key = (S | T)[name]
    return (at, key, NAMES.index(name))


def names_of(found: list[tuple[int, ...]]) -> list[tuple[str, str]]:
    return [(NAMES[s], NAMES[t]) for _, s, t in sorted(found)]


@pytest.mark.parametrize("plan", PLANS)
def test_the_worked_example_of_the_paper(plan: str) -> None:
    """Figures 1(C), 3 and 4: a8 comes after b9 and c10, and the window is 6. Each stream is in order
    in itself, so that after a row at 8 the next one is at 9 or later."""
    operator = Operator(kernel_of(plan, JoinWindow((6, 6)), seconds=lambda: 0.0))
    given_at: dict[str, list[tuple[str, str]]] = {}
    arrived: dict[str, list[str]] = {"S": [], "T": []}
    for name in ("a1", "d2", "c4", "a5", "b6", "b9", "c10", "a8", "a12"):
        side = "S" if name in S else "T"
        arrived[side].append(name)
        rows = ([row_of(name)], []) if side == "S" else ([], [row_of(name)])
        last = [max((row_of(n)[0] for n in arrived[s]), default=-1) for s in ("S", "T")]
        # The row comes first, and then time moves: by TS_trigger, the earlier of both.
        found = operator.step(*rows, watermark=operator.watermark)
        given_at[name] = names_of(found) + names_of(operator.step(watermark=min(last) + 1))
        held = 0 if operator.kept is None else len(operator.kept["chunks"].get("results", {}))
        if name in ("b9", "c10"):
            # Filter-order has joined them already; sync-filter holds the rows themselves.
            assert bool(held) == (plan == FILTER_ORDER)
    assert {n: g for n, g in given_at.items() if g} == {
        "a8": [("a8", "a5")],
        "a12": [("b6", "b9"), ("c4", "c10")],
    }


# ------------------------------------------------------------------ many values of several keys


def test_many_keys_meet_only_their_equals() -> None:
    """Two keys of 20,000 values each, and a window of a day: numbers of groups and times together
    are beyond 64 bits."""
    chance = np.random.default_rng(3)
    tables = []
    for rows, values in ((60_000, 2_000), (30_000, 20_000)):
        keys = [pa.array(chance.integers(0, values, rows)) for _ in range(2)]
        at = pa.array(chance.integers(0, 86_400_000_000, rows))
        tables.append(pa.table([at, *keys], ["at", "key_0", "key_1"]))
    tables[1] = pa.concat_tables([tables[0].slice(0, 500), tables[1]])  # some that do meet
    day = 86_400_000_000
    meeting = Meeting(JoinWindow((day, day)), (("key_0", "key_0"), ("key_1", "key_1")))
    sides = [MetSide(tables[0], None), MetSide(None, tables[1])]
    found = [np.concatenate(places) for places in zip(*meeting.of(sides), strict=True)]
    pairs = {
        (int(a), int(b))
        for a, b in zip(
            *(_combined(t) for t in (tables[0].take(found[0]), tables[1].take(found[1]))),
            strict=True,
        )
    }
    assert all(a == b for a, b in pairs)
    known = set(_combined(tables[0]).tolist())
    wanted = sum(key in known for key in _combined(tables[1]).tolist())
    assert len(pairs) > 20
    assert len(np.unique(found[1])) == wanted


def _combined(table: pa.Table) -> Any:
    return table["key_0"].to_numpy() * 100_000 + table["key_1"].to_numpy()


def test_answers_of_a_function_are_what_spark_takes_them_for() -> None:
    def holds(answer: Any, *asked: Any) -> bool:
        columns = {"a.x": pa.array([1])}
        return bool(Asked(lambda _: answer, ["a.x"], *asked).holds(columns)[0])

    assert [holds(v) for v in (True, False, None, 1)] == [True, False, False, False]
    assert [holds(v, "DOUBLE", ">", 0.5) for v in (1.0, 0.5, None, 1)] == [
        True,
        False,
        False,
        False,
    ]
    nan = float("nan")
    assert [holds(nan, "DOUBLE", c, 1) for c in ("<", "=", "<>", ">=")] == [
        False,
        False,
        True,
        True,
    ]
    large = 2**60 + 1
    assert holds(large, "BIGINT", ">", 2**60)
    assert not holds(large, "BIGINT", "<>", large)
    assert not holds(1.5, "INT", ">", 0)
