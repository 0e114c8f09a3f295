# Compiled by ssql 0.1.0 from join_conditions.ssql.
#
# query_1: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_2: plan stateless, because it keeps no state: every row is handled on its own.
# query_3: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_4: plan stateless, because it keeps no state: every row is handled on its own.
# query_5: plan stateless, because it keeps no state: every row is handled on its own.
# query_6: plan stateless, because it keeps no state: every row is handled on its own.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema("srcIP STRING, destIP STRING, len INT, ts TIMESTAMP")
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_others(spark: SparkSession) -> DataFrame:
    # CREATE STREAM others
    return (
        spark.readStream.format("json")
        .schema("srcIP STRING, destIP STRING, len INT, ts TIMESTAMP")
        .load("data/others")
    )


def accept_others(others: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = others.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_hosts(spark: SparkSession) -> DataFrame:
    # CREATE TABLE hosts
    return (
        spark.read.format("csv")
        .schema("ip STRING, host STRING, room STRING")
        .load("hosts.csv")
    )


def query_1(packets: DataFrame, others: DataFrame) -> DataFrame:
    # WHERE p.len > 40
    filtered = packets.where("len > 40")
    # INNER JOIN others ON p.srcIP = o.destIP AND p.len < o.len within the windows of
    #   both sides
    joined = filtered.alias("p").join(
        others.alias("o"),
        [
            F.expr("p.srcIP = o.destIP"),
            F.expr("p.len < o.len"),
            F.expr("o.ts > p.ts - INTERVAL 1 minute"),
            F.expr("o.ts < p.ts + INTERVAL 1 minute"),
        ],
        "inner",
    )
    # SELECT p.srcIP, o.len
    return joined.selectExpr("p.srcIP AS srcIP", "o.len AS len")


def query_2(packets: DataFrame, hosts: DataFrame) -> DataFrame:
    # INNER JOIN hosts ON srcIP = ip AND len > length(host)
    joined = packets.alias("packets").join(
        hosts.alias("hosts"),
        [
            F.expr("packets.srcIP = hosts.ip"),
            F.expr("packets.len > length(hosts.host)"),
        ],
        "inner",
    )
    # SELECT srcIP, host
    return joined.selectExpr("packets.srcIP AS srcIP", "hosts.host AS host")


def query_3(packets: DataFrame, others: DataFrame) -> DataFrame:
    # FULL JOIN others ON p.srcIP = o.destIP within the windows of both sides
    joined = packets.alias("p").join(
        others.alias("o"),
        [
            F.expr("p.srcIP = o.destIP"),
            F.expr("o.ts > p.ts - INTERVAL 1 minute"),
            F.expr("o.ts < p.ts + INTERVAL 1 minute"),
        ],
        "full",
    )
    # WHERE p.len < o.len
    filtered = joined.where("p.len < o.len")
    # SELECT p.srcIP, o.len
    return filtered.selectExpr("p.srcIP AS srcIP", "o.len AS len")


def query_4(packets: DataFrame, hosts: DataFrame) -> DataFrame:
    # LEFT JOIN hosts ON srcIP = ip
    joined = packets.alias("packets").join(
        hosts.alias("hosts"),
        F.expr("packets.srcIP = hosts.ip"),
        "left",
    )
    # WHERE srcIP < host
    filtered = joined.where("packets.srcIP < hosts.host")
    # SELECT srcIP, host
    return filtered.selectExpr("packets.srcIP AS srcIP", "hosts.host AS host")


def query_5(packets: DataFrame, hosts: DataFrame) -> DataFrame:
    # INNER JOIN hosts ON srcIP = h.ip
    joined = packets.alias("packets").join(
        hosts.alias("h"),
        F.expr("packets.srcIP = h.ip"),
        "inner",
    )
    # LEFT JOIN hosts ON more.ip = destIP
    joined_2 = joined.join(
        hosts.alias("more"),
        F.expr("more.ip = packets.destIP"),
        "left",
    )
    # WHERE more.host = h.host
    filtered = joined_2.where("more.host = h.host")
    # SELECT srcIP, h.host, more.host AS other
    return filtered.selectExpr(
        "packets.srcIP AS srcIP",
        "h.host AS host",
        "more.host AS other",
    )


def query_6(packets: DataFrame, hosts: DataFrame) -> DataFrame:
    # INNER JOIN hosts ON srcIP = ip
    joined = packets.alias("packets").join(
        hosts.alias("hosts"),
        F.expr("packets.srcIP = hosts.ip"),
        "inner",
    )
    # WHERE len < hash(host)
    filtered = joined.where("packets.len < hash(hosts.host)")
    # SELECT srcIP, host
    return filtered.selectExpr("packets.srcIP AS srcIP", "hosts.host AS host")


def main() -> None:
    spark = (
        SparkSession.builder.appName("join_conditions")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    others = accept_others(read_others(spark))
    hosts = read_hosts(spark)
    (
        query_1(packets, others)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    (
        query_2(packets, hosts)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    (
        query_3(packets, others)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    (
        query_4(packets, hosts)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    (
        query_5(packets, hosts)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    (
        query_6(packets, hosts)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
