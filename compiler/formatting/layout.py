"""Where the lines of a statement break, and how far they are indented."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from lark import Token, Tree

from ssql.compiler.formatting.tokens import FormatToken, flat
from ssql.compiler.scanner import Comment

WIDTH = 88
STEP = "  "


class Layout:
    """The positions at which a new line begins, and how far it is indented."""

    def __init__(self, tokens: list[FormatToken], comments: list[Comment], base: int) -> None:
        self.tokens = tokens
        self.comments = [c.span.start - base for c in comments]
        self.starts = [t.start for t in tokens]
        self.breaks: dict[int, int] = {}

    def statement(self, tree: Tree[Token]) -> None:
        inner = tree.children[0]
        assert isinstance(inner, Tree)
        self._rule(inner, 0)

    def _rule(self, tree: Tree[Token], indent: int) -> None:
        match str(tree.data):
            case "query":
                self._query(tree, indent)
            case "insert" | "create_view":
                query = self._child(tree, "query")
                self.breaks[query.meta.start_pos] = indent
                self._query(query, indent)
            case "explain":
                self._rule(self._child(tree, "query", "insert"), indent)
            case "create_stream" | "create_table" | "create_sink":
                self._create(tree, indent)

    @staticmethod
    def _child(tree: Tree[Token], *rules: str) -> Tree[Token]:
        return next(c for c in tree.children if isinstance(c, Tree) and c.data in rules)

    def _fits(self, start: int, end: int, indent: int) -> bool:
        if bisect_left(self.comments, start) < bisect_left(self.comments, end):
            return False
        inside = self.tokens[bisect_left(self.starts, start) : bisect_left(self.starts, end)]
        if sum(len(t.text) for t in inside) > WIDTH:
            return False
        return len(STEP) * indent + len(flat(inside)) <= WIDTH

    def _create(self, tree: Tree[Token], indent: int) -> None:
        elements = [
            c
            for c in tree.children
            if isinstance(c, Tree) and c.data in ("column", "watermark", "sequence")
        ]
        options = next(
            (c for c in tree.children if isinstance(c, Tree) and c.data == "options"), None
        )
        if elements and not self._fits(tree.meta.start_pos, tree.meta.end_pos, indent):
            for element in elements:
                self.breaks[element.meta.start_pos] = indent + 1
            closing = [c for c in tree.children if isinstance(c, Token) and c.type == "RPAR"]
            self.breaks[closing[0].start_pos or 0] = indent
        if options is not None:
            start = options.meta.start_pos - (2 if elements else 0)
            if not self._fits(start, options.meta.end_pos, indent):
                self._listed(options, "option", indent)

    def _listed(self, tree: Tree[Token], rule: str, indent: int) -> None:
        """Each member on a line of its own, the closing bracket too."""
        for child in tree.children:
            if isinstance(child, Tree) and child.data == rule:
                self.breaks[child.meta.start_pos] = indent + 1
        last = tree.children[-1]
        if isinstance(last, Token) and last.type == "RPAR":
            self.breaks[last.start_pos or 0] = indent

    def _query(self, tree: Tree[Token], indent: int) -> None:
        for child in tree.children:
            assert isinstance(child, Tree)
            match str(child.data):
                case "with_clause":
                    for cte in child.children:
                        if isinstance(cte, Tree):
                            self._bracketed_query(cte, indent)
                    body = tree.children[-1]
                    assert isinstance(body, Tree)
                    self.breaks[body.meta.start_pos] = indent
                case "union_all":
                    for member in child.children:
                        assert isinstance(member, Tree)
                        if member is not child.children[0]:
                            self.breaks[member.meta.start_pos] = indent
                        if member.data == "select":
                            self._select(member, indent)
                case "select":
                    self._select(child, indent)

    def _bracketed_query(self, tree: Tree[Token], indent: int) -> None:
        query = self._child(tree, "query")
        if (
            self._fits(tree.meta.start_pos, tree.meta.end_pos, indent + 2)
            and tree.data == "subquery"
        ):
            return
        self.breaks[query.meta.start_pos] = indent + 1
        self._query(query, indent + 1)
        closing = tree.children[-1]
        assert isinstance(closing, Token)
        self.breaks[closing.start_pos or 0] = indent

    def _select(self, tree: Tree[Token], indent: int) -> None:
        for child in tree.children:
            if not isinstance(child, Tree):
                continue
            start, end = child.meta.start_pos, child.meta.end_pos
            if child.data == "select_list":
                if not self._fits(tree.meta.start_pos, end, indent):
                    self._listed(child, "select_item", indent)
                    self._long_items(child, indent + 1)
                continue
            self.breaks[start] = indent
            match str(child.data):
                case "from_clause":
                    self._from(child, indent)
                case "where" | "having":
                    if not self._fits(start, end, indent):
                        self._conditions(self._child(child, "expr"), indent)
                case "group_by" | "order_by":
                    if not self._fits(start, end, indent):
                        self._listed(child, "expr", indent)

    def _long_items(self, tree: Tree[Token], indent: int) -> None:
        """The window clause of an item that is too long for one line gets a line of its own."""
        for item in tree.children:
            if isinstance(item, Tree) and not self._fits(
                item.meta.start_pos, item.meta.end_pos, indent
            ):
                for window in item.children:
                    if isinstance(window, Tree) and window.data == "window":
                        self.breaks[window.meta.start_pos] = indent + 1

    def _conditions(self, tree: Tree[Token], indent: int) -> None:
        """A line for each AND or OR that is not inside of brackets."""
        after_between, cases = False, 0
        for child in tree.children:
            if isinstance(child, Token):
                word = str(child).upper()
                cases += {"CASE": 1, "END": -1}.get(word, 0)
                joins = word in ("AND", "OR") and not (word == "AND" and after_between)
                if joins and cases == 0:
                    self.breaks[child.start_pos or 0] = indent + 1
                after_between = word == "BETWEEN" or (after_between and word != "AND")

    def _from(self, tree: Tree[Token], indent: int) -> None:
        fits = self._fits(tree.meta.start_pos, tree.meta.end_pos, indent)
        for child in tree.children:
            if not isinstance(child, Tree):
                continue
            item = self._child(child, "from_item") if child.data == "join" else child
            sign = child.children[0]
            if child.data == "join" and isinstance(sign, Token) and not fits:
                if sign.type == "COMMA":
                    self.breaks[item.meta.start_pos] = indent + 1
                else:
                    self.breaks[sign.start_pos or 0] = indent
            for subquery in self._own_subqueries(item):
                self._bracketed_query(subquery, indent)

    def _own_subqueries(self, tree: Tree[Token]) -> Iterator[Tree[Token]]:
        for child in tree.children:
            if isinstance(child, Tree):
                if child.data == "subquery":
                    yield child
                elif child.data != "expr":
                    yield from self._own_subqueries(child)
