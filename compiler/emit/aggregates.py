"""Aggregates to DataFrame calls: groups, windows, panes, and what is shown of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from ssql.compiler.emit.columns import sql_of, unqualified
from ssql.compiler.emit.operators import OPERATORS, Input, Operator, OperatorPart, operator_call
from ssql.compiler.emit.python import Call, literal
from ssql.planner.aggregates.calls import order_of, recipe_for
from ssql.planner.aggregates.recipes import Call as AggregateText
from ssql.planner.aggregates.recipes import Part, Recipe, filter_clause, opaque
from ssql.planner.choose import AggregatePlan
from ssql.planner.durations import spell
from ssql.planner.logical import Aggregate, AggregateCall
from ssql.planner.progress import shifts_of, time_of
from ssql.planner.scalar import Named, column, to_sql
from ssql.planner.span import NOWHERE, Span
from ssql.planner.windows import LandmarkWindow, RowWindow, TimeWindow

Step = Callable[..., str]


@dataclass(slots=True)
class _Column:
    """A column of aggregates: its name, and the Spark SQL text that computes it."""

    name: str
    sql: str


@dataclass(slots=True)
class AggregateSteps:
    """The steps of one aggregate. `step` adds one and gives the name of its DataFrame."""

    plan: Aggregate
    chosen: AggregatePlan
    step: Step
    text: Callable[[Span], str]
    event_time_name: str  # the column of a windowed result's time, for the aggregate above it
    timed: bool  # is there such an aggregate?
    _taken: set[str] = field(default_factory=set)
    _finished: list[_Column] = field(default_factory=list)
    window_name: str = ""
    pane_name: str = ""
    time_sql: str = ""
    shift_us: int = 0
    instant_key: str = ""  # the key that an instant stands for

    def __post_init__(self) -> None:
        names = [k.name for k in self.plan.keys] + [c.name for c in self.plan.calls]
        names += [f.name for f in self.plan.input.schema] + [self.event_time_name]
        self._taken = {n.casefold() for n in names}
        self.window_name = self._free("window" if self.plan.window else "instant")
        self.pane_name = self._free("pane")

    def _free(self, name: str) -> str:
        while name.casefold() in self._taken:
            name += "_"
        self._taken.add(name.casefold())
        return name

    # -------------------------------------------------------------- from rows to groups

    def emit(self, head: str) -> str:
        self._find_time()
        match self.chosen.plan:
            case "paned":
                result = self._paned(head)
            case "wid":
                result = self._wid(head)
            case "native":
                result = self._native(head)
            case plan:
                result = self._by_operator(head, OPERATORS[plan])
        if self._finished:
            columns = tuple(literal(f"{c.sql} AS {_name(c.name)}") for c in self._finished)
            clause = f"what is shown: {', '.join(c.name for c in self._finished)}"
            result = self.step(clause, "finished", result, Call("selectExpr", ('"*"', *columns)))
        return result

    def _find_time(self) -> None:
        """The time that Spark tracks: the window's attribute, or the event time beside it."""
        attribute = time_of(self.plan)
        if attribute is None:
            return
        self.time_sql = self._sql(attribute.tree)
        if self.plan.input.is_streaming:
            (shift,) = shifts_of(self.plan.input, attribute)
            if shift is not None:
                self.time_sql, self.shift_us = self.event_time_name, shift
            elif self.plan.window is None:  # Spark takes one column of event time a stream
                key = next(k for k in self.plan.keys if k.scalar is attribute)
                self.instant_key = key.name

    def _native(self, head: str) -> str:
        groups = [self._key(k) for k in self.plan.keys if k.name != self.instant_key]
        if self.time_sql:
            # Spark would close an instant with the first watermark that reaches it, and rows of
            # the same instant may still come.
            instant = f'F.window({literal(self.time_sql)}, "1 microsecond")'
            groups.insert(0, f"{instant}.alias({literal(self.window_name)})")
        if groups:
            head = self.step(self._group_clause(), "grouped", head, Call("groupBy", tuple(groups)))
        return self._aggregated(head, self._from_rows())

    def _wid(self, head: str) -> str:
        window = self._window()
        keys = tuple(self._key(k) for k in self.plan.keys)
        clause = self._group_clause()
        if self._is_simple(window):
            call = Call("groupBy", (self._spark_window(window, self.time_sql), *keys))
            head = self.step(clause, "grouped", head, call)
        else:
            head = self._windowed(head, self.time_sql, self.time_sql)
            groups = Call("groupBy", (literal(_name(self.window_name)), *keys))
            clause = " ".join(filter(None, ("the rows of each window", self._group_by_text())))
            head = self.step(clause, "grouped", head, groups)
        return self._aggregated(head, self._from_rows())

    def _paned(self, head: str) -> str:
        window = self._window()
        rows, merged = self._from_panes()
        panes = self._panes(head, rows)
        names = tuple(literal(_name(k.name)) for k in self.plan.keys)
        clause = self.text(window.span)
        if self._is_simple(window):
            spark_window = self._spark_window(window, _name(self.pane_name))
        else:
            panes = self._windowed(panes, _name(self.pane_name), f"{_name(self.pane_name)}.start")
            spark_window, clause = literal(_name(self.window_name)), "the panes of each window"
        by_window = self.step(clause, "by_window", panes, Call("groupBy", (spark_window, *names)))
        aggregates = Call("agg", tuple(map(_aliased, merged)) or (self._spare(),))
        return self.step("windows from panes", "windows", by_window, aggregates)

    def _panes(self, head: str, columns: list[_Column]) -> str:
        """The aggregates of panes, to make windows of."""
        assert isinstance(self.plan.window, TimeWindow | LandmarkWindow)
        pane_us = self.chosen.pane_us
        start = (self.plan.window.origin_us + self.shift_us) % pane_us
        pane = _window_call(self.time_sql, pane_us, pane_us, start)
        clause = " ".join(filter(None, (f"panes of {spell(pane_us)}", self._group_by_text())))
        keys = tuple(self._key(k) for k in self.plan.keys)
        groups = Call("groupBy", (f"{pane}.alias({literal(self.pane_name)})", *keys))
        return self._aggregated(self.step(clause, "by_pane", head, groups), columns, "panes")

    def _by_operator(self, head: str, operator: Operator) -> str:
        assert self.plan.window is not None
        panes: dict[str, _Column] | None = {} if operator.of_panes else None
        parts = self._operator_parts(panes)
        if panes is not None:
            head = self._panes(head, list(panes.values()))
        given = Input(
            frame=head,
            time=self.time_sql if panes is None else _name(self.pane_name),
            order=tuple(map(self._sql, order_of(self.plan))),
            keys=tuple(
                (k.name, self._key_sql(k, of_pane=panes is not None)) for k in self.plan.keys
            ),
            parts=parts,
            window_name=self.window_name,
            shift_us=self.shift_us,
            is_chained=self.time_sql == self.event_time_name,
            event_time=self.event_time_name if self.timed else "",
        )
        call = operator_call(operator, self.plan, given)
        return self.step(self.text(self.plan.window.span), "windows", "", call)

    def _operator_parts(self, panes: dict[str, _Column] | None) -> tuple[OperatorPart, ...]:
        """What an operator merges: columns of panes, which are added to `panes`, or of rows."""
        parts: dict[tuple[str, str, int | None], OperatorPart] = {}
        for call in self.plan.calls:
            whole = self._recipe(call)
            recipe = whole.for_rows if panes is None else whole.for_panes
            assert recipe is not None, "choose refuses what an operator cannot merge"
            columns = {} if panes is None else self._part_columns(call, recipe, panes)
            own, shown = self._own_range(call), {}
            for part in recipe.parts:
                sql = (
                    part.row if panes is None else part.lift.format(part=_name(columns[part.name]))
                )
                assert part.how is not None and sql is not None
                key = (part.how, sql, own)
                if key not in parts:
                    taken = {p.name for p in parts.values()}
                    wanted = columns.get(part.name) or self._part_name(call, recipe, part)
                    name = self._free(wanted) if wanted in taken else wanted
                    parts[key] = OperatorPart(how=part.how, sql=sql, name=name, range_us=own)
                column = part.shape.format(part=_name(parts[key].name))
                is_empty = own is not None and part.empty is not None
                shown[part.name] = f"coalesce({column}, {part.empty})" if is_empty else column
            finish = recipe.finish_merged or recipe.finish
            value = finish(shown) if finish else shown[recipe.parts[0].name]
            if value != _name(call.name):
                self._finished.append(_Column(call.name, value))
        return tuple(parts.values())

    # -------------------------------------------------------------- windows

    def _window(self) -> TimeWindow:
        assert isinstance(self.plan.window, TimeWindow)
        return self.plan.window

    def _is_simple(self, window: TimeWindow) -> bool:
        """Spark's window() alone gives the groups: no gaps, and no second RANGE."""
        return window.range_us >= window.slide_us and all(
            self._own_range(c) is None for c in self.plan.calls
        )

    def _own_range(self, call: AggregateCall) -> int | None:
        """The RANGE of a call that is shorter than the aggregate's."""
        window = self.plan.window
        if not isinstance(call.window, TimeWindow) or not isinstance(window, TimeWindow):
            return None
        return None if call.window.range_us == window.range_us else call.window.range_us

    def _spark_window(self, window: TimeWindow, time: str) -> str:
        # Windows end at origin + k·SLIDE; Spark counts from where they start.
        size = max(window.range_us, window.slide_us)
        start = (window.origin_us + self.shift_us - size) % window.slide_us
        call = _window_call(time, size, window.slide_us, start)
        return (
            call if self.window_name == "window" else f"{call}.alias({literal(self.window_name)})"
        )

    def _windowed(self, head: str, time: str, moment: str) -> str:
        """Rows (or panes) with their windows in a column; those in a gap between windows leave."""
        window = self._window()
        call = self._spark_window(window, time)
        if self.window_name == "window":
            call += '.alias("window")'
        head = self.step(self.text(window.span), "windowed", head, Call("select", ('"*"', call)))
        if window.range_us < window.slide_us:
            inside = Call("where", (literal(self._within(moment, window.range_us)),))
            head = self.step("SLIDE > RANGE: not what is between windows", "inside", head, inside)
        return head

    def _within(self, moment: str, range_us: int) -> str:
        return f"{moment} >= {_name(self.window_name)}.end - INTERVAL {spell(range_us)}"

    # -------------------------------------------------------------- aggregates

    def _aggregated(self, head: str, columns: list[_Column], variable: str = "aggregated") -> str:
        # Spark wants an aggregate even where the query has none.
        aggregates = tuple(map(_aliased, columns)) or (self._spare(),)
        texts = dict.fromkeys(self.text(c.scalar.span) for c in self.plan.calls)
        clause = ", ".join(texts) or "each group once"
        return self.step(clause, variable, head, Call("agg", aggregates))

    def _spare(self) -> str:
        return _aliased(_Column(self._free("rows"), "count(*)"))

    def _from_rows(self) -> list[_Column]:
        """The aggregates of all calls, straight from rows."""
        columns: dict[str, _Column] = {}
        for call in self.plan.calls:
            own = self._own_range(call)
            recipe = self._recipe(call, *([self._within(self.time_sql, own)] if own else []))
            if recipe.whole or recipe.finish is None:
                sql = recipe.whole or recipe.parts[0].rows
                columns[call.name] = _Column(call.name, sql)
                continue
            names = self._part_columns(call, recipe, columns)
            self._finished.append(_Column(call.name, recipe.finish(_quoted(names))))
        return list(columns.values())

    def _part_columns(
        self, call: AggregateCall, recipe: Recipe, columns: dict[str, _Column]
    ) -> dict[str, str]:
        """The columns of a recipe's parts; equal parts of several calls are one."""
        names = {}
        for part in recipe.parts:
            same = next((c for c in columns.values() if c.sql == part.rows), None)
            if same is None:
                same = _Column(self._part_name(call, recipe, part), part.rows)
                columns[same.name] = same
            names[part.name] = same.name
        return names

    def _part_name(self, call: AggregateCall, recipe: Recipe, part: Part) -> str:
        if recipe.finish is None and self._own_range(call) is None:
            return call.name
        return self._free(_part_text(call, part))

    def _from_panes(self) -> tuple[list[_Column], list[_Column]]:
        """What panes keep, and what windows make of it."""
        rows: dict[str, _Column] = {}
        merged: dict[str, _Column] = {}
        for call in self.plan.calls:
            recipe = self._recipe(call)
            panes = self._part_columns(call, recipe, rows)
            windows = {
                part.name: self._merged(call, recipe, part, panes, merged) for part in recipe.parts
            }
            if recipe.finish is not None:
                self._finished.append(_Column(call.name, recipe.finish(_quoted(windows))))
            elif (same := windows[recipe.parts[0].name]) != call.name:
                self._finished.append(_Column(call.name, _name(same)))
        return list(rows.values()), list(merged.values())

    def _merged(
        self,
        call: AggregateCall,
        recipe: Recipe,
        part: Part,
        panes: dict[str, str],
        merged: dict[str, _Column],
    ) -> str:
        """The column of a part over windows; one that is there already serves again."""
        own = self._own_range(call)
        where = filter_clause(
            *([self._within(f"{_name(self.pane_name)}.start", own)] if own else [])
        )
        names = _quoted(panes)
        sql = part.merge.format(**names, part=names[part.name], where=where)
        if own and part.empty is not None:
            sql = f"coalesce({sql}, {part.empty})"
        same = next((c.name for c in merged.values() if c.sql == sql), None)
        if same is not None:
            return same
        name = call.name if recipe.finish is None else panes[part.name]
        name = self._free(name) if name in merged else name
        merged[name] = _Column(name, sql)
        return name

    def _recipe(self, call: AggregateCall, *conditions: str) -> Recipe:
        if not self.plan.is_streaming and not self.plan.window and call.function != "heavy_hitters":
            text = AggregateText(
                text=self._sql(call.scalar.tree), arguments=(), type="", result="", order=""
            )
            return opaque(text)
        recipe = recipe_for(call, self.plan, self._sql, *conditions)
        assert recipe is not None, "choose refuses what has no recipe"
        return recipe

    # -------------------------------------------------------------- what is shown

    def shown(self, item: Named) -> str:
        """A column of the result over the aggregated DataFrame."""
        sql, name = to_sql(self.over_result(item.scalar.tree)), _name(item.name)
        return sql if sql == name else f"{sql} AS {name}"

    def event_time(self) -> str:
        if self.chosen.plan in OPERATORS:
            return self.event_time_name
        return f"window_time({_name(self.window_name)}) AS {self.event_time_name}"

    def over_result(self, tree: exp.Expression) -> exp.Expression:
        """Spark gives a window as one struct; SELECT and HAVING take it apart."""

        def taken_apart(node: exp.Expression) -> exp.Expression:
            if not isinstance(node, exp.Column) or node.table:
                return node
            if self.plan.window is None:
                is_instant = self.instant_key and node.name == self.instant_key
                return self._field("start") if is_instant else node
            if node.name == "window_start":
                return self._bound("start")
            return self._bound("end") if node.name == "window_end" else node

        return tree.transform(taken_apart)

    def _has_whole_slides(self, window: TimeWindow) -> bool:
        """Spark's own windows leave no gaps: they are as long as a SLIDE, and end where ours do."""
        return window.range_us < window.slide_us and self.chosen.plan not in OPERATORS

    def _field(self, name: str) -> exp.Expression:
        field: exp.Expression = exp.Dot.build(
            [column(self.window_name), exp.to_identifier(name, quoted=False)]
        )
        return field

    def _bound(self, which: str) -> exp.Expression:
        window, shift_us = self.plan.window, self.shift_us
        if isinstance(window, RowWindow):
            return self._field(which)
        if isinstance(window, TimeWindow) and self._has_whole_slides(window) and which == "start":
            which, shift_us = "end", shift_us + window.range_us
        bound = self._field(which)
        if not shift_us:
            return bound
        interval = exp.Interval(
            this=exp.Literal.string(spell(abs(shift_us)).split()[0]),
            unit=exp.Var(this=spell(abs(shift_us)).split()[1].upper()),
        )
        operator = exp.Sub if shift_us > 0 else exp.Add
        return exp.Paren(this=operator(this=bound, expression=interval))

    # -------------------------------------------------------------- texts

    def _sql(self, tree: exp.Expression) -> str:
        return to_sql(unqualified(tree, self.plan.input.schema))

    def _key_sql(self, key: Named, *, of_pane: bool = False) -> str:
        if of_pane:
            return _name(key.name)
        sql = sql_of(key.scalar, self.plan.input.schema)
        if self.plan.window is not None and sql == self.time_sql and self.plan.is_streaming:
            sql += " + INTERVAL 0 SECONDS"  # a value like others: the window is the event time
        return sql

    def _key(self, key: Named) -> str:
        sql = self._key_sql(key)
        if sql == _name(key.name):
            return literal(sql)
        return f"F.expr({literal(f'{sql} AS {_name(key.name)}')})"

    def _group_by_text(self) -> str:
        if not self.plan.keys:
            return ""
        # Keys that are SELECT items are those of a DISTINCT.
        distinct = all(k.span != NOWHERE for k in self.plan.keys)
        if distinct:
            written = dict.fromkeys(self.text(k.span) for k in self.plan.keys)
            return f"SELECT DISTINCT {', '.join(w for w in written if w.upper() != 'SELECT')}"
        return f"GROUP BY {', '.join(self.text(k.scalar.span) for k in self.plan.keys)}"

    def _group_clause(self) -> str:
        words = [self.text(self.plan.window.span)] if self.plan.window else []
        words.append(self._group_by_text())
        return " ".join(filter(None, words)) or "aggregates over all rows"


def _name(name: str) -> str:
    return to_sql(column(name))


def _part_text(call: AggregateCall, part: Part) -> str:
    """`avg_len_sum`: a name that needs no backticks."""
    return "_".join([*re.findall(r"\w+", call.name, re.ASCII), part.name])


def _aliased(column: _Column) -> str:
    return f"F.expr({literal(f'{column.sql} AS {_name(column.name)}')})"


def _quoted(names: dict[str, str]) -> dict[str, str]:
    return {part: _name(name) for part, name in names.items()}


def _window_call(time: str, range_us: int, slide_us: int, start_us: int) -> str:
    arguments = [literal(time), literal(spell(range_us))]
    if range_us != slide_us:
        arguments.append(literal(spell(slide_us)))
    if start_us:
        arguments.append(f"startTime={literal(spell(start_us))}")
    return f"F.window({', '.join(arguments)})"
