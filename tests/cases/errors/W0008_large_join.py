# Compiled by ssql 0.1.0 from W0008_large_join.ssql.
#
# query_1: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_a(spark: SparkSession) -> DataFrame:
    # CREATE STREAM a
    return (
        spark.readStream.format("json")
        .schema("k STRING, v INT, ts TIMESTAMP")
        .load("data/a")
    )


def accept_a(a: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = a.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_b(spark: SparkSession) -> DataFrame:
    # CREATE STREAM b
    return (
        spark.readStream.format("json")
        .schema("k STRING, v INT, ts TIMESTAMP")
        .load("data/b")
    )


def accept_b(b: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = b.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def query_1(a: DataFrame, b: DataFrame) -> DataFrame:
    # INNER JOIN b ON a.k = b.k within the windows of both sides
    joined = a.alias("a").join(
        b.alias("b"),
        [
            F.expr("a.k = b.k"),
            F.expr("b.ts > a.ts - INTERVAL 1 hour"),
            F.expr("b.ts < a.ts + INTERVAL 1 hour"),
        ],
        "inner",
    )
    # SELECT a.k, b.v
    return joined.selectExpr("a.k AS k", "b.v AS v")


def main() -> None:
    spark = (
        SparkSession.builder.appName("W0008_large_join")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    a = accept_a(read_a(spark))
    b = accept_b(read_b(spark))
    query_1(a, b).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
