"""Python text: literals, names, comments and calls, laid out as ruff and black leave them.

Generated code is executed, so text of users appears in literals and comments only, and both are
made here.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

WIDTH = 88
_width = ContextVar("width", default=WIDTH)
INDENT = "    "
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TAKEN = frozenset(
    """
    Asked By DataFrame F Part Side SparkSession adaptwid in_order landmark main ordered_join os
    print rolling row row_windows spark tuple_windows
    """.split()
)


@contextmanager
def lines_of(width: int) -> Iterator[None]:
    """Code that is laid out in here has lines of this width."""
    before = _width.set(width)
    try:
        yield
    finally:
        _width.reset(before)


def fits(line: str) -> bool:
    return len(line) <= _width.get()


def literal(text: str) -> str:
    """A Python string literal, in double quotes unless that needs more escapes."""
    if '"' in text and "'" not in text and "\\" not in text and text.isprintable():
        return f"'{text}'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isprintable():
        return sign
    code = ord(sign)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def comment(text: str, indent: str = "") -> list[str]:
    """Text as comment lines, without anything that could end or hide one."""
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return textwrap.wrap(
        clean,
        WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


class Names:
    """Python names for SQL ones: each its own."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_TAKEN, *taken}
        self._numbers: dict[str, int] = {}  # the last one given, by name

    def make(self, wanted: str) -> str:
        base = re.sub(r"[^0-9A-Za-z_]+", "_", wanted).strip("_").lower() or "query"
        if base == "l":  # which looks like 1
            base = "l_"
        if base[0].isdigit() or keyword.iskeyword(base) or keyword.issoftkeyword(base):
            base = f"_{base}" if base[0].isdigit() else f"{base}_"
        name, number = base, self._numbers.get(base, 1)
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._numbers[base] = number
        self._taken.add(name)
        return name

    def release(self, name: str) -> None:
        self._taken.discard(name)
        self._numbers.pop(name, None)


@dataclass(frozen=True, slots=True)
class Nested:
    """An argument with items of its own: `keys=[` … `]`, `Part(` … `)`."""

    opening: str
    items: tuple[str | Nested, ...]
    closing: str

    def __str__(self) -> str:
        return f"{self.opening}{_listed(self.items)}{self.closing}"


Argument = str | Nested


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: tuple[Argument, ...] = ()


def _listed(arguments: Iterable[Argument]) -> str:
    return ", ".join(map(str, arguments))


def chain(prefix: str, head: str, calls: list[Call], indent: str = INDENT) -> list[str]:
    """`prefix head.call(…).call(…)`, on one line if it fits, else a call a line. Without a head,
    the one call is that of a function."""
    first = f"{head}." if head else ""
    flat = ".".join(f"{c.name}({_listed(c.arguments)})" for c in calls)
    flat = f"{first}{flat}" if calls else head
    line = f"{indent}{prefix}{flat}"
    if fits(line):
        return [line]
    if len(calls) == 1:
        return _exploded(f"{indent}{prefix}{first}{calls[0].name}", calls[0].arguments, indent)
    inner = indent + INDENT
    lines = [f"{indent}{prefix}("]
    if len(calls) > 2 and fits(f"{inner}{flat}"):
        return [*lines, f"{inner}{flat}", f"{indent})"]
    if head.endswith(")"):
        lines.append(f"{inner}{head}")
    else:
        beginning, *calls = calls
        lines += _call_lines(f"{inner}{first}{beginning.name}", beginning.arguments, inner)
    for call in calls:
        lines += _call_lines(f"{inner}.{call.name}", call.arguments, inner)
    return [*lines, f"{indent})"]


def _call_lines(start: str, arguments: tuple[Argument, ...], indent: str) -> list[str]:
    flat = f"{start}({_listed(arguments)})"
    return [flat] if fits(flat) or not arguments else _exploded(start, arguments, indent)


_ALIASED = re.compile(r"\)\.alias\((?=\"\w+\"\)\Z)")


def _exploded(start: str, arguments: tuple[Argument, ...], indent: str) -> list[str]:
    inner = indent + INDENT
    lines = [line for a in arguments for line in _argument_lines(a, inner)]
    return [f"{start}(", *lines, f"{indent})"]


def _argument_lines(argument: Argument, indent: str) -> list[str]:
    """One argument and its comma; one with items, and a call with one literal, is opened if it is
    too long."""
    if isinstance(argument, Nested):
        return _nested_lines(argument, indent)
    aliased = _ALIASED.search(argument)
    opening = aliased.end() - 1 if aliased else argument.find("(")
    line = f"{indent}{argument},"
    if fits(line) or not argument.startswith("F.") or not argument.endswith(")"):
        return [line]
    call, inner = argument[: opening + 1], argument[opening + 1 : -1]
    return [f"{indent}{call}", f"{indent}{INDENT}{inner}", f"{indent}),"]


def _nested_lines(argument: Nested, indent: str) -> list[str]:
    flat = f"{indent}{argument},"
    if fits(flat) or not argument.items:
        return [flat]
    lines = [line for i in argument.items for line in _argument_lines(i, indent + INDENT)]
    return [f"{indent}{argument.opening}", *lines, f"{indent}{argument.closing},"]
