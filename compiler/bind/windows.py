"""Window clauses to one of the kinds of `planner/windows.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.durations import Amount, amount
from ssql.compiler.bind.scope import Scope
from ssql.compiler.diagnostics import SsqlError, fail
from ssql.compiler.source import Span
from ssql.planner.durations import spell
from ssql.planner.logical import (
    Aggregate,
    Alias,
    Field,
    Filter,
    Join,
    Plan,
    Project,
    StreamScan,
    walk,
)
from ssql.planner.progress import latest
from ssql.planner.scalar import Scalar, column
from ssql.planner.windows import (
    LandmarkWindow,
    RowOrder,
    RowWindow,
    TimeWindow,
    TupleWindow,
    Window,
)

MOST_OPEN_WINDOWS = 2_000  # without a word
_EXAMPLE = "[RANGE 10 minutes, SLIDE 1 minute, WA ts]"


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a clause, each at most once."""

    clause: ast.WindowClause
    range: ast.RangeItem | None
    slide: ast.SlideItem | None
    wa: ast.AttributeItem | None
    rattr: ast.AttributeItem | None
    sattr: ast.AttributeItem | None
    partition: ast.PartitionItem | None
    origin: ast.OriginItem | None


def items_of(clause: ast.WindowClause) -> Items:
    found: dict[str, ast.WindowItem] = {}
    for item in clause.items:
        match item:
            case ast.RangeItem():
                key = "RANGE"
            case ast.SlideItem():
                key = "SLIDE"
            case ast.AttributeItem():
                key = item.keyword
            case ast.PartitionItem():
                key = "PA"
            case ast.OriginItem():
                key = "ORIGIN"
        if key in found:
            raise fail(
                codes.DUPLICATE_WINDOW_ITEM,
                f"{key} is given twice",
                item.span,
                helps=[
                    "keep one of them"
                    + (", and list its columns with commas" if key == "PA" else "")
                ],
            )
        found[key] = item
    keys = ("RANGE", "SLIDE", "WA", "RATTR", "SATTR", "PA", "ORIGIN")
    return Items(clause, *(found.get(key) for key in keys))  # type: ignore[arg-type]


def origin_us(item: ast.OriginItem | None) -> int:
    if item is None:
        return 0
    try:
        moment = datetime.fromisoformat(item.text.value.strip())
    except ValueError:
        raise fail(
            codes.BAD_ORIGIN,
            f"{item.text.value!r} is not a point in time",
            item.text.span,
            helps=["as in ORIGIN '2026-01-01 00:00:00' (UTC), or '2026-01-01T00:00:00+02:00'"],
        ) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class WindowBinder:
    """Resolves the clauses of one query's aggregates over its input."""

    def __init__(self, context: Context, plan: Plan) -> None:
        self.context = context
        self.plan = plan
        self.scope = Scope(plan.schema)

    def aggregate_window(self, clause: ast.WindowClause) -> tuple[Window, tuple[Scalar, ...]]:
        """The window, and the PA columns that become grouping keys with it."""
        items = items_of(clause)
        if items.range is None:
            raise fail(
                codes.INCOMPLETE_WINDOW,
                "RANGE is missing",
                clause.span,
                helps=[f"as in {_EXAMPLE}"],
            )
        partition = tuple(
            self._partition(c) for c in (items.partition.columns if items.partition else ())
        )
        if items.rattr or items.sattr:
            return self._tuple_window(items, partition), partition
        if items.range.kind is ast.RangeKind.ALL:
            return self._landmark(items), partition
        range_, slide = self._range_and_slide(items)
        if range_.in_rows:
            self._refuse(items.origin, "ORIGIN aligns windows in time, and this one counts rows")
            if items.wa and not isinstance(items.wa.attribute, ast.RowNumber):
                raise _contradiction(
                    "a RANGE in rows goes by row-num",
                    items.wa.span,
                    "write WA row-num, or a RANGE in time",
                )
            self._need_order(clause.span)
            self._warn_of_one_task(clause, partition)
            return (
                RowWindow(
                    range_rows=range_.value,
                    slide_rows=slide.value,
                    partition=partition,
                    span=clause.span,
                ),
                partition,
            )
        self._warn_of_open_windows(clause, range_.value, slide.value)
        return (
            TimeWindow(
                range_us=range_.value,
                slide_us=slide.value,
                origin_us=origin_us(items.origin),
                attribute=self._wa(items),
                span=clause.span,
            ),
            partition,
        )

    # -------------------------------------------------------------- kinds

    def _range_and_slide(self, items: Items) -> tuple[Amount, Amount]:
        assert items.range is not None and items.range.length is not None
        range_ = amount(items.range.length, "RANGE")
        if items.slide is None:
            return range_, range_
        slide = amount(items.slide.length, "SLIDE")
        if range_.in_rows != slide.in_rows:
            kinds = ("rows", "time") if range_.in_rows else ("time", "rows")
            raise fail(
                codes.MIXED_UNITS,
                f"RANGE is in {kinds[0]} and SLIDE is in {kinds[1]}",
                items.slide.span,
                helps=[
                    "for a window in time that moves with the rows, say on what:"
                    " [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]"
                ],
            )
        if items.range.kind is ast.RangeKind.TUMBLING and slide != range_:
            raise _contradiction(
                "a TUMBLING window slides by its own length",
                items.slide.span,
                "drop SLIDE, or TUMBLING",
            )
        return range_, slide

    def _landmark(self, items: Items) -> LandmarkWindow:
        if items.slide is None:
            raise fail(
                codes.INCOMPLETE_WINDOW,
                "RANGE ALL needs a SLIDE",
                items.clause.span,
                helps=["as in [RANGE ALL, SLIDE 1 minute, WA ts]"],
            )
        slide = amount(items.slide.length, "SLIDE")
        if slide.in_rows:
            raise _contradiction(
                "RANGE ALL slides in time, not in rows", items.slide.span, "as in SLIDE 1 minute"
            )
        self.context.diagnostics.warn(
            codes.LANDMARK_GROWS,
            "RANGE ALL keeps every group for ever",
            items.clause.span,
            helps=["fine for few groups; else give RANGE a length"],
        )
        return LandmarkWindow(
            slide_us=slide.value,
            origin_us=origin_us(items.origin),
            attribute=self._wa(items),
            span=items.clause.span,
        )

    def _tuple_window(self, items: Items, partition: tuple[Scalar, ...]) -> TupleWindow:
        example = "[RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]"
        if items.wa:
            raise _contradiction(
                "WA beside RATTR or SATTR", items.wa.span, "use WA alone, or RATTR and SATTR"
            )
        self._refuse(items.origin, "ORIGIN does not go with RATTR and SATTR")
        if not (items.rattr and items.sattr and items.slide):
            missing = [
                name
                for name, item in (
                    ("RATTR", items.rattr),
                    ("SATTR", items.sattr),
                    ("SLIDE", items.slide),
                )
                if item is None
            ]
            raise fail(
                codes.INCOMPLETE_WINDOW,
                f"{' and '.join(missing)} is missing",
                items.clause.span,
                helps=[f"as in {example}"],
            )
        assert items.range is not None
        if items.range.length is None or items.range.kind is not ast.RangeKind.LENGTH:
            raise _contradiction(
                "RATTR needs a RANGE of some length", items.range.span, f"as in {example}"
            )
        range_, slide = amount(items.range.length, "RANGE"), amount(items.slide.length, "SLIDE")
        if (
            range_.in_rows
            or not slide.in_rows
            or not isinstance(items.rattr.attribute, ast.ColumnName)
        ):
            raise _contradiction(
                "RATTR and SATTR are for a RANGE in time that slides by rows",
                items.clause.span,
                f"as in {example}",
            )
        attribute = self.time(items.rattr.attribute, "RATTR")
        match items.sattr.attribute:
            case ast.RowNumber():
                order = RowOrder.ROW_NUMBER
            case ast.Rank(column=ranked):
                order = RowOrder.RANK
                if self.time(ranked, "rank").tree != attribute.tree:
                    raise _contradiction(
                        "rank must be of the RATTR column",
                        ranked.span,
                        "write the same column twice",
                    )
            case ast.ColumnName():
                raise _contradiction(
                    "SATTR is row-num or rank(…)", items.sattr.span, f"as in {example}"
                )
        self._warn_of_one_task(items.clause, partition)
        return TupleWindow(
            range_us=range_.value,
            slide_rows=slide.value,
            order=order,
            attribute=attribute,
            partition=partition,
            span=items.clause.span,
        )

    # -------------------------------------------------------------- legal, and dangerous

    def _warn_of_one_task(self, clause: ast.WindowClause, partition: tuple[Scalar, ...]) -> None:
        if not partition and self.plan.is_streaming:
            self.context.diagnostics.warn(
                codes.GLOBAL_ROWS,
                "this window numbers all rows of the stream in one task",
                clause.span,
                helps=["number them per key with PA, if that is what you want"],
            )

    def _warn_of_open_windows(self, clause: ast.WindowClause, range_us: int, slide_us: int) -> None:
        scans = (n for n in walk(self.plan) if isinstance(n, StreamScan))
        delays = [s.stream.watermark.delay_us for s in scans if s.stream.watermark]
        windows = (range_us + max(delays, default=0)) // slide_us
        if delays and windows > MOST_OPEN_WINDOWS:
            self.context.diagnostics.warn(
                codes.MANY_WINDOWS,
                f"about {windows:,} windows are open at a time",
                clause.span,
                notes=[f"RANGE and a disorder of {spell(max(delays))} are that many SLIDEs"],
                helps=["choose a longer SLIDE, or the plan rolling, which keeps panes instead"],
            )

    @staticmethod
    def _refuse(item: ast.WindowItem | None, why: str) -> None:
        if item is not None:
            raise _contradiction(why, item.span, "drop it")

    # -------------------------------------------------------------- attributes

    def _partition(self, name: ast.ColumnName) -> Scalar:
        return _reference(find_column(self.scope, name), name.span)

    def _wa(self, items: Items) -> Scalar:
        if items.wa is None:
            return self.default_time(items.clause.span)
        attribute = items.wa.attribute
        if not isinstance(attribute, ast.ColumnName):
            raise _contradiction(
                "a RANGE in time does not go by row numbers",
                items.wa.span,
                "write WA with the stream's time column, or a RANGE in rows",
            )
        return self.time(attribute, "WA")

    def time(self, name: ast.ColumnName, what: str) -> Scalar:
        """A named windowing attribute: a timestamp, and one that progresses."""
        return checked_time(self.plan, find_column(self.scope, name), what, name.span)

    def _need_order(self, span: Span) -> None:
        if self.plan.is_streaming and not self.scope.times():
            raise no_watermark(self.plan, span)

    def default_time(self, span: Span) -> Scalar:
        """The time that a window goes by if nobody says: the stream's own."""
        times = self.scope.times()
        if len(times) == 1:
            return _reference(times[0], span)
        if joined := join_time(self.plan, span):
            return joined
        if not times:
            if not self.plan.is_streaming:
                raise fail(
                    codes.INCOMPLETE_WINDOW,
                    "WA is missing",
                    span,
                    helps=[
                        "stored data has no time of its own: name a TIMESTAMP column, as in WA ts"
                    ],
                )
            raise no_watermark(self.plan, span)
        names = {f.name for f in times}
        if names == {"window_start", "window_end"} and len(times) == 2:
            if not _tumbles(self.plan):
                self.context.diagnostics.warn(
                    codes.WINDOW_PLACED_BY_START,
                    "these windows are placed by window_start",
                    span,
                    helps=["say which one counts: WA window_start or WA window_end"],
                )
            return _reference(next(f for f in times if f.name == "window_start"), span)
        known = ", ".join(f"{f.relation}.{f.name}" if f.relation else f.name for f in times)
        raise fail(
            codes.INCOMPLETE_WINDOW,
            "WA is missing, and the input has more than one time",
            span,
            helps=[f"name one of them: {known}"],
        )


def find_column(scope: Scope, name: ast.ColumnName) -> Field:
    parts = [p.text for p in name.parts]
    if len(parts) > 2:
        raise fail(
            codes.UNKNOWN_COLUMN,
            f"unknown column {'.'.join(parts)}",
            name.span,
            helps=["write column, or relation.column"],
        )
    return scope.find(parts[-1], name.span, parts[0] if len(parts) == 2 else None)


def checked_time(plan: Plan, field: Field, what: str, span: Span) -> Scalar:
    if not field.type.startswith("TIMESTAMP"):
        raise fail(
            codes.BAD_WINDOW_ATTRIBUTE,
            f"{what} must be a timestamp, and {field.name} is {field.type}",
            span,
            helps=_time_helps(plan),
        )
    if plan.is_streaming and not field.progressing:
        if not any(f.progressing for f in plan.schema):
            raise no_watermark(plan, span)
        raise fail(
            codes.BAD_WINDOW_ATTRIBUTE,
            f"{field.name} is not the column that the watermark is on",
            span,
            helps=_time_helps(plan),
        )
    return _reference(field, span)


def _time_helps(plan: Plan) -> list[str]:
    times = [
        f"{f.relation}.{f.name}" if f.relation else f.name for f in plan.schema if f.progressing
    ]
    return [f"the stream progresses along {', '.join(times)}"] if times else ["declare a WATERMARK"]


def no_watermark(plan: Plan, span: Span) -> SsqlError:
    bare = sorted(
        {n.stream.name for n in walk(plan) if isinstance(n, StreamScan) and not n.stream.watermark}
    )
    if not bare:
        return fail(
            codes.NO_WATERMARK,
            "the time of the stream is not among these columns",
            span,
            helps=["select the watermark column in the sub-query or view, too"],
        )
    return fail(
        codes.NO_WATERMARK,
        f"{' and '.join(bare)} declares no watermark, so no window ever closes",
        span,
        helps=["add to its CREATE STREAM, as in WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"],
    )


def _reference(field: Field, span: Span) -> Scalar:
    return Scalar(tree=column(field.name, field.relation), type=field.type, span=span)


def join_of(plan: Plan) -> Join | None:
    """The join that a query is over, below its WHERE."""
    while isinstance(plan, Filter):
        plan = plan.input
    return plan if isinstance(plan, Join) else None


def join_time(plan: Plan, span: Span) -> Scalar | None:
    """A join result's time: the largest of its sides'."""
    join = join_of(plan)
    times = [s.time for s in join.sides if s.time is not None] if join else []
    if len(times) < 2:
        return times[0] if times else None
    return replace(latest(times), span=span)


def _tumbles(plan: Plan) -> bool:
    while isinstance(plan, Filter | Alias | Project):
        plan = plan.input
    return (
        isinstance(plan, Aggregate)
        and isinstance(plan.window, TimeWindow)
        and plan.window.is_tumbling
    )


def _contradiction(message: str, span: Span, help: str) -> SsqlError:
    return fail(codes.CONTRADICTORY_WINDOW, message, span, helps=[help])
