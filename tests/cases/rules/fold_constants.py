# Compiled by ssql 0.1.0 from fold_constants.ssql.
#
# query_1: plan stateless, because it keeps no state: every row is handled on its own.
# query_2: plan stateless, because it keeps no state: every row is handled on its own.
# query_3: plan stateless, because it keeps no state: every row is handled on its own.
# query_4: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_5: plan stateless, because it keeps no state: every row is handled on its own.
# query_6: plan stateless, because it keeps no state: every row is handled on its own.
# query_7: plan stateless, because it keeps no state: every row is handled on its own.
# query_8: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.

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


def query_1(packets: DataFrame) -> DataFrame:
    # SELECT srcIP
    return packets.selectExpr("srcIP")


def query_2(packets: DataFrame) -> DataFrame:
    # WHERE len > 40 AND srcIP <> 'x'
    filtered = packets.where("len > 40 AND srcIP <> 'x'")
    # SELECT srcIP
    return filtered.selectExpr("srcIP")


def query_3(packets: DataFrame) -> DataFrame:
    # WHERE len > 40 OR (2 < 1 AND srcIP = 'a')
    filtered = packets.where("len > 40")
    # SELECT srcIP
    return filtered.selectExpr("srcIP")


def query_4(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # HAVING count(*) > 0 - 1
    having = aggregated.where("n > -1")
    # SELECT srcIP, count(*) AS n [RANGE 1 minute]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "n",
    )


def query_5(packets: DataFrame) -> DataFrame:
    # WHERE 1 > 2
    filtered = packets.where("FALSE")
    # SELECT srcIP
    return filtered.selectExpr("srcIP")


def query_6(packets: DataFrame) -> DataFrame:
    # SELECT len * (60 * 60) AS a, len - (1 - 3) AS b, if(1 < 2, len, 7 + 8) AS c
    return packets.selectExpr(
        "len * 3600 AS a",
        "len - (-2) AS b",
        "if(TRUE, len, 15) AS c",
    )


def query_7(packets: DataFrame) -> DataFrame:
    # SELECT 7 / 2 AS a, 1.5 + 1 AS b, 'a' = 'b' AS c, 1L + 1 AS d, 2147483647 + 1 AS e,
    #   NULL AND TRUE AS f, ts + INTERVAL 1 + 1 SECONDS AS g
    return packets.selectExpr(
        "7 / 2 AS a",
        "1.5 + 1 AS b",
        "'a' = 'b' AS c",
        "CAST(1 AS BIGINT) + 1 AS d",
        "2147483647 + 1 AS e",
        "NULL AND TRUE AS f",
        "ts + INTERVAL (1 + 1) SECONDS AS g",
    )


def query_8(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY 1 + 1
    grouped = packets.groupBy(F.window("ts", "1 minute"), F.expr("1 + 1 AS two"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT 1 + 1 AS two, count(*) AS n [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "two",
        "n",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("fold_constants")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    query_5(packets).writeStream.format("console").option("truncate", False).start()
    query_6(packets).writeStream.format("console").option("truncate", False).start()
    query_7(packets).writeStream.format("console").option("truncate", False).start()
    query_8(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
