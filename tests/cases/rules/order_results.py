# Compiled by ssql 0.1.0 from order_results.ssql.
#
# query_1: plan adaptive, because nobody knows how fast the streams are: it begins with
#   sync-filter, measures, and switches where c·|w|·λ1·λ2 reaches 0.3.
# query_2: plan adaptive, because nobody knows how fast the streams are: it begins with
#   sync-filter, measures, and switches where c·|w|·λ1·λ2 reaches 0.3.
# query_3: plan wid, because RANGE = SLIDE, so each row is in one window and panes save
#   nothing.
# query_4: plan slide-by-tuple over adaptive, because windows end with rows: each time
#   is aggregated once; nobody knows how fast the streams are: it begins with
#   sync-filter, measures, and switches where c·|w|·λ1·λ2 reaches 0.3.
# query_5: plan in-order, because rows are held until nothing can come before them, and
#   put in order.
# query_6: plan in-order, because rows are held until nothing can come before them, and
#   put in order.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from ssql.runtime.operators.ordered_join import Side, ordered_join
from ssql.runtime.operators.ordering import By, in_order
from ssql.runtime.operators.road import Part
from ssql.runtime.operators.tuples import tuple_windows


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


def query_1(packets: DataFrame, others: DataFrame) -> DataFrame:
    # FROM packets p [RANGE 1 minute], others o [RANGE 1 minute] WHERE p.srcIP =
    #   o.destIP ORDER BY at
    joined = ordered_join(
        [
            Side(packets, "p", time="ts", keys=["srcIP"], range="1 minute"),
            Side(others, "o", time="ts", keys=["destIP"], range="1 minute"),
        ],
        plan="adaptive",
        by="p",
    )
    # SELECT p.ts AS at, o.len
    return joined.selectExpr("p.ts AS at", "o.len AS len")


def query_2(packets: DataFrame, others: DataFrame) -> DataFrame:
    # WHERE len > 100
    filtered = others.where("len > 100")
    # FROM packets p [RANGE 1 minute], others o [RANGE 2 minutes] WHERE p.srcIP =
    #   o.destIP ORDER BY ts, len
    joined = ordered_join(
        [
            Side(packets, "p", time="ts", keys=["srcIP"], range="1 minute"),
            Side(filtered, "o", time="ts", keys=["destIP"], range="2 minutes"),
        ],
        plan="adaptive",
        by="p",
        then=[By("o.len")],
    )
    # SELECT p.srcIP, o.len
    return joined.selectExpr("p.srcIP AS srcIP", "o.len AS len")


def query_3(packets: DataFrame) -> DataFrame:
    # [RANGE 1 minute]
    grouped = packets.groupBy(F.window("ts", "1 minute"))
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS n"))
    # SELECT count(*) AS n [RANGE 1 minute]
    return aggregated.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_4(packets: DataFrame, others: DataFrame) -> DataFrame:
    # FROM packets p, others o WHERE p.srcIP = o.destIP WINDOW 10 seconds
    joined = ordered_join(
        [
            Side(packets, "p", time="ts", keys=["srcIP"]),
            Side(others, "o", time="ts", keys=["destIP"]),
        ],
        plan="adaptive",
        within="10 seconds",
        event_time="event_time",
    )
    windows = tuple_windows(
        joined,
        time="event_time",
        range="10 seconds",
        slide=1,
        keys=[],
        parts=[Part("sum", "1L", "n")],
        chained=True,
    )
    # SELECT count(*) AS n
    return windows.selectExpr(
        "window.start AS window_start",
        "window.end AS window_end",
        "n",
    )


def query_5(packets: DataFrame) -> DataFrame:
    # ORDER BY ts, len
    return in_order(packets, time="ts", then=[By("len")])


def query_6(packets: DataFrame) -> DataFrame:
    # SELECT srcIP, ts
    selected = packets.selectExpr("srcIP", "ts")
    # ORDER BY ts
    return in_order(selected, time="ts")


def main() -> None:
    spark = (
        SparkSession.builder.appName("order_results")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    packets = accept_packets(read_packets(spark))
    others = accept_others(read_others(spark))
    (
        query_1(packets, others)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    (
        query_2(packets, others)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_3(packets).writeStream.format("console").option("truncate", False).start()
    (
        query_4(packets, others)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_5(packets).writeStream.format("console").option("truncate", False).start()
    query_6(packets).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
