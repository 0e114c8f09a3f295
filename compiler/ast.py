"""The syntax tree: what was written, with spans, nothing looked up yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

from ssql.compiler.source import Span


def _span() -> Span:
    return field(compare=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span = _span()


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Node):
    """An identifier, without its backticks."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnName(Node):
    parts: tuple[Name, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar(Node):
    """A scalar expression, captured as text; sqlglot reads it when it is bound."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class String(Node):
    """A string literal: its value. `text` starts one character after `span` does."""

    value: str


# ------------------------------------------------------------------ window clauses


@dataclass(frozen=True, slots=True, kw_only=True)
class Length(Node):
    """`10 minutes`, `1000 rows`; the unit is empty where none was written."""

    number: Decimal
    unit: str
    unit_span: Span = _span()


class RangeKind(Enum):
    LENGTH = "length"
    TUMBLING = "tumbling"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeItem(Node):
    kind: RangeKind
    length: Length | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlideItem(Node):
    length: Length


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNumber(Node):
    """`row-num`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank(Node):
    """`rank(ts)`"""

    column: ColumnName


Attribute = RowNumber | Rank | ColumnName


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeItem(Node):
    """`WA x`, `RATTR x` or `SATTR x`; `keyword` is one of these three."""

    keyword: str
    attribute: Attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionItem(Node):
    columns: tuple[ColumnName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginItem(Node):
    text: String


WindowItem = RangeItem | SlideItem | AttributeItem | PartitionItem | OriginItem


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowClause(Node):
    items: tuple[WindowItem, ...]


# ------------------------------------------------------------------ queries


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectItem(Node):
    expression: Scalar
    alias: Name | None
    window: WindowClause | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationName(Node):
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Subquery(Node):
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionOf(Node):
    """`A UNION B` in FROM: the bag union."""

    members: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch(Node):
    """`STREAM(packets, 'CUT ON ts BY 60 SECS', 'BLOCK', 12)`"""

    function: str
    stream: Name
    cut: String
    block: String | None
    chunks: Decimal | None
    chunks_span: Span | None = field(compare=False)


Relation = RelationName | Subquery | UnionOf | Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FromItem(Node):
    relation: Relation
    alias: Name | None
    window: WindowClause | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Node):
    """A further FROM item: `kind` is `,` or the join's words in capitals, without JOIN."""

    kind: str
    kind_span: Span = _span()
    item: FromItem
    on: Scalar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class From(Node):
    first: FromItem
    joins: tuple[Join, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Node):
    hint: String | None
    distinct: bool
    items: tuple[SelectItem, ...]
    source: From | None
    where: Scalar | None
    group_by: tuple[Scalar, ...]
    having: Scalar | None
    order_by: tuple[Scalar, ...]
    limit: int | None
    limit_span: Span | None = field(compare=False)
    within: Length | None
    head: Span = field(compare=False)  # the word SELECT, for errors about the whole


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonTable(Node):
    name: Name
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Node):
    """One SELECT, or several under `UNION ALL`."""

    common: tuple[CommonTable, ...]
    selects: tuple[Select, ...]
    # The spans of plain `UNION`s between the SELECTs, which drop duplicates.
    set_unions: tuple[Span, ...] = field(compare=False)


# ------------------------------------------------------------------ statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Node):
    name: Name
    type: Scalar
    nullable: bool = True
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Node):
    number: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(Node):
    """`IDLE AFTER i [ADVANCE BY CLOCK]`"""

    after: Interval
    by_clock: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark(Node):
    column: Name
    base: Name
    delay: Interval | None
    idle: Idle | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Node):
    key: str
    value: str | Decimal | bool
    key_span: Span = _span()
    value_span: Span = _span()


@dataclass(frozen=True, slots=True, kw_only=True)
class Create(Node):
    name: Name
    replace: bool
    if_not_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStream(Create):
    columns: tuple[Column, ...]
    watermarks: tuple[Watermark, ...]
    sequences: tuple[Name, ...]
    options: tuple[Option, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(Create):
    columns: tuple[Column, ...]
    options: tuple[Option, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSink(Create):
    columns: tuple[Column, ...]
    options: tuple[Option, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Create):
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFunction(Create):
    parameters: tuple[Column, ...]
    returns: Scalar
    language: Name
    target: String


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Node):
    kind: str
    name: Name
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Node):
    sink: Name
    columns: tuple[Name, ...]
    late: Name | None
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(Node):
    verbose: bool
    analyze: bool
    statement: Query | Insert


@dataclass(frozen=True, slots=True, kw_only=True)
class Set(Node):
    option: Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Show(Node):
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(Node):
    name: Name


Definition = CreateStream | CreateTable | CreateSink | CreateView | CreateFunction
Statement = Definition | Drop | Insert | Explain | Set | Show | Describe | Query
