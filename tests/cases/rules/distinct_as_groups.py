# Compiled by ssql 0.1.0 from distinct_as_groups.ssql.
#
# query_1: plan native, because GROUP BY on the stream's time: each instant closes by
#   itself.
# query_2: plan native, because GROUP BY on the stream's time: each instant closes by
#   itself.
# query_3: plan native over wid, because GROUP BY on the stream's time: each instant
#   closes by itself; RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan native, because GROUP BY on the stream's time: each instant closes by
#   itself.
# query_5: plan wid over native, because RANGE = SLIDE, so each row is in one window and
#   panes save nothing; GROUP BY on the stream's time: each instant closes by itself.
# query_6: plan batch, because it reads stored tables only, so it runs once.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema("srcIP STRING, len INT, ts TIMESTAMP")
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def read_hosts(spark: SparkSession) -> DataFrame:
    # CREATE TABLE hosts
    return (
        spark.read.format("csv").schema("ip STRING, host STRING").load("data/hosts.csv")
    )


def query_1(packets: DataFrame) -> DataFrame:
    # WHERE len > 40
    filtered = packets.where("len > 40")
    # SELECT DISTINCT srcIP, ts
    grouped = filtered.groupBy(
        F.window("ts", "1 microsecond").alias("instant"),
        "srcIP",
    )
    # each group once
    aggregated = grouped.agg(F.expr("count(*) AS `rows`"))
    # SELECT srcIP, ts
    return aggregated.selectExpr("srcIP", "instant.start AS ts")


def query_2(packets: DataFrame) -> DataFrame:
    # SELECT DISTINCT lower(srcIP) AS source, ts AS at
    grouped = packets.groupBy(
        F.window("ts", "1 microsecond").alias("instant"),
        F.expr("lower(srcIP) AS source"),
    )
    # each group once
    aggregated = grouped.agg(F.expr("count(*) AS `rows`"))
    # SELECT lower(srcIP) AS source, ts AS at, ts AS again
    return aggregated.selectExpr(
        "source",
        "instant.start AS at",
        "instant.start AS again",
    )


def query_3(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    selected = aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
        "window_time(window) AS event_time",
    )
    # SELECT DISTINCT count(*) AS n [RANGE 1 minute]
    grouped_2 = selected.groupBy(
        F.window("event_time", "1 microsecond").alias("instant"),
        "window_start",
        "window_end",
        "n",
    )
    # each group once
    aggregated_2 = grouped_2.agg(F.expr("count(*) AS `rows`"))
    # SELECT count(*) AS n [RANGE 1 minute]
    return aggregated_2.selectExpr("window_start", "window_end", "n")


def query_4(packets: DataFrame) -> DataFrame:
    # SELECT explode(sequence(1, len)) AS n, ts
    selected = packets.selectExpr("explode(sequence(1, len)) AS n", "ts")
    # SELECT DISTINCT explode(sequence(1, len)) AS n, ts
    grouped = selected.groupBy(F.window("ts", "1 microsecond").alias("instant"), "n")
    # each group once
    aggregated = grouped.agg(F.expr("count(*) AS `rows`"))
    # SELECT explode(sequence(1, len)) AS n, ts
    return aggregated.selectExpr("n", "instant.start AS ts")


def query_5(packets: DataFrame) -> DataFrame:
    # SELECT DISTINCT srcIP, ts
    grouped = packets.groupBy(F.window("ts", "1 microsecond").alias("instant"), "srcIP")
    # each group once
    aggregated = grouped.agg(F.expr("count(*) AS `rows`"))
    # SELECT ts
    d = aggregated.selectExpr(
        "instant.start AS ts",
        "window_time(instant) AS event_time",
    )
    # [RANGE 1 minute]
    grouped_2 = d.groupBy(F.window("event_time", "1 minute"))
    # count(*)
    aggregated_2 = grouped_2.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    return aggregated_2.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_6(hosts: DataFrame) -> DataFrame:
    # SELECT host
    selected = hosts.selectExpr("host")
    # SELECT DISTINCT
    return selected.distinct()


def main() -> None:
    spark = (
        SparkSession.builder.appName("distinct_as_groups")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    hosts = read_hosts(spark)
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    query_5(packets).writeStream.format("console").option("truncate", False).start()
    query_6(hosts).show(truncate=False)
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
