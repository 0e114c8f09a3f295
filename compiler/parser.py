"""Text to syntax tree: the scanner's statements through the Lark grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ssql.compiler import ast, codes
from ssql.compiler.diagnostics import Diagnostics, SsqlError, fail, nearest
from ssql.compiler.scanner import Scan, Statement, scan
from ssql.compiler.source import Source, Span
from ssql.compiler.treebuilder import TreeBuilder
from ssql.grammar import statement_parser

# Words that people mistype; the near misses of these are suggested.
KEYWORDS = tuple(
    "ADVANCE AFTER AS ANALYZE BY CLOCK CREATE DESCRIBE DISTINCT DROP EXPLAIN FROM FUNCTION GROUP"
    " HAVING HOLD IDLE INNER INSERT INTERVAL INTO JOIN LATE LEFT LIMIT ON ORDER ORIGIN OUTER RANGE"
    " RATTR RETURNS RIGHT SATTR SELECT SEQUENCE SET SHOW SINK SLIDE STREAM TABLE TUMBLING UNION"
    " VERBOSE VIEW WATERMARK WHERE WINDOW WITH".split()
)
_STATEMENTS = (
    "SELECT, WITH, INSERT, CREATE, DROP, EXPLAIN, SET, SHOW or DESCRIBE"
)
_SIGNS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "COMMA": ",", "EQUAL": "=", "DOT": ".",
    "LESSTHAN": "<", "MORETHAN": ">", "COLON": ":", "MINUS": "-", "WINDOW_OPEN": "a window clause",
    "NAME": "a name", "QUOTED": "a name", "STRING": "a string", "NUMBER": "a number",
    "$END": "the end of the statement", "UNION_SELECT": "UNION ALL SELECT", "GROUP_BY": "GROUP BY",
    "ORDER_BY": "ORDER BY", "ROW_NUM": "row-num", "RANK": "rank(…)", "SIGN": "a sign",
    "KIND": "STREAM, TABLE, VIEW, SINK or FUNCTION", "HINT": "a hint", "EPOCH": "STREAM(…)",
    "KINDS": "STREAMS, TABLES, VIEWS, SINKS, FUNCTIONS or SETTINGS", "INNER": "an expression",
}  # fmt: skip
_FIRST_WORD = re.compile(r"[^\W\d]\w*")
_LAST_WORD = re.compile(r"([^\W\d]\w*)\W*\Z")


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


def parse(source: Source, diagnostics: Diagnostics) -> ParsedFile:
    """Parse every statement of a source; a broken one is reported and left out."""
    found = scan(source, diagnostics)
    statements = []
    for statement in found.statements:
        try:
            statements.append(_parse_statement(statement))
        except SsqlError as error:
            diagnostics.add(error.diagnostic)
    return ParsedFile(source, found, tuple(statements))


def _parse_statement(statement: Statement) -> Parsed:
    try:
        tree = statement_parser().parse(statement.text)
    except UnexpectedInput as error:
        raise _syntax_error(statement, error) from None
    node = TreeBuilder(statement.text, statement.span.start).statement(tree)
    return Parsed(statement, tree, node)


def _syntax_error(statement: Statement, error: UnexpectedInput) -> SsqlError:
    text, base = statement.text, statement.span.start
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start = error.token.start_pos or 0
        word = _FIRST_WORD.match(text, start)  # out of context, a token may be all the rest
        end = word.end() if word else start + 1
        found = f"unexpected {_shorten(text[start:end])}"
    elif isinstance(error, UnexpectedCharacters):
        start, end = error.pos_in_stream, error.pos_in_stream + 1
        found = f"unexpected {text[start : start + 1]}"
    else:
        start = end = len(text)
        found = "the statement ends too early"
    if start == 0:
        found = f"no statement begins with {_shorten(text.split(None, 1)[0])}"
        word = text.split(None, 1)[0]
        helps = [f"a statement begins with {_STATEMENTS}"]
        if near := nearest(word, KEYWORDS):
            helps.insert(0, f"did you mean {near}?")
        return fail(codes.SYNTAX, found, Span(base, base + len(word)), helps=helps)
    expected = _expected(error)
    helps = [f"expected {expected}"] if expected else []
    # The word before may be the culprit: in `FROM packets WHER x`, WHER was taken as an alias.
    offends = _FIRST_WORD.match(text, start) or text[start:end].isalnum()
    before = _LAST_WORD.search(text, 0, start) if offends else None
    for word, at in ((text[start:end], start), *([(before[1], before.start(1))] if before else [])):
        if word.upper() not in KEYWORDS and (near := _near_keyword(word)):
            return fail(
                codes.SYNTAX, f"unexpected {_shorten(word)}", Span(base + at, base + at + len(word)),
                helps=[f"did you mean {near}?", *helps],
            )  # fmt: skip
    if _inside_window(text, start):
        helps.append(
            "a window clause has RANGE, SLIDE, WA, PA, RATTR, SATTR and ORIGIN,"
            " as in [RANGE 10 minutes, SLIDE 1 minute, WA ts]"
        )
    return fail(codes.SYNTAX, found, Span(base + start, base + max(end, start + 1)), helps=helps)


def _near_keyword(word: str) -> str | None:
    """The keyword that a word is a slip of; stricter than for names, which are free."""
    if len(word) < 3 or not word.isidentifier():
        return None
    near = nearest(word, KEYWORDS)
    slip = near is not None and (
        sorted(near) == sorted(word.upper()) or near.startswith(word.upper())
        or word.upper().startswith(near) or _one_edit(near, word.upper())
    )  # fmt: skip
    return near if slip else None


def _one_edit(a: str, b: str) -> bool:
    if abs(len(a) - len(b)) > 1:
        return False
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return a[same + (len(a) >= len(b)) :] == b[same + (len(b) >= len(a)) :]


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:39] + "…"


def _expected(error: UnexpectedInput) -> str:
    """The terminals that could have stood here, in words; expressions as one."""
    wanted = getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    terminals = {str(getattr(t, "name", t)) for t in wanted}
    if "OPERATOR" in terminals:
        terminals -= {"OPERATOR", "DOT", "EQUAL", "LESSTHAN", "MORETHAN", "COLON", "STAR", "MINUS"}
        terminals -= {"PLUS", "IS_DISTINCT_FROM", "LPAR", "LSQB", "QUOTED", "NUMBER", "STRING"}
        if "NAME" in terminals and "FROM" not in terminals and "WHERE" not in terminals:
            terminals.add("INNER")
        terminals.discard("NAME")
    words = sorted({_SIGNS.get(t, t) for t in terminals}, key=lambda w: (not w[0].islower(), w))
    if not words:
        return "an expression" if wanted else ""
    if len(words) > 7:  # a long list helps nobody
        return ""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _inside_window(text: str, at: int) -> bool:
    opened = text.rfind("[", 0, at)
    return opened > text.rfind("]", 0, at) and bool(
        re.match(r"\[[^\[\]]*\b(RANGE|SLIDE|WA|WATTR|PA|RATTR|SATTR|ORIGIN)\b", text[opened:], re.I)
    )
