"""What a file defines: streams, tables, views, sinks and functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from ssql.planner.span import NOWHERE, Span

if TYPE_CHECKING:
    from ssql.planner.logical import Plan

OptionValue = str | Decimal | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: str
    nullable: bool = True
    comment: str | None = None


class Idle(Enum):
    """What the watermark of a silent stream does."""

    HOLD = "HOLD"  # it waits
    FOLLOW = "IDLE AFTER"  # it follows the slowest live input
    CLOCK = "IDLE AFTER … ADVANCE BY CLOCK"  # it follows the wall clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    column: str
    delay_us: int
    idle: Idle = Idle.HOLD
    idle_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """`WITH (…)`: the connector, its format, and all other options as they were written."""

    connector: str
    format: str | None = None
    options: tuple[tuple[str, OptionValue], ...] = ()

    def option(self, key: str) -> OptionValue | None:
        return next((v for k, v in self.options if k.casefold() == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    name: str
    columns: tuple[Column, ...]
    watermark: Watermark | None
    sequence: str | None
    connection: Connection | None
    span: Span = field(default=NOWHERE, compare=False)  # of its name, where it is created


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    connection: Connection | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    name: str
    columns: tuple[Column, ...]  # empty: whatever is inserted
    connection: Connection | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    name: str
    plan: Plan
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    name: str
    parameters: tuple[Column, ...]
    returns: str
    module: str
    attribute: str
    span: Span = field(default=NOWHERE, compare=False)


Entry = Stream | Table | Sink | View | Function


@dataclass(slots=True)
class Catalog:
    """The entries by name. Names are found whatever their case, as in Spark."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def find(self, name: str) -> Entry | None:
        return self.entries.get(name.casefold())

    def add(self, entry: Entry) -> None:
        self.entries[entry.name.casefold()] = entry

    def remove(self, name: str) -> None:
        del self.entries[name.casefold()]

    def names(self, *kinds: type[Entry]) -> list[str]:
        return [e.name for e in self.entries.values() if isinstance(e, kinds)]

    def functions(self) -> dict[str, Function]:
        return {k: e for k, e in self.entries.items() if isinstance(e, Function)}


def kind_name(entry: Entry) -> str:
    return type(entry).__name__.lower()
