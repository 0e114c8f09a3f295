"""Sliding windows: each plan beside the same query written by hand, and beside its panes alone.

All in one process and warm: the machine is noisy, so ratios are what counts. A cell has as many
rows as its slowest plan can take in a while; `--rows 2` doubles them, `--only 60x1000` runs one.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ssql.compiler.pipeline import compile_job
from ssql.compiler.source import Source
from ssql.runtime import session

RATIOS = (1, 10, 60, 600)  # RANGE / SLIDE, with a SLIDE of one minute
GROUPS = (10, 1_000, 100_000)
SPAN_MINUTES = 120
FILES = 8
HEADLINE = (60, 1_000)  # the cell that is measured on many rows
HEADLINE_ROWS = 10_000_000
LEAST_GAIN = 6.0
AGGREGATES = "count(*) AS n, sum(v) AS total, max(v) AS top, avg(v) AS mean"


def rows_of(ratio: int, groups: int) -> int:
    """So many that a row's copies stay within bounds: time for few groups, state for many."""
    if (ratio, groups) == HEADLINE:
        return HEADLINE_ROWS
    most, copies = (1_000_000, 4_000_000) if groups > 10_000 else (4_000_000, 60_000_000)
    return max(10_000, min(most, copies // ratio))


def generate(spark: Any, path: str, rows: int, groups: int) -> None:
    """Seeded by the row's number: the same rows every time, in order of time, over SPAN_MINUTES."""
    step = SPAN_MINUTES * 60 * 1_000_000 / rows
    (
        spark.range(0, rows, 1, FILES)
        .selectExpr(
            f"CAST(pmod(xxhash64(id, 1), {groups}) AS INT) AS k",
            "CAST(pmod(xxhash64(id, 2), 1500) AS INT) AS v",
            f"timestamp_micros(1767225600000000 + CAST(id * {step!r} AS BIGINT)) AS ts",
        )
        .write.parquet(path)
    )


def compiled(path: str, ratio: int, plan: str) -> ModuleType:
    text = f"""
    CREATE STREAM s (k INT, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
    WITH (connector = 'file', format = 'parquet', path = '{path}', maxFilesPerTrigger = 2);
    SELECT k, {AGGREGATES} [RANGE {ratio} minutes, SLIDE 1 minute, WA ts] FROM s GROUP BY k;
    """
    job, diagnostics = compile_job(Source("bench.ssql", text), plan)
    assert job is not None, list(diagnostics)
    module = ModuleType("bench_job")
    exec(compile(job.code, "bench.py", "exec"), module.__dict__)
    return module


def variants(spark: Any, path: str, ratio: int) -> dict[str, Callable[[], Any]]:
    from pyspark.sql import functions as F

    def source() -> Any:
        reader = spark.readStream.schema("k INT, v INT, ts TIMESTAMP")
        return reader.option("maxFilesPerTrigger", 2).parquet(path).withWatermark("ts", "5 seconds")

    def aggregated(window: Any) -> Any:
        return (
            source()
            .groupBy(window, "k")
            .agg(
                F.count("*").alias("n"),
                F.sum("v").alias("total"),
                F.max("v").alias("top"),
                F.avg("v").alias("mean"),
            )
        )

    def emitted(plan: str) -> Any:
        module = compiled(path, ratio, plan)
        return module.query_1(module.accept_s(module.read_s(spark)))

    return {
        "by hand": lambda: aggregated(F.window("ts", f"{ratio} minutes", "1 minute")),
        "wid": lambda: emitted("wid"),
        "paned": lambda: emitted("paned"),
        "panes alone": lambda: aggregated(F.window("ts", "1 minute")),
    }


def seconds(frame: Any) -> float:
    checkpoint = tempfile.mkdtemp(prefix="ssql-bench-")
    try:
        begun = time.perf_counter()
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()
        return time.perf_counter() - begun
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def measure(spark: Any, ratio: int, groups: int, rows: int, repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="ssql-bench-") as directory:
        small, full = f"{directory}/small", f"{directory}/full"
        generate(spark, small, max(1_000, rows // 100), groups)
        generate(spark, full, rows, groups)
        for variant in variants(spark, small, ratio).values():
            seconds(variant())  # warm
        times: dict[str, list[float]] = {}
        for _ in range(repeats):
            for name, variant in variants(spark, full, ratio).items():
                times.setdefault(name, []).append(seconds(variant()))
    return {name: statistics.median(t) for name, t in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1.0, help="so many times the usual rows")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", metavar="RATIOxGROUPS", help="one cell, as in 60x1000")
    options = parser.parse_args()
    cells = [(r, g) for g in GROUPS for r in RATIOS]
    if options.only:
        ratio, groups = map(int, options.only.split("x"))
        cells = [(ratio, groups)]
    log = Path(tempfile.mkdtemp(prefix="ssql-bench-")) / "spark.log"
    spark = session.start("ssql bench", session.settings("local[*]", {}, set(), {}), log)
    names = ("by hand", "wid", "paned", "panes alone")
    print("rows a second, and how much faster than by hand; last, paned / panes alone (time)")
    print(
        f"{'RANGE/SLIDE':>11} {'groups':>8} {'rows':>11}  " + "  ".join(f"{n:>18}" for n in names)
    )
    for ratio, groups in cells:
        rows = int(rows_of(ratio, groups) * options.rows)
        times = measure(spark, ratio, groups, rows, options.repeats)
        shown = [f"{rows / times[n]:>11,.0f} {times['by hand'] / times[n]:5.1f}x" for n in names]
        over = times["paned"] / times["panes alone"]
        print(f"{ratio:>11} {groups:>8,} {rows:>11,}  {'  '.join(shown)}  {over:5.2f}", flush=True)
        if (ratio, groups) == HEADLINE:
            gain = times["wid"] / times["paned"]
            print(f"{'':11} paned is {gain:.1f} times as fast as wid (at least {LEAST_GAIN})")
    spark.stop()
    shutil.rmtree(log.parent, ignore_errors=True)


if __name__ == "__main__":
    main()
