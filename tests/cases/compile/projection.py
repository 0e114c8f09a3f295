# Compiled by ssql 0.1.0 from projection.ssql.
#
# query_1: plan stateless, because it keeps no state: every row is handled on its own.
# query_2: plan stateless, because it keeps no state: every row is handled on its own.
# query_3: plan stateless, because it keeps no state: every row is handled on its own.
# query_4: plan stateless, because it keeps no state: every row is handled on its own.

from pyspark.sql import DataFrame, SparkSession


def read_packets(spark: SparkSession) -> DataFrame:
    # CREATE STREAM packets
    return (
        spark.readStream.format("json")
        .schema(
            "srcIP STRING, destIP STRING, len INT, tags ARRAY<STRING>, `odd name` STRING, ts TIMESTAMP",
        )
        .load("data/packets")
    )


def accept_packets(packets: DataFrame) -> DataFrame:
    # rows without a time, or with an absurd one, are left out
    timed = packets.where("ts BETWEEN '1970-01-01' AND '2200-01-01'")
    # WATERMARK FOR ts AS ts - INTERVAL 5 seconds
    return timed.withWatermark("ts", "5 seconds")


def query_1(packets: DataFrame) -> DataFrame:
    return packets


def query_2(packets: DataFrame) -> DataFrame:
    # WHERE len BETWEEN 100 AND 1500 AND srcIP LIKE '10.%' AND NOT (destIP IS NULL OR
    #   destIP = 'it''s')
    filtered = packets.where(
        "len BETWEEN 100 AND 1500 AND srcIP LIKE '10.%' AND NOT (destIP IS NULL OR destIP = 'it\\'s')",
    )
    # SELECT srcIP, len * 8 AS bits, tags[0] first_tag, `odd name`
    return filtered.selectExpr(
        "srcIP",
        "len * 8 AS bits",
        "tags[0] AS first_tag",
        "`odd name`",
    )


def query_3(packets: DataFrame) -> DataFrame:
    # SELECT upper(p.srcIP), CASE WHEN p.len > 1000 THEN 'large' ELSE 'small' END AS
    #   size
    return packets.selectExpr(
        "upper(srcIP) AS `upper(srcIP)`",
        "CASE WHEN len > 1000 THEN 'large' ELSE 'small' END AS size",
    )


def query_4(packets: DataFrame) -> DataFrame:
    # SELECT explode(tags) AS tag, ts
    return packets.selectExpr("explode(tags) AS tag", "ts")


def main() -> None:
    spark = (
        SparkSession.builder.appName("projection")
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
