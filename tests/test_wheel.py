"""The wheel holds `ssql/` and its metadata, and works away from the repository."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the tracked files, so that nothing of the work tree slips in."""
    copy = tmp_path_factory.mktemp("copy")
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    for name in filter(None, files):
        source, target = ROOT / name, copy / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", str(out), str(copy)], check=True)
    (built,) = out.glob("*.whl")
    return built


def test_what_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {n.split("/")[0].split("-")[0] for n in names} == {"ssql"}
    assert "ssql/grammar/ssql.lark" in names
    assert "ssql/compiler/spark_functions.tsv" in names
    assert not [n for n in names if "tests" in n or "bench" in n or ".dev" in n]
    packages = {str(Path(n).parent) for n in names if n.endswith("__init__.py")}
    tracked = {str(p.parent.relative_to(ROOT)) for p in ROOT.glob("*/**/__init__.py")}
    ours = {p for p in tracked if p.split("/")[0] in ("compiler", "grammar", "planner", "runtime")}
    assert packages == {"ssql"} | {f"ssql/{p}" for p in ours}


def test_it_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    """From the unpacked wheel alone, in another directory."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "q.ssql").write_text("SELECT 1 AS one;")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path / "site")!r})
import ssql
assert ssql.__file__.startswith({str(tmp_path)!r})
from ssql.cli import main
sys.exit(main(["check", "q.ssql"]))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == "1 file checked: no problems\n"
