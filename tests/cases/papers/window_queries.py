# Compiled by ssql 0.1.0 from window_queries.ssql.
#
# query_1: plan paned, because a row is in up to 10 windows: it is aggregated once, in
#   one of 10 panes of 1 minute a window, and windows are made of panes.
# query_2: plan paned, because a row is in up to 10 windows: it is aggregated once, in
#   one of 10 panes of 1 minute a window, and windows are made of panes.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan native, because GROUP BY on the stream's time: each instant closes by
#   itself.
# query_5: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_6: plan partitioned, because rows are numbered in order of time, for each value
#   of PA.
# query_7: plan rows, because rows are numbered in order of time, all of them in one
#   task.
# query_8: plan landmark, because RANGE ALL: a group keeps one aggregate, of all its
#   panes so far.
# query_9: plan slide-by-tuple, because windows end with rows: each time is aggregated
#   once.
# query_10: plan slide-by-tuple, because windows end with rows: each time is aggregated
#   once.
# query_11: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_12: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_13: plan wid, because a row is in 4 windows only, and panes would take a second
#   aggregate.
# query_14: plan wid, because a row is in 4 windows only, and panes would take a second
#   aggregate.
# query_15: plan paned, because a row is in up to 10 windows: it is aggregated once, in
#   one of 10 panes of 1 minute a window, and windows are made of panes.
# query_16: plan wid, because a row is in 5 windows only, and panes would take a second
#   aggregate.
# query_17: plan paned, because a row is in up to 10 windows: it is aggregated once, in
#   one of 10 panes of 1 second a window, and windows are made of panes.
# query_18: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_19: plan paned, because a row is in up to 10 windows: it is aggregated once, in
#   one of 10 panes of 1 second a window, and windows are made of panes.
# query_20: plan native over order-agnostic, because GROUP BY on the stream's time: each
#   instant closes by itself; no order is asked for, so streams are joined as their rows
#   come, by Spark itself.
# query_21: plan wid over order-agnostic, because RANGE = SLIDE, so each row is in one
#   window and panes save nothing; no order is asked for, so streams are joined as their
#   rows come, by Spark itself.
# query_22: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_23: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_24: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_25: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_26: plan paned, because a row is in up to 5 windows: it is aggregated once, in
#   one of 5 panes of 1 minute a window, and windows are made of panes.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.landmark import landmark
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rows import row_windows
from ssql.runtime.operators.tuples import tuple_windows


def read_m(spark: SparkSession) -> DataFrame:
    # CREATE STREAM M
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/m")
    )


def accept_m(m: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = m.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def read_main_2(spark: SparkSession) -> DataFrame:
    # CREATE STREAM Main
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/main")
    )


def accept_main_2(main_2: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = main_2.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def read_main1(spark: SparkSession) -> DataFrame:
    # CREATE STREAM Main1
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/main1")
    )


def accept_main1(main1: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = main1.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_main2(spark: SparkSession) -> DataFrame:
    # CREATE STREAM Main2
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/main2")
    )


def accept_main2(main2: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = main2.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_control(spark: SparkSession) -> DataFrame:
    # CREATE STREAM Control
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/control")
    )


def accept_control(control: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = control.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def read_m1(spark: SparkSession) -> DataFrame:
    # CREATE STREAM M1
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/m1")
    )


def accept_m1(m1: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = m1.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_m2(spark: SparkSession) -> DataFrame:
    # CREATE STREAM M2
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/m2")
    )


def accept_m2(m2: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = m2.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_c(spark: SparkSession) -> DataFrame:
    # CREATE STREAM C
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/c")
    )


def accept_c(c: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = c.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_a(spark: SparkSession) -> DataFrame:
    # CREATE STREAM A
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/a")
    )


def accept_a(a: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = a.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_b(spark: SparkSession) -> DataFrame:
    # CREATE STREAM B
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/b")
    )


def accept_b(b: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = b.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_d(spark: SparkSession) -> DataFrame:
    # CREATE STREAM D
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP",
        )
        .load("data/d")
    )


def accept_d(d: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = d.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_s0(spark: SparkSession) -> DataFrame:
    # CREATE STREAM S0
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, flags STRING, ts TIMESTAMP",
        )
        .load("data/s0")
    )


def accept_s0(s0: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = s0.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def read_s1(spark: SparkSession) -> DataFrame:
    # CREATE STREAM S1
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, flags STRING, ts TIMESTAMP",
        )
        .load("data/s1")
    )


def accept_s1(s1: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = s1.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds, and a join of Spark's drops a row at
    #   the watermark
    return timed.withWatermark("ts", "5001 milliseconds")


def query_1(m: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY srcIP
    by_pane = m.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 10 minutes, SLIDE 1 minute, WA ts]
    by_window = panes.groupBy(F.window("pane", "10 minutes", "1 minute"), "srcIP")
    # windows from panes
    windows = by_window.agg(F.expr("sum(`count(*)`) AS `count(*)`"))
    # SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def query_2(main_2: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY srcIP
    by_pane = main_2.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 10 minutes, SLIDE 1 minute, WATTR ts]
    by_window = panes.groupBy(F.window("pane", "10 minutes", "1 minute"), "srcIP")
    # windows from panes
    windows = by_window.agg(F.expr("sum(`count(*)`) AS `count(*)`"))
    # SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WATTR ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def query_3(main1: DataFrame, main2: DataFrame, control: DataFrame) -> DataFrame:
    # UNION ALL
    united = control.union(main1)
    # UNION ALL
    united_2 = united.union(main2)
    # [RANGE 1 minute, SLIDE 1 minute, WA ts]
    grouped = united_2.groupBy(F.window("ts", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_4(main1: DataFrame) -> DataFrame:
    # WHERE srcIP = '202.101.0.0' or srcIP = '202.101.0.1'
    filtered = main1.where("srcIP = '202.101.0.0' OR srcIP = '202.101.0.1'")
    # GROUP BY srcIP, ts
    grouped = filtered.groupBy(
        F.window("ts", "1 microsecond").alias("instant"),
        "srcIP",
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT srcIP, ts, count(*)
    return aggregated.selectExpr("srcIP", "instant.start AS ts", "`count(*)`")


def query_5(main1: DataFrame, main2: DataFrame) -> DataFrame:
    # INNER JOIN Main2 ON Main1.srcIP = Main2.destIP within the windows of both sides
    joined = main1.alias("Main1").join(
        main2.alias("Main2"),
        [
            F.expr("Main1.srcIP = Main2.destIP"),
            F.expr("Main2.ts > Main1.ts - INTERVAL 2 minutes"),
            F.expr("Main2.ts < Main1.ts + INTERVAL 3 minutes"),
        ],
        "inner",
    )
    # SELECT *
    return joined.selectExpr(
        "Main1.srcIP AS srcIP",
        "Main1.srcPort AS srcPort",
        "Main1.destIP AS destIP",
        "Main1.destPort AS destPort",
        "Main1.len AS len",
        "Main1.ts AS ts",
        "Main2.srcIP AS srcIP_1",
        "Main2.srcPort AS srcPort_1",
        "Main2.destIP AS destIP_1",
        "Main2.destPort AS destPort_1",
        "Main2.len AS len_1",
        "Main2.ts AS ts_1",
    )


def query_6(main_2: DataFrame) -> DataFrame:
    # [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP]
    windows = row_windows(
        main_2,
        time="ts",
        order=["ts", "srcIP", "srcPort", "destIP", "destPort", "len"],
        range=1000,
        slide=10,
        keys=["srcIP"],
        partition=["srcIP"],
        parts=[Part("max", "len", "max(len)")],
    )
    # SELECT srcIP, max(len) [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`max(len)`",
    )


def query_7(main_2: DataFrame) -> DataFrame:
    # [RANGE 1000 rows, SLIDE 10 rows, WA row-num]
    windows = row_windows(
        main_2,
        time="ts",
        order=["ts", "srcIP", "srcPort", "destIP", "destPort", "len"],
        range=1000,
        slide=10,
        keys=["srcIP"],
        parts=[Part("max", "len", "max(len)")],
    )
    # SELECT srcIP, max(len) [RANGE 1000 rows, SLIDE 10 rows, WA row-num]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`max(len)`",
    )


def query_8(main1: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY srcIP
    by_pane = main1.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE ALL, SLIDE 1 minute, WA ts]
    windows = landmark(
        panes,
        pane="pane",
        slide="1 minute",
        keys=["srcIP"],
        parts=[Part("sum", "`count(*)`", "count(*)")],
    )
    # SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute, WA ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def query_9(main_2: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]
    windows = tuple_windows(
        main_2,
        time="ts",
        range="5 minutes",
        slide=1,
        keys=[],
        parts=[Part("max", "len", "max(len)")],
    )
    # SELECT max(len) [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`max(len)`",
    )


def query_10(main_2: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]
    windows = tuple_windows(
        main_2,
        time="ts",
        range="5 minutes",
        slide=5,
        keys=[],
        parts=[Part("sum", "1L", "count(*)")],
    )
    # SELECT count(*) [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_11(main1: DataFrame, main2: DataFrame) -> DataFrame:
    # INNER JOIN Main2 ON Main1.srcIP = Main2.destIP in the same 5 minutes
    joined = main1.alias("Main1").join(
        main2.alias("Main2"),
        [
            F.expr("Main1.srcIP = Main2.destIP"),
            F.expr(
                "unix_micros(Main2.ts) DIV 300000000 = unix_micros(Main1.ts) DIV 300000000"
            ),
            F.expr("Main2.ts > Main1.ts - INTERVAL 5 minutes"),
            F.expr("Main2.ts < Main1.ts + INTERVAL 5 minutes"),
        ],
        "inner",
    )
    # SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts
    return joined.selectExpr(
        "Main1.srcIP AS srcIP",
        "Main1.destIP AS destIP",
        "Main2.srcIP AS srcIP_1",
        "Main2.destIP AS destIP_1",
        "Main2.ts AS ts",
    )


def query_12(main1: DataFrame, main2: DataFrame) -> DataFrame:
    # INNER JOIN Main2 ON Main1.srcIP = Main2.destIP within the windows of both sides
    joined = main1.alias("Main1").join(
        main2.alias("Main2"),
        [
            F.expr("Main1.srcIP = Main2.destIP"),
            F.expr("Main2.ts > Main1.ts - INTERVAL 2 minutes"),
            F.expr("Main2.ts < Main1.ts + INTERVAL 3 minutes"),
        ],
        "inner",
    )
    # SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts
    return joined.selectExpr(
        "Main1.srcIP AS srcIP",
        "Main1.destIP AS destIP",
        "Main2.srcIP AS srcIP_1",
        "Main2.destIP AS destIP_1",
        "Main2.ts AS ts",
    )


def query_13(main_2: DataFrame) -> DataFrame:
    # [RANGE 4 minutes, SLIDE 1 minute, WA ts]
    grouped = main_2.groupBy(F.window("ts", "4 minutes", "1 minute"))
    # max(len)
    aggregated = grouped.agg(F.expr("max(len) AS `max(len)`"))
    # SELECT max(len) [RANGE 4 minutes, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`max(len)`",
    )


def query_14(packets: DataFrame) -> DataFrame:
    # [RANGE 4 minutes, SLIDE 1 minute, WA ts] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "4 minutes", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 4 minutes, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_15(packets: DataFrame) -> DataFrame:
    # panes of 1 minute
    by_pane = packets.groupBy(F.window("ts", "1 minute").alias("pane"))
    # heavy_hitters(srcIP, 0.05)
    panes = by_pane.agg(
        F.expr("collect_list(srcIP) AS heavy_hitters_srcIP_0_05_values"),
    )
    # [RANGE 10 minutes, SLIDE 1 minute, WA ts]
    by_window = panes.groupBy(F.window("pane", "10 minutes", "1 minute"))
    # windows from panes
    windows = by_window.agg(
        F.expr(
            "flatten(collect_list(heavy_hitters_srcIP_0_05_values)) AS heavy_hitters_srcIP_0_05_values"
        ),
    )
    # what is shown: heavy_hitters(srcIP, 0.05)
    finished = windows.selectExpr(
        "*",
        "coalesce(transform(array(array_sort(heavy_hitters_srcIP_0_05_values)), v -> if(size(v) > 0, filter(array_distinct(transform(filter(sequence(1, size(v)), place -> place % greatest(CAST(ceil(CAST(0.05 AS DECIMAL(20, 10)) * size(v)) AS INT), 1) = 0), place -> v[place - 1])), x -> coalesce(get(v, CAST(array_position(v, x) AS INT) - 2 + greatest(CAST(ceil(CAST(0.05 AS DECIMAL(20, 10)) * size(v)) AS INT), 1)) = x, false)), NULL))[0], slice(heavy_hitters_srcIP_0_05_values, 1, 0)) AS `heavy_hitters(srcIP, 0.05)`",
    )
    # SELECT heavy_hitters(srcIP, 0.05) [RANGE 10 minutes, SLIDE 1 minute, WA ts]
    return finished.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`heavy_hitters(srcIP, 0.05)`",
    )


def query_16(m1: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, SLIDE 1 minute, WA ts] GROUP BY srcIP
    grouped = m1.groupBy(F.window("ts", "5 minutes", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT srcIP, count(*) [RANGE 5 minutes, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`count(*)`",
    )


def query_17(packets: DataFrame) -> DataFrame:
    # panes of 1 second GROUP BY srcIP
    by_pane = packets.groupBy(F.window("ts", "1 second").alias("pane"), "srcIP")
    # sum(len)
    panes = by_pane.agg(F.expr("sum(len) AS `sum(len)`"))
    # [RANGE 10 seconds, SLIDE 1 second, WA ts]
    by_window = panes.groupBy(F.window("pane", "10 seconds", "1 second"), "srcIP")
    # windows from panes
    windows = by_window.agg(F.expr("sum(`sum(len)`) AS `sum(len)`"))
    # SELECT srcIP, sum(len) [RANGE 10 seconds, SLIDE 1 second, WA ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`sum(len)`",
    )


def query_18(main_2: DataFrame) -> DataFrame:
    # [RANGE 1 second, SLIDE 1 second, WA ts] GROUP BY srcIP
    grouped = main_2.groupBy(F.window("ts", "1 second"), "srcIP")
    # sum(len)
    aggregated = grouped.agg(F.expr("sum(len) AS `sum(len)`"))
    # SELECT srcIP, sum(len) [RANGE 1 second, SLIDE 1 second, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "`sum(len)`",
    )


def query_19(main1: DataFrame, main2: DataFrame, control: DataFrame) -> DataFrame:
    # UNION ALL
    united = main2.union(main1)
    # UNION ALL
    united_2 = united.union(control)
    # panes of 1 second GROUP BY srcIP
    by_pane = united_2.groupBy(F.window("ts", "1 second").alias("pane"), "srcIP")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 10 sec, SLIDE 1 sec, WA ts]
    by_window = panes.groupBy(F.window("pane", "10 seconds", "1 second"), "srcIP")
    # windows from panes
    windows = by_window.agg(F.expr("sum(`count(*)`) AS `count(*)`"))
    # SELECT count(*) [RANGE 10 sec, SLIDE 1 sec, WA ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_20(s0: DataFrame, s1: DataFrame) -> DataFrame:
    # WHERE S0.flags = 'SYN'
    filtered = s0.where("flags = 'SYN'")
    # WHERE S1.flags = 'SYN_ACK'
    filtered_2 = s1.where("flags = 'SYN_ACK'")
    # the time of S0 in a column of its own
    s0_timed = (
        filtered.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("S0")
    )
    # the time of S1 in a column of its own
    s1_timed = (
        filtered_2.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("S1")
    )
    # INNER JOIN S1 ON S0.srcIP = S1.destIP AND S0.destIP = S1.srcIP within the windows
    #   of both sides
    joined = s0_timed.join(
        s1_timed,
        [
            F.expr("S0.srcIP = S1.destIP"),
            F.expr("S0.destIP = S1.srcIP"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 2 minutes"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 2 minutes"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("S0.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # GROUP BY S0.ts, S1.ts
    grouped = timed.groupBy(
        F.window("event_time", "1 microsecond").alias("instant"),
        F.expr("S0.ts AS ts"),
        F.expr("S1.ts AS ts_1"),
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT S0.ts, S1.ts, count(*)
    return aggregated.selectExpr("ts", "ts_1", "`count(*)`")


def query_21(m1: DataFrame, m2: DataFrame) -> DataFrame:
    # the time of M1 in a column of its own
    m1_timed = (
        m1.withColumn("event_time_1", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("M1")
    )
    # the time of M2 in a column of its own
    m2_timed = (
        m2.withColumn("event_time_2", F.expr("ts"))
        .withMetadata("ts", {"is_event_time": False})
        .alias("M2")
    )
    # INNER JOIN M2 ON M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP AND M1.srcPort =
    #   M2.destPort AND M1.destPort = M2.srcPort within the windows of both sides
    joined = m1_timed.join(
        m2_timed,
        [
            F.expr("M1.srcIP = M2.destIP"),
            F.expr("M1.destIP = M2.srcIP"),
            F.expr("M1.srcPort = M2.destPort"),
            F.expr("M1.destPort = M2.srcPort"),
            F.expr("event_time_2 > event_time_1 - INTERVAL 9 seconds"),
            F.expr("event_time_2 < event_time_1 + INTERVAL 9 seconds"),
        ],
        "inner",
    )
    # the time of the results
    timed = joined.select(
        "*",
        F.expr("M1.ts").alias("event_time", metadata={"spark.watermarkDelayMs": 0}),
    )
    # [RANGE 1 minute, SLIDE 1 minute, WA M1.ts]
    grouped = timed.groupBy(F.window("event_time", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA M1.ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def query_22(main_2: DataFrame) -> DataFrame:
    # [RANGE 1 minute, SLIDE 1 minute, WA ts] GROUP BY srcIP, destIP
    grouped = main_2.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT srcIP, destIP, count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "destIP",
        "`count(*)`",
    )


def query_23(m1: DataFrame, m2: DataFrame) -> DataFrame:
    # UNION ALL
    united = m1.union(m2)
    # [RANGE 1 minute, SLIDE 1 minute, WA ts] GROUP BY srcIP, destIP
    grouped = united.groupBy(F.window("ts", "1 minute"), "srcIP", "destIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT srcIP, destIP, count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "destIP",
        "`count(*)`",
    )


def query_24(c: DataFrame, a: DataFrame, b: DataFrame, d: DataFrame) -> DataFrame:
    # UNION ALL
    m1 = a.union(b)
    # UNION ALL
    m2 = c.union(d)
    # INNER JOIN C UNION D ON M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP AND
    #   M1.srcPort = M2.destPort AND M1.destPort = M2.srcPort in the same 10 seconds
    joined = m1.alias("M1").join(
        m2.alias("M2"),
        [
            F.expr("M1.srcIP = M2.destIP"),
            F.expr("M1.destIP = M2.srcIP"),
            F.expr("M1.srcPort = M2.destPort"),
            F.expr("M1.destPort = M2.srcPort"),
            F.expr("unix_micros(M2.ts) DIV 10000000 = unix_micros(M1.ts) DIV 10000000"),
            F.expr("M2.ts > M1.ts - INTERVAL 10 seconds"),
            F.expr("M2.ts < M1.ts + INTERVAL 10 seconds"),
        ],
        "inner",
    )
    # SELECT M1.srcIP, M1.destIP, M1.ts
    return joined.selectExpr("M1.srcIP AS srcIP", "M1.destIP AS destIP", "M1.ts AS ts")


def query_25(m1: DataFrame, m2: DataFrame, c: DataFrame) -> DataFrame:
    # UNION ALL
    m3 = m2.union(c)
    # INNER JOIN M2 Union C ON M1.srcIP = M3.destIP AND M1.destIP = M3.srcIP AND
    #   M1.srcPort = M3.destPort AND M1.destPort = M3.srcPort in the same 1 minute
    joined = m1.alias("M1").join(
        m3.alias("M3"),
        [
            F.expr("M1.srcIP = M3.destIP"),
            F.expr("M1.destIP = M3.srcIP"),
            F.expr("M1.srcPort = M3.destPort"),
            F.expr("M1.destPort = M3.srcPort"),
            F.expr("unix_micros(M3.ts) DIV 60000000 = unix_micros(M1.ts) DIV 60000000"),
            F.expr("M3.ts > M1.ts - INTERVAL 1 minute"),
            F.expr("M3.ts < M1.ts + INTERVAL 1 minute"),
        ],
        "inner",
    )
    # SELECT M1.srcIP, M1.destIP, M1.ts
    return joined.selectExpr("M1.srcIP AS srcIP", "M1.destIP AS destIP", "M1.ts AS ts")


def query_26(m1: DataFrame, m2: DataFrame, c: DataFrame) -> DataFrame:
    # UNION ALL
    united = m1.union(m2)
    # UNION ALL
    united_2 = united.union(c)
    # panes of 1 minute
    by_pane = united_2.groupBy(F.window("ts", "1 minute").alias("pane"))
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS `count(*)`"))
    # [RANGE 5 minutes, SLIDE 1 minute, WA ts]
    by_window = panes.groupBy(F.window("pane", "5 minutes", "1 minute"))
    # windows from panes
    windows = by_window.agg(F.expr("sum(`count(*)`) AS `count(*)`"))
    # SELECT count(*) [RANGE 5 minutes, SLIDE 1 minute, WA ts]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`count(*)`",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("window_queries")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    m = accept_m(read_m(spark))
    main_2 = accept_main_2(read_main_2(spark))
    main1 = accept_main1(read_main1(spark))
    main2 = accept_main2(read_main2(spark))
    control = accept_control(read_control(spark))
    packets = accept_packets(read_packets(spark))
    m1 = accept_m1(read_m1(spark))
    m2 = accept_m2(read_m2(spark))
    c = accept_c(read_c(spark))
    a = accept_a(read_a(spark))
    b = accept_b(read_b(spark))
    d = accept_d(read_d(spark))
    s0 = accept_s0(read_s0(spark))
    s1 = accept_s1(read_s1(spark))
    query_1(m).writeStream.format("console").option("truncate", False).start()
    query_2(main_2).writeStream.format("console").option("truncate", False).start()
    (
        query_3(main1, main2, control)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_4(main1).writeStream.format("console").option("truncate", False).start()
    (
        query_5(main1, main2)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_6(main_2).writeStream.format("console").option("truncate", False).start()
    query_7(main_2).writeStream.format("console").option("truncate", False).start()
    query_8(main1).writeStream.format("console").option("truncate", False).start()
    query_9(main_2).writeStream.format("console").option("truncate", False).start()
    query_10(main_2).writeStream.format("console").option("truncate", False).start()
    (
        query_11(main1, main2)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    (
        query_12(main1, main2)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_13(main_2).writeStream.format("console").option("truncate", False).start()
    query_14(packets).writeStream.format("console").option("truncate", False).start()
    query_15(packets).writeStream.format("console").option("truncate", False).start()
    query_16(m1).writeStream.format("console").option("truncate", False).start()
    query_17(packets).writeStream.format("console").option("truncate", False).start()
    query_18(main_2).writeStream.format("console").option("truncate", False).start()
    (
        query_19(main1, main2, control)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_20(s0, s1).writeStream.format("console").option("truncate", False).start()
    query_21(m1, m2).writeStream.format("console").option("truncate", False).start()
    query_22(main_2).writeStream.format("console").option("truncate", False).start()
    query_23(m1, m2).writeStream.format("console").option("truncate", False).start()
    query_24(c, a, b, d).writeStream.format("console").option("truncate", False).start()
    query_25(m1, m2, c).writeStream.format("console").option("truncate", False).start()
    query_26(m1, m2, c).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
