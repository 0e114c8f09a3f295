"""Joins of streams: whatever the batches, the skew between streams and the restarts, the results are
those of the definition, once each, and nothing is kept for longer than the windows ask."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compiled import stream_ddl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from join_oracle import JoinQuery, On, Side, above, below, equal
from oracle import Aggregate, Row, WindowQuery, evaluate, instant, same
from running import run_text, write_rows
from streams import MS, PACKET_TYPES, SECOND, START, arrivals, packets

DELAY_US = 5 * SECOND
MINUTE = 60 * SECOND
TYPES = {"k": "STRING", "v": "INT", "ts": "TIMESTAMP"}
STREAMS = ("s", "t", "u")
ALIASES = ("a", "b", "c")


def files_ddl(name: str, directory: Path, types: dict[str, str] = TYPES) -> str:
    options = f"connector = 'file', format = 'json', path = '{directory}', maxFilesPerTrigger = 1"
    return stream_ddl(name, types, "5 SECONDS", options)


# ------------------------------------------------------------------ random joins

_lengths = st.sampled_from([1, 999, MS, 1_500, SECOND, 4 * SECOND, 10 * SECOND])
_rows = st.lists(
    st.builds(
        lambda k, v, ts: {"k": k, "v": v, "ts": ts},
        st.sampled_from(["x", "x", "y", None]),
        st.integers(0, 3) | st.none(),
        # Times that are just so far apart as windows are long, and microseconds beside that.
        st.builds(
            lambda base, length, off: START + base * SECOND + length + off,
            st.integers(0, 6),
            st.just(0) | _lengths,
            st.sampled_from([0, 0, 0, -1, 1, 500]),
        ),
    ),
    max_size=9,
)


@st.composite
def join_queries(draw: st.DrawFn) -> JoinQuery:
    number = draw(st.sampled_from([2, 2, 3]))
    tumbling = draw(st.none() | st.sampled_from([SECOND, 4 * SECOND, 2_500 * MS]))
    sides = [Side("s", "a", range_us=draw(_lengths))]
    for at in range(1, number):
        kind = draw(st.sampled_from([",", ",", "INNER", "LEFT", "RIGHT", "FULL"]))
        on = draw(_conditions(at, is_theta_allowed=kind not in ("RIGHT", "FULL") or bool(tumbling)))
        stream = draw(st.sampled_from(STREAMS[: at + 1]))  # a join with itself, sometimes
        sides.append(Side(stream, ALIASES[at], kind, on, draw(_lengths)))
    origin = draw(st.sampled_from([0, 0, instant("2026-01-01 00:00:00.7")])) if tumbling else 0
    return JoinQuery(tuple(_kinds(sides)), ("k", "v", "ts"), tumbling, origin)


def _kinds(sides: list[Side]) -> list[Side]:
    """Commas and RIGHT or FULL JOIN are not mixed: what joins what is easily misread."""
    if all(s.kind == "," for s in sides[1:]):
        return sides
    return [
        Side(s.stream, s.alias, "INNER" if at and s.kind == "," else s.kind, s.on, s.range_us)
        for at, s in enumerate(sides)
    ]


@st.composite
def _conditions(draw: st.DrawFn, at: int, *, is_theta_allowed: bool) -> tuple[On, ...]:
    b, other = ALIASES[at], draw(st.integers(0, at - 1))
    conditions = []
    if not is_theta_allowed or draw(st.sampled_from([True, True, True, False])):
        conditions.append(equal(ALIASES[other], b, "k", "k", other))
    if draw(st.booleans()):
        conditions.append(below(ALIASES[other], b, "v", other))
    if draw(st.sampled_from([True, False, False])):
        conditions.append(above(b, "v", 0))
    return tuple(conditions)


def run_with_a_restart(
    query: JoinQuery, batches: dict[str, list[list[Row]]], restart: int, plan: str | None = None
) -> list[Row]:
    """What a query gives for streams that come in batches; all but the first of them after a
    restart. Nothing is late, and nothing is left behind."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as directory:
        for name in batches:
            (Path(directory) / name).mkdir()
        text = "".join(files_ddl(n, Path(directory) / n) for n in batches) + query.sql() + ";"
        for is_first in (True, False):
            for name, of_stream in batches.items():
                for at, batch in enumerate(of_stream):
                    if (at < restart) == is_first:
                        write_rows(Path(directory) / name / f"{at}.json", batch, at)
            ran = run_text(
                text,
                plan,
                until_done=True,
                checkpoint=f"{directory}/checkpoint",
                flush=not is_first,
            )
            found += timed(ran.rows)
            assert ran.summaries[0].late == 0
        assert ran.summaries[0].state_rows == 0
    return found


@pytest.mark.spark
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_joins_give_what_the_definition_says(spark: Any, data: st.DataObject) -> None:
    """Random joins over random streams, each in batches of its own, with a restart in the middle."""
    query = data.draw(join_queries())
    names = sorted({s.stream for s in query.sides})
    rows = {name: data.draw(_rows, label=name) for name in names}
    batches = {name: data.draw(arrivals(rows[name], DELAY_US)) for name in names}
    restart = data.draw(st.integers(0, max(map(len, batches.values()))))
    found = run_with_a_restart(query, batches, restart)
    assert same(found, query.evaluate(rows)) is None, (query.sql(), batches, restart)


def timed(rows: list[Row]) -> list[Row]:
    """Times in microseconds, whatever their columns are called."""
    return [
        {
            k: instant(v.rstrip("Z").replace("T", " "))
            if re.search(r"(^|_)ts(_\d)?$", k) and isinstance(v, str)
            else v
            for k, v in row.items()
        }
        for row in rows
    ]


# ------------------------------------------------------------------ state


@pytest.mark.spark
@pytest.mark.parametrize(
    ("join", "kept"),
    [
        # At a watermark of 100 s: rows of s are kept for their RANGE, those of t for theirs.
        ("s a [RANGE 10 seconds], t b [RANGE 40 seconds] WHERE a.k = b.k", 10 + 40),
        ("s a [RANGE 10 seconds], t b [RANGE 40 seconds] WHERE a.v < b.v", None),
        ("s a, t b [RANGE TUMBLING 20 seconds] WHERE a.k = b.k", 20 + 20),
        ("s a, t b WHERE a.ts = b.ts AND a.k = b.k", 0),
    ],
)
def test_state_is_as_long_as_the_windows(
    spark: Any, tmp_path: Path, join: str, kept: int | None
) -> None:
    """A row a second on both sides, of which none matches."""
    ddl = ""
    for name in ("s", "t"):
        (tmp_path / name).mkdir()
        rows = [{"k": f"{name}{at}", "v": 0, "ts": START + at * SECOND} for at in range(106)]
        write_rows(tmp_path / name / "0.json", rows[:50], 0)
        write_rows(tmp_path / name / "1.json", rows[50:], 1)
        ddl += files_ddl(name, tmp_path / name)
    ran = run_text(
        f"{ddl}SELECT a.k, b.k FROM {join};",
        until_done=True,
        checkpoint=str(tmp_path / "checkpoint"),
        flush=False,
    )
    # The watermark is 5 s (and a millisecond) behind the last row, which is at 105 s.
    beyond = 2 * 6
    if kept is None:
        assert 50 + beyond <= ran.summaries[0].state_rows <= 3 * (50 + beyond)
    else:
        assert ran.summaries[0].state_rows == kept + beyond


# ------------------------------------------------------------------ the papers' queries

FLAGGED = {**PACKET_TYPES, "flags": "STRING"}
PAIRS = (("srcIP", "destIP"), ("destIP", "srcIP"), ("srcPort", "destPort"), ("destPort", "srcPort"))


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[Row]]]:
    """Streams of packets that answer each other, out of order; M2 and B lag by a minute."""
    ddl, rows = "", {}
    for seed, name in enumerate(("Main1", "Main2", "S0", "S1", "M1", "M2", "A", "B", "C", "D")):
        directory = tmp_path_factory.mktemp(name)
        late_us = MINUTE if name in ("M2", "B") else 0
        made = packets(seed, 150, minutes=4, hosts=4, start_us=START + late_us)
        for at, row in enumerate(made):
            row["srcPort"] = row["srcPort"] % 2 + 80
            row["destPort"] = row["destPort"] % 2 + 80
            row["flags"] = ("SYN", "SYN_ACK")[at % 2]
        rows[name] = made
        for at in range(3):
            write_rows(directory / f"{at}.json", made[at * 50 : (at + 1) * 50], at)
        ddl += files_ddl(name, directory, FLAGGED)
    return ddl, rows


def matching(one: Row, other: Row, pairs: tuple[tuple[str, str], ...] = PAIRS) -> bool:
    return all(one[a] == other[b] for a, b in pairs)


def joined(
    left: list[Row], right: list[Row], meets: Callable[[Row, Row], bool]
) -> list[tuple[Row, Row]]:
    return [(a, b) for a in left for b in right if meets(a, b)]


def sliding(a_us: int, b_us: int) -> Callable[[Row, Row], bool]:
    return lambda a, b: -b_us < b["ts"] - a["ts"] < a_us


def tumbling(size_us: int) -> Callable[[Row, Row], bool]:
    return lambda a, b: bool(a["ts"] // size_us == b["ts"] // size_us)


def meets(window: Callable[[Row, Row], bool], *pairs: tuple[str, str]) -> Any:
    return lambda a, b: window(a, b) and matching(a, b, pairs)


def shown(a: Row, b: Row, columns: tuple[str, ...]) -> Row:
    """`1.srcIP` is that of the second side; a later column of one name has a number."""
    row: Row = {}
    for column in columns:
        side, name = (b, column[2:]) if column.startswith("1.") else (a, column)
        key, number = name, 0
        while key in row:
            number += 1
            key = f"{name}_{number}"
        row[key] = side[name]
    return row


SRC_DEST = ("srcIP", "destIP")
FIVE = ("srcIP", "destIP", "1.srcIP", "1.destIP", "1.ts")
FOUR_PAIRS = " and ".join(f"M1.{a} = {{0}}.{b}" for a, b in PAIRS)
JOINS: dict[str, tuple[str, list[str], list[str], Any, tuple[str, ...]]] = {
    "Q3-1": (
        "SELECT * FROM Main1 [WA ts, RANGE 3 min], Main2 [WA ts, RANGE 2 min]"
        " WHERE Main1.srcIP = Main2.destIP",
        ["Main1"],
        ["Main2"],
        meets(sliding(3 * MINUTE, 2 * MINUTE), SRC_DEST),
        (*FLAGGED, *(f"1.{c}" for c in FLAGGED)),
    ),
    "Q5-7": (
        "SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts FROM Main1, Main2"
        " [RANGE TUMBLING 5 minutes, WA ts] WHERE Main1.srcIP = Main2.destIP",
        ["Main1"],
        ["Main2"],
        meets(tumbling(5 * MINUTE), SRC_DEST),
        FIVE,
    ),
    "Q5-8": (
        "SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts FROM Main1"
        " [RANGE 3 minutes, WA ts], Main2 [RANGE 2 minutes, WA ts] WHERE Main1.srcIP = Main2.destIP",
        ["Main1"],
        ["Main2"],
        meets(sliding(3 * MINUTE, 2 * MINUTE), SRC_DEST),
        FIVE,
    ),
    "Q8-3": (
        "SELECT M1.srcIP, M1.destIP, M1.ts FROM A UNION B as M1, C UNION D as M2"
        f" [RANGE TUMBLING 10 seconds, WA ts] WHERE {FOUR_PAIRS.format('M2')}",
        ["A", "B"],
        ["C", "D"],
        meets(tumbling(10 * SECOND), *PAIRS),
        ("srcIP", "destIP", "ts"),
    ),
    "Q8-4": (
        "SELECT M1.srcIP, M1.destIP, M1.ts FROM M1, M2 Union C as M3"
        f" [RANGE TUMBLING 1 minute, WA ts] WHERE {FOUR_PAIRS.format('M3')}",
        ["M1"],
        ["M2", "C"],
        meets(tumbling(MINUTE), *PAIRS),
        ("srcIP", "destIP", "ts"),
    ),
}


@pytest.mark.spark
@pytest.mark.parametrize("name", JOINS)
def test_query(spark: Any, traffic: tuple[str, dict[str, list[Row]]], name: str) -> None:
    ddl, rows = traffic
    text, left, right, condition, columns = JOINS[name]
    ran = run_text(f"{ddl}{text};", until_done=True)
    pairs = joined(
        [r for s in left for r in rows[s]], [r for s in right for r in rows[s]], condition
    )
    assert len(pairs) > 20
    assert same(timed(ran.rows), [shown(a, b, columns) for a, b in pairs]) is None
    assert ran.summaries[0].late == 0


@pytest.mark.spark
def test_groups_of_a_join(spark: Any, traffic: tuple[str, dict[str, list[Row]]]) -> None:
    """Q7-1: an ordinary GROUP BY on the times of both sides."""
    ddl, rows = traffic
    ran = run_text(
        f"""{ddl}
        SELECT S0.ts AS ts, S1.ts AS later_ts, count(*) AS n
        FROM S0 [RANGE 2 minutes, WA ts], S1 [RANGE 2 minutes, WA ts]
        WHERE S0.srcIP = S1.destIP AND S0.destIP = S1.srcIP
          AND S0.flags = 'SYN' AND S1.flags = 'SYN_ACK'
        GROUP BY S0.ts, S1.ts;""",
        until_done=True,
    )
    pairs = joined(
        [r for r in rows["S0"] if r["flags"] == "SYN"],
        [r for r in rows["S1"] if r["flags"] == "SYN_ACK"],
        meets(sliding(2 * MINUTE, 2 * MINUTE), SRC_DEST, ("destIP", "srcIP")),
    )
    counts: dict[tuple[int, int], int] = {}
    for a, b in pairs:
        counts[a["ts"], b["ts"]] = counts.get((a["ts"], b["ts"]), 0) + 1
    expected = [{"ts": a, "later_ts": b, "n": n} for (a, b), n in counts.items()]
    assert len(expected) > 20
    assert same(timed(ran.rows), expected) is None
    assert ran.summaries[0].late == 0


REPLIES = f"""M1 [RANGE 9 seconds, WA ts], M2 [RANGE 9 seconds, WA ts]
        WHERE {FOUR_PAIRS.format("M2")}"""


def replies(rows: dict[str, list[Row]], time: str) -> list[Row]:
    """What that join gives, in order of its times, at the time of one of its sides, or at the
    latest of both."""
    pairs = joined(rows["M1"], rows["M2"], meets(sliding(9 * SECOND, 9 * SECOND), *PAIRS))
    assert len(pairs) > 3
    pairs.sort(key=lambda p: (max(p[0]["ts"], p[1]["ts"]), p[0]["ts"], p[1]["ts"]))
    times = {"M1": lambda a, b: a, "M2": lambda a, b: b, "latest": max}
    return [{**a, "ts": times[time](a["ts"], b["ts"])} for a, b in pairs]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("plan", "time"),
    [
        ("wid", "M1"),
        ("paned", "M2"),
        ("rolling", "M1"),
        ("adaptwid", "M2"),
        ("wid", "latest"),
        ("adaptwid", "latest"),
    ],
)
def test_windows_over_a_join(
    spark: Any, traffic: tuple[str, dict[str, list[Row]]], plan: str, time: str
) -> None:
    """Q7-2, on either side's time or, where none is named, on the result's."""
    ddl, rows = traffic
    by = "" if time == "latest" else f", WA {time}.ts"
    text = f"SELECT count(*) [RANGE 1 minute, SLIDE 1 minute{by}] FROM {REPLIES};"
    ran = run_text(ddl + text, plan, until_done=True)
    counts = WindowQuery(
        range_us=MINUTE,
        slide_us=MINUTE,
        aggregates=(Aggregate(name="count(*)", function="count"),),
    )
    assert same(ran.rows, evaluate(counts, replies(rows, time), tuple(FLAGGED))) is None
    assert ran.summaries[0].late == 0


@pytest.mark.spark
def test_windows_over_a_sub_query_with_a_join(
    spark: Any, traffic: tuple[str, dict[str, list[Row]]]
) -> None:
    """Times have other names there."""
    ddl, rows = traffic
    ran = run_text(
        f"""{ddl}
        SELECT who, count(*) AS n [RANGE 1 minute, WA at]
        FROM (SELECT M1.srcIP AS who, M2.ts AS at, M1.ts AS before FROM {REPLIES}) q
        WHERE who <> '10.0.0.1' GROUP BY who;""",
        until_done=True,
    )
    counts = WindowQuery(
        range_us=MINUTE,
        slide_us=MINUTE,
        keys=("who",),
        aggregates=(Aggregate(name="n", function="count"),),
    )
    found = [{"who": r["srcIP"], "ts": r["ts"]} for r in replies(rows, "M2")]
    kept = [r for r in found if r["who"] != "10.0.0.1"]
    assert same(ran.rows, evaluate(counts, kept, ("who", "ts"))) is None


@pytest.mark.spark
def test_rows_of_a_join_are_numbered(spark: Any, traffic: tuple[str, dict[str, list[Row]]]) -> None:
    """In the order of the results' times; those that tie, by the times of their sides."""
    ddl, rows = traffic
    ran = run_text(
        f"{ddl}SELECT count(*) AS n, max(M1.len) AS top [RANGE 3 rows, SLIDE 1 row, WA row-num]"
        f" FROM {REPLIES};",
        until_done=True,
    )
    lens = [r["len"] for r in replies(rows, "latest")]
    expected = []
    for w in range(len(lens) + 2):  # the last windows run out
        inside = lens[max(0, w - 2) : w + 1]
        expected.append(
            {"window_start": w - 2, "window_end": w + 1, "n": len(inside), "top": max(inside)}
        )
    assert same(ran.rows, expected) is None


@pytest.mark.spark
def test_a_join_of_windows(spark: Any, traffic: tuple[str, dict[str, list[Row]]]) -> None:
    ddl, rows = traffic
    counted = "SELECT srcIP, count(*) AS n [RANGE 1 minute] FROM {} GROUP BY srcIP"
    ran = run_text(
        f"""{ddl}
        SELECT a.srcIP, a.n AS before, b.n AS after, b.window_end AS ts
        FROM ({counted.format("M1")}) a [RANGE 90 seconds, WA window_end],
             ({counted.format("M2")}) b [RANGE 1 second, WA window_end]
        WHERE a.srcIP = b.srcIP AND a.window_end < b.window_end;""",
        until_done=True,
    )
    counts = WindowQuery(
        range_us=MINUTE,
        slide_us=MINUTE,
        keys=("srcIP",),
        aggregates=(Aggregate(name="n", function="count"),),
    )
    ones, others = (evaluate(counts, rows[s], tuple(FLAGGED)) for s in ("M1", "M2"))
    expected = [
        {"srcIP": a["srcIP"], "before": a["n"], "after": b["n"], "ts": b["window_end"]}
        for a in ones
        for b in others
        if a["srcIP"] == b["srcIP"] and 0 < b["window_end"] - a["window_end"] < 90 * SECOND
    ]
    assert len(expected) > 5
    assert same(ran.rows, expected) is None


@pytest.mark.spark
def test_a_join_of_sub_queries(spark: Any, traffic: tuple[str, dict[str, list[Row]]]) -> None:
    """Which select the times of their streams among other columns, and have no other time."""
    ddl, rows = traffic
    ran = run_text(
        f"""{ddl}
        SELECT b.n AS after, b.ts AS ts
        FROM (SELECT srcIP AS who, ts FROM M1 WHERE len > 40) a [RANGE 1 minute],
             (SELECT destIP, len AS n, ts FROM M2) b [RANGE 2 minutes]
        WHERE a.who = b.destIP;""",
        until_done=True,
    )
    kept = [r for r in rows["M1"] if r["len"] > 40]
    pairs = joined(kept, rows["M2"], meets(sliding(MINUTE, 2 * MINUTE), SRC_DEST))
    assert len(pairs) > 20
    assert same(ran.rows, [{"after": b["len"], "ts": b["ts"]} for _, b in pairs]) is None
