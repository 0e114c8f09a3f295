"""What the tests share: one flag to rewrite goldens, and one Spark session for all."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from broker import Unavailable, connector_jars
from hypothesis import Phase, settings

# The same examples in every run, so that a change is judged by what it changes;
# `HYPOTHESIS_PROFILE=explore pytest` looks for new ones, and `unshrunk` shows the first failure as
# it was found: making it smaller takes minutes where Spark runs every try.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("unshrunk", derandomize=True, phases=[Phase.explicit, Phase.generate])
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
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """One session for all tests, with the settings of a run: two cores, UTC, RocksDB."""
    from ssql.runtime import session

    os.environ["TZ"] = "UTC"  # datetimes without a zone go in and out as UTC
    time.tzset()
    given = {"spark.driver.memory": "2g"}
    with suppress(Unavailable):  # the tests of Kafka skip, and say why
        given["spark.jars"] = ",".join(map(str, connector_jars()))
    chosen = session.settings("local[2]", given, set(), {})
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    started = session.start("ssql tests", chosen, log)
    yield started
    started.stop()
