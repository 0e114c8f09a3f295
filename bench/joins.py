"""Joins of streams: Spark's own beside one written by hand, ordered ones beside the road that rows
take to an operator, and how long rows wait in them beside what the paper's formulas say.

All in one process and warm. `--only response` runs one part; `--rows 2` doubles the rows.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pyarrow as pa
from operators import interleaved, run, seconds
from pyspark.sql import functions as F

from ssql.compiler.pipeline import compile_job
from ssql.compiler.source import Source
from ssql.planner.ordered import ADAPTIVE, FILTER_ORDER, JOIN_PLANS, SYNC_FILTER
from ssql.runtime.operators import ordered_join as ordered_join_module
from ssql.runtime.operators.asking import Asked
from ssql.runtime.operators.meeting import JoinWindow, Meeting
from ssql.runtime.operators.merging import AT
from ssql.runtime.operators.ordered_join import ALPHA, OrderedJoinKernel, in_result
from ssql.runtime.operators.processor import HeldChunks, Moment
from ssql.runtime.operators.state import State

SECOND = 1_000_000
FILES, FILES_A_BATCH = 8, 2
NATIVE_LIMIT, ROAD_LIMIT, LEAST_ROWS = 1.1, 2.0, 200_000


# ------------------------------------------------------------------ with Spark


def generate(spark: Any, path: str, rows: int, salt: int, partners: int = 1) -> None:
    """In order of time, over an hour; so many rows of each stream have a key, at about the same
    time."""
    step = 3_600 * SECOND / rows
    spark.range(0, rows, 1, FILES).selectExpr(
        f"CAST(id DIV {partners} AS INT) AS k",
        f"CAST(pmod(xxhash64(id, {salt}), 1500) AS INT) AS v",
        f"timestamp_micros(1767225600000000 + CAST(id * {step!r} AS BIGINT)) AS ts",
    ).write.parquet(path)


def module_of(directory: str, select: str, plan: str | None) -> ModuleType:
    streams = "".join(
        f"CREATE STREAM {name} (k INT, v INT, ts TIMESTAMP,"
        " WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) WITH (connector = 'file', format ="
        f" 'parquet', path = '{directory}/{name}', maxFilesPerTrigger = {FILES_A_BATCH});\n"
        for name in ("a", "b")
    )
    job, diagnostics = compile_job(Source("bench.ssql", f"{streams}{select};"), plan)
    assert job is not None, list(diagnostics)
    module = ModuleType("bench_job")
    exec(compile(job.code, "bench.py", "exec"), module.__dict__)
    return module


def read(spark: Any, module: ModuleType) -> tuple[Any, Any]:
    return module.accept_a(module.read_a(spark)), module.accept_b(module.read_b(spark))


def native(spark: Any, scale: float, repeats: int) -> None:
    rows = int(500_000 * scale)
    select = "SELECT a.k, b.v FROM a [RANGE 1 minute], b [RANGE 2 minutes] WHERE a.k = b.k"
    with tempfile.TemporaryDirectory(prefix="ssql-bench-") as directory:
        for salt, name in enumerate("ab"):
            generate(spark, f"{directory}/{name}", rows, salt)
        module = module_of(directory, select, None)

        def ours() -> Any:
            return module.query_1(*read(spark, module))

        def by_hand() -> Any:
            a, b = read(spark, module)
            return (
                a.alias("a")
                .join(
                    b.alias("b"),
                    F.expr(
                        "a.k = b.k AND b.ts > a.ts - INTERVAL 2 minutes"
                        " AND b.ts < a.ts + INTERVAL 1 minute"
                    ),
                )
                .selectExpr("a.k", "b.v")
            )

        seconds(ours())
        times = interleaved({"hand": by_hand, "ours": ours}, max(repeats, 3))
    print(
        f"Spark's own join, {2 * rows:,} rows: {2 * rows / times['ours']:,.0f} rows a second,"
        f" {times['ours'] / times['hand']:.2f} times the one by hand (at most {NATIVE_LIMIT})",
        flush=True,
    )


@dataclass(frozen=True, slots=True)
class EmptyKernel:
    """What the road alone costs: rows are taken in and forgotten, and a result goes back for each
    pair of rows that came, whichever they are."""

    columns: tuple[tuple[str, ...], ...]

    def step(
        self, state: State, tables: Sequence[pa.Table | None], now: Moment
    ) -> Iterator[pa.Table]:
        if all(t is not None for t in tables):
            number = min(t.num_rows for t in tables if t is not None)
            found = {}
            for side, table in enumerate(tables):
                rows = table.slice(0, number)  # type: ignore[union-attr]
                found |= {in_result(side, c): rows.column(c) for c in self.columns[side]}
                found[AT] = rows.column(AT)
            yield pa.table(found)


@contextmanager
def empty_kernels() -> Iterator[None]:
    """Ordered joins that are made meanwhile compute nothing."""
    kernel = ordered_join_module.OrderedJoinKernel
    ordered_join_module.OrderedJoinKernel = (  # type: ignore[misc,assignment]
        lambda meeting, columns, *rest: EmptyKernel(columns)
    )
    try:
        yield
    finally:
        ordered_join_module.OrderedJoinKernel = kernel  # type: ignore[misc]


def throughput(spark: Any, scale: float, repeats: int) -> None:
    rows = int(2_000_000 * scale)
    print(f"ordered joins, {2 * rows:,} rows, one match a row, window 1 minute")
    select = "SELECT a.k, a.v, b.v AS w FROM a, b WHERE a.k = b.k WINDOW 1 minute"
    with tempfile.TemporaryDirectory(prefix="ssql-bench-") as directory:
        for salt, name in enumerate("ab"):
            generate(spark, f"{directory}/{name}", rows, salt)

        def frame_of(plan: str) -> Any:
            module = module_of(directory, select, plan)
            return module.query_1(*read(spark, module))

        def road() -> Any:
            with empty_kernels():
                return frame_of(SYNC_FILTER)

        seconds(road())
        variants = {"road": road} | {p: lambda p=p: frame_of(p) for p in JOIN_PLANS}
        times = interleaved(variants, repeats)
    for plan in JOIN_PLANS:
        print(
            f"  {plan:<12} {2 * rows / times[plan]:>9,.0f} rows a second (at least"
            f" {LEAST_ROWS:,}), {times[plan] / times['road']:.2f} times the road with an empty"
            f" kernel (at most {ROAD_LIMIT})",
            flush=True,
        )


# ------------------------------------------------------------------ how long rows wait


SLOW, FAST, WINDOW_SECONDS = 1.0, 10.0, 60
MINUTES = 6
# What a pair of rows takes: from a microsecond to where a join hardly keeps up.
PAIR_SECONDS = (1e-6, 1e-5, 1e-4, 2e-4, 4e-4, 5e-4, 6e-4, 8e-4)


@dataclass(slots=True)
class Clock:
    """The time of the simulation. Work takes the time that it takes here, and each pair of rows
    that is compared takes so much more."""

    pair_seconds: float
    now: float = 0.0
    spent: float = 0.0

    def compare(self, a: int, b: int) -> bool:
        self.spent += self.pair_seconds
        return (a + b) % 50 == 0

    def seconds(self) -> float:
        from time import perf_counter

        return perf_counter() + self.spent


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question that stays in this process, with its clock."""

    asked: Asked

    def kept(self, tables: Sequence[pa.Table | None], rows: Sequence[Any]) -> Any:
        columns = {
            name: table.column("c_0").take(pa.array(places, pa.int64())).combine_chunks()  # type: ignore[union-attr]
            for name, table, places in zip(self.asked.arguments, tables, rows, strict=True)
        }
        return self.asked.holds(columns).nonzero()[0]


@dataclass(slots=True)
class Simulation:
    """Rows arrive as in the paper: each stream is in order, by exponential distances. The join gets
    what has arrived whenever it is idle; time is as far as the slower stream."""

    plan: str
    pair_seconds: float
    clock: Clock = field(init=False)
    waited: list[float] = field(default_factory=list)
    switched_after: float | None = None

    def run(self, seed: int = 1) -> float:
        """The average response time in seconds."""
        self.clock = Clock(self.pair_seconds)
        asked = Asked(self.clock.compare, ["a.v", "b.v"])
        span = WINDOW_SECONDS * SECOND
        kernel = OrderedJoinKernel(
            Meeting(JoinWindow((span, span)), ()),
            (("c_0",), ("c_0",)),
            self.plan,
            (Comparison(asked),),  # type: ignore[arg-type]
            seconds=self.clock.seconds,
        )
        arrivals = sorted(_arrivals(seed, SLOW, 0) + _arrivals(seed + 1, FAST, 1))
        chunks, kept, at = HeldChunks(), None, 0
        waiting: list[int] = []  # microseconds
        last = [0, 0]
        watermark = 0
        while at < len(arrivals):
            self.clock.now = max(self.clock.now, arrivals[at][0] / SECOND)
            batch: list[list[int]] = [[], []]
            while at < len(arrivals) and arrivals[at][0] / SECOND <= self.clock.now:
                time, side = arrivals[at]
                batch[side].append(time)
                last[side] = time
                waiting.append(time)
                at += 1
            kept = self._step(kernel, chunks, kept, batch, watermark)
            if min(last) + 1 > watermark:
                watermark = min(last) + 1
                kept = self._step(kernel, chunks, kept, [[], []], watermark)
            final = [time for time in waiting if time < watermark]
            waiting = [time for time in waiting if time >= watermark]
            # The windows of the first minute are not full yet.
            self.waited += [self.clock.now - t / SECOND for t in final if t > span]
        return sum(self.waited) / len(self.waited)

    def _step(
        self,
        kernel: OrderedJoinKernel,
        chunks: HeldChunks,
        kept: dict[str, Any] | None,
        batch: list[list[int]],
        watermark: int,
    ) -> dict[str, Any] | None:
        tables = [
            pa.table({AT: pa.array(times, pa.int64()), "c_0": pa.array(times, pa.int64())})
            if times
            else None
            for times in batch
        ]
        begun = self.clock.seconds()
        state = State(chunks, kept)
        for _ in kernel.step(state, tables, Moment(watermark, is_end=False)):
            pass
        self.clock.now += self.clock.seconds() - begun
        if state.memo.get("on_arrival") and self.switched_after is None:
            self.switched_after = self.clock.now
        return state.kept()


def _arrivals(seed: int, rate: float, side: int) -> list[tuple[int, int]]:
    chance, time, found = random.Random(seed), 0.0, []
    while time < MINUTES * 60:
        time += chance.expovariate(rate)
        found.append((int(time * SECOND) + 1, side))
    return found


def response(spark: Any, scale: float, repeats: int) -> None:
    """Milliseconds until a row is completely processed, on average."""
    n = FAST / SLOW
    by_arrival = 1 / SLOW - (n - 1) / (2 * FAST)
    print(
        f"response in ms, Poisson arrivals of {SLOW:g} and {FAST:g} rows/s, window"
        f" {WINDOW_SECONDS} s, {MINUTES} minutes; in brackets Eq. 3 and 5; alpha is {ALPHA}"
    )
    print(
        f"{'c in ms':>8} {'c·|w|·λ1·λ2':>12} {'sync-filter':>18} {'filter-order':>18}"
        f" {'adaptive':>10}  switched after  filter-order / sync  adaptive / better"
    )
    for pair in PAIR_SECONDS:
        load = pair * WINDOW_SECONDS * SLOW * FAST
        together = by_arrival + (n + 1) / 2 * pair * WINDOW_SECONDS * SLOW
        found = {plan: Simulation(plan, pair) for plan in JOIN_PLANS}
        times = {plan: 1000 * simulation.run() for plan, simulation in found.items()}
        sync, arrival, adaptive = times[SYNC_FILTER], times[FILTER_ORDER], times[ADAPTIVE]
        after = found[ADAPTIVE].switched_after
        switched = "never" if after is None else f"{after:.0f} s"
        print(
            f"{pair * 1000:>8.3g} {load:>12.3g} {sync:>9,.0f} ({1000 * together:>5,.0f})"
            f" {arrival:>10,.0f} ({1000 * by_arrival:>5,.0f}) {adaptive:>10,.0f}"
            f"  {switched:>14} {arrival / sync:>20.2f} {adaptive / min(sync, arrival):>18.2f}",
            flush=True,
        )


PARTS = {"native": native, "throughput": throughput, "response": response}


if __name__ == "__main__":
    run(__doc__, PARTS)
