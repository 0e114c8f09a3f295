"""The papers' aggregation queries over windows in time, as they are printed there, run on generated
packets: each plan gives what the definitions say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiled import Row, stream_ddl
from oracle import Aggregate, WindowQuery, evaluate, evaluate_instants, same
from running import run_text, write_rows
from streams import PACKET_COLUMNS, PACKET_TYPES, SECOND, packets

MINUTE = 60 * SECOND
SPEED = 3  # batches a stream


def count(keys: tuple[str, ...], range_us: int, slide_us: int, **more: Any) -> WindowQuery:
    aggregates = (Aggregate(name="count(*)", function="count"),)
    return WindowQuery(
        range_us=range_us, slide_us=slide_us, keys=keys, aggregates=aggregates, **more
    )


def of_len(function: str, keys: tuple[str, ...], range_us: int, slide_us: int) -> WindowQuery:
    aggregates = (Aggregate(name=f"{function}(len)", function=function, column="len"),)
    return WindowQuery(range_us=range_us, slide_us=slide_us, keys=keys, aggregates=aggregates)


HEAVY = Aggregate(
    name="heavy_hitters(srcIP, 0.05)", function="heavy_hitters", column="srcIP", arguments=("0.05",)
)
# name: (text, the streams that it reads, the same by the oracle)
QUERIES: dict[str, tuple[str, tuple[str, ...], WindowQuery]] = {
    "Q1-1": (
        "SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts] FROM M GROUP BY srcIP",
        ("M",),
        count(("srcIP",), 10 * MINUTE, MINUTE),
    ),
    "Q6-1": (
        "Select srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WATTR ts] From Main Group By srcIP",
        ("Main",),
        count(("srcIP",), 10 * MINUTE, MINUTE),
    ),
    "Q1-2": (
        "SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] FROM Control union Main1 union Main2",
        ("Control", "Main1", "Main2"),
        count((), MINUTE, MINUTE),
    ),
    "Q6-2": (
        "SELECT max(len) [RANGE 4 minutes, SLIDE 1 minute, WA ts] FROM Main",
        ("Main",),
        of_len("max", (), 4 * MINUTE, MINUTE),
    ),
    "Q6-3": (
        "SELECT count(*) [RANGE 4 minutes, SLIDE 1 minute, WA ts] FROM packets GROUP BY srcIP",
        ("packets",),
        count(("srcIP",), 4 * MINUTE, MINUTE),
    ),
    "Q6-4": (
        "SELECT heavy_hitters(srcIP, 0.05) [RANGE 10 minutes, SLIDE 1 minute, WA ts] FROM packets",
        ("packets",),
        WindowQuery(range_us=10 * MINUTE, slide_us=MINUTE, keys=(), aggregates=(HEAVY,)),
    ),
    "Q6-5": (
        "SELECT srcIP, count(*) [RANGE 5 minutes, SLIDE 1 minute, WA ts] FROM M1 GROUP BY srcIP",
        ("M1",),
        count(("srcIP",), 5 * MINUTE, MINUTE),
    ),
    "Q6-6": (
        "SELECT srcIP, sum(len) [RANGE 10 seconds, SLIDE 1 second, WA ts] FROM packets GROUPBY srcIP",
        ("packets",),
        of_len("sum", ("srcIP",), 10 * SECOND, SECOND),
    ),
    "Q6-7": (
        "SELECT srcIP, sum(len) [RANGE 1 second, SLIDE 1 second, WA ts] FROM Main GROUP-BY srcIP",
        ("Main",),
        of_len("sum", ("srcIP",), SECOND, SECOND),
    ),
    "Q6-8": (
        "SELECT count(*) [RANGE 10 sec, SLIDE 1 sec, WA ts] FROM (Main2 UNION (Main1 UNION Control))"
        " GROUP-BY srcIP",
        ("Main2", "Main1", "Control"),
        count(("srcIP",), 10 * SECOND, SECOND),
    ),
    "Q8-1": (
        "SELECT srcIP, destIP, count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] FROM Main"
        " GROUP BY srcIP, destIP",
        ("Main",),
        count(("srcIP", "destIP"), MINUTE, MINUTE),
    ),
    "Q8-2": (
        "SELECT srcIP, destIP, count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] FROM M1 UNION M2"
        " GROUP BY srcIP, destIP",
        ("M1", "M2"),
        count(("srcIP", "destIP"), MINUTE, MINUTE),
    ),
    "Q8-5": (
        "SELECT count(*) [RANGE 5 minutes, SLIDE 1 minute, WA ts] FROM M1 UNION M2 UNION C",
        ("M1", "M2", "C"),
        count((), 5 * MINUTE, MINUTE),
    ),
    "90 s by 60 s": (
        "SELECT srcIP, count(*) [RANGE 90 seconds, SLIDE 60 seconds] FROM Main GROUP BY srcIP",
        ("Main",),
        count(("srcIP",), 90 * SECOND, MINUTE),
    ),
    "7 s by 3 s": (
        "SELECT count(*) [RANGE 7 s, SLIDE 3 s] FROM Main".replace(" s", " seconds"),
        ("Main",),
        count((), 7 * SECOND, 3 * SECOND),
    ),
    "6.4 s by 1.6 s": (
        "SELECT srcIP, count(*) [RANGE 6.4 seconds, SLIDE 1.6 seconds] FROM Main GROUP BY srcIP",
        ("Main",),
        count(("srcIP",), 6_400_000, 1_600_000),
    ),
    "20 s by 1 min": (
        "SELECT srcIP, count(*) [RANGE 20 seconds, SLIDE 1 minute] FROM Main GROUP BY srcIP",
        ("Main",),
        count(("srcIP",), 20 * SECOND, MINUTE),
    ),
    "1 day by 1 min": (
        "SELECT count(*) [RANGE 1 day, SLIDE 1 minute] FROM Main",
        ("Main",),
        count((), 24 * 60 * MINUTE, MINUTE),
    ),
}
# Spark takes most of a minute to plan copies of a row into 1,440 windows: panes have as many.
# Each by Spark's own plans, and by one of the operators in turn.
PLANNED = [
    (name, plan)
    for at, name in enumerate(QUERIES)
    for plan in ("wid", "paned", ("rolling", "adaptwid")[at % 2])
    if (name, plan) != ("1 day by 1 min", "wid")
]
STREAMS = tuple(dict.fromkeys(name for _, names, _ in QUERIES.values() for name in names))


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[Row]]]:
    """The definitions of all streams, and their rows."""
    ddl, rows = "", {}
    for seed, name in enumerate(STREAMS):
        directory = tmp_path_factory.mktemp(name)
        rows[name] = packets(seed, 240, minutes=6)
        size = len(rows[name]) // SPEED
        for at in range(SPEED):
            last = at == SPEED - 1
            part = rows[name][at * size :] if last else rows[name][at * size : (at + 1) * size]
            write_rows(directory / f"{at}.json", part, at)
        options = (
            f"connector = 'file', format = 'json', path = '{directory}', maxFilesPerTrigger = 1"
        )
        ddl += stream_ddl(name, PACKET_TYPES, "5 SECONDS", options)
    return ddl, rows


def shown(rows: list[Row], columns: list[str]) -> Iterator[Row]:
    """Only what the query selects: not every key is shown."""
    for row in rows:
        yield {c: row[c] for c in columns}


@pytest.mark.spark
@pytest.mark.parametrize(("name", "plan"), PLANNED)
def test_query(
    spark: Any, generated: tuple[str, dict[str, list[Row]]], name: str, plan: str
) -> None:
    ddl, rows = generated
    text, streams, query = QUERIES[name]
    ran = run_text(f"{ddl}{text};", plan, until_done=True)
    expected = evaluate(query, [r for s in streams for r in rows[s]], PACKET_COLUMNS)
    assert same(ran.rows, list(shown(expected, list(ran.rows[0])))) is None
    assert ran.summaries[0].rows_in == sum(len(rows[s]) for s in streams)
    assert ran.summaries[0].rows_out == len(expected)
    assert ran.summaries[0].late == 0


@pytest.mark.spark
def test_instants(spark: Any, tmp_path: Path) -> None:
    """Q2-1: an ordinary GROUP BY on the progressing attribute, with ts in whole minutes. Rows of one
    instant come in several batches, and the watermark reaches it before the last of them."""
    rows = packets(5, 90, grain_us=MINUTE, disorder_us=0)
    rows.sort(key=lambda r: r["ts"])
    for at in range(9):
        write_rows(tmp_path / f"{at}.json", rows[at * 10 : (at + 1) * 10], at)
    options = f"connector = 'file', format = 'json', path = '{tmp_path}', maxFilesPerTrigger = 1"
    ddl = stream_ddl("Main1", PACKET_TYPES, "0 SECONDS", options)
    some = sorted({r["srcIP"] for r in rows})[:2]
    ran = run_text(
        f"{ddl}SELECT srcIP, ts, count(*) FROM Main1 WHERE srcIP = '{some[0]}' or srcIP = '{some[1]}'"
        " GROUP BY srcIP, ts;",
        until_done=True,
    )
    kept = [r for r in rows if r["srcIP"] in some]
    counts = (Aggregate(name="count(*)", function="count"),)
    assert same(ran.rows, evaluate_instants(("srcIP",), "ts", counts, kept, PACKET_COLUMNS)) is None
    assert ran.summaries[0].late == 0


@pytest.mark.spark
def test_several_queries_are_numbered(
    spark: Any, generated: tuple[str, dict[str, list[Row]]]
) -> None:
    ddl, rows = generated
    text = "".join(f"{QUERIES[name][0]};" for name in ("Q6-2", "Q8-5"))
    ran = run_text(ddl + text, until_done=True)
    for number, name in enumerate(("Q6-2", "Q8-5"), 1):
        _, streams, query = QUERIES[name]
        found = [
            {k: v for k, v in r.items() if k != "_query"} for r in ran.rows if r["_query"] == number
        ]
        expected = evaluate(query, [r for s in streams for r in rows[s]], PACKET_COLUMNS)
        assert same(found, expected) is None
