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
from pyspark.sql.streaming import DataStreamWriter


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
    )


def accept_orders(orders: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = orders.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 500 milliseconds
    return timed.withWatermark("ts", "500 milliseconds")


def read_ticks(spark: SparkSession) -> DataFrame:
    # CREATE STREAM ticks
    return (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 10)
        .load()
        .selectExpr("timestamp AS `timestamp`", "value AS value")
    )


def accept_ticks(ticks: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = ticks.where("`timestamp` BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR timestamp AS timestamp
    return timed.withWatermark("`timestamp`", "0 seconds")


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


def accept_lines(lines: DataFrame) -> DataFrame:
    # lines that cannot be read are left out
    return lines.dropna("all")


def loud(orders: DataFrame) -> DataFrame:
    # WHERE price > 99.5
    filtered = orders.where("price > 99.5")
    # SELECT item, price
    return filtered.selectExpr("item", "price")


def write_loud(loud: DataFrame) -> DataStreamWriter:
    # INSERT INTO loud
    return (
        loud.selectExpr("CAST(item AS STRING) AS key", "to_json(struct(*)) AS value")
        .writeStream.format("kafka")
        .option("topic", "loud")
        .option("kafka.bootstrap.servers", os.environ["BROKERS"])
    )


def kept(orders: DataFrame) -> DataFrame:
    # SELECT item, similar(item, 'book')
    return orders.selectExpr("item", "similar(item, 'book') AS score")


def write_kept(kept: DataFrame) -> DataStreamWriter:
    # INSERT INTO kept
    return (
        kept.writeStream.format("json")
        .option("checkpointLocation", "out/checkpoint")
        .option("path", "out/kept")
    )


def seen(ticks: DataFrame) -> DataFrame:
    # [RANGE 10 seconds]
    grouped = ticks.groupBy(F.window("`timestamp`", "10 seconds"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 10 seconds]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def write_seen(seen: DataFrame) -> DataStreamWriter:
    # INSERT INTO seen
    return seen.writeStream.format("memory").queryName("seen")


def nothing(lines: DataFrame) -> DataFrame:
    # SELECT a, b
    return lines.selectExpr("a AS x", "b AS y")


def write_nothing(nothing: DataFrame) -> DataStreamWriter:
    # INSERT INTO nothing
    return nothing.writeStream.format("noop")


def main() -> None:
    spark = (
        SparkSession.builder.appName("connectors")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 4)
        .getOrCreate()
    )
    spark.udf.register("similar", udf_similar, "DOUBLE")
    orders = accept_orders(read_orders(spark))
    ticks = accept_ticks(read_ticks(spark))
    lines = accept_lines(read_lines(spark))
    write_loud(loud(orders)).option("checkpointLocation", "checkpoints/loud").start()
    write_kept(kept(orders)).start()
    write_seen(seen(ticks)).start()
    write_nothing(nothing(lines)).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
