# Compiled by ssql 0.1.0 from ordered.ssql.
#
# query_1: plan batch, because it reads stored tables only, so it runs once.
# query_2: plan batch, because it reads stored tables only, so it runs once.
# query_3: plan batch, because it reads stored tables only, so it runs once.
# query_4: plan batch, because it reads stored tables only, so it runs once.
# query_5: plan batch, because it reads stored tables only, so it runs once.

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def read_h(spark: SparkSession) -> DataFrame:
    # CREATE TABLE h
    return spark.read.format("csv").schema("ip STRING, host_id STRING").load("h.csv")


def query_1(h: DataFrame) -> DataFrame:
    # SELECT ip
    selected = h.selectExpr("ip")
    # SELECT host_id
    selected_2 = h.selectExpr("host_id")
    # UNION ALL
    united = selected.union(selected_2)
    # ORDER BY 1
    ordered = united.orderBy(F.expr("ip"))
    # LIMIT 3
    return ordered.limit(3)


def query_2(h: DataFrame) -> DataFrame:
    # GROUP BY ip
    grouped = h.groupBy("ip")
    # count(*)
    aggregated = grouped.agg(F.expr("count(*) AS `count(*)`"))
    # SELECT ip, count(*)
    selected = aggregated.selectExpr("ip", "`count(*)`")
    # ORDER BY count(*) DESC NULLS LAST, h.ip
    return selected.orderBy(F.expr("`count(*)`").desc_nulls_last(), F.expr("ip"))


def query_3(h: DataFrame) -> DataFrame:
    # ORDER BY ip, host_id DESC, ip
    ordered = h.orderBy(F.expr("ip"), F.expr("host_id").desc(), F.expr("ip"))
    # SELECT ip AS x
    return ordered.selectExpr("ip AS x")


def query_4(h: DataFrame) -> DataFrame:
    # SELECT ip
    selected = h.selectExpr("ip")
    # SELECT host_id
    selected_2 = h.selectExpr("host_id")
    # UNION ALL
    united = selected.union(selected_2)
    # SELECT DISTINCT
    distinct = united.distinct()
    # UNION ALL
    return distinct.union(selected)


def query_5(h: DataFrame) -> DataFrame:
    # SELECT ip
    selected = h.selectExpr("ip")
    # SELECT DISTINCT
    distinct = selected.distinct()
    # ORDER BY ip
    return distinct.orderBy(F.expr("ip"))


def main() -> None:
    spark = (
        SparkSession.builder.appName("ordered")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    h = read_h(spark)
    query_1(h).show(truncate=False)
    query_2(h).show(truncate=False)
    query_3(h).show(truncate=False)
    query_4(h).show(truncate=False)
    query_5(h).show(truncate=False)


if __name__ == "__main__":
    main()
