"""The connectors: where streams, tables and sinks may be, and what each needs to know."""

from __future__ import annotations

from dataclasses import dataclass

FILE_FORMATS = ("csv", "json", "orc", "parquet")


@dataclass(frozen=True, slots=True)
class Connector:
    name: str
    reads_stream: bool = False
    reads_table: bool = False
    writes: bool = False
    formats: tuple[str, ...] = ()  # empty: the connector has no format
    default_format: str | None = None
    required: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()  # fixed columns, where it has them


CONNECTORS: dict[str, Connector] = {
    c.name: c
    for c in (
        Connector(
            "file",
            reads_stream=True,
            reads_table=True,
            writes=True,
            formats=FILE_FORMATS,
            required=("path",),
        ),
        Connector(
            "kafka",
            reads_stream=True,
            writes=True,
            formats=("json",),
            default_format="json",
            required=("kafka.bootstrap.servers", "topic"),
        ),
        Connector(
            "socket",
            reads_stream=True,
            formats=("json", "csv"),
            default_format="json",
            required=("host", "port"),
        ),
        Connector(
            "rate",
            reads_stream=True,
            columns=(("timestamp", "TIMESTAMP"), ("value", "BIGINT")),
        ),
        Connector("datagen", reads_stream=True, reads_table=True),
        Connector("console", writes=True),
        Connector("memory", writes=True),
        Connector("noop", writes=True),
    )
}

# Other spellings of an option, as Spark has them.
ALTERNATIVES = {"topic": ("topic", "subscribe", "subscribepattern", "assign")}
