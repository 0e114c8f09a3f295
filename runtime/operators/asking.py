"""Conditions that only a Python function can tell, asked of rows of several sides as they meet."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle

from ssql.runtime.operators.tables import Numbers

# What a function of each type gives; anything else is NULL to Spark.
_ANSWERS: dict[str, type] = {"BOOLEAN": bool, "DOUBLE": float, "INT": int, "BIGINT": int}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """`function(arguments)`, compared with a value or true by itself. Arguments are columns of
    sides, as `a.name`; the function returns what Spark SQL calls `returns`, or None."""

    function: Callable[..., Any]
    arguments: Sequence[str]
    returns: str = "BOOLEAN"
    comparison: str = ""
    value: Any = None

    def holds(self, columns: Mapping[str, pa.Array]) -> Numbers:
        """For each row of these columns; NULL is no."""
        given = (columns[name].to_pylist() for name in self.arguments)
        answers = map(self.function, *given)
        return np.fromiter((self._is_yes(answer) for answer in answers), np.bool_)

    def _is_yes(self, answer: Any) -> bool:
        if type(answer) is not _ANSWERS[self.returns.upper()]:
            return False
        if not self.comparison:
            return bool(answer)
        if isinstance(answer, float) and isnan(answer):  # to Spark more than any number
            return self.comparison in (">", ">=", "<>")
        return _COMPARISONS[self.comparison](answer, self.value)


@dataclass(frozen=True, slots=True)
class Question:
    """A condition, with the places of its arguments: by side, and by the name of the column.

    Its function travels in pickled form. Spark begins an operator in a process that has no modules
    of the user's, and that asks nothing."""

    pickled: bytes
    places: tuple[tuple[int, str], ...]

    @property
    def asked(self) -> Asked:
        return _unpickled(self.pickled)

    def kept(self, tables: Sequence[pa.Table | None], rows: Sequence[Numbers]) -> Numbers:
        """Which of the results it holds for; `rows` are the places of their rows, by side."""
        asked, columns = self.asked, {}
        for name, (side, column) in zip(asked.arguments, self.places, strict=True):
            table = tables[side]
            assert table is not None, "what meets is there"
            values = table.column(column).take(pa.array(rows[side], pa.int64()))
            columns[name] = values.combine_chunks()
        return np.flatnonzero(asked.holds(columns))


def question(asked: Asked, places: tuple[tuple[int, str], ...]) -> Question:
    return Question(cloudpickle.dumps(asked), places)


@cache
def _unpickled(pickled: bytes) -> Asked:
    found: Asked = cloudpickle.loads(pickled)
    return found
