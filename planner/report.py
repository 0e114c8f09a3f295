"""Everything that EXPLAIN has to say about a query, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ssql.planner.choose import AggregatePlan, Choice
from ssql.planner.cost.candidates import Candidate, in_bytes
from ssql.planner.cost.estimate import MILLION
from ssql.planner.cost.workload import Workload
from ssql.planner.explain import Outline, outline, outline_query, window_text
from ssql.planner.legality import Unsupported
from ssql.planner.rules import Rewritten
from ssql.planner.statistics import ASSUMED, Figure, Observed, Run
from ssql.planner.windows import TimeWindow

# The columns of candidates, in words.
COSTS = ("CPU", "state", "delay", "copies")
UNITS = "CPU: seconds for a million rows on two cores; copies: of a row"


@dataclass(frozen=True, slots=True)
class Statistic:
    name: str
    value: float
    unit: str
    origin: str

    @property
    def text(self) -> str:
        return f"{in_number(self.value)} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class WindowPlans:
    """The plans for one window in time, side by side, and what they were judged by."""

    text: str
    chosen: str
    reason: str
    candidates: tuple[Candidate, ...]
    statistics: tuple[Statistic, ...]

    @property
    def assumed(self) -> list[str]:
        """What nobody knows."""
        return [s.name for s in self.statistics if s.origin == ASSUMED]


@dataclass(frozen=True, slots=True)
class Rewriting:
    rule: str
    what: str
    tree: Outline


@dataclass(frozen=True, slots=True)
class Measured:
    """What EXPLAIN ANALYZE saw, beside what was expected."""

    name: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Report:
    number: int
    title: str
    plan: str | None  # None: no plan runs it
    reason: str
    tree: Outline
    windows: tuple[WindowPlans, ...] = ()
    rewritings: tuple[Rewriting, ...] = ()
    measured: tuple[Measured, ...] = ()

    @property
    def verdict(self) -> str:
        return f"plan {self.plan}: {self.reason}" if self.plan else f"no plan: {self.reason}"


def report(rewritten: Rewritten, choice: Choice | Unsupported, *, verbose: bool = False) -> Report:
    query = rewritten.query
    tree = outline_query(query, verbose=verbose)
    rewritings = tuple(Rewriting(c.rule, c.what, outline(c.plan)) for c in rewritten.changes)
    if isinstance(choice, Unsupported):
        return Report(query.number, tree.title, None, choice.message, tree, (), rewritings)
    windows = tuple(_window(a) for a in choice.aggregates if a.load is not None)
    return Report(query.number, tree.title, choice.plan, choice.reason, tree, windows, rewritings)


def _window(plan: AggregatePlan) -> WindowPlans:
    assert isinstance(plan.node.window, TimeWindow) and plan.load is not None
    return WindowPlans(
        window_text(plan.node.window),
        plan.plan,
        plan.reason,
        plan.candidates,
        tuple(_statistics(plan.load)),
    )


def _statistics(load: Workload) -> Iterator[Statistic]:
    def one(name: str, figure: Figure, unit: str) -> Statistic:
        return Statistic(name, figure.value, unit, figure.origin)

    yield one("rate", load.rate, "rows a second")
    yield one("groups", load.groups, "")
    yield one("skew", load.skew, "")
    yield one("batch", load.batch_seconds, "seconds of rows")
    yield one("disorder", load.delay_seconds, "seconds")


def costs(candidate: Candidate) -> tuple[str, ...]:
    """As COSTS has them; nothing, if a plan cannot run the query."""
    cost = candidate.estimate
    if cost is None:
        return ()
    return (
        in_seconds(cost.cpu_seconds),
        in_bytes(cost.state_bytes),
        in_seconds(cost.delay_seconds),
        in_number(round(cost.copies, 1)),
    )


def in_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2g}"


def in_seconds(seconds: float) -> str:
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"


# ------------------------------------------------------------------ EXPLAIN ANALYZE


def measured(found: Report, run: Run, seen: Sequence[Observed]) -> Report:
    """The report with what a run of the query was like. Figures of the rows are those of a query
    that reads one stream."""
    rows: list[Measured] = []
    chosen = [c for w in found.windows for c in w.candidates if c.plan == w.chosen and c.estimate]
    if chosen and run.rows:
        cpu = sum(c.estimate.cpu_seconds for c in chosen if c.estimate)
        took = run.batch_seconds * run.batches * MILLION / run.rows
        rows.append(Measured("a million rows take", in_seconds(cpu), in_seconds(took)))
        state = sum(c.estimate.state_bytes for c in chosen if c.estimate)
        found_state = f"{in_bytes(run.state_bytes)}, {run.state_rows:,} rows"
        rows.append(Measured("state, at most", in_bytes(state), found_state))
    if len(found.windows) == 1 and len(seen) == 1:
        known = {s.name: s for s in found.windows[0].statistics}
        if (rate := seen[0].rate) is not None:
            rows.append(Measured("rows a second", known["rate"].text, in_number(rate)))
        for groups in list(seen[0].distinct.values())[:1]:
            rows.append(Measured("groups", known["groups"].text, in_number(groups)))
    rows.append(Measured("rows in", "", f"{run.rows:,}"))
    rows.append(Measured("batches", "", f"{run.batches}, {in_seconds(run.batch_seconds)} each"))
    return replace(found, measured=tuple(rows))


# ------------------------------------------------------------------ for programs


def as_json(found: Report) -> dict[str, Any]:
    return {
        "query": found.number,
        "output": found.title.partition(" → ")[2],
        "plan": found.plan,
        "reason": found.reason,
        "rewritten": [{"rule": r.rule, "what": r.what} for r in found.rewritings],
        "tree": _tree(found.tree.inputs[0]),
        "windows": [_window_json(w) for w in found.windows],
        "measured": [
            {"name": m.name, "expected": m.expected, "found": m.found} for m in found.measured
        ],
    }


def _window_json(window: WindowPlans) -> dict[str, Any]:
    statistics = [
        {"name": s.name, "value": s.value, "unit": s.unit, "origin": s.origin}
        for s in window.statistics
    ]
    return {
        "window": window.text,
        "chosen": window.chosen,
        "reason": window.reason,
        "candidates": [_candidate(c, chosen=c.plan == window.chosen) for c in window.candidates],
        "statistics": statistics,
    }


def _candidate(candidate: Candidate, *, chosen: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"plan": candidate.plan, "chosen": chosen}
    if cost := candidate.estimate:
        fields |= {
            "cpu_seconds_a_million_rows": cost.cpu_seconds,
            "state_bytes": cost.state_bytes,
            "delay_seconds": cost.delay_seconds,
            "copies": cost.copies,
        }
    return fields | ({"out": candidate.out} if candidate.out else {})


def _tree(outline: Outline) -> dict[str, Any]:
    return {
        "operator": outline.title,
        "details": list(outline.details),
        "inputs": [_tree(i) for i in outline.inputs],
    }
