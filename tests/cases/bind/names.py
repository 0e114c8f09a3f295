# Compiled by ssql 0.1.0 from names.ssql.
#
# query_1: plan stateless, because it keeps no state: every row is handled on its own.
# query_2: plan stateless, because it keeps no state: every row is handled on its own.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_5: plan native, because GROUP BY on the stream's time: each instant closes by
#   itself.
# query_6: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_7: plan stateless, because it keeps no state: every row is handled on its own.
# query_8: plan stateless, because it keeps no state: every row is handled on its own.
# query_9: plan stateless, because it keeps no state: every row is handled on its own.
# query_10: plan stateless, because it keeps no state: every row is handled on its own.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_s(spark: SparkSession) -> DataFrame:
    # CREATE STREAM s
    return (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 1000)
        .load()
        .selectExpr(
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'k'), 1048576) / 1048576D) AS INT)) AS k",
            "concat('key_', CAST(floor(10 * pmod(xxhash64(value, 0, 'group'), 1048576) / 1048576D) AS INT)) AS `group`",
            "CAST(NULL AS STRUCT<a: INT, b: STRUCT<c: STRING>>) AS st",
            "CAST(NULL AS MAP<STRING, INT>) AS m",
            "CAST(NULL AS ARRAY<STRUCT<x: INT>>) AS l",
            "CAST(floor(pmod(xxhash64(value, 0, 'range'), 1048576) / 1048576D * 1000) AS INT) AS `range`",
            "CAST(floor(pmod(xxhash64(value, 0, 'slide'), 1048576) / 1048576D * 1000) AS INT) AS slide",
            "CAST(timestamp AS TIMESTAMP) AS ts",
        )
    )


def accept_s(s: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = s.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts
    return timed.withWatermark("ts", "0 seconds")


def query_1(s: DataFrame) -> DataFrame:
    # SELECT S.K, `GROUP`, st.a, s.st.b.c, m['x'], l[0].x, l[slide], `range` + slide
    return s.selectExpr(
        "k",
        "`group`",
        "st.a AS a",
        "st.b.c AS c",
        "m['x'] AS `m['x']`",
        "l[0].x AS x",
        "l[slide] AS `l[slide]`",
        "`range` + slide AS ```range`` + slide`",
    )


def query_2(s: DataFrame) -> DataFrame:
    # SELECT a.*, a.k AS again
    return s.selectExpr(
        "k",
        "`group`",
        "st",
        "m",
        "l",
        "`range`",
        "slide",
        "ts",
        "k AS again",
    )


def query_3(s: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY u
    grouped = s.groupBy(F.window("ts", "1 minute"), F.expr("upper(k) AS u"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT upper(k) AS u, count(*) [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "u",
        "`count(*)`",
    )


def query_4(s: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY upper(k)
    grouped = s.groupBy(F.window("ts", "1 minute"), F.expr("upper(k) AS `upper(k)`"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT upper(k), count(*) [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "`upper(k)`",
        "`count(*)`",
    )


def query_5(s: DataFrame) -> DataFrame:
    # SELECT k, 1 AS n_2, ts
    x = s.selectExpr("k", "1 AS n_2", "ts")
    # GROUP BY 1, 3, ts
    grouped = x.groupBy(
        F.window("ts", "1 microsecond").alias("instant"),
        F.expr("upper(k) || '!' AS `upper(k) || '!'`"),
        "n_2",
    )
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT upper(k) || '!', count(*) AS n, n_2
    return aggregated.selectExpr("`upper(k) || '!'`", "n", "n_2")


def query_6(s: DataFrame) -> DataFrame:
    # HAVING key <> 'x'
    filtered = s.where("k <> 'x'")
    # SELECT k AS key, ts
    v = filtered.selectExpr("k AS key", "ts")
    # [RANGE 1 minute] GROUP BY v.key
    grouped = v.groupBy(F.window("ts", "1 minute"), "key")
    # count(*), max(ts)
    aggregated = grouped.agg(F.expr("count(*) AS count"), F.expr("max(ts) AS max_ts"))
    # HAVING n > 1 AND max(ts) > window_start
    having = aggregated.where("(count + 1) > 1 AND max_ts > window.start")
    # SELECT key, count(*) + 1 AS n [RANGE 1 minute]
    return having.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "key",
        "count + 1 AS n",
    )


def query_7(s: DataFrame) -> DataFrame:
    # SELECT transform(l, e -> e.x + `range`), aggregate(array(1, 2), 0, (acc, x) -> acc
    #   + x)
    return s.selectExpr(
        "transform(l, e -> e.x + `range`) AS `transform(l, e -> e.x + ``range``)`",
        "aggregate(array(1, 2), 0, (acc, x) -> acc + x) AS `aggregate(array(1, 2), 0, (acc, x) -> acc + x)`",
    )


def query_8(s: DataFrame) -> DataFrame:
    # SELECT k, k AS k_1
    return s.selectExpr("k", "k AS k_2", "k AS k_1")


def query_9(s: DataFrame) -> DataFrame:
    # SELECT k
    w = s.selectExpr("k")
    # SELECT k AS j
    return w.selectExpr("k AS j")


def query_10(s: DataFrame) -> DataFrame:
    # SELECT *, 1 AS hold
    h = s.selectExpr("k", "ts", "1 AS hold")
    # SELECT left(k, 1), right(k, 1), datediff(day, ts, ts), hold
    return h.selectExpr(
        "left(k, 1) AS `left(k, 1)`",
        "right(k, 1) AS `right(k, 1)`",
        "datediff(day, ts, ts) AS `datediff(day, ts, ts)`",
        "hold",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("names")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    s = accept_s(read_s(spark))
    query_1(s).writeStream.format("console").option("truncate", False).start()
    query_2(s).writeStream.format("console").option("truncate", False).start()
    query_3(s).writeStream.format("console").option("truncate", False).start()
    query_4(s).writeStream.format("console").option("truncate", False).start()
    query_5(s).writeStream.format("console").option("truncate", False).start()
    query_6(s).writeStream.format("console").option("truncate", False).start()
    query_7(s).writeStream.format("console").option("truncate", False).start()
    query_8(s).writeStream.format("console").option("truncate", False).start()
    query_9(s).writeStream.format("console").option("truncate", False).start()
    query_10(s).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
