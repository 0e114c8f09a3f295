"""Every golden case, by one runner. `pytest tests/test_cases.py --rewrite` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import EXPECTATIONS, all_cases, case_id, results

from ssql.compiler.codes import CODES


@pytest.mark.parametrize("case", all_cases(), ids=case_id)
def test_case(case: Path, rewrite: bool) -> None:
    made = results(case)
    for ending in EXPECTATIONS:
        expected = case.with_suffix(ending)
        if rewrite:
            if ending in made:
                expected.write_text(made[ending], encoding="utf-8")
            else:
                expected.unlink(missing_ok=True)
            continue
        found = expected.read_text(encoding="utf-8") if expected.exists() else None
        assert made.get(ending) == found


@pytest.mark.parametrize("code", sorted(CODES))
def test_each_code_has_a_case(code: str) -> None:
    if code == "E0107" or code.startswith("E08"):
        pytest.skip("no case: tests/test_cli.py has unreadable files, test_run_faults.py runs")
    cases = [c for c in all_cases() if c.stem.startswith(code)]
    assert len(cases) == 1
    shown = set(re.findall(r"\[([EW]\d+)\]", cases[0].with_suffix(".err").read_text()))
    assert code in shown
    # Others may stand beside it only where a warning comes along.
    assert {c for c in shown if c[0] == "E"} <= {code, "E0708"}


def test_every_error_helps() -> None:
    """Each error of the cases shows a line, a caret and a hint."""
    blocks = []
    for case in all_cases():
        expected = case.with_suffix(".err")
        if expected.exists():
            blocks += expected.read_text(encoding="utf-8").strip().split("\n\n")
    assert len(blocks) > 80
    for block in blocks:
        assert re.match(r"[\w.]+:\d+:\d+: (error|warning)\[", block), block
        assert "= help:" in block, block
        assert re.search(r"\| +\^+\n", block), block
