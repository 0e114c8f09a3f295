# Compiled by ssql 0.1.0 from prune_columns.ssql.
#
# query_1: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_2: plan stateless, because it keeps no state: every row is handled on its own.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing; a row is in 5 windows only, and panes would take a second aggregate.
# query_4: plan stateless, because it keeps no state: every row is handled on its own.
# query_5: plan stateless, because it keeps no state: every row is handled on its own.
# query_6: plan batch, because it reads stored tables only, so it runs once.
# query_7: plan rows, because rows are numbered in order of time, all of them in one
#   task.
# query_8: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_9: plan wid over native, because RANGE = SLIDE, so each row is in one window and
#   panes save nothing; GROUP BY on the stream's time: each instant closes by itself.
# query_10: plan stateless, because it keeps no state: every row is handled on its own.
# query_11: plan stateless, because it keeps no state: every row is handled on its own.
# query_12: plan stateless, because it keeps no state: every row is handled on its own.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.rows import row_windows


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, destIP STRING, len INT, tags ARRAY<STRING>, ts TIMESTAMP",
        )
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def read_hosts(spark: SparkSession) -> DataFrame:
    # CREATE TABLE hosts
    return (
        spark.read.format("csv")
        .schema("ip STRING, host STRING, room STRING")
        .load("data/hosts.csv")
    )


def query_1(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, len * 8 AS bits, ts
    sized = packets.selectExpr("srcIP", "len * 8 AS bits", "ts")
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = sized.groupBy(F.window("ts", "1 minute"), "srcIP")
    # sum(bits)
    aggregated = grouped.agg(F.expr("sum(bits) AS bits"))
    # SELECT srcIP, sum(bits) AS bits [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "srcIP",
        "bits",
    )


def query_2(packets: DataFrame) -> DataFrame:
    # SELECT len * 8 AS bits
    sized = packets.selectExpr("len * 8 AS bits")
    # WHERE bits > 80
    return sized.where("bits > 80")


def query_3(packets: DataFrame) -> DataFrame:
    # [RANGE 5 minutes, SLIDE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "5 minutes", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    per_minute = aggregated.selectExpr(
        "window.end AS window_end",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, WA window_end]
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 hour", startTime="3599999999 microseconds"),
    )
    # max(n)
    aggregated_2 = grouped_2.agg(F.expr("max(n) AS top"))
    # SELECT max(n) AS top [RANGE 1 hour, WA window_end]
    return aggregated_2.selectExpr(
        "(window.start + INTERVAL '1' MICROSECOND) AS window_start",
        "(window.end + INTERVAL '1' MICROSECOND) AS window_end",
        "top",
    )


def query_4(packets: DataFrame) -> DataFrame:
    # SELECT srcIP
    selected = packets.selectExpr("srcIP")
    # SELECT destIP
    selected_2 = packets.selectExpr("destIP")
    # UNION ALL
    return selected.union(selected_2)


def query_5(packets: DataFrame, hosts: DataFrame) -> DataFrame:
    # SELECT srcIP, len * 8 AS bits, ts
    p = packets.selectExpr("srcIP", "len * 8 AS bits", "ts")
    # SELECT ip, host
    h = hosts.selectExpr("ip", "host")
    # INNER JOIN (SELECT ip, host, lower(room) AS room FROM hosts) ON p.srcIP = h.ip
    joined = p.alias("p").join(h.alias("h"), F.expr("p.srcIP = h.ip"), "inner")
    # SELECT p.bits, h.host
    return joined.selectExpr("p.bits AS bits", "h.host AS host")


def query_6(hosts: DataFrame) -> DataFrame:
    # SELECT ip
    h = hosts.selectExpr("ip")
    # count(*)
    aggregated = h.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n
    return aggregated.selectExpr("n")


def query_7(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, destIP, len * 8 AS bits, upper(srcIP) AS loud, ts
    sized = packets.selectExpr(
        "srcIP",
        "destIP",
        "len * 8 AS bits",
        "upper(srcIP) AS loud",
        "ts",
    )
    # [RANGE 10 rows]
    windows = row_windows(
        sized,
        time="ts",
        order=["ts", "srcIP", "destIP", "bits", "loud"],
        range=10,
        slide=10,
        keys=[],
        parts=[Part("sum", "CAST(bits AS BIGINT)", "bits")],
    )
    # SELECT sum(bits) AS bits [RANGE 10 rows]
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "bits",
    )


def query_8(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, destIP, len * 8 AS bits, upper(srcIP) AS loud, ts
    sized = packets.selectExpr(
        "srcIP",
        "destIP",
        "len * 8 AS bits",
        "upper(srcIP) AS loud",
        "ts",
    )
    # [RANGE 1 minute]
    grouped = sized.groupBy(F.window("ts", "1 minute"))
    # first(bits)
    aggregated = grouped.agg(
        F.expr("min_by(bits, struct(ts, srcIP, destIP, bits, loud)) AS bits"),
    )
    # SELECT first(bits) AS bits [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "bits",
    )


def query_9(packets: DataFrame) -> DataFrame:
    # SELECT DISTINCT srcIP, len, ts
    grouped = packets.groupBy(
        F.window("ts", "1 microsecond").alias("instant"),
        "srcIP",
        "len",
    )
    # each group once
    aggregated = grouped.agg(F.expr("count(*) AS `rows`"))
    # SELECT ts
    d = aggregated.selectExpr(
        "instant.start AS ts",
        "window_time(instant) AS event_time",
    )
    # [RANGE 1 minute]
    grouped_2 = d.groupBy(F.window("event_time", "1 minute"))
    # count(*)
    aggregated_2 = grouped_2.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    return aggregated_2.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_10(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, len + 1 AS more
    selected = packets.selectExpr("srcIP", "len + 1 AS more")
    # SELECT srcIP, explode(sequence(1, len)) AS one
    selected_2 = packets.selectExpr("srcIP", "explode(sequence(1, len)) AS one")
    # UNION ALL
    u = selected.union(selected_2)
    # SELECT srcIP
    return u.selectExpr("srcIP")


def query_11(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, explode(tags) AS tag
    t = packets.selectExpr("srcIP", "explode(tags) AS tag")
    # SELECT srcIP
    return t.selectExpr("srcIP")


def query_12(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, destIP, len * 8 AS bits, upper(srcIP) AS loud, ts
    sized = packets.selectExpr(
        "srcIP",
        "destIP",
        "len * 8 AS bits",
        "upper(srcIP) AS loud",
        "ts",
    )
    # SELECT struct(*) AS all
    return sized.selectExpr("struct(*) AS `all`")


def main() -> None:
    spark = (
        SparkSession.builder.appName("prune_columns")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    hosts = read_hosts(spark)
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    (
        query_5(packets, hosts)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_6(hosts).show(truncate=False)
    query_7(packets).writeStream.format("console").option("truncate", False).start()
    query_8(packets).writeStream.format("console").option("truncate", False).start()
    query_9(packets).writeStream.format("console").option("truncate", False).start()
    query_10(packets).writeStream.format("console").option("truncate", False).start()
    query_11(packets).writeStream.format("console").option("truncate", False).start()
    query_12(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
