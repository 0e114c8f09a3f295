"""Runs as processes of their own: killed, interrupted, and without ssql."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from compiled import stream_ddl
from oracle import Aggregate, WindowQuery, evaluate, same
from running import write_rows
from streams import PACKET_COLUMNS, PACKET_TYPES, SECOND, packets
from test_run_faults import sink_rows

from ssql.compiler.pipeline import compile_source
from ssql.compiler.source import Source

ROOT = Path(__file__).parent.parent
MINUTE = 60 * SECOND
COUNTS = WindowQuery(
    range_us=MINUTE,
    slide_us=20 * SECOND,
    keys=("srcIP",),
    aggregates=(Aggregate(name="n", function="count"),),
)
SELECT = (
    "SELECT srcIP, count(*) AS n [RANGE 1 minute, SLIDE 20 seconds] FROM packets GROUP BY srcIP;"
)
pytestmark = pytest.mark.spark


def packets_ddl(directory: Path) -> str:
    options = f"connector = 'file', format = 'json', path = '{directory}', maxFilesPerTrigger = 1"
    return stream_ddl("packets", PACKET_TYPES, "5 SECONDS", options)


def start(file: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ssql", "run", str(file), "--master", "local[2]", *options]
    return subprocess.Popen(
        [*command, "--conf", "spark.driver.memory=1g"],
        env={**os.environ, "PYTHONPATH": str(ROOT / ".dev")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def await_(what: str, condition: Callable[[], bool], run: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.01)


def numbers(directory: Path) -> set[int]:
    return {int(f.name) for f in directory.glob("[0-9]*") if f.name.isdecimal()}


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C: a clean end with a summary, and a checkpoint that goes on."""
    data, checkpoint, file = tmp_path / "in", tmp_path / "checkpoint", tmp_path / "job.ssql"
    data.mkdir()
    rows = packets(22, 60, minutes=3)
    write_rows(data / "0.json", rows[:30], 0)
    file.write_text(packets_ddl(data) + SELECT)
    run = start(file, "--checkpoint", str(checkpoint), "--format", "jsonl")
    commits = checkpoint / "query_1" / "commits"
    await_("the first batch", lambda: bool(numbers(commits)), run)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    assert "30 rows in" in err and "Traceback" not in err
    write_rows(data / "1.json", rows[30:], 1)
    run = start(
        file, "--checkpoint", str(checkpoint), "--format", "jsonl", "--until-done", "--flush"
    )
    more, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    from running import _row

    found = [_row(line) for line in (out + more).splitlines()]
    assert same(found, evaluate(COUNTS, rows, PACKET_COLUMNS)) is None


def test_spark_is_killed(tmp_path: Path) -> None:
    """Not ssql, but the JVM under it."""
    data, checkpoint, file = tmp_path / "in", tmp_path / "checkpoint", tmp_path / "job.ssql"
    data.mkdir()
    write_rows(data / "0.json", packets(24, 30, minutes=3))
    file.write_text(packets_ddl(data) + SELECT)
    run = start(file, "--checkpoint", str(checkpoint), "--format", "jsonl")
    await_("the first batch", lambda: bool(numbers(checkpoint / "query_1" / "commits")), run)
    (_, _), (jvm, _) = json.loads((checkpoint / "ssql.lock").read_text())
    os.kill(jvm, signal.SIGKILL)
    _, err = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "the process of Spark has ended" in err and "Traceback" not in err


def test_a_reader_who_has_seen_enough(tmp_path: Path) -> None:
    file = tmp_path / "job.ssql"
    file.write_text(
        "CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts)"
        " WITH (connector = 'datagen', rows = 5000);SELECT k FROM s;"
    )
    command = f"'{sys.executable}' -m ssql run '{file}' --until-done --format jsonl | head -n 1"
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".dev")}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr and "error" not in done.stderr


@pytest.mark.parametrize("plan", ["wid", "paned"])
def test_emitted_code_without_ssql(tmp_path: Path, plan: str) -> None:
    """Q1-1 as plain PySpark, by spark-submit, with an interpreter that has no ssql."""
    import pyspark

    data, out = tmp_path / "in", tmp_path / "out"
    data.mkdir()
    rows = packets(23, 120, minutes=15)
    rows.append({**rows[0], "srcIP": "the end", "ts": max(r["ts"] for r in rows) + 60 * MINUTE})
    write_rows(data / "0.json", rows)
    sink = f"CREATE SINK out WITH (connector = 'file', format = 'json', path = '{out}');"
    query = "SELECT srcIP, count(*) AS n [RANGE 10 minutes, SLIDE 1 minute, WA ts] FROM packets GROUP BY srcIP;"
    code, _ = compile_source(
        Source("q.ssql", f"{packets_ddl(data)}{sink}INSERT INTO out {query}"), plan
    )
    assert code is not None and f"plan {plan}" in code
    job = tmp_path / "job.py"
    # A job that ends: what is there, and no more.
    job.write_text(code.replace(".start()", ".trigger(availableNow=True).start()"))
    bare = tmp_path / "venv"
    venv.create(bare)
    python = bare / "bin" / "python"
    site = next((bare / "lib").glob("python*/site-packages"))
    packages = Path(pyspark.__file__).parent.parent
    for name in ("pyspark", "py4j"):
        (site / name).symlink_to(packages / name)
    alone = subprocess.run([python, "-c", "import ssql"], capture_output=True, cwd=tmp_path)
    assert alone.returncode != 0
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    env |= {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    options = [
        "--master",
        "local[2]",
        "--conf",
        "spark.ui.enabled=false",
        "--conf",
        "spark.sql.shuffle.partitions=2",
    ]
    done = subprocess.run(
        [str(submit), *options, str(job)], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr[-2000:]
    closed = max(r["ts"] for r in rows) - 5 * SECOND
    query_ = WindowQuery(
        range_us=10 * MINUTE,
        slide_us=MINUTE,
        keys=("srcIP",),
        aggregates=(Aggregate(name="n", function="count"),),
    )
    expected = [r for r in evaluate(query_, rows, PACKET_COLUMNS) if r["window_end"] <= closed]
    assert same(sink_rows(out), expected) is None


@pytest.mark.parametrize(
    "option", [("--master", "nonsense"), ("--conf", "spark.driver.memory=much")]
)
def test_settings_that_cannot_be(tmp_path: Path, option: tuple[str, str]) -> None:
    file = tmp_path / "job.ssql"
    file.write_text(
        "CREATE TABLE t (k STRING) WITH (connector = 'datagen', rows = 5); SELECT k FROM t;"
    )
    command = [sys.executable, "-m", "ssql", "run", str(file), *option]
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".dev")}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 1, done.stderr
    assert "error[E0801]" in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""
