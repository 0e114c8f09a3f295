# Compiled by ssql 0.1.0 from in_order.ssql.
#
# query_1: plan sync-filter, because c·|w|·λ1·λ2 is 0.00011, below 0.5: joining rows as
#   they come would give results only 0.0% sooner, and hold more.
# query_2: plan filter-order, because it was asked for.
# query_3: plan adaptive, because it was asked for.
# query_4: plan sync-filter, because c·|w|·λ1·λ2 is 0.28, below 0.5: joining rows as
#   they come would give results only 21.8% sooner, and hold more.
# query_5: plan slide-by-tuple over sync-filter, because windows end with rows: each
#   time is aggregated once; c·|w|·λ1·λ2 is 0.0059, below 0.5: joining rows as they come
#   would give results only 0.6% sooner, and hold more.
# query_6: plan filter-order, because rows that match nothing are results as well: Spark
#   joins rows as they come, and results are held until their turn.
# query_7: plan filter-order, because stored rows take part: Spark joins rows as they
#   come, and results are held until their turn.
# query_8: plan in-order, because rows are held until nothing can come before them, and
#   put in order.
# query_9: plan in-order over wid, because rows are held until nothing can come before
#   them, and put in order; RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_10: plan sync-filter, because c·|w|·λ1·λ2 is 0.0006, below 0.5: joining rows as
#   they come would give results only 0.1% sooner, and hold more.
# query_11: plan sync-filter, because c·|w|·λ1·λ2 is 0.14, below 0.5: joining rows as
#   they come would give results only 12.2% sooner, and hold more.
# query_12: plan sync-filter, because c·|w|·λ1·λ2 is 0.0006, below 0.5: joining rows as
#   they come would give results only 0.1% sooner, and hold more.
# query_13: plan filter-order, because rows that match nothing are results as well:
#   Spark joins rows as they come, and results are held until their turn.
# query_14: plan sync-filter, because c·|w|·λ1·λ2 is 0.0006, below 0.5: joining rows as
#   they come would give results only 0.1% sooner, and hold more.
# query_15: plan sync-filter, because c·|w|·λ1·λ2 is 0.0006, below 0.5: joining rows as
#   they come would give results only 0.1% sooner, and hold more.

from mymodule import similar as udf_similar
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.asking import Asked
from ssql.runtime.operators.ordered_join import Side, ordered_join
from ssql.runtime.operators.ordering import By, in_order
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.tuples import tuple_windows


def read_a(spark: SparkSession) -> DataFrame:
    # CREATE STREAM a
    return (
        spark.readStream.format("json")
        .schema("k STRING, v INT, `odd name` STRING, ts TIMESTAMP")
        .load("a")
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
        .schema("k STRING, v INT, `odd name` STRING, ts TIMESTAMP")
        .load("b")
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
        .schema("k STRING, v BIGINT, ts TIMESTAMP")
        .load("c")
    )


def accept_c(c: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = c.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts, and a join of Spark's drops a row at the watermark
    return timed.withWatermark("ts", "1 millisecond")


def read_names(spark: SparkSession) -> DataFrame:
    # CREATE TABLE names
    return spark.read.format("json").schema("k STRING, name STRING").load("names")


def query_1(a: DataFrame, b: DataFrame) -> DataFrame:
    # WHERE a.v > 3
    filtered = a.where("v > 3")
    # FROM a, b WHERE a.k = b.k WINDOW 10 seconds
    joined = ordered_join(
        [
            Side(filtered, "a", time="ts", keys=["k"]),
            Side(b, "b", time="ts", keys=["k"]),
        ],
        plan="sync-filter",
        within="10 seconds",
    )
    # and of these a.v < b.v
    joined_2 = joined.where("a.v < b.v")
    # SELECT a.k, a.ts, b.ts AS other
    return joined_2.selectExpr("a.k AS k", "a.ts AS ts", "b.ts AS other")


def query_2(a: DataFrame, b: DataFrame) -> DataFrame:
    # FROM a x [RANGE 3 minutes], b y [RANGE 1 minute] WHERE x.`odd name` = y.`odd name`
    #   ORDER BY x.ts, y.v
    joined = ordered_join(
        [
            Side(a, "x", time="ts", keys=["`odd name`"], range="3 minutes"),
            Side(b, "y", time="ts", keys=["`odd name`"], range="1 minute"),
        ],
        plan="filter-order",
        by="x",
        then=[By("y.v", descending=True, nulls_first=True)],
    )
    # SELECT x.`odd name`, y.v
    return joined.selectExpr("x.`odd name` AS `odd name`", "y.v AS v")


def query_3(a: DataFrame, b: DataFrame, c: DataFrame) -> DataFrame:
    # FROM a, b, c [RANGE TUMBLING 10 minutes, ORIGIN '2026-01-01 00:01:00'] WHERE a.k =
    #   b.k AND a.v = c.v ORDER BY greatest(b.ts, c.ts, a.ts)
    joined = ordered_join(
        [
            Side(a, "a", time="ts", keys=["k", "v"]),
            Side(b, "b", time="ts", keys=["k", None]),
            Side(c, "c", time="ts", keys=[None, "v"]),
        ],
        plan="adaptive",
        tumbling="10 minutes",
        origin=1767225660000000,
        alpha=0.5,
    )
    # SELECT a.v, b.v, c.v
    return joined.selectExpr("a.v AS v", "b.v AS v_1", "c.v AS v_2")


def query_4(c: DataFrame) -> DataFrame:
    # FROM c c1, c c2 WHERE c1.ts = c2.ts ORDER BY c1.ts
    joined = ordered_join(
        [Side(c, "c1", time="ts", keys=["ts"]), Side(c, "c2", time="ts", keys=["ts"])],
        plan="sync-filter",
        within="0 seconds",
        by="c1",
    )
    # and of these c1.k < c2.k
    joined_2 = joined.where("c1.k < c2.k")
    # SELECT c1.k
    return joined_2.selectExpr("c1.k AS k")


def query_5(a: DataFrame, b: DataFrame) -> DataFrame:
    # FROM a, b WHERE a.k = b.k WINDOW 10 minutes
    joined = ordered_join(
        [Side(a, "a", time="ts", keys=["k"]), Side(b, "b", time="ts", keys=["k"])],
        plan="sync-filter",
        within="10 minutes",
        event_time="event_time",
    )
    windows = tuple_windows(
        joined,
        time="event_time",
        range="10 minutes",
        slide=1,
        keys=[],
        parts=[
            Part(
                "concat",
                "if(isnotnull(a.k), array(a.k), NULL)",
                "count_DISTINCT_k_values",
            ),
        ],
        chained=True,
    )
    # what is shown: count(DISTINCT k)
    finished = windows.selectExpr(
        "*",
        "CAST(size(array_distinct(count_DISTINCT_k_values)) AS BIGINT) AS `count(DISTINCT k)`",
    )
    # SELECT count(DISTINCT a.k)
    return finished.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(DISTINCT k)`",
    )


def query_6(a: DataFrame, b: DataFrame) -> DataFrame:
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
    # LEFT JOIN b ON a.k = b.k within the windows of both sides
    joined = a_timed.join(
        b_timed,
        [
            F.expr("a.k = b.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 1 minute"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 3 minutes"),
        ],
        "left",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("a.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # the columns of each side together
    by_side = timed.selectExpr(
        "struct(a.k, a.v, a.`odd name`, a.ts) AS a",
        "struct(b.k, b.v, b.`odd name`, b.ts) AS b",
        "event_time",
    )
    # ORDER BY a.ts
    ordered = in_order(by_side, event_time="event_time")
    # SELECT a.k, b.v
    return ordered.selectExpr("a.k AS k", "b.v AS v")


def query_7(a: DataFrame, c: DataFrame, names: DataFrame) -> DataFrame:
    # the time of a in a column of its own
    a_timed = (
        a.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("a")
    )
    # the time of c in a column of its own
    c_timed = (
        c.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("c")
    )
    # INNER JOIN c ON a.k = c.k within 5 seconds
    joined = a_timed.join(
        c_timed,
        [
            F.expr("a.k = c.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 5000001 microseconds"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 5000001 microseconds"),
        ],
        "inner",
    )
    # INNER JOIN names ON names.k = a.k within 5 seconds
    joined_2 = joined.join(names.alias("names"), F.expr("names.k = a.k"), "inner")
    # the time of the results
    timed = joined_2.select(
        "*",
        F.expr("greatest(a.ts, c.ts)").alias(
            "event_time",
            metadata={"spark.watermarkDelayMs": 0},
        ),
    )
    # the columns of each side together
    by_side = timed.selectExpr(
        "struct(a.k, a.v, a.`odd name`, a.ts) AS a",
        "struct(c.k, c.v, c.ts) AS c",
        "struct(names.k, names.name) AS names",
        "event_time",
    )
    # WINDOW 5 seconds: in order of time
    ordered = in_order(by_side, event_time="event_time")
    # SELECT name, c.v
    return ordered.selectExpr("names.name AS name", "c.v AS v")


def query_8(a: DataFrame) -> DataFrame:
    # ORDER BY ts, v
    return in_order(a, time="ts", then=[By("v", descending=True)])


def query_9(a: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY k
    grouped = a.groupBy(F.window("ts", "1 minute"), "k")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT k, count(*) AS n [RANGE 1 minute]
    selected = aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "k",
        "n",
        "window_time(window) AS event_time",
    )
    # ORDER BY window_end
    return in_order(selected, event_time="event_time")


def query_10(a: DataFrame, b: DataFrame) -> DataFrame:
    # FROM a x JOIN b y ON split(x.k, ',') = split(y.k, ',') AND upper(x.k) = y.k WINDOW
    #   1 minute
    joined = ordered_join(
        [
            Side(a, "x", time="ts", keys=["upper(k)"]),
            Side(b, "y", time="ts", keys=["k"]),
        ],
        plan="sync-filter",
        within="1 minute",
    )
    # and of these split(x.k, ',') = split(y.k, ',')
    joined_2 = joined.where("split(x.k, ',') = split(y.k, ',')")
    # SELECT x.k
    return joined_2.selectExpr("x.k AS k")


def query_11(a: DataFrame, b: DataFrame, c: DataFrame) -> DataFrame:
    # FROM a x, b y, c z WHERE x.v = y.v AND y.v = z.v WINDOW 1 minute
    joined = ordered_join(
        [
            Side(a, "x", time="ts", keys=["v", None]),
            Side(b, "y", time="ts", keys=["v", "v"]),
            Side(c, "z", time="ts", keys=[None, "v"]),
        ],
        plan="sync-filter",
        within="1 minute",
    )
    # SELECT x.v
    return joined.selectExpr("x.v AS v")


def query_12(a: DataFrame, b: DataFrame) -> DataFrame:
    # FROM a [RANGE 1 minute], b [RANGE 1 minute] WHERE a.k = b.k ORDER BY a.ts
    joined = ordered_join(
        [
            Side(a, "a", time="ts", keys=["k"], range="1 minute"),
            Side(b, "b", time="ts", keys=["k"], range="1 minute"),
        ],
        plan="sync-filter",
        by="a",
    )
    # SELECT a.k, a.ts
    by_first = joined.selectExpr("a.k AS k", "a.ts AS ts")
    # FROM a [RANGE 1 minute], b [RANGE 1 minute] WHERE a.k = b.k ORDER BY b.ts
    joined_2 = ordered_join(
        [
            Side(a, "a", time="ts", keys=["k"], range="1 minute"),
            Side(b, "b", time="ts", keys=["k"], range="1 minute"),
        ],
        plan="sync-filter",
        by="b",
    )
    # SELECT a.k, b.ts
    by_second = joined_2.selectExpr("a.k AS k", "b.ts AS ts")
    # UNION ALL
    return by_first.union(by_second)


def query_13(a: DataFrame, b: DataFrame) -> DataFrame:
    # WHERE v > 1
    filtered = a.where("v > 1")
    # SELECT k, v, ts
    x = filtered.selectExpr("k", "v", "ts")
    # SELECT v AS w, ts, k
    y = b.selectExpr("v AS w", "ts", "k")
    # the time of x in a column of its own
    x_timed = (
        x.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("x")
    )
    # the time of y in a column of its own
    y_timed = (
        y.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("y")
    )
    # LEFT JOIN (SELECT v AS w, ts, k FROM b) ON x.k = y.k within the windows of both
    #   sides
    joined = x_timed.join(
        y_timed,
        [
            F.expr("x.k = y.k"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 1 minute"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 1 minute"),
        ],
        "left",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("x.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # the columns of each side together
    by_side = timed.selectExpr(
        "struct(x.k, x.v, x.ts) AS x",
        "struct(y.w, y.ts, y.k) AS y",
        "event_time",
    )
    # ORDER BY x.ts, x.v + y.w
    ordered = in_order(by_side, event_time="event_time", then=[By("x.v + y.w")])
    # SELECT x.v
    return ordered.selectExpr("x.v AS v")


def query_14(a: DataFrame, b: DataFrame) -> DataFrame:
    # SELECT k, ts
    selected = a.selectExpr("k", "ts")
    # SELECT k AS k2, ts AS other
    selected_2 = b.selectExpr("k AS k2", "ts AS other")
    # FROM (SELECT k, ts FROM a) [RANGE 1 minute], (SELECT k AS k2, ts AS other FROM b)
    #   [RANGE 1 minute] WHERE k = k2 ORDER BY greatest(ts, other)
    joined = ordered_join(
        [
            Side(selected, "", time="ts", keys=["k"], range="1 minute"),
            Side(selected_2, "", time="other", keys=["k2"], range="1 minute"),
        ],
        plan="sync-filter",
    )
    # SELECT ts, other
    return joined.selectExpr("ts", "other")


def query_15(a: DataFrame, b: DataFrame) -> DataFrame:
    # FROM a x, b y WHERE similar(x.v, y.v) > 007 AND 0.50 <= similar(y.v, x.v) WINDOW 1
    #   minute
    joined = ordered_join(
        [Side(a, "x", time="ts"), Side(b, "y", time="ts")],
        plan="sync-filter",
        within="1 minute",
        asked=[
            Asked(udf_similar, ["x.v", "y.v"], "DOUBLE", ">", 7),
            Asked(udf_similar, ["y.v", "x.v"], "DOUBLE", ">=", 0.5),
        ],
    )
    # SELECT x.k
    return joined.selectExpr("x.k AS k")


def main() -> None:
    spark = (
        SparkSession.builder.appName("in_order")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    spark.udf.register("similar", udf_similar, "DOUBLE")
    a = accept_a(read_a(spark))
    b = accept_b(read_b(spark))
    c = accept_c(read_c(spark))
    names = read_names(spark)
    query_1(a, b).writeStream.format("console").option("truncate", False).start()
    query_2(a, b).writeStream.format("console").option("truncate", False).start()
    query_3(a, b, c).writeStream.format("console").option("truncate", False).start()
    query_4(c).writeStream.format("console").option("truncate", False).start()
    query_5(a, b).writeStream.format("console").option("truncate", False).start()
    query_6(a, b).writeStream.format("console").option("truncate", False).start()
    query_7(a, c, names).writeStream.format("console").option("truncate", False).start()
    query_8(a).writeStream.format("console").option("truncate", False).start()
    query_9(a).writeStream.format("console").option("truncate", False).start()
    query_10(a, b).writeStream.format("console").option("truncate", False).start()
    query_11(a, b, c).writeStream.format("console").option("truncate", False).start()
    query_12(a, b).writeStream.format("console").option("truncate", False).start()
    query_13(a, b).writeStream.format("console").option("truncate", False).start()
    query_14(a, b).writeStream.format("console").option("truncate", False).start()
    query_15(a, b).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
