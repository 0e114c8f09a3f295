"""The logical plan: what a query means, before anything is said about how it runs.

Nodes are immutable; their schema follows from their inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal

from ssql.planner.catalog import Column, Entry, Function, OptionValue, Sink, Stream, Table
from ssql.planner.scalar import UNKNOWN_TYPE, Named, Scalar
from ssql.planner.span import NOWHERE, Span
from ssql.planner.windows import JoinWindow, LandmarkWindow, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A column that a plan gives, and the name it is known by."""

    name: str
    type: str
    relation: str | None = None
    progressing: bool = False  # the watermark moves along it
    hidden: bool = False  # found by name, not part of `*`


Schema = tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What all plans have. The schema is derived once, when the node is made."""

    span: Span = field(default=NOWHERE, compare=False)
    schema: Schema = field(init=False, compare=False, repr=False)
    is_streaming: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        streaming = any(i.is_streaming for i in self.inputs)
        object.__setattr__(self, "schema", self._schema())
        object.__setattr__(self, "is_streaming", streaming or isinstance(self, StreamScan))

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return ()

    def _schema(self) -> Schema:
        """That of the input, unless a node says otherwise."""
        return self.inputs[0].schema


def _fields(columns: tuple[Column, ...], relation: str, progressing: str | None) -> Schema:
    return tuple(
        Field(name=c.name, type=c.type, relation=relation, progressing=c.name == progressing)
        for c in columns
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamScan(Node):
    stream: Stream
    alias: str

    def _schema(self) -> Schema:
        watermark = self.stream.watermark
        return _fields(self.stream.columns, self.alias, watermark.column if watermark else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan(Node):
    table: Table
    alias: str

    def _schema(self) -> Schema:
        return _fields(self.table.columns, self.alias, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRow(Node):
    """A SELECT without FROM."""

    def _schema(self) -> Schema:
        return ()


# ------------------------------------------------------------------ epochs


@dataclass(frozen=True, slots=True, kw_only=True)
class CutByTime:
    """Chunks are aligned ranges of a column: of a time, or of whole seconds."""

    column: str
    length_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CutByRows:
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CutByKey:
    """Chunks are runs of one value."""

    column: str


Cut = CutByTime | CutByRows | CutByKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Epochs(Node):
    """A stream cut into chunks, of which the newest `chunks` are held."""

    input: StreamScan
    cut: Cut
    chunks: int
    blocking: bool

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    def _schema(self) -> Schema:
        epoch = Field(name="epoch", type="BIGINT", relation=self.input.alias, hidden=True)
        return (*self.input.schema, epoch)


# ------------------------------------------------------------------ operators


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Node):
    input: Plan
    condition: Scalar
    clause: str  # WHERE or HAVING

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Node):
    input: Plan
    items: tuple[Named, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    def _schema(self) -> Schema:
        times = {(f.relation, f.name) for f in self.input.schema if f.progressing}
        return tuple(
            Field(name=i.name, type=i.scalar.type, progressing=i.scalar.column in times)
            for i in self.items
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias(Node):
    """A sub-query or a view under a name."""

    input: Plan
    name: str

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    def _schema(self) -> Schema:
        visible = (f for f in self.input.schema if not f.hidden)
        return tuple(replace(f, relation=self.name) for f in visible)


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Node):
    """The bag union; columns are matched by position and named by the first member."""

    members: tuple[Plan, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.members

    def _schema(self) -> Schema:
        visible = ([f for f in m.schema if not f.hidden] for m in self.members)
        columns = zip(*visible, strict=True)
        return tuple(
            Field(name=c[0].name, type=c[0].type, progressing=all(f.progressing for f in c))
            for c in columns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSide:
    """`kind` says how the side joins those before it; the first one's says nothing."""

    input: Plan
    kind: str = "INNER"
    on: Scalar | None = None
    range_us: int | None = None
    time: Scalar | None = None  # the side's event time; None for stored data


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Node):
    sides: tuple[JoinSide, ...]
    window: JoinWindow

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return tuple(s.input for s in self.sides)

    def _schema(self) -> Schema:
        fields: list[Field] = []
        for side in self.sides:
            padded_before = side.kind in ("RIGHT", "FULL")
            padded = side.kind in ("LEFT", "FULL")
            if padded_before:
                fields = [replace(f, progressing=False) for f in fields]
            fields += [
                replace(f, progressing=f.progressing and not padded) for f in side.input.schema
            ]
        return tuple(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateCall:
    """One aggregate of a query, with a window of its own where RANGEs differ."""

    name: str  # of its column
    function: str  # Spark's name of it, in lower case
    scalar: Scalar  # the whole call
    window: Window | None
    argument_type: str = UNKNOWN_TYPE  # of its first argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Node):
    """`window` is the longest one; None: every group closes by itself, or the input ends."""

    input: Plan
    keys: tuple[Named, ...]
    calls: tuple[AggregateCall, ...]
    window: Window | None

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    def _schema(self) -> Schema:
        times = {(f.relation, f.name) for f in self.input.schema if f.progressing}
        fields = []
        if self.window is not None:
            type = self.window.bound_type
            in_time = type == "TIMESTAMP"
            starts = in_time and not isinstance(self.window, LandmarkWindow)  # else it is NULL
            fields += [
                Field(name="window_start", type=type, progressing=starts),
                Field(name="window_end", type=type, progressing=in_time),
            ]
        fields += [
            Field(
                name=k.name,
                type=k.scalar.type,
                # Windows come out by their end; within them a time is a value like others.
                progressing=self.window is None and k.scalar.column in times,
            )
            for k in self.keys
        ]
        fields += [Field(name=c.name, type=c.scalar.type) for c in self.calls]
        return tuple(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct(Node):
    input: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Node):
    """Stored data by anything; a stream by its time, ascending."""

    input: Plan
    keys: tuple[Scalar, ...]
    descending: tuple[bool, ...]
    nulls_first: tuple[bool | None, ...]  # None: as Spark does

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Node):
    input: Plan
    count: int

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


Plan = (
    StreamScan
    | TableScan
    | OneRow
    | Epochs
    | Filter
    | Project
    | Alias
    | Union
    | Join
    | Aggregate
    | Distinct
    | Order
    | Limit
)


def walk(plan: Plan) -> Iterator[Plan]:
    """The plan and everything below it, inputs after their consumer."""
    stack = [plan]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.inputs))


# ------------------------------------------------------------------ a whole file


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where results go: a sink, or the console where there is none."""

    sink: Sink | None = None
    late_sink: Sink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One SELECT or INSERT of a file. `span` is that of the SELECT."""

    number: int  # counted from 1
    plan: Plan
    output: Output
    forced_plan: str | None
    analyzed: bool = False  # by EXPLAIN ANALYZE, which runs it
    span: Span = field(default=NOWHERE, compare=False)
    statement_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    queries: tuple[Query, ...]
    explained: tuple[Query, ...] = ()  # those that only EXPLAIN asks about
    described: tuple[Entry, ...] = ()  # what DESCRIBE asks about
    functions: tuple[Function, ...] = ()  # those that the queries call
    settings: tuple[tuple[str, OptionValue], ...]

    def setting(self, key: str) -> str | Decimal | bool | None:
        return next((v for k, v in reversed(self.settings) if k == key), None)
