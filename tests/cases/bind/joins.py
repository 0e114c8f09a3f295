# Compiled by ssql 0.1.0 from joins.ssql.
#
# query_1: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_2: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_3: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_4: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_5: plan adaptive, because nobody knows how fast the streams are: it begins with
#   sync-filter, measures, and switches where c·|w|·λ1·λ2 reaches 0.3.
# query_6: plan filter-order, because stored rows take part: Spark joins rows as they
#   come, and results are held until their turn.
# query_7: plan wid over order-agnostic, because RANGE = SLIDE, so each row is in one
#   window and panes save nothing; no order is asked for, so streams are joined as their
#   rows come, by Spark itself.
# query_8: plan wid over order-agnostic, because RANGE = SLIDE, so each row is in one
#   window and panes save nothing; no order is asked for, so streams are joined as their
#   rows come, by Spark itself.
# query_9: plan wid over order-agnostic, because RANGE = SLIDE, so each row is in one
#   window and panes save nothing; no order is asked for, so streams are joined as their
#   rows come, by Spark itself.
# query_10: plan native over order-agnostic, because GROUP BY on the stream's time: each
#   instant closes by itself; no order is asked for, so streams are joined as their rows
#   come, by Spark itself.
# query_11: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.ordered_join import Side, ordered_join
from ssql.runtime.operators.ordering import in_order


def read_l(spark: SparkSession) -> DataFrame:
    # CREATE STREAM l
    return (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 1000)
        .load()
        .selectExpr(
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'k'), 1048576) / 1048576D) AS INT)) AS k",
            "CAST(floor(pmod(xxhash64(value, 0, 'v'), 1048576) / 1048576D * 1000) AS INT) AS v",
            "CAST(timestamp AS TIMESTAMP) AS ts",
        )
    )


def accept_l(l_: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = l_.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts, and a join of Spark's drops a row at the watermark
    return timed.withWatermark("ts", "1 millisecond")


def read_r(spark: SparkSession) -> DataFrame:
    # CREATE STREAM r
    return (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 1000)
        .load()
        .selectExpr(
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'k'), 1048576) / 1048576D) AS INT)) AS k",
            "CAST(floor(pmod(xxhash64(value, 0, 'v'), 1048576) / 1048576D * 1000) AS INT) AS v",
            "CAST(timestamp AS TIMESTAMP) AS at",
        )
    )


def accept_r(r: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = r.where("at BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR at AS at, and a join of Spark's drops a row at the watermark
    return timed.withWatermark("at", "1 millisecond")


def read_o(spark: SparkSession) -> DataFrame:
    # CREATE STREAM o
    return (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 1000)
        .load()
        .selectExpr(
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'k'), 1048576) / 1048576D) AS INT)) AS k",
            "CAST(floor(pmod(xxhash64(value, 0, 'v'), 1048576) / 1048576D * 1000) AS INT) AS v",
            "CAST(timestamp AS TIMESTAMP) AS ts",
        )
    )


def accept_o(o: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = o.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts, and a join of Spark's drops a row at the watermark
    return timed.withWatermark("ts", "1 millisecond")


def read_d(spark: SparkSession) -> DataFrame:
    # CREATE TABLE d
    return spark.read.format("csv").schema("k STRING, name STRING").load("d.csv")


def query_1(l_: DataFrame, r: DataFrame) -> DataFrame:
    # INNER JOIN r ON l.k = r.k within the windows of both sides
    joined = l_.alias("l").join(
        r.alias("r"),
        [
            F.expr("l.k = r.k"),
            F.expr("r.at > l.ts - INTERVAL 2 minutes"),
            F.expr("r.at < l.ts + INTERVAL 3 minutes"),
        ],
        "inner",
    )
    # SELECT *
    return joined.selectExpr(
        "l.k AS k",
        "l.v AS v",
        "l.ts AS ts",
        "r.k AS k_1",
        "r.v AS v_1",
        "r.at AS at",
    )


def query_2(l_: DataFrame, r: DataFrame) -> DataFrame:
    # r.v > 1, asked before the join
    asked = r.alias("r").withColumn("met_1_2", F.expr("r.v > 1"))
    # LEFT JOIN r ON l.k = r.k AND r.v > 1 within the windows of both sides
    joined = l_.alias("l").join(
        asked,
        [
            F.expr("l.k = r.k"),
            F.expr("met_1_2"),
            F.expr("r.at > l.ts - INTERVAL 2 minutes"),
            F.expr("r.at < l.ts + INTERVAL 3 minutes"),
        ],
        "left",
    )
    # SELECT l.k, r.v
    return joined.selectExpr("l.k AS k", "r.v AS v")


def query_3(l_: DataFrame, o: DataFrame) -> DataFrame:
    # the time of a in a column of its own
    a_timed = (
        l_.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("a")
    )
    # the time of b in a column of its own
    b_timed = (
        l_.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("b")
    )
    # INNER JOIN l ON a.k = b.k within the windows of both sides
    joined = a_timed.join(
        b_timed,
        [
            F.expr("a.k = b.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 1 minute"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 1 minute"),
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
    # the time of c in a column of its own
    c_timed = (
        o.withColumn("event_time_3", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("c")
    )
    # INNER JOIN o ON b.k = c.k within the windows of both sides
    joined_2 = timed.join(
        c_timed,
        [
            F.expr("b.k = c.k"),
            F.expr("event_time_3 > event_time_to_2 - INTERVAL 30 seconds"),
            F.expr("event_time_3 < a.ts + INTERVAL 1 minute"),
            F.expr("event_time_3 < b.ts + INTERVAL 1 minute"),
        ],
        "inner",
    )
    # SELECT a.k
    return joined_2.selectExpr("a.k AS k")


def query_4(l_: DataFrame, r: DataFrame) -> DataFrame:
    # INNER JOIN r ON l.k = r.k in the same 5 minutes
    joined = l_.alias("l").join(
        r.alias("r"),
        [
            F.expr("l.k = r.k"),
            F.expr("unix_micros(r.at) DIV 300000000 = unix_micros(l.ts) DIV 300000000"),
            F.expr("r.at > l.ts - INTERVAL 5 minutes"),
            F.expr("r.at < l.ts + INTERVAL 5 minutes"),
        ],
        "inner",
    )
    # SELECT l.k
    return joined.selectExpr("l.k AS k")


def query_5(l_: DataFrame, o: DataFrame) -> DataFrame:
    # FROM l, o WHERE l.k = o.k WINDOW 10 minutes
    joined = ordered_join(
        [Side(l_, "l", time="ts", keys=["k"]), Side(o, "o", time="ts", keys=["k"])],
        plan="adaptive",
        within="10 minutes",
    )
    # SELECT l.k
    return joined.selectExpr("l.k AS k")


def query_6(l_: DataFrame, o: DataFrame, d: DataFrame) -> DataFrame:
    # the time of l in a column of its own
    l_timed = (
        l_.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("l")
    )
    # the time of o in a column of its own
    o_timed = (
        o.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("o")
    )
    # INNER JOIN o ON l.k = o.k within the windows of both sides
    joined = l_timed.join(
        o_timed,
        [
            F.expr("l.k = o.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 1 minute"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 1 minute"),
        ],
        "inner",
    )
    # INNER JOIN d ON d.k = l.k
    joined_2 = joined.join(d.alias("d"), F.expr("d.k = l.k"), "inner")
    # the time of the results
    timed = joined_2.select(
        "*",
        F.expr("greatest(o.ts, l.ts)").alias(
            "event_time",
            metadata={"spark.watermarkDelayMs": 0},
        ),
    )
    # the columns of each side together
    by_side = timed.selectExpr(
        "struct(l.k, l.v, l.ts) AS l",
        "struct(o.k, o.v, o.ts) AS o",
        "struct(d.k, d.name) AS d",
        "event_time",
    )
    # ORDER BY greatest(o.ts, l.ts)
    ordered = in_order(by_side, event_time="event_time")
    # SELECT l.k, name
    return ordered.selectExpr("l.k AS k", "d.name AS name")


def query_7(l_: DataFrame, o: DataFrame) -> DataFrame:
    # the time of l in a column of its own
    l_timed = (
        l_.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("l")
    )
    # the time of o in a column of its own
    o_timed = (
        o.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("o")
    )
    # INNER JOIN o ON l.k = o.k within the windows of both sides
    joined = l_timed.join(
        o_timed,
        [
            F.expr("l.k = o.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 9 seconds"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 9 seconds"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("l.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # [RANGE 1 minute, WA l.ts]
    grouped = timed.groupBy(F.window("event_time", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 1 minute, WA l.ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_8(l_: DataFrame, o: DataFrame) -> DataFrame:
    # the time of l in a column of its own
    l_timed = (
        l_.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("l")
    )
    # the time of o in a column of its own
    o_timed = (
        o.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("o")
    )
    # INNER JOIN o ON l.k = o.k within the windows of both sides
    joined = l_timed.join(
        o_timed,
        [
            F.expr("l.k = o.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 9 seconds"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 9 seconds"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("greatest(l.ts, o.ts)").alias(
            "event_time",
            metadata={"spark.watermarkDelayMs": 0},
        ),
    )
    # [RANGE 1 minute]
    grouped = timed.groupBy(F.window("event_time", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_9(l_: DataFrame, o: DataFrame) -> DataFrame:
    # [RANGE 1 minute]
    grouped = l_.groupBy(F.window("ts", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    a = aggregated.selectExpr(
        "window.end AS window_end",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 minute]
    grouped_2 = o.groupBy(F.window("ts", "1 minute"))
    # count(*)
    aggregated_2 = grouped_2.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    b = aggregated_2.selectExpr(
        "window.end AS window_end",
        "n",
        "window_time(window) AS event_time",
    )
    # the time of a in a column of its own
    a_timed = a.withColumnRenamed("event_time", "event_time_1").alias("a")
    # the time of b in a column of its own
    b_timed = b.withColumnRenamed("event_time", "event_time_2").alias("b")
    # INNER JOIN (SELECT count(*) AS n [RANGE 1 minute] FROM o) ON a.window_end =
    #   b.window_end
    joined = a_timed.join(
        b_timed,
        [F.expr("a.window_end = b.window_end"), F.expr("event_time_2 = event_time_1")],
        "inner",
    )
    # SELECT a.n, b.n
    return joined.selectExpr("a.n AS n", "b.n AS n_1")


def query_10(l_: DataFrame, o: DataFrame) -> DataFrame:
    # the time of l in a column of its own
    l_timed = (
        l_.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("l")
    )
    # the time of o in a column of its own
    o_timed = (
        o.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("o")
    )
    # INNER JOIN o ON l.k = o.k within the windows of both sides
    joined = l_timed.join(
        o_timed,
        [
            F.expr("l.k = o.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 2 minutes"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 2 minutes"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("l.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # GROUP BY l.ts, o.ts
    grouped = timed.groupBy(
        F.window("event_time", "1 microsecond").alias("instant"),
        F.expr("l.ts AS ts"),
        F.expr("o.ts AS ts_1"),
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT l.ts, o.ts, count(*)
    return aggregated.selectExpr("ts", "ts_1", "`count(*)`")


def query_11(l_: DataFrame, r: DataFrame, o: DataFrame) -> DataFrame:
    # UNION ALL
    m = l_.union(o)
    # UNION ALL
    united = r.union(l_)
    # UNION ALL
    n = united.union(o)
    # INNER JOIN r UNION (l UNION o) ON m.k = n.k in the same 10 seconds
    joined = m.alias("m").join(
        n.alias("n"),
        [
            F.expr("m.k = n.k"),
            F.expr("unix_micros(n.at) DIV 10000000 = unix_micros(m.ts) DIV 10000000"),
            F.expr("n.at > m.ts - INTERVAL 10 seconds"),
            F.expr("n.at < m.ts + INTERVAL 10 seconds"),
        ],
        "inner",
    )
    # SELECT m.k
    return joined.selectExpr("m.k AS k")


def main() -> None:
    spark = (
        SparkSession.builder.appName("joins")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    l_ = accept_l(read_l(spark))
    r = accept_r(read_r(spark))
    o = accept_o(read_o(spark))
    d = read_d(spark)
    query_1(l_, r).writeStream.format("console").option("truncate", False).start()
    query_2(l_, r).writeStream.format("console").option("truncate", False).start()
    query_3(l_, o).writeStream.format("console").option("truncate", False).start()
    query_4(l_, r).writeStream.format("console").option("truncate", False).start()
    query_5(l_, o).writeStream.format("console").option("truncate", False).start()
    query_6(l_, o, d).writeStream.format("console").option("truncate", False).start()
    query_7(l_, o).writeStream.format("console").option("truncate", False).start()
    query_8(l_, o).writeStream.format("console").option("truncate", False).start()
    query_9(l_, o).writeStream.format("console").option("truncate", False).start()
    query_10(l_, o).writeStream.format("console").option("truncate", False).start()
    query_11(l_, r, o).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
