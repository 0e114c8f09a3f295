"""The operators that Spark lacks: rolling panes, AdaptWID, partitioned rows and slide-by-tuple.

All in one process and warm: the machine is noisy, so ratios are what counts. `--only rolling` (or
groups, skews, throughput) runs one part, `--rows 0.1` takes a tenth of the rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from windows import seconds

from ssql.compiler.pipeline import compile_job
from ssql.compiler.source import Source
from ssql.runtime import session
from ssql.runtime.operators import adaptwid as adaptwid_module
from ssql.runtime.operators import road
from ssql.runtime.operators import rows as rows_module
from ssql.runtime.operators import state as state_module
from ssql.runtime.operators import tuples as tuples_module
from ssql.runtime.operators.adaptwid import AdaptKernel
from ssql.runtime.operators.merging import Layout
from ssql.runtime.operators.processor import HeldChunks, Moment
from ssql.runtime.operators.sliding import Sliding
from ssql.runtime.operators.state import State

START = 1_767_225_600_000_000
SECOND = 1_000_000
FILES = 8


def rows_sql(groups: str, span_us: int, rows: int) -> tuple[str, ...]:
    """Rows in order of time, made from their number `id`: the same ones every time."""
    return (
        f"{groups} AS k",
        "CAST(pmod(xxhash64(id, 2), 1500) AS INT) AS v",
        f"timestamp_micros({START} + CAST(id * {span_us / rows!r} AS BIGINT)) AS ts",
    )


def generate(spark: Any, path: str, rows: int, columns: tuple[str, ...]) -> None:
    spark.range(0, rows, 1, FILES).selectExpr(*columns).write.mode("overwrite").parquet(path)


def emitted(spark: Any, path: str, select: str, plan: str | None, type: str = "INT") -> Any:
    """A query as ssql compiles it, over the rows of a directory; four files a batch."""
    text = f"""
    CREATE STREAM s (k {type}, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
    WITH (connector = 'file', format = 'parquet', path = '{path}', maxFilesPerTrigger = 4);
    {select};
    """
    job, diagnostics = compile_job(Source("bench.ssql", text), plan)
    assert job is not None, list(diagnostics)
    module = ModuleType("bench_job")
    exec(compile(job.code, "bench.py", "exec"), module.__dict__)
    return module.query_1(module.accept_s(module.read_s(spark)))


def interleaved(variants: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    times: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, variant in variants.items():
            times.setdefault(name, []).append(seconds(variant()))
    return {name: statistics.median(t) for name, t in times.items()}


# ------------------------------------------------------------------ rolling beside its panes

AGGREGATES = "count(*) AS n, sum(v) AS total, max(v) AS top, avg(v) AS mean"


def rolling(spark: Any, scale: float, repeats: int) -> None:
    rows, groups = int(20_000_000 * scale), 1_000
    print(f"rolling beside the aggregate of its panes alone, {rows:,} rows, {groups:,} groups")
    for slide_s, ratios in ((60, (60,)), (2, (60, 3_600))):
        with tempfile.TemporaryDirectory(prefix="ssql-bench-") as directory:
            span = 7_200 * SECOND
            key = f"CAST(pmod(xxhash64(id, 1), {groups}) AS INT)"
            generate(spark, f"{directory}/warm", rows // 50, rows_sql(key, span, rows // 50))
            generate(spark, f"{directory}/rows", rows, rows_sql(key, span, rows))

            def variants(path: str, slide: int, ratios: tuple[int, ...]) -> dict[str, Any]:
                def query(range_s: int, plan: str) -> Callable[[], Any]:
                    window = f"[RANGE {range_s} seconds, SLIDE {slide} seconds, WA ts]"
                    select = f"SELECT k, {AGGREGATES} {window} FROM s GROUP BY k"
                    return lambda: emitted(spark, path, select, plan)

                made = {"panes": query(slide, "wid")}
                return made | {str(r): query(r * slide, "rolling") for r in ratios}

            for variant in variants(f"{directory}/warm", slide_s, ratios).values():
                seconds(variant())
            times = interleaved(variants(f"{directory}/rows", slide_s, ratios), repeats)
        for ratio in ratios:
            took, over = times[str(ratio)], times[str(ratio)] / times["panes"]
            print(
                f"  SLIDE {slide_s:>2} s, RANGE/SLIDE {ratio:>5,}: {took:6.1f} s,"
                f" {over:5.2f} times the panes alone ({times['panes']:.1f} s)"
            )
        if len(ratios) == 2:
            growth = times[str(ratios[1])] / times[str(ratios[0])]
            print(f"  from {ratios[0]:,} to {ratios[1]:,} it grows by {growth:.2f} (at most 1.3)")
        else:
            over = times[str(ratios[0])] / times["panes"]
            print(f"  at {ratios[0]} it takes {over:.2f} times the panes alone (at most 1.5)")


# ------------------------------------------------------------------ many groups


def groups(spark: Any, scale: float, repeats: int) -> None:
    count = int(1_000_000 * scale)
    print(f"{count:,} groups, RANGE/SLIDE 10, one row a group and window: memory of all processes")
    select = "SELECT k, sum(v) AS total [RANGE 10 seconds, SLIDE 1 second, WA ts] FROM s GROUP BY k"
    with tempfile.TemporaryDirectory(prefix="ssql-bench-") as directory:
        rows = 3 * count
        generate(spark, directory, rows, rows_sql(f"CAST(id % {count} AS INT)", 30 * SECOND, rows))
        for plan in ("rolling", "adaptwid", "wid"):
            with peak_memory() as peak:
                took = seconds(emitted(spark, directory, select, plan))
            print(
                f"  {plan:>8}: {took:6.1f} s, {peak.gigabytes:4.1f} GB at most (8 GB)", flush=True
            )


@dataclass(slots=True)
class Peak:
    gigabytes: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """The most that this process and its children have had in memory at a time."""
    peak = Peak()

    def watch() -> None:
        while not peak.done.wait(0.2):
            peak.gigabytes = max(peak.gigabytes, resident() / 1e9)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield peak
    peak.done.set()
    watcher.join()


def resident() -> int:
    """Bytes, of this process and all below it; memory that they share counts once."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended meanwhile
            children.setdefault(parent, []).append(int(entry.name))
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


# ------------------------------------------------------------------ the paper's skews

# Percent of groups that are small, medium and large, with 1, 15 and 300 rows (Table 6-2).
SKEWS = ((39, 51, 10), (66, 28, 6), (77, 19, 4), (82, 15, 3), (87, 11, 2))
SIZES = (1, 15, 300)


def skewed(skew: tuple[int, ...], count: int, windows: int) -> pa.Table:
    """Rows of `count` groups over so many windows of ten seconds, in order of time."""
    made = np.random.default_rng(6)
    per_group = np.repeat(SIZES, [count * percent // 100 for percent in skew])
    groups = np.tile(np.repeat(np.arange(len(per_group)), per_group), windows)
    window = np.repeat(np.arange(windows), per_group.sum())
    at = START + window * 10 * SECOND + made.integers(0, 10 * SECOND, len(groups))
    order = np.argsort(at, kind="stable")
    return pa.table(
        {
            "at": at[order],
            "key_0": pa.array(np.char.add("10.0.", groups[order].astype(str))),
            "part_0": made.integers(40, 1500, len(groups)),
        }
    )


def skews(spark: Any, scale: float, repeats: int) -> None:
    count = int(20_000 * scale)
    state_module.WORTH_COMPRESSING = 2**40  # what is kept, not how well it compresses
    print(f"bytes of state by skew, {count:,} groups, RANGE 10 s, SLIDE 1 s, sum(len): the average")
    print("  small groups   adaptwid      all lazy     all eager   / lazy  / eager")
    for skew in SKEWS:
        rows = skewed(skew, count, windows=4)
        adaptive = state_bytes(rows, 10 * SECOND, 1.0)
        lazy = state_bytes(rows, 10 * SECOND, float("inf"))
        eager = state_bytes(expanded(rows), SECOND, 0.0)
        print(
            f"  {skew[0]:>10}%  {adaptive:>11,.0f} {lazy:>13,.0f} {eager:>13,.0f}"
            f"   {adaptive / lazy:6.2f}  {adaptive / eager:6.2f}",
            flush=True,
        )


def expanded(rows: pa.Table) -> pa.Table:
    """Eager aggregation as in WID: every row counts in each of the ten windows that it is in, and a
    group has an aggregate in each of these. Each window is a pane of its own here."""
    times = np.repeat(rows["at"].to_numpy(), 10)
    window = times // SECOND + np.tile(np.arange(10), rows.num_rows)
    table = rows.take(pa.array(np.repeat(np.arange(rows.num_rows), 10)))
    return table.set_column(0, "at", pa.array(window * SECOND)).append_column(
        "arrived", pa.array(times)
    )


def state_bytes(rows: pa.Table, range_us: int, eagerness: float) -> float:
    """The average over time, while windows come and go: a step every half second."""
    layout = Layout(("key_0",), {"part_0": "sum"})
    shape = Sliding(range_us, SECOND, 0, (range_us,))
    kernel, chunks = AdaptKernel(layout, shape, eagerness), HeldChunks()
    arrived = rows["arrived" if "arrived" in rows.column_names else "at"].to_numpy()
    rows, kept, sizes = rows.select(["at", "key_0", "part_0"]), None, []
    for until in range(START + SECOND // 2, START + 40 * SECOND, SECOND // 2):
        low, high = np.searchsorted(arrived, [until - SECOND // 2, until])
        state = State(chunks, kept)
        moment = Moment(until - SECOND // 2, is_end=False)
        for _ in kernel.step(state, rows.slice(low, high - low), moment):
            pass
        kept = state.kept()
        if until > START + 15 * SECOND:  # the first windows fill up until then
            sizes.append(sum(map(len, chunks.blobs.values())))
    return statistics.mean(sizes)


# ------------------------------------------------------------------ throughput on raw rows


@dataclass(frozen=True, slots=True)
class EmptyKernel:
    """What the road alone costs, there and back: rows are taken in and forgotten, and as many
    results go back as the operator would have had, so many for a row."""

    results_a_row: float

    def step(self, state: State, rows: pa.Table | None, now: Moment) -> Iterator[pa.Table]:
        left = round(rows.num_rows * self.results_a_row) if rows is not None else 0
        while rows is not None and left > 0:
            piece = rows.slice(0, min(left, rows.num_rows))
            left -= piece.num_rows
            at = piece.column("at").combine_chunks()
            named = {"start": at, "end": at, "time": at}
            columns = {n: piece.column(n) for n in piece.column_names if n != "at"}
            yield pa.table(named | columns)


@contextmanager
def empty_kernels(results_a_row: float) -> Iterator[None]:
    """Operators that are made meanwhile compute nothing."""
    travel, empty = road.travel, EmptyKernel(results_a_row)
    modules = (adaptwid_module, rows_module, tuples_module)
    for module in modules:
        module.travel = lambda frame, traffic, kernel: travel(frame, traffic, empty)
    try:
        yield
    finally:
        for module in modules:
            module.travel = travel


def results_of(frame: Any) -> int:
    """How many results a stream gives."""
    counted = frame.observe("results", F.count("*").alias("rows"))
    checkpoint = tempfile.mkdtemp(prefix="ssql-bench-")
    writer = counted.writeStream.format("noop").option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    shutil.rmtree(checkpoint, ignore_errors=True)
    return sum(p.observedMetrics["results"]["rows"] for p in query.recentProgress)


def skew_key(count: int) -> str:
    """87% of groups have one row of a window, 11% fifteen and 2% three hundred: by rows, these are
    10.2%, 19.4% and 70.4%."""
    row = "pmod(xxhash64(id, 1), 1000)"
    some = "pmod(xxhash64(id, 3), {n})"
    small, medium, large = (some.format(n=count * p // 100) for p in (87, 11, 2))
    return (
        f"CAST(CASE WHEN {row} < 102 THEN {small} WHEN {row} < 296 THEN {count} + {medium}"
        f" ELSE {2 * count} + {large} END AS INT)"
    )


def throughput(spark: Any, scale: float, repeats: int) -> None:
    rows = int(8_000_000 * scale)
    print(f"rows a second on raw rows, {rows:,} rows, and the time beside the road alone (1.5)")
    cases = {
        "adaptwid, 87% small groups": (
            skew_key(100_000), 80 * SECOND, "adaptwid", 400_000,
            "SELECT k, sum(v) AS total [RANGE 10 seconds, SLIDE 1 second, WA ts] FROM s GROUP BY k",
        ),
        "partitioned, 100,000 partitions": (
            "CAST(pmod(xxhash64(id, 1), 100000) AS INT)", 3_600 * SECOND, None, 200_000,
            "SELECT k, max(v) AS top [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA k] FROM s",
        ),
        "slide-by-tuple, 5 minutes": (
            "CAST(pmod(xxhash64(id, 1), 1000) AS INT)", 3_600 * SECOND, None, 300_000,
            "SELECT max(v) AS top [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num] FROM s",
        ),
    }  # fmt: skip
    for name, (key, span, plan, least, select) in cases.items():
        with tempfile.TemporaryDirectory(prefix="ssql-bench-") as directory:
            generate(spark, f"{directory}/rows", rows, rows_sql(key, span, rows))
            made = (spark, f"{directory}/rows", select, plan)
            share = results_of(emitted(*made)) / rows

            def road_alone(made: Any = made, share: float = share) -> Any:
                with empty_kernels(share):
                    return emitted(*made)

            seconds(road_alone())
            variants = {"road": road_alone, "all": lambda made=made: emitted(*made)}
            times = interleaved(variants, repeats)
        print(
            f"  {name:<32} {rows / times['all']:>11,.0f} (at least {least:,}),"
            f" {times['all'] / times['road']:5.2f} times the road alone"
            f" with as many results ({share:.2f} a row)",
            flush=True,
        )


Part = Callable[[Any, float, int], None]
# Memory first: what a part before it has left in the JVM's heap would count.
PARTS = {"groups": groups, "skews": skews, "rolling": rolling, "throughput": throughput}


def run(about: str | None, parts: Mapping[str, Part]) -> None:
    """The parts of a benchmark, by what the command line says."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rows", type=float, default=1.0, help="so many times the usual rows")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", choices=parts, help="one part")
    options = parser.parse_args()
    log = Path(tempfile.mkdtemp(prefix="ssql-bench-")) / "spark.log"
    spark = session.start("ssql bench", session.settings("local[*]", {}, set(), {}), log)
    for name, part in parts.items():
        if options.only in (None, name):
            part(spark, options.rows, options.repeats)
    spark.stop()
    shutil.rmtree(log.parent, ignore_errors=True)


if __name__ == "__main__":
    run(__doc__, PARTS)
