"""What plans can run a query, and what keeps them from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from ssql.planner.aggregates.calls import recipe_for
from ssql.planner.aggregates.recipes import Recipe
from ssql.planner.join_keys import is_equi_join
from ssql.planner.logical import (
    Aggregate,
    AggregateCall,
    Distinct,
    Epochs,
    Join,
    Order,
    Plan,
    walk,
)
from ssql.planner.ordered import has_names_twice
from ssql.planner.progress import shifts, shifts_of, time_of
from ssql.planner.scalar import to_sql
from ssql.planner.span import Span
from ssql.planner.windows import LookupJoin, TimeWindow

# Spark makes one projection per window that a row is in, and takes them all into one plan.
MOST_WINDOWS_PER_ROW = 4_000

# The plans of windows in time, which a query may ask for, in the order of preference where costs
# are alike: Spark's own first. Other windows have one plan each.
TIME_PLANS = ("wid", "paned", "rolling", "adaptwid")
OF_PANES = frozenset({"paned", "rolling"})
# Those in which an operator of ours takes part, not Spark alone.
OPERATORS = frozenset({"rolling", "adaptwid", "landmark", "rows", "partitioned", "slide-by-tuple"})


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A legal query that no plan runs yet, or not the one that was asked for."""

    what: str
    span: Span
    help: str
    why: str = "is not compiled yet"

    @property
    def message(self) -> str:
        return f"{self.what} {self.why}"


def obstacle(node: Aggregate, window: TimeWindow, plan: str) -> Unsupported | None:
    """What keeps one of TIME_PLANS from running an aggregate; None: nothing does."""
    if plan in OPERATORS:
        return inoperable(node, plan)
    unmergeable = [c for c in node.calls if not recipe(c, node).mergeable]
    if plan == "paned" and unmergeable:
        return Unsupported(
            unmergeable[0].scalar.sql,
            unmergeable[0].scalar.span,
            "nobody knows how to merge it from panes: ask for the plan wid",
            "cannot be computed by the plan paned",
        )
    if -(-window.range_us // window.slide_us) > MOST_WINDOWS_PER_ROW:
        return Unsupported(
            f"the plan {plan}",
            window.span,
            "ask for the plan rolling, or choose a longer SLIDE or a shorter RANGE",
            f"cannot run windows of which a row is in more than {MOST_WINDOWS_PER_ROW:,}",
        )
    return None


def inoperable(node: Aggregate, plan: str) -> Unsupported | None:
    """What keeps an operator of ours from running an aggregate; None: nothing does."""
    of_panes = plan in ("rolling", "landmark")
    for call in node.calls:
        known = recipe(call, node)
        if (known.for_panes if of_panes else known.for_rows) is None:
            return Unsupported(
                call.scalar.sql,
                call.scalar.span,
                "only Spark's own windows in time have it: ask for the plan wid"
                if isinstance(node.window, TimeWindow)
                else "use another aggregate, or a window in time",
                f"cannot be computed by the plan {plan}",
            )
    for key in node.keys:
        if _NESTED.search(key.scalar.type):
            return Unsupported(
                f"GROUP BY {key.scalar.type}",
                key.scalar.span,
                "group by its fields, or by to_json(…) of it",
                f"cannot be computed by the plan {plan}",
            )
    return None


_NESTED = re.compile(r"\b(ARRAY|STRUCT|MAP|VARIANT)\b", re.IGNORECASE)


def recipe(call: AggregateCall, node: Aggregate) -> Recipe:
    found = recipe_for(call, node, to_sql)
    assert found is not None, "what has no recipe has been refused"
    return found


# ------------------------------------------------------------------ what has no plan yet


def missing(plan: Plan) -> Unsupported | None:
    help = "this version compiles projections, filters, joins in any order and windowed aggregates"
    for node in walk(plan):
        what = None
        match node:
            case Epochs():
                what = "a query by epochs"
            case Join():
                if found := _missing_join(node):
                    return found
            case Order() if node.is_streaming:
                if found := _missing_order(node):
                    return found
            case Distinct() if node.is_streaming:
                what = "DISTINCT over a stream"
            case Aggregate():
                if found := _missing_aggregate(node):
                    return found
        if what:
            return Unsupported(what, node.span, help)
    return None


def _missing_join(node: Join) -> Unsupported | None:
    """A side whose rows are all to be kept cannot be in several slots of time at once."""
    for at, side in enumerate(node.sides[1:], 1):
        is_stream = side.time is not None and not isinstance(node.window, LookupJoin)
        if is_stream and side.kind in ("RIGHT", "FULL") and not is_equi_join(node, at):
            return Unsupported(
                f"a {side.kind} JOIN of streams without an equality",
                side.input.span,
                "join by an equality as well, or turn it round to a LEFT JOIN",
            )
    return None


def _missing_order(node: Order) -> Unsupported | None:
    """Rows are in order of the time that Spark knows, so there must be one such time."""
    schema = node.input.schema
    if len({f.relation for f in schema}) > 1 and has_names_twice(schema):
        return Unsupported(
            "ORDER BY where a column without a qualifier is called like another, or like a side",
            node.span,
            "give every item of FROM a name, as in (SELECT …) q, or a UNION b AS m",
        )
    if len(shifts_of(node.input, node.keys[0])) > 1:
        return Unsupported(
            f"an order by {node.keys[0].sql} over results of different windows",
            node.keys[0].span,
            "order by window_end, or order each of them",
        )
    return None


def _missing_aggregate(node: Aggregate) -> Unsupported | None:
    time = time_of(node) if node.is_streaming else None
    if time is not None and time.column:
        relation, name = time.column
        if len(shifts(node.input, name, relation)) > 1:
            return Unsupported(
                f"an aggregate by {name} over results of different windows",
                time.span,
                "go by window_end, or aggregate them one by one",
            )
    for call in node.calls:
        if not (node.is_streaming or node.window or call.function == "heavy_hitters"):
            continue  # stored data: Spark's own aggregates, whatever they are
        if recipe_for(call, node, to_sql) is None:
            distinct = call.scalar.tree.find(exp.Distinct)
            what = f"{'DISTINCT in ' if distinct else ''}{call.function} over a stream"
            return Unsupported(what, call.scalar.span, "use another aggregate")
        inner = call.scalar.tree.find(exp.Anonymous)
        if call.function in _OF_A_SHARE and inner is not None and len(inner.expressions) > 1:
            share = inner.expressions[1]
            if not all(map(_is_share, _items(share))):
                return Unsupported(
                    f"{call.function} of anything but shares from 0 to 1",
                    call.scalar.span,
                    "write a number, as in 0.95, or several, as in array(0.5, 0.95)",
                )
    return None


def _items(share: exp.Expression) -> list[exp.Expression]:
    is_array = isinstance(share, exp.Array) or share.name.lower() == "array"
    return list(share.expressions) if is_array else [share]


def _is_share(tree: exp.Expression) -> bool:
    while isinstance(tree, exp.Cast | exp.TryCast | exp.Paren):
        tree = tree.this
    return isinstance(tree, exp.Literal) and not tree.is_string and 0 <= float(tree.name) <= 1


_OF_A_SHARE = frozenset({"percentile", "approx_percentile", "percentile_approx", "heavy_hitters"})
