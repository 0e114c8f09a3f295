"""Which types fit together."""

from __future__ import annotations

from ssql.planner.scalar import UNKNOWN_TYPE

_FAMILIES = {
    "number": ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"),
    "text": ("STRING", "CHAR", "VARCHAR"),
    "time": ("TIMESTAMP", "DATE"),
}


def _family(type: str) -> str:
    name = type.split("(")[0].split("<")[0].strip().upper()
    for family, members in _FAMILIES.items():
        if name.startswith(members) and not name.startswith("INTERVAL"):
            return family
    return name


def same_family(a: str, b: str) -> bool:
    """May a value of one type stand where the other is wanted, without a CAST?"""
    return {UNKNOWN_TYPE, "VOID"} & {a, b} != set() or _family(a) == _family(b)
