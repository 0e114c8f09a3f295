# Compiled by ssql 0.1.0 from merge_aggregates.ssql.
#
# query_1: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_2: plan paned, because a row is in up to 6 windows: it is aggregated once, in
#   one of 6 panes of 10 minutes a window, and windows are made of panes.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_5: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_6: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_7: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_8: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_9: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_10: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_11: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_12: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_13: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_14: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_15: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_16: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_17: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing; a row is in 2 windows only, and panes would take a second aggregate.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, destIP STRING, len INT, rtt DOUBLE, cost DECIMAL(10, 2), ts TIMESTAMP",
        )
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def query_1(packets: DataFrame) -> DataFrame:
    # [RANGE 1 hour, WA window_start]
    grouped = packets.groupBy(F.window("ts", "1 hour"))
    # sum(n)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT sum(n) AS n [RANGE 1 hour, WA window_start]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_2(packets: DataFrame) -> DataFrame:
    # WHERE destIP = '10.0.0.1'
    filtered = packets.where("destIP = '10.0.0.1'")
    # HAVING srcIP <> 'x'
    filtered_2 = filtered.where("srcIP <> 'x'")
    # panes of 10 minutes GROUP BY srcIP
    by_pane = filtered_2.groupBy(F.window("ts", "10 minutes").alias("pane"), "srcIP")
    # sum(n), sum(bytes), max(top), min(rtt)
    panes = by_pane.agg(
        F.expr("count(*) AS n"),
        F.expr("sum(len) AS bytes"),
        F.expr("max(len) AS top"),
        F.expr("min(rtt) AS least"),
    )
    # [RANGE 1 hour, SLIDE 10 minutes, WA window_start]
    by_window = panes.groupBy(F.window("pane", "1 hour", "10 minutes"), "srcIP")
    # windows from panes
    windows = by_window.agg(
        F.expr("sum(n) AS n"),
        F.expr("sum(bytes) AS bytes"),
        F.expr("max(top) AS top"),
        F.expr("min(least) AS least"),
    )
    # SELECT srcIP, sum(n) AS n, sum(bytes) AS bytes, max(top) AS top, min(rtt) AS least
    #   [RANGE 1 hour, SLIDE 10 minutes, WA window_start]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "n",
        "bytes",
        "top",
        "least",
    )


def query_3(packets: DataFrame) -> DataFrame:
    # [RANGE 1 day, WA window_start]
    grouped = packets.groupBy(F.window("ts", "1 day"))
    # max(top)
    aggregated = grouped.agg(F.expr("max(len) AS top"))
    # SELECT max(top) AS top [RANGE 1 day, WA window_start]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "top",
    )


def query_4(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.end AS window_end",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_end]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="3599999999 microseconds"),
    )
    # sum(n)
    aggregated_2 = grouped_2.agg(F.expr("sum(n) AS n"))
    # SELECT sum(n) AS n [RANGE 1 hour, WA window_end]
    return aggregated_2.selectExpr(
        "(window.start + INTERVAL '1' MICROSECOND) AS window_start",
        "(window.end + INTERVAL '1' MICROSECOND) AS window_end",
        "n",
    )


def query_5(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 90 seconds, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "90 seconds", startTime="59999999 microseconds"),
    )
    # sum(n)
    aggregated_2 = grouped_2.agg(F.expr("sum(n) AS n"))
    # SELECT sum(n) AS n [RANGE 90 seconds, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "n",
    )


def query_6(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start, ORIGIN '2026-01-01 00:00:30']
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="89999999 microseconds"),
    )
    # sum(n)
    aggregated_2 = grouped_2.agg(F.expr("sum(n) AS n"))
    # SELECT sum(n) AS n [RANGE 1 hour, WA window_start, ORIGIN '2026-01-01 00:00:30']
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "n",
    )


def query_7(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # WHERE n > 1
    filtered = per_minute.where("n > 1")
    # [RANGE 1 hour, WA window_start]
    grouped_2 = filtered.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # sum(n)
    aggregated_2 = grouped_2.agg(F.expr("sum(n) AS n"))
    # SELECT sum(n) AS n [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "n",
    )


def query_8(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
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
    aggregated_2 = grouped_2.agg(F.expr("max(n) AS n"))
    # SELECT max(n) AS n [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "n",
    )


def query_9(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # the columns under the sink's names
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # count(*)
    aggregated_2 = grouped_2.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "n",
    )


def query_10(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # avg(len)
    aggregated = grouped.agg(F.expr("avg(len) AS mean"))
    # SELECT avg(len) AS mean
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "mean",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # avg(mean)
    aggregated_2 = grouped_2.agg(F.expr("avg(mean) AS mean"))
    # SELECT avg(mean) AS mean [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "mean",
    )


def query_11(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # sum(rtt)
    aggregated = grouped.agg(F.expr("sum(rtt) AS waited"))
    # SELECT sum(rtt) AS waited
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "waited",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # sum(waited)
    aggregated_2 = grouped_2.agg(F.expr("sum(waited) AS waited"))
    # SELECT sum(waited) AS waited [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "waited",
    )


def query_12(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # sum(cost)
    aggregated = grouped.agg(F.expr("sum(cost) AS cost_sum"))
    # what is shown: cost
    finished = aggregated.selectExpr("*", "CAST(cost_sum AS DECIMAL(20, 2)) AS cost")
    # SELECT sum(cost) AS cost
    per_minute = finished.selectExpr(
        "window.start AS window_start",
        "cost",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # sum(cost)
    aggregated_2 = grouped_2.agg(F.expr("sum(cost) AS cost_sum"))
    # what is shown: cost
    finished_2 = aggregated_2.selectExpr(
        "*",
        "CAST(cost_sum AS DECIMAL(30, 2)) AS cost",
    )
    # SELECT sum(cost) AS cost [RANGE 1 hour, WA window_start]
    return finished_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "cost",
    )


def query_13(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(DISTINCT len)
    aggregated = grouped.agg(F.expr("collect_set(len) AS sizes_values"))
    # what is shown: sizes
    finished = aggregated.selectExpr("*", "CAST(size(sizes_values) AS BIGINT) AS sizes")
    # SELECT count(DISTINCT len) AS sizes [RANGE 1 minute]
    per_minute = finished.selectExpr(
        "window.start AS window_start",
        "sizes",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # sum(sizes)
    aggregated_2 = grouped_2.agg(F.expr("sum(sizes) AS sizes"))
    # SELECT sum(sizes) AS sizes [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "sizes",
    )


def query_14(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # sum(n + 1)
    aggregated_2 = grouped_2.agg(F.expr("sum(n + 1) AS n"))
    # SELECT sum(n + 1) AS n [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "n",
    )


def query_15(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
    )
    # sum(n) FILTER (WHERE n > 1)
    aggregated_2 = grouped_2.agg(F.expr("sum(n) FILTER (WHERE n > 1) AS n"))
    # SELECT sum(n) FILTER (WHERE n > 1) AS n [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "n",
    )


def query_16(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP, destIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    windowed = per_minute.select(
        "*",
        F.window("event_time", "1 hour", startTime="59999999 microseconds").alias(
            "window"
        ),
    )
    # the rows of each window
    grouped_2 = windowed.groupBy("window")
    # sum(n)
    aggregated_2 = grouped_2.agg(
        F.expr(
            "sum(n) FILTER (WHERE event_time >= window.end - INTERVAL 30 minutes) AS half"
        ),
        F.expr("sum(n) AS n"),
    )
    # SELECT sum(n) AS half [RANGE 30 minutes, SLIDE 1 hour, WA window_start], sum(n) AS
    #   n [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "half",
        "n",
    )


def query_17(packets: DataFrame) -> DataFrame:
    # [RANGE 2 minutes, SLIDE 1 minute]
    grouped = packets.groupBy(F.window("ts", "2 minutes", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 2 minutes, SLIDE 1 minute]
    s = aggregated.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_start]
    grouped_2 = s.groupBy(
        F.window("event_time", "1 hour", startTime="119999999 microseconds"),
    )
    # sum(n)
    aggregated_2 = grouped_2.agg(F.expr("sum(n) AS n"))
    # SELECT sum(n) AS n [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '119999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '119999999' MICROSECONDS) AS window_end",
        "n",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("merge_aggregates")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    query_5(packets).writeStream.format("console").option("truncate", False).start()
    query_6(packets).writeStream.format("console").option("truncate", False).start()
    query_7(packets).writeStream.format("console").option("truncate", False).start()
    query_8(packets).writeStream.format("console").option("truncate", False).start()
    query_9(packets).writeStream.format("console").option("truncate", False).start()
    query_10(packets).writeStream.format("console").option("truncate", False).start()
    query_11(packets).writeStream.format("console").option("truncate", False).start()
    query_12(packets).writeStream.format("console").option("truncate", False).start()
    query_13(packets).writeStream.format("console").option("truncate", False).start()
    query_14(packets).writeStream.format("console").option("truncate", False).start()
    query_15(packets).writeStream.format("console").option("truncate", False).start()
    query_16(packets).writeStream.format("console").option("truncate", False).start()
    query_17(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
