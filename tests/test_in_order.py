"""Results in order of time, in forms that no random join has: an aggregate over an ordered join, and
ORDER BY of streams, of windows and of outer joins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oracle import Row, same
from running import run_text, write_rows
from streams import SECOND, START, packets
from test_joins import files_ddl, timed

from ssql.compiler.pipeline import compile_job
from ssql.compiler.source import Source
from ssql.planner.choose import Circumstances

MINUTE = 60 * SECOND
TYPES = {"ItemType": "STRING", "ts": "TIMESTAMP"}
RFID = (
    "SELECT COUNT(DISTINCT S.ItemType) FROM SensorReadings1 S, SensorReadings2 T"
    " WHERE S.ItemType = T.ItemType WINDOW 10 minutes;"
)


def sales(seed: int, lag_us: int) -> list[Row]:
    """In whole half minutes, so that many are at one time."""
    made = packets(seed, 90, minutes=40, grain_us=MINUTE // 2, start_us=START + lag_us)
    return [{"ItemType": row["srcIP"], "ts": row["ts"]} for row in made]


@pytest.fixture
def sensors(tmp_path: Path) -> tuple[str, list[Row], list[Row]]:
    """Two disordered streams, of which the second lags by a minute."""
    text, found = "", []
    for number, lag in ((1, 0), (2, MINUTE)):
        rows = sales(60 + number, lag)
        for at in range(3):
            write_rows(tmp_path / str(number) / f"{at}.json", rows[at * 30 : (at + 1) * 30], at)
        found.append(rows)
        ddl = files_ddl(f"SensorReadings{number}", tmp_path / str(number), TYPES)
        text += ddl.replace("5 SECONDS", "40 SECONDS")
    return text, found[0], found[1]


@pytest.mark.spark
@pytest.mark.parametrize("plan", [None, "filter-order"])
def test_the_online_count_over_an_ordered_join(
    spark: Any, sensors: tuple[str, list[Row], list[Row]], plan: str | None
) -> None:
    """One result for each time that a result of the join has, over those of the last 10 minutes."""
    text, first, second = sensors
    ran = run_text(text + RFID, plan, until_done=True)
    assert ran.summaries[0].late == 0
    pairs = [
        (max(s["ts"], t["ts"]), s["ItemType"])
        for s in first
        for t in second
        if s["ItemType"] == t["ItemType"] and abs(s["ts"] - t["ts"]) <= 10 * MINUTE
    ]
    expected = []
    for end in sorted({at for at, _ in pairs}):
        items = {item for at, item in pairs if end - 10 * MINUTE < at <= end}
        expected.append(
            {
                "window_start": end - 10 * MINUTE,
                "window_end": end,
                "count(DISTINCT ItemType)": len(items),
            }
        )
    assert len(expected) > 40
    assert same(ran.rows, expected) is None


def by_rank(*columns: str, descending: str = "") -> Callable[[Row], Any]:
    """NULL first, and last where it is descending, as Spark has it."""

    def key(row: Row) -> Any:
        found = []
        for name in columns:
            value = row[name]
            sign = -1 if name == descending else 1
            found.append((sign * (value is not None), 0 if value is None else sign * value))
        return found

    return key


@pytest.fixture
def stream(tmp_path: Path) -> tuple[str, list[Row]]:
    rows = [
        {"k": r["srcIP"], "v": r["len"] % 7 if r["len"] % 5 else None, "ts": r["ts"]}
        for r in packets(71, 120, minutes=2, grain_us=SECOND)
    ]
    for at in range(4):
        write_rows(tmp_path / "s" / f"{at}.json", rows[at * 30 : (at + 1) * 30], at)
    return files_ddl("s", tmp_path / "s"), rows


@pytest.mark.spark
def test_a_stream_in_order(spark: Any, stream: tuple[str, list[Row]]) -> None:
    """Rows of one time go by the further keys; what a WHERE drops is not waited for."""
    text, rows = stream
    ran = run_text(
        f"{text}SELECT k, v, ts FROM s WHERE v > 1 OR v IS NULL ORDER BY ts, v DESC, k;",
        until_done=True,
    )
    found = timed(ran.rows)
    assert same(found, [r for r in rows if r["v"] is None or r["v"] > 1]) is None
    keys = [by_rank("ts", "v", descending="v")(row) for row in found]
    assert keys == sorted(keys)
    tied = [(k, r["k"]) for k, r in zip(keys, found, strict=True)]
    assert tied == sorted(tied)


@pytest.mark.spark
@pytest.mark.parametrize("by", ["window_start", "window_end, n DESC"])
def test_windows_in_order(spark: Any, stream: tuple[str, list[Row]], by: str) -> None:
    text, rows = stream
    ran = run_text(
        f"{text}SELECT k, count(*) AS n [RANGE 20 seconds, SLIDE 10 seconds] FROM s GROUP BY k"
        f" ORDER BY {by};",
        until_done=True,
    )
    counts: dict[tuple[int, str], int] = {}
    for row in rows:
        end = row["ts"] // (10 * SECOND) * (10 * SECOND) + 10 * SECOND
        for at in (end, end + 10 * SECOND):
            counts[at, row["k"]] = counts.get((at, row["k"]), 0) + 1
    expected = [
        {"window_start": end - 20 * SECOND, "window_end": end, "k": k, "n": n}
        for (end, k), n in counts.items()
    ]
    assert same(ran.rows, expected) is None
    names = by.removesuffix(" DESC").split(", ")
    keys = [by_rank(*names, descending="n")(row) for row in ran.rows]
    assert keys == sorted(keys)


@pytest.mark.spark
def test_an_outer_join_in_order(spark: Any, stream: tuple[str, list[Row]], tmp_path: Path) -> None:
    """By Spark's own join: rows that match nothing are results as well."""
    text, rows = stream
    others = [{"k": r["k"], "v": r["v"], "ts": r["ts"] + 3 * SECOND} for r in rows[::5]]
    write_rows(tmp_path / "t" / "0.json", others, 0)
    ran = run_text(
        f"""{text}{files_ddl("t", tmp_path / "t")}
        SELECT a.k AS k, a.v AS v, a.ts AS ts, b.ts AS other_ts
        FROM s a [RANGE 5 seconds] LEFT JOIN t b [RANGE 2 seconds] ON a.k = b.k
        ORDER BY a.ts;""",
        until_done=True,
    )
    expected = []
    for a in rows:
        met = [
            b for b in others if a["k"] == b["k"] and -2 * SECOND < b["ts"] - a["ts"] < 5 * SECOND
        ]
        expected += [{**a, "other_ts": b["ts"]} for b in met] or [{**a, "other_ts": None}]
    found = timed(ran.rows)
    assert same(found, expected) is None
    assert len([r for r in expected if r["other_ts"] is None]) > 10
    assert [r["ts"] for r in found] == sorted(r["ts"] for r in found)


# ------------------------------------------------------------------ which plan

TWO = """
CREATE STREAM s (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
WITH (connector = 'datagen', {});
CREATE STREAM t (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
WITH (connector = 'datagen', {});
"""


def plan_of(first: str, second: str, query: str, given: Circumstances | None = None) -> Any:
    source = Source("query.ssql", TWO.format(first, second) + query)
    job, diagnostics = compile_job(source, given=given or Circumstances())
    assert job is not None, [d.message for d in diagnostics]
    return job.queries[0]


PAIRS = "SELECT s.k FROM s, t WHERE s.k = t.k WINDOW 10 minutes;"


@pytest.mark.parametrize(
    ("first", "second", "plan", "because"),
    [
        ("rows = 1", "rows = 1", "adaptive", "nobody knows how fast the streams are"),
        (
            "stats.rate = 1, stats.distinct.k = 100",
            "stats.rate = 10, stats.distinct.k = 100",
            "sync-filter",
            "below 0.3",
        ),
        (
            "stats.rate = 20000, stats.distinct.k = 1000000",
            "stats.rate = 600000, stats.distinct.k = 1000000",
            "filter-order",
            "not below 0.3",
        ),
    ],
)
def test_the_plan_of_a_join(first: str, second: str, plan: str, because: str) -> None:
    found = plan_of(first, second, PAIRS)
    assert found.plan == plan
    assert because in found.reason


@pytest.mark.parametrize(
    ("query", "by_operator"),
    [
        (f"SELECT count(*) AS n {PAIRS.removeprefix('SELECT s.k ')}", True),
        ("SELECT count(*) AS n [RANGE 1 minute, WA at] FROM firsts;", False),
        ("SELECT count(*) AS n [RANGE 1 minute, WA at] FROM seconds;", False),
    ],
)
def test_a_window_goes_by_the_time_that_it_asks_for(query: str, by_operator: bool) -> None:
    """The operator knows the latest of both times only, as the time of what it gives."""
    views = "".join(
        f"CREATE VIEW {name} AS SELECT {time}.ts AS at {PAIRS.removeprefix('SELECT s.k ')}"
        for name, time in (("firsts", "s"), ("seconds", "t"))
    )
    job, _ = compile_job(Source("query.ssql", TWO.format("rows = 1", "rows = 1") + views + query))
    assert job is not None
    assert ("ordered_join(" in job.code) == by_operator
    if not by_operator:
        time = "s" if "firsts" in query else "t"
        assert f'F.expr("{time}.ts").alias("event_time"' in job.code


def test_alpha_is_what_was_set() -> None:
    rates = "stats.rate = 1000, stats.distinct.k = 1"
    busy = plan_of(rates, rates, f"SET ssql.join.alpha = 0;{PAIRS}")
    assert busy.plan == "filter-order"
    assert "not below 0" in busy.reason


def test_a_checkpoint_keeps_the_plan_of_its_join() -> None:
    rates = "stats.rate = 1"
    kept = Circumstances(kept={1: ("filter-order",)})
    assert plan_of(rates, rates, PAIRS, kept).plan == "filter-order"


# ------------------------------------------------------------------ conditions in Python

ALIKE = """
def alike(a, b):
    if a is None or b is None:
        return None if a is b else float("nan")
    return abs(a - b) / 2


def both(a, b):
    return None if a is None else a == b
"""
FUNCTIONS = """
CREATE FUNCTION alike(a INT, b INT) RETURNS DOUBLE LANGUAGE PYTHON AS 'likeness_of_rows:alike';
CREATE FUNCTION both(a STRING, b STRING) RETURNS BOOLEAN LANGUAGE PYTHON AS 'likeness_of_rows:both';
"""


@pytest.mark.spark
@pytest.mark.parametrize("asked", ["alike(a.v, b.v) >= 1.5", "both(a.k, b.k)"])
def test_conditions_in_python_are_asked_as_spark_asks_them(
    spark: Any, stream: tuple[str, list[Row]], tmp_path: Path, asked: str
) -> None:
    """NULL is no, and NaN is more than any number."""
    (tmp_path / "likeness_of_rows.py").write_text(ALIKE)
    text = f"""{stream[0]}{FUNCTIONS}
        SELECT a.k AS k, a.v AS v, b.v AS w, a.ts AS ts, b.ts AS other_ts
        FROM s a [RANGE 2 seconds], s b [RANGE 3 seconds] WHERE {asked}"""
    options = {"until_done": True, "module_path": str(tmp_path)}
    wanted = timed(run_text(f"{text};", **options).rows)
    found = timed(run_text(f"{text} ORDER BY b.ts;", "filter-order", **options).rows)
    assert len(wanted) > 10
    assert same(found, wanted) is None
    assert [r["other_ts"] for r in found] == sorted(r["other_ts"] for r in wanted)
