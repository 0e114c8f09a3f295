"""A whole program to the text of one Python module, and to the job that runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ssql import __version__
from ssql.compiler.emit.connections import (
    accept_steps,
    plausible,
    read_calls,
    value_literal,
    watermark_delay,
    write_calls,
)
from ssql.compiler.emit.operators import STATE_STORE, operators_of
from ssql.compiler.emit.python import WIDTH, Call, Names, chain, comment, fits, lines_of, literal
from ssql.compiler.emit.queries import Frames, QueryEmitter
from ssql.compiler.emit.standalone import INLINED_WIDTH, Inlined, import_block, imports_in, inline
from ssql.compiler.source import Source
from ssql.planner.catalog import Function, Sink, Stream, Table
from ssql.planner.choose import Choice
from ssql.planner.datagen import generator
from ssql.planner.explain import outline_query
from ssql.planner.job import Job, JobFunction, JobQuery, JobSink, JobSource
from ssql.planner.logical import (
    Aggregate,
    Alias,
    Filter,
    Join,
    OneRow,
    Plan,
    Program,
    StreamScan,
    TableScan,
    walk,
)
from ssql.planner.progress import joined_streams, keeps_state
from ssql.planner.rules.order_results import visible_orders

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^'\n]*'|#[^\n]*")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A stream or table, and the names of what reads it."""

    entry: Stream | Table
    frame: str
    reader: str
    acceptor: str | None
    is_joined: bool  # its rows come to a join of streams as they are


@dataclass(frozen=True, slots=True)
class _QueryFunction:
    name: str
    choice: Choice
    frames: tuple[str, ...]  # what it reads, by Python name
    body: tuple[str, ...]
    needs_session: bool
    writer: str | None  # None: the results go to the console

    @property
    def sink(self) -> Sink | None:
        return self.choice.query.output.sink


def emit(
    source: Source, program: Program, choices: tuple[Choice, ...], *, standalone: bool = False
) -> Job:
    """`standalone`: operators are written into the module, which then imports nothing of ssql."""
    operators = _operator_imports(choices, program.functions)
    inlined = inline(operators) if standalone and operators else None
    with lines_of(INLINED_WIDTH if inlined else WIDTH):
        return _emit(source, program, choices, operators, inlined)


def _emit(
    source: Source,
    program: Program,
    choices: tuple[Choice, ...],
    operators: list[str],
    inlined: Inlined | None,
) -> Job:
    names = Names(inlined.names if inlined else ())
    udfs = {f: names.make(f"udf_{f.name}") for f in program.functions}
    readings = _readings(choices, names)
    frames = {r.entry: r.frame for r in readings}
    queries = [_query(source, c, frames, names, udfs) for c in choices]
    blocks = [
        *(block for r in readings for block in _reading(r)),
        *(block for q in queries for block in _query_functions(q)),
        _main(source, program, readings, queries, udfs, _needed(choices, operators)),
    ]
    text = "\n\n\n".join("\n".join(b) for b in blocks)
    imports = [*_imports(text, udfs)]
    if inlined:
        # Below main(): whoever reads the file came for the queries.
        imports = [*import_block([*imports_in(imports), *inlined.imports])]
        text = f"{text}\n\n\n{_inlined_text(inlined)}"
    else:
        imports += operators
    head = "\n".join([*_header(source, queries), "", *imports])
    return Job(
        name=PurePath(source.name).stem,
        code=f'{head}\n\n\n{text}\n\n\nif __name__ == "__main__":\n    main()\n',
        sources=tuple(_job_source(r, choices) for r in readings),
        queries=tuple(_job_queries(queries)),
        functions=tuple(
            JobFunction(name=f.name, attribute=name, module=f.module, returns=f.returns)
            for f, name in udfs.items()
        ),
        settings=program.settings,
    )


# ------------------------------------------------------------------ head and imports


def _header(source: Source, queries: list[_QueryFunction]) -> Iterator[str]:
    yield from comment(f"Compiled by ssql {__version__} from {PurePath(source.name).name}.")
    yield "#"
    for query in queries:
        yield from comment(
            f"{query.name}: plan {query.choice.plan}, because {query.choice.reason}."
        )


def _imports(text: str, udfs: dict[Function, str]) -> Iterator[str]:
    # What stands inside of literals and comments is no use of a name.
    code = _STRING.sub('""', text)
    if "os.environ[" in code:
        yield "import os"
        yield ""
    for function in sorted(udfs, key=lambda f: (f.module, f.attribute)):
        yield f"from {function.module} import {function.attribute} as {udfs[function]}"
    yield "from pyspark.sql import DataFrame, SparkSession"
    if re.search(r"\bF\.", code):
        yield "from pyspark.sql import functions as F"
    if "DataStreamWriter" in code:
        yield "from pyspark.sql.streaming import DataStreamWriter"


def _operator_imports(choices: tuple[Choice, ...], functions: Sequence[Function]) -> list[str]:
    """One line a module."""
    names: dict[str, set[str]] = {}
    for module, name in (n for choice in choices for n in operators_of(choice, functions)):
        names.setdefault(module, set()).add(name)
    return [
        f"from ssql.runtime.operators.{module} import {', '.join(sorted(found))}"
        for module, found in sorted(names.items())
    ]


# Spark takes equal parts of a plan for one, and an aggregate that has lost its watermark that way
# never closes its windows.
_NO_REUSE = {"spark.sql.exchange.reuse": "false"}


def _needed(choices: tuple[Choice, ...], operators: list[str]) -> dict[str, str]:
    """The settings that the queries depend on."""
    twice = any(_reads_twice(c.query.plan) for c in choices if c.query.plan.is_streaming)
    return (STATE_STORE if operators else {}) | (_NO_REUSE if twice else {})


def _reads_twice(plan: Plan) -> bool:
    streams = [n.stream for n in walk(plan) if isinstance(n, StreamScan)]
    return len(streams) > len(set(streams)) and any(isinstance(n, Aggregate) for n in walk(plan))


def _inlined_text(inlined: Inlined) -> str:
    about = (
        f"The operators that Spark lacks, from ssql {__version__}, under the Apache License 2.0."
    )
    return "\n".join([*comment(about), "", inlined.text()])


# ------------------------------------------------------------------ sources


def _readings(choices: tuple[Choice, ...], names: Names) -> list[_Reading]:
    """The streams and tables that are read, in the order of the source."""
    found = sorted({e for choice in choices for e in _read_by(choice)}, key=lambda e: e.span)
    joined = {s for c in choices for s in joined_streams(c.query.plan, _by_operator(c))}
    readings = []
    for entry in found:
        frame = names.make(entry.name)
        reader = names.make(f"read_{frame}")
        accepts = isinstance(entry, Stream) and accept_steps(entry, is_joined=False)
        acceptor = names.make(f"accept_{frame}") if accepts else None
        readings.append(_Reading(entry, frame, reader, acceptor, entry in joined))
    return readings


def _by_operator(choice: Choice) -> list[Join]:
    return [j.ordered.join for j in choice.joins if j.by_operator]


def _read_by(choice: Choice) -> Iterator[Stream | Table]:
    for node in walk(choice.query.plan):
        if isinstance(node, StreamScan):
            yield node.stream
        elif isinstance(node, TableScan):
            yield node.table


def _reading(reading: _Reading) -> Iterator[list[str]]:
    """A function that reads an entry, and for streams one that takes what counts of it."""
    entry, frame = reading.entry, reading.frame
    head, calls = read_calls(entry)
    yield [
        f"def {reading.reader}(spark: SparkSession) -> DataFrame:",
        *comment(
            f"CREATE {'STREAM' if isinstance(entry, Stream) else 'TABLE'} {entry.name}", "    "
        ),
        *chain("return ", head, calls),
    ]
    if reading.acceptor is not None:
        assert isinstance(entry, Stream)
        lines = [f"def {reading.acceptor}({frame}: DataFrame) -> DataFrame:"]
        steps = accept_steps(entry, is_joined=reading.is_joined)
        for at, (clause, call) in enumerate(steps):
            last = at == len(steps) - 1
            lines += comment(clause, "    ")
            lines += chain("return " if last else "timed = ", "timed" if at else frame, [call])
        yield lines


def _job_source(reading: _Reading, choices: tuple[Choice, ...]) -> JobSource:
    entry = reading.entry
    connection = entry.connection
    assert connection is not None
    watermark = entry.watermark if isinstance(entry, Stream) else None
    made = generator(connection) if connection.connector == "datagen" else None
    endless = connection.connector in ("rate", "socket") or (made is not None and made.is_endless)
    return JobSource(
        name=entry.name,
        frame=reading.frame,
        reader=reading.reader,
        acceptor=reading.acceptor,
        is_stream=isinstance(entry, Stream),
        connection=connection,
        columns=tuple((c.name, c.type) for c in entry.columns),
        time=watermark.column if watermark else None,
        delay=watermark_delay(watermark, is_joined=reading.is_joined) if watermark else None,
        plausible=plausible(watermark.column) if watermark else None,
        rows=made.rows if made else None,
        is_endless=endless and isinstance(entry, Stream),
        groupings=tuple(dict.fromkeys(_groupings(entry, choices))),
        span=entry.span,
    )


def _groupings(entry: Stream | Table, choices: tuple[Choice, ...]) -> Iterator[tuple[str, ...]]:
    """The columns that a stream is grouped by, where it is the stream itself that is grouped."""
    for node in (n for c in choices for n in walk(c.query.plan) if isinstance(n, Aggregate)):
        below = node.input
        while isinstance(below, Filter | Alias):
            below = below.input
        if isinstance(below, StreamScan) and below.stream is entry and node.keys:
            columns = [k.scalar.column for k in node.keys]
            if all(columns):
                yield tuple(sorted(c[1] for c in columns if c))


# ------------------------------------------------------------------ queries


def _query(
    source: Source, choice: Choice, frames: Frames, names: Names, udfs: dict[Function, str]
) -> _QueryFunction:
    plan, sink = choice.query.plan, choice.query.output.sink
    read = set(_read_by(choice))
    used = {entry: frame for entry, frame in frames.items() if entry in read}
    name = names.make(sink.name if sink else f"query_{choice.query.number}")
    writes = sink and sink.connection and sink.connection.connector != "console"
    return _QueryFunction(
        name=name,
        choice=choice,
        frames=tuple(used.values()),
        body=tuple(QueryEmitter(source, choice, used, udfs).body()),
        needs_session=any(isinstance(n, OneRow) for n in walk(plan)),
        writer=names.make(f"write_{name}") if writes else None,
    )


def _arguments(query: _QueryFunction) -> list[str]:
    return [*(["spark"] if query.needs_session else []), *query.frames]


def _query_functions(query: _QueryFunction) -> Iterator[list[str]]:
    parameters = [
        f"{a}: {'SparkSession' if a == 'spark' else 'DataFrame'}" for a in _arguments(query)
    ]
    signature = f"def {query.name}({', '.join(parameters)}) -> DataFrame:"
    if not fits(signature):
        signature = "\n".join(
            [f"def {query.name}(", *(f"    {p}," for p in parameters), ") -> DataFrame:"]
        )
    yield [signature, *query.body]
    if query.writer is not None and query.sink is not None:
        streaming = query.choice.query.plan.is_streaming
        result = "DataStreamWriter" if streaming else "None"
        rows = query.name
        yield [
            f"def {query.writer}({rows}: DataFrame) -> {result}:",
            *comment(f"INSERT INTO {query.sink.name}", "    "),
            *chain(
                "return " if streaming else "",
                rows,
                write_calls(query.sink, query.name, streaming=streaming),
            ),
        ]


def _job_queries(queries: list[_QueryFunction]) -> Iterator[JobQuery]:
    selects = 0
    for query in queries:
        plan, sink = query.choice.query.plan, query.sink
        selects += sink is None
        yield JobQuery(
            number=query.choice.query.number,
            select=selects if sink is None else None,
            function=query.name,
            frames=query.frames,
            needs_session=query.needs_session,
            is_streaming=plan.is_streaming,
            keeps_state=any(map(keeps_state, walk(plan))),
            is_ordered=any(visible_orders(plan)),
            plan=query.choice.plan,
            plans=query.choice.plans,
            reason=query.choice.reason,
            outline=tuple(outline_query(query.choice.query, verbose=True).lines()),
            sink=_job_sink(query) if sink else None,
            span=query.choice.query.statement_span,
        )


def _job_sink(query: _QueryFunction) -> JobSink:
    sink = query.sink
    assert sink is not None and sink.connection is not None
    return JobSink(name=sink.name, connection=sink.connection, writer=query.writer, span=sink.span)


# ------------------------------------------------------------------ main


def _main(
    source: Source,
    program: Program,
    readings: list[_Reading],
    queries: list[_QueryFunction],
    udfs: dict[Function, str],
    needed: dict[str, str],
) -> list[str]:
    builder = [Call("appName", (literal(PurePath(source.name).stem),))]
    settings = {"spark.sql.session.timeZone": literal("UTC")}
    if any(q.choice.query.plan.is_streaming for q in queries):
        settings |= {k: literal(v) for k, v in needed.items()}
    settings |= {k: value_literal(v) for k, v in program.settings if k.startswith("spark.")}
    builder += [Call("config", (literal(k), v)) for k, v in settings.items()]
    lines = [
        "def main() -> None:",
        *chain("spark = ", "SparkSession.builder", [*builder, Call("getOrCreate")]),
    ]
    for function, name in udfs.items():
        register = (literal(function.name), name, literal(function.returns))
        lines += chain("", "spark.udf", [Call("register", register)])
    for reading in readings:
        read = f"{reading.reader}(spark)"
        accepted = f"{reading.acceptor}({read})" if reading.acceptor else read
        lines.append(f"    {reading.frame} = {accepted}")
    for query in queries:
        lines += _start(query)
    if any(q.choice.query.plan.is_streaming for q in queries):
        lines.append("    spark.streams.awaitAnyTermination()")
    return lines


def _start(query: _QueryFunction) -> list[str]:
    result = f"{query.name}({', '.join(_arguments(query))})"
    if not query.choice.query.plan.is_streaming:
        if query.writer is not None:
            return [f"    {query.writer}({result})"]
        return chain("", result, [Call("show", ("truncate=False",))])
    if query.writer is None:
        return chain("", result, write_calls(query.sink, query.name, streaming=True, start=True))
    checkpoint = Call(
        "option", (literal("checkpointLocation"), literal(f"checkpoints/{query.name}"))
    )
    calls = [checkpoint, Call("start")] if _needs_checkpoint(query.sink) else [Call("start")]
    return chain("", f"{query.writer}({result})", calls)


def _needs_checkpoint(sink: Sink | None) -> bool:
    connection = sink.connection if sink else None
    assert connection is not None
    return (
        connection.connector in ("file", "kafka")
        and connection.option("checkpointlocation") is None
    )
