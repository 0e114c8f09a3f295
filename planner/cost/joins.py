"""What ordered joins cost: how long it takes until a row is completely processed, by the formulas
of Hammad, Aref and Elmagarmid, and what is kept meanwhile.

λ1 and λ2 are the rates of the slowest and the fastest stream, |w| is the window, n = λ2/λ1, and c
is the time that a pair of rows takes. We join by keys and not pair by pair, so c is what a row
takes, spread over the pairs that its window has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ssql.planner.cost.constants import OPERATOR_ENTRY_BYTES, constants
from ssql.planner.cost.workload import CALCULATED, Rows, rows_of, values_of
from ssql.planner.logical import Join
from ssql.planner.ordered import ADAPTIVE, FILTER_ORDER, JOIN_PLANS, SYNC_FILTER, OrderedJoin
from ssql.planner.scalar import Scalar
from ssql.planner.statistics import ASSUMED, Figure, Memory, width_of
from ssql.planner.windows import SlidingJoin, TumblingJoin, WithinJoin

ALPHA = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinLoad:
    slow: Figure  # rows a second: λ1
    fast: Figure  # λ2
    rate: float  # of all streams together
    window_seconds: float
    keys: Figure  # values that rows are joined by
    delay_seconds: Figure
    batch_seconds: Figure
    row_bytes: float  # of all sides on average
    streams: tuple[str, ...]

    @property
    def partners(self) -> float:
        """That a row of the fast stream finds in its window."""
        return self.slow.value * self.window_seconds / self.keys.value

    @property
    def load(self) -> float:
        """c·|w|·λ1·λ2. A pair of rows is found by the later one, whichever side it is of, so this
        is half of the share of time that joining takes."""
        known = constants().join
        return known["rows"] * self.rate / 2 + known["pairs"] * self.fast.value * self.partners

    @property
    def pair_seconds(self) -> float:
        """c."""
        return self.load / (self.window_seconds * self.slow.value * self.fast.value)

    @property
    def is_known(self) -> bool:
        return ASSUMED not in (self.slow.origin, self.fast.origin)

    @property
    def improvement(self) -> float:
        """By which part filter-order answers sooner (Eq. 7)."""
        return self.load / (1 + self.load)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinEstimate:
    response_seconds: float
    state_bytes: float


@dataclass(frozen=True, slots=True)
class JoinCandidate:
    plan: str
    estimate: JoinEstimate
    out: str = ""  # why it cannot run the query


def join_load(ordered: OrderedJoin, memory: Memory) -> JoinLoad:
    join = ordered.join
    sides = [(s, rows_of(s.input, memory)) for s in join.sides if s.time is not None]
    rates = sorted((rows.rate for _, rows in sides), key=lambda f: f.value)
    widths = [sum(width_of(f.type) for f in s.input.schema) for s, _ in sides]
    return JoinLoad(
        slow=rates[0],
        fast=rates[-1],
        rate=sum(r.value for r in rates),
        window_seconds=_window_seconds(join),
        keys=_keys(ordered, [rows for _, rows in sides]),
        delay_seconds=max((r.delay_seconds for _, r in sides), key=lambda f: f.value),
        batch_seconds=max((r.batch_seconds for _, r in sides), key=lambda f: f.value),
        row_bytes=sum(widths) / len(widths) + OPERATOR_ENTRY_BYTES,
        streams=tuple(dict.fromkeys(s for _, r in sides for s in r.streams)),
    )


def _window_seconds(join: Join) -> float:
    """|w|, where each side has its own, on average."""
    match join.window:
        case WithinJoin(size_us=size):
            return max(size, 1) / 1e6
        case TumblingJoin(size_us=size):
            return size / 2e6  # of a window, half has gone when a row comes
        case SlidingJoin():
            ranges = [s.range_us for s in join.sides if s.range_us is not None]
            return sum(ranges) / len(ranges) / 1e6
        case _:
            return 1e-6  # rows of one instant


def _keys(ordered: OrderedJoin, rows: Sequence[Rows]) -> Figure:
    """The values of the keys that all sides have, together."""
    found: list[Figure] = []
    for key in ordered.conditions.keys:
        trees = [(tree, r) for tree, r in zip(key, rows, strict=False) if tree is not None]
        of_sides = [values_of(r, Scalar(tree=tree, type="?")) for tree, r in trees]
        found.append(max(of_sides, key=lambda f: f.value))
    if not found:
        return Figure(1.0, CALCULATED)
    origin = ASSUMED if any(f.origin == ASSUMED for f in found) else found[0].origin
    return Figure(min(math.prod(f.value for f in found), 1e12), origin)


def rows_kept_bytes(load: JoinLoad) -> float:
    """Of the rows that wait in their windows, whatever the plan."""
    behind = load.delay_seconds.value + load.batch_seconds.value + 1 / load.slow.value
    return load.rate * (load.window_seconds + behind) * load.row_bytes


def join_candidates(ordered: OrderedJoin, load: JoinLoad) -> tuple[JoinCandidate, ...]:
    obstacle = ordered.obstacle()
    found = []
    for plan in JOIN_PLANS:
        out = f"{obstacle}" if obstacle and plan != FILTER_ORDER else ""
        found.append(JoinCandidate(plan, _estimate(plan, load), out))
    return tuple(found)


def _estimate(plan: str, load: JoinLoad) -> JoinEstimate:
    """Eq. 3 and 5, and what is kept: rows in their windows, and rows or results that are held."""
    slow, fast = load.slow.value, load.fast.value
    n = fast / slow
    waits = 1 / slow - (n - 1) / (2 * fast)
    behind = load.delay_seconds.value + load.batch_seconds.value + 1 / slow
    rows = rows_kept_bytes(load)
    results = 2 * fast * load.partners * behind * 2 * load.row_bytes
    together = (n + 1) / 2 * load.load / fast  # (n + 1)/2 · c·|w|·λ1
    match plan:
        case "sync-filter":
            return JoinEstimate(response_seconds=waits + together, state_bytes=rows)
        case "filter-order":
            return JoinEstimate(response_seconds=waits, state_bytes=rows + results)
        case _:
            is_high = load.load >= ALPHA
            return _estimate(FILTER_ORDER if is_high else SYNC_FILTER, load)


def join_choice(
    found: Sequence[JoinCandidate], load: JoinLoad, alpha: float, *, are_shown: bool
) -> tuple[str, str]:
    """The plan, and why. Results that are not shown go into a window, which puts them in order."""
    out = next((c.out for c in found if c.out), "")
    if out:
        held = "results are held until their turn" if are_shown else "the window does the rest"
        return FILTER_ORDER, f"{out}: Spark joins rows as they come, and {held}"
    load_text = f"c·|w|·λ1·λ2 is {load.load:.2g}"
    if not load.is_known:
        return ADAPTIVE, (
            "nobody knows how fast the streams are: it begins with sync-filter, measures, and"
            f" switches where c·|w|·λ1·λ2 reaches {alpha:g}"
        )
    if load.load >= alpha:
        return FILTER_ORDER, (
            f"{load_text}, not below {alpha:g}: joining rows while the slower stream is waited for"
            f" gives results {load.improvement:.0%} sooner"
        )
    return SYNC_FILTER, (
        f"{load_text}, below {alpha:g}: joining rows as they come would give results only"
        f" {load.improvement:.1%} sooner, and hold more"
    )
