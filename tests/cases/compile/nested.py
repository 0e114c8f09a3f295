# Compiled by ssql 0.1.0 from nested.ssql.
#
# query_1: plan wid, because a row is in 3 windows only, and panes would take a second
#   aggregate; RANGE = SLIDE, so each row is in one window and panes save nothing.
# query_2: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_3: plan native over wid, because GROUP BY on the stream's time: each instant
#   closes by itself; RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan paned, because a row is in up to 2 windows: it is aggregated once, in
#   one of 2 panes of 1 minute a window, and windows are made of panes.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 1000)
        .load()
        .where("value < 1000")
        .selectExpr(
            "concat('10.0.', CAST(floor(3 * pmod(xxhash64(value, 7, 'srcIP'), 1048576) / 1048576D) AS INT) div 256, '.', CAST(floor(3 * pmod(xxhash64(value, 7, 'srcIP'), 1048576) / 1048576D) AS INT) % 256) AS srcIP",
            "CAST(floor(pmod(xxhash64(value, 7, 'len'), 1048576) / 1048576D * 1000) AS INT) AS len",
            "CAST(timestamp_micros(1767225600000000 + CAST(value * 1000.0 AS BIGINT) - CAST(pmod(xxhash64(value, 7, 'ts'), 1048576) / 1048576D * 4000000 AS BIGINT)) AS TIMESTAMP) AS ts",
        )
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def query_1(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window.end AS window_end",
        "n",
        "window_time(window) AS event_time",
    )
    # [RANGE 1 hour, SLIDE 20 minutes, WA window_end]
    grouped_2 = per_minute.groupBy(
        F.window(
            "event_time", "1 hour", "20 minutes", startTime="1199999999 microseconds"
        ),
    )
    # max(n)
    aggregated_2 = grouped_2.agg(F.expr("max(n) AS `max(n)`"))
    # SELECT max(n) [RANGE 1 hour, SLIDE 20 minutes, WA window_end]
    return aggregated_2.selectExpr(
        "(window.start + INTERVAL '1' MICROSECOND) AS window_start",
        "(window.end + INTERVAL '1' MICROSECOND) AS window_end",
        "`max(n)`",
    )


def query_2(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT srcIP, count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window.start AS window_start",
        "srcIP",
        "n",
        "window_time(window) AS event_time",
    )
    # WHERE n > 2
    filtered = per_minute.where("n > 2")
    # [RANGE 1 hour, WA window_start] GROUP BY srcIP
    grouped_2 = filtered.groupBy(
        F.window("event_time", "1 hour", startTime="59999999 microseconds"),
        "srcIP",
    )
    # max(n)
    aggregated_2 = grouped_2.agg(F.expr("max(n) AS busiest"))
    # SELECT srcIP, max(n) AS busiest [RANGE 1 hour, WA window_start]
    return aggregated_2.selectExpr(
        "(window.start - INTERVAL '59999999' MICROSECONDS) AS window_start",
        "(window.end - INTERVAL '59999999' MICROSECONDS) AS window_end",
        "srcIP",
        "busiest",
    )


def query_3(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute] GROUP BY srcIP
    grouped = packets.groupBy(F.window("ts", "1 minute"), "srcIP")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    per_minute = aggregated.selectExpr(
        "window.end AS window_end",
        "n",
        "window_time(window) AS event_time",
    )
    # GROUP BY window_end
    grouped_2 = per_minute.groupBy(
        F.window("event_time", "1 microsecond").alias("instant"),
        F.expr("window_end AS window_end_1"),
    )
    # sum(n)
    aggregated_2 = grouped_2.agg(F.expr("sum(n) AS n"))
    # SELECT window_end, sum(n) AS n
    return aggregated_2.selectExpr("window_end_1 AS window_end", "n")


def query_4(packets: DataFrame) -> DataFrame:
    # panes of 1 minute
    by_pane = packets.groupBy(F.window("ts", "1 minute").alias("pane"))
    # first(len), mode(srcIP), median(len), heavy_hitters(srcIP, 0.05),
    #   approx_percentile(len, 0.9), approx_count_distinct(srcIP)
    panes = by_pane.agg(
        F.expr(
            "min_by(named_struct('at', struct(ts, srcIP, len), 'value', len), struct(ts, srcIP, len)) AS first_pair"
        ),
        F.expr("collect_list(srcIP) AS usual_values"),
        F.expr("collect_list(CAST(len AS DOUBLE)) AS middle_values"),
        F.expr("kll_sketch_agg_bigint(CAST(len AS BIGINT), 65535) AS p90_sketch"),
        F.expr("count(len) AS p90_count"),
        F.expr(
            "hll_sketch_agg(xxhash64(srcIP), 12) FILTER (WHERE isnotnull(srcIP)) AS sources_sketch"
        ),
    )
    # [RANGE 2 minutes, SLIDE 1 minute]
    by_window = panes.groupBy(F.window("pane", "2 minutes", "1 minute"))
    # windows from panes
    windows = by_window.agg(
        F.expr("min_by(first_pair, first_pair.at) AS first_pair"),
        F.expr("flatten(collect_list(usual_values)) AS usual_values"),
        F.expr("flatten(collect_list(middle_values)) AS middle_values"),
        F.expr("kll_merge_agg_bigint(p90_sketch, 65535) AS p90_sketch"),
        F.expr("sum(p90_count) AS p90_count"),
        F.expr("hll_union_agg(sources_sketch) AS sources_sketch"),
    )
    # what is shown: first, usual, middle, heavy, p90, sources
    finished = windows.selectExpr(
        "*",
        "first_pair.value AS first",
        "transform(array(array_sort(usual_values)), v -> if(size(v) > 0, aggregate(v, named_struct('best', v[0], 'times', 0, 'value', v[0], 'run', 0), (s, x) -> named_struct('best', if(if(x = s.value, s.run + 1, 1) > s.times, x, s.best), 'times', greatest(s.times, if(x = s.value, s.run + 1, 1)), 'value', x, 'run', if(x = s.value, s.run + 1, 1)), s -> s.best), NULL))[0] AS usual",
        "transform(array(array_sort(middle_values)), v -> if(size(v) > 0, CAST(if(v[CAST(floor((0.5D) * (size(v) - 1)) AS INT)] = v[CAST(ceil((0.5D) * (size(v) - 1)) AS INT)], v[CAST(floor((0.5D) * (size(v) - 1)) AS INT)], (CAST(ceil((0.5D) * (size(v) - 1)) AS INT) - (0.5D) * (size(v) - 1)) * v[CAST(floor((0.5D) * (size(v) - 1)) AS INT)] + ((0.5D) * (size(v) - 1) - CAST(floor((0.5D) * (size(v) - 1)) AS INT)) * v[CAST(ceil((0.5D) * (size(v) - 1)) AS INT)]) AS DOUBLE), NULL))[0] AS middle",
        "coalesce(transform(array(array_sort(usual_values)), v -> if(size(v) > 0, filter(array_distinct(transform(filter(sequence(1, size(v)), place -> place % greatest(CAST(ceil(CAST(0.05 AS DECIMAL(20, 10)) * size(v)) AS INT), 1) = 0), place -> v[place - 1])), x -> coalesce(get(v, CAST(array_position(v, x) AS INT) - 2 + greatest(CAST(ceil(CAST(0.05 AS DECIMAL(20, 10)) * size(v)) AS INT), 1)) = x, false)), NULL))[0], slice(usual_values, 1, 0)) AS heavy",
        "CASE WHEN p90_count > 0 THEN CAST(kll_sketch_get_quantile_bigint(p90_sketch, CAST(0.9 AS DOUBLE)) AS INT) END AS p90",
        "coalesce(hll_sketch_estimate(hll_union(sources_sketch, sources_sketch)), 0) AS sources",
    )
    # SELECT first(len) AS first [RANGE 2 minutes, SLIDE 1 minute], mode(srcIP) AS
    #   usual, median(len) AS middle, heavy_hitters(srcIP, 0.05) AS heavy,
    #   approx_percentile(len, 0.9) AS p90, approx_count_distinct(srcIP) AS sources
    return finished.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "first",
        "usual",
        "middle",
        "heavy",
        "p90",
        "sources",
    )


def main() -> None:
    spark = (
        SparkSession.builder.appName("nested")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    query_1(packets).writeStream.format("console").option("truncate", False).start()
    query_2(packets).writeStream.format("console").option("truncate", False).start()
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    query_4(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
