"""What the tests share: one flag to rewrite goldens, and one Spark session for all."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The same examples in every run, so that a change is judged by what it changes;
# `HYPOTHESIS_PROFILE=explore pytest` looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write the expected files of tests/cases and the generated pages of docs/ anew",
    )


@pytest.fixture(scope="session")
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A small local session: two cores, few partitions, no web page, UTC."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"  # datetimes without a zone go in and out as UTC
    time.tzset()
    session = (
        SparkSession.builder.master("local[2]")
        .appName("ssql tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
