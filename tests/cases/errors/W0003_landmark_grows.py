# Compiled by ssql 0.1.0 from W0003_landmark_grows.ssql.
#
# query_1: plan landmark, because RANGE ALL: a group keeps one aggregate, of all its
#   panes so far.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.landmark import landmark
from ssql.runtime.operators.road import Part


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
    # panes of 1 minute GROUP BY srcIP
    by_pane = packets.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE ALL, SLIDE 1 minute]
    windows = landmark(
        panes,
        pane="pane",
        slide="1 minute",
        keys=["srcIP"],
        parts=[Part("sum", "`count(*)`", "count(*)")],
    )
    # SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("W0003_landmark_grows")
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
