"""Sources and sinks: one pair of functions a connector."""

from __future__ import annotations

from collections.abc import Callable

from ssql.compiler import codes
from ssql.compiler.diagnostics import fail
from ssql.compiler.emit.columns import ddl
from ssql.compiler.emit.python import Call, literal
from ssql.planner.catalog import Column, Connection, OptionValue, Sink, Stream, Table
from ssql.planner.durations import spell
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
    reader = "spark.readStream" if isinstance(entry, Stream) else "spark.read"
    read = _READERS.get(connection.connector)
    if read is None:
        raise fail(
            codes.NOT_COMPILED_YET,
            f"the connector {connection.connector} is not compiled yet",
            entry.span,
            helps=["use file, kafka, socket or rate"],
        )
    calls = read(connection, entry.columns)
    if isinstance(entry, Stream) and (watermark := entry.watermark):
        time = to_sql(column(watermark.column))
        calls.append(Call("where", (literal(f"{time} IS NOT NULL"),)))
        calls.append(Call("withWatermark", (literal(time), literal(spell(watermark.delay_us)))))
    return reader, calls


def _read_file(connection: Connection, columns: tuple[Column, ...]) -> list[Call]:
    return [
        Call("format", (literal(connection.format or ""),)),
        Call("schema", (literal(ddl(columns)),)),
        *_options(connection, "path"),
        Call("load", (_required(connection, "path"),)),
    ]


def _read_kafka(connection: Connection, columns: tuple[Column, ...]) -> list[Call]:
    topic = connection.option("topic")
    subscribe = [Call("option", (literal("subscribe"), value_literal(topic)))] if topic else []
    return [
        Call("format", (literal("kafka"),)),
        *subscribe,
        *_options(connection, "topic", "key"),
        Call("load"),
        *_parsed(connection, columns, "CAST(value AS STRING)"),
    ]


def _read_socket(connection: Connection, columns: tuple[Column, ...]) -> list[Call]:
    return [
        Call("format", (literal("socket"),)),
        *_options(connection),
        Call("load"),
        *_parsed(connection, columns, "value"),
    ]


def _parsed(connection: Connection, columns: tuple[Column, ...], text: str) -> list[Call]:
    parse = {"json": "from_json", "csv": "from_csv"}[connection.format or "json"]
    schema = ddl(columns).replace("\\", "\\\\").replace("'", "\\'")
    return [
        Call("selectExpr", (literal(f"{parse}({text}, '{schema}') AS row"),)),
        Call("select", (literal("row.*"),)),
    ]


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

_CHECKPOINT = "checkpointlocation"


def write_calls(sink: Sink | None, name: str, *, streaming: bool) -> list[Call]:
    """The calls that send a DataFrame to a sink; without one, to the console."""
    connection = sink.connection if sink else Connection(connector="console")
    assert connection is not None, "bind refuses to write to nowhere"
    if not streaming:
        return _write_batch(connection, name)
    calls = [*_WRITERS[connection.connector](connection, name)]
    if connection.connector in ("file", "kafka") and connection.option(_CHECKPOINT) is None:
        calls.append(
            Call("option", (literal("checkpointLocation"), literal(f"checkpoints/{name}")))
        )
    return [_on("writeStream", calls[0]), *calls[1:], Call("start")]


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
    return [Call("format", (literal("kafka"),)), *_options(connection, "key")]


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
    columns.append("to_json(struct(*)) AS value")
    return [Call("selectExpr", tuple(literal(c) for c in columns))]


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
                *_options(connection, "path", "key"),
                Call("save", (_required(connection, "path"),) if connector == "file" else ()),
            ]
