# Compiled by ssql 0.1.0 from by_time.ssql.
#
# query_1: plan native, because GROUP BY on the stream's time: each instant closes by
#   itself.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_main1(spark: SparkSession) -> DataFrame:
    # CREATE STREAM Main1
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/main1")
    )


def accept_main1(main1: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = main1.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 1 minute
    return timed.withWatermark("ts", "1 minute")


def query_1(main1: DataFrame) -> DataFrame:
    # WHERE srcIP = '202.101.0.0' OR srcIP = '202.101.0.1'
    filtered = main1.where("srcIP = '202.101.0.0' OR srcIP = '202.101.0.1'")
    # GROUP BY srcIP, ts
    grouped = filtered.groupBy(
        F.window("ts", "1 microsecond").alias("instant"),
        "srcIP",
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT srcIP, ts, count(*)
    return aggregated.selectExpr("srcIP", "instant.start AS ts", "`count(*)`")


def main() -> None:
    spark = (
        SparkSession.builder.appName("by_time")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    main1 = accept_main1(read_main1(spark))
    query_1(main1).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
