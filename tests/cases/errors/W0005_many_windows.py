# Compiled by ssql 0.1.0 from W0005_many_windows.ssql.
#
# query_1: plan rolling, because a row is in up to 3600 windows: it is aggregated once,
#   in a pane of 1 second, and each pane is merged once, however many windows it is in.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rolling import rolling


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
    # panes of 1 second
    by_pane = packets.groupBy(F.window("ts", "1 second").alias("pane"))
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 1 hour, SLIDE 1 second]
    windows = rolling(
        panes,
        pane="pane",
        range="1 hour",
        slide="1 second",
        keys=[],
        parts=[Part("sum", "`count(*)`", "count(*)")],
    )
    # SELECT count(*) [RANGE 1 hour, SLIDE 1 second]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("W0005_many_windows")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
