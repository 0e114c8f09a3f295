"""What EXPLAIN and ANALYZE show in a terminal: texts, coloured if asked for. cli.py prints them."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ssql.planner.explain import Outline
from ssql.planner.remembered import path_beside
from ssql.planner.report import (
    Alternatives,
    Report,
    Statistic,
    in_number,
    in_seconds,
)
from ssql.planner.statistics import ASSUMED, Observed

_WIDTH = 100
_INDENT = (0, 0, 0, 3)


def explained(reports: Sequence[Report], *, color: bool, verbose: bool) -> str:
    parts: list[RenderableType] = []
    for found in reports:
        parts += _report(found, verbose=verbose)
    return _text(parts, color=color)


def _text(parts: Sequence[RenderableType], *, color: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=color, no_color=not color, width=_WIDTH)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
    lines = (line.rstrip() for line in out.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def _report(found: Report, *, verbose: bool) -> list[RenderableType]:
    tree = Outline(found.title, (found.verdict,), found.tree.inputs)
    parts: list[RenderableType] = [_tree(tree)]
    if found.rewritings:
        parts.append(_heading("rewritten"))
        for change in found.rewritings:
            parts.append(Padding(Text(f"{change.rule}: {change.what}"), _INDENT))
            if verbose:
                parts.append(_tree(change.tree, indent="      "))
    for alternatives in found.alternatives:
        parts += _alternatives(alternatives)
    if found.measured:
        rows = [(m.name, m.expected, m.found) for m in found.measured]
        parts += [_heading("estimated and measured"), _table(("", "estimated", "measured"), rows)]
    return [*parts, Text()]


def _tree(outline: Outline, indent: str = "") -> Text:
    """As the lines of the outline are: titles stand out."""
    shown = Text()
    for line in outline.lines():
        shown.append(indent)
        begin = len(line) - len(line.lstrip(" │├└─"))
        is_detail = begin >= 5 and "─ " not in line[:begin]
        shown.append(line[:begin], style="dim")
        shown.append(line[begin:] + "\n", style="" if is_detail else "bold cyan")
    shown.right_crop(1)
    return shown


def _heading(text: str) -> Text:
    return Text(f"\n  {text}", style="bold")


def _alternatives(found: Alternatives) -> list[RenderableType]:
    plans = _plain_table("", "plan", *found.heads, "")
    for column in plans.columns[2 : 2 + len(found.heads)]:
        column.justify = "right"
    for line in found.lines:
        chosen = line.plan == found.chosen
        figures = line.costs or ("–",) * len(found.heads)
        style = "bold green" if chosen else "dim" if line.out else ""
        said = "chosen" if chosen else line.out
        plans.add_row("▸" if chosen else "", line.plan, *figures, said, style=style)
    return [
        _heading(f"plans for the {found.text}"),
        Padding(plans, _INDENT),
        Padding(Text(found.units, style="dim"), _INDENT),
        _heading("what is known of the rows"),
        _statistics(found.statistics),
        *_advice(found),
    ]


def _advice(found: Alternatives) -> list[RenderableType]:
    if not found.assumed:
        return []
    said = (
        f"{', '.join(dict.fromkeys(found.assumed))}: assumed. Run it once, sample it with ssql"
        f" analyze, or declare it, as in WITH (stats.{found.assumed[0]} = …)."
    )
    return [Padding(Text(said, style="dim"), _INDENT)]


def _statistics(statistics: Sequence[Statistic]) -> RenderableType:
    table = _plain_table("", "", "")
    for one in statistics:
        style = "dim" if one.origin == ASSUMED else ""
        table.add_row(one.name, one.text, one.origin, style=style)
    return Padding(table, _INDENT)


def _plain_table(*heads: str) -> Table:
    table = Table(box=None, show_header=any(heads), pad_edge=False, padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head)
    return table


def _table(heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> RenderableType:
    table = _plain_table(*heads)
    for row in rows:
        table.add_row(*row)
    return Padding(table, _INDENT)


# ------------------------------------------------------------------ ssql analyze


def analyzed(stream: str, seen: Observed, *, color: bool) -> str:
    rows = [("rows looked at", f"{seen.rows:,}")]
    if seen.rate is not None:
        rows.append(("rate", f"{in_number(seen.rate)} rows a second"))
    if seen.disorder_seconds is not None:
        rows.append(("disorder", in_seconds(seen.disorder_seconds)))
    if seen.row_bytes is not None:
        rows.append(("row", f"{in_number(seen.row_bytes)} bytes"))
    if seen.skew is not None:
        rows.append(("skew", f"{seen.skew:.2f}"))
    for columns, values in seen.distinct.items():
        rows.append((f"values of {columns.replace(',', ', ')}", in_number(values)))
    return _text([_heading(stream), _table(("", ""), rows)], color=color)


def kept_in(file: str) -> str:
    return f"kept in {path_beside(file)}"
