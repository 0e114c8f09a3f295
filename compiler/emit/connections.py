"""Sources and sinks: one pair of functions a connector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from ssql.compiler.emit.columns import ddl
from ssql.compiler.emit.python import Call, literal
from ssql.planner.catalog import Column, Connection, OptionValue, Sink, Stream, Table, Watermark
from ssql.planner.datagen import generator
from ssql.planner.durations import spell
from ssql.planner.progress import EARLIEST, LATEST
from ssql.planner.scalar import column, to_sql

# Options that say something to ssql and nothing to Spark.
_OWN_PREFIX = "stats."


def value_literal(value: OptionValue) -> str:
    if isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        if value.startswith("env:"):
            return f"os.environ[{literal(value[4:])}]"
        return literal(value)
    return str(int(value)) if value == value.to_integral_value() else repr(float(value))


def _options(connection: Connection, *without: str) -> list[Call]:
    return [
        Call("option", (literal(key), value_literal(value)))
        for key, value in connection.options
        if key.casefold() not in without and not key.casefold().startswith(_OWN_PREFIX)
    ]


def _required(connection: Connection, key: str) -> str:
    value = connection.option(key)
    assert value is not None, f"{key} was checked when the connection was bound"
    return value_literal(value)


# ------------------------------------------------------------------ sources


def read_calls(entry: Stream | Table) -> tuple[str, list[Call]]:
    """How an entry is read: the reader, and the calls on it."""
    connection = entry.connection
    assert connection is not None, "bind refuses to read from nowhere"
    if connection.connector == "datagen":
        return _read_datagen(entry, connection)
    reader = "spark.readStream" if isinstance(entry, Stream) else "spark.read"
    return reader, _READERS[connection.connector](connection, entry.columns)


def accept_steps(stream: Stream, *, is_joined: bool) -> list[tuple[str, Call]]:
    """Which of a stream's rows count, and how it progresses: clauses and calls."""
    connection, watermark = stream.connection, stream.watermark
    assert connection is not None
    if watermark is None:
        if connection.format not in ("csv", "json"):
            return []
        return [("lines that cannot be read are left out", Call("dropna", (literal("all"),)))]
    name = watermark.column
    delay = f" - INTERVAL {spell(watermark.delay_us)}" if watermark.delay_us else ""
    note = ", and a join of Spark's drops a row at the watermark" if is_joined else ""
    return [
        (
            "rows without a time, or with an absurd one, are left out",
            Call("where", (literal(plausible(name)),)),
        ),
        (
            f"WATERMARK FOR {name} AS {name}{delay}{note}",
            Call(
                "withWatermark",
                (
                    literal(to_sql(column(name))),
                    literal(watermark_delay(watermark, is_joined=is_joined)),
                ),
            ),
        ),
    ]


def plausible(name: str) -> str:
    return f"{to_sql(column(name))} BETWEEN '{EARLIEST}' AND '{LATEST}'"


def watermark_delay(watermark: Watermark, *, is_joined: bool) -> str:
    """Spark counts milliseconds, and a row within the declared disorder is never late. Spark's join
    has its own idea of that: a row is late at the watermark already."""
    milliseconds = -(-watermark.delay_us // 1_000) + is_joined
    return spell(milliseconds * 1_000)


def _read_file(connection: Connection, columns: tuple[Column, ...]) -> list[Call]:
    # Else Spark goes by position, whatever the header says.
    checked = connection.format == "csv" and connection.option("header") in (True, "true")
    checked &= connection.option("enforceschema") is None
    return [
        Call("format", (literal(connection.format or ""),)),
        Call("schema", (literal(ddl(columns)),)),
        *_options(connection, "path"),
        *([Call("option", (literal("enforceSchema"), "False"))] if checked else []),
        Call("load", (_required(connection, "path"),)),
    ]


# Columns of these names are the record's own, not fields of its value.
_KAFKA_COLUMNS = ("key", "topic", "partition", "offset", "timestamp", "headers")


def _read_kafka(connection: Connection, columns: tuple[Column, ...]) -> list[Call]:
    topic = connection.option("topic")
    options = [Call("option", (literal("subscribe"), value_literal(topic)))] if topic else []
    if connection.option("startingoffsets") is None:  # Spark would skip what is there already
        options.append(Call("option", (literal("startingOffsets"), literal("earliest"))))
    own = {c.name: c.name.lower().removeprefix("kafka_") for c in columns if _is_own(c)}
    if "headers" in own.values() and connection.option("includeheaders") is None:
        options.append(Call("option", (literal("includeHeaders"), "True")))
    fields = tuple(c for c in columns if c.name not in own)
    return [
        Call("format", (literal("kafka"),)),
        *options,
        *_options(connection, "topic", "key"),
        Call("load"),
        *_parsed(connection, fields, "CAST(value AS STRING)", columns, own),
    ]


def _is_own(column: Column) -> bool:
    name = column.name.lower()
    return name.startswith("kafka_") and name.removeprefix("kafka_") in _KAFKA_COLUMNS


def _read_socket(connection: Connection, columns: tuple[Column, ...]) -> list[Call]:
    return [
        Call("format", (literal("socket"),)),
        *_options(connection),
        Call("load"),
        *_parsed(connection, columns, "value"),
    ]


def _parsed(
    connection: Connection,
    fields: tuple[Column, ...],
    text: str,
    columns: tuple[Column, ...] = (),
    own: Mapping[str, str] = MappingProxyType({}),
) -> list[Call]:
    """The fields of a JSON or CSV text; `own` columns stand beside it, by other names."""
    if not fields:
        return [Call("selectExpr", tuple(literal(_own_sql(c, own)) for c in columns))]
    parse = {"json": "from_json", "csv": "from_csv"}[connection.format or "json"]
    schema = ddl(fields).replace("\\", "\\\\").replace("'", "\\'")
    row = f"{parse}({text}, '{schema}') AS row"
    if not own:
        return [Call("selectExpr", (literal(row),)), Call("select", (literal("row.*"),))]
    shown = [
        _own_sql(c, own) if c.name in own else f"row.{to_sql(column(c.name))}" for c in columns
    ]
    return [
        Call("selectExpr", (literal("*"), literal(row))),
        Call("selectExpr", tuple(literal(s) for s in shown)),
    ]


def _own_sql(wanted: Column, own: Mapping[str, str]) -> str:
    return f"CAST({own[wanted.name]} AS {wanted.type}) AS {to_sql(column(wanted.name))}"


def _read_datagen(entry: Stream | Table, connection: Connection) -> tuple[str, list[Call]]:
    made = generator(connection)
    columns = Call("selectExpr", tuple(literal(made.column_sql(c)) for c in entry.columns))
    if isinstance(entry, Table):
        return "spark", [Call("range", (str(made.rows or 1_000),)), _to_df("value"), columns]
    if made.is_endless:
        rate = Call("option", (literal("rowsPerSecond"), str(max(1, round(made.rate)))))
        return "spark.readStream", [Call("format", (literal("rate"),)), rate, Call("load"), columns]
    batch = Call("option", (literal("rowsPerBatch"), str(made.batch)))
    return "spark.readStream", [
        Call("format", (literal("rate-micro-batch"),)),
        batch,
        Call("load"),
        Call("where", (literal(f"value < {made.rows}"),)),
        columns,
    ]


def _to_df(name: str) -> Call:
    return Call("toDF", (literal(name),))


def _read_rate(connection: Connection, columns: tuple[Column, ...]) -> list[Call]:
    names = tuple(literal(f"{c.name.lower()} AS {to_sql(column(c.name))}") for c in columns)
    return [
        Call("format", (literal("rate"),)),
        *_options(connection),
        Call("load"),
        Call("selectExpr", names),
    ]


_READERS: dict[str, Callable[[Connection, tuple[Column, ...]], list[Call]]] = {
    "file": _read_file,
    "kafka": _read_kafka,
    "socket": _read_socket,
    "rate": _read_rate,
}


# ------------------------------------------------------------------ sinks


def write_calls(
    sink: Sink | None, name: str, *, streaming: bool, start: bool = False
) -> list[Call]:
    """The calls that send a DataFrame to a sink; without one, to the console."""
    connection = sink.connection if sink else Connection(connector="console")
    assert connection is not None, "bind refuses to write to nowhere"
    prepared = kafka_value(sink)
    if not streaming:
        return [*prepared, *_write_batch(connection, name)]
    first, *calls = _WRITERS[connection.connector](connection, name)
    return [*prepared, _on("writeStream", first), *calls, *([Call("start")] if start else [])]


def _on(writer: str, call: Call) -> Call:
    """The first call, on the DataFrame's writer."""
    return Call(f"{writer}.{call.name}", call.arguments)


def _write_console(connection: Connection, name: str) -> list[Call]:
    defaults = [Call("option", (literal("truncate"), "False"))]
    given = _options(connection)
    return [Call("format", (literal("console"),)), *(given or defaults)]


def _write_file(connection: Connection, name: str) -> list[Call]:
    return [
        Call("format", (literal(connection.format or ""),)),
        *_options(connection, "path"),
        Call("option", (literal("path"), _required(connection, "path"))),
    ]


def _write_kafka(connection: Connection, name: str) -> list[Call]:
    return [Call("format", (literal("kafka"),)), *_options(connection, "key", "headers")]


def _write_memory(connection: Connection, name: str) -> list[Call]:
    return [
        Call("format", (literal("memory"),)),
        Call("queryName", (literal(name),)),
        *_options(connection),
    ]


def _write_noop(connection: Connection, name: str) -> list[Call]:
    return [Call("format", (literal("noop"),)), *_options(connection)]


_WRITERS: dict[str, Callable[[Connection, str], list[Call]]] = {
    "console": _write_console,
    "file": _write_file,
    "kafka": _write_kafka,
    "memory": _write_memory,
    "noop": _write_noop,
}


def kafka_value(sink: Sink | None) -> list[Call]:
    """Kafka takes a key and a value: the row as JSON, under the column that `key` names."""
    connection = sink.connection if sink else None
    if connection is None or connection.connector != "kafka":
        return []
    key = connection.option("key")
    columns = [f"CAST({to_sql(column(str(key)))} AS STRING) AS key"] if key else []
    if headers := connection.option("headers"):
        names = [n.strip() for n in str(headers).split(",")]
        pairs = (f"named_struct('key', {_sql_string(n)}, 'value', {_as_bytes(n)})" for n in names)
        columns.append(f"array({', '.join(pairs)}) AS headers")
    columns.append("to_json(struct(*)) AS value")
    return [Call("selectExpr", tuple(literal(c) for c in columns))]


def _sql_string(text: str) -> str:
    return to_sql(exp.Literal.string(text))


def _as_bytes(name: str) -> str:
    return f"CAST(CAST({to_sql(column(name))} AS STRING) AS BINARY)"


def _write_batch(connection: Connection, name: str) -> list[Call]:
    match connection.connector:
        case "console":
            return [Call("show", ("truncate=False",))]
        case "memory":
            return [Call("createOrReplaceTempView", (literal(name),))]
        case connector:
            format = connection.format if connector == "file" else connector
            return [
                Call("write.format", (literal(format or ""),)),
                Call("mode", (literal("append"),)),
                *_options(connection, "path", "key", "headers"),
                Call("save", (_required(connection, "path"),) if connector == "file" else ()),
            ]
