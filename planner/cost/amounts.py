"""How much of everything a plan does in a batch: what there is one constant for.

T is the time that a batch brings, R the rate, L a pane, P the panes of a window. A row is in C =
RANGE/SLIDE windows. Spark merges the rows of a batch that are of one group and window (or pane)
before it looks into its state: such a pair is one access, however many rows it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ssql.planner.cost.workload import Workload

Amounts = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A sliding window, in seconds."""

    range: float
    slide: float
    pane: float

    @property
    def copies(self) -> float:
        return max(self.range / self.slide, 1.0)

    @property
    def covered(self) -> float:
        """The share of time that is in any window: less than 1 where SLIDE is the longer one."""
        return min(self.range / self.slide, 1.0)

    @property
    def panes(self) -> float:
        return self.range / self.pane


@dataclass(frozen=True, slots=True)
class _Flow:
    """What all plans have in common, for one batch."""

    load: Workload
    shape: Shape

    @property
    def seconds(self) -> float:
        return self.load.batch_seconds.value

    @property
    def rows(self) -> float:
        return self.load.rate.value * self.seconds * self.shape.covered

    def groups_of(self, seconds: float) -> float:
        return self.load.groups_in(self.load.rate.value * seconds)

    def accessed(self, length: float, step: float) -> float:
        """Pairs of a group and an extent of this length that the rows of a batch are of."""
        extents = (self.seconds + length) / step
        overlap = self.seconds * length / (self.seconds + length)
        return extents * self.groups_of(overlap)

    @property
    def results(self) -> float:
        return self.seconds / self.shape.slide * self.groups_of(self.shape.range)

    @property
    def panes(self) -> float:
        """Aggregates of panes, of all groups, that become final."""
        shape = self.shape
        return self.seconds * shape.covered / shape.pane * self.groups_of(shape.pane)

    @property
    def held(self) -> float:
        """Aggregates of panes that windows are made of."""
        return (self.shape.panes + self.seconds / self.shape.pane) * self.groups_of(self.shape.pane)

    def values(self, seconds: float) -> float:
        """Values that a set collects, of one group."""
        rows = self.load.rate.value * seconds
        return self.load.values_in(rows / max(self.load.groups_in(rows), 1e-9))


def _wid(flow: _Flow) -> Amounts:
    shape = flow.shape
    return {
        "projections": shape.copies,  # Spark plans each copy of a row anew, batch by batch
        "copies": flow.rows * shape.copies,  # a'·T a window (Eq. 6.3)
        "copied values": flow.rows * shape.copies,
        "window accesses": flow.accessed(shape.range, shape.slide),
        "results": flow.results,
        "result values": flow.results * flow.values(shape.range),
    }


def _of_panes(flow: _Flow) -> Amounts:
    shape = flow.shape
    return {
        "rows": flow.rows,  # a·T/P a window, and
        "values": flow.rows,
        "pane accesses": flow.accessed(shape.pane, shape.pane),
        "panes": flow.panes,  # b·G (Eq. 6.1)
        "pane values": flow.panes * flow.values(shape.pane),
    }


def _paned(flow: _Flow) -> Amounts:
    shape = flow.shape
    copies = flow.panes * shape.copies
    return _of_panes(flow) | {
        "projections": shape.copies,
        "pane copies": copies,  # c·P·G (Eq. 6.1)
        "copied values": copies * flow.values(shape.pane),
        "window accesses": flow.accessed(shape.range, shape.slide),
        "results": flow.results,
        "result values": flow.results * flow.values(shape.range),
    }


def _rolling(flow: _Flow) -> Amounts:
    shape = flow.shape
    gathered = flow.results * shape.panes * flow.values(shape.pane)
    return _of_panes(flow) | {
        "held": flow.held,  # read once a batch, however many windows close
        "results": flow.results,  # 2·c·G·SLIDE/GCD (Eq. 6.2), for all aggregates
        "gathered values": gathered,  # sets are put together anew for each window
    }


def _adaptwid(flow: _Flow) -> Amounts:
    shape = flow.shape
    in_window = flow.load.rate.value * shape.range * shape.covered
    rows_of_group = in_window / max(flow.groups_of(shape.range), 1e-9)
    return {
        "rows": flow.rows,
        "values": flow.rows,
        "held": min(flow.held, in_window + flow.rows),  # rows or aggregates (Cond. 6.9)
        "results": flow.results,
        "gathered values": flow.results * rows_of_group,  # lists stay rows
    }


_PLANS: dict[str, Callable[[_Flow], Amounts]] = {
    "wid": _wid,
    "paned": _paned,
    "rolling": _rolling,
    "adaptwid": _adaptwid,
}
# Those that only count where values are collected.
OF_VALUES = frozenset(
    {"values", "copied values", "result values", "pane values", "gathered values"}
)


def amounts(plan: str, load: Workload, shape: Shape) -> Amounts:
    """What a plan does in a batch, beside what every batch takes anyway."""
    return _PLANS[plan](_Flow(load, shape))


def state_entries(plan: str, load: Workload, shape: Shape) -> tuple[float, float]:
    """Aggregates (or rows) that a plan keeps, in Spark's state and in an operator's tables."""
    flow = _Flow(load, shape)
    late = load.delay_seconds.value + flow.seconds
    panes = (late / shape.pane + 1) * flow.groups_of(shape.pane)
    match plan:
        case "wid":
            return (late + shape.range) / shape.slide * flow.groups_of(shape.range), 0.0
        case "paned":
            return panes + shape.copies * flow.groups_of(shape.range), 0.0
        case "rolling":
            return panes, flow.held
        case _:
            rows = load.rate.value * (shape.range * shape.covered + late)
            return 0.0, min(rows, flow.held + panes)


def values_kept(plan: str, load: Workload, shape: Shape) -> float:
    """Values that an aggregate in the state holds on to, where it collects them."""
    flow = _Flow(load, shape)
    match plan:
        case "adaptwid":
            return 1.0
        case "rolling":
            return flow.values(shape.pane)
        case _:
            return flow.values(shape.range)
