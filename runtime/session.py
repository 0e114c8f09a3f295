"""The Spark session of a run: its settings, from one place, and a quiet start."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ssql.runtime.failures import Kind, RunFailure, explained, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_SECONDS = 0.2  # how often a running query is looked at
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
# What a checkpoint is written with cannot change when it is resumed.
FROZEN = (
    SHUFFLE_PARTITIONS,
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.multipleWatermarkPolicy",
)

DEFAULTS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    # Of two equal aggregates in a query, one would lose its watermark and close no windows.
    "spark.sql.exchange.reuse": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_LOCAL: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def settings(
    master: str | None, given: Mapping[str, str], connectors: set[str], recorded: Mapping[str, str]
) -> dict[str, str]:
    """All settings: ours, then those that a checkpoint was written with, then the user's."""
    url = master or given.get("spark.master") or "local[*]"
    chosen = {**DEFAULTS, "spark.master": url}
    if url.startswith("local"):
        chosen |= _LOCAL
        chosen[SHUFFLE_PARTITIONS] = str(_cores(url))
        chosen["spark.driver.memory"] = f"{_driver_megabytes()}m"
    chosen |= recorded
    chosen |= given
    chosen["spark.master"] = url
    if "kafka" in connectors and not _brings_kafka(chosen):
        from pyspark import __version__ as version

        packages = [p for p in (chosen.get("spark.jars.packages"), f"{_KAFKA}:{version}") if p]
        chosen["spark.jars.packages"] = ",".join(packages)
    return chosen


def _brings_kafka(chosen: Mapping[str, str]) -> bool:
    keys = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
    return any("kafka" in chosen.get(key, "") for key in keys)


def _cores(url: str) -> int:
    asked = re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", url)
    if asked is None:
        return 1
    return (os.cpu_count() or 1) if asked[1] == "*" else int(asked[1])


def _driver_megabytes() -> int:
    """A quarter of the machine, between 1 and 8 GiB: a local run is all in one process."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(1024, min(8192, total // 4))


def start(name: str, chosen: Mapping[str, str], log: Path) -> SparkSession:
    """The session. What the JVM prints goes to `log`: standard output is for results."""
    _need_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    # They log the tracebacks of errors that are raised as well, and told in words.
    for logger in ("py4j", "pyspark", "SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_not_py4j)  # which has no logger of its own for some of it
    builder = SparkSession.builder.appName(name)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    try:
        with _quiet(log), _own_interrupt():
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel(os.environ.get("SSQL_LOG_LEVEL", "WARN"))
    except spark_errors() + (OSError, RuntimeError) as error:  # noqa: RUF005 - for mypy
        raise _no_start(log, error) from error
    if SHUFFLE_PARTITIONS not in chosen:
        cores = session.sparkContext.defaultParallelism
        session.conf.set(SHUFFLE_PARTITIONS, str(cores))
    return session


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _no_start(log: Path, error: Exception) -> RunFailure:
    said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = explained(RuntimeError(f"{error}\n{said}"))
    if found.kind is Kind.ENVIRONMENT:
        return found
    return RunFailure(
        Kind.ENVIRONMENT,
        "Spark did not start",
        notes=(found.message,),
        helps=("check the settings, and that Java is version 17 or newer",),
        details=f"{error}\n{said}",
    )


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise RunFailure(
        Kind.ENVIRONMENT,
        "Java is not on the PATH, and Spark needs it",
        helps=(
            "install Java 17 or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless;"
            " macOS: brew install openjdk@17), or set JAVA_HOME",
        ),
    )


@contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """A JVM that is started inside of this keeps `log` as its standard output and error."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            os.close(saved[0])
            os.close(saved[1])


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """PySpark takes Ctrl-C for itself when it starts; whoever had it before keeps it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def new_log() -> Path:
    handle, path = tempfile.mkstemp(prefix="ssql-", suffix=".log")
    os.close(handle)
    return Path(path)
