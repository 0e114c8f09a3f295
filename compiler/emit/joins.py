"""Joins of streams to DataFrame calls: Spark's own join, with the bounds of its windows.

Spark lets go of a row when a condition on the times of both sides says that no partner can come any
more, and it takes one column of time a side. What a join gives has the times of all its sides, so
where another join or an aggregate follows, each side brings its time in a column of its own, and
the result has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ssql.compiler.emit.python import Argument, Call, Nested, literal
from ssql.planner.durations import spell
from ssql.planner.join_keys import is_equi_join
from ssql.planner.logical import Filter, Join, JoinSide, Plan
from ssql.planner.progress import shifts_of
from ssql.planner.rules.columns import columns_of
from ssql.planner.rules.conjuncts import split
from ssql.planner.scalar import Scalar, column, to_sql
from ssql.planner.span import NOWHERE, Span
from ssql.planner.windows import EqualTimeJoin, LookupJoin, SlidingJoin, TumblingJoin, WithinJoin

# What Spark knows a column of event time by. A column that is none any more has a mark of its own:
# Spark would take one without any for the column that it was made from.
_EVENT_TIME = '{"spark.watermarkDelayMs": 0}'
_PLAIN_TIME = '{"is_event_time": False}'


@dataclass(frozen=True, slots=True)
class _Input:
    """A side of a join. `time` is its time as it was written, `event_time` what Spark goes by,
    which is so much later; both are Spark SQL, and empty for stored data."""

    side: JoinSide
    frame: str
    calls: tuple[Call, ...] = ()
    time: str = ""
    event_time: str = ""
    shift_us: int = 0


@dataclass(frozen=True, slots=True)
class JoinSteps:
    """The steps of one join. `time` is the event time of its results, for what keeps state above
    it; None: nothing does. `free` makes a name that no column has, nor begins with."""

    plan: Join
    step: Callable[..., str]
    text: Callable[[Span], str]
    frame_of: Callable[[Plan, Scalar | None], str]
    free: Callable[[str], str]
    event_time_name: str
    time: Scalar | None

    def emit(self) -> str:
        streams = [s for s in self.plan.sides if s.time is not None]
        apart = not self._is_lookup and (len(streams) > 2 or self.time is not None)
        inputs = [self._input(at, side, apart=apart) for at, side in enumerate(self.plan.sides)]
        joined = self._side(inputs[0])
        before = [i for i in inputs[:1] if i.event_time]  # the streams so far
        event_time = before[0].event_time if before else ""
        for at, other in enumerate(inputs[1:], 1):
            joined = self._joined(joined, before, event_time, other, at)
            if other.event_time:
                before.append(other)
                event_time = event_time or other.event_time
                if len(before) > 1 and any(i.event_time for i in inputs[at + 1 :]):
                    event_time = f"{self.event_time_name}_to_{at + 1}"
                    latest = f"greatest({', '.join(i.time for i in before)})"
                    joined = self._marked(joined, latest, event_time)
        if apart and self.time is not None:
            joined = self._marked(joined, self.time.sql, self.event_time_name)
        return joined

    @property
    def _is_lookup(self) -> bool:
        return isinstance(self.plan.window, LookupJoin)

    # -------------------------------------------------------------- sides

    def _input(self, at: int, side: JoinSide, *, apart: bool) -> _Input:
        if self._is_lookup or side.time is None:
            asked = self.time if side.input.is_streaming else None
            return _Input(side, self.frame_of(side.input, asked))
        assert side.time.column is not None, "a side goes by one of its columns"
        (shift,) = shifts_of(side.input, side.time)
        # Rows of a plain stream have their time, and bring no other along.
        frame = self.frame_of(side.input, None if shift is None else side.time)
        (_, name), time = side.time.column, side.time.sql
        if shift is None and not apart:
            return _Input(side, frame, (), time, time)
        own = f"{self.event_time_name}_{at + 1}"
        bare = to_sql(column(name))
        calls: tuple[Call, ...]
        if shift is None:
            calls = (
                Call("withColumn", (literal(own), f"F.expr({literal(bare)})")),
                Call("withMetadata", (literal(name), _PLAIN_TIME)),
            )
        else:
            calls = (Call("withColumnRenamed", (literal(self.event_time_name), literal(own))),)
        return _Input(side, frame, calls, time, own, shift or 0)

    def _side(self, given: _Input) -> str:
        """The side under its name, and with its time."""
        relation = given.side.input.schema[0].relation
        alias = (Call("alias", (literal(relation),)),) if relation else ()
        if given.calls:
            about = f"the time of {relation or 'this side'} in a column of its own"
            name = f"{relation}_timed" if relation else "timed"
            return self.step(about, name, given.frame, *given.calls, *alias)
        return f"{given.frame}.alias({literal(relation)})" if relation else given.frame

    # -------------------------------------------------------------- one join

    def _joined(
        self, joined: str, before: list[_Input], event_time: str, other: _Input, at: int
    ) -> str:
        side, clause = other.side, self._clause(other.side)
        frame = self._side(other)
        conditions = split(side.on) if side.on is not None else []
        if other.event_time and before and side.kind in ("LEFT", "RIGHT", "FULL"):
            conditions, joined, frame = self._asked_before(conditions, joined, frame, other, at)
        asked = [to_sql(c.tree) for c in conditions]
        if other.event_time and before:
            asked += self._bounds(before, event_time, other)
            if not is_equi_join(self.plan, at):
                slot, joined, frame = self._slotted(joined, frame, before, event_time, other, at)
                asked.insert(0, slot)
        if not asked:
            return self.step(clause, "joined", joined, Call("crossJoin", (frame,)))
        kind = "INNER" if side.kind == "CROSS" else side.kind
        on = [f"F.expr({literal(c)})" for c in asked]
        condition: Argument = on[0] if len(on) == 1 else Nested("[", tuple(on), "]")
        call = Call("join", (frame, condition, literal(kind.lower())))
        return self.step(clause, "joined", joined, call)

    def _asked_before(
        self, conditions: list[Scalar], joined: str, frame: str, other: _Input, at: int
    ) -> tuple[list[Scalar], str, str]:
        """Spark takes a condition on one side alone, as in b.v > 0, for one on time, and would keep
        the rows of an outer join for ever: it is asked before the join."""
        own = {(f.relation, f.name) for f in other.side.input.schema}
        frames, left = {True: frame, False: joined}, list[Scalar]()
        for number, condition in enumerate(conditions):
            columns = columns_of(condition.tree)
            if not columns or (columns & own and columns - own):
                left.append(condition)
                continue
            is_own, name = columns <= own, self.free(f"met_{at}_{number + 1}")
            asked = Call("withColumn", (literal(name), f"F.expr({literal(condition.sql)})"))
            clause = f"{self.text(condition.span)}, asked before the join"
            frames[is_own] = self.step(clause, "asked", frames[is_own], asked)
            left.append(Scalar(tree=column(name), type="BOOLEAN"))
        return left, frames[False], frames[True]

    def _clause(self, side: JoinSide) -> str:
        source = side.input
        while isinstance(source, Filter):  # a rule has put it there
            source = source.input
        words = [f"{side.kind} JOIN", self.text(source.span)]
        if side.on is not None:
            spans = side.on.conjuncts if side.on.span == NOWHERE else (side.on.span,)
            words += ["ON", " AND ".join(map(self.text, spans))]
        match self.plan.window:
            case SlidingJoin() if side.range_us is not None:
                words.append("within the windows of both sides")
            case TumblingJoin(size_us=size) if side.time is not None:
                words.append(f"in the same {spell(size)}")
            case WithinJoin(size_us=size):
                words.append(f"within {spell(size)}")
        return " ".join(words)

    def _bounds(self, before: list[_Input], event_time: str, other: _Input) -> list[str]:
        """The conditions on the times of a side and of those before it."""
        window, event = self.plan.window, other.event_time
        # How much later than the times themselves the event times of both are.
        first, several = before[0], len(before) > 1
        shift_us = other.shift_us - (0 if several else first.shift_us)
        match window:
            case EqualTimeJoin():
                is_own = event != other.time or event_time != first.time
                return [f"{event} = {_shifted(event_time, shift_us)}"] if is_own else []
            case TumblingJoin():
                number = _window_number(window)
                time = event_time if several else first.time
                return [
                    f"{number.format(other.time)} = {number.format(time)}",
                    f"{event} > {_shifted(event_time, shift_us - window.size_us)}",
                    f"{event} < {_shifted(event_time, shift_us + window.size_us)}",
                ]
            case SlidingJoin() | WithinJoin():
                found = [f"{event} > {_shifted(event_time, shift_us - self._range(other))}"]
                if not several:
                    found.append(f"{event} < {_shifted(event_time, shift_us + self._range(first))}")
                    return found
                ends = [f"{event} < {_shifted(i.time, shift_us + self._range(i))}" for i in before]
                for one, end in zip(before, ends, strict=True):
                    # A side that was matched by nothing has no time, and no say.
                    absent = f"{one.time} IS NULL OR " if self._may_lack(one.side) else ""
                    found.append(f"{absent}{end}")
                if any(" OR " in f for f in found):
                    longest = max(map(self._range, before))
                    found.append(f"{event} < {_shifted(event_time, shift_us + longest)}")
                return found
            case _:
                raise AssertionError("other joins were refused")

    def _range(self, given: _Input) -> int:
        """For less than this a row of the side waits."""
        if isinstance(self.plan.window, WithinJoin):
            return self.plan.window.size_us + 1  # the very end is in
        assert given.side.range_us is not None
        return given.side.range_us

    def _may_lack(self, side: JoinSide) -> bool:
        """May a result be without a row of this side?"""
        at = self.plan.sides.index(side)
        later = {s.kind for s in self.plan.sides[at + 1 :]}
        return (at > 0 and side.kind in ("LEFT", "FULL")) or bool(later & {"RIGHT", "FULL"})

    def _slotted(
        self, joined: str, frame: str, before: list[_Input], event_time: str, other: _Input, at: int
    ) -> tuple[str, str, str]:
        """Without an equality there is no key: time is cut into slots, and a row of the side is in
        all those that its partners may be in. The condition, and both DataFrames."""
        earlier_us, later_us = max(map(self._range, before)), self._range(other)
        slack_us = max(abs(i.shift_us) for i in (*before, other))
        slot_us = earlier_us + later_us + 2 * slack_us
        left, right = self.free(f"slot_{at}"), self.free(f"partner_slot_{at}")
        clause = f"no equality to join by: slots of {spell(slot_us)}"
        micros = f"unix_micros({other.event_time})"
        low = f"({micros} - {earlier_us + slack_us}) DIV {slot_us}"
        high = f"({micros} + {later_us + slack_us}) DIV {slot_us}"
        slots = {
            left: f"unix_micros({event_time}) DIV {slot_us}",
            right: f"explode(sequence({low}, {high}))",
        }
        joined, frame = (
            self.step(
                clause,
                "slotted",
                given,
                Call("withColumn", (literal(name), f"F.expr({literal(slots[name])})")),
            )
            for given, name in ((joined, left), (frame, right))
        )
        return f"{left} = {right}", joined, frame

    # -------------------------------------------------------------- the time of a result

    def _marked(self, frame: str, sql: str, name: str) -> str:
        named = (literal(name), f"metadata={_EVENT_TIME}")
        time = Nested(f"F.expr({literal(sql)}).alias(", named, ")")
        return self.step("the time of the results", "timed", frame, Call("select", ('"*"', time)))


def _window_number(window: TumblingJoin) -> str:
    """The number of the window that a time is in, with a place for the time."""
    shift = -window.origin_us % window.size_us
    micros = f"(unix_micros({{}}) + {shift})" if shift else "unix_micros({})"
    return f"{micros} DIV {window.size_us}"


def _shifted(time: str, by_us: int) -> str:
    if by_us == 0:
        return time
    return f"{time} {'-' if by_us < 0 else '+'} INTERVAL {spell(abs(by_us))}"
