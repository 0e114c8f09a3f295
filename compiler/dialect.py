"""Spark SQL expressions through sqlglot: read, checked, typed.

sqlglot is a transpiler: left alone it turns functions into others that it holds to be the same
(`listagg(a)` becomes `listagg(a, ',')`, `percentile_cont` an approximation). Spark is both ends
here, so the parser below keeps every call as it was written. Types come from a second reading
with sqlglot's full knowledge, which is thrown away afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema
from sqlglot.tokens import Token, TokenType

from ssql.compiler import codes
from ssql.compiler.diagnostics import SsqlError, did_you_mean, fail, nearest
from ssql.compiler.source import Span
from ssql.planner.scalar import UNKNOWN_TYPE, to_sql
from ssql.planner.spark_sql import SparkText

# Calls with a syntax of their own inside of the brackets.
_SPECIAL_CALLS = ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM", "TRY_CAST")


class _VerbatimSpark(SparkText):
    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        STRING_ESCAPES = ["'", "\\"]  # noqa: RUF012  # Spark 4 reads '' as one quote

    class Parser(Spark.Parser):  # type: ignore[misc]
        FUNCTIONS = {"ARRAY": Spark.Parser.FUNCTIONS["ARRAY"]}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parse
            for name, parse in Spark.Parser.FUNCTION_PARSERS.items()
            if name in _SPECIAL_CALLS
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            name: parse
            for name, parse in Spark.Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name == "CASE"
        }

        def _parse_interval(self, *args: Any, **kwargs: Any) -> exp.Expression | None:
            """`INTERVAL 1 HOUR 30 MINUTES` is read as a sum, which needs its brackets."""
            interval = super()._parse_interval(*args, **kwargs)
            is_whole = args[0] if args else kwargs.get("require_interval", True)
            return (
                exp.Paren(this=interval) if is_whole and isinstance(interval, exp.Add) else interval
            )


_DIALECT = _VerbatimSpark()
MAX_TOKENS = 5_000  # of one expression
_REACH = 100  # characters after a mistake in which a misspelt keyword is looked for
_CONTEXT = 10**9  # characters that an error quotes: all, so that its length is the position
# What sqlglot's builders of functions raise when they do not get the arguments they look for.
_UNREADABLE = (ParseError, TokenError, AttributeError, IndexError, KeyError, TypeError, ValueError)
_STRING_OR_BRACKET = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|[()]", re.DOTALL)
_OPENING = re.compile(r"\s*\(")
_OPENING_TOKENS = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE)
_CLOSING_TOKENS = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END)
_NO_ALIAS = frozenset(
    "AND AS BETWEEN CASE DISTINCT ELSE END FALSE IN INTERVAL IS LIKE NOT NULL OR RLIKE THEN TRUE"
    " WHEN".split()
)
_KEYWORDS = (
    "AS",
    "FROM",
    "GROUP",
    "HAVING",
    "JOIN",
    "ORDER",
    "UNION",
    "WHERE",
    "WINDOW",
    "AND",
    "OR",
)


class Expression:
    """A tree, and where each of its nodes stands in the source."""

    def __init__(self, text: str, base: int) -> None:
        self.text = text
        self.base = base
        tokens = _tokenize(text, base)
        if len(tokens) > MAX_TOKENS:
            raise fail(
                codes.TOO_LARGE,
                f"this expression has {len(tokens):,} words and signs; at most"
                f" {MAX_TOKENS:,} are read",
                self.span,
                helps=["keep long lists of values in a table and join it"],
            )
        for written, place in self._cast_types(tokens):
            read_type(written, place)  # sqlglot would turn another dialect's type into Spark's
        self.tree = self._parse(tokens)
        self.alias: tuple[str, Span] | None = None

    @classmethod
    def of_item(cls, text: str, base: int) -> Expression:
        """A SELECT item, which may end in an alias without AS."""
        try:
            return cls(text, base)
        except SsqlError:
            tokens = _tokenize(text, base)
            if len(tokens) < 2 or not _may_be_alias(tokens[-1]):
                raise
            last = tokens[-1]
            try:
                item = cls(text[: last.start].rstrip(), base)
            except SsqlError:
                item = None
            if item is None:
                raise
            item.alias = (last.text, Span(base + last.start, base + last.end + 1))
            return item

    @property
    def span(self) -> Span:
        return Span(self.base, self.base + len(self.text))

    def _parse(self, tokens: list[Token]) -> exp.Expression:
        try:
            parser = _DIALECT.parser(error_message_context=_CONTEXT)
            trees = parser.parse_into(exp.Condition, tokens, self.text)
        except ParseError as error:
            raise self._explain(error, tokens) from None
        if len(trees) != 1 or trees[0] is None:
            raise fail(codes.BAD_EXPRESSION, "an expression is missing here", self.span)
        return trees[0]

    def _explain(self, error: ParseError, tokens: list[Token]) -> SsqlError:
        detail = error.errors[0] if error.errors else {}
        at = len(detail.get("start_context") or "")
        word = str(detail.get("highlight") or "")
        span = Span(self.base + at, self.base + at + max(1, len(word)))
        if word and not self.text[at:].startswith(word):
            span, word = self.span, ""
        message = f"Spark SQL does not understand {word}" if word else "this is not an expression"
        at_end = bool(word) and at + len(word) >= len(self.text)
        if at_end and "Unexpected token" not in str(detail.get("description")):
            message = f"the expression ends too early, after {word}"
        helps = []
        if re.search(r"\[\s*(RANGE|SLIDE)\b", self.text, re.IGNORECASE):
            helps.append("a window clause stands behind the whole item: max(len) [RANGE 5 minutes]")
        for slip in re.findall(r"[^\W\d]\w*", self.text[at : at + _REACH]):
            near = nearest(slip, _KEYWORDS)
            if near and near != slip.upper() and sorted(near) == sorted(slip.upper()):
                helps.append(f"did you mean {near} by {slip}?")
        return fail(
            codes.BAD_EXPRESSION,
            message,
            span,
            helps=helps or ["check for a missing operator, comma or keyword before it"],
        )

    def _cast_types(self, tokens: list[Token]) -> Iterator[tuple[str, Span]]:
        """The first word of every type that something is cast to."""
        calls: list[str] = []  # the word before each bracket that is open
        for at, token in enumerate(tokens[:-1]):
            if token.text == "(":
                calls.append(tokens[at - 1].text.upper() if at else "")
            elif token.text == ")" and calls:
                calls.pop()
            in_cast = bool(calls) and calls[-1] in ("CAST", "TRY_CAST")
            written = self.text[token.start : token.end + 1].upper()  # in 1L, `::` is made up
            if written == "::" or (written == "AS" and in_cast):
                word = tokens[at + 1]
                span = Span(self.base + word.start, self.base + word.end + 1)
                yield _TYPE_SHELLS.get(word.text.upper(), word.text), span

    def span_of(self, node: exp.Expression) -> Span:
        """From the first to the last leaf: sqlglot keeps positions of leaves only."""
        leaves = [part.meta for part in node.walk() if "start" in part.meta]
        if not leaves:
            return self.span
        start = min(leaf["start"] for leaf in leaves)
        end = max(leaf["end"] for leaf in leaves) + 1
        if isinstance(node, exp.Query):
            start = max(self.text.rfind("(", 0, start), 0)
        called = isinstance(node, exp.Func | exp.Anonymous) and _OPENING.match(self.text, end)
        return Span(self.base + start, self.base + self._closed(start, end + bool(called)))

    def conjuncts(self) -> tuple[Span, ...]:
        """Where the conditions stand that the outermost ANDs have between them."""
        tokens = _tokenize(self.text, self.base)
        pieces: list[list[Token]] = [[]]
        depth = betweens = 0
        for token in tokens:
            depth += (token.token_type in _OPENING_TOKENS) - (token.token_type in _CLOSING_TOKENS)
            if depth == 0 and token.token_type is TokenType.BETWEEN:
                betweens += 1
            if depth == 0 and token.token_type is TokenType.AND:
                if not betweens:
                    pieces.append([])
                    continue
                betweens -= 1
            pieces[-1].append(token)
        return tuple(Span(self.base + p[0].start, self.base + p[-1].end + 1) for p in pieces if p)

    def _closed(self, start: int, end: int) -> int:
        """The end, moved on until every bracket that opens after the start is closed."""
        depth = 0
        for piece in _STRING_OR_BRACKET.finditer(self.text, start):
            if piece.start() >= end and depth == 0:
                break
            depth += {"(": 1, ")": -1}.get(piece.group(), 0)
            if depth <= 0:
                end = max(end, piece.end()) if piece.start() <= end or depth == 0 else end
        return end


def _may_be_alias(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or (
        token.text.isidentifier() and token.text.upper() not in _NO_ALIAS
    )


def _tokenize(text: str, base: int) -> list[Token]:
    try:
        return list(_DIALECT.tokenize(text))
    except TokenError:
        raise fail(
            codes.BAD_EXPRESSION,
            "this is not an expression",
            Span(base, base + len(text)),
            helps=["look for a quote or a sign that does not belong here"],
        ) from None


def call_name(node: exp.Expression) -> str | None:
    """The name of a function as it was called, in lower case; None for anything else."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector | exp.Case | exp.Cast):
        return str(node.sql_name()).lower()
    return None


def type_of(
    tree: exp.Expression,
    column_type: Callable[[exp.Column], str],
    function_types: dict[str, str],
) -> str:
    """The Spark type of an expression, or UNKNOWN_TYPE where sqlglot has no rule."""
    if isinstance(tree, exp.Predicate | exp.Connector | exp.Not):
        return "BOOLEAN"  # no need to look any further, and conditions can be long
    if isinstance(tree, exp.Column):
        return column_type(tree)
    types: dict[str, str] = {}

    def stand_in(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column):
            name = f"c{len(types)}"
            types[name] = column_type(node)
            return exp.column(name, table="t") if types[name] != UNKNOWN_TYPE else exp.column("u")
        if isinstance(node, exp.Anonymous) and (known := function_types.get(node.name.lower())):
            return exp.cast(exp.Literal.number(0), known, dialect="spark")
        return node

    text = to_sql(tree.transform(stand_in))
    known = {name: type for name, type in types.items() if type != UNKNOWN_TYPE}
    schema = MappingSchema({"t": known or {"none": "INT"}}, dialect="spark")
    try:
        select = Spark().parse(f"SELECT {text} FROM t")[0]
        assert isinstance(select, exp.Select)
        typed = annotate_types(select, schema=schema, dialect="spark").expressions[0]
    except _UNREADABLE:  # wrong arguments, mostly, which Spark has the last word on
        return UNKNOWN_TYPE
    return type_name(typed.type)


def type_name(type: Any) -> str:
    if type is None or type.is_type(exp.DataType.Type.UNKNOWN):
        return UNKNOWN_TYPE
    if type.is_type(exp.DataType.Type.NULL):
        return "VOID"
    name: str = type.sql(dialect="spark")
    return UNKNOWN_TYPE if "UNKNOWN" in name else name


_TYPE_NAMES = (
    "ARRAY",
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "DATE",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
    "INT",
    "MAP",
    "SMALLINT",
    "STRING",
    "STRUCT",
    "TIMESTAMP",
    "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ",
    "TINYINT",
    "VARIANT",
)
# So that the first word of a type can be checked on its own.
_TYPE_SHELLS = {
    "ARRAY": "ARRAY<INT>",
    "MAP": "MAP<INT, INT>",
    "STRUCT": "STRUCT<a: INT>",
    "INTERVAL": "INTERVAL DAY",
}
_SPELLINGS = {
    "LONG", "INTEGER", "SHORT", "BYTE", "REAL", "DEC", "NUMERIC", "CHAR", "VARCHAR", "CHARACTER",
    "INTERVAL", "VOID",
}  # fmt: skip


def read_type(text: str, span: Span) -> str:
    """A column type as Spark writes it."""
    for word in (text,) if text.isidentifier() else _type_words(text):
        if word.upper() not in _TYPE_NAMES and word.upper() not in _SPELLINGS:
            raise fail(
                codes.BAD_TYPE,
                f"unknown type {word}",
                span,
                helps=did_you_mean(word, _TYPE_NAMES, "types"),
            )
    try:
        return _spelled(text)
    except (ParseError, TokenError):
        raise fail(
            codes.BAD_TYPE,
            f"{text} is not a type",
            span,
            helps=[f"types: {', '.join(_TYPE_NAMES)}"],
        ) from None


@cache
def _spelled(text: str) -> str:
    return str(exp.DataType.build(text, dialect="spark").sql(dialect="spark"))


def _type_words(text: str) -> Iterable[str]:
    """The type names in a type: `STRUCT<a: INT>` has STRUCT and INT."""
    tokens = _tokenize(text, 0)
    for i, token in enumerate(tokens):
        follows = tokens[i + 1].text if i + 1 < len(tokens) else ""
        before = tokens[i - 1].text if i else "<"
        names_field = follows == ":" or (follows[:1].isalpha() and before in ("<", ","))
        if (
            token.text[:1].isalpha()
            and not names_field
            and token.text.upper() not in ("NOT", "NULL")
        ):
            yield token.text
