"""The first look at the text: comments, strings, brackets and where statements end.

It splits a file into statements, so that an error in one leaves the others readable, and it
finds what a grammar reports badly: strings, comments and brackets that are never closed, and
nesting so deep that a recursive parser would fall over.

Comments are blanked out (positions stay as they are), so that neither the grammar nor sqlglot
ever sees one; `ssql fmt` gets them from here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ssql.compiler import codes
from ssql.compiler.diagnostics import Diagnostic, Diagnostics
from ssql.compiler.source import Source, Span

MAX_CHARACTERS = 500_000
MAX_STATEMENT = 32_000
MAX_DEPTH = 60

_INTERESTING = re.compile(r"--|/\*|['\"`()\[\]]|;[\s;]*")
_STRING_REST = {
    # Possessive (`++`, `*+`): a string that is never closed is found in one pass.
    "'": re.compile(r"(?:[^'\\]++|\\.|'')*+'", re.DOTALL),
    '"': re.compile(r'(?:[^"\\]++|\\.|"")*+"', re.DOTALL),
    "`": re.compile(r"(?:[^`]++|``)*+`"),
}
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_STRAY = re.compile(r"[^\w\s(){}\[\],;.:+\-*/%<>=!|&^~?@$#'\"`\\]|[\x00-\x08\x0b\x0e-\x1f\x7f]")
# What word processors and web pages make of signs.
_PLAIN = {
    "≥": ">=", "≤": "<=", "≠": "<>", "“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-",
    "−": "-", "×": "*", "÷": "/", "…": "...", "，": ",", "；": ";", "（": "(", "）": ")",
}  # fmt: skip
_NOT_NEWLINE = re.compile(r"[^\n]")
_OPENED_BY = {")": "(", "]": "["}
_CLOSED_BY = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Comment:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Statement:
    """The text of one statement, comments blanked out, without its `;`."""

    text: str
    span: Span  # from the first to the last character that is not blank
    terminated: bool


@dataclass(frozen=True, slots=True)
class Scan:
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...]


class _Broken(Exception):
    """The rest of the text cannot be cut into statements."""


class _Scanner:
    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.text = source.text
        self.diagnostics = diagnostics
        self.comments: list[Comment] = []
        self.blanked: list[str] = []  # the text so far, comments blanked out
        self.copied = 0  # how much of the text that is
        self.strings: list[Span] = []

    def scan(self) -> Scan:
        ends: list[tuple[int, int, bool]] = []  # where each statement starts and ends, and is sound
        brackets: list[tuple[str, int]] = []
        start, at, sound = 0, 0, True
        try:
            while found := _INTERESTING.search(self.text, at):
                sign, at = found.group(), found.end()
                if sign in ("--", "/*"):
                    at = self._comment(found.start(), sign)
                elif sign in _STRING_REST:
                    at = self._string(found.start(), sign)
                elif sign in "([":
                    brackets.append((sign, found.start()))
                    if len(brackets) == MAX_DEPTH + 1:
                        sound = self._error(
                            codes.TOO_DEEP,
                            f"brackets are nested more than {MAX_DEPTH} deep",
                            found.start(),
                            help="split the query with WITH, or with a view",
                        )
                elif sign in ")]":
                    if brackets and brackets[-1][0] == _OPENED_BY[sign]:
                        brackets.pop()
                    elif sound:
                        sound = self._stray_bracket(sign, found.start(), brackets)
                else:  # ;
                    sound = self._all_closed(brackets, sound)
                    ends.append((start, found.start(), sound))
                    start, sound = at, True
                    brackets.clear()
        except _Broken:
            return self._result(ends)
        sound = self._all_closed(brackets, sound)
        ends.append((start, len(self.text), sound))
        return self._result(ends)

    def _error(self, code: codes.Code, message: str, at: int, *, help: str, width: int = 1) -> bool:
        self.diagnostics.add(Diagnostic(code, message, Span(at, at + width), helps=(help,)))
        return False

    def _comment(self, start: int, sign: str) -> int:
        if sign == "--":
            end = self.text.find("\n", start)
            end = len(self.text) if end < 0 else end
        else:
            end = self._block_comment_end(start)
            if self.text.startswith("/*+", start):
                return end  # a hint is part of the query
        self.comments.append(Comment(self.text[start:end], Span(start, end)))
        self.blanked.append(self.text[self.copied : start])
        self.blanked.append(_NOT_NEWLINE.sub(" ", self.text[start:end]))
        self.copied = end
        return end

    def _block_comment_end(self, start: int) -> int:
        depth, at = 1, start + 2
        while depth:
            edge = _COMMENT_EDGE.search(self.text, at)
            if edge is None:
                self._error(
                    codes.UNCLOSED_COMMENT,
                    "this comment is never closed",
                    start,
                    width=2,
                    help="close it with */ (comments nest: each /* needs its own */)",
                )
                raise _Broken
            depth += 1 if edge.group() == "/*" else -1
            at = edge.end()
        return at

    def _string(self, start: int, quote: str) -> int:
        rest = _STRING_REST[quote].match(self.text, start + 1)
        if rest is None:
            what = "quoted name" if quote == "`" else "string"
            self._error(
                codes.UNCLOSED_STRING,
                f"this {what} is never closed",
                start,
                help=f"close it with {quote}",
            )
            raise _Broken
        self.strings.append(Span(start, rest.end()))
        return rest.end()

    def _stray_bracket(self, sign: str, at: int, brackets: list[tuple[str, int]]) -> bool:
        if brackets:
            opened = brackets[-1][0]
            message = f"{sign} does not close {opened}"
            help = f"close the {opened} first, with {_CLOSED_BY[opened]}"
        else:
            message = f"{sign} without {_OPENED_BY[sign]}"
            help = f"remove it, or open it with {_OPENED_BY[sign]}"
        return self._error(codes.STRAY_BRACKET, message, at, help=help)

    def _all_closed(self, brackets: list[tuple[str, int]], sound: bool) -> bool:
        if not brackets or not sound:
            return sound
        opened, at = brackets[-1]
        what = "window clause or index" if opened == "[" else "bracket"
        return self._error(
            codes.UNCLOSED_BRACKET,
            f"this {what} is never closed",
            at,
            help=f"close it with {_CLOSED_BY[opened]}",
        )

    def _result(self, ends: list[tuple[int, int, bool]]) -> Scan:
        self.blanked.append(self.text[self.copied :])
        blanked = "".join(self.blanked)
        statements = []
        for start, end, sound in ends:
            text = blanked[start:end]
            stripped = text.strip()
            if not stripped or not sound:
                continue
            first = start + len(text) - len(text.lstrip())
            span = Span(first, first + len(stripped))
            if len(stripped) > MAX_STATEMENT:
                self._error(
                    codes.TOO_LARGE,
                    f"this statement has {len(stripped):,} characters;"
                    f" at most {MAX_STATEMENT:,} are read",
                    first,
                    help="keep long lists of values in a table and join it",
                )
                continue
            if self._has_stray_character(blanked, span):
                continue
            statements.append(Statement(stripped, span, terminated=end < len(self.text)))
        return Scan(tuple(statements), tuple(self.comments))

    def _has_stray_character(self, blanked: str, span: Span) -> bool:
        if self.text.isascii() and self.text.isprintable():
            return False
        quoted = [s for s in self.strings if span.start <= s.start < span.end]
        at = span.start
        for hole in [*quoted, Span(span.end, span.end)]:
            if stray := _STRAY.search(blanked, at, hole.start):
                name = f"U+{ord(stray.group()):04X}"
                plain = _PLAIN.get(stray.group())
                self._error(
                    codes.STRAY_CHARACTER,
                    f"the character {name} has no meaning here",
                    stray.start(),
                    help=f"write {plain}" if plain else "remove it, or put it into quotes",
                )
                return True
            at = hole.end
        return False


def scan(source: Source, diagnostics: Diagnostics) -> Scan:
    """Cut a source into statements, and report what cannot be cut."""
    if len(source.text) > MAX_CHARACTERS:
        diagnostics.add(
            Diagnostic(
                codes.TOO_LARGE,
                f"the file has {len(source.text):,} characters;"
                f" at most {MAX_CHARACTERS:,} are read",
                Span(0, 0),
                helps=("split it into several files",),
            )
        )
        return Scan((), ())
    return _Scanner(source, diagnostics).scan()
