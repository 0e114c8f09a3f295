# Compiled by ssql 0.1.0 from push_filters.ssql.
#
# query_1: plan paned, because a row is in up to 5 windows: it is aggregated once, in
#   one of 5 panes of 1 minute a window, and windows are made of panes.
# query_2: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan stateless, because it keeps no state: every row is handled on its own.
# query_5: plan partitioned, because rows are numbered in order of time, for each value
#   of PA.
# query_6: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_7: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_8: plan landmark, because RANGE ALL: a group keeps one aggregate, of all its
#   panes so far.
# query_9: plan rows, because rows are numbered in order of time, all of them in one
#   task.
# query_10: plan partitioned, because rows are numbered in order of time, for each value
#   of PA.
# query_11: plan stateless, because it keeps no state: every row is handled on its own.
# query_12: plan stateless, because it keeps no state: every row is handled on its own.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.landmark import landmark
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rows import row_windows


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
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


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
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def query_1(packets: DataFrame) -> DataFrame:
    # HAVING srcIP LIKE '10.%'
    filtered = packets.where("srcIP LIKE '10.%'")
    # panes of 1 minute GROUP BY srcIP
    by_pane = filtered.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # count(*), max(len)
    panes = by_pane.agg(F.expr("count(*) AS n"), F.expr("max(len) AS max_len"))
    # [RANGE 5 minutes, SLIDE 1 minute]
    by_window = panes.groupBy(F.window("pane", "5 minutes", "1 minute"), "srcIP")
    # windows from panes
    windows = by_window.agg(F.expr("sum(n) AS n"), F.expr("max(max_len) AS max_len"))
    # HAVING count(*) > 2 AND max(len) > 40
    having = windows.where("n > 2 AND max_len > 40")
    # SELECT srcIP, count(*) AS n [RANGE 5 minutes, SLIDE 1 minute]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "n",
    )


def query_2(packets: DataFrame) -> DataFrame:
    # WHERE source = '10.0.0.1'
    filtered = packets.where("srcIP = '10.0.0.1'")
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = filtered.groupBy(F.window("ts", "1 minute"), F.expr("srcIP AS source"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT srcIP AS source, count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window.end AS window_end",
        "source",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_end] GROUP BY source
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="3599999999 microseconds"),
        "source",
    )
    # max(n)
    aggregated_2 = grouped_2.agg(F.expr("max(n) AS top"))
    # HAVING max(n) > 1
    having = aggregated_2.where("top > 1")
    # SELECT source, max(n) AS top [RANGE 1 hour, WA window_end]
    return having.selectExpr(
        "(window.start + INTERVAL '1' MICROSECOND) AS window_start",
        "(window.end + INTERVAL '1' MICROSECOND) AS window_end",
        "source",
        "top",
    )


def query_3(packets: DataFrame, others: DataFrame) -> DataFrame:
    # WHERE u.ip <> 'x'
    filtered = packets.where("srcIP <> 'x'")
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = filtered.groupBy(F.window("ts", "1 minute"), F.expr("srcIP AS ip"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT srcIP AS ip, count(*) AS n [RANGE 1 minute]
    selected = aggregated.selectExpr("ip", "n")
    # WHERE u.ip <> 'x'
    filtered_2 = others.where("destIP <> 'x'")
    # [RANGE 1 minute] GROUP BY destIP
    grouped_2 = filtered_2.groupBy(F.window("ts", "1 minute"), F.expr("destIP AS ip"))
    # count(*)
    aggregated_2 = grouped_2.agg(F.expr("count(*) AS n"))
    # SELECT destIP AS ip, count(*) AS n [RANGE 1 minute]
    selected_2 = aggregated_2.selectExpr("ip", "n")
    # UNION ALL
    u = selected.union(selected_2)
    # WHERE u.n > 1
    return u.where("n > 1")


def query_4(packets: DataFrame) -> DataFrame:
    # WHERE srcIP = '10.0.0.1'
    filtered = packets.where("srcIP = '10.0.0.1'")
    # SELECT len * 8 AS bits
    b = filtered.selectExpr("len * 8 AS bits")
    # WHERE bits > 100
    return b.where("bits > 100")


def query_5(packets: DataFrame) -> DataFrame:
    # HAVING srcIP <> 'x'
    filtered = packets.where("srcIP <> 'x'")
    # [RANGE 100 rows, PA srcIP]
    windows = row_windows(
        filtered,
        time="ts",
        order=["ts", "srcIP", "destIP", "len"],
        range=100,
        slide=100,
        keys=["srcIP"],
        partition=["srcIP"],
        parts=[Part("sum", "CAST(len AS BIGINT)", "bytes")],
    )
    # SELECT srcIP, sum(len) AS bytes [RANGE 100 rows, PA srcIP]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "bytes",
    )


def query_6(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), F.expr("srcIP AS source"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT srcIP AS source, count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "source",
        "n",
    )
    # WHERE n > 2 AND window_end > '2026-01-01'
    return per_minute.where("n > 2 AND window_end > '2026-01-01'")


def query_7(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # HAVING CAST(srcIP AS INT) > 1
    having = aggregated.where("CAST(srcIP AS INT) > 1")
    # SELECT srcIP, count(*) AS n [RANGE 1 minute]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "n",
    )


def query_8(packets: DataFrame) -> DataFrame:
    # panes of 1 minute GROUP BY srcIP
    by_pane = packets.groupBy(F.window("ts", "1 minute").alias("pane"), "srcIP")
    # count(*)
    panes = by_pane.agg(F.expr("count(*) AS n"))
    # [RANGE ALL, SLIDE 1 minute]
    windows = landmark(
        panes,
        pane="pane",
        slide="1 minute",
        keys=["srcIP"],
        parts=[Part("sum", "n", "n")],
    )
    # HAVING srcIP <> 'x'
    having = windows.where("srcIP <> 'x'")
    # SELECT srcIP, count(*) AS n [RANGE ALL, SLIDE 1 minute]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "n",
    )


def query_9(packets: DataFrame) -> DataFrame:
    # [RANGE 100 rows]
    windows = row_windows(
        packets,
        time="ts",
        order=["ts", "srcIP", "destIP", "len"],
        range=100,
        slide=100,
        keys=["srcIP"],
        parts=[Part("sum", "CAST(len AS BIGINT)", "bytes")],
    )
    # HAVING srcIP <> 'x'
    having = windows.where("srcIP <> 'x'")
    # SELECT srcIP, sum(len) AS bytes [RANGE 100 rows]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "bytes",
    )


def query_10(packets: DataFrame) -> DataFrame:
    # [RANGE 100 rows, PA srcIP]
    windows = row_windows(
        packets,
        time="ts",
        order=["ts", "srcIP", "destIP", "len"],
        range=100,
        slide=100,
        keys=["srcIP", "destIP"],
        partition=["srcIP"],
        parts=[Part("sum", "CAST(len AS BIGINT)", "bytes")],
    )
    # HAVING destIP <> 'x'
    having = windows.where("destIP <> 'x'")
    # SELECT srcIP, destIP, sum(len) AS bytes [RANGE 100 rows, PA srcIP]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "destIP",
        "bytes",
    )


def query_11(packets: DataFrame) -> DataFrame:
    # SELECT srcIP AS source
    p = packets.selectExpr("srcIP AS source")
    # WHERE source <> 'x'
    return p.where("source <> 'x'")


def query_12(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, uuid() AS id
    p = packets.selectExpr("srcIP", "uuid() AS id")
    # WHERE srcIP <> 'x'
    filtered = p.where("srcIP <> 'x'")
    # SELECT id
    return filtered.selectExpr("id")


def main() -> None:
    spark = (
        SparkSession.builder.appName("push_filters")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    others = accept_others(read_others(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    (
        query_3(packets, others)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    query_5(packets).writeStream.format("console").option("truncate", False).start()
    query_6(packets).writeStream.format("console").option("truncate", False).start()
    query_7(packets).writeStream.format("console").option("truncate", False).start()
    query_8(packets).writeStream.format("console").option("truncate", False).start()
    query_9(packets).writeStream.format("console").option("truncate", False).start()
    query_10(packets).writeStream.format("console").option("truncate", False).start()
    query_11(packets).writeStream.format("console").option("truncate", False).start()
    query_12(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
