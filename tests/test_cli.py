"""The command line: what it prints where, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ssql.cli import main

ROOT = Path(__file__).parent.parent
GOOD = """CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts)
WITH (connector = 'file', format = 'json', path = 'p');
SELECT k FROM s;
"""
BAD = GOOD.replace("SELECT k", "SELECT kk")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.ssql"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.ssql"
    path.write_text(BAD)
    return path


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".dev")}
    command = [sys.executable, "-m", "ssql", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, env=env)


def test_check(good: Path, bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(good)]) == 0
    assert capsys.readouterr().err == "1 file checked: no problems\n"
    assert main(["check", str(good), str(bad)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{bad}:3:8: error[E0202]: unknown column kk" in shown.err
    assert "2 files checked: 1 error" in shown.err
    assert "\x1b[" not in shown.err


def test_check_for_editors(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--format", "json", str(bad)]) == 2
    (found,) = json.loads(capsys.readouterr().out)
    assert found["file"] == str(bad)
    assert (found["line"], found["column"], found["end_line"], found["end_column"]) == (3, 8, 3, 10)
    assert (found["severity"], found["code"]) == ("error", "E0202")
    assert "did you mean k?" in found["helps"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"SELECT '\xff\xfe'", "is not UTF-8"),
        (b"x" * 3_000_000, "at most 500,000 are read"),
    ],
)
def test_unreadable_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str
) -> None:
    path = tmp_path / "file.ssql"
    if content is not None:
        path.write_bytes(content)
    for command in ("check", "compile", "explain", "fmt"):
        assert main([command, str(path)]) == 2
        assert message in capsys.readouterr().err
    assert main(["check", str(tmp_path)]) == 2
    assert "E0107" in capsys.readouterr().err


def test_compile(good: Path, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(good)]) == 0
    code = capsys.readouterr().out
    assert code.startswith("# Compiled by ssql")
    target = tmp_path / "out.py"
    assert main(["compile", str(good), "--standalone", "-o", str(target)]) == 0
    assert target.read_text() == code
    assert main(["compile", str(bad), "-o", str(tmp_path / "none.py")]) == 2
    assert not (tmp_path / "none.py").exists()
    assert main(["compile", str(good), "-o", str(tmp_path / "no" / "where.py")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_compile_knows_no_machine(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(good)]) == 0
    assert str(good.parent) not in capsys.readouterr().out


def test_explain(good: Path, bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(good)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Query 1 → console\n│    plan stateless: it keeps no state")
    assert "\n└─ Project\n" in shown
    assert "STRING" not in shown
    assert main(["explain", "--verbose", str(good)]) == 0
    assert "gives k STRING" in capsys.readouterr().out
    assert main(["explain", str(bad)]) == 2
    assert capsys.readouterr().out == ""


def test_fmt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.ssql"
    path.write_text("select a from b -- why\n")
    tidy = "SELECT a\nFROM b; -- why\n"
    assert main(["fmt", "--check", str(path)]) == 2
    assert "would be reformatted" in capsys.readouterr().err
    assert main(["fmt", "--stdout", str(path)]) == 0
    assert capsys.readouterr().out == tidy
    assert path.read_text() != tidy
    assert main(["fmt", str(path)]) == 0
    assert path.read_text() == tidy
    assert main(["fmt", "--check", str(path)]) == 0
    path.write_text("select a from")
    assert main(["fmt", str(path)]) == 2
    assert path.read_text() == "select a from"


def test_windows_line_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.ssql"
    path.write_bytes(b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode())
    assert main(["check", str(path)]) == 2
    assert ":3:8: error" in capsys.readouterr().err


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert main(["check", "-"]) == 2
    assert "<stdin>:3:8:" in capsys.readouterr().err


def test_help_has_examples() -> None:
    for arguments in (
        ["--help"],
        *([c, "--help"] for c in ("check", "compile", "explain", "fmt", "run")),
    ):
        shown = run(*arguments)
        assert shown.returncode == 0
        assert "example:\n  ssql " in shown.stdout
    assert run("nonsense").returncode == 2
    assert run().returncode == 2


def test_no_pyspark_and_no_jvm(good: Path) -> None:
    """Compiling must not need Spark, nor wait for it."""
    code = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        assert name.split('.')[0] not in ('pyspark', 'py4j', 'pandas', 'numpy'), name
sys.meta_path.insert(0, Refuse())
from ssql.cli import main
for command in ('check', 'compile', 'fmt', 'explain'):
    assert main([command, {str(good)!r}]) == 0
    assert ('rich' in sys.modules) == (command == 'explain')
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".dev")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr


def test_a_reader_who_has_seen_enough(good: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".dev")}
    command = f"'{sys.executable}' -m ssql compile '{good}' | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=env)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
