"""Lark's complaints in words that help."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ssql.compiler import codes
from ssql.compiler.diagnostics import SsqlError, fail, nearest
from ssql.compiler.scanner import Statement
from ssql.compiler.source import Span

# Words that people mistype; the near misses of these are suggested.
KEYWORDS = tuple(
    "ADVANCE AFTER AS ANALYZE BY CLOCK CREATE DESCRIBE DISTINCT DROP EXPLAIN FROM FUNCTION GROUP"
    " HAVING HOLD IDLE INNER INSERT INTERVAL INTO JOIN LATE LEFT LIMIT ON ORDER ORIGIN OUTER RANGE"
    " RATTR RETURNS RIGHT SATTR SELECT SEQUENCE SET SHOW SINK SLIDE STREAM TABLE TUMBLING UNION"
    " VERBOSE VIEW WATERMARK WHERE WINDOW WITH".split()
)
_STATEMENTS = "SELECT, WITH, INSERT, CREATE, DROP, EXPLAIN, SET, SHOW or DESCRIBE"
_SIGNS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "COMMA": ",", "EQUAL": "=", "DOT": ".",
    "LESSTHAN": "<", "MORETHAN": ">", "COLON": ":", "MINUS": "-", "WINDOW_OPEN": "a window clause",
    "NAME": "a name", "QUOTED": "a name", "STRING": "a string", "NUMBER": "a number",
    "$END": "the end of the statement", "UNION_SELECT": "UNION ALL SELECT", "GROUP_BY": "GROUP BY",
    "ORDER_BY": "ORDER BY", "ROW_NUM": "row-num", "RANK": "rank(…)", "SIGN": "a sign",
    "KEY": "an option",
    "KIND": "STREAM, TABLE, VIEW, SINK or FUNCTION", "HINT": "a hint", "EPOCH": "STREAM(…)",
    "KINDS": "STREAMS, TABLES, VIEWS, SINKS, FUNCTIONS or SETTINGS", "INNER": "an expression",
}  # fmt: skip
_FIRST_WORD = re.compile(r"\w+")
_LAST_WORD = re.compile(r"([^\W\d]\w*)\W*\Z")
# Words of SQL that are no slips of ours.
_OTHER_WORDS = frozenset(
    "ALTER ANTI CROSS DATE DELETE EXCEPT FULL INT INTERSECT JSON KEY LATERAL LONG MERGE NATURAL"
    " PIVOT PRIMARY REAL SEMI TIME UNNEST UPDATE USING VALUES".split()
)
_WINDOW = re.compile(
    r"\[(\s*\d|\s*TUMBLING\b|[^\[\]]*\b(RANGE|SLIDE|WA|WATTR|PA|RATTR|SATTR|ORIGIN)\b)",
    re.IGNORECASE,
)
_REACH = 100  # how far back the word before a mistake is looked for


def syntax_error(statement: Statement, error: UnexpectedInput) -> SsqlError:
    text, base = statement.text, statement.span.start
    start, end, found = _place(text, error)
    if start == 0:
        return _no_statement(text, base)
    expected = _expected(error)
    helps = [f"expected {expected}"] if expected else []
    for word, at in _suspects(text, start, end):
        if near := _near_keyword(word):
            return fail(
                codes.SYNTAX,
                f"unexpected {_shorten(word)}",
                Span(base + at, base + at + len(word)),
                helps=[f"did you mean {near}?", *helps],
            )
    helps.extend(_habits(text, start, end))
    if not helps:
        helps.append("a comma, an operator or a keyword may be missing before it")
    return fail(codes.SYNTAX, found, Span(base + start, base + max(end, start + 1)), helps=helps)


def _habits(text: str, start: int, end: int) -> Iterator[str]:
    """What people bring along from other dialects, and how it is said here."""
    word, before = text[start:end].upper(), text[max(0, start - _REACH) : start].rstrip()
    if _inside_window(text, start):
        if word[:1].isdigit():
            yield "a length is one number and one unit, as in RANGE 90 minutes"
        yield (
            "a window clause has RANGE, SLIDE, WA, PA, RATTR, SATTR and ORIGIN,"
            " as in [RANGE 10 minutes, SLIDE 1 minute, WA ts]"
        )
    elif before.endswith("]"):
        yield (
            "a window clause ends its SELECT item: put it after the whole expression,"
            " as in sum(len) / count(*) [RANGE 1 minute]"
        )
    elif word == "(" and re.search(r"\b(TUMBLE|HOP|CUMULATE|SESSION)\Z", before, re.IGNORECASE):
        yield "windows are clauses here, as in count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]"
    elif word == "(" and re.search(r"\b(FROM|JOIN|,)\s+\w+\Z", before, re.IGNORECASE):
        yield "the only table function is STREAM(stream, 'CUT …')"
    elif word == "USING" or re.search(r"\bUSING\Z", before, re.IGNORECASE):
        yield "say what is equal with ON, as in JOIN b ON a.x = b.x"
    elif word in ("EXCEPT", "INTERSECT", "MINUS"):
        yield "of the set operations there is UNION ALL only"


def _place(text: str, error: UnexpectedInput) -> tuple[int, int, str]:
    """From where to where, and what is found there."""
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start = error.token.start_pos or 0
        word = _FIRST_WORD.match(text, start)  # out of context, a token may be all the rest
        end = word.end() if word else start + 1
        return start, end, f"unexpected {_shorten(text[start:end])}"
    if isinstance(error, UnexpectedCharacters):
        start = error.pos_in_stream or 0
        return start, start + 1, f"unexpected {text[start : start + 1]}"
    return len(text), len(text), "the statement ends too early"


def _no_statement(text: str, base: int) -> SsqlError:
    word = text.split(None, 1)[0]
    near = _near_keyword(word)
    return fail(
        codes.SYNTAX,
        f"no statement begins with {_shorten(word)}",
        Span(base, base + len(word)),
        helps=[
            *([f"did you mean {near}?"] if near else []),
            f"a statement begins with {_STATEMENTS}",
        ],
    )


def _suspects(text: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """The word that does not fit and, if it is one, the word before it: in `FROM packets WHER x`
    the culprit is WHER, which was taken for an alias."""
    yield text[start:end], start
    if _FIRST_WORD.match(text, start) or text[start:end].isalnum():
        reach = max(0, start - _REACH)
        if before := _LAST_WORD.search(text[reach:start]):
            yield before[1], reach + before.start(1)


def _near_keyword(word: str) -> str | None:
    """The keyword that a word is a slip of; stricter than for names, which are free."""
    if len(word) < 3 or not word.isidentifier() or word.upper() in (*KEYWORDS, *_OTHER_WORDS):
        return None
    near = nearest(word, KEYWORDS)
    slip = near is not None and (
        sorted(near) == sorted(word.upper())
        or near.startswith(word.upper())
        or word.upper().startswith(near)
        or _one_edit(near, word.upper())
    )
    return near if slip else None


def _one_edit(a: str, b: str) -> bool:
    if abs(len(a) - len(b)) > 1:
        return False
    same = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
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
    words = [w if w[0].isalpha() else f"`{w}`" for w in words]
    if not words:
        return "an expression" if wanted else ""
    if len(words) > 7:  # a long list helps nobody
        return ""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _inside_window(text: str, at: int) -> bool:
    opened = text.rfind("[", 0, at)
    return opened > text.rfind("]", 0, at) and bool(_WINDOW.match(text, opened))
