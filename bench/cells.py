"""Cells of a grid of window queries: their rows, and what each plan takes for them."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ssql.compiler.pipeline import compile_job
from ssql.compiler.source import Source
from ssql.runtime import session

START_US = 1_767_225_600_000_000
SLIDE_SECONDS = 10
FILES, FILES_A_BATCH = 8, 2
BATCHES = FILES // FILES_A_BATCH
VALUES = 1_500
AGGREGATES = {"sum": "sum(v)", "max": "max(v)", "distinct": "count(DISTINCT v)"}
COLLECTS = "distinct"
MOST_ROWS, MOST_RESULTS, MOST_VALUES = 25_000_000, 15_000_000, 200_000_000
PLANS = ("wid", "paned", "rolling", "adaptwid")


@dataclass(frozen=True, slots=True)
class Cell:
    """RANGE/SLIDE, groups, rows a group has in a pane on average, and an aggregate."""

    ratio: int
    groups: int
    rows_a_pane: int
    aggregate: str
    wanted_rows: int = 2_000_000

    @property
    def panes(self) -> int:
        """Of data: enough for windows to fill, and rows to take some time, but no more than fit."""
        pane = self.groups * self.rows_a_pane
        least = 2 * self.ratio + 8
        copies = 10 * self.wanted_rows // self.ratio
        return max(least, min(self.wanted_rows // pane, copies // pane, 20_000))

    @property
    def rows(self) -> int:
        return self.panes * self.groups * self.rows_a_pane

    @property
    def fits(self) -> bool:
        results = self.panes * self.groups
        of_each = min(VALUES, self.ratio * self.rows_a_pane) if self.aggregate == COLLECTS else 1
        return (
            self.rows <= MOST_ROWS and results <= MOST_RESULTS and results * of_each <= MOST_VALUES
        )

    def name(self) -> str:
        return f"{self.ratio}x{self.groups}x{self.rows_a_pane}"

    def text(self, path: str) -> str:
        """The query, with all that there is to know about its rows."""
        rate = self.groups * self.rows_a_pane / SLIDE_SECONDS
        return f"""
        CREATE STREAM s (k INT, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
        WITH (connector = 'file', format = 'parquet', path = '{path}',
              maxFilesPerTrigger = {FILES_A_BATCH}, stats.rate = {rate},
              stats.groups = {self.groups}, stats.distinct.v = {VALUES},
              stats.batch = {self.rows // BATCHES});
        SELECT k, {AGGREGATES[self.aggregate]} AS a
        [RANGE {self.ratio * SLIDE_SECONDS} seconds, SLIDE {SLIDE_SECONDS} seconds, WA ts]
        FROM s GROUP BY k;
        """


@contextmanager
def rows_of(spark: Any, cell: Cell) -> Iterator[str]:
    """A directory with the rows of a cell, in order of time, the same ones every time."""
    directory = tempfile.mkdtemp(prefix="ssql-bench-")
    step = cell.panes * SLIDE_SECONDS * 1_000_000 / cell.rows
    try:
        spark.range(0, cell.rows, 1, FILES).selectExpr(
            f"CAST(pmod(xxhash64(id, 1), {cell.groups}) AS INT) AS k",
            f"CAST(pmod(xxhash64(id, 2), {VALUES}) AS INT) AS v",
            f"timestamp_micros({START_US} + CAST(id * {step!r} AS BIGINT)) AS ts",
        ).write.parquet(f"{directory}/rows")
        yield f"{directory}/rows"
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def seconds(spark: Any, text: str, plan: str, most: float = float("inf")) -> float | None:
    """How long a plan takes; None if that is more than `most`."""
    job, diagnostics = compile_job(Source("bench.ssql", text), plan)
    assert job is not None, list(diagnostics)
    module = ModuleType("bench_job")
    exec(compile(job.code, "bench.py", "exec"), module.__dict__)
    frame = module.query_1(module.accept_s(module.read_s(spark)))
    checkpoint = tempfile.mkdtemp(prefix="ssql-bench-")
    try:
        begun = time.perf_counter()
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        ended = query.awaitTermination(None if most == float("inf") else most)
        took = time.perf_counter() - begun
        if ended is False:
            query.stop()
            return None
        return took
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


@contextmanager
def warm_session() -> Iterator[Any]:
    """Spark, with every plan seen once."""
    log = Path(tempfile.mkdtemp(prefix="ssql-bench-")) / "spark.log"
    spark = session.start("ssql bench", session.settings("local[*]", {}, set(), {}), log)
    for aggregate in AGGREGATES:
        cell = Cell(4, 100, 50, aggregate, wanted_rows=100_000)
        with rows_of(spark, cell) as path:
            for plan in PLANS:
                seconds(spark, cell.text(path), plan)
    yield spark
    spark.stop()
    shutil.rmtree(log.parent, ignore_errors=True)
