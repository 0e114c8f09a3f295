"""The pages of docs/ say what is so. `make docs` writes the generated ones anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import CASES

from ssql.cli import main
from ssql.compiler.codes import CODES, SECTIONS

ROOT = Path(__file__).parent.parent
ERRORS = ROOT / "docs" / "errors.md"


def errors_page() -> str:
    lines = [
        "# Errors and warnings",
        "",
        "Every problem that `ssql` reports has a stable code. This page is made from"
        " `compiler/codes.py` and the cases in `tests/cases/errors/` by `make docs`.",
    ]
    for prefix, title in SECTIONS.items():
        lines += ["", f"## {title}"]
        for code in CODES.values():
            if code.id.startswith(prefix):
                lines += ["", f"### {code.id}: {code.title}", "", code.meaning, *_example(code.id)]
    return "\n".join(lines) + "\n"


def _example(code: str) -> list[str]:
    """The first diagnostic of the code's case, without the very long ones."""
    shown = next(CASES.glob(f"errors/{code}_*.err"), None)
    if shown is None or code in ("E0901", "E0902"):
        return []
    blocks = shown.read_text(encoding="utf-8").strip().split("\n\n")
    block = next(b for b in blocks if f"[{code}]" in b)
    return ["", "```", re.sub(r"^\S+?\.ssql", "query.ssql", block), "```"]


def test_errors_page(rewrite: bool) -> None:
    if rewrite:
        ERRORS.write_text(errors_page(), encoding="utf-8")
    assert ERRORS.read_text(encoding="utf-8") == errors_page()


def test_every_code_has_a_section() -> None:
    for code in CODES:
        assert sum(code.startswith(prefix) for prefix in SECTIONS) == 1


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]))
def test_sql_in_the_docs_is_right(page: Path, tmp_path: Path) -> None:
    """Every sql block of a page, one after the other, is a file that checks."""
    blocks = _blocks(page, "sql")
    path = tmp_path / "page.ssql"
    path.write_text("\n".join(blocks), encoding="utf-8")
    assert main(["check", str(path)]) == 0


def test_readme_shows_the_code_that_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "README.md"
    (query, *_), (code, *_) = _blocks(page, "sql"), _blocks(page, "python")
    path = tmp_path / "traffic.ssql"
    path.write_text(query, encoding="utf-8")
    assert main(["compile", str(path)]) == 0
    assert code.strip() in capsys.readouterr().out


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.ssql")))
def test_examples(example: Path) -> None:
    assert main(["check", str(example)]) == 0
    assert main(["fmt", "--check", str(example)]) == 0


def test_explain_in_the_docs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The outline that docs/optimizer.md shows is that of the query above it."""
    page = (ROOT / "docs" / "optimizer.md").read_text(encoding="utf-8")
    found = re.search(r"```sql\n(.*?)```\n\n```\n(Query 1 .*?)```", page, re.DOTALL)
    assert found is not None
    file = tmp_path / "query.ssql"
    file.write_text(found[1])
    assert main(["explain", str(file)]) == 0
    assert capsys.readouterr().out.rstrip() == found[2].rstrip()
