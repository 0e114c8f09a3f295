# Compiled by ssql 0.1.0 from W0004_global_rows.ssql.
#
# query_1: plan rows, because rows are numbered in order of time, all of them in one
#   task.

from pyspark.sql import DataFrame, SparkSession
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rows import row_windows


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
    # [RANGE 1000 rows, SLIDE 10 rows, WA row-num]
    windows = row_windows(
        packets,
        time="ts",
        order=["ts", "srcIP", "destIP", "srcPort", "destPort", "len", "seen"],
        range=1000,
        slide=10,
        keys=[],
        parts=[Part("max", "len", "max(len)")],
    )
    # SELECT max(len) [RANGE 1000 rows, SLIDE 10 rows, WA row-num]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`max(len)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("W0004_global_rows")
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
