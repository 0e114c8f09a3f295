"""The syntax tree: what was written, with spans, nothing looked up yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeVar, dataclass_transform

from ssql.compiler.source import Span

_Class = TypeVar("_Class")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def _node(cls: type[_Class]) -> type[_Class]:
    """An immutable node. Trees are compared and printed by nobody but tests, and the methods
    for it would take longer to make, for fifty classes, than a query takes to compile."""
    return dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)(cls)


@_node
class Node:
    span: Span


@_node
class Name(Node):
    """An identifier, without its backticks."""

    text: str


@_node
class ColumnName(Node):
    parts: tuple[Name, ...]


@_node
class Scalar(Node):
    """A scalar expression, captured as text; sqlglot reads it when it is bound."""

    text: str


@_node
class String(Node):
    """A string literal: its value. `text` starts one character after `span` does."""

    value: str


# ------------------------------------------------------------------ window clauses


@_node
class Length(Node):
    """`10 minutes`, `1000 rows`; the unit is empty where none was written."""

    number: Decimal
    unit: str
    unit_span: Span


class RangeKind(Enum):
    LENGTH = "length"
    TUMBLING = "tumbling"
    ALL = "all"


@_node
class RangeItem(Node):
    kind: RangeKind
    length: Length | None


@_node
class SlideItem(Node):
    length: Length


@_node
class RowNumber(Node):
    """`row-num`"""


@_node
class Rank(Node):
    """`rank(ts)`"""

    column: ColumnName


Attribute = RowNumber | Rank | ColumnName


@_node
class AttributeItem(Node):
    """`WA x`, `RATTR x` or `SATTR x`; `keyword` is one of these three."""

    keyword: str
    attribute: Attribute


@_node
class PartitionItem(Node):
    columns: tuple[ColumnName, ...]


@_node
class OriginItem(Node):
    text: String


WindowItem = RangeItem | SlideItem | AttributeItem | PartitionItem | OriginItem


@_node
class WindowClause(Node):
    items: tuple[WindowItem, ...]


# ------------------------------------------------------------------ queries


@_node
class SelectItem(Node):
    expression: Scalar
    alias: Name | None
    window: WindowClause | None


@_node
class RelationName(Node):
    name: Name


@_node
class Subquery(Node):
    query: Query


@_node
class UnionOf(Node):
    """`A UNION B` in FROM: the bag union."""

    members: tuple[Relation, ...]


@_node
class Epoch(Node):
    """`STREAM(packets, 'CUT ON ts BY 60 SECS', 'BLOCK', 12)`"""

    function: str
    stream: Name
    cut: String
    block: String | None
    chunks: Decimal | None
    chunks_span: Span | None


Relation = RelationName | Subquery | UnionOf | Epoch


@_node
class FromItem(Node):
    relation: Relation
    alias: Name | None
    window: WindowClause | None


@_node
class Join(Node):
    """A further FROM item: `kind` is `,` or the join's words in capitals, without JOIN."""

    kind: str
    kind_span: Span
    item: FromItem
    on: Scalar | None


@_node
class From(Node):
    first: FromItem
    joins: tuple[Join, ...]


@_node
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
    limit_span: Span | None
    within: Length | None
    head: Span  # the word SELECT, for errors about the whole


@_node
class CommonTable(Node):
    name: Name
    query: Query


@_node
class UnionOperator(Node):
    drops_duplicates: bool


@_node
class Query(Node):
    """One SELECT, or several under `UNION ALL`."""

    common: tuple[CommonTable, ...]
    selects: tuple[Select, ...]
    unions: tuple[UnionOperator, ...]  # between the SELECTs
    # ORDER BY and LIMIT of the whole, where there is more than one SELECT.
    order_by: tuple[Scalar, ...]
    limit: int | None
    limit_span: Span | None


# ------------------------------------------------------------------ statements


@_node
class Column(Node):
    name: Name
    type: Scalar
    nullable: bool = True
    comment: str | None = None


@_node
class Interval(Node):
    number: str
    unit: str


@_node
class Idle(Node):
    """`IDLE AFTER i [ADVANCE BY CLOCK]`"""

    after: Interval
    by_clock: bool


@_node
class Watermark(Node):
    column: Name
    base: Name
    delay: Interval | None
    idle: Idle | None


@_node
class Option(Node):
    key: str
    value: str | Decimal | bool
    key_span: Span
    value_span: Span


@_node
class Create(Node):
    name: Name
    replace: bool
    if_not_exists: bool


@_node
class CreateStream(Create):
    columns: tuple[Column, ...]
    watermarks: tuple[Watermark, ...]
    sequences: tuple[Name, ...]
    options: tuple[Option, ...] | None


@_node
class CreateTable(Create):
    columns: tuple[Column, ...]
    options: tuple[Option, ...] | None


@_node
class CreateSink(Create):
    columns: tuple[Column, ...]
    options: tuple[Option, ...] | None


@_node
class CreateView(Create):
    query: Query


@_node
class CreateFunction(Create):
    parameters: tuple[Column, ...]
    returns: Scalar
    language: Name
    target: String


@_node
class Drop(Node):
    kind: str
    name: Name
    if_exists: bool


@_node
class Insert(Node):
    sink: Name
    columns: tuple[Name, ...]
    late: Name | None
    query: Query


@_node
class Explain(Node):
    verbose: bool
    analyze: bool
    statement: Query | Insert


@_node
class Set(Node):
    option: Option


@_node
class Show(Node):
    kind: str


@_node
class Describe(Node):
    name: Name


Definition = CreateStream | CreateTable | CreateSink | CreateView | CreateFunction
Statement = Definition | Drop | Insert | Explain | Set | Show | Describe | Query
