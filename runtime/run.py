"""The run of a job: from the emitted module to results, and to a clean end."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ssql.planner.job import Job, JobQuery, JobSource
from ssql.planner.span import Span
from ssql.runtime import checkpoints, progress, session
from ssql.runtime.emitted import load_module
from ssql.runtime.failures import (
    Kind,
    RunFailure,
    explained,
    spark_errors,
    spark_is_gone,
)
from ssql.runtime.lock import CheckpointLock
from ssql.runtime.output import Printer
from ssql.runtime.preflight import check_job
from ssql.runtime.sinks import prepare_file_sink
from ssql.runtime.sources import (
    check_schema,
    check_unread_files,
    make_missing_directory,
    text_of,
    undone_since,
)
from ssql.runtime.storage import HadoopStorage, LocalStorage, Storage, local_path
from ssql.runtime.summary import ROWS_OUT, Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    until_done: bool = False
    format: str = "table"
    checkpoint: str | None = None
    flush: bool | None = None  # None: unless there is a checkpoint
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    module_path: str | None = None  # where the user's Python functions are
    discard: bool = False  # run for the figures: results go nowhere, not into sinks either

    @property
    def flushes(self) -> bool:
        wanted = self.checkpoint is None if self.flush is None else self.flush
        return self.until_done and wanted


@dataclass(slots=True)
class _Running:
    """A streaming query, the directory that it keeps its checkpoint in, and its figures."""

    query: JobQuery
    sources: tuple[JobSource, ...]
    directory: str
    summary: Summary
    printer: Printer
    begun: float = 0.0
    stream: StreamingQuery | None = None

    @property
    def about(self) -> Span:
        return self.query.span


class Runner:
    """Runs a job once. `write` takes results, `say` what people are told meanwhile, `watch` the
    figures of the running queries, now and then."""

    def __init__(
        self,
        job: Job,
        options: Options,
        write: Callable[[str], None],
        say: Callable[[str], None],
        watch: Callable[[list[Summary]], None] = lambda summaries: None,
    ) -> None:
        self.job = job
        self.options = options
        self.log = session.new_log()
        self.summaries: list[Summary] = []
        self._write = write
        self._say = say
        self._watch = watch
        self._stop = threading.Event()
        self._settings: dict[str, str] = {}
        self._scratch: str | None = None
        self._selects = sum(q.select is not None for q in job.queries)

    def stop(self) -> None:
        """Ask for a clean end; may be called from a signal handler."""
        self._stop.set()

    def run(self) -> list[Summary]:
        """Run to the end, or until stopped."""
        try:
            check_job(self.job, until_done=self.options.until_done)
            root = self.options.checkpoint or self._scratch_directory()
            local = local_path(root)
            if local is not None:
                self._run_locked(local, root)
            else:
                spark = self._start({})
                storage = HadoopStorage(spark)
                self._recorded(storage, root)
                self._run(spark, storage, root)
        except spark_errors() as error:
            raise explained(error) from error
        except OSError as error:
            if gone := spark_is_gone(error):
                raise gone from error
            place = f"{error.filename}: " if error.filename else ""
            raise RunFailure(
                Kind.ENVIRONMENT,
                f"{place}{error.strerror or error}",
                helps=("check the path, and who may write there",),
            ) from error
        finally:
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)
        self.log.unlink(missing_ok=True)
        return self.summaries

    def _run_locked(self, directory: Path, root: str) -> None:
        lock, storage = CheckpointLock(directory), LocalStorage()
        lock.take()
        try:
            spark = self._start(self._recorded(storage, root))
            lock.share(int(spark._jvm.java.lang.ProcessHandle.current().pid()))
            self._run(spark, storage, root)
        except RunFailure:
            lock.release()
            raise
        lock.release()  # not when this process is cut off: Spark may still be writing

    # -------------------------------------------------------------- before Spark starts

    def _scratch_directory(self) -> str:
        self._scratch = tempfile.mkdtemp(prefix="ssql-run-")
        return self._scratch

    def _directory(self, root: str, query: JobQuery) -> str:
        return f"{root.rstrip('/')}/query_{query.number}"

    def _recorded(self, storage: Storage, root: str) -> Mapping[str, str]:
        """The settings that the checkpoints were written with, once they are seen to fit."""
        given = self._given_settings()
        recorded: dict[str, str] = {}
        for query in self.job.queries:
            if not query.is_streaming:
                continue
            directory = self._directory(root, query)
            kept = checkpoints.load(storage, directory)
            if kept is None:
                continue
            now = checkpoints.record_of(self.job, query, {**kept.settings, **given})
            checkpoints.check(kept, now, query, directory, flush=self.options.flushes)
            recorded |= kept.settings
        return recorded

    def _given_settings(self) -> dict[str, str]:
        own = {k: text_of(v) for k, v in self.job.settings if k.startswith("spark.")}
        return {**own, **self.options.settings}

    # -------------------------------------------------------------- the session

    def _start(self, recorded: Mapping[str, str]) -> SparkSession:
        connections = [s.connection for s in self.job.sources]
        connections += [q.sink.connection for q in self.job.queries if q.sink]
        self._settings = session.settings(
            self.options.master,
            self._given_settings(),
            {c.connector for c in connections},
            recorded,
        )
        return session.start(f"ssql {self.job.name}", self._settings, self.log)

    def _run(self, spark: SparkSession, storage: Storage, root: str) -> None:
        module = load_module(self.job, spark, self.options.module_path)
        for source in self.job.sources:
            if made := make_missing_directory(source):
                self._say(f"{made} did not exist and was made; waiting for files in it")
        for query in self.job.queries:
            if not query.is_streaming and not self._stop.is_set():
                try:
                    self._batch(spark, module, query)
                except spark_errors() as error:
                    raise explained(error, query.span) from error
        streaming = [q for q in self.job.queries if q.is_streaming]
        if self.options.until_done:
            for query in streaming:
                if not self._stop.is_set():
                    self._until_done(spark, storage, module, query, root)
        elif streaming:
            self._forever(spark, storage, module, streaming, root)

    # -------------------------------------------------------------- queries

    def _frame(
        self, spark: SparkSession, module: ModuleType, query: JobQuery, directory: str | None
    ) -> DataFrame:
        sources = self.job.sources_of(query)
        beats = progress.heartbeat_directories(directory, sources) if directory else {}
        frames = []
        for source in sources:
            try:
                heartbeats = beats.get(source.frame) if query.keeps_state else None
                frame = progress.read(spark, module, source, heartbeats)
            except spark_errors() as error:
                raise explained(error, source.span) from error
            check_schema(spark, source, frame)
            frames.append(frame)
        arguments = [*([spark] if query.needs_session else []), *frames]
        try:
            result: DataFrame = getattr(module, query.function)(*arguments)
        except spark_errors() as error:
            raise explained(error, query.span) from error
        return result

    def _printer(self, query: JobQuery) -> Printer:
        select = query.select if self._selects > 1 else None
        has_order = query.is_ordered or not query.is_streaming
        return Printer(self.options.format, self._results, select, has_order=has_order)

    def _results(self, text: str) -> None:
        try:
            self._write(text)
        except BrokenPipeError:  # whoever reads has seen enough
            self._stop.set()

    def _batch(self, spark: SparkSession, module: ModuleType, query: JobQuery) -> None:
        begun = time.monotonic()
        rows = self._frame(spark, module, query, None)
        summary = Summary(query.function)
        if self.options.discard:
            rows.write.format("noop").mode("overwrite").save()
        elif query.sink is None or query.sink.writer is None:
            summary.rows_out = self._printer(query).batch(rows)
        else:
            from pyspark.sql import Observation
            from pyspark.sql import functions as F

            counted = Observation()
            rows = rows.observe(counted, F.expr("count(*)").alias("rows"))
            getattr(module, query.sink.writer)(rows)
            if query.sink.connection.connector != "memory":
                summary.rows_out = counted.get["rows"]
        summary.seconds = time.monotonic() - begun
        self.summaries.append(summary)

    def _prepared(self, storage: Storage, query: JobQuery, root: str) -> _Running:
        """The directory of a query, with its record, before anything is started."""
        directory = self._directory(root, query)
        sources = self.job.sources_of(query)
        kept = checkpoints.load(storage, directory)
        discards = self.options.discard
        if query.sink is not None and query.sink.connection.connector == "file" and not discards:
            path = text_of(query.sink.connection.option("path") or "")
            here = local_path(directory)
            undone = undone_since(here) if here is not None else None
            prepare_file_sink(query.sink, path, resumed=kept is not None, undone_since=undone)
        if kept is not None and (here := local_path(directory)):
            check_unread_files(here, self._settings, query.span)
        for beats in progress.heartbeat_directories(directory, sources).values():
            storage.make_directory(beats)
        summary = Summary(query.function)
        running = _Running(query, sources, directory, summary, self._printer(query))
        running.begun = time.monotonic()
        self.summaries.append(running.summary)
        return running

    def _remember(self, storage: Storage, running: _Running) -> None:
        """Once a query is seen to be one that Spark can run, its checkpoint is for it alone."""
        if checkpoints.load(storage, running.directory) is None:
            record = checkpoints.record_of(self.job, running.query, self._settings)
            checkpoints.save(storage, running.directory, record)

    def _writer(self, frame: DataFrame, running: _Running, module: ModuleType) -> DataStreamWriter:
        from pyspark.sql import functions as F

        query = running.query
        rows = frame.observe(ROWS_OUT, F.expr("count(*)").alias("rows"))
        writer: DataStreamWriter
        if self.options.discard:
            writer = rows.writeStream.format("noop")
        elif query.sink is not None and query.sink.writer is not None:
            writer = getattr(module, query.sink.writer)(rows)
        else:
            printer = running.printer
            writer = rows.writeStream.foreachBatch(lambda batch, _: _ignore(printer.batch(batch)))
        return writer.option("checkpointLocation", running.directory)

    def _until_done(
        self,
        spark: SparkSession,
        storage: Storage,
        module: ModuleType,
        query: JobQuery,
        root: str,
    ) -> None:
        running = self._prepared(storage, query, root)
        frame = self._frame(spark, module, query, running.directory)
        self._remember(storage, running)
        while True:
            self._drain(frame, running, module)
            if self._stop.is_set():
                return
            if _is_exhausted(running):
                break
        if query.keeps_state and self.options.flushes:
            self._mark_flush(storage, running, "begun")
            directories = progress.heartbeat_directories(running.directory, running.sources)
            for source in running.sources:
                if source.frame in directories:
                    progress.end_time(storage, source, directories[source.frame])
            self._drain(frame, running, module)
            if not self._stop.is_set():
                self._mark_flush(storage, running, "done")

    @staticmethod
    def _mark_flush(storage: Storage, running: _Running, state: str) -> None:
        kept = checkpoints.load(storage, running.directory)
        assert kept is not None
        checkpoints.save(storage, running.directory, replace(kept, flush=state))

    def _drain(self, frame: DataFrame, running: _Running, module: ModuleType) -> None:
        """Process what is there now."""
        writer = self._writer(frame, running, module).trigger(availableNow=True)
        running.stream = self._started(writer, running)
        while running.stream.isActive and not self._stop.is_set():
            self._wait(running.stream)
            self._take_stock([running])
        self._end([running])

    @staticmethod
    def _wait(stream: StreamingQuery) -> None:
        from pyspark.errors import StreamingQueryException

        with suppress(StreamingQueryException):  # _end tells it
            stream.awaitTermination(session.POLL_SECONDS)

    def _forever(
        self,
        spark: SparkSession,
        storage: Storage,
        module: ModuleType,
        queries: list[JobQuery],
        root: str,
    ) -> None:
        running = []
        try:
            for query in queries:
                one = self._prepared(storage, query, root)
                frame = self._frame(spark, module, query, one.directory)
                self._remember(storage, one)
                one.stream = self._started(self._writer(frame, one, module), one)
                running.append(one)
            while not self._stop.is_set():
                streams = [r.stream for r in running if r.stream is not None]
                if not all(s.isActive for s in streams):
                    break
                self._stop.wait(session.POLL_SECONDS)
                self._take_stock(running)
        finally:
            self._end(running)

    def _started(self, writer: DataStreamWriter, running: _Running) -> StreamingQuery:
        try:
            return writer.start()
        except spark_errors() as error:
            raise explained(error, running.about) from error

    def _take_stock(self, running: list[_Running]) -> None:
        for one in running:
            if one.stream is not None:
                one.summary.add(_reports(one, all=not one.stream.isActive), one.sources)
                one.summary.seconds = time.monotonic() - one.begun
        self._watch(self.summaries)

    def _end(self, running: list[_Running]) -> None:
        """Stop what still runs, count what it did, and raise what went wrong."""
        for one in running:
            if one.stream is not None and one.stream.isActive:
                one.stream.stop()
        self._take_stock(running)
        for one in running:
            error = one.stream.exception() if one.stream is not None else None
            if error is not None:
                raise self._failure(one, error)

    def _failure(self, running: _Running, error: BaseException) -> RunFailure:
        found = explained(error, running.about)
        streams = [s for s in running.sources if s.is_stream]
        if found.kind is Kind.SOURCE and len(streams) == 1:
            found.about = streams[0].span
        if found.kind is Kind.SINK and running.query.sink is not None:
            found.about = running.query.sink.span
        return found


def _reports(running: _Running, *, all: bool) -> list[Any]:
    """The newest report, or all that Spark keeps where some were missed."""
    assert running.stream is not None
    last = running.stream.lastProgress
    if last is None or not (all or running.summary.misses(last)):
        return []
    return list(running.stream.recentProgress)


def _ignore(_: Any) -> None:
    """foreachBatch wants nothing back."""


def _is_exhausted(running: _Running) -> bool:
    """Has every generated stream given all its rows? Spark reads one batch of them a run."""
    ends = {s.rows for s in running.sources if s.rows is not None and s.is_stream}
    if not ends or running.stream is None or running.stream.lastProgress is None:
        return True
    for source in running.stream.lastProgress.sources:
        if source.description.startswith("RatePerMicroBatchStream"):
            offset = json.loads(source.endOffset or "{}").get("offset", 0)
            if offset < max(ends):
                return False
    return True
