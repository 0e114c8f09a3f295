# Compiled by ssql 0.1.0 from stored.ssql.
#
# query_1: plan batch, because it reads stored tables only, so it runs once.
# totals: plan batch, because it reads stored tables only, so it runs once.
# query_3: plan batch, because it reads stored tables only, so it runs once.
# query_4: plan batch, because it reads stored tables only, so it runs once.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packet_table(spark: SparkSession) -> DataFrame:
    # CREATE TABLE packet_table
    return (
        spark.read.format("json")
        .schema("pid BIGINT, t_s TIMESTAMP, from_ip STRING, to_ip STRING, bytes INT")
        .load("data/packets")
    )


def read_hosts(spark: SparkSession) -> DataFrame:
    # CREATE TABLE Hosts
    return (
        spark.read.format("csv")
        .schema("ip STRING, host_id STRING")
        .option("header", True)
        .option("enforceSchema", False)
        .load("data/hosts.csv")
    )


def query_1(packet_table: DataFrame, hosts: DataFrame) -> DataFrame:
    # INNER JOIN Hosts ON h1.ip = T.from_ip
    joined = packet_table.alias("T").join(
        hosts.alias("h1"),
        F.expr("h1.ip = T.from_ip"),
        "inner",
    )
    # INNER JOIN Hosts ON h2.ip = T.to_ip
    joined_2 = joined.join(hosts.alias("h2"), F.expr("h2.ip = T.to_ip"), "inner")
    # GROUP BY from_host, to_host
    grouped = joined_2.groupBy(
        F.expr("h1.host_id AS from_host"),
        F.expr("h2.host_id AS to_host"),
    )
    # SUM(T.bytes)
    aggregated = grouped.agg(F.expr("sum(T.bytes) AS `sum(bytes)`"))
    # SELECT h1.host_id AS from_host, h2.host_id AS to_host, SUM(T.bytes)
    return aggregated.selectExpr("from_host", "to_host", "`sum(bytes)`")


def totals(packet_table: DataFrame) -> DataFrame:
    # GROUP BY 1
    grouped = packet_table.groupBy("from_ip")
    # sum(bytes)
    aggregated = grouped.agg(F.expr("sum(bytes) AS bytes"))
    # SELECT from_ip, sum(bytes) AS bytes
    selected = aggregated.selectExpr("from_ip", "bytes")
    # ORDER BY bytes DESC
    ordered = selected.orderBy(F.expr("bytes").desc())
    # LIMIT 3
    return ordered.limit(3)


def write_totals(totals: DataFrame) -> None:
    # INSERT INTO totals
    totals.write.format("parquet").mode("append").save("out/totals")


def query_3(packet_table: DataFrame) -> DataFrame:
    # SELECT from_ip
    selected = packet_table.selectExpr("from_ip")
    # SELECT DISTINCT
    distinct = selected.distinct()
    # ORDER BY from_ip
    return distinct.orderBy(F.expr("from_ip"))


def query_4(spark: SparkSession) -> DataFrame:
    # SELECT without FROM: one row
    one_row = spark.range(1)
    # SELECT 1 + 1 AS two
    return one_row.selectExpr("2 AS two")


def main() -> None:
    spark = (
        SparkSession.builder.appName("stored")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packet_table = read_packet_table(spark)
    hosts = read_hosts(spark)
    query_1(packet_table, hosts).show(truncate=False)
    write_totals(totals(packet_table))
    query_3(packet_table).show(truncate=False)
    query_4(spark).show(truncate=False)


if __name__ == "__main__":
    main()
