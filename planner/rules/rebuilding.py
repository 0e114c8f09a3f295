"""Plans made anew over other inputs, and not at all where these are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ssql.planner.logical import Epochs, Join, OneRow, Plan, StreamScan, TableScan, Union


def over(plan: Plan, inputs: Sequence[Plan]) -> Plan:
    """The plan over these inputs; the plan itself if they are its own."""
    if all(new is old for new, old in zip(inputs, plan.inputs, strict=True)):
        return plan
    match plan:
        case Union():
            return replace(plan, members=tuple(inputs))
        case Join():
            sides = zip(plan.sides, inputs, strict=True)
            return replace(plan, sides=tuple(replace(s, input=i) for s, i in sides))
        case StreamScan() | TableScan() | OneRow() | Epochs():
            raise AssertionError(f"{type(plan).__name__} reads no plan that a rule changes")
        case _:
            return replace(plan, input=inputs[0])


def from_below(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The plan with every node changed, inputs before their consumer."""
    if not isinstance(plan, Epochs):  # chunks are cut from what arrives, all of it
        plan = over(plan, [from_below(i, change) for i in plan.inputs])
    return change(plan)
