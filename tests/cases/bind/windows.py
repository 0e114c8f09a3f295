# Compiled by ssql 0.1.0 from windows.ssql.
#
# query_1: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_2: plan wid, because a row is in 4 windows only, and panes would take a second
#   aggregate.
# query_3: plan wid, because a row is in 2 windows only, and panes would take a second
#   aggregate.
# query_4: plan wid, because RANGE < SLIDE, so each row is in one window and panes save
#   nothing.
# query_5: plan paned, because a row is in up to 24 windows: it is aggregated once, in
#   one of 24 panes of 1 hour a window, and windows are made of panes.
# query_6: plan paned, because a row is in up to 10 windows: it is aggregated once, in
#   one of 10 panes of 1 minute a window, and windows are made of panes.
# query_7: plan rows, because rows are numbered in order of time, all of them in one
#   task.
# query_8: plan partitioned, because rows are numbered in order of time, for each value
#   of PA.
# query_9: plan landmark, because RANGE ALL: a group keeps one aggregate, of all its
#   panes so far.
# query_10: plan slide-by-tuple, because windows end with rows: each time is aggregated
#   once.
# query_11: plan rolling, because a row is in up to 60 windows: it is aggregated once,
#   in a pane of 1 minute, and each pane is merged once, however many windows it is in.
# query_12: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_13: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.landmark import landmark
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rolling import rolling
from ssql.runtime.operators.rows import row_windows
from ssql.runtime.operators.tuples import tuple_windows


def read_s(spark: SparkSession) -> DataFrame:
    # CREATE STREAM s
    return (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 100)
        .load()
        .where("value < 100")
        .selectExpr(
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'k'), 1048576) / 1048576D) AS INT)) AS k",
            "CAST(floor(pmod(xxhash64(value, 0, 'v'), 1048576) / 1048576D * 1000) AS INT) AS v",
            "CAST(timestamp_micros(1767225600000000 + CAST(value * 1000.0 AS BIGINT)) AS TIMESTAMP) AS ts",
        )
    )


def accept_s(s: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = s.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def read_t(spark: SparkSession) -> DataFrame:
    # CREATE STREAM t
    return (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 1000)
        .load()
        .selectExpr(
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'k'), 1048576) / 1048576D) AS INT)) AS k",
            "CAST(floor(pmod(xxhash64(value, 0, 'v'), 1048576) / 1048576D * 1000) AS INT) AS v",
            "CAST(floor(pmod(xxhash64(value, 0, 'seq'), 1048576) / 1048576D * 1000) AS BIGINT) AS seq",
            "CAST(timestamp AS TIMESTAMP) AS ts",
        )
    )


def accept_t(t: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = t.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts
    return timed.withWatermark("ts", "0 seconds")


def query_1(s: DataFrame) -> DataFrame:
    # [RANGE 10 minutes]
    grouped = s.groupBy(F.window("ts", "10 minutes"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 10 minutes]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_2(s: DataFrame) -> DataFrame:
    # [SLIDE 1.6 sec RANGE 6.4 sec]
    grouped = s.groupBy(F.window("ts", "6400 milliseconds", "1600 milliseconds"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [SLIDE 1.6 sec RANGE 6.4 sec]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_3(s: DataFrame) -> DataFrame:
    # [RANGE 90 seconds, SLIDE 60 seconds]
    grouped = s.groupBy(
        F.window("ts", "90 seconds", "1 minute", startTime="30 seconds"),
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 90 seconds, SLIDE 60 seconds]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_4(s: DataFrame) -> DataFrame:
    # [RANGE 20 seconds, SLIDE 1 minute]
    windowed = s.select("*", F.window("ts", "1 minute").alias("window"))
    # SLIDE > RANGE: not what is between windows
    inside = windowed.where("ts >= window.end - INTERVAL 20 seconds")
    # the rows of each window
    grouped = inside.groupBy("window")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 20 seconds, SLIDE 1 minute]
    return aggregated.selectExpr(
        "(window.end - INTERVAL '20' SECONDS) AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_5(s: DataFrame) -> DataFrame:
    # panes of 1 hour
    by_pane = s.groupBy(F.window("ts", "1 hour").alias("pane"))
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 1 day, SLIDE 1 hour, ORIGIN '2026-01-01T06:00:00+02:00']
    by_window = panes.groupBy(F.window("pane", "1 day", "1 hour"))
    # windows from panes
    windows = by_window.agg(F.expr("sum(`count(*)`) AS `count(*)`"))
    # SELECT count(*) [RANGE 1 day, SLIDE 1 hour, ORIGIN '2026-01-01T06:00:00+02:00']
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_6(s: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY k
    by_pane = s.groupBy(F.window("ts", "1 minute").alias("pane"), "k")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 10 minutes, SLIDE 1 minute, PA k]
    by_window = panes.groupBy(F.window("pane", "10 minutes", "1 minute"), "k")
    # windows from panes
    windows = by_window.agg(F.expr("sum(`count(*)`) AS `count(*)`"))
    # SELECT k, count(*) [RANGE 10 minutes, SLIDE 1 minute, PA k]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "k",
        "`count(*)`",
    )


def query_7(t: DataFrame) -> DataFrame:
    # [RANGE 100 rows]
    windows = row_windows(
        t,
        time="ts",
        order=["ts", "seq", "k", "v"],
        range=100,
        slide=100,
        keys=[],
        parts=[Part("max", "v", "max(v)")],
    )
    # SELECT max(v) [RANGE 100 rows]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`max(v)`",
    )


def query_8(t: DataFrame) -> DataFrame:
    # [RANGE 100 rows, SLIDE 10 rows, WA row_num, PA k]
    windows = row_windows(
        t,
        time="ts",
        order=["ts", "seq", "k", "v"],
        range=100,
        slide=10,
        keys=["k"],
        partition=["k"],
        parts=[Part("max", "v", "max(v)")],
    )
    # SELECT k, max(v) [RANGE 100 rows, SLIDE 10 rows, WA row_num, PA k]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "k",
        "`max(v)`",
    )


def query_9(s: DataFrame) -> DataFrame:
    # panes of 500 milliseconds GROUP BY k
    by_pane = s.groupBy(F.window("ts", "500 milliseconds").alias("pane"), "k")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE ALL, SLIDE 500 ms]
    windows = landmark(
        panes,
        pane="pane",
        slide="500 milliseconds",
        keys=["k"],
        parts=[Part("sum", "`count(*)`", "count(*)")],
    )
    # SELECT k, count(*) [RANGE ALL, SLIDE 500 ms]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "k",
        "`count(*)`",
    )


def query_10(s: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]
    windows = tuple_windows(
        s,
        time="ts",
        range="5 minutes",
        slide=5,
        keys=[],
        parts=[Part("max", "v", "max(v)")],
    )
    # SELECT max(v) [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`max(v)`",
    )


def query_11(s: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY k
    by_pane = s.groupBy(F.window("ts", "1 minute").alias("pane"), "k")
    # sum(v), count(*)
    panes = by_pane.agg(F.expr("sum(v) AS short_sum"), F.expr("count(*) AS n_count"))
    # [RANGE 1 hour, SLIDE 1 minute]
    windows = rolling(
        panes,
        pane="pane",
        range="1 hour",
        slide="1 minute",
        keys=["k"],
        parts=[
            Part("sum", "short_sum", "short_sum", "1 minute"),
            Part("sum", "short_sum", "short_sum_"),
            Part("sum", "n_count", "n_count", "1 minute"),
        ],
    )
    # what is shown: short, long, n
    finished = windows.selectExpr(
        "*",
        "short_sum AS short",
        "short_sum_ AS long",
        "coalesce(n_count, 0) AS n",
    )
    # SELECT k, sum(v) AS short [RANGE 1 minute, SLIDE 1 minute], sum(v) AS long [RANGE
    #   1 hour, SLIDE 1 minute], count(*) AS n
    return finished.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "k",
        "short",
        "long",
        "n",
    )


def query_12(s: DataFrame) -> DataFrame:
    # [RANGE 1 minute]
    grouped = s.groupBy(F.window("ts", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # max(n)
    aggregated_2 = grouped_2.agg(F.expr("max(n) AS peak"))
    # SELECT window_end, max(n) AS peak [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "peak",
    )


def query_13(s: DataFrame) -> DataFrame:
    # [RANGE 1 minute]
    grouped = s.groupBy(F.window("ts", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # max(n)
    aggregated_2 = grouped_2.agg(F.expr("max(n) AS `max(n)`"))
    # SELECT max(n) [RANGE 1 hour]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "`max(n)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("windows")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    s = accept_s(read_s(spark))
    t = accept_t(read_t(spark))
    query_1(s).writeStream.format("console").option("truncate", False).start()
    query_2(s).writeStream.format("console").option("truncate", False).start()
    query_3(s).writeStream.format("console").option("truncate", False).start()
    query_4(s).writeStream.format("console").option("truncate", False).start()
    query_5(s).writeStream.format("console").option("truncate", False).start()
    query_6(s).writeStream.format("console").option("truncate", False).start()
    query_7(t).writeStream.format("console").option("truncate", False).start()
    query_8(t).writeStream.format("console").option("truncate", False).start()
    query_9(s).writeStream.format("console").option("truncate", False).start()
    query_10(s).writeStream.format("console").option("truncate", False).start()
    query_11(s).writeStream.format("console").option("truncate", False).start()
    query_12(s).writeStream.format("console").option("truncate", False).start()
    query_13(s).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
