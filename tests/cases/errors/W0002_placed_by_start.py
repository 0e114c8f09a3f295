# Compiled by ssql 0.1.0 from W0002_placed_by_start.ssql.
#
# query_1: plan wid over paned, because RANGE = SLIDE, so each row is in one window and
#   panes save nothing; a row is in up to 10 windows: it is aggregated once, in one of
#   10 panes of 1 minute a window, and windows are made of panes.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, destIP STRING, srcPort INT, destPort INT, len INT, seen TIMESTAMP, ts TIMESTAMP",
        )
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def query_1(packets: DataFrame) -> DataFrame:
    # panes of 1 minute
    by_pane = packets.groupBy(F.window("ts", "1 minute").alias("pane"))
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS n"))
    # [RANGE 10 minutes, SLIDE 1 minute]
    by_window = panes.groupBy(F.window("pane", "10 minutes", "1 minute"))
    # windows from panes
    windows = by_window.agg(F.expr("sum(n) AS n"))
    # SELECT count(*) AS n [RANGE 10 minutes, SLIDE 1 minute]
    counts = windows.selectExpr(
        "window.start AS window_start",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour]
    grouped = counts.groupBy(
        F.window("event_time", "1 hour", startTime="599999999 microseconds"),
    )
    # max(n)
    aggregated = grouped.agg(F.expr("max(n) AS `max(n)`"))
    # SELECT max(n) [RANGE 1 hour]
    return aggregated.selectExpr(
        "(window.start - INTERVAL '599999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '599999999' MICROSECONDS) AS window_end",
        "`max(n)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("W0002_placed_by_start")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
