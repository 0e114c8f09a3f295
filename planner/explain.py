"""Plans as outlines, for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import assert_never

from ssql.planner.catalog import (
    Column,
    Connection,
    Entry,
    Function,
    Idle,
    Stream,
    View,
    Watermark,
    kind_name,
)
from ssql.planner.durations import spell
from ssql.planner.logical import (
    Aggregate,
    AggregateCall,
    Alias,
    Cut,
    CutByKey,
    CutByRows,
    CutByTime,
    Distinct,
    Epochs,
    Filter,
    Join,
    JoinSide,
    Limit,
    OneRow,
    Order,
    Output,
    Plan,
    Project,
    Query,
    Schema,
    StreamScan,
    TableScan,
    Union,
)
from ssql.planner.scalar import Named
from ssql.planner.statistics import StreamFigures
from ssql.planner.windows import (
    EpochJoin,
    EqualTimeJoin,
    JoinWindow,
    LandmarkWindow,
    LookupJoin,
    RowWindow,
    SlidingJoin,
    TimeWindow,
    TumblingJoin,
    TupleWindow,
    Window,
    WithinJoin,
)


@dataclass(frozen=True, slots=True)
class Outline:
    """An operator, a few lines about it, and what it reads."""

    title: str
    details: tuple[str, ...] = ()
    inputs: tuple[Outline, ...] = ()

    def lines(self, head: str = "", rest: str = "") -> Iterator[str]:
        yield f"{head}{self.title}"
        bar = "│    " if self.inputs else "     "
        for detail in self.details:
            yield f"{rest}{bar}{detail}"
        for at, child in enumerate(self.inputs):
            last = at == len(self.inputs) - 1
            yield from child.lines(
                f"{rest}{'└─ ' if last else '├─ '}", f"{rest}{'   ' if last else '│  '}"
            )


def outline_query(query: Query, *, verbose: bool = False, chosen: str | None = None) -> Outline:
    """The logical plan; with `verbose`, the columns that each operator gives; the plan that was
    chosen to run it, in words."""
    plan = outline(query.plan)
    if verbose:
        plan = _with_columns(plan, query.plan)
    title = f"Query {query.number} → {_target(query.output)}"
    details = (chosen,) if chosen else ()
    if query.forced_plan and not chosen:
        details = (f"plan: {query.forced_plan} (asked for by a hint)",)
    return Outline(title, details, (plan,))


def _with_columns(shown: Outline, plan: Plan) -> Outline:
    columns = ", ".join(f"{f.name} {f.type}{' ⏱' if f.progressing else ''}" for f in plan.schema)
    inputs = (_with_columns(o, p) for o, p in zip(shown.inputs, plan.inputs, strict=True))
    return Outline(shown.title, (*shown.details, f"gives {columns}"), tuple(inputs))


def _target(output: Output) -> str:
    if output.sink is None:
        return "console"
    late = f", late rows → {output.late_sink.name}" if output.late_sink else ""
    return f"{output.sink.name} ({_where(output.sink.connection)}){late}"


def outline_entry(entry: Entry, figures: StreamFigures | None = None) -> Outline:
    """What DESCRIBE shows. `figures` is what is known of a stream's rows."""
    title = f"{kind_name(entry).capitalize()} {entry.name}"
    match entry:
        case Function():
            takes = ", ".join(f"{p.name} {p.type}" for p in entry.parameters)
            return Outline(f"{title}({takes}) → {entry.returns}")
        case View():
            return Outline(title, _column_lines(entry.plan.schema), (outline(entry.plan),))
        case _:
            details = [f"at {_where(entry.connection)}", *_column_lines(entry.columns)]
    if isinstance(entry, Stream):
        details.append(_watermark(entry.watermark))
    known = (Outline("Rows", tuple(_figures(figures))),) if figures else ()
    return Outline(title, tuple(details), known)


def _column_lines(columns: tuple[Column, ...] | Schema) -> tuple[str, ...]:
    return tuple(f"{c.name} {c.type}" for c in columns)


def _figures(figures: StreamFigures) -> Iterator[str]:
    named = {
        "rows a second": figures.rate,
        "rows a batch": figures.batch_rows,
        "bytes a row": figures.row_bytes,
        "seconds of disorder": figures.disorder_seconds,
        "skew": figures.skew,
    }
    if figures.groups is not None:
        named["groups"] = figures.groups
    named |= {f"values of {name}": figure for name, figure in figures.distinct.items()}
    for name, figure in named.items():
        yield f"{figure.value:,.6g} {name} ({figure.origin})"


def outline(plan: Plan) -> Outline:
    inputs = tuple(outline(i) for i in plan.inputs)
    match plan:
        case StreamScan():
            stream = plan.stream
            details = [f"from {_where(stream.connection)}", _watermark(stream.watermark)]
            if stream.sequence:
                details.append(f"rows of one time are in the order of {stream.sequence}")
            return Outline(f"Stream {_aliased(stream.name, plan.alias)}", tuple(details))
        case TableScan():
            where = f"from {_where(plan.table.connection)}"
            return Outline(f"Table {_aliased(plan.table.name, plan.alias)}", (where,))
        case OneRow():
            return Outline("One row")
        case Epochs():
            held = "the newest chunk" if plan.chunks == 1 else f"the newest {plan.chunks} chunks"
            return Outline("Epochs", (f"cut {_cut(plan.cut)}", f"holds {held}"), inputs)
        case Filter():
            return Outline("Filter", (f"{plan.clause} {plan.condition.sql}",), inputs)
        case Project():
            return Outline("Project", (", ".join(_named(i) for i in plan.items),), inputs)
        case Alias():
            return Outline(f"As {plan.name}", (), inputs)
        case Union():
            return Outline("Union all", (), inputs)
        case Join():
            sides = (_side(s, first=at == 0) for at, s in enumerate(plan.sides))
            return Outline(f"Join, {_join_window(plan.window)}", tuple(sides), inputs)
        case Aggregate():
            return Outline("Aggregate", tuple(_aggregate(plan)), inputs)
        case Distinct():
            return Outline("Distinct", (), inputs)
        case Order():
            keys = zip(plan.keys, plan.descending, strict=True)
            by = ", ".join(f"{k.sql}{' DESC' if down else ''}" for k, down in keys)
            return Outline("Order", (f"by {by}",), inputs)
        case Limit():
            return Outline(f"Limit {plan.count}", (), inputs)
        case _:
            assert_never(plan)


def _aliased(name: str, alias: str) -> str:
    return name if name == alias else f"{name} as {alias}"


def _where(connection: Connection | None) -> str:
    if connection is None:
        return "nowhere"
    place = (
        connection.option("path") or connection.option("topic") or connection.option("subscribe")
    )
    kind = "/".join(filter(None, (connection.connector, connection.format)))
    return f"{kind} {place}" if place else kind


def _watermark(watermark: Watermark | None) -> str:
    if watermark is None:
        return "no watermark"
    delay = f" - {spell(watermark.delay_us)}" if watermark.delay_us else ""
    idle = {
        Idle.HOLD: "waits when idle",
        Idle.FOLLOW: f"follows the others after {spell(watermark.idle_us or 0)} of silence",
        Idle.CLOCK: f"follows the clock after {spell(watermark.idle_us or 0)} of silence",
    }[watermark.idle]
    return f"watermark {watermark.column}{delay}, {idle}"


def _cut(cut: Cut) -> str:
    match cut:
        case CutByTime():
            return f"on {cut.column} by {spell(cut.length_us)}"
        case CutByRows():
            return f"by {cut.rows} rows"
        case CutByKey():
            return f"where {cut.column} changes"


def _named(item: Named) -> str:
    sql = item.scalar.sql
    column = item.scalar.column
    return sql if column and column[1] == item.name else f"{sql} AS {item.name}"


def _side(side: JoinSide, *, first: bool) -> str:
    words = [
        "reads"
        if first
        else {"INNER": "joins", "CROSS": "crosses"}.get(side.kind, f"{side.kind} joins")
    ]
    relations = list(dict.fromkeys(f.relation for f in side.input.schema if f.relation))
    words.append(", ".join(relations) or "a sub-query")
    if side.range_us is not None:
        words.append(f"[RANGE {spell(side.range_us)}]")
    if side.time is not None:
        words.append(f"by {side.time.sql}")
    if side.on is not None:
        words.append(f"ON {side.on.sql}")
    return " ".join(words)


def join_text(join: Join) -> str:
    """A join's kind and its sides."""
    names = (s.input.schema[0].relation or "a sub-query" for s in join.sides)
    return f"join of {', '.join(names)}, {_join_window(join.window)}"


def _join_window(window: JoinWindow) -> str:
    match window:
        case SlidingJoin():
            return "sliding, a window a side"
        case TumblingJoin():
            return f"tumbling by {spell(window.size_us)}{_origin(window.origin_us)}"
        case WithinJoin():
            return f"within {spell(window.size_us)}"
        case EqualTimeJoin():
            return "at equal times"
        case LookupJoin():
            return "look-up of stored rows"
        case EpochJoin():
            return "of the chunks of each epoch"


def window_text(window: Window) -> str:
    """A window's kind and its figures."""
    match window:
        case TimeWindow():
            on = f"on {window.attribute.sql}{_origin(window.origin_us)}"
            range_, slide = spell(window.range_us), spell(window.slide_us)
            if window.is_tumbling:
                return f"tumbling window of {range_} {on}"
            panes = (
                f"{window.panes} pane{'s' if window.panes > 1 else ''} of {spell(window.pane_us)}"
            )
            return f"sliding window, RANGE {range_} SLIDE {slide} {on}, {panes}"
        case LandmarkWindow():
            on = f"on {window.attribute.sql}{_origin(window.origin_us)}"
            return f"landmark window, SLIDE {spell(window.slide_us)} {on}"
        case RowWindow():
            rows = f"RANGE {window.range_rows} rows SLIDE {window.slide_rows} rows"
            if not window.partition:
                return f"row window, {rows}"
            return f"partitioned window, {rows} per {', '.join(p.sql for p in window.partition)}"
        case TupleWindow():
            per = f" per {', '.join(p.sql for p in window.partition)}" if window.partition else ""
            every = "every row" if window.slide_rows == 1 else f"every {window.slide_rows} rows"
            range_ = f"RANGE {spell(window.range_us)} on {window.attribute.sql}"
            return f"slide-by-tuple window, {range_}, {every} by {window.order.value}{per}"


def _origin(origin_us: int) -> str:
    if not origin_us:
        return ""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=origin_us)
    return f" from {moment.replace(tzinfo=None).isoformat(sep=' ')}"


def _aggregate(plan: Aggregate) -> Iterator[str]:
    if plan.window is not None:
        yield window_text(plan.window)
    if plan.keys:
        yield f"grouped by {', '.join(_named(k) for k in plan.keys)}"
    for call in plan.calls:
        yield f"{call.name} = {call.scalar.sql}{_own_window(call, plan)}"


def _own_window(call: AggregateCall, plan: Aggregate) -> str:
    if call.window == plan.window or call.window is None:
        return ""
    return f" over a {window_text(call.window)}"
