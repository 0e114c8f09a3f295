"""Conditions that only a Python function can tell, asked of rows of several sides as they meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

from ssql.runtime.operators.tables import Numbers

_RETURNED = {"BOOLEAN": pa.bool_(), "DOUBLE": pa.float64(), "INT": pa.int32(), "BIGINT": pa.int64()}


@dataclass(frozen=True, slots=True)
class Asked:
    """`function(arguments)`, compared with a value or true by itself. Arguments are columns of
    sides, as `a.name`; the function returns what Spark SQL calls `returns`, or None."""

    function: Callable[..., Any]
    arguments: Sequence[str]
    returns: str = "BOOLEAN"
    comparison: str = ""
    value: Any = None

    def holds(self, columns: Mapping[str, pa.Array], number: int) -> Numbers:
        """For each row of these columns; NULL is no."""
        given = [columns[name].to_pylist() for name in self.arguments]
        answers = map(self.function, *given) if given else [self.function() for _ in range(number)]
        found = pa.array(list(answers), _RETURNED[self.returns])
        if self.comparison:
            found = self._compared(found)
        return found.fill_null(False).to_numpy(zero_copy_only=False)

    def _compared(self, found: pa.Array) -> pa.Array:
        """As Spark compares: NaN equals itself, and is more than any number."""
        value = pa.scalar(self.value, pa.float64())
        numbers = found.cast(pa.float64())
        missing = pc.is_nan(numbers)
        answer = getattr(pc, _COMPARISONS[self.comparison])(numbers, value)
        return pc.if_else(missing, self.comparison in (">", ">=", "<>"), answer)


_COMPARISONS = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "=": "equal",
    "<>": "not_equal",
}


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
        return np.flatnonzero(asked.holds(columns, len(rows[0])))


def question(asked: Asked, places: tuple[tuple[int, str], ...]) -> Question:
    return Question(cloudpickle.dumps(asked), places)


@cache
def _unpickled(pickled: bytes) -> Asked:
    found: Asked = cloudpickle.loads(pickled)
    return found
