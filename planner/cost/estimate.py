"""The cost of a plan for one aggregate."""

from __future__ import annotations

from dataclasses import dataclass

from ssql.planner.aggregates import AGGREGATES, Merging
from ssql.planner.aggregates.recipes import Recipe
from ssql.planner.cost.amounts import (
    OF_VALUES,
    Amounts,
    Shape,
    amounts,
    state_entries,
    values_kept,
)
from ssql.planner.cost.constants import (
    BATCH,
    COLLECTION,
    NATIVE_ENTRY_BYTES,
    OPERATOR_ENTRY_BYTES,
    PART_BYTES,
    PLAIN,
    Constants,
    constants,
)
from ssql.planner.cost.workload import Workload
from ssql.planner.logical import Aggregate
from ssql.planner.windows import TimeWindow

MILLION = 1_000_000
# Batches from the one that brings the last row of a window to the one that gives its result: an
# aggregate over panes is told of progress a batch later than the panes are.
_BATCHES = {"wid": 1, "paned": 2, "rolling": 2, "adaptwid": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    cpu_seconds: float  # a million rows, on two cores
    state_bytes: float
    delay_seconds: float
    copies: float  # of a row


def estimate(
    plan: str, node: Aggregate, recipes: list[Recipe], load: Workload, shape: Shape
) -> Estimate:
    kind, parts = kind_of(node), sum(len(r.parts) for r in recipes)
    batch = batch_seconds(plan, kind, parts, amounts(plan, load, shape), constants())
    rows = load.rate.value * load.batch_seconds.value
    native, operator = state_entries(plan, load, shape)
    content = float(PART_BYTES * parts)
    if kind == COLLECTION:
        content *= values_kept(plan, load, shape)
    keys = load.key_bytes + content
    return Estimate(
        cpu_seconds=batch * MILLION / rows,
        state_bytes=native * (NATIVE_ENTRY_BYTES + keys) + operator * (OPERATOR_ENTRY_BYTES + keys),
        delay_seconds=load.delay_seconds.value + _BATCHES[plan] * load.batch_seconds.value,
        copies=shape.copies if plan == "wid" else 1.0,
    )


def batch_seconds(plan: str, kind: str, parts: int, of_batch: Amounts, known: Constants) -> float:
    """How long a batch takes."""
    takes = known.of(kind, plan)
    several = 1 + known.another_part * (max(parts, 1) - 1)
    seconds = takes[BATCH]
    for name, amount in of_batch.items():
        if name not in OF_VALUES:
            seconds += takes.get(name, 0.0) * amount * several
        elif kind == COLLECTION:
            seconds += takes.get(name, 0.0) * amount
    return seconds


def kind_of(node: Aggregate) -> str:
    """Of the most costly of its calls. (Whether an aggregate is differential makes no difference
    here: maxima of blocks of panes are had as fast as differences.)"""
    known = [AGGREGATES.get(c.function) for c in node.calls]
    distinct = any("DISTINCT" in c.scalar.sql.upper() for c in node.calls)
    if distinct or any(a is not None and a.merging is Merging.HOLISTIC for a in known):
        return COLLECTION
    return PLAIN


def shape_of(window: TimeWindow, pane_us: int) -> Shape:
    return Shape(range=window.range_us / 1e6, slide=window.slide_us / 1e6, pane=pane_us / 1e6)
