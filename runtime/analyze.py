"""A bounded look at the rows of a stream: what plans are chosen by."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ssql.planner.cost.zipf import distinct_behind
from ssql.planner.job import Job, JobSource
from ssql.planner.statistics import Observed, width_of
from ssql.runtime import session
from ssql.runtime.emitted import load_module
from ssql.runtime.failures import Kind, RunFailure, explained, spark_errors
from ssql.runtime.progress import quoted
from ssql.runtime.run import Options

if TYPE_CHECKING:
    from types import ModuleType

    from pyspark.sql import DataFrame, SparkSession

# The most frequent groups, by which skew is judged, and the fewest that say something about it.
_FREQUENT, _FEWEST = 1_000, 10
_STEEPEST = 5.0
_PART, _NUMBER = "__part", "__number"  # where a row was read, and its place there


def analyze(job: Job, options: Options, most_rows: int) -> Iterator[tuple[str, Observed]]:
    """Each stream that the queries read, and what its first rows are like."""
    connectors = {s.connection.connector for s in job.sources}
    log = session.new_log()
    chosen = session.settings(options.master, options.settings, connectors, {})
    spark = session.start(f"ssql {job.name}", chosen, log)
    module = load_module(job, spark, options.module_path)
    for source in job.sources:
        if source.is_stream:
            try:
                seen = _sampled(spark, module, source, most_rows)
            except spark_errors() as error:
                raise explained(error, source.span) from error
            if seen is not None:
                yield source.name, seen
    log.unlink(missing_ok=True)


def _sampled(
    spark: SparkSession, module: ModuleType, source: JobSource, most_rows: int
) -> Observed | None:
    """Of the first batch that has rows; None, if there are none."""
    from pyspark.sql import functions as F

    if source.connection.connector in ("rate", "socket"):
        raise RunFailure(
            Kind.SOURCE,
            f"{source.name} has no rows yet, and nobody knows when they come",
            about=source.span,
            helps=("declare what is known of it, as in WITH (stats.rate = 5000)",),
        )
    frame: DataFrame = getattr(module, source.reader)(spark)
    if source.plausible is not None:
        frame = frame.where(source.plausible)
    found: list[Observed] = []

    def look(batch: DataFrame, number: int) -> None:
        numbered = batch.withColumns(
            {_PART: F.spark_partition_id(), _NUMBER: F.monotonically_increasing_id()}
        )
        if not found and (seen := _look(numbered.limit(most_rows), source)) is not None:
            found.append(seen)

    checkpoint = tempfile.mkdtemp(prefix="ssql-analyze-")
    try:
        writer = frame.writeStream.foreachBatch(look).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        while not found and not query.awaitTermination(session.POLL_SECONDS):
            pass
        query.stop()
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return found[0] if found else None


def _look(rows: DataFrame, source: JobSource) -> Observed | None:
    rows = rows.persist()
    try:
        return _observed(rows, source)
    finally:
        rows.unpersist()


def _observed(rows: DataFrame, source: JobSource) -> Observed | None:
    from pyspark.sql import functions as F

    columns = [(name,) for name, _ in source.columns if name != source.time]
    groupings = list(dict.fromkeys([*columns, *source.groupings]))
    sums = {"rows": "count(*)", "bytes": _bytes_sql(source)}
    if source.time is not None:
        time = quoted(source.time)
        sums |= {"earliest": f"min(unix_micros({time}))", "latest": f"max(unix_micros({time}))"}
    for at, names in enumerate(groupings):
        sums[f"distinct {at}"] = f"approx_count_distinct({_together(names)})"
    seen = rows.agg(*(F.expr(sql).alias(name) for name, sql in sums.items())).first()
    if seen is None or not seen["rows"]:
        return None
    count = int(seen["rows"])
    seconds = (seen["latest"] - seen["earliest"]) / 1e6 if source.time else 0.0
    distinct = {
        ",".join(names).casefold(): round(distinct_behind(count, seen[f"distinct {at}"]))
        for at, names in enumerate(groupings)
    }
    return Observed(
        rate=count / seconds if seconds > 0 else None,
        distinct=distinct,
        skew=_skew(rows, source),
        row_bytes=seen["bytes"],
        disorder_seconds=_disorder(rows, source.time) if source.time else None,
        rows=count,
    )


def _together(names: tuple[str, ...]) -> str:
    return f"struct({', '.join(map(quoted, names))})"


def _bytes_sql(source: JobSource) -> str:
    """Texts by their length, other columns by their type."""
    widths = [
        f"avg(octet_length({quoted(name)}))" if type.upper() == "STRING" else str(width_of(type))
        for name, type in source.columns
    ]
    return " + ".join(f"coalesce({w}, 0.0)" for w in widths)


def _skew(rows: DataFrame, source: JobSource) -> float | None:
    """Zipf's exponent: how fast the logarithm of a group's size falls with that of its rank."""
    from pyspark.sql import functions as F

    if not source.groupings:
        return None
    grouped = rows.groupBy(*(F.expr(quoted(c)) for c in source.groupings[0])).count()
    sizes = [r["count"] for r in grouped.orderBy(F.desc("count")).limit(_FREQUENT).collect()]
    if len(sizes) < _FEWEST:
        return None
    ranks = [math.log(rank) for rank in range(1, len(sizes) + 1)]
    logs = [math.log(size) for size in sizes]
    # Each rank counts by its share of the axis: the many last ones are not to outvote the first.
    weights = [1 / rank for rank in range(1, len(sizes) + 1)]
    total = sum(weights)
    x = sum(w * r for w, r in zip(weights, ranks, strict=True)) / total
    y = sum(w * s for w, s in zip(weights, logs, strict=True)) / total
    slope = sum(w * (r - x) * (s - y) for w, r, s in zip(weights, ranks, logs, strict=True))
    spread = sum(w * (r - x) ** 2 for w, r in zip(weights, ranks, strict=True))
    return round(min(max(-slope / spread, 0.0), _STEEPEST), 2)


def _disorder(rows: DataFrame, time: str) -> float:
    """How far a row's time is behind the latest one before it, at most. Rows that were read side by
    side have no order among each other."""
    from pyspark.sql import functions as F

    at = rows.selectExpr(f"unix_micros({quoted(time)}) AS at", _PART, _NUMBER)
    before = f"max(at) OVER (PARTITION BY {_PART} ORDER BY {_NUMBER} ROWS UNBOUNDED PRECEDING)"
    found = at.selectExpr(f"{before} - at AS behind").agg(F.max("behind")).first()
    return float(found[0]) / 1e6 if found is not None and found[0] is not None else 0.0
