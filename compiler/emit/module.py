"""A whole program to the text of one Python module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from ssql import __version__
from ssql.compiler.emit.connections import kafka_value, read_calls, value_literal, write_calls
from ssql.compiler.emit.python import Call, Names, chain, comment, literal
from ssql.compiler.emit.queries import Frames, QueryEmitter
from ssql.compiler.source import Source
from ssql.planner.catalog import Function, Stream, Table
from ssql.planner.choose import Choice
from ssql.planner.logical import OneRow, Program, StreamScan, TableScan, walk

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^'\n]*'|#[^\n]*")


@dataclass(frozen=True, slots=True)
class _QueryFunction:
    name: str
    choice: Choice
    frames: tuple[str, ...]  # what it reads, by Python name
    body: tuple[str, ...]
    needs_session: bool


def emit(source: Source, program: Program, choices: tuple[Choice, ...]) -> str:
    names = Names()
    udfs = {f: names.make(f"udf_{f.name}") for f in program.functions}
    entries = _entries(choices)
    frames = {e: names.make(e.name) for e in entries}
    readers = {e: names.make(f"read_{frames[e]}") for e in entries}
    queries = [_query(source, c, frames, names) for c in choices]
    blocks = [
        *(_reader(e, readers[e]) for e in entries),
        *(_query_function(q) for q in queries),
        _main(source, program, {readers[e]: frames[e] for e in entries}, queries, udfs),
    ]
    text = "\n\n\n".join("\n".join(b) for b in blocks)
    head = "\n".join([*_header(source, queries), "", *_imports(text, udfs)])
    return f'{head}\n\n\n{text}\n\n\nif __name__ == "__main__":\n    main()\n'


def _entries(choices: tuple[Choice, ...]) -> list[Stream | Table]:
    """The streams and tables that are read, in the order of the source."""
    found = {e for choice in choices for e in _read_by(choice)}
    return sorted(found, key=lambda e: e.span)


def _read_by(choice: Choice) -> Iterator[Stream | Table]:
    for node in walk(choice.query.plan):
        if isinstance(node, StreamScan):
            yield node.stream
        elif isinstance(node, TableScan):
            yield node.table


def _header(source: Source, queries: list[_QueryFunction]) -> Iterator[str]:
    yield from comment(f"Compiled by ssql {__version__} from {PurePath(source.name).name}.")
    yield "#"
    for query in queries:
        yield from comment(
            f"{query.name}: plan {query.choice.plan}, because {query.choice.reason}."
        )


def _imports(text: str, udfs: dict[Function, str]) -> Iterator[str]:
    code = _STRING.sub(
        '""', text
    )  # what stands inside of literals and comments is no use of a name
    if "os.environ[" in code:
        yield "import os"
        yield ""
    for function in sorted(udfs, key=lambda f: (f.module, f.attribute)):
        yield f"from {function.module} import {function.attribute} as {udfs[function]}"
    yield "from pyspark.sql import DataFrame, SparkSession"
    if re.search(r"\bF\.", code):
        yield "from pyspark.sql import functions as F"


def _reader(entry: Stream | Table, name: str) -> list[str]:
    kind = "STREAM" if isinstance(entry, Stream) else "TABLE"
    reader, calls = read_calls(entry)
    return [
        f"def {name}(spark: SparkSession) -> DataFrame:",
        *comment(f"CREATE {kind} {entry.name}", "    "),
        *chain("return ", reader, calls),
    ]


def _query(source: Source, choice: Choice, frames: Frames, names: Names) -> _QueryFunction:
    plan, sink = choice.query.plan, choice.query.output.sink
    read = set(_read_by(choice))
    used = {entry: frame for entry, frame in frames.items() if entry in read}
    return _QueryFunction(
        name=names.make(sink.name if sink else f"query_{choice.query.number}"),
        choice=choice,
        frames=tuple(used.values()),
        body=tuple(QueryEmitter(source, used).body(plan)),
        needs_session=any(isinstance(n, OneRow) for n in walk(plan)),
    )


def _arguments(query: _QueryFunction) -> list[str]:
    return [*(["spark"] if query.needs_session else []), *query.frames]


def _query_function(query: _QueryFunction) -> list[str]:
    parameters = [
        f"{a}: {'SparkSession' if a == 'spark' else 'DataFrame'}" for a in _arguments(query)
    ]
    signature = f"def {query.name}({', '.join(parameters)}) -> DataFrame:"
    if len(signature) > 88:
        signature = "\n".join(
            [f"def {query.name}(", *(f"    {p}," for p in parameters), ") -> DataFrame:"]
        )
    return [signature, *query.body]


def _main(
    source: Source,
    program: Program,
    frames: dict[str, str],  # by the name of the function that reads them
    queries: list[_QueryFunction],
    udfs: dict[Function, str],
) -> list[str]:
    builder = [Call("appName", (literal(PurePath(source.name).stem),))]
    settings = {"spark.sql.session.timeZone": literal("UTC")}
    settings |= {k: value_literal(v) for k, v in program.settings if k.startswith("spark.")}
    builder += [Call("config", (literal(k), v)) for k, v in settings.items()]
    lines = [
        "def main() -> None:",
        *chain("spark = ", "SparkSession.builder", [*builder, Call("getOrCreate")]),
    ]
    for function, name in udfs.items():
        register = (literal(function.name), name, literal(function.returns))
        lines += chain("", "spark.udf", [Call("register", register)])
    lines += [f"    {frame} = {reader}(spark)" for reader, frame in frames.items()]
    streaming = False
    for query in queries:
        lines += _start(query)
        streaming |= query.choice.query.plan.is_streaming
    if streaming:
        lines.append("    spark.streams.awaitAnyTermination()")
    return lines


def _start(query: _QueryFunction) -> list[str]:
    sink = query.choice.query.output.sink
    streaming = query.choice.query.plan.is_streaming
    head = f"{query.name}({', '.join(_arguments(query))})"
    return chain(
        "", head, [*kafka_value(sink), *write_calls(sink, query.name, streaming=streaming)]
    )
