"""Text to syntax tree: the scanner's statements through the Lark grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from ssql.compiler import ast, codes
from ssql.compiler.diagnostics import Diagnostics, SsqlError, fail
from ssql.compiler.scanner import Scan, Statement, scan
from ssql.compiler.source import Source
from ssql.compiler.syntax_errors import syntax_error
from ssql.compiler.treebuilder import TreeBuilder
from ssql.grammar import statement_parser

_CREATED = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?\w+\s+(?:IF\s+NOT\s+EXISTS\s+)?`?([^\W\d]\w*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """One statement as the grammar sees it (`tree`, for fmt) and as the compiler does (`node`)."""

    statement: Statement
    tree: Tree[Token]
    node: ast.Statement


@dataclass(frozen=True, slots=True)
class ParsedFile:
    source: Source
    scan: Scan
    statements: tuple[Parsed, ...]
    broken: frozenset[str]  # the names in CREATE statements that could not be read


def parse(source: Source, diagnostics: Diagnostics) -> ParsedFile:
    """Parse every statement of a source; a broken one is reported and left out."""
    found = scan(source, diagnostics)
    statements, broken = [], set()
    for statement in found.statements:
        try:
            statements.append(_parse_statement(statement))
        except SsqlError as error:
            diagnostics.add(error.diagnostic)
            if created := _CREATED.match(statement.text):
                broken.add(created.group(1).casefold())
    return ParsedFile(source, found, tuple(statements), frozenset(broken))


def _parse_statement(statement: Statement) -> Parsed:
    try:
        tree = statement_parser().parse(statement.text)
    except UnexpectedInput as error:
        raise syntax_error(statement, error) from None
    try:
        node = TreeBuilder(statement.text, statement.span.start).statement(tree)
    except RecursionError:
        raise fail(
            codes.TOO_DEEP,
            "this statement is nested too deeply",
            statement.span,
            helps=["split it with WITH, or with views"],
        ) from None
    return Parsed(statement, tree, node)
