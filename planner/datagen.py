"""The `datagen` connector: rows made from their number and a seed, the same ones every time.

Endless and in real time without `rows`; with it, so many rows of a time of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from ssql.planner.catalog import Column, Connection, OptionValue
from ssql.planner.scalar import column, to_sql

_LARGEST_BATCH = 1_000_000


class BadOption(ValueError):
    """An option with a value that it cannot have."""

    def __init__(self, key: str, wants: str) -> None:
        super().__init__(f"{key} takes {wants}")
        self.key = key


def _count(key: str, value: OptionValue) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, Decimal)
        or value != int(value)
        or value < 1
    ):
        raise BadOption(key, "a whole number from 1 on")
    return int(value)


def _number(key: str, value: OptionValue) -> int:
    if isinstance(value, bool) or not isinstance(value, Decimal) or value != int(value):
        raise BadOption(key, "a whole number")
    return int(value)


def _amount(key: str, value: OptionValue) -> float:
    if isinstance(value, bool) or not isinstance(value, Decimal) or value < 0:
        raise BadOption(key, "a number from 0 on")
    return float(value)


def _share(key: str, value: OptionValue) -> float:
    if _amount(key, value) > 1:
        raise BadOption(key, "a share between 0 and 1")
    return float(value)


def _moment(key: str, value: OptionValue) -> int:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise BadOption(key, "a time, as in '2026-01-01 00:00:00'") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000_000)


# Every option with how it is read and what it is if nobody says.
OPTIONS: dict[str, tuple[Callable[[str, OptionValue], float], float | None]] = {
    "rows": (_count, None),  # none: endless
    "rate": (_amount, 1_000),  # rows a second
    "keys": (_count, 10),  # different values of a STRING column
    "skew": (_amount, 0),  # 0: all keys are alike; the larger, the more rows the first ones have
    "disorder": (_amount, 0),  # seconds by which a row may be late
    "nulls": (_share, 0),  # of the values, other than times
    "integers": (_count, 1_000),  # whole numbers are below this
    "seed": (_number, 0),
    "batch": (_count, None),  # rows that are read at once
    "start": (_moment, 1_767_225_600_000_000),  # the time of the first row: 2026-01-01 00:00:00
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    rows: int | None
    rate: float
    keys: int
    skew: float
    disorder: float
    nulls: float
    integers: int
    seed: int
    batch: int
    start: int

    @property
    def is_endless(self) -> bool:
        return self.rows is None

    def column_sql(self, wanted: Column) -> str:
        """A column over `value`, the row's number (and `timestamp`, if rows are endless)."""
        sql = self._value_sql(wanted)
        if self.nulls and not wanted.type.startswith("TIMESTAMP"):
            sql = f"if({self._uniform(wanted.name, 'null')} < {self.nulls!r}, NULL, {sql})"
        return f"{sql} AS {to_sql(column(wanted.name))}"

    def _value_sql(self, wanted: Column) -> str:
        uniform = self._uniform(wanted.name)
        match wanted.type.split("(")[0]:
            case "STRING" | "VARCHAR" | "CHAR":
                place = f"pow({uniform}, {1 + self.skew!r})" if self.skew else uniform
                key = f"CAST(floor({self.keys} * {place}) AS INT)"
                if _ADDRESS.search(wanted.name):
                    return f"concat('10.0.', {key} div 256, '.', {key} % 256)"
                return f"concat('key_', {key})"
            case "BOOLEAN":
                return f"{uniform} < 0.5"
            case "FLOAT" | "DOUBLE":
                return f"CAST({uniform} * {self.integers} AS {wanted.type})"
            case "DECIMAL":
                digits, scale = map(int, re.findall(r"\d+", wanted.type) or (10, 0))
                below = min(self.integers, 10 ** (digits - scale)) - Decimal(10) ** -scale
                return f"CAST({uniform} * {max(below, Decimal(0))} AS {wanted.type})"
            case "TIMESTAMP" | "TIMESTAMP_LTZ" | "TIMESTAMP_NTZ" | "DATE":
                return f"CAST({self._time_sql(wanted.name)} AS {wanted.type})"
        if wanted.type not in _LARGEST:
            return f"CAST(NULL AS {wanted.type})"  # of arrays, maps and the like there are none
        below = min(self.integers, _LARGEST[wanted.type])
        return f"CAST(floor({uniform} * {below}) AS {wanted.type})"

    def _time_sql(self, name: str) -> str:
        late = f"CAST({self._uniform(name)} * {round(self.disorder * 1_000_000)} AS BIGINT)"
        if self.is_endless:
            now = "timestamp"
            return f"timestamp_micros(unix_micros(timestamp) - {late})" if self.disorder else now
        micros = f"{self.start} + CAST(value * {1_000_000 / self.rate!r} AS BIGINT)"
        return f"timestamp_micros({micros}{f' - {late}' if self.disorder else ''})"

    def _uniform(self, name: str, salt: str = "") -> str:
        """A number in [0, 1) that the row's number, the seed and the column determine."""
        words = "".join(f", '{w}'" for w in (_word(name), salt) if w)
        return f"pmod(xxhash64(value, {self.seed}{words}), 1048576) / 1048576D"


_ADDRESS = re.compile(r"(?:^|_)(?i:ip)(?:$|_)|IP$")
_LARGEST = {"TINYINT": 128, "SMALLINT": 32_768, "INT": 2**31, "BIGINT": 2**53}


def _word(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def generator(connection: Connection) -> Generator:
    """The settings of a stream or table; BadOption for a value that cannot be."""
    read: dict[str, float | None] = {}
    for key, (parse, default) in OPTIONS.items():
        given = connection.option(key)
        read[key] = default if given is None else parse(key, given)
    if not read["rate"]:
        raise BadOption("rate", "a number above 0")
    rows = read["rows"]
    read["batch"] = read["batch"] or min(_LARGEST_BATCH, int(rows or _LARGEST_BATCH))
    return Generator(**read)  # type: ignore[arg-type]
