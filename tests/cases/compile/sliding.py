# Compiled by ssql 0.1.0 from sliding.ssql.
#
# query_1: plan paned, because a row is in up to 10 windows: it is aggregated once, in
#   one of 10 panes of 1 minute a window, and windows are made of panes.
# query_2: plan wid, because it was asked for.
# query_3: plan paned, because a row is in up to 2 windows: it is aggregated once, in
#   one of 3 panes of 30 seconds a window, and windows are made of panes.
# query_4: plan rolling, because a row is in up to 60 windows: it is aggregated once, in
#   a pane of 1 minute, and each pane is merged once, however many windows it is in.
# query_5: plan wid, because RANGE < SLIDE, so each row is in one window and panes save
#   nothing.
# query_6: plan paned, because it was asked for.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rolling import rolling


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema("srcIP STRING, destIP STRING, destPort INT, len INT, ts TIMESTAMP")
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def query_1(packets: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY srcIP
    by_pane = packets.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 10 minutes, SLIDE 1 minute, WA ts]
    by_window = panes.groupBy(F.window("pane", "10 minutes", "1 minute"), "srcIP")
    # windows from panes
    windows = by_window.agg(F.expr("sum(`count(*)`) AS `count(*)`"))
    # SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def query_2(packets: DataFrame) -> DataFrame:
    # [RANGE 10 minutes, SLIDE 1 minute, WA ts] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "10 minutes", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def query_3(packets: DataFrame) -> DataFrame:
    # WHERE destPort = 443
    filtered = packets.where("destPort = 443")
    # panes of 30 seconds GROUP BY upper(srcIP)
    by_pane = filtered.groupBy(
        F.window("ts", "30 seconds").alias("pane"),
        F.expr("upper(srcIP) AS source"),
    )
    # avg(len), max(len), min(len), count(DISTINCT destIP), stddev(len), count(*)
    panes = by_pane.agg(
        F.expr("sum(CAST(len AS DOUBLE)) AS mean_sum"),
        F.expr("count(len) AS mean_count"),
        F.expr("max(len) AS max_len"),
        F.expr("min(len) AS min_len"),
        F.expr("collect_set(destIP) AS peers_values"),
        F.expr(
            "named_struct('n', CAST(count(len) AS DOUBLE), 'mean', avg(CAST(len AS DOUBLE)), 'm2', var_pop(CAST(len AS DOUBLE)) * count(len)) AS deviation_moments"
        ),
        F.expr("count(*) AS count"),
    )
    # [RANGE 90 seconds, SLIDE 1 minute]
    by_window = panes.groupBy(
        F.window("pane", "90 seconds", "1 minute", startTime="30 seconds"),
        "source",
    )
    # windows from panes
    windows = by_window.agg(
        F.expr("sum(mean_sum) AS mean_sum"),
        F.expr("sum(mean_count) AS mean_count"),
        F.expr("max(max_len) AS max_len"),
        F.expr("min(min_len) AS min_len"),
        F.expr("array_distinct(flatten(collect_list(peers_values))) AS peers_values"),
        F.expr("collect_list(deviation_moments) AS deviation_moments"),
        F.expr("sum(count) AS count"),
    )
    # what is shown: mean, peers, deviation
    finished = windows.selectExpr(
        "*",
        "mean_sum / mean_count AS mean",
        "CAST(size(peers_values) AS BIGINT) AS peers",
        "aggregate(filter(deviation_moments, pane -> pane.n > 0), named_struct('n', 0D, 'mean', 0D, 'm2', 0D), (a, b) -> named_struct('n', a.n + b.n, 'mean', a.mean + (b.mean - a.mean) * b.n / (a.n + b.n), 'm2', a.m2 + b.m2 + (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n / (a.n + b.n)), all -> sqrt(if(all.n > 1, all.m2 / (all.n - 1), NULL))) AS deviation",
    )
    # HAVING count(*) > 1
    having = finished.where("count > 1")
    # SELECT upper(srcIP) AS source, avg(len) AS mean [RANGE 90 seconds, SLIDE 1
    #   minute], max(len) - min(len) AS spread, count(DISTINCT destIP) AS peers,
    #   stddev(len) AS deviation
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "source",
        "mean",
        "max_len - min_len AS spread",
        "peers",
        "deviation",
    )


def query_4(packets: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY srcIP
    by_pane = packets.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # sum(len)
    panes = by_pane.agg(F.expr("sum(len) AS minute_sum"))
    # [RANGE 1 hour, SLIDE 1 minute]
    windows = rolling(
        panes,
        pane="pane",
        range="1 hour",
        slide="1 minute",
        keys=["srcIP"],
        parts=[
            Part("sum", "minute_sum", "minute_sum", "1 minute"),
            Part("sum", "minute_sum", "minute_sum_"),
        ],
    )
    # what is shown: minute, hour
    finished = windows.selectExpr("*", "minute_sum AS minute", "minute_sum_ AS hour")
    # SELECT srcIP, sum(len) AS minute [RANGE 1 minute, SLIDE 1 minute], sum(len) AS
    #   hour [RANGE 1 hour, SLIDE 1 minute]
    return finished.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "minute",
        "hour",
    )


def query_5(packets: DataFrame) -> DataFrame:
    # [RANGE 20 seconds, SLIDE 1 minute, ORIGIN '2026-01-01 00:00:07']
    windowed = packets.select(
        "*",
        F.window("ts", "1 minute", startTime="7 seconds").alias("window"),
    )
    # SLIDE > RANGE: not what is between windows
    inside = windowed.where("ts >= window.end - INTERVAL 20 seconds")
    # the rows of each window
    grouped = inside.groupBy("window")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 20 seconds, SLIDE 1 minute, ORIGIN '2026-01-01
    #   00:00:07']
    return aggregated.selectExpr(
        "(window.end - INTERVAL '20' SECONDS) AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_6(packets: DataFrame) -> DataFrame:
    # panes of 20 seconds
    by_pane = packets.groupBy(F.window("ts", "20 seconds").alias("pane"))
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS n"))
    # [RANGE 40 seconds, SLIDE 1 minute]
    windowed = panes.select("*", F.window("pane", "1 minute").alias("window"))
    # SLIDE > RANGE: not what is between windows
    inside = windowed.where("pane.start >= window.end - INTERVAL 40 seconds")
    # the panes of each window
    by_window = inside.groupBy("window")
    # windows from panes
    windows = by_window.agg(F.expr("sum(n) AS n"))
    # SELECT count(*) AS n [RANGE 40 seconds, SLIDE 1 minute]
    return windows.selectExpr(
        "(window.end - INTERVAL '40' SECONDS) AS window_start",
        "window.end AS window_end",
        "n",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("sliding")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    query_5(packets).writeStream.format("console").option("truncate", False).start()
    query_6(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
