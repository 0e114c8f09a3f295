"""Rules: plans to plans that give the same rows for less work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from ssql.planner.logical import Plan, Query, walk
from ssql.planner.rules.distinct_as_groups import distinct_as_groups
from ssql.planner.rules.fold_constants import fold_constants
from ssql.planner.rules.join_conditions import join_conditions
from ssql.planner.rules.merge_aggregates import merge_aggregates
from ssql.planner.rules.order_results import order_results
from ssql.planner.rules.prune_columns import prune_columns
from ssql.planner.rules.push_filters import push_filters

# A plan of more operators is left as it is: rules walk it level by level, and a chain of that many
# views would take all of Python's stack.
MOST_OPERATORS = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """A function that returns the same object if it has nothing to do, and what it did otherwise,
    in words."""

    apply: Callable[[Plan], Plan]
    what: str

    @property
    def name(self) -> str:
        return str(getattr(self.apply, "__name__", ""))


# Each runs once, and on all of a plan: none of them makes work for one before it.
RULES = (
    # First, so that a condition that is always true is gone before anybody asks what it uses.
    Rule(fold_constants, "what is made of constants alone is computed here"),
    # Before filters move: they meet no order that is not there any more.
    Rule(order_results, "a join gives its results in order, and a window takes them in any"),
    # Before filters move: they pass an aggregate, and not a DISTINCT.
    Rule(distinct_as_groups, "DISTINCT is a group for each row, which closes with its instant"),
    # Before aggregates are merged: a filter that stands between them is in the way.
    Rule(push_filters, "conditions are met before rows are aggregated or computed on"),
    # After filters have moved: some of them stand over a join only then.
    Rule(join_conditions, "a condition on two sides of a join is the join's own"),
    # Before columns are pruned: it uses fewer of them.
    Rule(merge_aggregates, "an aggregate of aggregates is one aggregate, over the rows"),
    # Last, when it is known who uses what.
    Rule(prune_columns, "columns that nobody uses are not computed"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """A rule that changed something, what it does, and the plan after it."""

    rule: str
    what: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Rewritten:
    query: Query
    changes: tuple[Change, ...] = ()


def rewrite(query: Query) -> Rewritten:
    plan, changes = query.plan, list[Change]()
    if sum(1 for _ in islice(walk(plan), MOST_OPERATORS + 1)) > MOST_OPERATORS:
        return Rewritten(query)
    for rule in RULES:
        before, plan = plan, rule.apply(plan)
        if plan is not before:
            changes.append(Change(rule.name, rule.what, plan))
    return Rewritten(replace(query, plan=plan) if changes else query, tuple(changes))
