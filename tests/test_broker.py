"""The broker of the Kafka tests: it starts, answers and leaves nothing behind."""

from __future__ import annotations

import os

import pytest
from broker import Broker, Unavailable


def test_it_starts_answers_and_stops() -> None:
    try:
        broker = Broker()
        with broker:
            assert broker.answers()
            assert broker.servers.startswith("127.0.0.1:")
            pid = broker.process.pid
            os.kill(pid, 0)
    except Unavailable as unavailable:
        pytest.skip(unavailable.reason)
    assert not broker.answers()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
