# Compiled by ssql 0.1.0 from join_conditions.ssql.
#
# query_1: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_2: plan stateless, because it keeps no state: every row is handled on its own.
# query_3: plan order-agnostic, because no order is asked for, so streams are joined as
#   their rows come, by Spark itself.
# query_4: plan stateless, because it keeps no state: every row is handled on its own.
# query_5: plan stateless, because it keeps no state: every row is handled on its own.
# query_6: plan stateless, because it keeps no state: every row is handled on its own.

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


def read_names(spark: SparkSession) -> DataFrame:
    # CREATE TABLE names
    return spark.read.format("csv").schema("k STRING, name STRING").load("names.csv")


def read_more(spark: SparkSession) -> DataFrame:
    # CREATE TABLE more
    return spark.read.format("csv").schema("k STRING, name STRING").load("more.csv")


def query_1(a: DataFrame, b: DataFrame) -> DataFrame:
    # INNER JOIN b ON a.k = b.k AND a.v < b.v within the windows of both sides
    joined = a.alias("a").join(
        b.alias("b"),
        [
            F.expr("a.k = b.k"),
            F.expr("a.v < b.v"),
            F.expr("b.ts > a.ts - INTERVAL 1 minute"),
            F.expr("b.ts < a.ts + INTERVAL 1 minute"),
        ],
        "inner",
    )
    # WHERE a.v > 3
    filtered = joined.where("a.v > 3")
    # SELECT a.k, b.v
    return filtered.selectExpr("a.k AS k", "b.v AS v")


def query_2(a: DataFrame, names: DataFrame) -> DataFrame:
    # INNER JOIN names ON a.k = names.k AND a.v > length(name)
    joined = a.alias("a").join(
        names.alias("names"),
        [F.expr("a.k = names.k"), F.expr("a.v > length(names.name)")],
        "inner",
    )
    # SELECT a.k, name
    return joined.selectExpr("a.k AS k", "names.name AS name")


def query_3(a: DataFrame, b: DataFrame) -> DataFrame:
    # FULL JOIN b ON a.k = b.k within the windows of both sides
    joined = a.alias("a").join(
        b.alias("b"),
        [
            F.expr("a.k = b.k"),
            F.expr("b.ts > a.ts - INTERVAL 1 minute"),
            F.expr("b.ts < a.ts + INTERVAL 1 minute"),
        ],
        "full",
    )
    # WHERE a.v < b.v
    filtered = joined.where("a.v < b.v")
    # SELECT a.k, b.v
    return filtered.selectExpr("a.k AS k", "b.v AS v")


def query_4(a: DataFrame, names: DataFrame) -> DataFrame:
    # LEFT JOIN names ON a.k = names.k
    joined = a.alias("a").join(names.alias("names"), F.expr("a.k = names.k"), "left")
    # WHERE a.k < name
    filtered = joined.where("a.k < names.name")
    # SELECT a.k, name
    return filtered.selectExpr("a.k AS k", "names.name AS name")


def query_5(a: DataFrame, names: DataFrame, more: DataFrame) -> DataFrame:
    # INNER JOIN names ON a.k = names.k
    joined = a.alias("a").join(names.alias("names"), F.expr("a.k = names.k"), "inner")
    # LEFT JOIN more ON more.k = a.k
    joined_2 = joined.join(more.alias("more"), F.expr("more.k = a.k"), "left")
    # WHERE more.name = names.name
    filtered = joined_2.where("more.name = names.name")
    # SELECT a.k, names.name, more.name
    return filtered.selectExpr("a.k AS k", "names.name AS name", "more.name AS name_1")


def query_6(a: DataFrame, names: DataFrame) -> DataFrame:
    # INNER JOIN names ON a.k = names.k
    joined = a.alias("a").join(names.alias("names"), F.expr("a.k = names.k"), "inner")
    # WHERE a.v < rand() * length(name)
    filtered = joined.where("a.v < rand() * length(names.name)")
    # SELECT a.k, name
    return filtered.selectExpr("a.k AS k", "names.name AS name")


def main() -> None:
    spark = (
        SparkSession.builder.appName("join_conditions")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    a = accept_a(read_a(spark))
    b = accept_b(read_b(spark))
    names = read_names(spark)
    more = read_more(spark)
    query_1(a, b).writeStream.format("console").option("truncate", False).start()
    query_2(a, names).writeStream.format("console").option("truncate", False).start()
    query_3(a, b).writeStream.format("console").option("truncate", False).start()
    query_4(a, names).writeStream.format("console").option("truncate", False).start()
    (
        query_5(a, names, more)
        .writeStream.format("console")
        .option("truncate", False)
        .start()
    )
    query_6(a, names).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
