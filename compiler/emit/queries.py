"""A chosen plan to the body of one function: DataFrames in, a DataFrame out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from ssql.compiler.dialect import call_name
from ssql.compiler.emit.aggregates import AggregateSteps
from ssql.compiler.emit.columns import item_sql, sql_of, unqualified
from ssql.compiler.emit.joins import JoinSteps
from ssql.compiler.emit.ordered import OrderedJoinSteps, then_argument
from ssql.compiler.emit.python import Argument, Call, Names, chain, comment, literal
from ssql.compiler.source import Source, Span
from ssql.compiler.spark_functions import VOLATILE
from ssql.planner.catalog import Function, Stream, Table
from ssql.planner.choose import Choice
from ssql.planner.durations import spell
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
    Schema,
    StreamScan,
    TableScan,
    Union,
    walk,
)
from ssql.planner.progress import keeps_state, time_of
from ssql.planner.rules import MOST_OPERATORS
from ssql.planner.rules.columns import below_alias, below_project, below_union, with_columns
from ssql.planner.rules.order_results import join_below, visible_orders
from ssql.planner.scalar import Named, Scalar, column, to_sql
from ssql.planner.span import NOWHERE
from ssql.planner.windows import WithinJoin

Frames = dict[Stream | Table, str]


@dataclass(frozen=True, slots=True)
class _Step:
    """One assignment, with the clause that it comes from."""

    clause: str
    variable: str
    head: str
    calls: tuple[Call, ...]


class QueryEmitter:
    """Emits one query; `frames` are the Python names of the streams and tables it reads, `udfs`
    those of the functions it may call."""

    def __init__(
        self, source: Source, choice: Choice, frames: Frames, udfs: Mapping[Function, str]
    ) -> None:
        self.source = source
        self.udfs = udfs
        self.choice = choice
        self.frames = frames
        self.names = Names(frames.values())
        self.event_time = _free_column("event_time", choice.query.plan)
        self.steps: list[_Step] = []
        self._orders = list(visible_orders(choice.query.plan))
        # Equal parts of a plan are one DataFrame. (Not a call more for other plans, which may be as
        # deep as Python's stack allows.)
        self._made: dict[tuple[Plan, Scalar | None], str] = {}
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

    def _once(self, plan: Plan, *, time: Scalar | None = None) -> str:
        made = self._made.get((plan, time))
        if made is None:
            made = self._made[plan, time] = self._node(plan, time=time)
        return made

    def _node(self, plan: Plan, *, time: Scalar | None = None) -> str:
        """`time`: an expression over the plan's columns. The rows are results of windows or joins,
        and bring the event time that goes with it along."""
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
                below = time and with_columns(time, below_alias(plan))
                is_made = (plan.input, below) in self._made
                frame = self._plan(plan.input, time=below)
                return frame if is_made else self._renamed(frame, plan.name)
            case Filter():
                return self._filter(plan, time)
            case Project(input=Aggregate() | Filter(input=Aggregate(), clause="HAVING")):
                return self._aggregated(plan, timed=time is not None)
            case Project():
                return self._project(plan, time)
            case Union():
                times = [time and with_columns(time, below_union(plan, m)) for m in plan.members]
                members = zip(plan.members, times, strict=True)
                frame, *others = (self._plan(m, time=t) for m, t in members)
                for other in others:
                    frame = self._step("UNION ALL", "united", frame, Call("union", (other,)))
                return frame
            case Join():
                return self._join(plan, time)
            case Distinct():
                return self._step(
                    "SELECT DISTINCT", "distinct", self._plan(plan.input), Call("distinct")
                )
            case Order() if plan.is_streaming:
                shows = any(plan is order for order in self._orders)
                return self._in_order(plan) if shows else self._plan(plan.input, time=time)
            case Order():
                return self._order(plan)
            case Limit():
                rows = Call("limit", (str(plan.count),))
                return self._step(f"LIMIT {plan.count}", "limited", self._plan(plan.input), rows)
            case _:
                raise AssertionError(f"{type(plan).__name__} was not refused by choose")

    def _filter(self, plan: Filter, time: Scalar | None) -> str:
        return self._filter_step(plan, self._plan(plan.input, time=time))

    def _filter_step(self, plan: Filter, head: str) -> str:
        condition = literal(sql_of(plan.condition, plan.input.schema))
        clause = f"{plan.clause} {self._condition_text(plan.condition)}"
        return self._step(clause, "filtered", head, Call("where", (condition,)))

    def _project(self, plan: Project, time: Scalar | None) -> str:
        schema = [f for f in plan.input.schema if not f.hidden]
        below = time and with_columns(time, below_project(plan))
        head = self._plan(plan.input, time=below)
        same = [(i.name, i.scalar.column) for i in plan.items]
        is_all = same == [(f.name, (f.relation, f.name)) for f in schema]
        if is_all and not _has_own_columns(plan.input):
            return head  # SELECT *
        columns = [literal(item_sql(i, plan.input.schema)) for i in plan.items]
        if time:
            columns.append(literal(self.event_time))
        return self._step(
            self._select_list(plan.items), "selected", head, Call("selectExpr", tuple(columns))
        )

    def _select_list(self, items: tuple[Named, ...]) -> str:
        written = dict.fromkeys(self._text(i.span) for i in items)
        listed = ", ".join(w for w in written if w.upper() != "SELECT")
        return f"SELECT {listed}" if listed else "the columns under the sink's names"

    def _join(self, plan: Join, time: Scalar | None) -> str:
        def frame_of(side: Plan, time: Scalar | None) -> str:
            return self._plan(side, time=time)

        def free(name: str) -> str:
            return _free_column(name, self.choice.query.plan)

        chosen = self.choice.join_plan_of(plan)
        if chosen is not None and chosen.by_operator:
            steps = OrderedJoinSteps(chosen, self._step, self._text, frame_of, self.udfs)
            return steps.emit(self.event_time if time else "")

        return JoinSteps(plan, self._step, self._text, frame_of, free, self.event_time, time).emit()

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

    def _in_order(self, plan: Order) -> str:
        """A join's operator gives its results in order by itself."""
        join = join_below(plan)
        chosen = self.choice.join_plan_of(join) if join is not None else None
        if join is not None and chosen is not None and chosen.by_operator:
            # Not shared: another join may differ in nothing but its order.
            return self._filtered(plan.input, self._join(join, None))
        time = plan.keys[0]
        brings_time = _brings_time(plan.input)
        head = self._plan(plan.input, time=time if brings_time else None)
        if len({f.relation for f in plan.input.schema}) > 1:
            head = self._by_side(plan.input.schema, head, timed=brings_time)
        words = [to_sql(unqualified(k.tree, plan.input.schema)) for k in plan.keys]
        named = literal(self.event_time if brings_time else words[0])
        arguments: list[Argument] = [head, f"{'event_time' if brings_time else 'time'}={named}"]
        if len(words) > 1:
            arguments.append(then_argument(plan, words[1:]))
        clause = f"ORDER BY {', '.join(self._text(k.span) for k in plan.keys)}"
        if join is not None and isinstance(join.window, WithinJoin) and len(plan.keys) == 1:
            clause = f"WINDOW {spell(join.window.size_us)}: in order of time"
        return self._step(clause, "ordered", "", Call("in_order", tuple(arguments)))

    def _filtered(self, plan: Plan, join: str) -> str:
        """The conditions that stand over a join."""
        if not isinstance(plan, Filter):
            return join
        return self._filter_step(plan, self._filtered(plan.input, join))

    def _by_side(self, schema: Schema, head: str, *, timed: bool) -> str:
        """The columns of a join, those of each side in a struct of its name: outside of Spark's own
        plans there are no qualifiers."""
        items = []
        for relation in dict.fromkeys(f.relation for f in schema):
            own = [to_sql(column(f.name, relation)) for f in schema if f.relation == relation]
            name = relation and to_sql(column(relation))
            items += [f"struct({', '.join(own)}) AS {name}"] if name else own
        if timed:
            items.append(self.event_time)
        call = Call("selectExpr", tuple(map(literal, items)))
        return self._step("the columns of each side together", "by_side", head, call)

    # -------------------------------------------------------------- aggregates

    def _aggregated(self, project: Project, *, timed: bool) -> str:
        having = project.input if isinstance(project.input, Filter) else None
        plan = having.input if having else project.input
        assert isinstance(plan, Aggregate)
        chosen = self.choice.plan_of(plan)
        steps = AggregateSteps(plan, chosen, self._step, self._text, self.event_time, timed)
        time = time_of(plan) if _brings_time(plan.input) else None
        result = steps.emit(self._plan(plan.input, time=time))
        if having:
            condition = literal(to_sql(steps.over_result(having.condition.tree)))
            clause = f"HAVING {self._condition_text(having.condition)}"
            result = self._step(clause, "having", result, Call("where", (condition,)))
        columns = [literal(steps.shown(i)) for i in project.items]
        if timed:
            columns.append(literal(steps.event_time()))
        clause = self._select_list(project.items)
        return self._step(clause, "selected", result, Call("selectExpr", tuple(columns)))


def _brings_time(plan: Plan) -> bool:
    """Do the rows of a stream come from what keeps state, so that Spark must be told of their event
    time?"""
    return any(keeps_state(n) and not isinstance(n, Order) for n in walk(plan))


def _has_own_columns(plan: Plan) -> bool:
    """Is it a join of streams, with the columns that it was joined by?"""
    while isinstance(plan, Filter):
        plan = plan.input
    return isinstance(plan, Join) and keeps_state(plan)


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
    """A name that no column anywhere in the plan has, nor begins with."""
    taken = {f.name.casefold() for node in walk(plan) for f in node.schema}
    while any(t.startswith(name) for t in taken):
        name += "_"
    return name
