"""What is known of the streams of `traffic.ssql`, kept beside it: `.traffic.stats.json`.

The dot is for Spark: should a stream read that very directory, it passes such files over.
"""

from __future__ import annotations

import os
from pathlib import Path

from ssql.planner.statistics import NOTHING_KNOWN, Memory, memory_of


def path_beside(file: str) -> Path:
    path = Path(file)
    return path.with_name(f".{path.stem}.stats.json")


def load(file: str) -> Memory:
    """Nothing, if there is none. One that cannot be read is an OSError or a ValueError."""
    try:
        return memory_of(path_beside(file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return NOTHING_KNOWN


def save(file: str, memory: Memory) -> Path:
    """All of it or nothing: another run may be reading it."""
    target = path_beside(file)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(memory.text(), encoding="utf-8")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
