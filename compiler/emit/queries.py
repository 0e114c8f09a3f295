"""A chosen plan to the body of one function: DataFrames in, a DataFrame out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from ssql.compiler.emit.columns import item_sql, sql_of
from ssql.compiler.emit.python import Call, Names, chain, comment, literal
from ssql.compiler.source import Source, Span
from ssql.planner.catalog import Stream, Table
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
    StreamScan,
    TableScan,
    Union,
)
from ssql.planner.scalar import Named, Scalar, column, to_sql
from ssql.planner.windows import TimeWindow

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

    def __init__(self, source: Source, frames: Frames) -> None:
        self.source = source
        self.frames = frames
        self.names = Names(frames.values())
        self.steps: list[_Step] = []

    def body(self, plan: Plan) -> list[str]:
        result = self._plan(plan)
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
        return last.variable

    # -------------------------------------------------------------- nodes

    def _plan(self, plan: Plan) -> str:
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
                return self._renamed(self._plan(plan.input), plan.name)
            case Filter():
                return self._filter(plan)
            case Project(input=Aggregate() | Filter(input=Aggregate(), clause="HAVING")):
                return self._aggregated(plan)
            case Project():
                return self._project(plan)
            case Union():
                frame, *others = (self._plan(m) for m in plan.members)
                for other in others:
                    frame = self._step("UNION ALL", "united", frame, Call("union", (other,)))
                return frame
            case Join():
                return self._join(plan)
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

    def _filter(self, plan: Filter) -> str:
        head = self._plan(plan.input)
        condition = literal(sql_of(plan.condition, plan.input.schema))
        clause = f"{plan.clause} {self._text(plan.condition.span)}"
        return self._step(clause, "filtered", head, Call("where", (condition,)))

    def _project(self, plan: Project) -> str:
        schema = [f for f in plan.input.schema if not f.hidden]
        head = self._plan(plan.input)
        same = [(i.name, i.scalar.column) for i in plan.items]
        if same == [(f.name, (f.relation, f.name)) for f in schema]:
            return head  # SELECT *
        columns = tuple(literal(item_sql(i, plan.input.schema)) for i in plan.items)
        return self._step(
            self._select_list(plan.items), "selected", head, Call("selectExpr", columns)
        )

    def _select_list(self, items: tuple[Named, ...]) -> str:
        written = dict.fromkeys(self._text(i.span) for i in items)
        listed = ", ".join(w for w in written if w.upper() != "SELECT")
        return f"SELECT {listed}" if listed else "the columns under the sink's names"

    def _join(self, plan: Join) -> str:
        first, *others = plan.sides
        joined = self._aliased(first.input)
        for side in others:
            frame = self._aliased(side.input)
            if side.on is None:
                clause = f"FROM …, {self._text(side.input.span)}"
                call = Call("crossJoin", (frame,))
            else:
                on = f"F.expr({literal(to_sql(side.on.tree))})"
                clause = f"{side.kind} JOIN … ON {self._text(side.on.span)}"
                call = Call("join", (frame, on, literal(side.kind.lower())))
            joined = self._step(clause, "joined", joined, call)
        return joined

    def _aliased(self, plan: Plan) -> str:
        frame = self._plan(plan)
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

    def _aggregated(self, project: Project) -> str:
        having = project.input if isinstance(project.input, Filter) else None
        plan = having.input if having else project.input
        assert isinstance(plan, Aggregate)
        head = self._plan(plan.input)
        bounds = _WindowBounds(plan)
        groups = [bounds.group_by(plan.window)] if isinstance(plan.window, TimeWindow) else []
        groups += [self._key(k, plan) for k in plan.keys]
        calls = tuple(
            f"F.expr({literal(self._call_sql(c.scalar, plan))}).alias({literal(c.name)})"
            for c in plan.calls
        )
        if groups:
            head = self._step(
                self._group_clause(plan), "grouped", head, Call("groupBy", tuple(groups))
            )
        # Spark wants an aggregate even where the query has none.
        aggregates = Call("agg", calls or (f'F.expr("count(*)").alias({literal(bounds.spare)})',))
        clause = ", ".join(self._text(c.scalar.span) for c in plan.calls) or "each group once"
        result = self._step(clause, "aggregated", head, aggregates)
        if having:
            condition = literal(to_sql(bounds.replaced(having.condition.tree)))
            clause = f"HAVING {self._text(having.condition.span)}"
            result = self._step(clause, "having", result, Call("where", (condition,)))
        columns = tuple(literal(bounds.item(i)) for i in project.items)
        clause = self._select_list(project.items)
        return self._step(clause, "selected", result, Call("selectExpr", columns))

    def _group_clause(self, plan: Aggregate) -> str:
        words = [self._text(plan.window.span)] if plan.window else []
        if plan.keys:
            words.append(f"GROUP BY {', '.join(self._text(k.scalar.span) for k in plan.keys)}")
        return " ".join(words) or "aggregates over all rows"

    @staticmethod
    def _key(key: Named, plan: Aggregate) -> str:
        sql = sql_of(key.scalar, plan.input.schema)
        if sql == to_sql(column(key.name)):
            return literal(sql)
        return f"F.expr({literal(sql)}).alias({literal(key.name)})"

    @staticmethod
    def _call_sql(scalar: Scalar, plan: Aggregate) -> str:
        """Spark refuses DISTINCT aggregates on streams; the size of a set is the same."""
        tree = scalar.tree
        distinct = tree.find(exp.Distinct)
        if distinct is not None and plan.input.is_streaming:
            values = exp.Anonymous(this="collect_set", expressions=[distinct.expressions[0].copy()])
            size = exp.Anonymous(this="size", expressions=[values])
            tree = exp.cast(size, "BIGINT", dialect="spark")
        return sql_of(Scalar(tree=tree, type=scalar.type), plan.input.schema)


class _WindowBounds:
    """Spark gives a window as one struct; the SELECT list takes it apart."""

    def __init__(self, plan: Aggregate) -> None:
        taken = {k.name.casefold() for k in plan.keys} | {c.name.casefold() for c in plan.calls}
        self.schema = plan.input.schema
        self.name = "window"
        while self.name in taken:
            self.name += "_"
        self.spare = "rows"
        while self.spare in taken:
            self.spare += "_"

    def group_by(self, window: TimeWindow) -> str:
        time = sql_of(window.attribute, self.schema)
        arguments = [literal(time), literal(spell(window.range_us))]
        if offset := window.origin_us % window.slide_us:
            arguments.append(f"startTime={literal(spell(offset))}")
        alias = "" if self.name == "window" else f".alias({literal(self.name)})"
        return f"F.window({', '.join(arguments)}){alias}"

    def replaced(self, tree: exp.Expression) -> exp.Expression:
        fields = {"window_start": "start", "window_end": "end"}

        def taken_apart(node: exp.Expression) -> exp.Expression:
            if isinstance(node, exp.Column) and not node.table and node.name in fields:
                return exp.Dot.build(
                    [column(self.name), exp.to_identifier(fields[node.name], quoted=False)]
                )
            return node

        return tree.transform(taken_apart)

    def item(self, item: Named) -> str:
        sql, name = to_sql(self.replaced(item.scalar.tree)), to_sql(column(item.name))
        return sql if sql == name else f"{sql} AS {name}"
