"""What runs and samples see of streams, and what the next choice of a plan makes of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ssql.cli import main
from ssql.planner import remembered

pytestmark = pytest.mark.spark
KEYS, RATE, ROWS = 40, 200, 20_000
QUERY = f"""
CREATE STREAM m (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
WITH (connector = 'datagen', rows = {ROWS}, rate = {RATE}, keys = {KEYS}, skew = 1);
SELECT k, count(*) AS n [RANGE 10 seconds, SLIDE 1 second] FROM m GROUP BY k;
"""


@pytest.fixture
def file(spark: Any, tmp_path: Path) -> Path:
    found = tmp_path / "job.ssql"
    found.write_text(QUERY)
    return found


def report_of(file: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    capsys.readouterr()
    assert main(["explain", str(file), "--format", "json", *options]) == 0
    return json.loads(capsys.readouterr().out)[0]


def origins(report: Any) -> dict[str, str]:
    return {s["name"]: s["origin"] for s in report["windows"][0]["statistics"]}


def test_a_run_informs_the_next_choice(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = report_of(file, capsys)
    assert origins(before)["rate"] == origins(before)["groups"] == "assumed"
    assert main(["run", str(file), "--until-done", "--format", "jsonl"]) == 0
    memory = remembered.load(str(file))
    seen, run = memory.learned["m"], memory.runs["query_1"]
    assert seen.rate is not None and math.isclose(seen.rate, RATE, rel_tol=0.01)
    assert math.isclose(seen.distinct["k"], KEYS, rel_tol=0.1)
    assert seen.rows == run.rows == ROWS
    assert run.plan == before["plan"] and run.batches > 0 and run.state_rows > 0
    after = report_of(file, capsys)
    assert origins(after)["rate"] == origins(after)["groups"] == "learned"
    figures = {s["name"]: s["value"] for s in after["windows"][0]["statistics"]}
    assert math.isclose(figures["groups"], KEYS, rel_tol=0.1)
    assert after["windows"][0]["candidates"] != before["windows"][0]["candidates"]


def test_a_sample(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(file), "--rows", "8000"]) == 0
    out, err = capsys.readouterr()
    assert "8,000" in out and ".job.stats.json" in err
    seen = remembered.load(str(file)).sampled["m"]
    assert seen.rows == 8_000
    assert math.isclose(seen.distinct["k"], KEYS, rel_tol=0.1)
    assert seen.disorder_seconds == 0.0
    assert seen.skew is not None and 0.5 < seen.skew < 1.5
    assert origins(report_of(file, capsys))["skew"] == "sampled"


def test_a_stream_that_nobody_can_sample(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rate.ssql"
    file.write_text(
        "CREATE STREAM r (timestamp TIMESTAMP, value BIGINT, WATERMARK FOR timestamp AS timestamp)"
        " WITH (connector = 'rate'); SELECT value FROM r;"
    )
    assert main(["analyze", str(file)]) == 1
    assert "declare what is known of it" in capsys.readouterr().err
    assert not remembered.path_beside(str(file)).exists()


def test_explain_analyze(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sink = file.parent / "out"
    text = QUERY.replace(
        "SELECT",
        f"CREATE SINK o WITH (connector = 'file', format = 'json', path = '{sink}');"
        "EXPLAIN ANALYZE INSERT INTO o SELECT",
    )
    file.write_text(text)
    found = {m["name"]: m for m in report_of(file, capsys)["measured"]}
    assert found["rows in"]["found"] == f"{ROWS:,}"
    assert found["a million rows take"]["expected"] and found["a million rows take"]["found"]
    assert found["groups"]["expected"] == "1,000"
    assert not sink.exists()  # results go nowhere
    assert not remembered.path_beside(str(file)).exists()


def test_a_damaged_memory_is_passed_over(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remembered.path_beside(str(file)).write_text("{")
    assert main(["explain", str(file)]) == 0
    assert ".job.stats.json is passed over" in capsys.readouterr().err


def test_a_checkpoint_goes_on_with_its_plan(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever has been learned since: state is of one plan."""
    checkpoint = str(file.parent / "checkpoint")
    run = ["run", str(file), "--until-done", "--checkpoint", checkpoint, "--format", "jsonl"]
    assert main([*run, "--plan", "adaptwid"]) == 0
    capsys.readouterr()
    assert main(run) == 0, capsys.readouterr().err
    assert remembered.load(str(file)).runs["query_1"].plan == "adaptwid"
    assert main([*run, "--plan", "wid"]) == 2
    assert "the plan was adaptwid, and is wid now" in capsys.readouterr().err
