# Compiled by ssql 0.1.0 from lookup.ssql.
#
# query_1: plan stateless, because it keeps no state: every row is handled on its own.
# query_2: plan stateless, because it keeps no state: every row is handled on its own.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan stateless, because it keeps no state: every row is handled on its own.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_a(spark: SparkSession) -> DataFrame:
    # CREATE STREAM a
    return (
        spark.readStream.format("json")
        .schema("srcIP STRING, len INT, ts TIMESTAMP")
        .load("data/a")
    )


def accept_a(a: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = a.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts
    return timed.withWatermark("ts", "0 seconds")


def read_b(spark: SparkSession) -> DataFrame:
    # CREATE STREAM b
    return (
        spark.readStream.format("json")
        .schema("srcIP STRING, len INT, ts TIMESTAMP")
        .load("data/b")
    )


def accept_b(b: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = b.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts
    return timed.withWatermark("ts", "0 seconds")


def read_hosts(spark: SparkSession) -> DataFrame:
    # CREATE TABLE hosts
    return (
        spark.read.format("csv")
        .schema("ip STRING, host_id STRING")
        .option("header", True)
        .option("enforceSchema", False)
        .load("data/hosts.csv")
    )


def query_1(a: DataFrame, hosts: DataFrame) -> DataFrame:
    # LEFT JOIN hosts ON p.srcIP = h.ip
    joined = a.alias("p").join(hosts.alias("h"), F.expr("p.srcIP = h.ip"), "left")
    # SELECT p.srcIP, h.host_id
    return joined.selectExpr("p.srcIP AS srcIP", "h.host_id AS host_id")


def query_2(a: DataFrame, b: DataFrame, hosts: DataFrame) -> DataFrame:
    # UNION ALL
    m = a.union(b)
    # INNER JOIN hosts ON h1.ip = m.srcIP
    joined = m.alias("m").join(hosts.alias("h1"), F.expr("h1.ip = m.srcIP"), "inner")
    # WHERE m.len > 10
    filtered = joined.where("m.len > 10")
    # SELECT h1.host_id AS from_host, m.len
    return filtered.selectExpr("h1.host_id AS from_host", "m.len AS len")


def query_3(a: DataFrame, hosts: DataFrame) -> DataFrame:
    # INNER JOIN hosts ON p.srcIP = h.ip
    joined = a.alias("p").join(hosts.alias("h"), F.expr("p.srcIP = h.ip"), "inner")
    # SELECT h.host_id, p.ts
    named = joined.selectExpr("h.host_id AS host_id", "p.ts AS ts")
    # [RANGE 1 minute] GROUP BY host_id
    grouped = named.groupBy(F.window("ts", "1 minute"), "host_id")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT host_id, count(*) AS n [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "host_id",
        "n",
    )


def query_4(a: DataFrame, b: DataFrame) -> DataFrame:
    # WHERE len < 100
    small = a.where("len < 100")
    # SELECT srcIP, len
    selected = small.selectExpr("srcIP", "len")
    # WHERE len >= 100
    large = b.where("len >= 100")
    # SELECT srcIP, len
    selected_2 = large.selectExpr("srcIP", "len")
    # UNION ALL
    return selected.union(selected_2)


def main() -> None:
    spark = (
        SparkSession.builder.appName("lookup")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    a = accept_a(read_a(spark))
    b = accept_b(read_b(spark))
    hosts = read_hosts(spark)
    query_1(a, hosts).writeStream.format("console").option("truncate", False).start()
    query_2(a, b, hosts).writeStream.format("console").option("truncate", False).start()
    query_3(a, hosts).writeStream.format("console").option("truncate", False).start()
    query_4(a, b).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
