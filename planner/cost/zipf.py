"""How many different values there are among so many rows, and behind a sample."""

from __future__ import annotations

import math
from functools import lru_cache

# A sample in which nearly every row has a value of its own says no more than: very many.
_MOST = 1e9


def expected_distinct(rows: float, of: float, skew: float) -> float:
    """How many of `of` values are among so many rows. Ranks are taken together in boxes that double
    in size: their shares differ little."""
    if rows <= 0:
        return 0.0
    found = 0.0
    for count, share in _shares(of, skew):
        found += count * -math.expm1(-rows * share)
    return min(found, rows, of)


@lru_cache(maxsize=256)
def _shares(of: float, skew: float) -> tuple[tuple[float, float], ...]:
    """How many values there are in each box, and the share of rows that each of them has."""
    boxes: list[tuple[float, float]] = []
    begin = 1.0
    while begin <= of:
        end = min(2 * begin, of + 1)
        boxes.append((end - begin, ((begin + end - 1) / 2) ** -skew))
        begin = end
    total = sum(count * weight for count, weight in boxes)
    return tuple((count, weight / total) for count, weight in boxes)


def distinct_behind(rows: float, seen: float) -> float:
    """How many values there are, if so many of them were among so many rows, all alike."""
    if rows <= 0 or seen <= 0:
        return 0.0
    low, high = seen, _MOST
    if expected_distinct(rows, high, 0.0) <= seen:
        return high
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        if expected_distinct(rows, middle, 0.0) < seen:
            low = middle
        else:
            high = middle
    return low if low > 1.002 * seen else seen
