"""The functions that Spark has, without starting Spark.

`spark_functions.tsv` is made from Spark's own registry by `python -m ssql.compiler.spark_functions`
(which needs pyspark and Java; run it when the supported Spark version changes).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_suffix(".tsv")

# They call any method of any class on the JVM's class path.
FORBIDDEN = frozenset({"reflect", "java_method", "try_reflect"})

# Another value at each call: a batch that is run again after a crash gives other results.
VOLATILE = frozenset(
    {
        "curdate",
        "current_date",
        "current_time",
        "current_timestamp",
        "input_file_block_length",
        "input_file_block_start",
        "input_file_name",
        "localtimestamp",
        "monotonically_increasing_id",
        "now",
        "rand",
        "randn",
        "random",
        "randstr",
        "shuffle",
        "spark_partition_id",
        "uniform",
        "uuid",
    }
)

# Spark's own windows; the dialect has a clause for them.
SPARK_WINDOWS = frozenset({"window", "session_window", "window_time"})
# Other engines' ways to write a window.
FOREIGN_WINDOWS = frozenset({"cumulate", "hop", "hopping", "session", "tumble", "tumbling"})

# Spark's parser knows them, its registry does not.
_IN_THE_PARSER = ("timestampadd", "timestampdiff")


@cache
def kinds() -> dict[str, str]:
    """Function name to its kind: scalar, aggregate, generator, window or table."""
    lines = _TABLE.read_text(encoding="ascii").splitlines()
    listed = dict(line.split("\t", 1) for line in lines if line and line[0] != "#")
    return {**listed, **dict.fromkeys(_IN_THE_PARSER, "scalar")}


def _kind(name: str, group: str, class_name: str) -> str:
    if not group or name in ("grouping", "grouping_id"):
        return "table"
    if group == "agg_funcs" or ".aggregate." in class_name:
        return "aggregate"
    return {"window_funcs": "window", "generator_funcs": "generator"}.get(group, "scalar")


def _write_table() -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    )
    catalyst = spark._jvm.org.apache.spark.sql.catalyst
    registry = catalyst.analysis.FunctionRegistry.builtin()
    lines = [f"# Functions of Spark {spark.version}. Made by ssql.compiler.spark_functions."]
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        if name.isidentifier():
            info = registry.lookupFunction(catalyst.FunctionIdentifier(name))
            described = info.get() if info.isDefined() else None
            group = described.getGroup() if described else ""
            lines.append(
                f"{name}\t{_kind(name, group, described.getClassName() if described else '')}"
            )
    spark.stop()
    _TABLE.write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    _write_table()
