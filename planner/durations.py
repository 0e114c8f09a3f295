"""Lengths of time in words."""

from __future__ import annotations

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}


def spell(microseconds: int) -> str:
    """A length as a person and Spark would write it: `10 minutes`, `90 seconds`."""
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, rest = divmod(microseconds, MICROSECONDS[unit])
        if rest == 0 and count:
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "0 seconds"


def microseconds(words: str) -> int:
    """What `spell` has written."""
    count, unit = words.split()
    return int(count) * MICROSECONDS[unit.removesuffix("s")]
