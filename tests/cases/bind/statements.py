# Compiled by ssql 0.1.0 from statements.ssql.
#
# out: plan stateless, because it keeps no state: every row is handled on its own.
# out_2: plan stateless, because it keeps no state: every row is handled on its own.

from pyspark.sql import DataFrame, SparkSession


def read_s(spark: SparkSession) -> DataFrame:
    # CREATE STREAM s
    return (
        spark.readStream.format("json")
        .schema("k STRING, ts TIMESTAMP")
        .option("a.b-c", "x")
        .option("cleanSource", "off")
        .option("maxFilesPerTrigger", 5)
        .load("p")
        .where("ts IS NOT NULL")
        .withWatermark("ts", "0 seconds")
    )


def out(s: DataFrame) -> DataFrame:
    # SELECT k
    return s.selectExpr("k")


def out_2(s: DataFrame) -> DataFrame:
    # SELECT k
    return s.selectExpr("k")


def main() -> None:
    spark = (
        SparkSession.builder.appName("statements")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 8)
        .getOrCreate()
    )
    s = read_s(spark)
    out(s).writeStream.format("console").option("truncate", False).start()
    out_2(s).writeStream.format("console").option("truncate", False).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
