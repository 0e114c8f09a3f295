"""All plans for a window in time, side by side: what each costs, or why it is out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ssql.planner.cost.amounts import Shape
from ssql.planner.cost.estimate import Estimate, estimate
from ssql.planner.cost.workload import Workload
from ssql.planner.legality import OF_PANES, OPERATORS, TIME_PLANS, obstacle, recipe
from ssql.planner.logical import Aggregate
from ssql.planner.windows import TimeWindow

# Spark's own plans need no Python: an operator has to be cheaper by more than this.
WORTH_AN_OPERATOR = 1.05


@dataclass(frozen=True, slots=True)
class Candidate:
    plan: str
    estimate: Estimate | None  # None: it cannot run the query
    out: str = ""  # why it is not an option: it cannot run the query, or its state does not fit
    over_limit: bool = False

    @property
    def is_option(self) -> bool:
        return not self.out


def candidates(
    node: Aggregate, window: TimeWindow, load: Workload, shape: Shape, limit_bytes: float
) -> tuple[Candidate, ...]:
    found = []
    for plan in TIME_PLANS:
        if refused := obstacle(node, window, plan):
            found.append(Candidate(plan, None, refused.message))
            continue
        recipes = [recipe(call, node) for call in node.calls]
        cost = estimate(plan, node, recipes, load, shape)
        if cost.state_bytes > limit_bytes:
            takes, most = in_bytes(cost.state_bytes), in_bytes(limit_bytes)
            why = f"its state would take {takes}, and {most} may be"
            found.append(Candidate(plan, cost, why, over_limit=True))
        elif plan in OF_PANES and window.range_us <= window.slide_us:
            found.append(Candidate(plan, cost, "a pane would be a window: wid, twice"))
        else:
            found.append(Candidate(plan, cost))
    return tuple(found)


def cheapest(found: Sequence[Candidate]) -> Candidate | None:
    """The least CPU. If no plan's state fits, the one with the least state; None: no plan can run
    the query."""
    options = [c for c in found if c.is_option]
    if not options:
        runnable = [c for c in found if c.estimate is not None]
        return min(runnable, key=lambda c: _cost(c).state_bytes, default=None)
    best = min(options, key=lambda c: _cost(c).cpu_seconds)
    if best.plan in OPERATORS:
        limit = _cost(best).cpu_seconds * WORTH_AN_OPERATOR
        native = [c for c in options if c.plan not in OPERATORS and _cost(c).cpu_seconds <= limit]
        return min(native, key=lambda c: _cost(c).cpu_seconds, default=best)
    return best


def _cost(candidate: Candidate) -> Estimate:
    assert candidate.estimate is not None
    return candidate.estimate


def in_bytes(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return (
                f"{number:.0f} {unit}"
                if number >= 10 or unit == "bytes"
                else f"{number:.1f} {unit}"
            )
        number /= 1000
    return f"{number:,.1f} TB"
