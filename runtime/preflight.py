"""What can be seen to be wrong with a job before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator

from ssql.planner.catalog import Connection
from ssql.planner.job import Job, JobQuery
from ssql.planner.span import Span
from ssql.runtime.failures import Kind, RunFailure
from ssql.runtime.sources import text_of


def check_job(job: Job, *, until_done: bool) -> None:
    if until_done:
        _check_ends(job)
    _check_environment(job)
    _check_sinks(job)


def _check_ends(job: Job) -> None:
    for source in job.sources:
        if source.is_endless:
            generated = source.connection.connector == "datagen"
            help = "give it rows = …" if generated else "drop --until-done, and stop it with Ctrl-C"
            raise RunFailure(
                Kind.ENDLESS,
                f"{source.name} never ends, so --until-done would wait for ever",
                about=source.span,
                helps=(help,),
            )


def _connections(job: Job) -> Iterator[tuple[Connection, Span]]:
    for source in job.sources:
        yield source.connection, source.span
    for query in job.queries:
        if query.sink is not None:
            yield query.sink.connection, query.sink.span


def _check_environment(job: Job) -> None:
    """Secrets are in the environment when the emitted code asks for them."""
    for connection, span in _connections(job):
        for _, value in connection.options:
            try:
                text_of(value)
            except RunFailure as failure:
                failure.about = span
                raise


def _check_sinks(job: Job) -> None:
    taken: dict[str, JobQuery] = {}
    for query in job.queries:
        if query.sink is None or query.sink.connection.connector != "file":
            continue
        path = text_of(query.sink.connection.option("path") or "")
        if path in taken and (query.is_streaming or taken[path].is_streaming):
            raise RunFailure(
                Kind.SINK,
                f"two queries write to {path}",
                about=query.span,
                notes=("Spark numbers the batches of a directory, and they would collide",),
                helps=("write one INSERT with UNION ALL, or two sinks",),
            )
        taken[path] = query
