"""The code we emit: it is tidy, it imports, and on Spark it gives the right rows."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cases import CASES, all_cases, case_id
from compiled import collected, frame_of
from oracle import Aggregate, WindowQuery, evaluate, evaluate_instants, same
from streams import SECOND
from streams import packets as packets_of

from ssql.compiler.dialect import Expression
from ssql.compiler.pipeline import compile_source
from ssql.compiler.source import Source
from ssql.planner.scalar import to_sql

GOLDEN = [c.with_suffix(".py") for c in all_cases() if c.with_suffix(".py").exists()]
NOON = datetime(2026, 1, 1, 12, 0, 0)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"golden_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("tool", [("format", "--check"), ("check", "--select", "E4,E7,E9,F,I,W")])
def test_goldens_are_tidy(tool: tuple[str, ...]) -> None:
    command, *options = tool
    ruff = [sys.executable, "-m", "ruff", command, "--isolated", *options]
    run = subprocess.run([*ruff, *map(str, GOLDEN)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("golden", GOLDEN, ids=case_id)
def test_goldens_stand_alone(golden: Path) -> None:
    """But for operators, which test_standalone.py has inlined."""
    lines = golden.read_text().splitlines()
    text = "\n".join(n for n in lines if not n.startswith("from ssql.runtime.operators."))
    assert "ssql" not in text.replace("Compiled by ssql", "").replace(".ssql", "")


# ------------------------------------------------------------------ on Spark

PACKETS = [
    # srcIP, destIP, destPort, len, seconds after noon
    ("10.0.0.1", "a", 80, 100, 3),
    ("10.0.0.2", "b", 443, 250, 11),
    ("10.0.0.1", "b", 80, 900, 14),
    ("10.0.0.1", "a", 22, 40, 59),
    ("10.0.0.2", "a", 80, 60, 60),
    ("10.0.0.3", "c", 443, 77, 61),
    ("10.0.0.1", "c", 80, 1500, 100),
    ("10.0.0.2", "b", 443, None, 130),
    ("10.0.0.1", "b", 80, 15, 131),
    (None, "b", 80, 33, 190),
]


def at(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in frame.collect()), key=repr)


@pytest.fixture
def packets(spark: Any) -> Any:
    data = [(s, d, p, n, at(t)) for s, d, p, n, t in PACKETS]
    return spark.createDataFrame(
        data, "srcIP STRING, destIP STRING, destPort INT, len INT, ts TIMESTAMP"
    )


def by_window(size: int, offset: int = 0) -> dict[int, list[tuple[Any, ...]]]:
    """The packets by the start of the tumbling window that they are in, in seconds after noon."""
    windows = defaultdict(list)
    for row in PACKETS:
        windows[(row[4] - offset) // size * size + offset].append(row)
    return windows


@pytest.mark.spark
def test_tumbling_windows(packets: Any) -> None:
    module = load(CASES / "compile" / "tumbling.py")

    counts: dict[tuple[int, Any], int] = defaultdict(int)
    for start, members in by_window(60).items():
        for row in members:
            counts[start, row[0]] += 1
    expected = [(at(s), at(s + 60), ip, n) for (s, ip), n in counts.items()]
    assert rows(module.query_1(packets)) == sorted(expected, key=repr)

    expected = []
    # 2026-01-01 12:00:00 is a multiple of 90 s since the epoch, and the origin is 10 s later.
    for start, members in by_window(90, offset=10).items():
        web = [r for r in members if r[2] in (80, 443) and (r[3] or 0) > 40]
        if web:
            sources = {r[0] for r in web}
            expected.append((at(start), at(start + 90), sum(r[3] for r in web), len(sources)))
    assert rows(module.query_2(packets)) == sorted(expected, key=repr)

    expected = []
    for start, members in by_window(10).items():
        for ip in {r[0] for r in members}:
            group = [r for r in members if r[0] == ip]
            lengths = [r[3] for r in group if r[3] is not None]
            mean = sum(lengths) / len(group) if lengths else None
            top = max((r[3] for r in group if r[2] == 80 and r[3] is not None), default=None)
            if mean is not None and mean > 100 and len(group) > 1:
                expected.append((at(start + 10), ip, mean, top))
    assert rows(module.query_3(packets)) == sorted(expected, key=repr)

    named = {r["window"] for r in module.query_4(packets).collect()}
    assert named == {"a", "b", "c"}


SLIDING = {
    "srcIP": "STRING",
    "destIP": "STRING",
    "destPort": "INT",
    "len": "INT",
    "ts": "TIMESTAMP",
}
MINUTE = 60 * SECOND


def counts(range_us: int, slide_us: int, *keys: str, origin_us: int = 0) -> WindowQuery:
    counted = (Aggregate(name="n", function="count"),)
    return WindowQuery(
        range_us=range_us, slide_us=slide_us, origin_us=origin_us, keys=keys, aggregates=counted
    )


@pytest.mark.spark
def test_sliding_windows(spark: Any) -> None:
    module = load(CASES / "compile" / "sliding.py")
    data = packets_of(41, 150, minutes=4)
    frame = frame_of(spark, data, SLIDING)
    expected = evaluate(counts(10 * MINUTE, MINUTE, "srcIP"), data, tuple(SLIDING))
    for query in (module.query_1, module.query_2):
        found = collected(query(frame).withColumnRenamed("count(*)", "n"))
        assert same(found, expected) is None
    hours = WindowQuery(
        range_us=60 * MINUTE,
        slide_us=MINUTE,
        keys=("srcIP",),
        aggregates=(
            Aggregate(name="minute", function="sum", column="len", range_us=MINUTE),
            Aggregate(name="hour", function="sum", column="len"),
        ),
    )
    assert same(collected(module.query_4(frame)), evaluate(hours, data, tuple(SLIDING))) is None
    gaps = counts(20 * SECOND, MINUTE, origin_us=7 * SECOND)
    assert same(collected(module.query_5(frame)), evaluate(gaps, data, tuple(SLIDING))) is None
    gaps = counts(40 * SECOND, MINUTE)
    assert same(collected(module.query_6(frame)), evaluate(gaps, data, tuple(SLIDING))) is None


@pytest.mark.spark
def test_windows_over_windows(spark: Any) -> None:
    module = load(CASES / "compile" / "nested.py")
    data = packets_of(42, 200, minutes=90)
    frame = frame_of(spark, data, {"srcIP": "STRING", "len": "INT", "ts": "TIMESTAMP"})
    inner = evaluate(counts(MINUTE, MINUTE, "srcIP"), data, tuple(SLIDING))

    def outer(range_us: int, slide_us: int, time: str, name: str, *keys: str) -> WindowQuery:
        top = (Aggregate(name=name, function="max", column="n"),)
        return WindowQuery(
            range_us=range_us, slide_us=slide_us, time=time, keys=keys, aggregates=top
        )

    hourly = outer(60 * MINUTE, 20 * MINUTE, "window_end", "max(n)")
    assert same(collected(module.query_1(frame)), evaluate(hourly, inner, ("n",))) is None
    busiest = outer(60 * MINUTE, 60 * MINUTE, "window_start", "busiest", "srcIP")
    busy = [r for r in inner if r["n"] > 2]
    assert same(collected(module.query_2(frame)), evaluate(busiest, busy, ("n",))) is None
    total = (Aggregate(name="n", function="sum", column="n"),)
    expected = evaluate_instants((), "window_end", total, inner, ("n",))
    assert same(collected(module.query_3(frame)), expected) is None


@pytest.mark.spark
def test_projection(spark: Any) -> None:
    module = load(CASES / "compile" / "projection.py")
    schema = (
        "srcIP STRING, destIP STRING, len INT, tags ARRAY<STRING>, `odd name` STRING, ts TIMESTAMP"
    )
    data = [
        ("10.1.1.1", "x", 200, ["a", "b"], "odd", NOON),
        ("10.1.1.2", "it's", 200, ["a"], "odd", NOON),
        ("10.1.1.3", None, 200, ["a"], "odd", NOON),
        ("11.1.1.1", "x", 200, [], "odd", NOON),
        ("10.1.1.4", "x", 1501, ["c"], None, NOON),
    ]
    packets = spark.createDataFrame(data, schema)
    assert module.query_1(packets).columns == packets.columns
    selected = module.query_2(packets)
    assert selected.columns == ["srcIP", "bits", "first_tag", "odd name"]
    assert rows(selected) == [("10.1.1.1", 1600, "a", "odd")]
    sizes = {r[0]: r[1] for r in module.query_3(packets).collect()}
    assert sizes["10.1.1.4"] == "large" and sizes["10.1.1.1"] == "small"
    assert sorted(r.tag for r in module.query_4(packets).collect()) == ["a", "a", "a", "b", "c"]


@pytest.mark.spark
def test_lookups_and_unions(spark: Any) -> None:
    module = load(CASES / "compile" / "lookup.py")
    schema = "srcIP STRING, len INT, ts TIMESTAMP"
    a = spark.createDataFrame([("1", 50, at(0)), ("2", 150, at(1))], schema)
    b = spark.createDataFrame([("1", 5, at(2)), ("3", 500, at(70))], schema)
    hosts = spark.createDataFrame([("1", "one"), ("3", "three")], "ip STRING, host_id STRING")
    assert rows(module.query_1(a, hosts)) == [("1", "one"), ("2", None)]
    assert rows(module.query_2(a, b, hosts)) == [("one", 50), ("three", 500)]
    assert rows(module.query_3(a, hosts)) == [(at(0), at(60), "one", 1)]
    assert rows(module.query_4(a, b)) == [("1", 50), ("3", 500)]


@pytest.mark.spark
def test_stored_tables(spark: Any) -> None:
    module = load(CASES / "compile" / "stored.py")
    table = spark.createDataFrame(
        [
            (1, NOON, "1", "2", 10),
            (2, NOON, "1", "2", 20),
            (3, NOON, "2", "1", 5),
            (4, NOON, "9", "1", 1),
        ],
        "pid BIGINT, t_s TIMESTAMP, from_ip STRING, to_ip STRING, bytes INT",
    )
    hosts = spark.createDataFrame([("1", "one"), ("2", "two")], "ip STRING, host_id STRING")
    assert rows(module.query_1(table, hosts)) == [("one", "two", 30), ("two", "one", 5)]
    assert [tuple(r) for r in module.totals(table).collect()] == [("1", 30), ("2", 5), ("9", 1)]
    assert [r[0] for r in module.query_3(table).collect()] == ["1", "2", "9"]
    assert rows(module.query_4(spark)) == [(2,)]


@pytest.mark.spark
def test_as_a_stream(spark: Any, tmp_path: Path) -> None:
    """The reader, the watermark and the query as they run: rows without a time are left out, and
    exactly the windows that the watermark has passed are there."""
    names = ("srcIP", "destIP", "destPort", "len")
    records = [{**dict(zip(names, p, strict=False)), "ts": at(p[4]).isoformat()} for p in PACKETS]
    records.append({"srcIP": "10.0.0.9", "len": 1, "ts": None})
    (tmp_path / "packets.json").write_text("\n".join(json.dumps(r) for r in records))
    case = CASES / "compile" / "tumbling.ssql"
    text = case.read_text().replace("data/packets", str(tmp_path))
    emitted, _ = compile_source(Source(case.name, text))
    assert emitted is not None
    job = tmp_path / "job.py"
    job.write_text(emitted)
    module = load(job)
    packets = module.accept_packets(module.read_packets(spark))
    counts = module.query_1(packets).writeStream.format("memory")
    query = counts.queryName("counts").trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    found = {(r.window_start, r.srcIP): r["count(*)"] for r in spark.table("counts").collect()}
    # The last packet is at 190 s, the disorder is 5 s: windows up to 180 s have closed.
    expected: dict[tuple[datetime, Any], int] = defaultdict(int)
    for start, members in by_window(60).items():
        for row in members:
            if start + 60 <= 185:
                expected[at(start), row[0]] += 1
    assert found == expected


EXPRESSIONS = (Path(__file__).parent / "expressions.txt").read_text().splitlines()


@pytest.mark.spark
def test_expressions_mean_what_was_written(spark: Any) -> None:
    """Each expression as it was written, and as it is emitted: Spark gives the same value."""
    one = spark.range(1)
    rendered = [to_sql(Expression(text, 0).tree) for text in EXPRESSIONS]
    written = one.selectExpr(*(f"{t} AS c{i}" for i, t in enumerate(EXPRESSIONS))).collect()[0]
    emitted = one.selectExpr(*(f"{t} AS c{i}" for i, t in enumerate(rendered))).collect()[0]
    differing = [
        (text, again, a, b)
        for text, again, a, b in zip(EXPRESSIONS, rendered, written, emitted, strict=True)
        if a != b
    ]
    assert differing == []
