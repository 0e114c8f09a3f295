"""What there is to run: the functions of an emitted module, and what they read and write.

The compiler makes it beside the module's text, and the runtime runs it. Names of functions and
frames are Python names of that module; everything else is data.
"""

from __future__ import annotations

from dataclasses import dataclass

from ssql.planner.catalog import Connection, OptionValue
from ssql.planner.span import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSource:
    """A stream or a table, and the functions that read it."""

    name: str
    frame: str
    reader: str
    acceptor: str | None
    is_stream: bool
    connection: Connection
    columns: tuple[tuple[str, str], ...]  # names and types
    time: str | None = None  # the watermark's column
    delay: str | None = None
    plausible: str | None = None  # the condition that a row's time has to meet
    rows: int | None = None  # of a generated stream that ends
    is_endless: bool = False
    groupings: tuple[tuple[str, ...], ...] = ()  # columns that queries group it by, together
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSink:
    name: str
    connection: Connection
    writer: str | None  # None: the runtime prints
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    number: int
    select: int | None  # its number among the SELECTs; None for an INSERT
    function: str
    frames: tuple[str, ...]
    needs_session: bool
    is_streaming: bool
    keeps_state: bool
    is_ordered: bool  # its results come in order of time
    plan: str
    plans: tuple[str, ...]  # of its aggregates, the last one first, and of its ordered joins
    reason: str
    outline: tuple[str, ...]  # what it computes: a checkpoint fits this and nothing else
    sink: JobSink | None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFunction:
    """A Python function of the user's, registered under its SQL name."""

    name: str
    attribute: str  # of the emitted module
    module: str
    returns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    name: str
    code: str
    sources: tuple[JobSource, ...]
    queries: tuple[JobQuery, ...]
    functions: tuple[JobFunction, ...]
    settings: tuple[tuple[str, OptionValue], ...]

    def source(self, frame: str) -> JobSource:
        return next(s for s in self.sources if s.frame == frame)

    def sources_of(self, query: JobQuery) -> tuple[JobSource, ...]:
        return tuple(self.source(f) for f in query.frames)
