"""The golden cases: `cases/<topic>/<name>.ssql` with what is expected beside it.

`.err` holds the diagnostics, `.plan` what `ssql explain` shows, `.py` what `ssql compile` prints.
A case has just those that it gives: a case with errors has only `.err`. In `rules/`, `.plan` is the
plan after the rules, and which of them changed it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ssql.compiler.pipeline import check, compile_source
from ssql.compiler.render import render
from ssql.compiler.source import Source
from ssql.planner.explain import Outline, outline_query
from ssql.planner.logical import Query
from ssql.planner.rules import rewrite

CASES = Path(__file__).parent / "cases"
EXPECTATIONS = (".err", ".plan", ".py")


def all_cases() -> list[Path]:
    return sorted(CASES.glob("*/*.ssql"))


def case_id(case: Path) -> str:
    return f"{case.parent.name}/{case.stem}"


def source_of(case: Path) -> Source:
    return Source(case.name, case.read_text(encoding="utf-8"))


def results(case: Path) -> dict[str, str]:
    """What the compiler makes of a case, by the ending of the expected file."""
    source = source_of(case)
    text, diagnostics = compile_source(source)
    made = {}
    checked = check(source)
    if case.parent.name != "errors" and not checked.diagnostics.has_errors:
        diagnostics = checked.diagnostics  # what has no plan yet is no news outside of errors/
    if len(diagnostics):
        made[".err"] = "\n\n".join(render(source, d) for d in diagnostics) + "\n"
    if not checked.diagnostics.has_errors and checked.program.queries:
        outlined = _rewritten if case.parent.name == "rules" else outline_query
        outlines = ("\n".join(outlined(q).lines()) for q in checked.program.queries)
        made[".plan"] = "\n".join(outlines) + "\n"
    if text is not None:
        made[".py"] = text
    return made


def _rewritten(query: Query) -> Outline:
    rewritten = rewrite(query)
    changes = tuple(f"{c.rule}: {c.what}" for c in rewritten.changes)
    return replace(outline_query(rewritten.query), details=changes)
