"""A chosen plan to the body of one function: DataFrames in, a DataFrame out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from ssql.compiler.dialect import call_name
from ssql.compiler.emit.aggregates import AggregateSteps
from ssql.compiler.emit.columns import item_sql, sql_of
from ssql.compiler.emit.python import Call, Names, chain, comment, literal
from ssql.compiler.source import Source, Span
from ssql.compiler.spark_functions import VOLATILE
from ssql.planner.catalog import Stream, Table
from ssql.planner.choose import Choice
from ssql.planner.logical import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Join,
    Limit,
    OneRow,
    Order,
    Plan,
    Project,
    StreamScan,
    TableScan,
    Union,
    walk,
)
from ssql.planner.rules import MOST_OPERATORS
from ssql.planner.scalar import Named, Scalar, to_sql
from ssql.planner.span import NOWHERE

Frames = dict[Stream | Table, str]


@dataclass(frozen=True, slots=True)
class _Step:
    """One assignment, with the clause that it comes from."""

    clause: str
    variable: str
    head: str
    calls: tuple[Call, ...]


class QueryEmitter:
    """Emits one query; `frames` are the Python names of the streams and tables it reads."""

    def __init__(self, source: Source, choice: Choice, frames: Frames) -> None:
        self.source = source
        self.choice = choice
        self.frames = frames
        self.names = Names(frames.values())
        self.event_time = _free_column("event_time", choice.query.plan)
        self.steps: list[_Step] = []
        # Equal parts of a plan are one DataFrame. (Not a call more for other plans, which may be as
        # deep as Python's stack allows.)
        self._made: dict[tuple[Plan, bool], str] = {}
        self._plan = self._once if _has_equals(choice.query.plan) else self._node

    def body(self) -> list[str]:
        result = self._plan(self.choice.query.plan)
        lines: list[str] = []
        for at, step in enumerate(self.steps):
            last = at == len(self.steps) - 1 and step.variable == result
            lines += comment(step.clause, "    ")
            lines += chain(
                "return " if last else f"{step.variable} = ", step.head, list(step.calls)
            )
            if last:
                return lines
        return [*lines, f"    return {result}"]

    def _text(self, span: Span) -> str:
        return self.source.slice(span)

    def _condition_text(self, condition: Scalar) -> str:
        """As it was written; where a rule took something from between, what is left of it."""
        if condition.span != NOWHERE:
            return self._text(condition.span)
        return " AND ".join(map(self._text, condition.conjuncts))

    def _step(self, clause: str, name: str, head: str, *calls: Call) -> str:
        variable = self.names.make(name)
        self.steps.append(_Step(clause, variable, head, calls))
        return variable

    def _renamed(self, variable: str, name: str) -> str:
        """A view or sub-query under its own name, if a step of its own made it."""
        if not self.steps or self.steps[-1].variable != variable:
            return variable
        self.names.release(variable)
        last = replace(self.steps.pop(), variable=self.names.make(name))
        self.steps.append(last)
        renamed = {key: last.variable for key, made in self._made.items() if made == variable}
        self._made.update(renamed)
        return last.variable

    # -------------------------------------------------------------- nodes

    def _once(self, plan: Plan, *, timed: bool = False) -> str:
        made = self._made.get((plan, timed))
        if made is None:
            made = self._made[plan, timed] = self._node(plan, timed=timed)
        return made

    def _node(self, plan: Plan, *, timed: bool = False) -> str:
        """`timed`: the rows are results of windows, and bring the event time of these along."""
        match plan:
            case StreamScan():
                return self.frames[plan.stream]
            case TableScan():
                return self.frames[plan.table]
            case OneRow():
                return self._step(
                    "SELECT without FROM: one row", "one_row", "spark", Call("range", ("1",))
                )
            case Alias():
                is_made = (plan.input, timed) in self._made
                frame = self._plan(plan.input, timed=timed)
                return frame if is_made else self._renamed(frame, plan.name)
            case Filter():
                return self._filter(plan, timed=timed)
            case Project(input=Aggregate() | Filter(input=Aggregate(), clause="HAVING")):
                return self._aggregated(plan, timed=timed)
            case Project():
                return self._project(plan, timed=timed)
            case Union():
                frame, *others = (self._plan(m, timed=timed) for m in plan.members)
                for other in others:
                    frame = self._step("UNION ALL", "united", frame, Call("union", (other,)))
                return frame
            case Join():
                return self._join(plan, timed=timed)
            case Distinct():
                return self._step(
                    "SELECT DISTINCT", "distinct", self._plan(plan.input), Call("distinct")
                )
            case Order():
                return self._order(plan)
            case Limit():
                rows = Call("limit", (str(plan.count),))
                return self._step(f"LIMIT {plan.count}", "limited", self._plan(plan.input), rows)
            case _:
                raise AssertionError(f"{type(plan).__name__} was not refused by choose")

    def _filter(self, plan: Filter, *, timed: bool) -> str:
        head = self._plan(plan.input, timed=timed)
        condition = literal(sql_of(plan.condition, plan.input.schema))
        clause = f"{plan.clause} {self._condition_text(plan.condition)}"
        return self._step(clause, "filtered", head, Call("where", (condition,)))

    def _project(self, plan: Project, *, timed: bool) -> str:
        schema = [f for f in plan.input.schema if not f.hidden]
        head = self._plan(plan.input, timed=timed)
        same = [(i.name, i.scalar.column) for i in plan.items]
        if same == [(f.name, (f.relation, f.name)) for f in schema]:
            return head  # SELECT *
        columns = [literal(item_sql(i, plan.input.schema)) for i in plan.items]
        if timed:
            columns.append(literal(self.event_time))
        return self._step(
            self._select_list(plan.items), "selected", head, Call("selectExpr", tuple(columns))
        )

    def _select_list(self, items: tuple[Named, ...]) -> str:
        written = dict.fromkeys(self._text(i.span) for i in items)
        listed = ", ".join(w for w in written if w.upper() != "SELECT")
        return f"SELECT {listed}" if listed else "the columns under the sink's names"

    def _join(self, plan: Join, *, timed: bool) -> str:
        first, *others = plan.sides
        joined = self._aliased(first.input, timed=timed and first.input.is_streaming)
        for side in others:
            frame = self._aliased(side.input, timed=timed and side.input.is_streaming)
            if side.on is None:
                clause = f"FROM …, {self._text(side.input.span)}"
                call = Call("crossJoin", (frame,))
            else:
                on = f"F.expr({literal(to_sql(side.on.tree))})"
                clause = f"{side.kind} JOIN … ON {self._text(side.on.span)}"
                call = Call("join", (frame, on, literal(side.kind.lower())))
            joined = self._step(clause, "joined", joined, call)
        return joined

    def _aliased(self, plan: Plan, *, timed: bool) -> str:
        frame = self._plan(plan, timed=timed)
        relation = plan.schema[0].relation
        return f"{frame}.alias({literal(relation)})" if relation else frame

    def _order(self, plan: Order) -> str:
        columns, words = [], []
        for key, down, nulls in zip(plan.keys, plan.descending, plan.nulls_first, strict=True):
            method = ".desc()" if down else ""
            if nulls is not None:
                method = f".{'desc' if down else 'asc'}_nulls_{'first' if nulls else 'last'}()"
            columns.append(f"F.expr({literal(sql_of(key, plan.input.schema))}){method}")
            ending = "" if nulls is None else f" NULLS {'FIRST' if nulls else 'LAST'}"
            words.append(f"{self._text(key.span)}{' DESC' if down else ''}{ending}")
        clause = f"ORDER BY {', '.join(words)}"
        return self._step(
            clause, "ordered", self._plan(plan.input), Call("orderBy", tuple(columns))
        )

    # -------------------------------------------------------------- aggregates

    def _aggregated(self, project: Project, *, timed: bool) -> str:
        having = project.input if isinstance(project.input, Filter) else None
        plan = having.input if having else project.input
        assert isinstance(plan, Aggregate)
        chosen = self.choice.plan_of(plan)
        steps = AggregateSteps(plan, chosen, self._step, self._text, self.event_time, timed)
        result = steps.emit(self._plan(plan.input, timed=_is_windowed(plan.input)))
        if having:
            condition = literal(to_sql(steps.over_result(having.condition.tree)))
            clause = f"HAVING {self._condition_text(having.condition)}"
            result = self._step(clause, "having", result, Call("where", (condition,)))
        columns = [literal(steps.shown(i)) for i in project.items]
        if timed:
            columns.append(literal(steps.event_time()))
        clause = self._select_list(project.items)
        return self._step(clause, "selected", result, Call("selectExpr", tuple(columns)))


def _is_windowed(plan: Plan) -> bool:
    """Do the rows of a stream come from an aggregate, whose event time Spark must be told of?"""
    return any(isinstance(n, Aggregate) and n.is_streaming for n in walk(plan))


def _has_equals(plan: Plan) -> bool:
    """May two parts of a plan be the same? Then it reads a stream or a table twice; and what has
    other values each time is never the same."""
    nodes = list(walk(plan))
    entries = [
        n.stream if isinstance(n, StreamScan) else n.table
        for n in nodes
        if isinstance(n, StreamScan | TableScan)
    ]
    if len(entries) == len(set(entries)) or len(nodes) > MOST_OPERATORS:
        return False
    return not any(call_name(node) in VOLATILE for tree in _trees(plan) for node in tree.walk())


def _trees(plan: Plan) -> Iterator[exp.Expression]:
    for node in walk(plan):
        match node:
            case Filter():
                yield node.condition.tree
            case Project():
                yield from (i.scalar.tree for i in node.items)
            case Aggregate():
                yield from (k.scalar.tree for k in node.keys)
                yield from (c.scalar.tree for c in node.calls)
            case Join():
                yield from (s.on.tree for s in node.sides if s.on is not None)


def _free_column(name: str, plan: Plan) -> str:
    """A name that no column anywhere in the plan has."""
    taken = {f.name.casefold() for node in walk(plan) for f in node.schema}
    while name in taken:
        name += "_"
    return name
