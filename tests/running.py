"""Jobs run in the tests' own Spark session, on files that the tests write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiled import Row, job_of
from oracle import instant, instant_text

from ssql.runtime.run import Options, Runner
from ssql.runtime.summary import Summary

_TIMES = ("ts", "window_start", "window_end")


@dataclass(frozen=True, slots=True)
class Ran:
    rows: list[Row]
    summaries: list[Summary]


def run_text(text: str, plan: str | None = None, **options: Any) -> Ran:
    """Run a text as `ssql run --format jsonl` does; rows with times in microseconds."""
    lines: list[str] = []
    runner = Runner(job_of(text, plan), Options(format="jsonl", **options), lines.append, _silent)
    summaries = runner.run()
    return Ran([_row(line) for line in "".join(lines).splitlines()], summaries)


def _silent(text: str) -> None:
    """What people are told is of no interest here."""


def _row(line: str) -> Row:
    row: Row = json.loads(line)
    return {k: _value(v) if k in _TIMES else v for k, v in row.items()}


def _value(bound: Any) -> Any:
    """Bounds are times, but for row windows, and for landmark windows, which begin nowhere."""
    return instant(bound.rstrip("Z").replace("T", " ")) if isinstance(bound, str) else bound


def write_rows(file: Path, rows: Iterable[Row], order: int = 0) -> None:
    """Rows as a file of JSON lines, complete or absent; files are read in the order of `order`."""
    lines = []
    for row in rows:
        shown = {
            k: instant_text(v).replace(" ", "T") + "Z" if k == "ts" and v is not None else v
            for k, v in row.items()
        }
        lines.append(json.dumps(shown))
    file.parent.mkdir(exist_ok=True)
    partial = file.with_name(f".{file.name}")
    partial.write_text("\n".join(lines) + "\n" if lines else "")
    os.utime(partial, (1_700_000_000 + order, 1_700_000_000 + order))
    partial.rename(file)
