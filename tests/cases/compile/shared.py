# Compiled by ssql 0.1.0 from shared.ssql.
#
# query_1: plan stateless, because it keeps no state: every row is handled on its own.
# query_2: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_3: plan batch, because it reads stored tables only, so it runs once.
# query_4: plan stateless, because it keeps no state: every row is handled on its own.

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
    # WHERE len > 1000
    filtered = packets.where("len > 1000")
    # SELECT srcIP, len * 8 AS bits
    large = filtered.selectExpr("srcIP", "len * 8 AS bits")
    # SELECT upper(srcIP), bits
    selected = large.selectExpr("upper(srcIP) AS `upper(srcIP)`", "bits")
    # UNION ALL
    return large.union(selected)


def query_2(packets: DataFrame) -> DataFrame:
    # WHERE len > 1000
    filtered = packets.where("len > 1000")
    # SELECT ts
    large = filtered.selectExpr("ts")
    # UNION ALL
    both = large.union(large)
    # [RANGE 1 minute]
    grouped = both.groupBy(F.window("ts", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_3(hosts: DataFrame) -> DataFrame:
    # WHERE ip > '10'
    a = hosts.where("ip > '10'")
    # INNER JOIN (SELECT * FROM hosts WHERE ip > '10') ON a.ip < b.ip
    joined = a.alias("a").join(a.alias("b"), F.expr("a.ip < b.ip"), "inner")
    # SELECT a.host, b.host AS other
    return joined.selectExpr("a.host AS host", "b.host AS other")


def query_4(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, rand() AS chance
    sampled = packets.selectExpr("srcIP", "rand() AS chance")
    # SELECT srcIP, rand() AS chance
    sampled_2 = packets.selectExpr("srcIP", "rand() AS chance")
    # UNION ALL
    return sampled.union(sampled_2)


def main() -> None:
    spark = (
        SparkSession.builder.appName("shared")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.exchange.reuse", "false")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    hosts = read_hosts(spark)
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(hosts).show(truncate=False)
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
