# Compiled by ssql 0.1.0 from connectors.ssql.
#
# loud: plan stateless, because it keeps no state: every row is handled on its own.
# kept: plan stateless, because it keeps no state: every row is handled on its own.
# seen: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# nothing: plan stateless, because it keeps no state: every row is handled on its own.

import os

from matching.text import similar as udf_similar
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_orders(spark: SparkSession) -> DataFrame:
    # CREATE STREAM orders
    return (
        spark.readStream.format("kafka")
        .option("subscribe", "orders")
        .option("kafka.bootstrap.servers", os.environ["BROKERS"])
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr(
            "from_json(CAST(value AS STRING), 'id BIGINT, item STRING, price DECIMAL(10, 2), ts TIMESTAMP') AS row",
        )
        .select("row.*")
        .where("ts IS NOT NULL")
        .withWatermark("ts", "500 milliseconds")
    )


def read_ticks(spark: SparkSession) -> DataFrame:
    # CREATE STREAM ticks
    return (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 10)
        .load()
        .selectExpr("timestamp AS `timestamp`", "value AS value")
        .where("`timestamp` IS NOT NULL")
        .withWatermark("`timestamp`", "0 seconds")
    )


def read_lines(spark: SparkSession) -> DataFrame:
    # CREATE STREAM lines
    return (
        spark.readStream.format("socket")
        .option("host", "localhost")
        .option("port", 9999)
        .load()
        .selectExpr("from_csv(value, 'a INT, b STRING') AS row")
        .select("row.*")
    )


def loud(orders: DataFrame) -> DataFrame:
    # WHERE price > 99.5
    filtered = orders.where("price > 99.5")
    # SELECT item, price
    return filtered.selectExpr("item", "price")


def kept(orders: DataFrame) -> DataFrame:
    # SELECT item, similar(item, 'book')
    return orders.selectExpr("item", "similar(item, 'book') AS score")


def seen(ticks: DataFrame) -> DataFrame:
    # [RANGE 10 seconds]
    grouped = ticks.groupBy(F.window("`timestamp`", "10 seconds"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*)").alias("n"))
    # SELECT count(*) AS n [RANGE 10 seconds]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def nothing(lines: DataFrame) -> DataFrame:
    # SELECT a, b
    return lines.selectExpr("a AS x", "b AS y")


def main() -> None:
    spark = (
        SparkSession.builder.appName("connectors")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 4)
        .getOrCreate()
    )
    spark.udf.register("similar", udf_similar, "DOUBLE")
    orders = read_orders(spark)
    ticks = read_ticks(spark)
    lines = read_lines(spark)
    (
        loud(orders)
        .selectExpr("CAST(item AS STRING) AS key", "to_json(struct(*)) AS value")
        .writeStream.format("kafka")
        .option("topic", "loud")
        .option("kafka.bootstrap.servers", os.environ["BROKERS"])
        .option("checkpointLocation", "checkpoints/loud")
        .start()
    )
    (
        kept(orders)
        .writeStream.format("json")
        .option("checkpointLocation", "out/checkpoint")
        .option("path", "out/kept")
        .start()
    )
    seen(ticks).writeStream.format("memory").queryName("seen").start()
    nothing(lines).writeStream.format("noop").start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
