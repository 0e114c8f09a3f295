"""Aggregating queries: windows, GROUP BY, aggregates and HAVING."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.durations import amount
from ssql.compiler.bind.items import Item, Output, default_name
from ssql.compiler.bind.scalars import Bound, ScalarBinder
from ssql.compiler.bind.scope import Scope
from ssql.compiler.bind.windows import WindowBinder, join_time
from ssql.compiler.diagnostics import fail
from ssql.compiler.dialect import Expression, call_name
from ssql.compiler.source import Span
from ssql.compiler.spark_functions import kinds
from ssql.planner.logical import (
    Aggregate,
    AggregateCall,
    Epochs,
    Field,
    Filter,
    Plan,
    walk,
)
from ssql.planner.scalar import UNKNOWN_TYPE, Named, Scalar, column
from ssql.planner.windows import (
    LandmarkWindow,
    RowOrder,
    RowWindow,
    TimeWindow,
    TupleWindow,
    Window,
)

BOUNDS = ("window_start", "window_end")


class Grouping:
    """One SELECT's aggregation over its FROM. Windows are resolved first, then the rest."""

    def __init__(
        self, context: Context, source: Plan, select: ast.Select, scalars: ScalarBinder
    ) -> None:
        self.context = context
        self.source = source
        self.select = select
        self.scalars = scalars
        self.by_epoch = any(isinstance(n, Epochs) for n in walk(source))
        self._windows: dict[Span, Window] = {}
        self._partition: dict[exp.Expression, Scalar] = {}
        self._resolve_windows()
        self.keys: list[Named] = []
        self.calls: list[AggregateCall] = []
        self._taken = set(BOUNDS)  # names of columns of the result, in lower case
        self._call_names: dict[tuple[exp.Expression, Window | None], str] = {}

    # -------------------------------------------------------------- windows

    def _resolve_windows(self) -> None:
        binder = WindowBinder(self.context, self.source)
        for item in self.select.items:
            if item.window is None:
                continue
            if self.by_epoch:
                raise fail(
                    codes.MIXED_EPOCHS,
                    "a query by epochs has no windows",
                    item.window.span,
                    helps=["each epoch is a window already; drop the clause"],
                )
            window, partition = binder.aggregate_window(item.window)
            for earlier in self._windows.values():
                if not _compatible(earlier, window):
                    raise fail(
                        codes.MIXED_WINDOWS,
                        "this window differs from the first in more than its RANGE",
                        item.window.span,
                        helps=["write a second query for it"],
                    )
            self._windows[item.window.span] = window
            self._partition |= {scalar.tree: scalar for scalar in partition}
        if longest := self.window:
            fields = (Field(name=name, type=longest.bound_type) for name in BOUNDS)
            self.scalars.pseudo = {f.name: f for f in fields}

    @property
    def window(self) -> Window | None:
        """The longest of the windows."""
        return max(self._windows.values(), key=_length, default=None)

    def _within(self) -> Window | None:
        """`WINDOW w` at the end: the aggregate slides along with the join's results."""
        if self.select.within is None:
            return None
        attribute = join_time(self.source, self.select.within.span)
        assert attribute is not None, "WINDOW was checked to stand with a join of streams"
        return TupleWindow(
            range_us=amount(self.select.within, "WINDOW").value,
            slide_rows=1,
            order=RowOrder.ROW_NUMBER,
            attribute=attribute,
        )

    # -------------------------------------------------------------- the aggregate

    def is_needed(self, items: list[Item]) -> bool:
        has_calls = any(self.scalars.aggregates_in(i.bound.tree) for i in items)
        for item in items:
            if item.window and not self.scalars.aggregates_in(item.bound.tree):
                raise fail(
                    codes.WINDOW_WITHOUT_AGGREGATE,
                    "this item has a window and no aggregate",
                    item.span,
                    helps=["move the window clause to the aggregate, as in count(*) [RANGE …]"],
                )
        if has_calls or self.select.group_by:
            self._refuse_generators(items)
            return True
        if self.select.having:
            if self.scalars.aggregates_in(Expression(self.select.having.text, 0).tree):
                return True
            raise fail(
                codes.HAVING_WITHOUT_AGGREGATE,
                "HAVING without an aggregate or GROUP BY",
                self.select.having.span,
                helps=["write WHERE"],
            )
        return False

    @staticmethod
    def _refuse_generators(items: list[Item]) -> None:
        for item in items:
            if kinds().get(call_name(item.bound.tree) or "") == "generator":
                raise fail(
                    codes.MISPLACED_GENERATOR,
                    "a query that aggregates cannot make rows as well",
                    item.span,
                    helps=["make the rows in a sub-query, and aggregate over it"],
                )

    def bind(self, items: list[Item]) -> tuple[Plan, list[Output]]:
        window = self.window or self._within()
        self.keys = self._keys(items)
        self._check_closes(items, window)
        outputs = []
        default = next(iter(self._windows.values()), window)
        named_bounds = False
        for item in items:
            item_window = self._windows[item.window.span] if item.window else default
            tree = self._rewrite(item.bound, item_window, item.name)
            type = self.scalars.type_of(item.bound.tree)
            scalar = Scalar(tree=tree, type=type, span=item.bound.span)
            outputs.append(Output(item.name, scalar, item.chosen, item.span))
            named_bounds |= any(self._is_bound(c) for c in tree.find_all(exp.Column))
        shown = {i.name: o.scalar.tree for i, o in zip(items, outputs, strict=True) if i.chosen}
        having = self._having(items, shown, default)
        if window is not None and not named_bounds:
            outputs = [*self._bounds(window), *outputs]
        plan: Plan = Aggregate(
            input=self.source,
            keys=tuple(self.keys),
            calls=tuple(self.calls),
            window=window,
            span=self.select.span,
        )
        if having is not None:
            plan = Filter(input=plan, condition=having, clause="HAVING", span=having.span)
        return plan, outputs

    def _bounds(self, window: Window) -> list[Output]:
        return [
            Output(
                name,
                Scalar(tree=column(name), type=window.bound_type, span=self.select.head),
                True,
                self.select.head,
            )
            for name in BOUNDS
        ]

    def _is_bound(self, node: exp.Column) -> bool:
        return not node.table and node.name in self.scalars.pseudo

    # -------------------------------------------------------------- keys

    def _keys(self, items: list[Item]) -> list[Named]:
        keys: dict[exp.Expression, Scalar] = {}
        for text in (part for whole in self.select.group_by for part in _parts(whole)):
            bound = self._group_expression(text, items)
            if bound is not None and not self._is_of_bounds(bound.tree):
                scalar = Scalar(
                    tree=bound.tree, type=self.scalars.type_of(bound.tree), span=text.span
                )
                keys.setdefault(bound.tree, scalar)
        for tree, scalar in self._partition.items():
            keys.setdefault(tree, scalar)
        named_items = {i.bound.tree: i.name for i in reversed(items)}
        named: list[Named] = []
        for tree, scalar in keys.items():
            same = named_items.get(tree)
            name = self._free(same or default_name(tree))
            named.append(Named(name=name, scalar=scalar))
        return named

    def _is_of_bounds(self, tree: exp.Expression) -> bool:
        """An expression of window_start and window_end alone: it needs no grouping."""
        columns = list(tree.find_all(exp.Column))
        return bool(columns) and all(self._is_bound(c) for c in columns)

    def _free(self, name: str) -> str:
        """The name, or the name with a number if it is taken; taken from now on."""
        number, free = 0, name
        while free.casefold() in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free.casefold())
        return free

    def _group_expression(self, text: ast.Scalar, items: list[Item]) -> Bound | None:
        expression = Expression(text.text, text.span.start)
        tree = expression.tree
        if isinstance(tree, exp.Literal) and tree.is_int:
            return self._by_position(int(tree.name), text, items)
        if isinstance(tree, exp.Column) and not tree.table:
            name = tree.name
            if name.casefold() in self.scalars.pseudo:
                return None  # every group has its window anyway
            if not self.scalars.scope.has_column(name):
                for item in items:
                    if item.chosen and item.name.casefold() == name.casefold():
                        return self._without_aggregates(item, text)
        pseudo, self.scalars.pseudo = self.scalars.pseudo, {}
        try:
            return self.scalars.resolve(expression, "GROUP BY")
        finally:
            self.scalars.pseudo = pseudo

    def _by_position(self, position: int, text: ast.Scalar, items: list[Item]) -> Bound:
        if not 1 <= position <= len(items):
            raise fail(
                codes.BAD_GROUP_POSITION,
                f"there is no SELECT item {position}",
                text.span,
                helps=[f"the items are numbered from 1 to {len(items)}"],
            )
        return self._without_aggregates(items[position - 1], text)

    def _without_aggregates(self, item: Item, text: ast.Scalar) -> Bound:
        if self.scalars.aggregates_in(item.bound.tree):
            raise fail(
                codes.MISPLACED_AGGREGATE,
                f"{text.text} is an aggregate, and cannot be grouped by",
                text.span,
                helps=["group by columns, and aggregate in SELECT"],
            )
        return item.bound

    def _check_closes(self, items: list[Item], window: Window | None) -> None:
        if window is not None or self.by_epoch or not self.source.is_streaming:
            return
        times = {(f.relation, f.name) for f in self.source.schema if f.progressing}
        if any(k.scalar.column in times for k in self.keys):
            return
        span = self.select.group_by[0].span if self.select.group_by else self.select.head
        for item in items:
            if calls := self.scalars.aggregates_in(item.bound.tree):
                span = item.bound.span_of(calls[0])
                break
        helps = ["give the aggregate a window, as in count(*) [RANGE 10 minutes, SLIDE 1 minute]"]
        if times:
            time = Scope(self.source.schema).times()[0]
            helps.append(
                f"or GROUP BY {time.relation + '.' if time.relation else ''}{time.name}, too"
            )
        raise fail(
            codes.NEVER_CLOSES,
            "no group of this stream is ever complete",
            span,
            notes=["a stream never ends: without a window, its aggregate never has a final value"],
            helps=helps,
        )

    # -------------------------------------------------------------- expressions

    def _rewrite(
        self, bound: Bound, window: Window | None, name: str, besides: str | None = None
    ) -> exp.Expression:
        """The expression over the aggregate's result: keys and calls become its columns. Columns
        of the relation `besides` stay as they are."""
        calls = self.scalars.aggregates_in(bound.tree)
        ids = {id(c) for c in calls}
        for call in calls:
            if any(id(n) in ids and n is not call for n in call.walk()):
                raise fail(
                    codes.MISPLACED_AGGREGATE,
                    "an aggregate inside of an aggregate",
                    bound.span_of(call),
                    helps=["compute the inner one in a sub-query"],
                )
        keys = {k.scalar.tree: k.name for k in self.keys}
        # Looking a node up costs a walk over it, so only those of a fitting type are.
        call_types, key_types = {type(c) for c in calls}, {type(k) for k in keys}

        def over_result(node: exp.Expression) -> exp.Expression:
            if type(node) in call_types and node in calls:
                return column(
                    self._call(bound, node, window, name if node.parent is None else None)
                )
            if type(node) in key_types and node in keys:
                return column(keys[node])
            if isinstance(node, exp.Column) and besides and node.table == besides:
                return node
            if isinstance(node, exp.Column) and not self._is_bound(node):
                raise self._not_grouped(bound, node)
            return node

        return bound.tree.transform(over_result)

    def _not_grouped(self, bound: Bound, node: exp.Column) -> Exception:
        shown = f"{node.table}.{node.name}" if node.table else node.name
        return fail(
            codes.NOT_GROUPED,
            f"{node.name} is neither grouped nor aggregated",
            bound.span_of(node),
            helps=[f"add it to GROUP BY, or aggregate it, as in max({shown})"],
        )

    def _call(
        self, bound: Bound, node: exp.Expression, window: Window | None, name: str | None
    ) -> str:
        """The column of an aggregate call; equal calls over one window are one."""
        same = self._call_names.get((node, window))
        if same is not None:
            return same
        inner = node.find(exp.Anonymous)
        assert inner is not None
        scalar = Scalar(tree=node.copy(), type=self.scalars.type_of(node), span=bound.span_of(node))
        self.calls.append(
            AggregateCall(
                name=self._free(name or _call_name(node)),
                function=call_name(inner) or "",
                scalar=scalar,
                window=window,
                argument_type=self._argument_type(inner),
            )
        )
        self._call_names[node.copy(), window] = self.calls[-1].name
        return self.calls[-1].name

    def _argument_type(self, call: exp.Anonymous) -> str:
        argument = call.expressions[0] if call.expressions else None
        if isinstance(argument, exp.Distinct):
            argument = argument.expressions[0]
        if argument is None or isinstance(argument, exp.Star):
            return UNKNOWN_TYPE
        return self.scalars.type_of(argument)

    def _having(
        self, items: list[Item], shown: dict[str, exp.Expression], window: Window | None
    ) -> Scalar | None:
        """HAVING over the aggregate's result; `shown` are the named items over it, which may have
        windows of their own."""
        if self.select.having is None:
            return None
        # SELECT aliases stand in HAVING as columns of a relation that the query does not have.
        select_list = "select"
        while self.scalars.scope.has_relation(select_list):
            select_list += "_"
        aliases = {
            i.name.casefold(): Field(name=i.name, type="?", relation=select_list)
            for i in items
            if i.chosen and not self.scalars.scope.has_column(i.name)
        }
        pseudo = self.scalars.pseudo
        self.scalars.pseudo = {**aliases, **pseudo}
        bound = self.scalars.bind(self.select.having, "HAVING", aggregates=True)
        self.scalars.pseudo = pseudo
        trees = {i.name: i.bound.tree for i in items if i.chosen}

        def expanded(tree: exp.Expression, by: dict[str, exp.Expression]) -> exp.Expression:
            def expand(node: exp.Expression) -> exp.Expression:
                if isinstance(node, exp.Column) and node.table == select_list:
                    item = by[node.name].copy()
                    alone = isinstance(item, exp.Column | exp.Anonymous | exp.Literal)
                    return item if alone else exp.Paren(this=item)
                return node

            return tree.transform(expand)

        type = self.scalars.type_of(expanded(bound.tree, trees))
        tree = expanded(self._rewrite(bound, window, "", besides=select_list), shown)
        scalar = Scalar(tree=tree, type=type, span=bound.span, conjuncts=bound.conjuncts)
        self.scalars.check_condition(scalar, "HAVING")
        return scalar


def _parts(text: ast.Scalar) -> Iterator[ast.Scalar]:
    """`GROUP BY (a, b)` groups by a and by b, and `(a)` is a."""
    tree = Expression(text.text, text.span.start).tree
    if not isinstance(tree, exp.Paren | exp.Tuple):
        yield text
        return
    opening = text.text.index("(") + 1
    inner = text.text[opening : text.text.rindex(")")]
    pieces = inner.split(",") if isinstance(tree, exp.Tuple) and "(" not in inner else [inner]
    at = text.span.start + opening
    for piece in pieces:
        start = at + len(piece) - len(piece.lstrip())
        yield from _parts(
            ast.Scalar(text=piece.strip(), span=Span(start, start + len(piece.strip())))
        )
        at += len(piece) + 1


def _compatible(a: Window, b: Window) -> bool:
    """May two aggregates of one query have these windows? They may differ in RANGE."""
    match a, b:
        case TimeWindow(), TimeWindow():
            return replace(a, range_us=b.range_us) == b
        case RowWindow(), RowWindow():
            return replace(a, range_rows=b.range_rows) == b
        case TupleWindow(), TupleWindow():
            return replace(a, range_us=b.range_us) == b
        case _:
            return a == b


def _length(window: Window) -> int:
    match window:
        case TimeWindow() | TupleWindow():
            return window.range_us
        case RowWindow():
            return window.range_rows
        case LandmarkWindow():
            return 0


def _call_name(node: exp.Expression) -> str:
    """`sum_len` for sum(len): how a person would call the column."""
    call = node.find(exp.Anonymous)
    assert call is not None
    words = [call.name.lower()]
    words += [c.name for c in call.find_all(exp.Column) if not isinstance(c.this, exp.Star)][:2]
    return "_".join(words)
