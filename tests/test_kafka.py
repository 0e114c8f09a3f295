"""A real Kafka broker: a topic in, windows, a topic out, and offsets that are remembered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from broker import Broker, Unavailable, broker_jars, connector_jars
from compiled import Row, stream_ddl
from oracle import Aggregate, WindowQuery, evaluate, instant_text, same
from running import _row, run_text
from streams import PACKET_COLUMNS, PACKET_TYPES, SECOND, packets

COUNTS = WindowQuery(
    range_us=60 * SECOND,
    slide_us=20 * SECOND,
    keys=("srcIP",),
    aggregates=(Aggregate(name="n", function="count"),),
)
SELECT = (
    "SELECT srcIP, count(*) AS n [RANGE 1 minute, SLIDE 20 seconds] FROM packets GROUP BY srcIP;"
)
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    try:
        connector_jars()
        broker_jars()
        with Broker() as running:
            yield running
    except Unavailable as missing:
        pytest.skip(f"no Kafka here: {missing}")


def send(spark: Any, broker: Broker, topic: str, rows: list[Row]) -> None:
    records = [
        (r["srcIP"], json.dumps({**r, "ts": instant_text(r["ts"]).replace(" ", "T") + "Z"}))
        for r in rows
    ]
    frame = spark.createDataFrame(records, "key STRING, value STRING")
    options = {"kafka.bootstrap.servers": broker.servers, "topic": topic}
    frame.write.format("kafka").options(**options).save()


def received(spark: Any, broker: Broker, topic: str) -> list[Any]:
    options = {
        "kafka.bootstrap.servers": broker.servers,
        "subscribe": topic,
        "includeHeaders": "true",
    }
    found = spark.read.format("kafka").options(**options).load()
    return found.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)", "headers").collect()


def packets_ddl(broker: Broker, topic: str, **more: str) -> str:
    options = (
        f"connector = 'kafka', topic = '{topic}', kafka.bootstrap.servers = '{broker.servers}'"
    )
    return stream_ddl("packets", {**PACKET_TYPES, **more}, "5 SECONDS", options)


def test_a_round_trip(spark: Any, broker: Broker, tmp_path: Path) -> None:
    """In two runs: the second one starts where the first one ended, and nothing is lost or counted
    twice. Spark spreads a topic over its partitions; the rows are within the declared disorder."""
    rows = packets(31, 200, minutes=4)
    sink = (
        "CREATE SINK counts WITH (connector = 'kafka', topic = 'counts', key = 'srcIP', headers = 'n',"
        f" kafka.bootstrap.servers = '{broker.servers}');"
    )
    text = f"{packets_ddl(broker, 'packets')}{sink}INSERT INTO counts {SELECT}"
    options = {"until_done": True, "checkpoint": str(tmp_path)}
    send(spark, broker, "packets", rows[:90])
    first = run_text(text, **options)
    assert first.summaries[0].rows_in == 90
    send(spark, broker, "packets", rows[90:])
    second = run_text(text, flush=True, **options)
    assert second.summaries[0].rows_in == 110
    found = received(spark, broker, "counts")
    values = [_row(r.value.replace(".000Z", "Z")) for r in found]
    assert same(values, evaluate(COUNTS, rows, PACKET_COLUMNS)) is None
    for record, value in zip(found, values, strict=True):
        assert record.key == value["srcIP"]
        assert [(h.key, bytes(h.value)) for h in record.headers] == [
            ("n", str(value["n"]).encode())
        ]


def test_the_records_own_columns(spark: Any, broker: Broker) -> None:
    rows = packets(32, 20)
    send(spark, broker, "keyed", rows)
    text = packets_ddl(
        broker, "keyed", kafka_key="STRING", kafka_topic="STRING", kafka_offset="BIGINT"
    )
    ran = run_text(f"{text}SELECT * FROM packets;", until_done=True)
    assert len(ran.rows) == len(rows)
    assert all(r["kafka_key"] == r["srcIP"] and r["kafka_topic"] == "keyed" for r in ran.rows)
    assert all(r["kafka_offset"] >= 0 for r in ran.rows)


def test_values_that_are_not_json(spark: Any, broker: Broker) -> None:
    rows = packets(33, 20)
    send(spark, broker, "mixed", rows)
    bad = spark.createDataFrame([("not JSON",), ('{"srcIP": "1"}',)], "value STRING")
    options = {"kafka.bootstrap.servers": broker.servers, "topic": "mixed"}
    bad.write.format("kafka").options(**options).save()
    ran = run_text(f"{packets_ddl(broker, 'mixed')}{SELECT}", until_done=True)
    assert (ran.summaries[0].rows_in, ran.summaries[0].rejected) == (22, 2)
    assert same(ran.rows, evaluate(COUNTS, rows, PACKET_COLUMNS)) is None
