"""Streams as a run reads them: rows are counted, and heartbeats move the watermark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from ssql.planner.job import JobSource
from ssql.runtime.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Later than any row may be, so that every window closes.
END_OF_TIME = "9000-01-01T00:00:00"
_HEARTBEAT = "__heartbeat"
EARLIEST, LATEST = "earliest", "latest"


def quoted(name: str) -> str:
    """A column's name as SQL, whatever it is."""
    return "`" + name.replace("`", "``") + "`"


def rows_in(source: JobSource) -> str:
    """The name under which Spark reports what a stream brought."""
    return f"in {source.frame}"


def read(
    spark: SparkSession, module: ModuleType, source: JobSource, heartbeats: str | None
) -> DataFrame:
    """A stream or table as the emitted module reads it. `heartbeats` is a directory."""
    frame: DataFrame = getattr(module, source.reader)(spark)
    if not source.is_stream:
        return frame
    frame = _counted(frame, source)
    if source.time is None or heartbeats is None:
        return getattr(module, source.acceptor)(frame) if source.acceptor else frame
    return _with_heartbeats(spark, frame, source, heartbeats)


def _counted(frame: DataFrame, source: JobSource) -> DataFrame:
    from pyspark.sql import functions as F

    if source.plausible is not None:
        rejected = f"NOT coalesce({source.plausible}, false)"
    elif source.acceptor is not None:
        rejected = " AND ".join(f"{quoted(n)} IS NULL" for n, _ in source.columns)
    else:
        rejected = "false"
    seen = {"rows": "count(*)", "rejected": f"count_if({rejected})"}
    if source.plausible is not None and source.time is not None:
        time = f"if({source.plausible}, unix_micros({quoted(source.time)}), NULL)"
        seen |= {EARLIEST: f"min({time})", LATEST: f"max({time})"}
    for at, columns in enumerate(source.groupings):
        values = ", ".join(map(quoted, columns))
        seen[distinct_in(at)] = f"approx_count_distinct(struct({values}))"
    return frame.observe(rows_in(source), *(F.expr(sql).alias(n) for n, sql in seen.items()))


def distinct_in(grouping: int) -> str:
    """The name under which Spark reports how many groups a batch had."""
    return f"distinct {grouping}"


def _with_heartbeats(
    spark: SparkSession, frame: DataFrame, source: JobSource, directory: str
) -> DataFrame:
    """Rows and heartbeats under one watermark, and then the rows alone.

    Spark pushes filters below the watermark if they do not mention the event time: the query's
    WHERE would keep heartbeats (and rows that it drops) from moving time. It does not push them
    past a condition that is not deterministic, so the one that drops the heartbeats is made so.
    """
    from pyspark.sql import functions as F

    assert source.time is not None and source.delay is not None and source.plausible is not None
    time, schema = quoted(source.time), frame.schema
    columns = [
        F.expr(time) if f.name == source.time else F.lit(None).cast(f.dataType).alias(f.name)
        for f in schema.fields
    ]
    reader = spark.readStream.schema(f"{time} {schema[source.time].dataType.simpleString()}")
    beats = reader.json(directory).select(*columns, F.lit(True).alias(_HEARTBEAT))
    rows = frame.where(source.plausible).withColumn(_HEARTBEAT, F.lit(False))
    both = rows.union(beats).withWatermark(time, source.delay)
    return both.where(f"NOT ({_HEARTBEAT} AND spark_partition_id() >= 0)").drop(_HEARTBEAT)


def heartbeat_directories(root: str, sources: tuple[JobSource, ...]) -> Mapping[str, str]:
    return {s.frame: f"{root}/heartbeats/{s.frame}" for s in sources if s.time is not None}


def end_time(storage: Storage, source: JobSource, directory: str) -> None:
    """The last heartbeat of a stream: nothing more is to come."""
    assert source.time is not None
    storage.write(f"{directory}/end.json", json.dumps({source.time: END_OF_TIME}) + "\n")
