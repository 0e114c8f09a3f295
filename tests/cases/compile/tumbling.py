# Compiled by ssql 0.1.0 from tumbling.ssql.
#
# query_1: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_2: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


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
    # [RANGE 1 minute, SLIDE 1 minute, WA ts] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT srcIP, count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def query_2(packets: DataFrame) -> DataFrame:
    # WHERE destPort IN (80, 443)
    web = packets.where("destPort IN (80, 443)")
    # WHERE len > 40
    filtered = web.where("len > 40")
    # [RANGE TUMBLING 90 seconds, ORIGIN '2026-01-01 00:00:10']
    grouped = filtered.groupBy(F.window("ts", "90 seconds", startTime="10 seconds"))
    # sum(len), count(DISTINCT srcIP)
    aggregated = grouped.agg(
        F.expr("sum(len) AS bytes"),
        F.expr("collect_set(srcIP) AS sources_values"),
    )
    # what is shown: sources
    finished = aggregated.selectExpr(
        "*",
        "CAST(size(sources_values) AS BIGINT) AS sources",
    )
    # SELECT sum(len) AS bytes, count(DISTINCT srcIP) AS sources [RANGE TUMBLING 90
    #   seconds, ORIGIN '2026-01-01 00:00:10']
    return finished.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "bytes",
        "sources",
    )


def query_3(packets: DataFrame) -> DataFrame:
    # [RANGE 10 seconds] GROUP BY source
    grouped = packets.groupBy(
        F.window("ts", "10 seconds"),
        F.expr("lower(srcIP) AS source"),
    )
    # sum(len), count(*), max(len) FILTER (WHERE destPort = 80)
    aggregated = grouped.agg(
        F.expr("sum(len) AS sum_len"),
        F.expr("count(*) AS count"),
        F.expr("max(len) FILTER (WHERE destPort = 80) AS top"),
    )
    # HAVING mean > 100 AND count(*) > 1
    having = aggregated.where("(sum_len / count) > 100 AND count > 1")
    # SELECT window_end, lower(srcIP) AS source, sum(len) / count(*) AS mean, max(len)
    #   FILTER (WHERE destPort = 80) AS top [RANGE 10 seconds]
    return having.selectExpr(
        "window.end AS window_end",
        "source",
        "sum_len / count AS mean",
        "top",
    )


def query_4(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY `window`
    grouped = packets.groupBy(
        F.window("ts", "1 minute").alias("window_"),
        F.expr("destIP AS window"),
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT destIP AS `window`, count(*) [RANGE 1 minute]
    return aggregated.selectExpr(
        "window_.start AS window_start",
        "window_.end AS window_end",
        "window",
        "`count(*)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("tumbling")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
