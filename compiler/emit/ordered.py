"""Joins with results in order of time, as calls of our operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ssql.compiler.emit.columns import sql_of, unqualified
from ssql.compiler.emit.python import Argument, Call, Nested, literal
from ssql.compiler.source import Span
from ssql.planner.catalog import Function
from ssql.planner.choose import JoinPlan
from ssql.planner.cost.joins import ALPHA
from ssql.planner.durations import spell
from ssql.planner.join_keys import JoinConditions, Question, question_in
from ssql.planner.logical import Join, Order, Plan
from ssql.planner.ordered import ADAPTIVE
from ssql.planner.rules.conjuncts import split
from ssql.planner.scalar import Scalar, to_sql
from ssql.planner.span import NOWHERE
from ssql.planner.windows import EqualTimeJoin, SlidingJoin, TumblingJoin, WithinJoin


@dataclass(frozen=True, slots=True)
class OrderedJoinSteps:
    """The steps of one join: the conditions about one side, the join by what is equal, and then the
    other conditions."""

    chosen: JoinPlan
    step: Callable[..., str]
    text: Callable[[Span], str]
    frame_of: Callable[[Plan, Scalar | None], str]
    udfs: Mapping[Function, str]

    @property
    def _join(self) -> Join:
        return self.chosen.ordered.join

    def emit(self, event_time: str) -> str:
        """`event_time`: the name of the results' time, where another window goes by it."""
        conditions = self.chosen.ordered.conditions
        sides = [self._side(at, conditions) for at in range(len(self._join.sides))]
        arguments: list[Argument] = [Nested("[", tuple(sides), "]")]
        arguments.append(f"plan={literal(self.chosen.plan)}")
        arguments += [*self._window(), *self._order()]
        asked = {c: q for c in conditions.others if (q := self._question_in(c))}
        others = [c for c in conditions.others if c not in asked]
        if asked:
            arguments.append(Nested("asked=[", tuple(map(self._question, asked.values())), "]"))
        if self.chosen.plan == ADAPTIVE and self.chosen.alpha != ALPHA:
            arguments.append(f"alpha={self.chosen.alpha!r}")
        if event_time:
            arguments.append(f"event_time={literal(event_time)}")
        clause = self._clause([*others, *(c for own in conditions.own for c in own)])
        result = self.step(clause, "joined", "", Call("ordered_join", tuple(arguments)))
        if others:
            sql = " AND ".join(_operand(c.tree) for c in others)
            clause = f"and of these {' AND '.join(map(self._words, others))}"
            result = self.step(clause, "joined", result, Call("where", (literal(sql),)))
        return result

    def _question_in(self, condition: Scalar) -> Question | None:
        return question_in(self._join, condition, list(self.udfs))

    def _question(self, question: Question) -> Nested:
        columns = ", ".join(literal(to_sql(c)) for c in question.arguments)
        items = [self.udfs[question.function], f"[{columns}]", literal(question.function.returns)]
        if question.comparison:
            items += [literal(question.comparison), question.value]
        return Nested("Asked(", tuple(items), ")")

    def _words(self, condition: Scalar) -> str:
        return condition.sql if condition.span == NOWHERE else self.text(condition.span)

    def _side(self, at: int, conditions: JoinConditions) -> Nested:
        side, own = self._join.sides[at], conditions.own[at]
        assert side.time is not None, "stored rows were refused"
        frame, schema = self.frame_of(side.input, None), side.input.schema
        if own:
            asked = " AND ".join(_operand(unqualified(c.tree, schema)) for c in own)
            clause = " AND ".join(map(self._words, own))
            frame = self.step(clause, "filtered", frame, Call("where", (literal(asked),)))
        items = [frame, literal(schema[0].relation or "")]
        items.append(f"time={literal(sql_of(side.time, schema))}")
        if conditions.keys:
            keys = (key[at] for key in conditions.keys)
            shown = ["None" if k is None else literal(to_sql(unqualified(k, schema))) for k in keys]
            items.append(f"keys=[{', '.join(shown)}]")
        if side.range_us is not None:
            items.append(f"range={literal(spell(side.range_us))}")
        return Nested("Side(", tuple(items), ")")

    def _window(self) -> list[Argument]:
        match self._join.window:
            case WithinJoin(size_us=size):
                return [f"within={literal(spell(size))}"]
            case EqualTimeJoin():
                return [f"within={literal(spell(0))}"]
            case TumblingJoin(size_us=size, origin_us=origin):
                found: list[Argument] = [f"tumbling={literal(spell(size))}"]
                return [*found, f"origin={origin}"] if origin else found
            case SlidingJoin():
                return []
            case _:
                raise AssertionError("other joins have no order")

    def _order(self) -> list[Argument]:
        ordered, found = self.chosen.ordered, list[Argument]()
        if ordered.by is not None:
            relation = self._join.sides[ordered.by].input.schema[0].relation
            assert relation is not None, "a side without a name was refused"
            found.append(f"by={literal(relation)}")
        if ordered.order is not None and len(ordered.order.keys) > 1:
            found.append(then_argument(ordered.order, [k.sql for k in ordered.order.keys[1:]]))
        return found

    def _clause(self, elsewhere: Sequence[Scalar]) -> str:
        """What was written of the join, from clause to clause, but for conditions that have a step
        of their own."""
        join, order = self._join, self.chosen.ordered.order
        words = [self.text(join.span)]
        written = range(join.span.start, join.span.end)  # by ON
        on = (c for side in join.sides if side.on is not None for c in split(side.on))
        asked = [c for c in on if c not in elsewhere and c.span.start not in written]
        if asked:
            words.append(f"WHERE {' AND '.join(map(self._words, asked))}")
        if isinstance(join.window, WithinJoin):
            words.append(f"WINDOW {spell(join.window.size_us)}")
        elif order is not None:
            words.append(f"ORDER BY {', '.join(map(self._words, order.keys))}")
        return " ".join(words)


def then_argument(order: Order, words: Sequence[str]) -> Nested:
    """What rows of one time are in order by, from the second key on."""
    items = []
    for sql, down, nulls in zip(words, order.descending[1:], order.nulls_first[1:], strict=True):
        arguments = [literal(sql)]
        if down:
            arguments.append("descending=True")
        if nulls is not None:
            arguments.append(f"nulls_first={nulls}")
        items.append(Nested("By(", tuple(arguments), ")"))
    return Nested("then=[", tuple(items), "]")


def _operand(tree: exp.Expression) -> str:
    sql = to_sql(tree)
    return f"({sql})" if isinstance(tree, exp.Or) else sql
