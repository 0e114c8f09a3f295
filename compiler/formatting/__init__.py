"""`ssql fmt`: one way to lay out a file.

The grammar's tree says where lines break; the tokens between the breaks are written with one
rule for spaces. Comments keep their place. Only white space and the case of keywords change: a
statement for which this does not hold is given back as it was.
"""

from __future__ import annotations

from ssql.compiler.diagnostics import Diagnostics
from ssql.compiler.formatting.layout import STEP, Layout
from ssql.compiler.formatting.tokens import FormatToken, space_between, tokenize, tokens_of
from ssql.compiler.parser import Parsed, ParsedFile, parse
from ssql.compiler.scanner import Comment
from ssql.compiler.source import Source


def format_file(file: ParsedFile) -> str:
    """The text of a file that parsed without errors."""
    return _File(file).text()


class _Writer:
    """Tokens and comments to lines."""

    def __init__(self, source: str, base: int, breaks: dict[int, int]) -> None:
        self.source = source
        self.base = base
        self.breaks = breaks
        self.lines: list[str] = []
        self.line: list[FormatToken | str] = []
        self.indent = 0
        self.structural = 0  # the indent of the last break that the layout asked for

    def _flush(self) -> None:
        if self.line:
            self.lines.append(STEP * self.indent + self._joined())
        self.line = []

    def _joined(self) -> str:
        out = ""
        before: list[FormatToken] = []
        for part in self.line:
            if isinstance(part, str):
                out += f" {part}" if out else part
                before = []
            else:
                glue = bool(out) and (not before or space_between(before, part))
                out += (" " if glue else "") + part.text
                before = [*before[-41:], part]
        return out

    def token(self, token: FormatToken, comments: list[Comment], previous_end: int | None) -> None:
        must_break = False
        wanted = self.breaks.get(token.start)
        end = previous_end
        for comment in comments:
            same_line = end is not None and "\n" not in self.source[end : comment.span.start]
            if same_line and self.line:
                self.line.append(_tidy(comment))
                must_break = comment.text.startswith("--")
            else:
                self._flush()
                self.indent = wanted if wanted is not None else self.structural + 1
                self.lines.append(STEP * self.indent + _tidy(comment))
                must_break = True
            end = comment.span.end
        if wanted is not None:
            self._flush()
            self.indent = self.structural = wanted
        elif must_break:
            self._flush()
            self.indent = self.structural + 1
        self.line.append(token)

    def result(self) -> list[str]:
        self._flush()
        return self.lines


def _tidy(comment: Comment) -> str:
    if comment.text.startswith("--"):
        return comment.text.rstrip()
    return "\n".join(line.rstrip() for line in comment.text.split("\n"))


class _File:
    def __init__(self, file: ParsedFile) -> None:
        self.file = file
        self.source = file.source.text
        self.comments = list(file.scan.comments)

    def text(self) -> str:
        out: list[str] = []
        end = 0  # how much of the source is written
        was_long = False
        for parsed in self.file.statements:
            span = parsed.statement.span
            end, blank = self._between(out, end, span.start, was_long)
            inside = self._take(span.start, self._semicolon(span.end))
            lines, after = self._statement(parsed, inside)
            if (
                out
                and (was_long or len(lines) > 1 or blank)
                and out[-1]
                and not self._is_comment(out[-1])
            ):
                out.append("")
            lines[-1] += ";"
            for comment in after:
                lines[-1] += (
                    f" {_tidy(comment)}" if not lines[-1].endswith("\n") else _tidy(comment)
                )
            out += lines
            was_long = len(lines) > 1
            end = min(self._semicolon(span.end) + 1, len(self.source))
        self._between(out, end, len(self.source), was_long)
        while out and not out[-1]:
            out.pop()
        return "\n".join(out) + "\n" if out else ""

    @staticmethod
    def _is_comment(line: str) -> bool:
        return line.startswith(("--", "/*")) or line.endswith("*/")

    def _semicolon(self, at: int) -> int:
        """Where the statement that ends at this position has its `;`."""
        comments = {c.span.start: c.span.end for c in self.file.scan.comments}
        while at < len(self.source) and self.source[at] != ";":
            at = comments.get(at, at + 1)
        return at

    def _take(self, start: int, end: int) -> list[Comment]:
        taken = [c for c in self.comments if start <= c.span.start < end]
        self.comments = [c for c in self.comments if not start <= c.span.start < end]
        return taken

    def _between(self, out: list[str], start: int, end: int, was_long: bool) -> tuple[int, bool]:
        """Write the comments between two statements; is there a blank line before `end`?"""
        at = start
        for comment in self._take(start, end):
            gap = self.source[at : comment.span.start]
            if out and "\n" not in gap:
                out[-1] += f" {_tidy(comment)}"
            else:
                first = at == start
                if out and (gap.count("\n") > 1 or (first and was_long)) and out[-1]:
                    out.append("")
                out += _tidy(comment).split("\n")
            at = comment.span.end
        gap = self.source[at:end]
        blank = gap.count("\n") > 1
        if blank and out and out[-1] and self._is_comment(out[-1]) and at != start:
            out.append("")
        return end, blank

    def _statement(
        self, parsed: Parsed, comments: list[Comment]
    ) -> tuple[list[str], list[Comment]]:
        base = parsed.statement.span.start
        tokens = tokenize(parsed.tree, parsed.statement.text)
        layout = Layout(tokens, comments, base)
        layout.statement(parsed.tree)
        writer = _Writer(self.source, base, layout.breaks)
        previous_end: int | None = None
        rest = list(comments)
        for token in tokens:
            before = [c for c in rest if c.span.start < base + token.start]
            rest = rest[len(before) :]
            writer.token(token, before, previous_end)
            previous_end = base + token.end
        lines = "\n".join(writer.result()).split("\n")
        if not _says_the_same(parsed, lines, len(comments) - len(rest)):
            span = parsed.statement.span
            lines = self.source[span.start : span.end].split("\n")
        return lines, rest


def _says_the_same(parsed: Parsed, lines: list[str], comments: int) -> bool:
    diagnostics = Diagnostics()
    again = parse(Source("", "\n".join([*lines, ";"])), diagnostics)
    return (
        not diagnostics.has_errors
        and len(again.scan.comments) == comments
        and [tokens_of(s.tree, s.statement.text) for s in again.statements]
        == [tokens_of(parsed.tree, parsed.statement.text)]
    )
