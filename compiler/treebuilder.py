"""Lark's tree to the syntax tree of `ast.py`: one method a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from lark import Token, Tree

from ssql.compiler import ast, codes
from ssql.compiler.diagnostics import fail
from ssql.compiler.treereader import string_value
from ssql.compiler.windowclauses import WindowClauseBuilder


class TreeBuilder(WindowClauseBuilder):
    # -------------------------------------------------------------- statements

    def statement(self, tree: Tree[Token]) -> ast.Statement:
        inner = tree.children[0] if tree.data == "start" else tree
        assert isinstance(inner, Tree)
        build: Callable[[Tree[Token]], ast.Statement] = getattr(self, str(inner.data))
        return build(inner)

    def _created(self, tree: Tree[Token]) -> dict[str, Any]:
        """What all CREATE statements have."""
        return {
            "name": self.own_name(tree),
            "replace": self.tree(tree, "or_replace") is not None,
            "if_not_exists": self.tree(tree, "if_not_exists") is not None,
            "span": self.span(tree),
        }

    def _stored(self, tree: Tree[Token]) -> dict[str, Any]:
        return {
            **self._created(tree),
            "columns": self._columns(tree),
            "options": self._options(tree),
        }

    def create_stream(self, tree: Tree[Token]) -> ast.CreateStream:
        return ast.CreateStream(
            **self._stored(tree),
            watermarks=tuple(self.watermark(t) for t in self.trees(tree, "watermark")),
            sequences=tuple(self.own_name(t) for t in self.trees(tree, "sequence")),
        )

    def create_table(self, tree: Tree[Token]) -> ast.CreateTable:
        return ast.CreateTable(**self._stored(tree))

    def create_sink(self, tree: Tree[Token]) -> ast.CreateSink:
        return ast.CreateSink(**self._stored(tree))

    def create_view(self, tree: Tree[Token]) -> ast.CreateView:
        return ast.CreateView(**self._created(tree), query=self.query(self.the(tree, "query")))

    def create_function(self, tree: Tree[Token]) -> ast.CreateFunction:
        return ast.CreateFunction(
            **self._created(tree),
            parameters=tuple(self.column(t) for t in self.trees(tree, "parameter")),
            returns=self.scalar(self.the(tree, "type")),
            language=self.names(tree)[-1],
            target=self.string(self.the(tree, "string")),
        )

    def _columns(self, tree: Tree[Token]) -> tuple[ast.Column, ...]:
        return tuple(self.column(t) for t in self.trees(tree, "column"))

    def column(self, tree: Tree[Token]) -> ast.Column:
        comment = self.tree(tree, "string")
        return ast.Column(
            name=self.own_name(tree),
            type=self.scalar(self.the(tree, "type")),
            nullable=self.token(tree, "NOT") is None,
            comment=self.string(comment).value if comment else None,
            span=self.span(tree),
        )

    def watermark(self, tree: Tree[Token]) -> ast.Watermark:
        column, base = self.names(tree)
        delay = self.tree(tree, "interval")
        idle = self.tree(tree, "idle_after")
        return ast.Watermark(
            column=column,
            base=base,
            delay=self.interval(delay) if delay else None,
            idle=self._idle(idle) if idle else None,
            span=self.span(tree),
        )

    def _idle(self, tree: Tree[Token]) -> ast.Idle:
        return ast.Idle(
            after=self.interval(self.the(tree, "interval")),
            by_clock=self.tree(tree, "by_clock") is not None,
            span=self.span(tree),
        )

    def interval(self, tree: Tree[Token]) -> ast.Interval:
        number, unit = tree.children[1], self.token(tree, "NAME")
        text = str(number)
        if isinstance(number, Token) and number.type == "STRING":
            text, _, inner_unit = string_value(text).strip().partition(" ")
            return ast.Interval(
                number=text, unit=str(unit) if unit else inner_unit.strip(), span=self.span(tree)
            )
        return ast.Interval(number=text, unit=str(unit or ""), span=self.span(tree))

    def _options(self, tree: Tree[Token]) -> tuple[ast.Option, ...] | None:
        options = self.tree(tree, "options")
        if options is None:
            return None
        return tuple(self.option(t) for t in self.trees(options, "option"))

    def option(self, tree: Tree[Token]) -> ast.Option:
        key = self.the(tree, "option_key")
        value = self.the(tree, "string", "number", "word")
        return ast.Option(
            key=self._option_key(key),
            value=self._option_value(value),
            key_span=self.span(key),
            value_span=self.span(value),
            span=self.span(tree),
        )

    def _option_key(self, tree: Tree[Token]) -> str:
        token = self.token(tree, "STRING")
        return string_value(str(token)) if token else self._words(tree)

    def _option_value(self, tree: Tree[Token]) -> str | Decimal | bool:
        if tree.data == "string":
            return self.string(tree).value
        if tree.data == "number":
            return self.decimal(tree)
        word = self._words(tree)
        return {"true": True, "false": False}.get(word.lower(), word)

    @staticmethod
    def _words(tree: Tree[Token]) -> str:
        return "".join(str(tree.children[0]).split())

    def drop(self, tree: Tree[Token]) -> ast.Drop:
        return ast.Drop(
            kind=str(self.token(tree, "KIND")).upper(),
            name=self.own_name(tree),
            if_exists=self.tree(tree, "if_exists") is not None,
            span=self.span(tree),
        )

    def insert(self, tree: Tree[Token]) -> ast.Insert:
        columns, late = self.tree(tree, "insert_columns"), self.tree(tree, "late_into")
        return ast.Insert(
            sink=self.own_name(tree),
            columns=self.names(columns) if columns else (),
            late=self.own_name(late) if late else None,
            query=self.query(self.the(tree, "query")),
            span=self.span(tree),
        )

    def explain(self, tree: Tree[Token]) -> ast.Explain:
        mode = self.tree(tree, "explain_mode")
        statement = self.statement(self.the(tree, "query", "insert"))
        assert isinstance(statement, ast.Query | ast.Insert)
        return ast.Explain(
            verbose=mode is not None and self.token(mode, "VERBOSE") is not None,
            analyze=mode is not None and self.token(mode, "ANALYZE") is not None,
            statement=statement,
            span=self.span(tree),
        )

    def set(self, tree: Tree[Token]) -> ast.Set:
        return ast.Set(option=self.option(tree), span=self.span(tree))

    def show(self, tree: Tree[Token]) -> ast.Show:
        return ast.Show(kind=str(self.token(tree, "KINDS")).upper(), span=self.span(tree))

    def describe(self, tree: Tree[Token]) -> ast.Describe:
        return ast.Describe(name=self.own_name(tree), span=self.span(tree))

    # -------------------------------------------------------------- queries

    def query(self, tree: Tree[Token]) -> ast.Query:
        with_clause = self.tree(tree, "with_clause")
        body = self.the(tree, "select", "union_all")
        selects = [body] if body.data == "select" else list(self.trees(body, "select"))
        unions = [] if body.data == "select" else list(self.trees(body, "union_operator"))
        members = tuple(self.select(t) for t in selects)
        order_by: tuple[ast.Scalar, ...] = ()
        limit, limit_span = None, None
        if unions:  # what ends the last SELECT belongs to them all
            *_, last = members
            order_by, limit, limit_span = last.order_by, last.limit, last.limit_span
            bare = replace(last, order_by=(), limit=None, limit_span=None)
            members = (*members[:-1], bare)
        return ast.Query(
            common=tuple(self._cte(t) for t in self.trees(with_clause, "cte"))
            if with_clause
            else (),
            selects=members,
            unions=tuple(
                ast.UnionOperator(
                    drops_duplicates=not str(u.children[0]).upper().endswith("ALL"),
                    span=self.span(u),
                )
                for u in unions
            ),
            order_by=order_by,
            limit=limit,
            limit_span=limit_span,
            span=self.span(tree),
        )

    def _cte(self, tree: Tree[Token]) -> ast.CommonTable:
        return ast.CommonTable(
            name=self.own_name(tree),
            query=self.query(self.the(tree, "query")),
            span=self.span(tree),
        )

    def select(self, tree: Tree[Token]) -> ast.Select:
        hint = self.token(tree, "HINT")
        source, limit = self.tree(tree, "from_clause"), self.tree(tree, "limit")
        within = self.tree(tree, "within")
        head = self.token(tree, "SELECT")
        assert head is not None
        return ast.Select(
            hint=ast.String(value=str(hint)[3:-2], span=self.span(hint)) if hint else None,
            distinct=self.token(tree, "DISTINCT") is not None,
            items=tuple(
                self._select_item(t)
                for t in self.trees(self.the(tree, "select_list"), "select_item")
            ),
            source=self._from(source) if source else None,
            where=self._clause(tree, "where"),
            group_by=self._clauses(tree, "group_by"),
            having=self._clause(tree, "having"),
            order_by=self._clauses(tree, "order_by"),
            limit=self._row_count(limit) if limit else None,
            limit_span=self.span(limit) if limit else None,
            within=self.length(self.the(within, "length")) if within else None,
            head=self.span(head),
            span=self.span(tree),
        )

    def _row_count(self, tree: Tree[Token]) -> int:
        number = self.decimal(tree)
        if number != int(number):
            raise fail(
                codes.SYNTAX,
                "LIMIT takes a whole number",
                self.span(tree),
                helps=["as in LIMIT 10"],
            )
        return int(number)

    def _clauses(self, tree: Tree[Token], rule: str) -> tuple[ast.Scalar, ...]:
        clause = self.tree(tree, rule)
        return tuple(self.scalar(t) for t in self.trees(clause, "expr")) if clause else ()

    def _clause(self, tree: Tree[Token], rule: str) -> ast.Scalar | None:
        return next(iter(self._clauses(tree, rule)), None)

    def _alias(self, tree: Tree[Token]) -> ast.Name | None:
        alias = list(self.trees(tree, "alias", "alias_of_item"))
        if len(alias) > 1:
            raise fail(
                codes.SYNTAX,
                "a second alias",
                self.span(alias[1]),
                helps=["name the item once, before or after its window clause"],
            )
        return self.own_name(alias[0]) if alias else None

    def _select_item(self, tree: Tree[Token]) -> ast.SelectItem:
        window = self.tree(tree, "window")
        return ast.SelectItem(
            expression=self.scalar(self.the(tree, "expr")),
            alias=self._alias(tree),
            window=self.window(window) if window else None,
            span=self.span(tree),
        )

    def _from(self, tree: Tree[Token]) -> ast.From:
        return ast.From(
            first=self._from_item(self.the(tree, "from_item")),
            joins=tuple(self._join(t) for t in self.trees(tree, "join")),
            span=self.span(tree),
        )

    def _join(self, tree: Tree[Token]) -> ast.Join:
        sign, on = tree.children[0], self.tree(tree, "on")
        words = str(sign).upper().split()
        return ast.Join(
            kind="," if words == [","] else " ".join(words[:-1]) or "INNER",
            kind_span=self.span(sign),
            item=self._from_item(self.the(tree, "from_item")),
            on=self.scalar(self.the(on, "expr")) if on else None,
            span=self.span(tree),
        )

    def _from_item(self, tree: Tree[Token]) -> ast.FromItem:
        relation, window = tree.children[0], self.tree(tree, "window")
        assert isinstance(relation, Tree)
        return ast.FromItem(
            relation=self._relation(relation),
            alias=self._alias(tree),
            window=self.window(window) if window else None,
            span=self.span(tree),
        )

    def _relation(self, tree: Tree[Token]) -> ast.Relation:
        span = self.span(tree)
        match str(tree.data):
            case "relation_name":
                return ast.RelationName(name=self.own_name(tree), span=span)
            case "subquery":
                return ast.Subquery(query=self.query(self.the(tree, "query")), span=span)
            case "nested_union":
                inner = next(c for c in tree.children if isinstance(c, Tree))
                return self._relation(inner)
            case "epoch":
                return self._epoch(tree)
            case _:  # union: nested ones are one bag
                members: list[ast.Relation] = []
                for child in tree.children:
                    if isinstance(child, Tree):
                        member = self._relation(child)
                        nested = member.members if isinstance(member, ast.UnionOf) else (member,)
                        members.extend(nested)
                return ast.UnionOf(members=tuple(members), span=span)

    def _epoch(self, tree: Tree[Token]) -> ast.Epoch:
        strings = [self.string(t) for t in self.trees(tree, "string")]
        chunks = self.tree(tree, "number")
        return ast.Epoch(
            function=str(self.token(tree, "EPOCH")),
            stream=self.own_name(tree),
            cut=strings[0],
            block=strings[1] if len(strings) > 1 else None,
            chunks=self.decimal(chunks) if chunks else None,
            chunks_span=self.span(chunks) if chunks else None,
            span=self.span(tree),
        )
