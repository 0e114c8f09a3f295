# Compiled by ssql 0.1.0 from in_order_joins.ssql.
#
# query_1: plan slide-by-tuple over adaptive, because windows end with rows: each time
#   is aggregated once; nobody knows how fast the streams are: it begins with
#   sync-filter, measures, and switches where c·|w|·λ1·λ2 reaches 0.3.

from pyspark.sql import DataFrame, SparkSession
from ssql.runtime.operators.ordered_join import Side, ordered_join
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.tuples import tuple_windows


def read_sensorreadings1(spark: SparkSession) -> DataFrame:
    # CREATE STREAM SensorReadings1
    return (
        spark.readStream.format("json")
        .schema("ItemType STRING, ts TIMESTAMP")
        .load("data/sensorreadings1")
    )


def accept_sensorreadings1(sensorreadings1: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = sensorreadings1.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 3 seconds
    return timed.withWatermark("ts", "3 seconds")


def read_sensorreadings2(spark: SparkSession) -> DataFrame:
    # CREATE STREAM SensorReadings2
    return (
        spark.readStream.format("json")
        .schema("ItemType STRING, ts TIMESTAMP")
        .load("data/sensorreadings2")
    )


def accept_sensorreadings2(sensorreadings2: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = sensorreadings2.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 3 seconds
    return timed.withWatermark("ts", "3 seconds")


def query_1(sensorreadings1: DataFrame, sensorreadings2: DataFrame) -> DataFrame:
    # FROM SensorReadings1 S, SensorReadings2 T WHERE S.ItemType = T.ItemType WINDOW 10
    #   minutes
    joined = ordered_join(
        [
            Side(sensorreadings1, "S", time="ts", keys=["ItemType"]),
            Side(sensorreadings2, "T", time="ts", keys=["ItemType"]),
        ],
        plan="adaptive",
        within="10 minutes",
        event_time="event_time",
    )
    windows = tuple_windows(
        joined,
        time="event_time",
        range="10 minutes",
        slide=1,
        keys=[],
        parts=[
            Part(
                "concat",
                "if(isnotnull(S.ItemType), array(S.ItemType), NULL)",
                "count_DISTINCT_ItemType_values",
            ),
        ],
        chained=True,
    )
    # what is shown: count(DISTINCT ItemType)
    finished = windows.selectExpr(
        "*",
        "CAST(size(array_distinct(count_DISTINCT_ItemType_values)) AS BIGINT) AS `count(DISTINCT ItemType)`",
    )
    # SELECT COUNT(DISTINCT S.ItemType)
    return finished.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(DISTINCT ItemType)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("in_order_joins")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    sensorreadings1 = accept_sensorreadings1(read_sensorreadings1(spark))
    sensorreadings2 = accept_sensorreadings2(read_sensorreadings2(spark))
    (
        query_1(sensorreadings1, sensorreadings2)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
