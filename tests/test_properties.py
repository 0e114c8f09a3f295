"""What holds for every text and every query."""

from __future__ import annotations

import ast as python_ast
import dataclasses
import os
import re
import subprocess
import sys
import tokenize
from io import StringIO

import pytest
from cases import all_cases, source_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from queries import files

from ssql.compiler import ast
from ssql.compiler.diagnostics import Diagnostics
from ssql.compiler.emit.python import Names, comment, literal
from ssql.compiler.formatting import format_file
from ssql.compiler.parser import ParsedFile, parse
from ssql.compiler.pipeline import check, compile_source
from ssql.compiler.source import Source, Span
from ssql.planner.logical import walk

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parsed(text: str) -> ParsedFile:
    diagnostics = Diagnostics()
    file = parse(Source("p.ssql", text), diagnostics)
    assert not diagnostics.has_errors, list(diagnostics)
    return file


def shape(node: object) -> object:
    """A syntax tree without positions and without the layout of its expressions."""
    if isinstance(node, ast.Scalar):
        return [w if w[0] in "'\"`" else w.upper() for w in _words(node.text)]
    if isinstance(node, Span):
        return None
    if dataclasses.is_dataclass(node):
        return [
            type(node).__name__,
            *(shape(getattr(node, f.name)) for f in dataclasses.fields(node)),
        ]
    if isinstance(node, tuple):
        return [shape(n) for n in node]
    return node


def _words(text: str) -> list[str]:
    return re.findall(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\w+|[^\s\w]", text)


@relaxed
@given(files)
def test_generated_queries_are_legal(text: str) -> None:
    assert [
        d.message for d in check(Source("p.ssql", text)).diagnostics if not d.code.is_warning
    ] == []


@relaxed
@given(files)
def test_fmt_is_idempotent_and_keeps_the_meaning(text: str) -> None:
    before = parsed(text)
    once = format_file(before)
    after = parsed(once)
    assert format_file(after) == once
    assert [shape(s.node) for s in before.statements] == [shape(s.node) for s in after.statements]
    assert len(before.scan.comments) == len(after.scan.comments)


@pytest.mark.parametrize(
    "case", [c for c in all_cases() if not c.stem.startswith("E0")], ids=lambda c: c.stem
)
def test_fmt_on_the_cases(case: object) -> None:
    text = source_of(case).text  # type: ignore[arg-type]
    before = parsed(text)
    once = format_file(before)
    after = parsed(once)
    assert format_file(after) == once
    assert [shape(s.node) for s in before.statements] == [shape(s.node) for s in after.statements]
    assert [c.text.split() for c in before.scan.comments] == [
        c.text.split() for c in after.scan.comments
    ]


@relaxed
@given(files)
def test_spans_are_inside_of_the_text(text: str) -> None:
    checked = check(Source("p.ssql", text))
    assert checked.program.queries
    for query in checked.program.queries:
        assert text[query.span.start : query.span.end].upper().startswith(("SELECT", "WITH"))
        for node in walk(query.plan):
            assert 0 <= node.span.start < node.span.end <= len(text)


@given(st.text())
def test_a_literal_is_the_text(text: str) -> None:
    written = literal(text)
    assert python_ast.literal_eval(written) == text
    assert written.isprintable()


@given(st.text())
def test_a_comment_stays_a_comment(text: str) -> None:
    lines = comment(text, "    ")
    assert all(line.startswith("    #") for line in lines)
    code = "\n".join([*lines, "    pass"])
    kinds = [t.type for t in tokenize.generate_tokens(StringIO(f"if 1:\n{code}\n").readline)]
    assert kinds.count(tokenize.NAME) == 2
    assert kinds.count(tokenize.COMMENT) == len(lines)


@given(st.lists(st.text(), max_size=6))
def test_names_are_names_of_their_own(wanted: list[str]) -> None:
    names = Names()
    made = [names.make(w) for w in wanted]
    assert len(set(made)) == len(made)
    for name in made:
        assert python_ast.parse(f"{name} = 1")


HOSTILE = [
    "x'); import os; os.system('true",
    'x"); import os #',
    "x\n    import os",
    "'''\"\"\"\\",
    "\\x22\\u0022{}{0}%s",
    "\u2028\u2029\x85\r\x0c",
    "a`b",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_data(text: str) -> None:
    """Names, literals, paths, options, comments and file names end up inside of literals."""
    name = "`" + text.replace("`", "``") + "`"
    value = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    program = f"""
    -- {text.replace(chr(10), " ")}
    CREATE STREAM {name} ({name} STRING, {name[:-1]}2` STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts)
    WITH (connector = 'file', format = 'json', path = {value}, {value} = {value});
    CREATE SINK {name[:-1]}3` WITH (connector = 'kafka', topic = {value}, key = {value},
      kafka.bootstrap.servers = 'env:BROKERS');
    INSERT INTO {name[:-1]}3` SELECT {name} AS {name}, count(*) AS {name[:-1]}4`,
      max(concat({name[:-1]}2`, {value})) [RANGE 1 minute]
    FROM {name} WHERE {name} <> {value} /* {text.replace("*/", "")} */ GROUP BY {name};
    """
    emitted, diagnostics = compile_source(Source(f"dir/{text}.ssql", program))
    assert emitted is not None, list(diagnostics)
    tree = python_ast.parse(emitted)
    nodes = list(python_ast.walk(tree))
    assert {n.module for n in nodes if isinstance(n, python_ast.ImportFrom)} == {
        "pyspark.sql",
        "pyspark.sql.streaming",
    }
    assert [n.names[0].name for n in nodes if isinstance(n, python_ast.Import)] == ["os"]
    attributes = {n.attr for n in nodes if isinstance(n, python_ast.Attribute)}
    assert "system" not in attributes
    allowed = ("Import", "ImportFrom", "FunctionDef", "If")
    assert all(type(n).__name__ in allowed for n in tree.body)


_COMPILE_ALL = """
import sys
sys.path.insert(0, {tests!r})
from cases import all_cases, results
for case in all_cases():
    for ending, text in results(case).items():
        print(case.name, ending, text)
"""


def test_the_same_under_every_hash_seed() -> None:
    tests = os.path.dirname(__file__)
    outputs = set()
    for seed in ("0", "1", "4711"):
        env = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.path.join(tests, "..", ".dev"),
        }
        run = subprocess.run(
            [sys.executable, "-c", _COMPILE_ALL.format(tests=tests)],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000
