"""The grammar, ready to parse one statement at a time."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from lark import Lark

GRAMMAR = Path(__file__).parent / "ssql.lark"


@cache
def statement_parser() -> Lark:
    """The parser. Building it takes most of a second, so the tables are kept on disk."""
    return Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        keep_all_tokens=True,  # `ssql fmt` writes every token back
        maybe_placeholders=False,
        cache=_cache_file() or False,  # Lark checks by digest that the tables fit the grammar
    )


def _cache_file() -> str | None:
    """Beside Python's own compiled files; where that is read-only, in the user's cache."""
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for directory in (GRAMMAR.parent / "__pycache__", user_cache / "ssql"):
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return str(directory / "ssql.lark.tables")
    return None
