"""Window clauses: Lark's tree to the syntax tree."""

from __future__ import annotations

from lark import Token, Tree

from ssql.compiler import ast, codes
from ssql.compiler.diagnostics import fail
from ssql.compiler.treereader import TreeReader


class WindowClauseBuilder(TreeReader):
    def window(self, tree: Tree[Token]) -> ast.WindowClause:
        items: list[ast.WindowItem] = []
        previous: Tree[Token] | Token | None = None
        for child in tree.children:
            if isinstance(child, Tree):
                if child.data == "more":
                    items[-1:] = [self._further_partition(child, items, previous)]
                else:
                    items.append(self._window_item(child))
            previous = child
        return ast.WindowClause(items=tuple(items), span=self.span(tree))

    def _further_partition(
        self, tree: Tree[Token], items: list[ast.WindowItem], previous: Tree[Token] | Token | None
    ) -> ast.PartitionItem:
        last = items[-1] if items else None
        if not isinstance(last, ast.PartitionItem) or not isinstance(previous, Token):
            word = self.text[tree.meta.start_pos : tree.meta.end_pos]
            raise fail(
                codes.SYNTAX,
                f"{word} is not an item of a window clause",
                self.span(tree),
                helps=["the items are RANGE, SLIDE, WA, PA, RATTR, SATTR and ORIGIN"],
            )
        column = self._column_name(self.the(tree, "column_name"))
        return ast.PartitionItem(columns=(*last.columns, column), span=last.span.to(column.span))

    def _window_item(self, tree: Tree[Token]) -> ast.WindowItem:
        span = self.span(tree)
        match str(tree.data):
            case "range":
                length = self.tree(tree, "length")
                kind = (
                    ast.RangeKind.ALL
                    if length is None
                    else ast.RangeKind.TUMBLING
                    if self.token(tree, "TUMBLING")
                    else ast.RangeKind.LENGTH
                )
                return ast.RangeItem(
                    kind=kind, length=self.length(length) if length else None, span=span
                )
            case "slide":
                return ast.SlideItem(length=self.length(self.the(tree, "length")), span=span)
            case "pattr":
                column = self._column_name(self.the(tree, "column_name"))
                return ast.PartitionItem(columns=(column,), span=span)
            case "origin":
                return ast.OriginItem(text=self.string(self.the(tree, "string")), span=span)
            case rule:
                keyword = {"wattr": "WA", "rattr": "RATTR", "sattr": "SATTR"}[rule]
                attribute = self._attribute(self.the(tree, "row_number", "rank", "column_name"))
                return ast.AttributeItem(keyword=keyword, attribute=attribute, span=span)

    def _attribute(self, tree: Tree[Token]) -> ast.Attribute:
        if tree.data == "row_number":
            return ast.RowNumber(span=self.span(tree))
        if tree.data == "rank":
            column = self._column_name(self.the(tree, "column_name"))
            return ast.Rank(column=column, span=self.span(tree))
        return self._column_name(tree)

    def _column_name(self, tree: Tree[Token]) -> ast.ColumnName:
        return ast.ColumnName(parts=self.names(tree), span=self.span(tree))

    def length(self, tree: Tree[Token]) -> ast.Length:
        unit = self.token(tree, "NAME")
        return ast.Length(
            number=self.decimal(tree),
            unit=str(unit) if unit else "",
            unit_span=self.span(unit or tree),
            span=self.span(tree),
        )
