# Compiled by ssql 0.1.0 from names_apart.ssql.
#
# read_packets_3: plan stateless, because it keeps no state: every row is handled on its
#   own.
# query_2: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_3: plan stateless, because it keeps no state: every row is handled on its own.

from moda import similar as udf_f1
from modb import similar as udf_f2
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return spark.readStream.format("json").schema("a STRING, ts TIMESTAMP").load("one")


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts
    return timed.withWatermark("ts", "0 seconds")


def read_t(spark: SparkSession) -> DataFrame:
    # CREATE TABLE t
    return spark.read.format("json").schema("a STRING, ts TIMESTAMP").load("t")


def read_packets_2(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return spark.readStream.format("json").schema("b INT, ts TIMESTAMP").load("two")


def accept_packets_2(packets_2: DataFrame) -> DataFrame:
    # lines that cannot be read are left out
    return packets_2.dropna("all")


def read_packets_3(packets: DataFrame) -> DataFrame:
    # SELECT f1(a) AS x, f2(a) AS y
    return packets.selectExpr("f1(a) AS x", "f2(a) AS y")


def query_2(packets: DataFrame, t: DataFrame) -> DataFrame:
    # INNER JOIN t ON packets.a = t.a
    joined = packets.alias("packets").join(
        t.alias("t"),
        F.expr("packets.a = t.a"),
        "inner",
    )
    # [RANGE 1 minute, WA packets.ts]
    grouped = joined.groupBy(F.window("packets.ts", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute, WA packets.ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_3(packets_2: DataFrame) -> DataFrame:
    # SELECT b
    return packets_2.selectExpr("b")


def main() -> None:
    spark = (
        SparkSession.builder.appName("names_apart")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.udf.register("f1", udf_f1, "STRING")
    spark.udf.register("f2", udf_f2, "STRING")
    packets = accept_packets(read_packets(spark))
    t = read_t(spark)
    packets_2 = accept_packets_2(read_packets_2(spark))
    (
        read_packets_3(packets)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_2(packets, t).writeStream.format("console").option("truncate", False).start()
    query_3(packets_2).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
