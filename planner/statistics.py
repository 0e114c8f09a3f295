"""What is known of the rows of streams, and where each figure comes from.

A figure is declared (`WITH (stats.rate = 5000)`), learned by an earlier run, sampled by `ssql
analyze`, or assumed; whichever of these comes first is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from ssql.planner.catalog import Column, OptionValue, Stream

PREFIX = "stats."
FORMAT = 1
DECLARED, LEARNED, SAMPLED, ASSUMED = "declared", "learned", "sampled", "assumed"

# What is assumed of a stream that nothing is known of: that it is busy. With less to do, any plan
# keeps up.
RATE = 100_000.0  # rows a second of event time
GROUPS = 1_000.0  # values of a column, or of columns that are grouped by
BATCH_SECONDS = 10.0  # of event time that a batch brings
SKEW = 0.0
# Bytes of a value, by the beginning of its type's name; of any other type: the last one.
_WIDTHS = {
    "BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INTERVAL": 8, "INT": 4, "FLOAT": 4, "DATE": 4,
    "BIGINT": 8, "DOUBLE": 8, "TIMESTAMP": 8, "DECIMAL": 16, "STRING": 20, "": 40,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and where it comes from."""

    value: float
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a sample or a run saw of a stream. None: it did not look."""

    rate: float | None = None
    distinct: Mapping[str, float] = field(default_factory=dict)  # of a column, or several: `a,b`
    skew: float | None = None
    row_bytes: float | None = None
    disorder_seconds: float | None = None
    batch_rows: float | None = None
    rows: int = 0  # that it looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the last run of a query was like."""

    plan: str
    rows: int
    seconds: float
    batches: int
    batch_seconds: float  # the median
    state_rows: int
    state_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFigures:
    """All that plans are judged by, of one stream."""

    rate: Figure
    groups: Figure | None  # declared for the keys of whatever query groups the stream
    distinct: Mapping[str, Figure]
    together: Mapping[tuple[str, ...], Figure]  # of several columns
    skew: Figure  # the exponent of Zipf's law: 0, all groups have as many rows
    row_bytes: Figure
    disorder_seconds: Figure
    batch_rows: Figure

    def distinct_of(self, column: str) -> Figure:
        return self.distinct.get(column.casefold(), Figure(GROUPS, ASSUMED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A key of `stats.…` in a stream's WITH, and what it takes."""

    key: str
    wants: str
    least: float
    most: float = float("inf")


DECLARATIONS = {
    d.key: d
    for d in (
        Declaration(key="rate", wants="rows a second, above 0", least=1e-9),
        Declaration(key="groups", wants="a number of groups, from 1 on", least=1),
        Declaration(key="skew", wants="Zipf's exponent, from 0 (none) to 5", least=0, most=5),
        Declaration(key="row_bytes", wants="bytes a row, from 1 on", least=1),
        Declaration(key="disorder", wants="seconds, from 0 on", least=0),
        Declaration(key="batch", wants="rows a batch, from 1 on", least=1),
    )
}
DISTINCT = "distinct."  # stats.distinct.COLUMN: values that the column has


def problem_with(key: str, value: OptionValue, columns: tuple[Column, ...]) -> str | None:
    """What is wrong with an option `stats.…`, if anything is."""
    name = key.casefold().removeprefix(PREFIX)
    if name.startswith(DISTINCT):
        known = {c.name.casefold() for c in columns}
        if name.removeprefix(DISTINCT) not in known:
            return f"there is no column {key[len(PREFIX) + len(DISTINCT) :]}"
        wanted = Declaration(key=name, wants="a number of values, from 1 on", least=1)
    elif name not in DECLARATIONS:
        return f"there is no statistic {name}"
    else:
        wanted = DECLARATIONS[name]
    fits = isinstance(value, Decimal) and not isinstance(value, bool)
    if not fits or not wanted.least <= float(value) <= wanted.most:
        return f"{key} takes {wanted.wants}"
    return None


def names() -> list[str]:
    return [f"{PREFIX}{k}" for k in DECLARATIONS] + [f"{PREFIX}{DISTINCT}COLUMN"]


# ------------------------------------------------------------------ what was seen before


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What samples and runs have seen of one file: of its streams by name, of its queries by the
    names of their functions."""

    sampled: Mapping[str, Observed] = field(default_factory=dict)
    learned: Mapping[str, Observed] = field(default_factory=dict)
    runs: Mapping[str, Run] = field(default_factory=dict)

    def figures(self, stream: Stream) -> StreamFigures:
        """The figures of a stream, each from the best origin that has it."""
        declared = _declared(stream)
        seen = [
            (LEARNED, self.learned.get(stream.name.casefold(), Observed())),
            (SAMPLED, self.sampled.get(stream.name.casefold(), Observed())),
        ]

        def found(key: str, attribute: str, otherwise: float) -> Figure:
            if key in declared:
                return Figure(declared[key], DECLARED)
            for origin, observed in seen:
                value = getattr(observed, attribute)
                if value is not None:
                    return Figure(value, origin)
            return Figure(otherwise, ASSUMED)

        rate = found("rate", "rate", RATE)
        delay_us = stream.watermark.delay_us if stream.watermark else 0
        distinct = {
            column: Figure(value, origin)
            for origin, observed in reversed(seen)
            for column, value in observed.distinct.items()
        }
        distinct |= {
            key.removeprefix(DISTINCT): Figure(value, DECLARED)
            for key, value in declared.items()
            if key.startswith(DISTINCT)
        }
        return StreamFigures(
            rate=rate,
            groups=Figure(declared["groups"], DECLARED) if "groups" in declared else None,
            distinct={k: f for k, f in distinct.items() if "," not in k},
            together={tuple(k.split(",")): f for k, f in distinct.items() if "," in k},
            skew=found("skew", "skew", SKEW),
            row_bytes=found("row_bytes", "row_bytes", sum(map(width, stream.columns))),
            disorder_seconds=found("disorder", "disorder_seconds", delay_us / 1e6),
            batch_rows=found("batch", "batch_rows", rate.value * BATCH_SECONDS),
        )

    def with_sampled(self, stream: str, observed: Observed) -> Memory:
        return replace(self, sampled={**self.sampled, stream.casefold(): observed})

    def with_learned(self, stream: str, observed: Observed) -> Memory:
        return replace(self, learned={**self.learned, stream.casefold(): observed})

    def with_run(self, query: str, run: Run) -> Memory:
        return replace(self, runs={**self.runs, query: run})

    def text(self) -> str:
        streams = sorted({*self.sampled, *self.learned})
        fields = {
            "format": FORMAT,
            "streams": {
                name: {
                    origin: _fields(seen[name])
                    for origin, seen in ((SAMPLED, self.sampled), (LEARNED, self.learned))
                    if name in seen
                }
                for name in streams
            },
            "runs": {name: _fields(run) for name, run in sorted(self.runs.items())},
        }
        return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


NOTHING_KNOWN = Memory()


def memory_of(text: str) -> Memory:
    """From `text()`. A file of another version, or a damaged one, is a ValueError."""
    fields = json.loads(text)
    try:
        if fields["format"] != FORMAT:
            raise ValueError(f"it has format {fields['format']}")
        found: dict[str, dict[str, Observed]] = {SAMPLED: {}, LEARNED: {}}
        for name, origins in fields["streams"].items():
            for origin, seen in origins.items():
                found[origin][name] = _observed(seen)
        runs = {str(name): Run(**run) for name, run in fields.get("runs", {}).items()}
        return Memory(sampled=found[SAMPLED], learned=found[LEARNED], runs=runs)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is damaged: {error!r}") from error


def _fields(seen: Observed | Run) -> dict[str, Any]:
    named = {name: getattr(seen, name) for name in type(seen).__slots__}
    return {name: value for name, value in named.items() if value not in (None, {})}


def _observed(fields: Mapping[str, Any]) -> Observed:
    numbers = {k: float(v) for k, v in fields.items() if k not in ("distinct", "rows")}
    distinct = {str(k): float(v) for k, v in fields.get("distinct", {}).items()}
    return Observed(**numbers, distinct=distinct, rows=int(fields.get("rows", 0)))


def _declared(stream: Stream) -> dict[str, float]:
    options = stream.connection.options if stream.connection else ()
    return {
        key.casefold().removeprefix(PREFIX): float(value)
        for key, value in options
        if key.casefold().startswith(PREFIX) and isinstance(value, Decimal)
    }


def width(column: Column) -> float:
    """Bytes of a column's values, by its type."""
    return width_of(column.type)


def width_of(type: str) -> float:
    return next(w for begin, w in _WIDTHS.items() if type.upper().startswith(begin))
