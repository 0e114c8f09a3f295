"""Operators as Spark calls them, in memory: timers, late rows, state, and the road there and back."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester
from pyspark.sql.types import Row
from streams import SECOND

from ssql.runtime.failures import explained
from ssql.runtime.operators import packing
from ssql.runtime.operators.adaptwid import AdaptKernel
from ssql.runtime.operators.merging import Layout
from ssql.runtime.operators.processor import END_US, Processor
from ssql.runtime.operators.rows import RowsKernel, _ties
from ssql.runtime.operators.sliding import Sliding
from ssql.runtime.operators.tables import from_bytes, ranks, to_bytes

LAYOUT = Layout(("key_0",), {"part_0": "sum"})
TEN_SECONDS = AdaptKernel(LAYOUT, Sliding(10 * SECOND, 5 * SECOND, 0, (10 * SECOND,)))
THREE_ROWS = RowsKernel(LAYOUT, ("key_0",), ("order_0",), 3, 3)


def operator_of(kernel: Any) -> TwsTester:
    """Blobs are never late: which of their rows are, the operator says itself."""
    processor = Processor(kernel, takes_late=False)
    return TwsTester(processor, timeMode="EventTime", eventTimeExtractor=lambda row: 2**62)


def packed(*rows: tuple[int, str, int]) -> list[Row]:
    table = pa.table(
        {
            "at": pa.array([at * SECOND for at, _, _ in rows], pa.int64()),
            "key_0": [key for _, key, _ in rows],
            "part_0": pa.array([value for _, _, value in rows], pa.int64()),
            "order_0": pa.array([value for _, _, value in rows], pa.int64()),
        }
    )
    return [Row(bucket=0, side=0, event_time=None, latest=0, payload=to_bytes(table))]


def results(returned: list[Row]) -> list[tuple[int, str, int]]:
    """Ends in seconds (or rows), keys and values."""
    tables = [from_bytes(r["payload"]) for r in returned if r["payload"] is not None]
    return sorted((r["end"], r["key_0"], r["part_0"]) for t in tables for r in t.to_pylist())


def test_a_timer_closes_windows_without_new_rows() -> None:
    operator = operator_of(TEN_SECONDS)
    assert results(operator.test(0, packed((101, "a", 1), (104, "b", 2)))) == []
    assert results(operator.setWatermark(104_999)) == []
    assert results(operator.setWatermark(105_000)) == [
        (105 * SECOND, "a", 1),
        (105 * SECOND, "b", 2),
    ]
    assert results(operator.setWatermark(200_000)) == [
        (110 * SECOND, "a", 1),
        (110 * SECOND, "b", 2),
    ]
    # A gap longer than RANGE, and nothing is left.
    assert operator.peekValueState("kept", 0) is None
    assert operator.peekMapState("chunks", 0) == {}


def test_rows_do_what_a_timer_was_to_do() -> None:
    """They come first in a batch: the timer is not left to fire for nothing."""
    operator = operator_of(TEN_SECONDS)
    operator.test(0, packed((101, "a", 1)))
    handle = operator.handle
    assert list(handle.listTimers()) == [105_000]
    operator._currentWatermarkMs = 105_500  # time has come, and no timer has fired yet
    handle.setWatermark(105_500)
    found = results(operator.test(0, packed((107, "a", 2))))
    assert found == [(105 * SECOND, "a", 1)]
    assert list(handle.listTimers()) == [110_000]


def test_what_rows_bring_along_to_be_put_in_order() -> None:
    """Neither what is alike in all that are compared, nor what they have anyway."""
    brought, ties = _ties(
        ["ts", "k", "v", "`a b`", "w"], ["ts", "`k`"], ["`k`", "u"], ["v", "w + 1"]
    )
    assert brought == ("`a b`", "w")
    assert ties == ("part_0", "order_0", "order_1")
    assert _ties(["u", "ts"], [""], ["u"], []) == (("ts",), ("key_0", "order_0"))


def test_late_rows_are_dropped_and_counted() -> None:
    operator = operator_of(TEN_SECONDS)
    operator.test(0, packed((101, "a", 1)))
    operator.setWatermark(107_000)
    returned = operator.test(0, packed((106, "a", 10), (90, "a", 100), (107, "a", 1000)))
    assert sum(r["late"] for r in returned) == 2
    assert results(operator.setWatermark(110_000)) == [(110 * SECOND, "a", 1001)]


def test_rows_are_numbered_once_they_are_final() -> None:
    operator = operator_of(THREE_ROWS)
    assert results(operator.test(0, packed((103, "a", 4), (101, "a", 1), (102, "a", 2)))) == []
    assert results(operator.setWatermark(103_000)) == []  # the third may still get one before it
    assert results(operator.setWatermark(103_001)) == [(3, "a", 7)]
    operator.test(0, packed((104, "a", 8)))
    end = END_US // 1_000
    assert results(operator.setWatermark(end)) == [(6, "a", 8)]
    assert operator.peekValueState("kept", 0) is None
    assert operator.peekMapState("chunks", 0) == {}


def test_state_of_another_version_is_refused() -> None:
    operator = operator_of(TEN_SECONDS)
    kept = {"format": 0, "memo": {}, "chunks": {}, "next": 0}
    operator.updateValueState("kept", 0, (json.dumps(kept),))
    with pytest.raises(RuntimeError, match="another checkpoint"):
        operator.test(0, packed((101, "a", 1)))


@pytest.mark.parametrize(
    ("said", "message", "help"),
    [
        (
            "OverflowError: a sum of whole numbers is beyond 64 bits: sum decimals or doubles",
            "a sum of whole numbers is beyond 64 bits",
            "sum decimals or doubles",
        ),
        (
            "RuntimeError: this state has format 2, and this version of ssql reads format 1: start",
            "this state has format 2, and this version of ssql reads format 1",
            "another checkpoint directory",
        ),
    ],
)
def test_failures_are_told_in_words(said: str, message: str, help: str) -> None:
    failure = explained(RuntimeError(f"PythonException: …\nTraceback …\n{said}\n SQLSTATE: 39000"))
    assert failure.message == message
    assert help in failure.helps[0]


def test_rows_are_packed_by_bucket() -> None:
    table = pa.table(
        {
            "bucket": pa.array([1, 0, 1, 3], pa.int32()),
            "at": pa.array([5, 6, 7, 8], pa.int64()),
            "part_0": [50, 60, 70, 80],
        }
    )
    labels = packing.bucket_labels(4)
    batch = packing.packed_batch(table, labels, ticks=False).to_pylist()
    found = {r["bucket"]: from_bytes(r["payload"])["part_0"].to_pylist() for r in batch}
    assert found == {labels[0]: [60], labels[1]: [50, 70], labels[3]: [80]}
    assert {r["latest"] for r in batch} == {8}
    told = packing.packed_batch(table, labels, ticks=True).to_pylist()
    assert {r["bucket"] for r in told} == set(labels)


def test_buckets_are_spread_evenly() -> None:
    """Spark's own hash of INTs, and a bucket for each of sixteen tasks."""
    assert [packing.murmur3(n) for n in (0, 1)] == [933211791, -559580957]
    assert sorted(packing.murmur3(label) % 16 for label in packing.bucket_labels(16)) == list(
        range(16)
    )


def test_lists_are_in_spark_s_order() -> None:
    lists = [None, [], [None], [1], [1, None], [1, 0], [1, 2], [2]]
    found = ranks(pa.array([*reversed(lists), [1, 2]], pa.list_(pa.int32()))).tolist()
    assert found[:-1] == sorted(found[:-1], reverse=True) and len(set(found)) == len(lists)
    assert found[-1] == found[1]
