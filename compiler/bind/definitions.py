"""CREATE statements to catalog entries."""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import assert_never

from ssql.compiler import ast, codes
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.durations import duration_us
from ssql.compiler.bind.select import bind_query
from ssql.compiler.diagnostics import did_you_mean, fail
from ssql.compiler.dialect import read_type
from ssql.compiler.spark_functions import kinds
from ssql.planner import datagen, statistics
from ssql.planner.catalog import (
    Column,
    Connection,
    Entry,
    Function,
    Idle,
    Sink,
    Stream,
    Table,
    View,
    Watermark,
    kind_name,
)
from ssql.planner.connectors import ALTERNATIVES, CONNECTORS, Connector

_TARGET = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)", re.ASCII)
_SECRET = re.compile(r"env:(.*)", re.DOTALL)
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def define(node: ast.Definition, context: Context) -> Entry | None:
    """Add what a CREATE describes to the catalog; None if IF NOT EXISTS found it there."""
    existing = context.catalog.find(node.name.text)
    if existing is not None and not node.replace:
        if node.if_not_exists:
            return None
        raise fail(
            codes.ALREADY_EXISTS,
            f"there is a {kind_name(existing)} {existing.name} already",
            node.name.span,
            helps=["choose another name, or write CREATE OR REPLACE"],
        )
    entry = _entry(node, context)
    context.catalog.add(entry)
    return entry


def _entry(node: ast.Definition, context: Context) -> Entry:
    name, span = node.name.text, node.name.span
    match node:
        case ast.CreateStream():
            columns = _columns(node.columns, f"the stream {name}", node)
            stream = Stream(
                name=name,
                columns=columns,
                watermark=_watermark(node, columns),
                sequence=_sequence(node, columns),
                connection=_connection(node, "stream"),
                span=span,
            )
            _check_fixed_columns(node, stream)
            _check_statistics(node, stream)
            _check_datagen(node, stream)
            return stream
        case ast.CreateTable():
            columns = _columns(node.columns, f"the table {name}", node)
            table = Table(
                name=name, columns=columns, connection=_connection(node, "table"), span=span
            )
            _check_datagen(node, table)
            return table
        case ast.CreateSink():
            columns = _columns(node.columns, f"the sink {name}", node)
            return Sink(name=name, columns=columns, connection=_connection(node, "sink"), span=span)
        case ast.CreateView():
            return View(name=name, plan=bind_query(node.query, context), span=span)
        case ast.CreateFunction():
            return _function(node)
        case _:
            assert_never(node)


def _columns(columns: tuple[ast.Column, ...], where: str, node: ast.Create) -> tuple[Column, ...]:
    known: dict[str, Column] = {}
    for column in columns:
        name = column.name.text
        if name.casefold() in known:
            raise fail(
                codes.DUPLICATE_COLUMN,
                f"{where} has two columns {name}",
                column.name.span,
                helps=["rename one of them"],
            )
        known[name.casefold()] = Column(
            name=name,
            type=read_type(column.type.text, column.type.span),
            nullable=column.nullable,
            comment=column.comment,
        )
    if not known and not isinstance(node, ast.CreateSink | ast.CreateFunction):
        raise fail(
            codes.SYNTAX,
            f"{where} has no columns",
            node.name.span,
            helps=["list them, as in (srcIP STRING, ts TIMESTAMP)"],
        )
    return tuple(known.values())


def _find(columns: tuple[Column, ...], name: ast.Name, what: str) -> Column:
    for column in columns:
        if column.name.casefold() == name.text.casefold():
            return column
    raise fail(
        codes.BAD_WATERMARK if what == "the watermark" else codes.UNKNOWN_COLUMN,
        f"{what} is on {name.text}, which is not a column",
        name.span,
        helps=did_you_mean(name.text, [c.name for c in columns], "columns"),
    )


def _watermark(node: ast.CreateStream, columns: tuple[Column, ...]) -> Watermark | None:
    if not node.watermarks:
        return None
    first, *others = node.watermarks
    if others:
        raise fail(
            codes.BAD_WATERMARK,
            "a stream has one watermark",
            others[0].span,
            helps=["keep one of them"],
        )
    column = _find(columns, first.column, "the watermark")
    if column.type not in ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"):
        times = [c.name for c in columns if c.type.startswith("TIMESTAMP")]
        raise fail(
            codes.BAD_WATERMARK,
            f"a watermark is on a TIMESTAMP, and {column.name} is {column.type}",
            first.column.span,
            helps=[
                f"TIMESTAMP columns: {', '.join(times)}" if times else "declare it as TIMESTAMP"
            ],
        )
    if first.base.text.casefold() != column.name.casefold():
        raise fail(
            codes.BAD_WATERMARK,
            f"the watermark for {column.name} must be computed from it",
            first.base.span,
            helps=[f"write AS {column.name} - INTERVAL 5 SECONDS"],
        )
    idle = first.idle
    policy = Idle.HOLD if idle is None else Idle.CLOCK if idle.by_clock else Idle.FOLLOW
    return Watermark(
        column=column.name,
        delay_us=duration_us(first.delay, "the disorder") if first.delay else 0,
        idle=policy,
        idle_us=duration_us(idle.after, "the idle time") if idle else None,
    )


def _sequence(node: ast.CreateStream, columns: tuple[Column, ...]) -> str | None:
    if len(node.sequences) > 1:
        raise fail(
            codes.DUPLICATE_COLUMN,
            "a stream has one SEQUENCE BY",
            node.sequences[1].span,
            helps=["keep one of them"],
        )
    return _find(columns, node.sequences[0], "SEQUENCE BY").name if node.sequences else None


# ------------------------------------------------------------------ WITH (…)


def _connection(
    node: ast.CreateStream | ast.CreateTable | ast.CreateSink, kind: str
) -> Connection | None:
    if node.options is None:
        return None
    options: dict[str, ast.Option] = {}
    for option in node.options:
        if option.key.casefold() in options:
            raise fail(
                codes.BAD_OPTION,
                f"the option {option.key} is given twice",
                option.key_span,
                helps=["keep one of them"],
            )
        _check_secret(option)
        options[option.key.casefold()] = option
    connector = _connector(node, kind, options)
    format = _format(node, connector, options)
    for key in connector.required:
        if not any(k in options for k in ALTERNATIVES.get(key, (key,))):
            raise fail(
                codes.MISSING_OPTION,
                f"the connector {connector.name} needs {key}",
                node.name.span,
                helps=[f"add to WITH: {_quoted(key)} = '…'"],
            )
    rest = tuple((o.key, o.value) for k, o in options.items() if k not in ("connector", "format"))
    return Connection(connector=connector.name, format=format, options=rest)


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"\w+(\.\w+)*", key) else f"'{key}'"


def _check_secret(option: ast.Option) -> None:
    secret = _SECRET.match(option.value) if isinstance(option.value, str) else None
    if secret and not _ENVIRONMENT_NAME.match(secret.group(1)):
        raise fail(
            codes.BAD_OPTION,
            "env: takes the name of an environment variable",
            option.value_span,
            helps=["as in 'env:KAFKA_PASSWORD'"],
        )


def _connector(
    node: ast.CreateStream | ast.CreateTable | ast.CreateSink,
    kind: str,
    options: dict[str, ast.Option],
) -> Connector:
    fit = {"stream": "reads_stream", "table": "reads_table", "sink": "writes"}[kind]
    names = [c.name for c in CONNECTORS.values() if getattr(c, fit)]
    option = options.get("connector")
    if option is None:
        raise fail(
            codes.NO_CONNECTOR,
            f"the {kind} {node.name.text} has no connector",
            node.name.span,
            helps=[
                f"add to WITH: connector = '{names[0]}'",
                f"connectors for a {kind}: {', '.join(names)}",
            ],
        )
    connector = CONNECTORS.get(str(option.value).lower())
    if connector is None or connector.name not in names:
        message = (
            f"unknown connector {option.value}"
            if connector is None
            else f"{connector.name} is not a connector for a {kind}"
        )
        raise fail(
            codes.UNKNOWN_CONNECTOR,
            message,
            option.value_span,
            helps=did_you_mean(str(option.value), names, f"connectors for a {kind}"),
        )
    return connector


def _format(
    node: ast.CreateStream | ast.CreateTable | ast.CreateSink,
    connector: Connector,
    options: dict[str, ast.Option],
) -> str | None:
    option = options.get("format")
    if not connector.formats:
        if option is not None:
            raise fail(
                codes.BAD_OPTION,
                f"the connector {connector.name} has no format",
                option.span,
                helps=["drop it"],
            )
        return None
    if option is None:
        if connector.default_format:
            return connector.default_format
        raise fail(
            codes.MISSING_OPTION,
            f"the connector {connector.name} needs a format",
            node.name.span,
            helps=[
                f"add to WITH: format = '{connector.formats[0]}'",
                f"formats: {', '.join(connector.formats)}",
            ],
        )
    format = str(option.value).lower()
    if format not in connector.formats:
        raise fail(
            codes.BAD_OPTION,
            f"unknown format {option.value}",
            option.value_span,
            helps=did_you_mean(format, connector.formats, f"formats of {connector.name}"),
        )
    return format


def _check_fixed_columns(node: ast.CreateStream, stream: Stream) -> None:
    fixed = CONNECTORS[stream.connection.connector].columns if stream.connection else ()
    if not fixed:
        return
    has = dict(fixed)
    for written, column in zip(node.columns, stream.columns, strict=True):
        if has.get(column.name.lower()) != column.type:
            shown = ", ".join(f"{n} {t}" for n, t in fixed)
            raise fail(
                codes.NOT_A_SOURCE_COLUMN,
                f"the connector has no column {column.name} {column.type}",
                written.span,
                helps=[f"it has {shown}"],
            )


def _check_statistics(node: ast.CreateStream, stream: Stream) -> None:
    for option in node.options or ():
        if not option.key.casefold().startswith(statistics.PREFIX):
            continue
        problem = statistics.problem_with(option.key, option.value, stream.columns)
        if problem is not None:
            raise fail(
                codes.BAD_OPTION,
                problem,
                option.key_span if problem.startswith("there is no") else option.value_span,
                helps=did_you_mean(option.key, statistics.names(), "statistics"),
            )


def _check_datagen(node: ast.CreateStream | ast.CreateTable, entry: Stream | Table) -> None:
    if entry.connection is None or entry.connection.connector != "datagen":
        return
    options = {o.key.casefold(): o for o in node.options or ()}
    for key, option in options.items():
        if key not in datagen.OPTIONS and key != "connector" and not key.startswith("stats."):
            raise fail(
                codes.BAD_OPTION,
                f"datagen has no option {option.key}",
                option.key_span,
                helps=did_you_mean(option.key, list(datagen.OPTIONS), "options of datagen"),
            )
    try:
        datagen.generator(entry.connection)
    except datagen.BadOption as error:
        raise fail(
            codes.BAD_OPTION,
            str(error),
            options[error.key].value_span,
            helps=["as in WITH (connector = 'datagen', rows = 10000, rate = 100, keys = 20)"],
        ) from None


def _function(node: ast.CreateFunction) -> Function:
    name = node.name.text
    if kinds().get(name.lower()):
        raise fail(
            codes.ALREADY_EXISTS,
            f"{name} is a function of Spark's",
            node.name.span,
            helps=["choose another name"],
        )
    if node.language.text.upper() != "PYTHON":
        raise fail(
            codes.BAD_FUNCTION,
            f"unknown language {node.language.text}",
            node.language.span,
            helps=["write LANGUAGE PYTHON"],
        )
    target = _TARGET.fullmatch(node.target.value)
    if target is None or any(map(iskeyword, re.split("[.:]", node.target.value))):
        raise fail(
            codes.BAD_FUNCTION,
            f"{node.target.value!r} does not name a function",
            node.target.span,
            helps=["as in 'mymodule:similar', or 'package.module:similar'"],
        )
    return Function(
        name=name,
        parameters=_columns(node.parameters, f"the function {name}", node),
        returns=read_type(node.returns.text, node.returns.span),
        module=target.group(1),
        attribute=target.group(2),
        span=node.name.span,
    )
