# Compiled by ssql 0.1.0 from stream_joins.ssql.
#
# query_1: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_2: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_3: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_4: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_5: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_6: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_7: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_8: plan native over order-agnostic, because GROUP BY on the stream's time: each
#   instant closes by itself; no order is asked for, so streams are joined as their rows
#   come, by Spark itself.
# query_9: plan paned over order-agnostic, because a row is in up to 10 windows: it is
#   aggregated once, in one of 10 panes of 1 minute a window, and windows are made of
#   panes; no order is asked for, so streams are joined as their rows come, by Spark
#   itself.
# query_10: plan wid over order-agnostic, because RANGE = SLIDE, so each row is in one
#   window and panes save nothing; no order is asked for, so streams are joined as their
#   rows come, by Spark itself.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_a(spark: SparkSession) -> DataFrame:
    # CREATE STREAM a
    return (
        spark.readStream.format("json")
        .schema("k STRING, v INT, ts TIMESTAMP")
        .load("data/a")
    )


def accept_a(a: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = a.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_b(spark: SparkSession) -> DataFrame:
    # CREATE STREAM b
    return (
        spark.readStream.format("json")
        .schema("k STRING, v INT, ts TIMESTAMP")
        .load("data/b")
    )


def accept_b(b: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = b.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_c(spark: SparkSession) -> DataFrame:
    # CREATE STREAM c
    return (
        spark.readStream.format("json")
        .schema("k STRING, v INT, ts TIMESTAMP")
        .load("data/c")
    )


def accept_c(c: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = c.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 1 second, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "1001 milliseconds")


def read_names(spark: SparkSession) -> DataFrame:
    # CREATE TABLE names
    return spark.read.format("csv").schema("k STRING, name STRING").load("names.csv")


def query_1(a: DataFrame, b: DataFrame) -> DataFrame:
    # WHERE b.v > 3
    filtered = b.where("v > 3")
    # INNER JOIN b ON a.k = b.k AND a.v < b.v within the windows of both sides
    joined = a.alias("a").join(
        filtered.alias("b"),
        [
            F.expr("a.k = b.k"),
            F.expr("a.v < b.v"),
            F.expr("b.ts > a.ts - INTERVAL 2 minutes"),
            F.expr("b.ts < a.ts + INTERVAL 3 minutes"),
        ],
        "inner",
    )
    # SELECT a.k, b.v
    return joined.selectExpr("a.k AS k", "b.v AS v")


def query_2(a: DataFrame, b: DataFrame) -> DataFrame:
    # INNER JOIN b ON a.k = b.k in the same 5 minutes
    joined = a.alias("a").join(
        b.alias("b"),
        [
            F.expr("a.k = b.k"),
            F.expr(
                "(unix_micros(b.ts) + 270000000) DIV 300000000 = (unix_micros(a.ts) + 270000000) DIV 300000000"
            ),
            F.expr("b.ts > a.ts - INTERVAL 5 minutes"),
            F.expr("b.ts < a.ts + INTERVAL 5 minutes"),
        ],
        "inner",
    )
    # SELECT a.k, b.v
    return joined.selectExpr("a.k AS k", "b.v AS v")


def query_3(a: DataFrame, b: DataFrame) -> DataFrame:
    # INNER JOIN b ON a.ts = b.ts AND a.k = b.k
    joined = a.alias("a").join(
        b.alias("b"),
        [F.expr("a.ts = b.ts"), F.expr("a.k = b.k")],
        "inner",
    )
    # SELECT a.k, b.v
    return joined.selectExpr("a.k AS k", "b.v AS v")


def query_4(a: DataFrame, b: DataFrame) -> DataFrame:
    # FULL JOIN b ON a.k = b.k within the windows of both sides
    joined = a.alias("a").join(
        b.alias("b"),
        [
            F.expr("a.k = b.k"),
            F.expr("b.ts > a.ts - INTERVAL 2 minutes"),
            F.expr("b.ts < a.ts + INTERVAL 3 minutes"),
        ],
        "full",
    )
    # SELECT a.k, b.v
    return joined.selectExpr("a.k AS k", "b.v AS v")


def query_5(a: DataFrame) -> DataFrame:
    # INNER JOIN a ON x.k = y.k AND x.ts < y.ts within the windows of both sides
    joined = a.alias("x").join(
        a.alias("y"),
        [
            F.expr("x.k = y.k"),
            F.expr("x.ts < y.ts"),
            F.expr("y.ts > x.ts - INTERVAL 10 seconds"),
            F.expr("y.ts < x.ts + INTERVAL 10 seconds"),
        ],
        "inner",
    )
    # SELECT x.k, y.v
    return joined.selectExpr("x.k AS k", "y.v AS v")


def query_6(a: DataFrame, b: DataFrame, c: DataFrame, names: DataFrame) -> DataFrame:
    # the time of a in a column of its own
    a_timed = (
        a.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("a")
    )
    # the time of b in a column of its own
    b_timed = (
        b.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("b")
    )
    # INNER JOIN b ON a.k = b.k within the windows of both sides
    joined = a_timed.join(
        b_timed,
        [
            F.expr("a.k = b.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 2 minutes"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 3 minutes"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("greatest(a.ts, b.ts)").alias(
            "event_time_to_2",
            metadata={"spark.watermarkDelayMs": 0},
        ),
    )
    # INNER JOIN names ON names.k = a.k
    joined_2 = timed.join(names.alias("names"), F.expr("names.k = a.k"), "inner")
    # the time of c in a column of its own
    c_timed = (
        c.withColumn("event_time_4", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("c")
    )
    # INNER JOIN c ON b.k = c.k within the windows of both sides
    joined_3 = joined_2.join(
        c_timed,
        [
            F.expr("b.k = c.k"),
            F.expr("event_time_4 > event_time_to_2 - INTERVAL 1 minute"),
            F.expr("event_time_4 < a.ts + INTERVAL 3 minutes"),
            F.expr("event_time_4 < b.ts + INTERVAL 2 minutes"),
        ],
        "inner",
    )
    # SELECT a.k, name
    return joined_3.selectExpr("a.k AS k", "names.name AS name")


def query_7(a: DataFrame, b: DataFrame) -> DataFrame:
    # no equality to join by: slots of 70 seconds
    slotted = a.alias("a").withColumn(
        "slot_1",
        F.expr("unix_micros(a.ts) DIV 70000000"),
    )
    # no equality to join by: slots of 70 seconds
    slotted_2 = b.alias("b").withColumn(
        "partner_slot_1",
        F.expr(
            "explode(sequence((unix_micros(b.ts) - 60000000) DIV 70000000, (unix_micros(b.ts) + 10000000) DIV 70000000))"
        ),
    )
    # INNER JOIN b ON a.v < b.v within the windows of both sides
    joined = slotted.join(
        slotted_2,
        [
            F.expr("slot_1 = partner_slot_1"),
            F.expr("a.v < b.v"),
            F.expr("b.ts > a.ts - INTERVAL 10 seconds"),
            F.expr("b.ts < a.ts + INTERVAL 1 minute"),
        ],
        "inner",
    )
    # SELECT a.k, b.k
    return joined.selectExpr("a.k AS k", "b.k AS k_1")


def query_8(a: DataFrame, b: DataFrame) -> DataFrame:
    # the time of a in a column of its own
    a_timed = (
        a.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("a")
    )
    # the time of b in a column of its own
    b_timed = (
        b.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("b")
    )
    # INNER JOIN b ON a.k = b.k within the windows of both sides
    joined = a_timed.join(
        b_timed,
        [
            F.expr("a.k = b.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 2 minutes"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 2 minutes"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("a.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # GROUP BY a.ts, b.ts
    grouped = timed.groupBy(
        F.window("event_time", "1 microsecond").alias("instant"),
        F.expr("a.ts AS ts"),
        F.expr("b.ts AS ts_1"),
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT a.ts, b.ts, count(*)
    return aggregated.selectExpr("ts", "ts_1", "`count(*)`")


def query_9(a: DataFrame, b: DataFrame) -> DataFrame:
    # the time of a in a column of its own
    a_timed = (
        a.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("a")
    )
    # the time of b in a column of its own
    b_timed = (
        b.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("b")
    )
    # INNER JOIN b ON a.k = b.k within the windows of both sides
    joined = a_timed.join(
        b_timed,
        [
            F.expr("a.k = b.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 9 seconds"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 9 seconds"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("b.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # panes of 1 minute GROUP BY a.k
    by_pane = timed.groupBy(
        F.window("event_time", "1 minute").alias("pane"),
        F.expr("a.k AS k"),
    )
    # sum(b.v)
    panes = by_pane.agg(F.expr("sum(b.v) AS `sum(v)`"))
    # [RANGE 10 minutes, SLIDE 1 minute, WA b.ts]
    by_window = panes.groupBy(F.window("pane", "10 minutes", "1 minute"), "k")
    # windows from panes
    windows = by_window.agg(F.expr("sum(`sum(v)`) AS `sum(v)`"))
    # SELECT a.k, sum(b.v) [RANGE 10 minutes, SLIDE 1 minute, WA b.ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "k",
        "`sum(v)`",
    )


def query_10(a: DataFrame, b: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY k
    grouped = a.groupBy(F.window("ts", "1 minute"), "k")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT k, count(*) AS n [RANGE 1 minute]
    m = aggregated.selectExpr(
        "window.end AS window_end",
        "k",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 minute] GROUP BY k
    grouped_2 = b.groupBy(F.window("ts", "1 minute"), "k")
    # count(*)
    aggregated_2 = grouped_2.agg(F.expr("count(*) AS n"))
    # SELECT k, count(*) AS n [RANGE 1 minute]
    n = aggregated_2.selectExpr(
        "window.end AS window_end",
        "k",
        "n",
        "window_time(window) AS event_time",
    )
    # the time of m in a column of its own
    m_timed = m.withColumnRenamed("event_time", "event_time_1").alias("m")
    # the time of n in a column of its own
    n_timed = n.withColumnRenamed("event_time", "event_time_2").alias("n")
    # INNER JOIN (SELECT k, count(*) AS n [RANGE 1 minute] FROM b GROUP BY k) ON m.k =
    #   n.k within the windows of both sides
    joined = m_timed.join(
        n_timed,
        [
            F.expr("m.k = n.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 5 minutes"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 5 minutes"),
        ],
        "inner",
    )
    # SELECT m.k, m.n, n.n
    return joined.selectExpr("m.k AS k", "m.n AS n", "n.n AS n_1")


def main() -> None:
    spark = (
        SparkSession.builder.appName("stream_joins")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    a = accept_a(read_a(spark))
    b = accept_b(read_b(spark))
    c = accept_c(read_c(spark))
    names = read_names(spark)
    query_1(a, b).writeStream.format("console").option("truncate", False).start()
    query_2(a, b).writeStream.format("console").option("truncate", False).start()
    query_3(a, b).writeStream.format("console").option("truncate", False).start()
    query_4(a, b).writeStream.format("console").option("truncate", False).start()
    query_5(a).writeStream.format("console").option("truncate", False).start()
    (
        query_6(a, b, c, names)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_7(a, b).writeStream.format("console").option("truncate", False).start()
    query_8(a, b).writeStream.format("console").option("truncate", False).start()
    query_9(a, b).writeStream.format("console").option("truncate", False).start()
    query_10(a, b).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
