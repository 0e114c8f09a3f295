"""Everything that EXPLAIN has to say about a query, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ssql.planner.choose import AggregatePlan, Choice, JoinPlan
from ssql.planner.cost.candidates import Candidate, in_bytes
from ssql.planner.cost.estimate import MILLION
from ssql.planner.cost.joins import JoinCandidate, JoinLoad
from ssql.planner.cost.workload import CALCULATED, Workload
from ssql.planner.explain import Outline, join_text, outline, outline_query, window_text
from ssql.planner.legality import Unsupported
from ssql.planner.rules import Rewritten
from ssql.planner.statistics import ASSUMED, Figure, Observed, Run
from ssql.planner.windows import TimeWindow

# The columns of candidates, in words.
_COSTS = ("CPU", "state", "delay", "copies")
_UNITS = "CPU: seconds for a million rows on two cores; copies: of a row"
_JOIN_COSTS = ("response", "state")
_JOIN_UNITS = "response: until a row is completely processed, on average, beside the disorder"


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
class Line:
    """A plan among others: its costs in words (none, if it cannot run the query), and why it is
    out, if it is."""

    plan: str
    costs: tuple[str, ...]
    out: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternatives:
    """The plans for one part of a query, side by side, and what they were judged by. `heads` are
    the columns of the lines, `units` what they are in."""

    text: str
    chosen: str
    reason: str
    statistics: tuple[Statistic, ...]
    heads: tuple[str, ...]
    units: str
    lines: tuple[Line, ...]

    @property
    def assumed(self) -> list[str]:
        """What nobody knows."""
        return [s.name for s in self.statistics if s.origin == ASSUMED]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPlans(Alternatives):
    """For one window in time."""

    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPlans(Alternatives):
    """For one join whose results come in order of time."""

    candidates: tuple[JoinCandidate, ...]


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
    joins: tuple[JoinPlans, ...] = ()
    rewritings: tuple[Rewriting, ...] = ()
    measured: tuple[Measured, ...] = ()

    @property
    def verdict(self) -> str:
        return f"plan {self.plan}: {self.reason}" if self.plan else f"no plan: {self.reason}"

    @property
    def alternatives(self) -> tuple[Alternatives, ...]:
        return (*self.windows, *self.joins)


def report(rewritten: Rewritten, choice: Choice | Unsupported, *, verbose: bool = False) -> Report:
    query = rewritten.query
    tree = outline_query(query, verbose=verbose)
    rewritings = tuple(Rewriting(c.rule, c.what, outline(c.plan)) for c in rewritten.changes)
    if isinstance(choice, Unsupported):
        return Report(query.number, tree.title, None, choice.message, tree, rewritings=rewritings)
    windows = tuple(_window(a) for a in choice.aggregates if a.load is not None)
    joins = tuple(map(_join, choice.joins))
    return Report(
        query.number, tree.title, choice.plan, choice.reason, tree, windows, joins, rewritings
    )


def _window(plan: AggregatePlan) -> WindowPlans:
    assert isinstance(plan.node.window, TimeWindow) and plan.load is not None
    return WindowPlans(
        text=window_text(plan.node.window),
        chosen=plan.plan,
        reason=plan.reason,
        statistics=tuple(_statistics(plan.load)),
        heads=_COSTS,
        units=_UNITS,
        lines=tuple(Line(c.plan, costs(c), c.out) for c in plan.candidates),
        candidates=plan.candidates,
    )


def _join(plan: JoinPlan) -> JoinPlans:
    return JoinPlans(
        text=join_text(plan.ordered.join),
        chosen=plan.plan,
        reason=plan.reason,
        statistics=tuple(_join_statistics(plan.load, plan.alpha)),
        heads=_JOIN_COSTS,
        units=_JOIN_UNITS,
        lines=tuple(Line(c.plan, join_costs(c), c.out) for c in plan.candidates),
        candidates=plan.candidates,
    )


def _one(name: str, figure: Figure, unit: str) -> Statistic:
    return Statistic(name, figure.value, unit, figure.origin)


def _statistics(load: Workload) -> Iterator[Statistic]:
    yield _one("rate", load.rate, "rows a second")
    yield _one("groups", load.groups, "")
    yield _one("skew", load.skew, "")
    yield _one("batch", load.batch_seconds, "seconds of rows")
    yield _one("disorder", load.delay_seconds, "seconds")


def _join_statistics(load: JoinLoad, alpha: float) -> Iterator[Statistic]:
    yield _one("rate", load.slow, "rows a second: λ1, of the slowest stream")
    yield _one("rate", load.fast, "rows a second: λ2, of the fastest")
    yield _one("keys", load.keys, "values that rows are joined by")
    yield Statistic("window", load.window_seconds, "seconds: |w|", "declared")
    yield Statistic("pair", load.pair_seconds * 1e9, "nanoseconds: c", CALCULATED)
    yield Statistic("load", load.load, f"= c·|w|·λ1·λ2; filter-order from {alpha:g} on", CALCULATED)
    percent = round(100 * load.improvement, 1)
    yield Statistic("improvement", percent, "% sooner with filter-order", CALCULATED)


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


def join_costs(candidate: JoinCandidate) -> tuple[str, ...]:
    """As _JOIN_COSTS has them; nothing, if a plan cannot run the query."""
    if candidate.out:
        return ()
    cost = candidate.estimate
    return (in_seconds(cost.response_seconds), in_bytes(cost.state_bytes))


def in_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2g}"


def in_seconds(seconds: float) -> str:
    if seconds < 0.01:
        return f"{seconds * 1000:.2g} ms"
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
        "joins": [_join_json(j) for j in found.joins],
        "measured": [
            {"name": m.name, "expected": m.expected, "found": m.found} for m in found.measured
        ],
    }


def _window_json(window: WindowPlans) -> dict[str, Any]:
    return {
        "window": window.text,
        "chosen": window.chosen,
        "reason": window.reason,
        "candidates": [_candidate(c, chosen=c.plan == window.chosen) for c in window.candidates],
        "statistics": _statistics_json(window),
    }


def _join_json(join: JoinPlans) -> dict[str, Any]:
    candidates = []
    for candidate in join.candidates:
        fields: dict[str, Any] = {"plan": candidate.plan, "chosen": candidate.plan == join.chosen}
        if candidate.out:
            fields["out"] = candidate.out
        else:
            fields["response_seconds"] = candidate.estimate.response_seconds
            fields["state_bytes"] = candidate.estimate.state_bytes
        candidates.append(fields)
    return {
        "join": join.text,
        "chosen": join.chosen,
        "reason": join.reason,
        "candidates": candidates,
        "statistics": _statistics_json(join),
    }


def _statistics_json(found: Alternatives) -> list[dict[str, Any]]:
    return [
        {"name": s.name, "value": s.value, "unit": s.unit, "origin": s.origin}
        for s in found.statistics
    ]


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
