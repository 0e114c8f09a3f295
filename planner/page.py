"""EXPLAIN as one HTML page: nothing comes from elsewhere, and no text of users is markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from ssql.planner.explain import Outline
from ssql.planner.report import Alternatives, Report

# Of a box in the graph, in pixels; letters are as wide as these of a fixed-width font.
_LINE, _PADDING, _GAP_X, _GAP_Y, _LETTER, _MOST_LETTERS = 17, 9, 26, 34, 7.3, 58

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --faint: #667085; --line: #c9d1de;
  --paper: #fff; --box: #f4f7fb; --mark: #0b6bcb; --markbox: #e7f1fc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f2; --faint: #98a3b8; --line: #3b465a;
  --paper: #141a24; --box: #1d2533; --mark: #6cb4ff; --markbox: #17304d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 70rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
h3 { font-size: .95rem; margin: 1.6rem 0 .4rem; }
.verdict { border-left: 4px solid var(--mark); background: var(--markbox); padding: .6rem 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line); }
td.figure, th.figure { text-align: right; } tr.chosen td { background: var(--markbox);
  font-weight: 600; } .faint, .faint td { color: var(--faint); }
svg { max-width: 100%; height: auto; } svg rect { fill: var(--box); stroke: var(--line); }
svg path { stroke: var(--faint); fill: none; stroke-width: 1.5; }
svg text { font: 12px ui-monospace, monospace; fill: var(--ink); }
svg text.title { font-weight: 700; fill: var(--mark); }
""".strip()


def page(name: str, reports: Sequence[Report]) -> str:
    body = "\n".join(part for found in reports for part in _query(found))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)}: plans</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1>{escape(name)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _query(found: Report) -> Iterator[str]:
    yield f"<h2>{escape(found.title)}</h2>"
    yield f'<p class="verdict">{escape(found.verdict)}</p>'
    yield "".join(_graph(found.tree.inputs[0]))
    if found.rewritings:
        yield "<h3>Rewritten</h3>"
        items = (f"<li><b>{escape(r.rule)}</b>: {escape(r.what)}</li>" for r in found.rewritings)
        yield f"<ul>{''.join(items)}</ul>"
    for alternatives in found.alternatives:
        yield from _alternatives(alternatives)
    if found.measured:
        yield "<h3>Estimated and measured</h3>"
        rows = ((m.name, m.expected, m.found) for m in found.measured)
        yield _table(("", "estimated", "measured"), rows)


def _alternatives(found: Alternatives) -> Iterator[str]:
    yield f"<h3>Plans for the {escape(found.text)}</h3>"
    heads = "".join(f'<th class="figure">{escape(c)}</th>' for c in found.heads)
    yield f"<table><tr><th>plan</th>{heads}<th></th></tr>"
    for line in found.lines:
        figures = line.costs or ("–",) * len(found.heads)
        cells = "".join(f'<td class="figure">{escape(f)}</td>' for f in figures)
        chosen = line.plan == found.chosen
        kind = "chosen" if chosen else "faint" if line.out else ""
        said = "chosen" if chosen else line.out
        yield (
            f'<tr class="{kind}"><td>{escape(line.plan)}</td>{cells}<td>{escape(said)}</td></tr>'
        )
    yield f'</table><p class="faint">{escape(found.units)}</p>'
    yield "<h3>What is known of the rows</h3>"
    rows = ((s.name, s.text, s.origin) for s in found.statistics)
    yield _table(("", "", "from"), rows)


def _table(heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


# ------------------------------------------------------------------ the graph


@dataclass(slots=True)
class _Box:
    lines: list[str]
    inputs: list[_Box]
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * _LETTER + 2 * _PADDING

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 2 * _PADDING

    @property
    def below(self) -> float:
        """The width of everything below the box."""
        return sum(i.span for i in self.inputs) + _GAP_X * max(len(self.inputs) - 1, 0)

    @property
    def span(self) -> float:
        return max(self.width, self.below)


def _box(outline: Outline) -> _Box:
    lines = [outline.title]
    for detail in outline.details:
        lines += wrap(detail, _MOST_LETTERS) or [""]
    return _Box(lines, [_box(i) for i in outline.inputs])


def _placed(box: _Box, x: float, y: float) -> Iterator[_Box]:
    box.x, box.y = x + (box.span - box.width) / 2, y
    yield box
    x += (box.span - box.below) / 2
    for below in box.inputs:
        yield from _placed(below, x, y + box.height + _GAP_Y)
        x += below.span + _GAP_X


def _graph(tree: Outline) -> Iterator[str]:
    """Rows come from below; results leave at the top."""
    root = _box(tree)
    boxes = list(_placed(root, 1, 1))
    width, height = root.span + 2, max(b.y + b.height for b in boxes) + 1
    yield (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img"'
        ' aria-label="the operators of the query"><defs><marker id="tip" viewBox="0 0 8 8"'
        ' refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8"/></marker></defs>'
    )
    for box in boxes:
        for below in box.inputs:
            begin = below.x + below.width / 2
            end, middle = box.x + box.width / 2, box.y + box.height + _GAP_Y / 2
            yield (
                f'<path marker-end="url(#tip)" d="M{begin:.0f},{below.y:.0f}'
                f" C{begin:.0f},{middle:.0f} {end:.0f},{middle:.0f}"
                f' {end:.0f},{box.y + box.height:.0f}"/>'
            )
        yield (
            f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}"'
            f' height="{box.height:.0f}" rx="6"/>'
        )
        for at, line in enumerate(box.lines):
            kind = ' class="title"' if at == 0 else ""
            y = box.y + _PADDING + _LINE * (at + 0.75)
            yield f'<text x="{box.x + _PADDING:.0f}" y="{y:.0f}"{kind}>{escape(line)}</text>'
    yield "</svg>"
