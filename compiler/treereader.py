"""Reading Lark's trees: positions, tokens, names and literals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from lark import Token, Tree

from ssql.compiler import ast, codes
from ssql.compiler.diagnostics import fail
from ssql.compiler.source import Span

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3][0-7]{2}|.)|''|\"\"", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}


def string_value(literal: str) -> str:
    """The value of a Spark string literal."""
    if literal[0] in "rR":
        return literal[2:-1]
    quote, body = literal[0], literal[1:-1]

    def unescape(found: re.Match[str]) -> str:
        what = found.group(1)
        if what is None:  # a doubled quote: one, if it is the kind that encloses the literal
            return quote if found.group()[0] == quote else found.group()
        if what[0] == "u" and len(what) == 5:
            return chr(int(what[1:], 16))
        if len(what) == 3:
            return chr(int(what, 8))
        if what in "%_":
            return found.group()  # for LIKE, both characters stay
        return _ESCAPED.get(what, what)

    return _ESCAPE.sub(unescape, body)


class TreeReader:
    """Looks things up in the tree of one statement."""

    def __init__(self, text: str, base: int) -> None:
        self.text = text
        self.base = base

    def span(self, node: Tree[Token] | Token) -> Span:
        if isinstance(node, Token):
            start, end = node.start_pos or 0, node.end_pos or 0
        else:
            start, end = node.meta.start_pos, node.meta.end_pos
        return Span(self.base + start, self.base + end)

    @staticmethod
    def trees(tree: Tree[Token], *rules: str) -> Iterator[Tree[Token]]:
        return (c for c in tree.children if isinstance(c, Tree) and c.data in rules)

    @classmethod
    def tree(cls, tree: Tree[Token], *rules: str) -> Tree[Token] | None:
        return next(cls.trees(tree, *rules), None)

    @classmethod
    def the(cls, tree: Tree[Token], *rules: str) -> Tree[Token]:
        """The child that the grammar guarantees."""
        found = cls.tree(tree, *rules)
        assert found is not None, (tree.data, rules)
        return found

    @staticmethod
    def token(tree: Tree[Token], *types: str) -> Token | None:
        return next((c for c in tree.children if isinstance(c, Token) and c.type in types), None)

    def name(self, tree: Tree[Token]) -> ast.Name:
        token = tree.children[0]
        text = str(token)
        if text.startswith("`"):
            text = text[1:-1].replace("``", "`")
        return ast.Name(text=text, span=self.span(tree))

    def own_name(self, tree: Tree[Token]) -> ast.Name:
        return self.name(self.the(tree, "name"))

    def names(self, tree: Tree[Token]) -> tuple[ast.Name, ...]:
        return tuple(self.name(t) for t in self.trees(tree, "name"))

    def scalar(self, tree: Tree[Token]) -> ast.Scalar:
        span = self.span(tree)
        return ast.Scalar(text=self.text[tree.meta.start_pos : tree.meta.end_pos], span=span)

    def string(self, tree: Tree[Token] | Token) -> ast.String:
        token = tree if isinstance(tree, Token) else tree.children[0]
        return ast.String(value=string_value(str(token)), span=self.span(tree))

    def decimal(self, tree: Tree[Token]) -> Decimal:
        sign, number = self.token(tree, "SIGN", "MINUS", "PLUS"), self.token(tree, "NUMBER")
        digits = str(number).rstrip("LSYDFBlsydfb")
        value = Decimal(digits)
        if abs(value.adjusted()) > 30:  # such a number, written out, would fill the memory
            raise fail(
                codes.INEXACT_LENGTH,
                f"the number {digits} is out of bounds",
                self.span(tree),
                helps=["write a number of at most 30 digits"],
            )
        return -value if sign == "-" else value
