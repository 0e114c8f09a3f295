"""The tokens of a statement, and the spaces between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token, Tree

_INNER_TOKEN = re.compile(
    r"[rRxX]?'(?:[^'\\]|\\.|'')*'|[rRxX]?\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`|/\*\+.*?\*/"
    r"|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\w*|[^\W\d]\w*"
    r"|<=>|->|=>|<=|>=|<>|!=|==|\|\||::|<<|>>|&&|\S",
    re.DOTALL,
)
_UPPER_IN_EXPRESSIONS = frozenset(
    "AND AS BETWEEN CASE DISTINCT ELSE END FROM IN IS LIKE NOT NULL OR THEN WHEN WHERE".split()
)
# Words after which a bracket is no call.
_OPERATOR_WORDS = _UPPER_IN_EXPRESSIONS - {"END", "NULL"} | {
    "FILTER",
    "RLIKE",
    "ILIKE",
    "ANY",
    "OVER",
}
_BINARY = frozenset(
    {
        "=",
        "==",
        "<",
        ">",
        "<=",
        ">=",
        "<>",
        "!=",
        "<=>",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "->",
        "=>",
        "&",
        "|",
        "^",
        "<<",
        ">>",
        "&&",
    }
)
_PREFIXES = frozenset("rRxX")
# What a token is besides what the grammar calls it, by the rule that it stands in.
_ROLES = {
    ("create_stream", "LPAR"): "LIST_OPEN",
    ("create_table", "LPAR"): "LIST_OPEN",
    ("create_sink", "LPAR"): "LIST_OPEN",
    ("insert_columns", "LPAR"): "LIST_OPEN",
    ("type", "NAME"): "TYPE",
}
_NAMES = frozenset(
    {"NAME", "QUOTED", "STRING", "NUMBER", "INNER", "HINT", "OPERATOR", "EPOCH", "KEY"}
)


@dataclass(slots=True)
class FormatToken:
    text: str
    start: int
    end: int
    type: str  # the grammar's, or EXPR inside of brackets
    spaced: bool  # was there white space before it?

    @property
    def upper(self) -> str:
        return self.text.upper()


def tokens_of(tree: Tree[Token], text: str) -> list[str]:
    """What a statement says, without its layout: two statements that agree here are the same."""
    said = []
    for token in tokenize(tree, text):
        names = token.type in _NAMES or token.type == "EXPR"
        exact = names and token.upper not in _UPPER_IN_EXPRESSIONS
        said.append(token.text if exact else "".join(token.upper.replace("-", " ").split()))
    return said


def _leaves(tree: Tree[Token]) -> Iterator[tuple[Token, str]]:
    """The tokens in order, each with the rule that it stands in."""
    stack: list[tuple[Tree[Token] | Token, str]] = [(tree, "")]
    while stack:
        node, rule = stack.pop()
        if isinstance(node, Token):
            yield node, rule
        else:
            stack.extend((child, str(node.data)) for child in reversed(node.children))


def tokenize(tree: Tree[Token], text: str) -> list[FormatToken]:
    result: list[FormatToken] = []
    for leaf, rule in _leaves(tree):
        start = leaf.start_pos or 0
        if leaf.type in ("INNER", "STRING"):
            kind = "EXPR" if leaf.type == "INNER" else "STRING"
            pieces = [
                (m.group(), start + m.start(), start + m.end())
                for m in _INNER_TOKEN.finditer(str(leaf))
            ]
        else:
            kind = _ROLES.get((rule, leaf.type), leaf.type)
            pieces = [(str(leaf), start, leaf.end_pos or 0)]
        for piece, at, end in pieces:
            result.append(
                FormatToken(_cased(piece, kind), at, end, kind, text[at - 1 : at].isspace())
            )
    result = _with_prefixes(result)
    _upper_words(result)
    return result


def _with_prefixes(tokens: list[FormatToken]) -> list[FormatToken]:
    """`r'…'` and `x'…'` in one piece: with a space between they would be two things."""
    joined: list[FormatToken] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.text in _PREFIXES
            and token.start == last.end
            and token.text[0] in "'\""
        ):
            last.text, last.end, last.type = last.text + token.text, token.end, "STRING"
        else:
            joined.append(token)
    return joined


def _cased(text: str, type: str) -> str:
    """Keywords in capitals, those of several words with one space between them."""
    if type == "GROUP_BY":
        return "GROUP BY"
    if type == "ROW_NUM":
        return "row-num"
    if type in _NAMES or type == "EXPR" or text[0] in "`'\"":
        return text
    return " ".join(text.split()).upper() if text[0].isalpha() else text


def _upper_words(tokens: list[FormatToken]) -> None:
    """AND, OR, CASE and the like inside of expressions, unless they are names there."""
    for at, token in enumerate(tokens):
        if token.type in ("NAME", "EXPR") and token.upper in _UPPER_IN_EXPRESSIONS:
            before = tokens[at - 1].upper if at else ""
            after = tokens[at + 1].text if at + 1 < len(tokens) else ""
            if before not in (".", "AS") and after != ".":
                token.text = token.upper


def space_between(before: list[FormatToken], token: FormatToken) -> bool:
    """Is there a space between the last token of `before` and this one?"""
    last = before[-1]
    a, b = last.text, token.text
    if (a.endswith("-") and b.startswith("-")) or (a.endswith("/") and b.startswith("*")):
        return True  # `--` and `/*` would begin a comment
    if token.type in ("WINDOW_OPEN", "LIST_OPEN"):
        return True
    if (a in "<>:" or b in "<>:") and _in_type(before):
        return a == ":"
    if a in ("(", "[", ".", "::") or b in (")", "]", ",", ".", "::", ";"):
        return False
    if b == ":" or a == ":":
        return a == ":" and token.spaced
    if b == "[":
        return False
    if b == "(":
        if _is_unary(before):
            return False
        if last.type in ("NAME", "EXPR", "QUOTED", "EPOCH", "RANK", "TYPE"):
            return last.upper in _OPERATOR_WORDS
        return a not in (")", "]", "`") and last.type != "QUOTED"
    if a in ("!", "~", "@", "$", "{", "?", "#") or b in ("}", "{", "#", "?", "$", "@"):
        return token.spaced
    return not _is_unary(before)


def _in_type(before: list[FormatToken]) -> bool:
    """Inside of the angle brackets of ARRAY<…>, MAP<…> or STRUCT<…>, or right at their edge."""
    depth = 0
    for token in reversed(before[-40:]):
        if token.text in (">", ">>"):
            depth += len(token.text)
        elif token.text == "<":
            depth -= 1
        elif token.upper in ("ARRAY", "MAP", "STRUCT") and (depth < 0 or token is before[-1]):
            return True
        elif token.text in ("(", ";", "AND", "OR") and depth == 0:
            return False
    return False


def _is_unary(before: list[FormatToken]) -> bool:
    """Is the last token a sign of the one that follows, and not an operation?"""
    if before[-1].text not in ("-", "+"):
        return False
    if len(before) == 1:
        return True
    previous = before[-2]
    return (
        previous.text in ("(", "[", ",")
        or previous.text in _BINARY
        or previous.upper
        in (
            _OPERATOR_WORDS
            | {
                "SELECT",
                "BY",
                "ON",
                "HAVING",
                "WHERE",
                "RANGE",
                "SLIDE",
                "WINDOW",
                "GROUP BY",
                "ORDER BY",
            }
        )
    )


def flat(tokens: list[FormatToken]) -> str:
    out = ""
    for at, token in enumerate(tokens):
        out += (
            " " if at and space_between(tokens[max(0, at - 42) : at], token) else ""
        ) + token.text
    return out
