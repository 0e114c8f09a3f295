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
    NATIVE_ENTRY_BYTES,
    OPERATOR_ENTRY_BYTES,
    PART_BYTES,
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
    parts, keeps_values = sum(len(r.parts) for r in recipes), collects(node)
    done = amounts(plan, load, shape)
    batch = batch_seconds(plan, parts, done, constants(), keeps_values=keeps_values)
    rows = load.rate.value * load.batch_seconds.value
    native, operator = state_entries(plan, load, shape)
    content = float(PART_BYTES * parts)
    if keeps_values:
        content *= values_kept(plan, load, shape)
    keys = load.key_bytes + content
    return Estimate(
        cpu_seconds=batch * MILLION / rows,
        state_bytes=native * (NATIVE_ENTRY_BYTES + keys) + operator * (OPERATOR_ENTRY_BYTES + keys),
        delay_seconds=load.delay_seconds.value + _BATCHES[plan] * load.batch_seconds.value,
        copies=shape.copies if plan == "wid" else 1.0,
    )


def batch_seconds(
    plan: str, parts: int, of_batch: Amounts, known: Constants, *, keeps_values: bool
) -> float:
    """How long a batch takes. Further columns of an aggregate make everything dearer, but for what
    is paid by the batch."""
    takes = known.seconds[plan]
    several = 1 + known.another_part * (max(parts, 1) - 1)
    seconds = takes[BATCH]
    for name, amount in of_batch.items():
        if name in OF_VALUES:
            seconds += takes[name] * amount if keeps_values else 0.0
        else:
            seconds += takes[name] * amount * several
    return seconds


def collects(node: Aggregate) -> bool:
    """Does one of its calls keep all values of a group? (Whether an aggregate is differential makes
    no difference: maxima of blocks of panes are had as fast as differences.)"""
    known = [AGGREGATES.get(c.function) for c in node.calls]
    distinct = any("DISTINCT" in c.scalar.sql.upper() for c in node.calls)
    return distinct or any(a is not None and a.merging is Merging.HOLISTIC for a in known)


def shape_of(window: TimeWindow, pane_us: int) -> Shape:
    return Shape(range=window.range_us / 1e6, slide=window.slide_us / 1e6, pane=pane_us / 1e6)
