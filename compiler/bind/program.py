"""A whole file: definitions in order, then what is to be computed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import assert_never

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.definitions import define
from ssql.compiler.bind.select import bind_query
from ssql.compiler.bind.types import same_family
from ssql.compiler.diagnostics import Diagnostics, SsqlError, did_you_mean, fail
from ssql.compiler.parser import ParsedFile
from ssql.compiler.source import Span
from ssql.planner.catalog import Catalog, Entry, OptionValue, Sink, kind_name
from ssql.planner.choose import JOIN_ALPHA, MEMORY, bytes_of
from ssql.planner.legality import TIME_PLANS
from ssql.planner.logical import Output, Plan, Program, Project, Query
from ssql.planner.ordered import JOIN_PLANS
from ssql.planner.scalar import Named, Scalar, column

PLANS = (*TIME_PLANS, *JOIN_PLANS)
# The settings of ssql itself; those of Spark begin with `spark.` and are passed on.
SETTINGS = (JOIN_ALPHA, MEMORY)
_HINT = re.compile(r"\s*([^\W\d]\w*)\s*\(\s*([\w-]*)\s*\)\s*,?")


class ProgramBinder:
    """Binds statement by statement, so that a REPL can go on where a file ends."""

    def __init__(
        self, catalog: Catalog, diagnostics: Diagnostics, broken: frozenset[str] = frozenset()
    ) -> None:
        self.context = Context(catalog, diagnostics)
        self.queries: list[Query] = []
        self.explained: list[Query] = []
        self.described: list[Entry] = []
        self.settings: list[tuple[str, OptionValue]] = []
        self._failed = set(broken)  # names whose CREATE was wrong: not to be reported again

    def statement(self, node: ast.Statement) -> None:
        try:
            self._statement(node)
        except SsqlError as error:
            self._report(node, error)
        except RecursionError:
            too_deep = fail(
                codes.TOO_DEEP,
                "this statement is nested too deeply",
                node.span,
                helps=["split it with WITH, or with views"],
            )
            self._report(node, too_deep)

    def _report(self, node: ast.Statement, error: SsqlError) -> None:
        if isinstance(node, ast.Create):
            self._failed.add(node.name.text.casefold())
        if error.diagnostic.code in (codes.UNKNOWN_RELATION, codes.UNKNOWN_SINK):
            missing = error.diagnostic.message.rsplit(" ", 1)[-1].casefold()
            if missing in self._failed:
                return
        self.context.diagnostics.add(error.diagnostic)

    def _statement(self, node: ast.Statement) -> None:
        match node:
            case (
                ast.CreateStream()
                | ast.CreateTable()
                | ast.CreateSink()
                | ast.CreateView()
                | ast.CreateFunction()
            ):
                define(node, self.context)
            case ast.Query() | ast.Insert():
                self.queries.append(self._query(node, len(self.queries) + 1))
            case ast.Explain():
                query = self._query(node.statement, len(self.explained) + 1)
                self.explained.append(replace(query, analyzed=node.analyze))
            case ast.Set():
                self._set(node.option)
            case ast.Drop():
                self._drop(node)
            case ast.Describe():
                self.described.append(self._find(node.name))
            case ast.Show():
                pass
            case _:
                assert_never(node)

    # -------------------------------------------------------------- queries

    def _query(self, node: ast.Query | ast.Insert, number: int) -> Query:
        if isinstance(node, ast.Query):
            query, output = node, Output()
            plan = bind_query(query, self.context)
        else:
            query, sink = node.query, self._sink(node.sink)
            output = Output(sink=sink, late_sink=self._sink(node.late) if node.late else None)
            plan = _fitted(bind_query(query, self.context), sink, node)
            _check_kafka_columns(plan, sink, node)
        return Query(
            number=number,
            plan=plan,
            output=output,
            forced_plan=forced_plan(query),
            span=query.span,
            statement_span=node.span,
        )

    def _sink(self, name: ast.Name) -> Sink:
        catalog = self.context.catalog
        entry = catalog.find(name.text)
        if entry is None:
            sinks = catalog.names(Sink)
            helps = did_you_mean(name.text, sinks, "sinks")
            if not sinks:
                helps = ("create it first, as in CREATE SINK out WITH (connector = 'console')",)
            raise fail(codes.UNKNOWN_SINK, f"unknown sink {name.text}", name.span, helps=helps)
        if not isinstance(entry, Sink):
            raise fail(
                codes.NOT_READABLE,
                f"{entry.name} is a {kind_name(entry)}, and INSERT writes to a sink",
                name.span,
                helps=did_you_mean(name.text, catalog.names(Sink), "sinks"),
            )
        if entry.connection is None:
            raise fail(
                codes.NO_CONNECTOR,
                f"{entry.name} does not say where its data goes",
                name.span,
                helps=["add to its CREATE SINK: WITH (connector = 'console')"],
            )
        return entry

    # -------------------------------------------------------------- the rest

    def _set(self, option: ast.Option) -> None:
        if option.key.startswith("ssql."):
            if option.key not in SETTINGS:
                raise fail(
                    codes.BAD_OPTION,
                    f"unknown setting {option.key}",
                    option.key_span,
                    helps=did_you_mean(option.key, SETTINGS, "settings of ssql"),
                )
        elif not option.key.startswith("spark."):
            raise fail(
                codes.BAD_OPTION,
                f"unknown setting {option.key}",
                option.key_span,
                helps=[
                    "settings begin with spark. or ssql.",
                    f"settings of ssql: {', '.join(SETTINGS)}",
                ],
            )
        if option.key == MEMORY:
            _check_size(option)
        if option.key == JOIN_ALPHA:
            _check_alpha(option)
        self.settings.append((option.key, option.value))

    def _find(self, name: ast.Name) -> Entry:
        entry = self.context.catalog.find(name.text)
        if entry is None:
            known = [e.name for e in self.context.catalog.entries.values()]
            raise fail(
                codes.UNKNOWN_OBJECT,
                f"there is no {name.text}",
                name.span,
                helps=did_you_mean(name.text, known, "streams, tables, views, sinks and functions"),
            )
        return entry

    def _drop(self, node: ast.Drop) -> None:
        entry = self.context.catalog.find(node.name.text)
        if entry is None and node.if_exists:
            return
        entry = self._find(node.name)
        if kind_name(entry) != node.kind.lower():
            raise fail(
                codes.UNKNOWN_OBJECT,
                f"{entry.name} is a {kind_name(entry)}, not a {node.kind.lower()}",
                node.name.span,
                helps=[f"write DROP {kind_name(entry).upper()} {entry.name}"],
            )
        self.context.catalog.remove(node.name.text)

    def program(self) -> Program:
        return Program(
            queries=tuple(self.queries),
            explained=tuple(self.explained),
            described=tuple(self.described),
            functions=tuple(self.context.functions.values()),
            settings=tuple(self.settings),
        )


def _check_size(option: ast.Option) -> None:
    try:
        bytes_of(str(option.value))
    except ValueError:
        raise fail(
            codes.BAD_OPTION,
            f"{option.value} is not a size",
            option.value_span,
            helps=["as in SET ssql.memory = '16g'"],
        ) from None


def _check_alpha(option: ast.Option) -> None:
    try:
        alpha = float(option.value)
    except ValueError:
        alpha = -1.0
    if isinstance(option.value, bool) or not 0 <= alpha < 1:
        raise fail(
            codes.BAD_OPTION,
            f"{option.value} is no share: alpha is from 0 on, and below 1",
            option.value_span,
            helps=["as in SET ssql.join.alpha = 0.3"],
        )


def forced_plan(query: ast.Query) -> str | None:
    """The plan that a hint asks for: `/*+ PLAN(paned) */`."""
    hints = [s.hint for s in query.selects if s.hint]
    if not hints:
        return None
    hint, at = hints[0], 0
    plan = None
    while match := _HINT.match(hint.value, at):
        at = match.end()
        if match.group(1).upper() != "PLAN":
            raise _bad_hint(f"unknown hint {match.group(1)}", hint.span, "the only hint is PLAN(…)")
        plan = match.group(2).lower()
        if plan not in PLANS:
            raise _bad_hint(
                f"unknown plan {plan or '()'}", hint.span, *did_you_mean(plan, PLANS, "plans")
            )
    if hint.value[at:].strip() or plan is None:
        raise _bad_hint("this hint is not well formed", hint.span, "as in /*+ PLAN(paned) */")
    return plan


def _bad_hint(message: str, span: Span, *helps: str) -> SsqlError:
    return fail(codes.BAD_HINT, message, span, helps=helps)


def _fitted(plan: Plan, sink: Sink, node: ast.Insert) -> Plan:
    """The plan with the sink's column names, if its columns fit."""
    fields = plan.schema
    span = node.query.selects[0].head
    wanted = _target_columns(sink, node)
    if not wanted:
        return plan
    has = ", ".join(f.name for f in fields)
    if len(wanted) != len(fields):
        raise fail(
            codes.INSERT_MISMATCH,
            f"the query has {len(fields)} columns, and {sink.name} takes {len(wanted)}",
            span,
            notes=[f"the query has {has}", f"the sink takes {', '.join(n for n, _ in wanted)}"],
            helps=[
                "select as many columns as the sink has (a window adds window_start and window_end)"
            ],
        )
    for field, (name, type) in zip(fields, wanted, strict=True):
        if type is not None and not same_family(field.type, type):
            raise fail(
                codes.INSERT_MISMATCH,
                f"{field.name} is {field.type}, and {sink.name}.{name} is {type}",
                span,
                notes=[f"the query has {has}"],
                helps=[
                    "columns are matched by position: CAST it, or put them into the sink's order"
                ],
            )
    if all(f.name == name for f, (name, _) in zip(fields, wanted, strict=True)):
        return plan
    if isinstance(plan, Project):
        renamed = (replace(i, name=n) for i, (n, _) in zip(plan.items, wanted, strict=True))
        return replace(plan, items=tuple(renamed))
    items = tuple(
        Named(name=name, scalar=Scalar(tree=column(f.name), type=f.type, span=span), span=span)
        for f, (name, _) in zip(fields, wanted, strict=True)
    )
    return Project(input=plan, items=items, span=node.span)


def _check_kafka_columns(plan: Plan, sink: Sink, node: ast.Insert) -> None:
    """The options of a Kafka sink that name columns of the results."""
    connection = sink.connection
    if connection is None or connection.connector != "kafka":
        return
    known = [f.name for f in plan.schema]
    for option in ("key", "headers"):
        names = str(connection.option(option) or "").split(",")
        for name in filter(None, (n.strip() for n in names)):
            if name.casefold() not in {k.casefold() for k in known}:
                raise fail(
                    codes.INSERT_MISMATCH,
                    f"{option} of {sink.name} names {name}, which the query does not have",
                    node.sink.span,
                    helps=did_you_mean(name, known, "columns of the query"),
                )


def _target_columns(sink: Sink, node: ast.Insert) -> list[tuple[str, str | None]]:
    declared: dict[str, tuple[str, str | None]] = {
        c.name.casefold(): (c.name, c.type) for c in sink.columns
    }
    if not node.columns:
        return list(declared.values())
    wanted: dict[str, tuple[str, str | None]] = {}
    for name in node.columns:
        key = name.text.casefold()
        if key in wanted:
            raise fail(
                codes.DUPLICATE_COLUMN,
                f"{name.text} is listed twice",
                name.span,
                helps=["list each column once"],
            )
        if declared and key not in declared:
            raise fail(
                codes.INSERT_MISMATCH,
                f"{sink.name} has no column {name.text}",
                name.span,
                helps=did_you_mean(
                    name.text, [n for n, _ in declared.values()], f"columns of {sink.name}"
                ),
            )
        wanted[key] = declared.get(key, (name.text, None))
    return list(wanted.values())


def bind_file(file: ParsedFile, catalog: Catalog, diagnostics: Diagnostics) -> Program:
    binder = ProgramBinder(catalog, diagnostics, file.broken)
    for parsed in file.statements:
        binder.statement(parsed.node)
    return binder.program()
