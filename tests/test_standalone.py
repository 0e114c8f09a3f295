"""`ssql compile --standalone`: operators written into the code, for machines without ssql."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path

import pytest
from cases import all_cases, case_id, source_of
from compiled import stream_ddl
from oracle import Aggregate, WindowQuery, evaluate, same
from row_oracle import TupleQuery, evaluate_rows
from running import write_rows
from streams import PACKET_COLUMNS, PACKET_TYPES, SECOND, packets
from test_run_faults import sink_rows

from ssql.cli import main
from ssql.compiler.emit.standalone import Import, SourceModule, import_block, read_module
from ssql.compiler.pipeline import compile_source
from ssql.compiler.source import Source

ROOT = Path(__file__).parent.parent
MINUTE = 60 * SECOND
STREAM = "CREATE STREAM {} (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'file', format = 'json', path = 'in');"
QUERIES = {
    "rolling": "SELECT k, count(*) AS n [RANGE 1 minute, SLIDE 20 seconds] FROM {} GROUP BY k;",
    "adaptwid": "SELECT k, sum(v) AS n [RANGE 1 minute, SLIDE 20 seconds] FROM {} GROUP BY k;",
    "landmark": "SELECT k, max(v) AS n [RANGE ALL, SLIDE 1 minute] FROM {} GROUP BY k;",
    "rows": "SELECT count(*) AS n [RANGE 10 rows, SLIDE 2 rows, WA row-num] FROM {};",
    "partitioned": "SELECT k, count(*) AS n [RANGE 10 rows, SLIDE 1 row, WA row-num, PA k] FROM {};",
    "slide-by-tuple": "SELECT count(*) AS n [RANGE 1 minute, RATTR ts, SLIDE 1 row, SATTR row-num] FROM {};",
}
# One that is shared by all, and the operators themselves.
SHARED = {"tables", "extents", "ranges", "merging", "state", "packing", "processor", "road"}
MODULES = {
    "rolling": {"rolling", "sliding", "durations"},
    "adaptwid": {"adaptwid", "sliding", "durations"},
    "landmark": {"landmark", "durations"},
    "rows": {"rows", "numbered"},
    "partitioned": {"rows", "numbered"},
    "slide-by-tuple": {"tuples", "numbered", "durations"},
}


def standalone(text: str, plan: str | None = None) -> str:
    code, found = compile_source(Source("query.ssql", text), plan, standalone=True)
    assert code is not None, [d.message for d in found]
    return code


def of_kind(kind: str, stream: str = "s") -> str:
    plan = kind if kind in ("rolling", "adaptwid") else None
    code = standalone(STREAM.format(stream) + QUERIES[kind].format(stream), plan)
    assert f"plan {kind}," in code
    return code


def operator_modules() -> list[SourceModule]:
    files = sorted((ROOT / "runtime" / "operators").glob("*.py"))
    names = [f"ssql.runtime.operators.{f.stem}" for f in files if f.stem != "__init__"]
    return [read_module(n) for n in [*names, "ssql.planner.durations"]]


def bound(code: str) -> Counter[str]:
    """How often each name is defined or imported at the top of a module."""
    names: Counter[str] = Counter()
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] += 1
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((a.asname or a.name).split(".")[0] for a in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [n for t in targets for n in ast.walk(t)]
            names.update(n.id for n in found if isinstance(n, ast.Name))
    return names


def assert_tidy(*files: Path) -> None:
    ruff = [sys.executable, "-m", "ruff"]
    for options in (("format", "--check"), ("check", "--select", "E7,E9,F,I,W")):
        command, *rest = options
        run = subprocess.run(
            [*ruff, command, "--isolated", "--line-length", "100", *rest, *map(str, files)],
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stdout


# ------------------------------------------------------------------ the text


def test_names_are_unique_over_all_operator_modules() -> None:
    """All of them may stand in one module."""
    modules = operator_modules()
    defined = Counter(n for m in modules for n in m.names)
    assert [n for n, times in defined.items() if times > 1] == []
    imported: dict[str, Import] = {}
    for item in (i for m in modules for i in m.imports):
        assert imported.setdefault(item.binds, item) == item
    assert imported.keys() & defined.keys() == set()
    emitted = {"main", "spark", "os", "DataStreamWriter", "SparkSession"}
    assert emitted & defined.keys() == set()


@pytest.mark.parametrize("kind", QUERIES)
def test_what_is_inlined(kind: str) -> None:
    code = of_kind(kind)
    inlined = {
        line.split()[2].rstrip(":") for line in code.splitlines() if line.startswith("# ---- ")
    }
    assert inlined == SHARED | MODULES[kind]
    for module in operator_modules():
        assert (module.body in code) == (module.name.rpartition(".")[2] in inlined)
    imports = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert not [n for n in imports if "ssql" in ast.unparse(n)]
    assert ast.unparse(ast.parse(code).body[0]) == "from __future__ import annotations"
    assert "TYPE_CHECKING" not in code
    assert max(bound(code).values()) == 1
    assert code == of_kind(kind)


def test_all_kinds_are_tidy(tmp_path: Path) -> None:
    files = []
    for kind in QUERIES:
        files.append(tmp_path / f"{kind.replace('-', '_')}.py")
        files[-1].write_text(of_kind(kind))
    everything = "".join(QUERIES[k].format("s") for k in QUERIES if k != "adaptwid")
    files.append(tmp_path / "everything.py")
    files[-1].write_text(standalone(STREAM.format("s") + everything))
    assert_tidy(*files)


def test_goldens(tmp_path: Path) -> None:
    """Without an operator of ours nothing changes; with one, the code stays tidy."""
    changed = []
    for case in all_cases():
        plain, _ = compile_source(source_of(case))
        code, _ = compile_source(source_of(case), standalone=True)
        if plain is None or code is None or "from ssql." not in plain:
            assert code == plain, case_id(case)
            continue
        changed.append(tmp_path / f"{case_id(case).replace('/', '_')}.py")
        changed[-1].write_text(code)
        assert "from ssql." not in code
    assert changed
    assert_tidy(*changed)


@pytest.mark.parametrize("name", ["covered", "merged", "count", "json", "np", "rolling", "spell"])
def test_hostile_names(name: str) -> None:
    """Neither a stream nor a sink takes the name of something that is inlined."""
    sink = f"CREATE SINK {name}_ WITH (connector = 'file', format = 'json', path = 'out');"
    query = f"INSERT INTO {name}_ {QUERIES['rolling'].format(name)}"
    code = standalone(STREAM.format(name) + sink + query, "rolling")
    assert max(bound(code).values()) == 1
    assert f"def read_{name}_2(spark" in code
    sink = sink.replace(f"{name}_", name)
    query = f"INSERT INTO {name} {QUERIES['rolling'].format('s')}"
    code = standalone(STREAM.format("s") + sink + query, "rolling")
    assert max(bound(code).values()) == 1
    assert f"def {name}_2(s: DataFrame)" in code


def test_functions_of_users_are_imported_in_order(tmp_path: Path) -> None:
    functions = "".join(
        f"CREATE FUNCTION {name} (x INT) RETURNS INT LANGUAGE PYTHON AS '{target}';"
        for name, target in (("a", "zebra:f"), ("b", "math:gcd"), ("c", "alpha.beta:f"))
    )
    query = QUERIES["rolling"].replace("count(*)", "sum(a(b(c(v))))").format("s")
    code = standalone(functions + STREAM.format("s") + query, "rolling")
    file = tmp_path / "query.py"
    file.write_text(code)
    assert_tidy(file)


def test_import_block() -> None:
    given = [
        Import("numpy", "", "np"),
        Import("b.c", "z", ""),
        Import("b.c", "A", ""),
        Import("b.c", "LIMIT", ""),
        Import("b.c", "z", "y"),
        Import("os", "", ""),
        Import("os", "", ""),
        Import("math", "gcd", ""),
    ]
    assert [*import_block(given)] == [
        "from __future__ import annotations",
        "",
        "import os",
        "from math import gcd",
        "",
        "import numpy as np",
        "from b.c import LIMIT, A, z",
        "from b.c import z as y",
    ]


def test_compiling_imports_no_operator(tmp_path: Path) -> None:
    (tmp_path / "q.ssql").write_text(STREAM.format("s") + QUERIES["landmark"].format("s"))
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        assert name.split('.')[0] not in ('pyspark', 'py4j', 'numpy', 'pyarrow', 'pandas'), name
sys.meta_path.insert(0, Refuse())
from ssql.cli import main
assert main(['compile', 'q.ssql', '--standalone', '-o', 'q.py']) == 0
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".dev")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "class LandmarkKernel" in (tmp_path / "q.py").read_text()
    assert main(["compile", str(tmp_path / "q.ssql"), "-o", str(tmp_path / "other.py")]) == 0
    assert "from ssql." in (tmp_path / "other.py").read_text()


# ------------------------------------------------------------------ where there is no ssql


def test_it_is_executed_without_ssql(tmp_path: Path) -> None:
    for kind in QUERIES:
        (tmp_path / f"{kind}.py").write_text(of_kind(kind))
    code = f"""
import runpy, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'ssql':
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
for kind in {list(QUERIES)!r}:
    made = runpy.run_path(f"{{kind}}.py", run_name="emitted")
    assert callable(made["query_1"]) and callable(made["main"]) and callable(made["travel"])
assert "ssql" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def bare_python(directory: Path) -> Path:
    """An interpreter that has all that this one has, but no ssql."""
    import pyspark

    venv.create(directory)
    site = next((directory / "lib").glob("python*/site-packages"))
    for entry in Path(pyspark.__file__).parent.parent.iterdir():
        if "ssql" not in entry.name and entry.suffix not in (".pth", ".egg-link"):
            (site / entry.name).symlink_to(entry)
    python = directory / "bin" / "python"
    alone = subprocess.run([python, "-c", "import ssql"], capture_output=True, cwd=directory)
    assert alone.returncode != 0
    return python


@pytest.mark.spark
def test_spark_submit_without_ssql(tmp_path: Path) -> None:
    """A stream and stored rows, by names that operators have, on an interpreter without ssql."""
    import pyspark

    data, panes, tuples = tmp_path / "in", tmp_path / "panes", tmp_path / "tuples"
    data.mkdir()
    rows = packets(41, 120, minutes=6, grain_us=1_000)  # as exact as JSON files
    rows.append({**rows[0], "srcIP": "the end", "ts": max(r["ts"] for r in rows) + 60 * MINUTE})
    write_rows(data / "0.json", rows)
    by_time = WindowQuery(
        range_us=2 * MINUTE,
        slide_us=20 * SECOND,
        keys=("srcIP",),
        aggregates=(
            Aggregate(name="n", function="count"),
            Aggregate(name="top", function="max", column="len"),
        ),
    )
    by_row = TupleQuery(
        range_us=MINUTE,
        slide_rows=3,
        keys=("destPort",),
        aggregates=(Aggregate(name="total", function="sum", column="len"),),
    )
    options = f"connector = 'file', format = 'json', path = '{data}'"
    columns = ", ".join(f"{n} {t}" for n, t in PACKET_TYPES.items())
    text = stream_ddl("covered", PACKET_TYPES, "5 SECONDS", options)
    text += f"CREATE TABLE merged ({columns}) WITH ({options});\n"
    for name, path in (("stacked", panes), ("segments", tuples)):
        text += f"CREATE SINK {name} WITH (connector = 'file', format = 'json', path = '{path}');\n"
    text += f"INSERT INTO segments {by_row.sql('merged')};\n"
    text += f"INSERT INTO stacked {by_time.sql('covered')};\n"
    code = standalone(text, "rolling")
    assert "def tuple_windows(" in code and "def rolling(" in code
    job = tmp_path / "job.py"
    # A job that ends: what is there, and no more.
    job.write_text(code.replace(".start()", ".trigger(availableNow=True).start()"))
    python = str(bare_python(tmp_path / "venv"))
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    env |= {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]"]
    command += [word for k, v in settings.items() for word in ("--conf", f"{k}={v}")]
    done = subprocess.run(
        [*command, str(job)], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr[-3000:]
    closed = max(r["ts"] for r in rows) - 5 * SECOND
    expected = [r for r in evaluate(by_time, rows, PACKET_COLUMNS) if r["window_end"] <= closed]
    assert same(sink_rows(panes), expected) is None
    assert same(sink_rows(tuples), evaluate_rows(by_row, rows, PACKET_COLUMNS)) is None
