"""Diagnostics as people and editors read them. Nothing here prints."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable

from ssql.compiler.diagnostics import Diagnostic
from ssql.compiler.source import Source

_WIDEST = 160  # characters of a source line that are shown
_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "frame": "34",
    "note": "36",
    "help": "32",
    "bold": "1",
}
# Shown text must not move the cursor or change colours, whatever the file holds.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)


def printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)


def _width(text: str) -> int:
    """Columns that a terminal needs for the text."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def render(source: Source, diagnostic: Diagnostic, *, color: bool = False) -> str:
    """file:line:col, the line, a caret under the span, notes and helps."""

    def paint(style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color else text

    line_number, column = source.position(diagnostic.span.start)
    place = f"{printable(source.name)}:{line_number}:{column}"
    label = f"{diagnostic.severity}[{diagnostic.code.id}]"
    out = [
        f"{paint('bold', place)}: {paint(diagnostic.severity, label)}: "
        f"{paint('bold', printable(diagnostic.message))}"
    ]
    gutter = " " * len(str(line_number))
    bar = paint("frame", "|")
    if source.text:
        shown, before, marked = _excerpt(source, diagnostic)
        out.append(f" {gutter} {bar}")
        out.append(f" {paint('frame', str(line_number))} {bar} {shown}".rstrip())
        carets = paint(diagnostic.severity, "^" * max(1, _width(marked)))
        out.append(f" {gutter} {bar} {' ' * _width(before)}{carets}")
    for kind, texts in (("note", diagnostic.notes), ("help", diagnostic.helps)):
        for text in texts:
            first, *rest = printable(text).split("\n")
            out.append(f" {gutter} {paint('frame', '=')} {paint(kind, kind)}: {first}")
            out.extend(f" {gutter}         {line}" for line in rest)
    return "\n".join(out)


def _excerpt(source: Source, diagnostic: Diagnostic) -> tuple[str, str, str]:
    """The source line cut to a width, and what of it is before and under the caret."""
    line_number, column = source.position(diagnostic.span.start)
    line = source.line(line_number)
    start = min(column - 1, len(line))
    end = min(start + diagnostic.span.end - diagnostic.span.start, len(line))
    left = max(0, start - _WIDEST // 2) if len(line) > _WIDEST else 0
    right = min(len(line), left + _WIDEST)
    head = "…" if left else ""
    tail = "…" if right < len(line) else ""

    def clean(text: str) -> str:
        return printable(text).replace("\t", "    ")

    before = head + clean(line[left:start])
    marked = clean(line[start : min(end, right)])
    return before + marked + clean(line[min(end, right) : right]) + tail, before, marked


def as_record(source: Source, diagnostic: Diagnostic) -> dict[str, object]:
    """A diagnostic for editors: positions counted from 1, the end exclusive."""
    line, column = source.position(diagnostic.span.start)
    end_line, end_column = source.position(max(diagnostic.span.start, diagnostic.span.end))
    return {
        "file": source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "severity": diagnostic.severity,
        "code": diagnostic.code.id,
        "message": diagnostic.message,
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
    }


def render_json(found: Iterable[tuple[Source, Diagnostic]]) -> str:
    return json.dumps([as_record(s, d) for s, d in found], indent=2, ensure_ascii=False)
