"""FROM with several items: how they are joined, and by which window."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.durations import amount
from ssql.compiler.bind.relations import RelationBinder
from ssql.compiler.bind.scalars import ScalarBinder
from ssql.compiler.bind.scope import Scope
from ssql.compiler.bind.windows import (
    Items,
    WindowBinder,
    checked_time,
    find_column,
    items_of,
    origin_us,
)
from ssql.compiler.diagnostics import fail
from ssql.compiler.source import Span
from ssql.planner.join_keys import has_equality
from ssql.planner.logical import (
    CutByKey,
    CutByTime,
    Epochs,
    Filter,
    Join,
    JoinSide,
    OneRow,
    Plan,
    walk,
)
from ssql.planner.progress import keeps_state
from ssql.planner.rules.join_conditions import join_conditions
from ssql.planner.scalar import Scalar
from ssql.planner.windows import (
    EpochJoin,
    EqualTimeJoin,
    JoinWindow,
    LookupJoin,
    SlidingJoin,
    TumblingJoin,
    WithinJoin,
)

_KINDS = {
    ",": "INNER", "INNER": "INNER", "CROSS": "CROSS", "LEFT": "LEFT", "LEFT OUTER": "LEFT",
    "RIGHT": "RIGHT", "RIGHT OUTER": "RIGHT", "FULL": "FULL", "FULL OUTER": "FULL",
}  # fmt: skip
_HOW = "give each stream a window, as in FROM a [RANGE 3 minutes], b [RANGE 2 minutes]"


@dataclass(frozen=True, slots=True)
class _Side:
    """A FROM item on its way to a JoinSide."""

    item: ast.FromItem
    side: JoinSide
    items: Items | None  # of its window clause

    @property
    def plan(self) -> Plan:
        return self.side.input

    @property
    def streaming(self) -> bool:
        return self.side.input.is_streaming

    @property
    def name(self) -> str:
        names = Scope(self.plan.schema).relations()
        return names[0] if len(names) == 1 else "this side"


class FromBinder:
    """FROM and WHERE of one SELECT."""

    def __init__(self, context: Context, relations: RelationBinder) -> None:
        self.context = context
        self.relations = relations

    def bind(self, select: ast.Select) -> Plan:
        if select.source is None:
            plan: Plan = OneRow(span=select.head)
            sides: list[_Side] = []
        else:
            sides = self._sides(select.source)
            plan = self._joined(sides, select.source.span)
        condition = None
        if select.where is not None:
            condition = ScalarBinder(self.context, Scope(plan.schema)).condition(
                select.where, "WHERE"
            )
        if len(sides) == 1:
            self._no_join_window(sides[0], select.within)
        elif isinstance(plan, Join):
            plan = self._windowed(plan, sides, select, condition)
            self._warn_of_waiting(plan, sides)
            self._warn_of_all_pairs(plan, sides, condition)
        elif select.within:
            raise _bad("WINDOW is for joins of streams", select.within.span, "drop it")
        if condition is None:
            return plan
        return Filter(input=plan, condition=condition, clause="WHERE", span=condition.span)

    # -------------------------------------------------------------- sides

    def _sides(self, source: ast.From) -> list[_Side]:
        sides = [self._side(source.first, JoinSide(input=self.relations.item(source.first)))]
        for join in source.joins:
            if join.kind not in _KINDS:
                raise fail(
                    codes.BAD_JOIN,
                    f"{join.kind} JOIN is not supported",
                    join.kind_span,
                    helps=[
                        "joins: INNER, LEFT, RIGHT and FULL JOIN … ON, CROSS JOIN, and the comma"
                    ],
                )
            if join.kind.startswith(("RIGHT", "FULL")) and any(
                earlier.kind == "," for earlier in source.joins
            ):
                raise fail(
                    codes.BAD_JOIN,
                    f"{join.kind} JOIN beside a comma: what it joins is easily misread",
                    join.kind_span,
                    helps=["write CROSS JOIN instead of the comma, or a sub-query"],
                )
            plan = self.relations.item(join.item)
            self._check_name(sides, plan, join.item)
            kind = _KINDS[join.kind]
            on = self._on(sides, plan, join)
            sides.append(self._side(join.item, JoinSide(input=plan, kind=kind, on=on)))
        return sides

    @staticmethod
    def _side(item: ast.FromItem, side: JoinSide) -> _Side:
        return _Side(item, side, items_of(item.window) if item.window else None)

    @staticmethod
    def _check_name(sides: list[_Side], plan: Plan, item: ast.FromItem) -> None:
        taken = {r.casefold() for s in sides for r in Scope(s.plan.schema).relations()}
        for name in Scope(plan.schema).relations():
            if name.casefold() in taken:
                raise fail(
                    codes.DUPLICATE_ALIAS,
                    f"{name} is in this FROM already",
                    item.span,
                    helps=[f"give it another name, as in {name} AS {name}2"],
                )

    def _on(self, sides: list[_Side], plan: Plan, join: ast.Join) -> Scalar | None:
        if join.on is None:
            if join.kind in (",", "CROSS"):
                return None
            raise fail(
                codes.SYNTAX,
                f"{join.kind} JOIN needs ON",
                join.kind_span,
                helps=["as in JOIN b ON a.x = b.x"],
            )
        if join.kind == "CROSS":
            raise fail(
                codes.SYNTAX, "CROSS JOIN has no ON", join.on.span, helps=["write INNER JOIN"]
            )
        fields = tuple(f for s in sides for f in s.plan.schema) + plan.schema
        return ScalarBinder(self.context, Scope(fields)).condition(join.on, "ON")

    @staticmethod
    def _joined(sides: list[_Side], span: Span) -> Plan:
        if len(sides) == 1:
            return sides[0].plan
        return Join(sides=tuple(s.side for s in sides), window=LookupJoin(), span=span)

    @staticmethod
    def _no_join_window(side: _Side, within: ast.Length | None) -> None:
        if side.items is not None:
            raise _bad(
                "a window after FROM is for joins, and there is one input only",
                side.items.clause.span,
                "put it after the aggregate: SELECT max(len) [RANGE 5 minutes, …] FROM …",
            )
        if within is not None:
            raise _bad(
                "WINDOW at the end is for joins, and there is one input only",
                within.span,
                "put a window after the aggregate: SELECT max(len) [RANGE 5 minutes, …] FROM …",
            )

    # -------------------------------------------------------------- legal, and dangerous

    def _warn_of_waiting(self, join: Join, sides: list[_Side]) -> None:
        if not keeps_state(join):
            return
        for side in sides[1:]:
            if side.streaming and side.side.kind in ("LEFT", "RIGHT", "FULL"):
                self.context.diagnostics.warn(
                    codes.OUTER_JOIN_WAITS,
                    "rows that match nothing wait until the watermark has passed their window",
                    side.item.span,
                    helps=["all streams move the watermark: one that is silent holds them back"],
                )

    def _warn_of_all_pairs(self, join: Join, sides: list[_Side], condition: Scalar | None) -> None:
        if not keeps_state(join) or isinstance(join.window, EpochJoin):
            return
        plan: Plan = join
        if condition is not None:
            plan = join_conditions(Filter(input=join, condition=condition, clause="WHERE"))
            plan = plan.input if isinstance(plan, Filter) else plan
        assert isinstance(plan, Join)
        for at, side in enumerate(sides[1:], 1):
            before = any(s.streaming for s in sides[:at])
            if before and side.streaming and not has_equality(plan, at):
                self.context.diagnostics.warn(
                    codes.ALL_PAIRS,
                    f"{side.name} is joined by no equality: all pairs in the window are compared",
                    side.item.span,
                    helps=["join by a key as well, as in a.x = b.x, or keep the windows short"],
                )

    # -------------------------------------------------------------- windows

    def _windowed(
        self, join: Join, sides: list[_Side], select: ast.Select, condition: Scalar | None
    ) -> Join:
        streaming = [s for s in sides if s.streaming]
        for side in sides:
            if side.items and not side.streaming:
                raise _bad("stored data has no window", side.items.clause.span, "drop it")
        if any(isinstance(n, Epochs) for n in walk(join)):
            return self._by_epochs(join, sides, select)
        if len(streaming) < 2:
            return self._lookup(join, sides, select)
        window: JoinWindow
        ranges: dict[int, int] = {}
        if select.within:
            window = self._within(sides, select.within)
        elif tumbling := [s for s in streaming if _is_tumbling(s)]:
            window = self._tumbling(streaming, tumbling)
        elif not any(s.items for s in streaming) and (
            times := _equated_times(join, streaming, condition)
        ):
            bound = (replace(s.side, time=times.get(id(s))) for s in sides)
            return replace(join, sides=tuple(bound), window=EqualTimeJoin())
        else:
            window, ranges = SlidingJoin(), self._ranges(join, streaming)
        bound = (
            replace(
                side.side,
                time=self._time(side) if side.streaming else None,
                range_us=ranges.get(id(side)),
            )
            for side in sides
        )
        return replace(join, sides=tuple(bound), window=window)

    def _lookup(self, join: Join, sides: list[_Side], select: ast.Select) -> Join:
        window = next((s.items.clause for s in sides if s.items), None)
        if window or select.within:
            span = window.span if window else select.within.span  # type: ignore[union-attr]
            raise _bad("a join with stored data needs no window", span, "drop it")
        for at, side in enumerate(sides[1:], 1):
            before = any(s.streaming for s in sides[:at])
            wrong = (before and side.side.kind in ("RIGHT", "FULL")) or (
                side.streaming and side.side.kind in ("LEFT", "FULL")
            )
            if wrong:
                raise fail(
                    codes.BAD_JOIN,
                    "the stored rows that match nothing are known only at the stream's end",
                    side.item.span,
                    helps=["keep the stream's rows instead: stream LEFT JOIN table"],
                )
        stream = next((s for s in sides if s.streaming), None)
        times = Scope(stream.plan.schema).times() if stream else ()
        bound = [
            replace(s.side, time=WindowBinder(self.context, s.plan).default_time(s.item.span))
            if s is stream and len(times) == 1
            else s.side
            for s in sides
        ]
        return replace(join, sides=tuple(bound))

    @staticmethod
    def _by_epochs(join: Join, sides: list[_Side], select: ast.Select) -> Join:
        cuts = [s.plan for s in sides if isinstance(s.plan, Epochs)]
        for side in sides:
            if side.streaming and not isinstance(side.plan, Epochs):
                raise _mixed(f"{side.name} is a plain stream beside epochs", side.item.span)
            if isinstance(side.plan, Epochs) and not _alike(side.plan, cuts[0]):
                raise _mixed("this is cut in another way than the first", side.item.span)
            if side.items:
                raise _mixed("epochs have no window", side.items.clause.span)
        if select.within:
            raise _mixed("epochs have no window", select.within.span)
        return replace(join, window=EpochJoin())

    @staticmethod
    def _within(sides: list[_Side], within: ast.Length) -> WithinJoin:
        for side in sides:
            if side.items:
                raise _bad(
                    "a window of its own beside WINDOW for all",
                    side.items.clause.span,
                    "use one or the other",
                )
        size = amount(within, "WINDOW")
        if size.in_rows:
            raise _bad("WINDOW is a length of time", within.span, "as in WINDOW 10 minutes")
        return WithinJoin(size_us=size.value)

    def _tumbling(self, streaming: list[_Side], tumbling: list[_Side]) -> TumblingJoin:
        windows = []
        for side in tumbling:
            assert side.items and side.items.range and side.items.range.length
            self._only(side.items, "RANGE TUMBLING, WA and ORIGIN", origin=True)
            size = amount(side.items.range.length, "RANGE")
            if size.in_rows:
                raise _bad(
                    "a join window is a length of time", side.items.range.span, "as in 5 minutes"
                )
            windows.append(TumblingJoin(size_us=size.value, origin_us=origin_us(side.items.origin)))
        others = [s for s in streaming if s.items and not _is_tumbling(s)]
        if others or any(w != windows[0] for w in windows):
            clause = (others or tumbling)[-1].items
            assert clause is not None
            raise _bad(
                "a tumbling join has one window for all its sides",
                clause.clause.span,
                "give it once, after the last FROM item",
            )
        if len(tumbling) < len(streaming) and tumbling != streaming[-1:]:
            assert tumbling[0].items is not None
            raise _bad(
                "the window of a tumbling join stands after the last FROM item",
                tumbling[0].items.clause.span,
                "move it there",
            )
        return windows[0]

    def _ranges(self, join: Join, streaming: list[_Side]) -> dict[int, int]:
        """The RANGE of each side, by the id of the side."""
        bare = [s for s in streaming if s.items is None]
        if bare:
            some = len(bare) < len(streaming)
            message = (
                f"{bare[0].name} has no window"
                if some
                else "two streams are joined without a window"
            )
            raise fail(
                codes.UNBOUNDED_JOIN,
                message,
                bare[0].item.span if some else join.span,
                helps=[_HOW, "or one for all: WINDOW 10 minutes at the end of the query"],
            )
        ranges = {}
        for side in streaming:
            assert side.items is not None
            ranges[id(side)] = self._range(side.items)
        return ranges

    def _range(self, items: Items) -> int:
        self._only(items, "RANGE and WA")
        if items.range is None:
            raise fail(
                codes.INCOMPLETE_WINDOW,
                "RANGE is missing",
                items.clause.span,
                helps=["as in [RANGE 3 minutes]"],
            )
        if items.range.length is None:
            raise _bad(
                "a join cannot keep ALL of a stream", items.range.span, "as in RANGE 3 minutes"
            )
        size = amount(items.range.length, "RANGE")
        if size.in_rows:
            raise _bad(
                "a join window is a length of time", items.range.span, "as in RANGE 3 minutes"
            )
        return size.value

    @staticmethod
    def _only(items: Items, what: str, *, origin: bool = False) -> None:
        for item in (
            items.slide,
            items.rattr,
            items.sattr,
            items.partition,
            None if origin else items.origin,
        ):
            if item is not None:
                raise _bad(f"the window of a join has {what} only", item.span, "drop this item")

    def _time(self, side: _Side) -> Scalar:
        """The side's event time: what its WA names, or the stream's own."""
        items = side.items
        if items is None or items.wa is None:
            return WindowBinder(self.context, side.plan).default_time(side.item.span)
        attribute = items.wa.attribute
        if not isinstance(attribute, ast.ColumnName):
            raise _bad("a join goes by time, not by row numbers", items.wa.span, "write WA ts")
        field = find_column(Scope(side.plan.schema), attribute)
        return checked_time(side.plan, field, "WA", attribute.span)


def _is_tumbling(side: _Side) -> bool:
    range_ = side.items.range if side.items else None
    return range_ is not None and range_.kind is ast.RangeKind.TUMBLING


def _alike(a: Epochs, b: Epochs) -> bool:
    match a.cut, b.cut:
        case CutByTime(), CutByTime():
            return a.cut.length_us == b.cut.length_us  # of columns that may differ in name
        case CutByKey(), CutByKey():
            return True
        case _:
            return a.cut == b.cut


def _equated_times(
    join: Join, streaming: list[_Side], condition: Scalar | None
) -> dict[int, Scalar] | None:
    """The time column of each side, if equalities in ON and WHERE tie them all together."""
    owner = {
        (f.relation, f.name): at
        for at, side in enumerate(streaming)
        for f in side.plan.schema
        if f.progressing
    }
    group = list(range(len(streaming)))
    times: dict[int, Scalar] = {}
    conditions = [s.on for s in join.sides if s.on] + ([condition] if condition else [])
    for scalar in conditions:
        tree = scalar.tree
        for part in tree.flatten() if isinstance(tree, exp.And) else (tree,):
            equality = part.unnest()
            if not isinstance(equality, exp.EQ):
                continue
            ends = [c for c in (equality.left, equality.right) if isinstance(c, exp.Column)]
            sides = [owner.get((c.table or None, c.name)) for c in ends]
            if len(sides) < 2 or sides[0] is None or sides[1] is None:
                continue
            group = [group[sides[0]] if g == group[sides[1]] else g for g in group]
            for side, column in zip(sides, ends, strict=True):
                time = Scalar(tree=column.copy(), type="TIMESTAMP", span=scalar.span)
                times.setdefault(id(streaming[side or 0]), time)
    return times if len(set(group)) == 1 else None


def _bad(message: str, span: Span, help: str) -> Exception:
    return fail(codes.BAD_JOIN_WINDOW, message, span, helps=[help])


def _mixed(message: str, span: Span) -> Exception:
    return fail(
        codes.MIXED_EPOCHS,
        message,
        span,
        helps=["read every stream of the query through STREAM(…), cut alike, and without windows"],
    )
