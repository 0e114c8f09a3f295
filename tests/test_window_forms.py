"""Windowed queries in all the places that a query can stand in, as streams and against the oracle:
views, sub-queries, unions, windows over windows, look-ups, groups by time."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from compiled import Row, stream_ddl
from oracle import Aggregate, Condition, WindowQuery, evaluate, evaluate_instants, same
from running import run_text, write_rows
from streams import PACKET_COLUMNS, PACKET_TYPES, SECOND, packets

MINUTE = 60 * SECOND
PLANS = pytest.mark.parametrize("plan", ["wid", "paned"])
ROWS = {"a": packets(11, 150, minutes=4), "b": packets(12, 150, minutes=4)}
COUNT = Aggregate(name="n", function="count")


@pytest.fixture(scope="module")
def ddl(tmp_path_factory: pytest.TempPathFactory) -> str:
    text = ""
    for name, rows in ROWS.items():
        directory = tmp_path_factory.mktemp(name)
        for at in range(3):
            write_rows(directory / f"{at}.json", rows[at * 50 : (at + 1) * 50], at)
        options = (
            f"connector = 'file', format = 'json', path = '{directory}', maxFilesPerTrigger = 1"
        )
        text += stream_ddl(name, PACKET_TYPES, "5 SECONDS", options)
    hosts = tmp_path_factory.mktemp("hosts") / "hosts.csv"
    with hosts.open("w") as file:
        csv.writer(file).writerows([("ip", "host"), *HOSTS.items()])
    return text + (
        "CREATE TABLE hosts (ip STRING, host STRING)"
        f" WITH (connector = 'file', format = 'csv', path = '{hosts}', header = true);\n"
        "CREATE VIEW per_half AS SELECT srcIP, count(*) AS n [RANGE 30 seconds] FROM a GROUP BY srcIP;\n"
    )


SOURCES = sorted({r["srcIP"] for r in ROWS["a"]})
HOSTS = {ip: f"host {at}" for at, ip in enumerate(SOURCES[:-2])}
PER_HALF = WindowQuery(
    range_us=30 * SECOND, slide_us=30 * SECOND, keys=("srcIP",), aggregates=(COUNT,)
)


def check(ddl: str, text: str, plan: str, expected: list[Row]) -> None:
    ran = run_text(f"{ddl}{text};", plan, until_done=True)
    assert expected
    assert same(ran.rows, expected) is None, text
    assert ran.summaries[0].late == 0
    assert ran.summaries[0].state_rows == 0


def counts(range_s: int, slide_s: int, rows: list[Row], *keys: str, **more: Any) -> list[Row]:
    query = WindowQuery(
        range_us=range_s * SECOND, slide_us=slide_s * SECOND, keys=keys, aggregates=(COUNT,), **more
    )
    return evaluate(query, rows, PACKET_COLUMNS)


@pytest.mark.spark
@PLANS
def test_sub_queries_and_common_tables(spark: Any, ddl: str, plan: str) -> None:
    """Renamed columns, a filter inside and one outside that drops most rows: time moves on."""
    text = (
        "WITH small AS (SELECT srcIP AS source, len, ts AS at FROM a WHERE len < 1200)"
        " SELECT source, count(*) AS n [RANGE 60 seconds, SLIDE 20 seconds, WA at]"
        f" FROM small WHERE source = '{SOURCES[0]}' GROUP BY source"
    )
    kept = [
        {**r, "source": r["srcIP"]}
        for r in ROWS["a"]
        if r["len"] < 1200 and r["srcIP"] == SOURCES[0]
    ]
    check(ddl, text, plan, counts(60, 20, kept, "source"))


@pytest.mark.spark
@PLANS
def test_a_stream_united_with_itself(spark: Any, ddl: str, plan: str) -> None:
    text = "SELECT srcIP, count(*) AS n [RANGE 60 seconds, SLIDE 20 seconds] FROM a UNION a UNION b GROUP BY srcIP"
    rows = [*ROWS["a"], *ROWS["a"], *ROWS["b"]]
    check(ddl, text, plan, counts(60, 20, rows, "srcIP"))


@pytest.mark.spark
@pytest.mark.parametrize("plan", ["wid", "rolling"])
def test_a_windowed_view_that_is_used_twice(spark: Any, ddl: str, plan: str) -> None:
    """Spark would take both for one, and one of them would then never close its last windows."""
    half = "SELECT window_start, window_end, srcIP, n FROM per_half"
    text = f"SELECT * FROM ({half} UNION ALL {half}) AS twice"
    expected = evaluate(PER_HALF, ROWS["a"], PACKET_COLUMNS)
    check(ddl, text, plan, [*expected, *expected])


@pytest.mark.spark
@PLANS
@pytest.mark.parametrize("attribute", ["window_start", "window_end"])
def test_windows_over_windows(spark: Any, ddl: str, plan: str, attribute: str) -> None:
    text = f"SELECT max(n) AS top [RANGE 2 minutes, SLIDE 40 seconds, WA {attribute}] FROM per_half WHERE n > 1"
    inner = [r for r in evaluate(PER_HALF, ROWS["a"], PACKET_COLUMNS) if r["n"] > 1]
    outer = WindowQuery(
        range_us=2 * MINUTE,
        slide_us=40 * SECOND,
        time=attribute,
        keys=(),
        aggregates=(Aggregate(name="top", function="max", column="n"),),
    )
    check(ddl, text, plan, evaluate(outer, inner, ("n",)))


@pytest.mark.spark
@PLANS
@pytest.mark.parametrize("attribute", ["window_start", "window_end"])
def test_windows_over_overlapping_windows(spark: Any, ddl: str, plan: str, attribute: str) -> None:
    """Inner windows that start long before they close: by window_start they come out of order."""
    text = (
        f"SELECT sum(n) AS total, count(*) AS n [RANGE 50 seconds, SLIDE 25 seconds, WA {attribute}] FROM"
        " (SELECT count(*) AS n [RANGE 90 seconds, SLIDE 15 seconds, ORIGIN '2026-01-01 00:00:04'] FROM a) w"
    )
    inner = counts(90, 15, ROWS["a"], origin_us=4 * SECOND)
    outer = WindowQuery(
        range_us=50 * SECOND,
        slide_us=25 * SECOND,
        time=attribute,
        keys=(),
        aggregates=(Aggregate(name="total", function="sum", column="n"), COUNT),
    )
    check(ddl, text, plan, evaluate(outer, inner, ("n",)))


@pytest.mark.spark
@PLANS
@pytest.mark.parametrize("attribute", ["window_start", "window_end"])
def test_three_windows_deep(spark: Any, ddl: str, plan: str, attribute: str) -> None:
    """Each level shifts event time by its own windows."""
    text = (
        f"SELECT count(*) AS n, max(n) AS top [RANGE 20 seconds, SLIDE 10 seconds, WA {attribute}] FROM"
        f" (SELECT max(n) AS n [RANGE 15 seconds, SLIDE 5 seconds, WA {attribute}] FROM"
        " (SELECT count(*) AS n [RANGE 10 seconds] FROM a) x) y"
    )
    rows = counts(10, 10, ROWS["a"])
    for range_s, slide_s, names in ((15, 5, ("n",)), (20, 10, ("n", "top"))):
        top = Aggregate(name=names[-1], function="max", column="n")
        query = WindowQuery(
            range_us=range_s * SECOND,
            slide_us=slide_s * SECOND,
            time=attribute,
            keys=(),
            aggregates=(top,) if len(names) == 1 else (COUNT, top),
        )
        rows = evaluate(query, rows, ("n",))
    check(ddl, text, plan, rows)


@pytest.mark.spark
@pytest.mark.parametrize("attribute", ["window_start", "window_end"])
def test_windows_over_groups_of_windows(spark: Any, ddl: str, attribute: str) -> None:
    text = (
        f"SELECT sum(n) AS total [RANGE 1 minute, WA {attribute}] FROM"
        f" (SELECT {attribute}, max(n) AS n FROM per_half GROUP BY {attribute}) x"
    )
    inner = evaluate(PER_HALF, ROWS["a"], PACKET_COLUMNS)
    most = (Aggregate(name="n", function="max", column="n"),)
    rows = evaluate_instants((), attribute, most, inner, ("n",))
    outer = WindowQuery(
        range_us=MINUTE,
        slide_us=MINUTE,
        time=attribute,
        keys=(),
        aggregates=(Aggregate(name="total", function="sum", column="n"),),
    )
    check(ddl, text, "wid", evaluate(outer, rows, ("n",)))


@pytest.mark.spark
@PLANS
def test_columns_with_names_of_ours(spark: Any, ddl: str, plan: str) -> None:
    """Columns called like those that plans make for themselves."""
    text = (
        "SELECT pane, count(*) AS n, sum(`window`) AS mean_sum, avg(`window`) AS mean,"
        " max(event_time) AS `instant` [RANGE 60 seconds, SLIDE 20 seconds, WA ts] FROM"
        " (SELECT srcIP AS pane, len AS `window`, destPort AS event_time, ts FROM a) x GROUP BY pane"
    )
    query = WindowQuery(
        range_us=MINUTE,
        slide_us=20 * SECOND,
        keys=("pane",),
        aggregates=(
            COUNT,
            Aggregate(name="mean_sum", function="sum", column="len"),
            Aggregate(name="mean", function="avg", column="len"),
            Aggregate(name="instant", function="max", column="destPort"),
        ),
    )
    rows = [{**r, "pane": r["srcIP"]} for r in ROWS["a"]]
    check(ddl, text, plan, evaluate(query, rows, PACKET_COLUMNS))


@pytest.mark.spark
def test_event_time_of_users(spark: Any, ddl: str) -> None:
    text = (
        "SELECT event_time, max(n) AS top [RANGE 1 minute, WA window_end] FROM"
        " (SELECT srcIP AS event_time, count(*) AS n [RANGE 30 seconds] FROM a GROUP BY srcIP) x"
        " GROUP BY event_time"
    )
    inner = [{**r, "event_time": r["srcIP"]} for r in evaluate(PER_HALF, ROWS["a"], PACKET_COLUMNS)]
    outer = WindowQuery(
        range_us=MINUTE,
        slide_us=MINUTE,
        time="window_end",
        keys=("event_time",),
        aggregates=(Aggregate(name="top", function="max", column="n"),),
    )
    check(ddl, text, "wid", evaluate(outer, inner, ("n",)))


@pytest.mark.spark
@PLANS
def test_a_stored_aggregate_beside_a_stream(spark: Any, ddl: str, plan: str) -> None:
    text = (
        "SELECT host, count(*) AS n [RANGE 60 seconds, SLIDE 20 seconds] FROM (SELECT srcIP, ts FROM a) p"
        " JOIN (SELECT ip, max(host) AS host FROM hosts GROUP BY ip) h ON p.srcIP = h.ip GROUP BY host"
    )
    rows = [{**r, "host": HOSTS[r["srcIP"]]} for r in ROWS["a"] if r["srcIP"] in HOSTS]
    check(ddl, text, plan, counts(60, 20, rows, "host"))


@pytest.mark.spark
@pytest.mark.parametrize("attribute", ["window_start", "window_end"])
def test_groups_of_windows(spark: Any, ddl: str, attribute: str) -> None:
    """A plain GROUP BY on the time of windowed results."""
    text = f"SELECT {attribute}, sum(n) AS total FROM per_half GROUP BY {attribute}"
    inner = evaluate(PER_HALF, ROWS["a"], PACKET_COLUMNS)
    total = (Aggregate(name="total", function="sum", column="n"),)
    check(ddl, text, "wid", evaluate_instants((), attribute, total, inner, ("n",)))


@pytest.mark.spark
@PLANS
def test_the_time_as_a_key(spark: Any, ddl: str, plan: str) -> None:
    text = "SELECT ts, count(*) AS n [RANGE 60 seconds, SLIDE 30 seconds] FROM a GROUP BY ts"
    check(ddl, text, plan, counts(60, 30, ROWS["a"], "ts"))


@pytest.mark.spark
@PLANS
@pytest.mark.parametrize("kind", ["", "LEFT"])
def test_look_ups(spark: Any, ddl: str, plan: str, kind: str) -> None:
    text = (
        "SELECT h.host, count(*) AS n [RANGE 60 seconds, SLIDE 20 seconds, WA ts]"
        f" FROM a {kind} JOIN hosts h ON a.srcIP = h.ip GROUP BY h.host"
    )
    rows = [{**r, "host": HOSTS.get(r["srcIP"])} for r in ROWS["a"]]
    rows = [r for r in rows if kind or r["host"]]
    check(ddl, text, plan, counts(60, 20, rows, "host"))


@pytest.mark.spark
@PLANS
def test_expressions_of_aggregates(spark: Any, ddl: str, plan: str) -> None:
    text = (
        "SELECT window_end, srcIP, sum(len) / count(*) AS mean [RANGE 60 seconds, SLIDE 20 seconds]"
        " FROM a GROUP BY srcIP HAVING count(*) > 3 AND max(len) > 500"
    )
    query = WindowQuery(
        range_us=MINUTE,
        slide_us=20 * SECOND,
        keys=("srcIP",),
        aggregates=(
            COUNT,
            Aggregate(name="sum", function="sum", column="len"),
            Aggregate(name="max", function="max", column="len"),
        ),
        having=Condition(column="n", operator=">", value=3),
    )
    rows = [
        {"window_end": r["window_end"], "srcIP": r["srcIP"], "mean": r["sum"] / r["n"]}
        for r in evaluate(query, ROWS["a"], PACKET_COLUMNS)
        if r["max"] > 500
    ]
    check(ddl, text, plan, rows)


@pytest.mark.spark
@PLANS
def test_stored_rows(spark: Any, ddl: str, plan: str, tmp_path: Path) -> None:
    """A window over a table: the same, at once."""
    write_rows(tmp_path / "rows.json", ROWS["a"])
    columns = ", ".join(f"{n} {t}" for n, t in PACKET_TYPES.items())
    table = f"CREATE TABLE stored ({columns}) WITH (connector = 'file', format = 'json', path = '{tmp_path}');"
    text = "SELECT srcIP, count(*) AS n [RANGE 60 seconds, SLIDE 20 seconds, WA ts] FROM stored GROUP BY srcIP"
    check(ddl + table, text, plan, counts(60, 20, ROWS["a"], "srcIP"))
