# Compiled by ssql 0.1.0 from operators.ssql.
#
# query_1: plan rolling, because it was asked for.
# query_2: plan adaptwid, because it was asked for.
# query_3: plan landmark, because RANGE ALL: a group keeps one aggregate, of all its
#   panes so far.
# query_4: plan partitioned, because rows are numbered in order of time, for each value
#   of PA.
# query_5: plan rows, because rows are numbered in order of time, all of them in one
#   task.
# query_6: plan slide-by-tuple, because windows end with rows: each time is aggregated
#   once.
# query_7: plan slide-by-tuple, because windows end with rows: each time is aggregated
#   once.
# query_8: plan rows over wid, because rows are numbered in order of time, all of them
#   in one task; RANGE = SLIDE, so each row is in one window and panes save nothing.
# query_9: plan rolling, because it was asked for.
# query_10: plan wid over slide-by-tuple, because RANGE = SLIDE, so each row is in one
#   window and panes save nothing; windows end with rows: each time is aggregated once.
# query_11: plan adaptwid, because one operator makes 8640 windows a row of its panes:
#   an aggregate in Spark's state would cost more for each of them.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.adaptwid import adaptwid
from ssql.runtime.operators.landmark import landmark
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rolling import rolling
from ssql.runtime.operators.rows import row_windows
from ssql.runtime.operators.tuples import tuple_windows


def read_s(spark: SparkSession) -> DataFrame:
    # CREATE STREAM s
    return (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 1000)
        .load()
        .where("value < 1000")
        .selectExpr(
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'k'), 1048576) / 1048576D) AS INT)) AS k",
            "CAST(floor(pmod(xxhash64(value, 0, 'window'), 1048576) / 1048576D * 1000) AS INT) AS window",
            "CAST(floor(pmod(xxhash64(value, 0, 'v'), 1048576) / 1048576D * 1000) AS INT) AS v",
            "CAST(floor(pmod(xxhash64(value, 0, 'seq'), 1048576) / 1048576D * 1000) AS BIGINT) AS seq",
            "CAST(timestamp_micros(1767225600000000 + CAST(value * 1000.0 AS BIGINT)) AS TIMESTAMP) AS ts",
        )
    )


def accept_s(s: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = s.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def query_1(s: DataFrame) -> DataFrame:
    # WHERE v > 3
    filtered = s.where("v > 3")
    # panes of 1 minute GROUP BY k
    by_pane = filtered.groupBy(
        F.window("ts", "1 minute", startTime="30 seconds").alias("pane"),
        "k",
    )
    # count(*), avg(v), stddev(v), approx_count_distinct(v)
    panes = by_pane.agg(
        F.expr("count(*) AS n"),
        F.expr("sum(CAST(v AS DOUBLE)) AS mean_sum"),
        F.expr("count(v) AS mean_count"),
        F.expr(
            "named_struct('n', CAST(count(v) AS DOUBLE), 'mean', avg(CAST(v AS DOUBLE)), 'm2', var_pop(CAST(v AS DOUBLE)) * count(v)) AS spread_moments"
        ),
        F.expr(
            "hll_sketch_agg(xxhash64(v), 12) FILTER (WHERE isnotnull(v)) AS values_sketch"
        ),
    )
    # [RANGE 10 minutes, SLIDE 1 minute, ORIGIN '2026-01-01 00:00:30']
    windows = rolling(
        panes,
        pane="pane",
        range="10 minutes",
        slide="1 minute",
        origin=1767225630000000,
        keys=["k"],
        parts=[
            Part("sum", "n", "n"),
            Part("sum", "mean_sum", "mean_sum"),
            Part("sum", "mean_count", "mean_count"),
            Part("moments", "spread_moments", "spread_moments"),
            Part("concat", "array_compact(array(values_sketch))", "values_sketch"),
        ],
        window="window_",
    )
    # what is shown: mean, spread, values
    finished = windows.selectExpr(
        "*",
        "mean_sum / mean_count AS mean",
        "sqrt(if(spread_moments.n > 1, spread_moments.m2 / (spread_moments.n - 1), NULL)) AS spread",
        "coalesce(hll_sketch_estimate(aggregate(values_sketch, get(values_sketch, 0), (a, b) -> hll_union(a, b))), 0) AS `values`",
    )
    # HAVING count(*) > 2
    having = finished.where("n > 2")
    # SELECT k, count(*) AS n, avg(v) AS mean, stddev(v) AS spread,
    #   approx_count_distinct(v) AS values [RANGE 10 minutes, SLIDE 1 minute, ORIGIN
    #   '2026-01-01 00:00:30']
    return having.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "k",
        "n",
        "mean",
        "spread",
        "`values`",
    )


def query_2(s: DataFrame) -> DataFrame:
    # [RANGE 10 seconds, SLIDE 1 second]
    windows = adaptwid(
        s,
        time="ts",
        range="10 seconds",
        slide="1 second",
        keys={"who": "upper(k)"},
        parts=[
            Part("sum", "if(v < 100, CAST(v AS BIGINT), NULL)", "total"),
            Part("max", "v", "top_max", "5 seconds"),
            Part("sum", "if(isnotnull(v), 1L, 0L)", "some_count", "5 seconds"),
        ],
        window="window_",
    )
    # what is shown: top, some
    finished = windows.selectExpr(
        "*",
        "top_max AS top",
        "coalesce(some_count, 0) AS `some`",
    )
    # SELECT upper(k) AS who, sum(v) FILTER (WHERE v < 100) AS total [RANGE 10 seconds,
    #   SLIDE 1 second], max(v) AS top [RANGE 5 seconds, SLIDE 1 second], count(v) AS
    #   some [RANGE 5 seconds, SLIDE 1 second]
    return finished.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "who",
        "total",
        "top",
        "`some`",
    )


def query_3(s: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY k
    by_pane = s.groupBy(F.window("ts", "1 minute").alias("pane"), "k")
    # count(*), last(v)
    panes = by_pane.agg(
        F.expr("count(*) AS n"),
        F.expr(
            "max_by(named_struct('at', struct(ts, seq, k, window, v), 'value', v), struct(ts, seq, k, window, v)) AS latest_pair"
        ),
    )
    # [RANGE ALL, SLIDE 1 minute]
    windows = landmark(
        panes,
        pane="pane",
        slide="1 minute",
        keys=["k"],
        parts=[Part("sum", "n", "n"), Part("max_by", "latest_pair", "latest_pair")],
        window="window_",
    )
    # what is shown: latest
    finished = windows.selectExpr("*", "latest_pair.value AS latest")
    # SELECT k, count(*) AS n, last(v) AS latest [RANGE ALL, SLIDE 1 minute]
    return finished.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "k",
        "n",
        "latest",
    )


def query_4(s: DataFrame) -> DataFrame:
    # [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA k]
    windows = row_windows(
        s,
        time="ts",
        order=["ts", "seq", "k", "window", "v"],
        range=1000,
        slide=10,
        keys=["k"],
        partition=["k"],
        parts=[Part("max", "v", "top")],
        window="window_",
    )
    # SELECT k, max(v) AS top [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA k]
    return windows.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "k",
        "top",
    )


def query_5(s: DataFrame) -> DataFrame:
    # [RANGE 1000 rows, SLIDE 10 rows, WA row-num]
    windows = row_windows(
        s,
        time="ts",
        order=["ts", "seq", "k", "window", "v"],
        range=1000,
        slide=10,
        keys=["k", "window"],
        parts=[Part("max", "v", "top")],
        window="window_",
    )
    # SELECT k, window, max(v) AS top [RANGE 1000 rows, SLIDE 10 rows, WA row-num]
    return windows.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "k",
        "window",
        "top",
    )


def query_6(s: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]
    windows = tuple_windows(
        s,
        time="ts",
        range="5 minutes",
        slide=1,
        keys=[],
        parts=[
            Part("max", "v", "top"),
            Part(
                "concat",
                "if(isnotnull(CAST(v AS DOUBLE)), array(CAST(v AS DOUBLE)), NULL)",
                "middle_values",
            ),
        ],
        window="window_",
    )
    # what is shown: middle
    finished = windows.selectExpr(
        "*",
        "transform(array(array_sort(middle_values)), v -> if(size(v) > 0, CAST(if(v[CAST(floor((0.5D) * (size(v) - 1)) AS INT)] = v[CAST(ceil((0.5D) * (size(v) - 1)) AS INT)], v[CAST(floor((0.5D) * (size(v) - 1)) AS INT)], (CAST(ceil((0.5D) * (size(v) - 1)) AS INT) - (0.5D) * (size(v) - 1)) * v[CAST(floor((0.5D) * (size(v) - 1)) AS INT)] + ((0.5D) * (size(v) - 1) - CAST(floor((0.5D) * (size(v) - 1)) AS INT)) * v[CAST(ceil((0.5D) * (size(v) - 1)) AS INT)]) AS DOUBLE), NULL))[0] AS middle",
    )
    # SELECT max(v) AS top, median(v) AS middle [RANGE 5 minutes, RATTR ts, SLIDE 1 row,
    #   SATTR row-num]
    return finished.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "top",
        "middle",
    )


def query_7(s: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts), PA k]
    windows = tuple_windows(
        s,
        time="ts",
        range="5 minutes",
        slide=5,
        keys=["k"],
        partition=["k"],
        parts=[Part("sum", "1L", "n")],
        window="window_",
    )
    # SELECT count(*) AS n [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts), PA
    #   k]
    return windows.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "n",
    )


def query_8(s: DataFrame) -> DataFrame:
    # [RANGE 1 minute]
    grouped = s.groupBy(F.window("ts", "1 minute").alias("window_"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "n",
        "window_time(window_) AS event_time",
    )
    # [RANGE 3 rows, SLIDE 1 row, WA row-num]
    windows = row_windows(
        per_minute,
        time="event_time",
        order=["window_start", "window_end", "n"],
        range=3,
        slide=1,
        keys=[],
        parts=[Part("max", "n", "peak")],
        chained=True,
    )
    # SELECT max(n) AS peak [RANGE 3 rows, SLIDE 1 row, WA row-num]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "peak",
    )


def query_9(s: DataFrame) -> DataFrame:
    # panes of 1 minute
    by_pane = s.groupBy(F.window("ts", "1 minute").alias("pane"))
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS n"))
    # [RANGE 2 minutes, SLIDE 1 minute]
    windows = rolling(
        panes,
        pane="pane",
        range="2 minutes",
        slide="1 minute",
        keys=[],
        parts=[Part("sum", "n", "n")],
        window="window_",
        event_time="event_time",
    )
    # SELECT count(*) AS n [RANGE 2 minutes, SLIDE 1 minute]
    per_minute = windows.selectExpr("window_.end AS window_end", "n", "event_time")
    # panes of 10 minutes
    by_pane_2 = per_minute.groupBy(
        F.window("event_time", "10 minutes", startTime="599999999 microseconds").alias(
            "pane"
        ),
    )
    # max(n)
    panes_2 = by_pane_2.agg(F.expr("max(n) AS peak"))
    # [RANGE 1 hour, SLIDE 10 minutes, WA window_end]
    windows_2 = rolling(
        panes_2,
        pane="pane",
        range="1 hour",
        slide="10 minutes",
        origin=-1,
        keys=[],
        parts=[Part("max", "peak", "peak")],
    )
    # SELECT max(n) AS peak [RANGE 1 hour, SLIDE 10 minutes, WA window_end]
    return windows_2.selectExpr(
        "(window.start + INTERVAL '1' MICROSECOND) AS window_start",
        "(window.end + INTERVAL '1' MICROSECOND) AS window_end",
        "peak",
    )


def query_10(s: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]
    windows = tuple_windows(
        s,
        time="ts",
        range="5 minutes",
        slide=1,
        keys=[],
        parts=[Part("sum", "1L", "n")],
        window="window_",
        event_time="event_time",
    )
    # SELECT count(*) AS n [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]
    by_row = windows.selectExpr("window_.end AS window_end", "n", "event_time")
    # [RANGE 1 hour, WA window_end]
    grouped = by_row.groupBy(F.window("event_time", "1 hour"))
    # max(n)
    aggregated = grouped.agg(F.expr("max(n) AS peak"))
    # SELECT max(n) AS peak [RANGE 1 hour, WA window_end]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "peak",
    )


def query_11(s: DataFrame) -> DataFrame:
    # [RANGE 1 day, SLIDE 10 seconds]
    windows = adaptwid(
        s,
        time="ts",
        range="1 day",
        slide="10 seconds",
        keys=["k"],
        parts=[Part("sum", "CAST(v AS BIGINT)", "total")],
        window="window_",
    )
    # SELECT k, sum(v) AS total [RANGE 1 day, SLIDE 10 seconds]
    return windows.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "k",
        "total",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("operators")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    s = accept_s(read_s(spark))
    query_1(s).writeStream.format("console").option("truncate", False).start()
    query_2(s).writeStream.format("console").option("truncate", False).start()
    query_3(s).writeStream.format("console").option("truncate", False).start()
    query_4(s).writeStream.format("console").option("truncate", False).start()
    query_5(s).writeStream.format("console").option("truncate", False).start()
    query_6(s).writeStream.format("console").option("truncate", False).start()
    query_7(s).writeStream.format("console").option("truncate", False).start()
    query_8(s).writeStream.format("console").option("truncate", False).start()
    query_9(s).writeStream.format("console").option("truncate", False).start()
    query_10(s).writeStream.format("console").option("truncate", False).start()
    query_11(s).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
