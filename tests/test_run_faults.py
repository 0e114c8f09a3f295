"""Bad input and bad luck: a clear message or a counted rejection, and nothing lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiled import stream_ddl
from oracle import Aggregate, WindowQuery, evaluate, same
from running import _row, run_text, write_rows
from streams import PACKET_COLUMNS, PACKET_TYPES, SECOND, packets

from ssql.cli import main
from ssql.runtime.failures import Kind, RunFailure

MINUTE = 60 * SECOND
ROWS = packets(3, 120, minutes=3)
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


@pytest.fixture(autouse=True)
def _session(spark: Any) -> None:
    """The command line finds the session of the tests and uses it."""


def packets_ddl(directory: Path, more: str = "") -> str:
    options = f"connector = 'file', format = 'json', path = '{directory}'{more}"
    return stream_ddl("packets", PACKET_TYPES, "5 SECONDS", options)


def ssql(
    capsys: pytest.CaptureFixture[str], file: Path, text: str, *options: str
) -> tuple[int, str, str]:
    file.write_text(text)
    code = main(["run", str(file), "--until-done", "--format", "jsonl", *options])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err and "\tat " not in shown.err
    return code, shown.out, shown.err


def expect_error(shown: str, code: str, *words: str) -> None:
    assert f"error[{code}]" in shown, shown
    assert "= help:" in shown and "^" in shown
    for word in words:
        assert word in shown, shown


def test_rows_that_cannot_be_placed_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "in"
    data.mkdir()
    write_rows(data / "good.json", ROWS)
    bad = [
        "this is not JSON",
        '{"srcIP": "10.0.0.1", "ts": ',
        '{"srcIP": "10.0.0.1"}',
        '{"srcIP": "10.0.0.1", "ts": null}',
        '{"srcIP": "10.0.0.1", "ts": "yesterday"}',
        '{"srcIP": "10.0.0.1", "ts": "9999-12-31T00:00:00Z"}',
        '{"srcIP": "10.0.0.1", "ts": "0001-01-01T00:00:00Z"}',
        '{"srcIP": "10.0.0.1", "ts": 99999999999999}',
        "[]",
    ]
    (data / "bad.json").write_text("\n".join(bad) + "\n")
    (data / "empty.json").write_text("")
    odd = {**ROWS[0], "len": "long", "unknown": [1]}  # no reason to lose the row
    write_rows(data / "odd.json", [odd])
    code, out, err = ssql(capsys, tmp_path / "q.ssql", packets_ddl(data) + SELECT)
    assert code == 0
    found = [_row(line) for line in out.splitlines()]
    assert same(found, evaluate(COUNTS, [*ROWS, ROWS[0]], PACKET_COLUMNS)) is None
    rejected = re.search(r"([\d,]+) rows in, 0 late dropped, (\d+) rejected", err)
    assert rejected is not None, err
    rows_in = int(rejected[1].replace(",", ""))
    assert int(rejected[2]) == rows_in - len(ROWS) - 1
    assert int(rejected[2]) >= len(bad) - 1  # Spark reads [] as no row at all


def test_unreadable_lines_without_a_watermark(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"k": "a"}\nnonsense\n{"k": null, "v": 1}\n')
    ran = run_text(
        f"CREATE STREAM s (k STRING, v INT) WITH (connector = 'file', format = 'json', path = '{tmp_path}');"
        "SELECT * FROM s;",
        until_done=True,
    )
    assert sorted(ran.rows, key=str) == sorted(
        [{"k": "a", "v": None}, {"k": None, "v": 1}], key=str
    )
    assert (ran.summaries[0].rows_in, ran.summaries[0].rejected) == (3, 1)


def test_late_rows_are_counted(tmp_path: Path) -> None:
    early, late = ROWS[0], {**ROWS[0], "ts": ROWS[0]["ts"] - 10 * MINUTE}
    for at, row in enumerate([early, {**early, "ts": early["ts"] + 5 * MINUTE}, late]):
        write_rows(tmp_path / f"{at}.json", [row], at)
    text = packets_ddl(tmp_path, ", maxFilesPerTrigger = 1") + SELECT
    ran = run_text(text, "paned", until_done=True)
    assert ran.summaries[0].late == 1
    assert ran.summaries[0].rows_in == 3


def test_a_directory_that_does_not_exist_yet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ssql(
        capsys, tmp_path / "q.ssql", packets_ddl(tmp_path / "later" / "on") + SELECT
    )
    assert (code, out) == (0, "")
    assert "did not exist" in err


def test_a_file_that_was_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The batch was planned with the file, and the file is gone: it is missed by name, and with the
    file back the run goes on and loses nothing."""
    data, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    data.mkdir()
    write_rows(data / "a.json", ROWS)
    text, options = packets_ddl(data) + SELECT, ("--checkpoint", str(checkpoint))
    assert ssql(capsys, tmp_path / "q.ssql", text, *options)[0] == 0
    # Back to the middle of the first batch: planned, and not done.
    query = checkpoint / "query_1"
    shutil.rmtree(query / "commits")
    shutil.rmtree(query / "state")
    for log in [*(query / "offsets").glob("[1-9]*"), *(query / "offsets").glob(".[1-9]*")]:
        log.unlink()
    (data / "a.json").rename(tmp_path / "a.json")
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text, *options)
    assert code == 1
    expect_error(err, "E0802", "a.json", "removed")
    (tmp_path / "a.json").rename(data / "a.json")
    code, again, err = ssql(capsys, tmp_path / "q.ssql", text, *options, "--flush")
    assert code == 0, err
    found = [_row(line) for line in again.splitlines()]
    assert same(found, evaluate(COUNTS, ROWS, PACKET_COLUMNS)) is None


def test_a_full_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, small = tmp_path / "in", tmp_path / "small"
    data.mkdir()
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(small)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a disk of our own to fill takes root")
    try:
        write_rows(data / "a.json", ROWS)
        filler = small / "filler"
        filler.write_bytes(b"x" * 500_000)
        sink = f"CREATE SINK out WITH (connector = 'file', format = 'json', path = '{small}/out');"
        text = packets_ddl(data) + sink + f"INSERT INTO out {SELECT}"
        options = ("--checkpoint", str(tmp_path / "checkpoint"), "--flush")
        code, _, err = ssql(capsys, tmp_path / "q.ssql", text, *options)
        assert code == 1
        expect_error(err, "E0803", "disk is full")
        filler.unlink()
        code, _, err = ssql(capsys, tmp_path / "q.ssql", text, *options)
        assert code == 0, err
        assert same(sink_rows(small / "out"), evaluate(COUNTS, ROWS, PACKET_COLUMNS)) is None
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def sink_rows(directory: Path) -> list[dict[str, Any]]:
    """What any reader finds: all files, whatever Spark's manifest says."""
    rows = []
    for file in directory.glob("*.json"):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            rows.append({**row, **{k: _bound(row.get(k)) for k in ("window_start", "window_end")}})
    return rows


def _bound(bound: Any) -> Any:
    """A time, a row number, or nothing, which Spark leaves out of JSON."""
    return iso(bound) if isinstance(bound, str) else bound


def iso(text: str) -> int:
    return int(_row(json.dumps({"ts": re.sub(r"\.000Z$", "Z", text)}))["ts"])


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("ip STRING, host STRING, floor INT", ["no column floor", "ip, host"]),
        ("ip STRING, host INT", ["host is string", "int is declared"]),
    ],
)
def test_a_table_that_changed(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], declared: str, words: list[str]
) -> None:
    hosts, data = tmp_path / "hosts", tmp_path / "in"
    data.mkdir()
    write_rows(data / "a.json", ROWS)
    spark.createDataFrame([("10.0.0.1", "one")], "ip STRING, host STRING").write.parquet(str(hosts))
    table = f"CREATE TABLE hosts ({declared}) WITH (connector = 'file', format = 'parquet', path = '{hosts}');"
    text = f"{packets_ddl(data)}{table}SELECT h.host FROM packets p JOIN hosts h ON p.srcIP = h.ip;"
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text)
    assert code == 1
    expect_error(err, "E0802", *words)


def test_a_csv_file_with_other_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hosts.csv").write_text("host,ip\none,10.0.0.1\n")
    text = (
        "CREATE TABLE hosts (ip STRING, host STRING) WITH (connector = 'file', format = 'csv',"
        f" path = '{tmp_path}/hosts.csv', header = true); SELECT * FROM hosts;"
    )
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text)
    assert code == 1
    expect_error(err, "E0802", "host, ip", "ip, host")


def test_a_table_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "CREATE TABLE hosts (ip STRING) WITH (connector = 'file', format = 'parquet',"
        f" path = '{tmp_path}/nowhere'); SELECT * FROM hosts;"
    )
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text)
    assert code == 1
    expect_error(err, "E0802", "nowhere")


# ------------------------------------------------------------------ checkpoints


def test_a_checkpoint_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, file = tmp_path / "in", tmp_path / "q.ssql"
    data.mkdir()
    write_rows(data / "a.json", ROWS)
    options = ("--checkpoint", str(tmp_path / "checkpoint"))
    text = packets_ddl(data) + SELECT
    assert ssql(capsys, file, text, *options, "--plan", "paned")[0] == 0
    changes = {
        text.replace("20 seconds", "30 seconds"): "RANGE 1 minute SLIDE 30 seconds",
        text.replace("len INT", "len BIGINT"): "len BIGINT",
        text.replace("INTERVAL 5 SECONDS", "INTERVAL 6 SECONDS"): "6 seconds",
        text.replace(str(data), str(tmp_path)): str(tmp_path),
        "SET spark.sql.shuffle.partitions = 7;" + text: "spark.sql.shuffle.partitions was 2",
    }
    for changed, word in changes.items():
        code, _, err = ssql(capsys, file, changed, *options)
        assert code == 2
        expect_error(err, "E0804", word)
    code, _, err = ssql(capsys, file, text, *options, "--plan", "wid")
    assert code == 2
    expect_error(err, "E0804", "the plan was paned, and is wid now")
    # How fast the source is read may change, and so may the layout of the text.
    same_query = text.replace("FROM", "\nFROM").replace("5 SECONDS)", "5 SECONDS )")
    faster = same_query.replace(f"path = '{data}'", f"path = '{data}', maxFilesPerTrigger = 5")
    assert ssql(capsys, file, faster, *options)[0] == 0
    assert ssql(capsys, file, text, *options, "--flush")[0] == 0
    for more in ((), ("--flush",)):
        code, _, err = ssql(capsys, file, text, *options, *more)
        assert code == 2
        expect_error(err, "E0804", "--flush")


def test_a_damaged_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "checkpoint" / "query_1" / "ssql.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"format": 1, "query"')
    text = packets_ddl(tmp_path / "in") + SELECT
    code, _, err = ssql(
        capsys, tmp_path / "q.ssql", text, "--checkpoint", str(tmp_path / "checkpoint")
    )
    assert code == 2
    expect_error(err, "E0804", "damaged")


def test_two_runs_on_one_checkpoint(tmp_path: Path) -> None:
    from ssql.runtime.lock import CheckpointLock, _born

    holder = subprocess.Popen(["sleep", "60"])
    try:
        lock = tmp_path / "ssql.lock"
        lock.write_text(
            json.dumps([[holder.pid, _born(holder.pid)], [holder.pid, _born(holder.pid)]])
        )
        with pytest.raises(RunFailure, match="another run") as refused:
            CheckpointLock(tmp_path).take()
        assert refused.value.kind is Kind.CHECKPOINT
    finally:
        holder.kill()
        holder.wait()
    lock = CheckpointLock(tmp_path)
    lock.take()  # whoever is dead holds nothing
    assert json.loads((tmp_path / "ssql.lock").read_text())[0][0] == os.getpid()
    lock.release()


# ------------------------------------------------------------------ sinks, ends, functions


def test_results_of_another_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark would skip every batch that the directory has already, and say nothing."""
    data = tmp_path / "in"
    data.mkdir()
    write_rows(data / "a.json", ROWS)
    sink = f"CREATE SINK out WITH (connector = 'file', format = 'json', path = '{tmp_path}/out');"
    text = packets_ddl(data) + sink + f"INSERT INTO out {SELECT}"
    assert ssql(capsys, tmp_path / "q.ssql", text)[0] == 0
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text)
    assert code == 1
    expect_error(err, "E0803", "holds the results of another run")
    twice = text.replace("/out'", "/new'") + f"INSERT INTO out {SELECT}"
    code, _, err = ssql(capsys, tmp_path / "q.ssql", twice)
    assert code == 1
    expect_error(err, "E0803", "two queries write to")


def test_streams_without_an_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'datagen');"
        "SELECT count(*) [RANGE 1 second] FROM s;"
    )
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text)
    assert code == 2
    expect_error(err, "E0805", "never ends", "rows =")


def test_secrets_that_are_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSQL_TEST_PATH", raising=False)
    text = packets_ddl(Path("x")).replace("path = 'x'", "path = 'env:SSQL_TEST_PATH'") + SELECT
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text)
    assert code == 1
    expect_error(err, "E0801", "SSQL_TEST_PATH is not set")


def test_python_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "in"
    data.mkdir()
    write_rows(data / "a.json", ROWS[:5])
    (tmp_path / "lengths.py").write_text(
        "def double(n):\n    return n * 2\n\ndef broken(n):\n    raise ValueError('no such length')\n"
    )
    function = "CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE PYTHON AS 'lengths:double';"
    text = packets_ddl(data) + function + "SELECT f(len) AS n FROM packets;"
    code, out, _ = ssql(capsys, tmp_path / "q.ssql", text)
    assert code == 0
    assert sorted(json.loads(line)["n"] for line in out.splitlines()) == sorted(
        2 * r["len"] for r in ROWS[:5]
    )
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text.replace(":double", ":broken"))
    assert code == 1
    expect_error(err, "E0806", "a Python function failed: ValueError: no such length")
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text.replace("lengths:", "lenghts:"))
    assert code == 1
    expect_error(err, "E0801", "No module named 'lenghts'")


def test_a_module_that_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user's module may print and may be wrong; neither is seen on standard output."""
    (tmp_path / "chatty.py").write_text("print('hello')\ndef f(n):\n    return n\n")
    (tmp_path / "wrong.py").write_text("def f(n):\n    return undefined_at_import\nf(1)\n")
    data = tmp_path / "in"
    data.mkdir()
    write_rows(data / "a.json", ROWS[:1])
    for module, code in (("chatty", 0), ("wrong", 1)):
        function = f"CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE PYTHON AS '{module}:f';"
        text = packets_ddl(data) + function + "SELECT f(len) AS n FROM packets;"
        found, out, err = ssql(capsys, tmp_path / "q.ssql", text)
        assert found == code
        assert all(line.startswith("{") for line in out.splitlines())
    expect_error(err, "E0801", "NameError", "undefined_at_import")


def test_places_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a file"
    file.write_text("")
    text = packets_ddl(tmp_path / "in") + SELECT
    code, _, err = ssql(capsys, tmp_path / "q.ssql", text, "--checkpoint", str(file))
    assert code == 1
    expect_error(err, "E0801", "a file")
    code, _, err = ssql(capsys, tmp_path / "q.ssql", packets_ddl(file / "below") + SELECT)
    assert code == 1
    expect_error(err, "E0801", "a file")


def test_a_query_that_spark_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ssql does not check the arguments of all of Spark's functions; and the checkpoint is not taken
    by a query that cannot run."""
    data = tmp_path / "in"
    data.mkdir()
    write_rows(data / "a.json", ROWS)
    options = ("--checkpoint", str(tmp_path / "checkpoint"))
    wrong = packets_ddl(data) + SELECT.replace("FROM packets", "FROM packets WHERE upper() = 'x'")
    code, _, err = ssql(capsys, tmp_path / "q.ssql", wrong, *options)
    assert code == 1
    expect_error(err, "E0806", "upper")
    assert ssql(capsys, tmp_path / "q.ssql", packets_ddl(data) + SELECT, *options)[0] == 0


def test_storage_elsewhere(spark: Any, tmp_path: Path) -> None:
    """Small files through Spark's file systems: whole, and replaced as a whole."""
    from ssql.runtime.storage import HadoopStorage, local_path

    storage, path = HadoopStorage(spark), f"file://{tmp_path}/deep/record.json"
    assert storage.read(path) is None
    storage.make_directory(f"file://{tmp_path}/deep")
    for text in ("one", "zwei: ü"):
        storage.write(path, text)
        assert storage.read(path) == text
    assert [f.name for f in (tmp_path / "deep").iterdir() if not f.name.startswith(".")] == [
        "record.json"
    ]
    assert local_path("hdfs:/a") is None and local_path("s3a://b/c") is None
    assert local_path("a/b") == Path("a/b") and local_path("file:///a%20b") == Path("/a b")


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ssql.runtime.session import _need_java

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(RunFailure, match="Java is not on the PATH") as missing:
        _need_java()
    assert any("openjdk-17" in h for h in missing.value.helps)
    assert os.environ["PATH"] == str(tmp_path)
