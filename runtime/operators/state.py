"""Tables that an operator keeps between batches, in chunks: what did not change is not written.

A chunk is what one batch added to a table. Rows that have expired stay in their chunk until most of
it has; an operator tells from its other state which these are, and passes them over. A row that is
replaced is taken out at once. Small chunks are put together when there are many of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ssql.runtime.operators.tables import Numbers, from_bytes, stacked, taken, to_bytes

FORMAT = 2
MOST_CHUNKS = 32
LARGEST_CHUNK = 16 * 2**20  # bytes
# Beyond so many bytes a chunk is written compressed: less goes to Spark and into its files.
WORTH_COMPRESSING = 2**20


class Chunks(Protocol):
    """Where chunks are: Spark's state, or a dict in a test."""

    def read(self, table: str, chunk: int) -> bytes: ...

    def write(self, table: str, chunk: int, blob: bytes) -> None: ...

    def remove(self, table: str, chunk: int) -> None: ...


class State:
    """The tables of one bucket, and a few numbers beside them (`memo`)."""

    def __init__(self, chunks: Chunks, kept: Mapping[str, Any] | None) -> None:
        if kept is not None and kept.get("format") != FORMAT:
            raise RuntimeError(
                f"this state has format {kept.get('format')}, and this version of ssql reads"
                f" format {FORMAT}: start anew with another checkpoint"
            )
        self.memo: dict[str, Any] = dict(kept["memo"]) if kept else {}
        self._chunks = chunks
        # By table: its chunks, each with how many rows and bytes it has.
        self._index: dict[str, dict[str, list[int]]] = dict(kept["chunks"]) if kept else {}
        self._next: int = kept["next"] if kept else 0
        self._loaded: dict[str, list[pa.Table]] = {}

    def kept(self) -> dict[str, Any] | None:
        """What leads back to the tables; None if nothing is left to remember."""
        if not self.memo and not any(self._index.values()):
            return None
        return {"format": FORMAT, "memo": self.memo, "chunks": self._index, "next": self._next}

    def rows(self, name: str) -> int:
        return sum(rows for rows, _ in self._index.get(name, {}).values())

    def table(self, name: str) -> pa.Table | None:
        """All rows, expired ones that are still there included; None if there are none."""
        tables = self._tables(name)
        return stacked(tables) if tables else None

    def _tables(self, name: str) -> list[pa.Table]:
        if name not in self._loaded:
            chunks = self._index.get(name, {})
            self._loaded[name] = [from_bytes(self._chunks.read(name, int(c))) for c in chunks]
        return self._loaded[name]

    def change(
        self,
        name: str,
        *,
        added: pa.Table | None = None,
        replaced: Numbers | None = None,
        expired: Numbers | None = None,
    ) -> None:
        """`replaced` and `expired` are masks over the rows that `table` gave."""
        new = self._swept(name, replaced, expired)
        if added is not None and added.num_rows:
            new.append(added)
        if new:
            new = self._with_small_ones(name, new)
            self._write(name, stacked(new))
        self._loaded.pop(name, None)

    def replace(self, name: str, table: pa.Table | None) -> None:
        """All of a table anew."""
        for chunk in list(self._index.get(name, {})):
            self._remove(name, chunk)
        if table is not None and table.num_rows:
            self._write(name, table)
        self._loaded.pop(name, None)

    def _swept(
        self, name: str, replaced: Numbers | None, expired: Numbers | None
    ) -> list[pa.Table]:
        """Take chunks away that have lost rows, and give back what is left of them."""
        if replaced is None and expired is None:
            return []
        left, begin = [], 0
        chunks = list(self._index.get(name, {}).items())
        for (chunk, (rows, _)), table in zip(chunks, self._tables(name), strict=True):
            here = slice(begin, begin + rows)
            begin += rows
            gone = np.zeros(rows, np.bool_)
            changed = False
            if replaced is not None:
                gone |= replaced[here]
                changed = bool(gone.any())
            if expired is not None:
                gone |= expired[here]
            if changed or 2 * np.count_nonzero(gone) >= rows:
                self._remove(name, chunk)
                if not gone.all():
                    left.append(taken(table, ~gone))
        return left

    def _with_small_ones(self, name: str, new: list[pa.Table]) -> list[pa.Table]:
        """With many small chunks, the smaller half of them becomes one."""
        sizes = {c: size for c, (_, size) in self._index.get(name, {}).items()}
        small = [c for c, size in sizes.items() if size < LARGEST_CHUNK // 2]
        if len(small) < MOST_CHUNKS:
            return new
        smaller = sorted(small, key=lambda c: sizes[c])[: MOST_CHUNKS // 2]
        tables = [from_bytes(self._chunks.read(name, int(c))) for c in smaller]
        for chunk in smaller:
            self._remove(name, chunk)
        return tables + new

    def _write(self, name: str, table: pa.Table) -> None:
        pieces = max(1, -(-table.nbytes // LARGEST_CHUNK))
        rows = -(-table.num_rows // pieces)
        for begin in range(0, table.num_rows, rows):
            piece = table.slice(begin, rows)
            compression = "zstd" if piece.nbytes > WORTH_COMPRESSING else None
            self._chunks.write(name, self._next, to_bytes(piece, compression))
            self._index.setdefault(name, {})[str(self._next)] = [piece.num_rows, piece.nbytes]
            self._next += 1

    def _remove(self, name: str, chunk: str) -> None:
        self._chunks.remove(name, int(chunk))
        del self._index[name][chunk]
