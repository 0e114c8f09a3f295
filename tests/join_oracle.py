"""What a join of streams gives, by its definition: every pair of rows is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oracle import Row, instant_text

Rows = tuple[Row | None, ...]  # a row of each side so far; None: the side was matched by nothing


@dataclass(frozen=True, slots=True)
class On:
    """A condition of a side, with the rows of those before it and its own: as text, and as what
    it says. NULL is no match."""

    sql: str
    holds: Callable[[Rows, Row], bool]


@dataclass(frozen=True, slots=True)
class Side:
    stream: str
    alias: str
    kind: str = ","
    on: tuple[On, ...] = ()
    range_us: int | None = None


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """`tumbling_us` or `within_us`: one window for all sides, in place of their own."""

    sides: tuple[Side, ...]
    columns: tuple[str, ...]  # of each side, in the result
    tumbling_us: int | None = None
    origin_us: int = 0
    within_us: int | None = None
    order: str = ""  # an ORDER BY

    def names(self) -> list[str]:
        return [f"{s.alias}_{c}" for s in self.sides for c in self.columns]

    def sql(self) -> str:
        shown = ", ".join(
            f"{s.alias}.{c} AS {s.alias}_{c}" for s in self.sides for c in self.columns
        )
        commas = all(s.kind == "," for s in self.sides)
        parts = [self._item(0)]
        for at, side in enumerate(self.sides[1:], 1):
            if commas:
                parts.append(f", {self._item(at)}")
            else:
                kind = "INNER" if side.kind == "," else side.kind
                parts.append(f" {kind} JOIN {self._item(at)} ON {_all(side)}")
        text = f"SELECT {shown} FROM {''.join(parts)}"
        conditions = [o.sql for s in self.sides for o in s.on]
        if commas and conditions:
            text += f" WHERE {' AND '.join(conditions)}"
        if self.order:
            text += f" ORDER BY {self.order}"
        return text if self.within_us is None else f"{text} WINDOW {self.within_us} microseconds"

    def _item(self, at: int) -> str:
        side = self.sides[at]
        item = f"{side.stream} {side.alias}"
        if self.within_us is not None:
            return item
        if self.tumbling_us is None:
            return f"{item} [RANGE {side.range_us} microseconds]"
        if at < len(self.sides) - 1:
            return item
        origin = f", ORIGIN '{instant_text(self.origin_us)}'" if self.origin_us else ""
        return f"{item} [RANGE TUMBLING {self.tumbling_us} microseconds{origin}]"

    # -------------------------------------------------------------- results

    def evaluate(self, rows: dict[str, list[Row]]) -> list[Row]:
        return [self._shown(found) for found in self.results(rows)]

    def _shown(self, found: Rows) -> Row:
        values = [None if r is None else r[c] for r in found for c in self.columns]
        return dict(zip(self.names(), values, strict=True))

    def results(self, rows: dict[str, list[Row]]) -> list[Rows]:
        found: list[Rows] = [(r,) for r in _timed(rows[self.sides[0].stream])]
        for at in range(1, len(self.sides)):
            found = list(self._joined(found, at, _timed(rows[self.sides[at].stream])))
        return found

    def _joined(self, before: list[Rows], at: int, rows: list[Row]) -> Iterator[Rows]:
        side, met = self.sides[at], set()
        for one in before:
            partners = [n for n, row in enumerate(rows) if self._meets(one, row, at)]
            met.update(partners)
            for n in partners:
                yield (*one, rows[n])
            if not partners and side.kind in ("LEFT", "FULL"):
                yield (*one, None)
        if side.kind in ("RIGHT", "FULL"):
            nothing: Rows = (None,) * at
            yield from ((*nothing, row) for n, row in enumerate(rows) if n not in met)

    def _meets(self, before: Rows, row: Row, at: int) -> bool:
        if not self._is_in_window([*before, row]):
            return False
        return all(on.holds(before, row) for on in self.sides[at].on)

    def _is_in_window(self, rows: list[Row | None]) -> bool:
        there = [(s, r["ts"]) for s, r in zip(self.sides, rows, strict=False) if r is not None]
        if len(there) < 2:
            return False  # nothing but what matched nothing
        if self.tumbling_us is not None:
            return len({(ts - self.origin_us) // self.tumbling_us for _, ts in there}) == 1
        latest = max(ts for _, ts in there)
        if self.within_us is not None:
            return all(latest - ts <= self.within_us for _, ts in there)
        return all(latest - ts < side.range_us for side, ts in there if side.range_us is not None)


def _all(side: Side) -> str:
    return " AND ".join(o.sql for o in side.on) or "true"


def _timed(rows: list[Row]) -> list[Row]:
    return [r for r in rows if r["ts"] is not None and r["ts"] >= 0]


def equal(a: str, b: str, column: str, of: str, at: int) -> On:
    """`a.column = b.of`, where a is the side at `at`, and b the side whose ON it is."""
    return On(f"{a}.{column} = {b}.{of}", lambda before, row: _equals(before[at], row, column, of))


def _equals(one: Row | None, row: Row, column: str, of: str) -> bool:
    return one is not None and one[column] is not None and one[column] == row[of]


def below(a: str, b: str, column: str, at: int) -> On:
    def holds(before: Rows, row: Row) -> bool:
        one = before[at]
        if one is None or one[column] is None or row[column] is None:
            return False
        return bool(one[column] < row[column])

    return On(f"{a}.{column} < {b}.{column}", holds)


def above(b: str, column: str, least: int) -> On:
    """About the side alone."""
    return On(
        f"{b}.{column} > {least}",
        lambda _, row: row[column] is not None and row[column] > least,
    )
