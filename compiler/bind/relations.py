"""FROM items: streams, tables, views, sub-queries, unions and epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.epochs import read_chunks, read_cut
from ssql.compiler.bind.types import same_family
from ssql.compiler.diagnostics import SsqlError, did_you_mean, fail
from ssql.planner.catalog import Connection, Function, Sink, Stream, Table, View, kind_name
from ssql.planner.logical import Alias, Epochs, Plan, StreamScan, TableScan, Union

BindQuery = Callable[[ast.Query, Context], Plan]


class RelationBinder:
    def __init__(self, context: Context, bind_query: BindQuery) -> None:
        self.context = context
        self.bind_query = bind_query

    def item(self, item: ast.FromItem) -> Plan:
        return self._relation(item.relation, item.alias.text if item.alias else None)

    def _relation(self, relation: ast.Relation, alias: str | None) -> Plan:
        match relation:
            case ast.RelationName():
                return self._named(relation, alias)
            case ast.Subquery():
                return self._under(self.bind_query(relation.query, self.context), alias, relation)
            case ast.UnionOf():
                return self._under(self._union(relation), alias, relation)
            case ast.Epoch():
                return self._epochs(relation, alias)
            case _:
                assert_never(relation)

    @staticmethod
    def _under(plan: Plan, alias: str | None, relation: ast.Relation) -> Plan:
        return Alias(input=plan, name=alias, span=relation.span) if alias else plan

    def _named(self, relation: ast.RelationName, alias: str | None) -> Plan:
        name, span = relation.name.text, relation.span
        if common := self.context.common.get(name.casefold()):
            return Alias(input=common, name=alias or name, span=span)
        match self.context.catalog.find(name):
            case Stream() as stream:
                self._need_connection(stream.connection, stream.name, "STREAM", relation)
                return StreamScan(stream=stream, alias=alias or stream.name, span=span)
            case Table() as table:
                self._need_connection(table.connection, table.name, "TABLE", relation)
                return TableScan(table=table, alias=alias or table.name, span=span)
            case View() as view:
                return Alias(input=view.plan, name=alias or view.name, span=span)
            case Sink() | Function() as entry:
                raise fail(
                    codes.NOT_READABLE,
                    f"{entry.name} is a {kind_name(entry)}, and cannot be read",
                    span,
                    helps=[f"streams, tables and views: {', '.join(self._readable()) or 'none'}"],
                )
            case None:
                raise self.unknown(relation.name)

    def _readable(self) -> list[str]:
        return [*self.context.catalog.names(Stream, Table, View), *self.context.common]

    def unknown(self, name: ast.Name) -> SsqlError:
        readable = self._readable()
        helps = did_you_mean(name.text, readable, "streams, tables and views")
        if not readable:
            helps = ("create it first, with CREATE STREAM or CREATE TABLE",)
        return fail(
            codes.UNKNOWN_RELATION,
            f"unknown stream, table or view {name.text}",
            name.span,
            helps=helps,
        )

    @staticmethod
    def _need_connection(
        connection: Connection | None, name: str, kind: str, relation: ast.RelationName | ast.Epoch
    ) -> None:
        if connection is None:
            raise fail(
                codes.NO_CONNECTOR,
                f"{name} does not say where its data is",
                relation.span,
                helps=[
                    f"add to its CREATE {kind}:"
                    " WITH (connector = 'file', format = 'json', path = '…')"
                ],
            )

    def _union(self, union: ast.UnionOf) -> Union:
        members: list[Plan] = []
        for relation in union.members:
            plan = self._relation(relation, None)
            if isinstance(plan, Epochs):
                raise fail(
                    codes.MIXED_EPOCHS,
                    "a UNION of chunks has no epochs of its own",
                    relation.span,
                    helps=["unite the streams in a view, and cut that into chunks"],
                )
            if members:
                check_union_member(members[0], plan, relation)
            members.append(plan)
        return Union(members=tuple(members), span=union.span)

    def _epochs(self, epoch: ast.Epoch, alias: str | None) -> Epochs:
        entry = self.context.catalog.find(epoch.stream.text)
        if entry is None:
            raise self.unknown(epoch.stream)
        if not isinstance(entry, Stream):
            raise fail(
                codes.BAD_EPOCH,
                f"{entry.name} is a {kind_name(entry)}; only streams are cut into chunks",
                epoch.stream.span,
                helps=[f"streams: {', '.join(self.context.catalog.names(Stream)) or 'none'}"],
            )
        self._need_connection(entry.connection, entry.name, "STREAM", epoch)
        chunks, blocking = read_chunks(epoch)
        cut = read_cut(epoch.cut, entry)
        scan = StreamScan(stream=entry, alias=alias or entry.name, span=epoch.stream.span)
        return Epochs(input=scan, cut=cut, chunks=chunks, blocking=blocking, span=epoch.span)


def check_union_member(first: Plan, other: Plan, node: ast.Node) -> None:
    mine = [f for f in first.schema if not f.hidden]
    theirs = [f for f in other.schema if not f.hidden]
    if len(mine) != len(theirs):
        raise fail(
            codes.BAD_UNION,
            f"this has {len(theirs)} columns, and the first member has {len(mine)}",
            node.span,
            helps=["select the same columns from each, in a sub-query or view"],
        )
    for a, b in zip(mine, theirs, strict=True):
        if not same_family(a.type, b.type):
            raise fail(
                codes.BAD_UNION,
                f"{b.name} is {b.type}, and {a.name} of the first member is {a.type}",
                node.span,
                helps=["columns are matched by position; CAST one of them"],
            )
