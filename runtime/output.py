"""Results on standard output: a batch of rows as lines of text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ssql.runtime.progress import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

QUERY = "_query"
Write = Callable[[str], None]


class Printer:
    """Prints the batches of one query. `select` numbers it among those of a file with several."""

    def __init__(self, format: str, write: Write, select: int | None, *, has_order: bool) -> None:
        self._has_order = has_order
        self.select = select
        self._write = write
        self._lines = {"jsonl": self._jsonl, "csv": self._csv, "table": self._table}[format]
        self._headed = False
        self._widths: list[int] = []

    def batch(self, rows: DataFrame) -> int:
        """Print a batch; how many rows it had."""
        lines = list(self._lines(rows))
        if lines:
            self._write("".join(lines))
        return len(lines)

    def _numbered(self, columns: list[Column]) -> list[Column]:
        from pyspark.sql import functions as F

        return columns if self.select is None else [F.lit(self.select).alias(QUERY), *columns]

    def _jsonl(self, rows: DataFrame) -> Iterator[str]:
        from pyspark.sql import functions as F

        columns = [_iso(_column(f.name), f.dataType).alias(f.name) for f in rows.schema.fields]
        line = F.to_json(F.struct(*self._numbered(columns)), {"ignoreNullFields": "false"})
        for row in rows.select(line.alias("line")).collect():
            yield f"{row.line}\n"

    def _csv(self, rows: DataFrame) -> Iterator[str]:
        texts = rows.select(*self._numbered([_text(f.name, f.dataType) for f in rows.schema]))
        found = texts.collect()
        if found and not self._headed:
            self._headed = True
            self._write(_csv_line(texts.columns))
        for row in found:
            yield _csv_line(["" if v is None else v for v in row])

    def _table(self, rows: DataFrame) -> Iterator[str]:
        texts = rows.select(*self._numbered([_text(f.name, f.dataType) for f in rows.schema]))
        found = [["NULL" if v is None else str(v) for v in row] for row in texts.collect()]
        if not found:
            return
        widths = [max(map(len, cells)) for cells in zip(texts.columns, *found, strict=True)]
        if self._widths:
            widths = list(map(max, widths, self._widths))
        self._widths = widths
        if not self._headed:
            self._headed = True
            self._write(_padded(texts.columns, widths))
            self._write("  ".join("─" * w for w in widths) + "\n")
        # A batch of a stream has no order of its own, unless the query asks for one.
        for cells in found if self._has_order else sorted(found, key=_by_cells):
            yield _padded(cells, widths)


def _by_cells(cells: list[str]) -> list[tuple[int, float, str]]:
    """Numbers as numbers, and before texts."""
    return [(0, float(c), "") if _NUMBER.fullmatch(c) else (1, 0.0, c) for c in cells]


_NUMBER = re.compile(r"-?\d+(\.\d+)?(E-?\d+)?")


def _padded(cells: list[str], widths: list[int]) -> str:
    return "  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip() + "\n"


def _csv_line(cells: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.expr(quoted(name))


def _text(name: str, type: DataType) -> Column:
    """A column as text: nested values as JSON, times as in Spark."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType

    column = _column(name)
    if isinstance(type, ArrayType | MapType | StructType):
        column = F.to_json(_iso(column, type), {"ignoreNullFields": "false"})
    elif isinstance(type, BinaryType):
        column = F.base64(column)
    return column.cast("string").alias(name)


def _iso(column: Column, type: DataType) -> Column:
    """The value with its times as `2026-01-01T00:00:00Z`, a fraction only if there is one."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import (
        ArrayType,
        MapType,
        StructType,
        TimestampNTZType,
        TimestampType,
    )

    match type:
        case TimestampType():
            utc = F.to_utc_timestamp(column, F.current_timezone()).cast("string")
            return F.concat(F.replace(utc, F.lit(" "), F.lit("T")), F.lit("Z"))
        case TimestampNTZType():
            return F.replace(column.cast("string"), F.lit(" "), F.lit("T"))
        case ArrayType() if _has_time(type):
            return F.transform(column, lambda item: _iso(item, type.elementType))
        case MapType() if _has_time(type):
            keyed = F.transform_keys(column, lambda key, _: _iso(key, type.keyType))
            return F.transform_values(keyed, lambda _, value: _iso(value, type.valueType))
        case StructType() if _has_time(type):
            fields = (_iso(column[f.name], f.dataType).alias(f.name) for f in type.fields)
            return F.when(column.isNotNull(), F.struct(*fields))
    return column


def _has_time(type: DataType) -> bool:
    from pyspark.sql.types import (
        ArrayType,
        MapType,
        StructType,
        TimestampNTZType,
        TimestampType,
    )

    match type:
        case TimestampType() | TimestampNTZType():
            return True
        case ArrayType():
            return _has_time(type.elementType)
        case MapType():
            return _has_time(type.keyType) or _has_time(type.valueType)
        case StructType():
            return any(_has_time(f.dataType) for f in type.fields)
    return False
