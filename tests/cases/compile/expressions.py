# Compiled by ssql 0.1.0 from expressions.ssql.
#
# query_1: plan stateless, because it keeps no state: every row is handled on its own.
# query_2: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan native, because GROUP BY on the stream's time: each instant closes by
#   itself.
# query_5: plan stateless, because it keeps no state: every row is handled on its own.
# query_6: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, len INT, `if` INT, arr ARRAY<INT>, txt STRING, flag BOOLEAN, id INT, ts TIMESTAMP",
        )
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts
    return timed.withWatermark("ts", "0 seconds")


def query_1(packets: DataFrame) -> DataFrame:
    # SELECT ts - INTERVAL 1 HOUR 30 MINUTES AS a, id & 1 << 2 AS b, x'1F' AS c, -128Y
    #   AS d, flag = txt NOT IN ('a') AS e, txt IS NOT NULL AS f, id NOT BETWEEN 1 AND 2
    #   AS g, id <=> 1 AS h, if(flag, `if`, 2) AS i, transform(arr, e -> e + id) AS j,
    #   txt RLIKE r'\d+' AS k, 'F.x os.environ[' AS l
    return packets.selectExpr(
        "ts - (INTERVAL '1' HOUR + INTERVAL '30' MINUTES) AS a",
        "id & 1 << 2 AS b",
        "X'1F' AS c",
        "CAST(-128 AS TINYINT) AS d",
        "flag = txt NOT IN ('a') AS e",
        "txt IS NOT NULL AS f",
        "id NOT BETWEEN 1 AND 2 AS g",
        "id <=> 1 AS h",
        "if(flag, `if`, 2) AS i",
        "transform(arr, e -> e + id) AS j",
        "txt RLIKE '\\\\d+' AS k",
        "'F.x os.environ[' AS l",
    )


def query_2(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute]
    grouped = packets.groupBy(F.window("ts", "1 minute"))
    # max(len), min(len), count(*)
    aggregated = grouped.agg(
        F.expr("max(len) AS max_len"),
        F.expr("min(len) AS min_len"),
        F.expr("count(*) AS n"),
    )
    # HAVING spread * 2 > 1 AND n - spread > 0
    having = aggregated.where(
        "(max_len - min_len) * 2 > 1 AND n - (max_len - min_len) > 0",
    )
    # SELECT max(len) - min(len) AS spread, count(*) AS n [RANGE 1 minute]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "max_len - min_len AS spread",
        "n",
    )


def query_3(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT window_start, date_format(window_end, 'HH:mm') AS t, srcIP, count(*) AS n
    #   [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "date_format(window.end, 'HH:mm') AS t",
        "srcIP",
        "n",
    )


def query_4(packets: DataFrame) -> DataFrame:
    # GROUP BY len, ts
    grouped = packets.groupBy(
        F.window("ts", "1 microsecond").alias("instant"),
        F.expr("len AS count"),
    )
    # each group once
    aggregated = grouped.agg(F.expr("count(*) AS `rows`"))
    # SELECT len AS `count`
    return aggregated.selectExpr("count")


def query_5(packets: DataFrame) -> DataFrame:
    # SELECT len rows, ts date, * EXCEPT (len, `if`, arr)
    return packets.selectExpr(
        "len AS `rows`",
        "ts AS `date`",
        "srcIP",
        "txt",
        "flag",
        "id",
        "ts",
    )


def query_6(packets: DataFrame) -> DataFrame:
    # HAVING `select`.srcIP <> 'x'
    filtered = packets.where("srcIP <> 'x'")
    # [RANGE 1 minute] GROUP BY `select`.srcIP
    grouped = filtered.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # HAVING n > 1
    having = aggregated.where("n > 1")
    # SELECT `select`.srcIP, count(*) AS n [RANGE 1 minute]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "n",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("expressions")
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
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
