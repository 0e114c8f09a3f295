"""Lengths to whole microseconds or whole rows, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from ssql.compiler import ast, codes
from ssql.compiler.diagnostics import did_you_mean, fail
from ssql.compiler.source import Span
from ssql.planner.durations import MICROSECONDS

_SPELLINGS = {
    "us": "microsecond", "microsec": "microsecond", "ms": "millisecond", "msec": "millisecond",
    "millisec": "millisecond", "milli": "millisecond", "s": "second", "sec": "second",
    "m": "minute", "min": "minute", "h": "hour", "hr": "hour", "d": "day",
}  # fmt: skip
_ROWS = ("row", "tuple")
_CALENDAR = ("month", "quarter", "year")
_SHOWN = ("ms", "milliseconds", "seconds", "minutes", "hours", "days", "weeks", "rows")
MAX_MICROSECONDS = 10_000 * 365 * MICROSECONDS["day"]  # Spark's timestamps reach no further
MAX_ROWS = 2**53


@dataclass(frozen=True, slots=True)
class Amount:
    """So many microseconds, or so many rows."""

    value: int
    in_rows: bool


def amount(length: ast.Length, what: str) -> Amount:
    """`10 minutes`, `1000 rows`: greater than zero, and exact."""
    unit = _unit(length.unit, length.unit_span, f"{what} {length.number}")
    if length.number <= 0:
        raise fail(
            codes.NOT_POSITIVE,
            f"{what} must be greater than zero",
            length.span,
            helps=[f"as in {what} 10 {length.unit}"],
        )
    return _exact(length.number, unit, length.span, what)


def duration_us(interval: ast.Interval, what: str) -> int:
    """`INTERVAL 5 SECONDS`: zero or more."""
    try:
        number = Decimal(interval.number)
    except InvalidOperation:
        raise fail(
            codes.BAD_UNIT,
            f"{what} is not a number and a unit",
            interval.span,
            helps=["as in INTERVAL 5 SECONDS"],
        ) from None
    unit = _unit(interval.unit, interval.span, f"INTERVAL {interval.number}")
    if not number.is_finite() or number < 0 or unit in _ROWS:
        raise fail(
            codes.NOT_POSITIVE,
            f"{what} must be a length of time, zero or more",
            interval.span,
            helps=["as in INTERVAL 5 SECONDS"],
        )
    return _exact(number, unit, interval.span, what).value


def unit_microseconds(unit: str) -> int | None:
    """Microseconds of a unit of time; None if it is not one."""
    return MICROSECONDS.get(_singular(unit))


def _singular(unit: str) -> str:
    word = unit.lower()
    word = _SPELLINGS.get(word, word)
    word = word[:-1] if word.endswith("s") and word[:-1] else word
    return _SPELLINGS.get(word, word)


def _unit(written: str, span: Span, context: str) -> str:
    if not written:
        raise fail(
            codes.BAD_UNIT,
            "a unit is missing",
            span,
            helps=[f"as in {context} minutes", f"units: {', '.join(_SHOWN)}"],
        )
    word = _singular(written)
    if word in _CALENDAR:
        raise fail(
            codes.CALENDAR_UNIT,
            f"a {word} has no fixed length",
            span,
            helps=["say it in days: 30 days, 365 days"],
        )
    if word not in MICROSECONDS and word not in _ROWS:
        raise fail(
            codes.BAD_UNIT,
            f"unknown unit {written}",
            span,
            helps=did_you_mean(written, _SHOWN, "units"),
        )
    return word


def _exact(number: Decimal, unit: str, span: Span, what: str) -> Amount:
    in_rows = unit in _ROWS
    value = number * (1 if in_rows else MICROSECONDS[unit])
    if value != value.to_integral_value():
        whole = "whole rows" if in_rows else "whole microseconds"
        raise fail(codes.INEXACT_LENGTH, f"{what} is not in {whole}", span, helps=[f"use {whole}"])
    if value > (MAX_ROWS if in_rows else MAX_MICROSECONDS):
        limit = f"{MAX_ROWS:,} rows" if in_rows else "10,000 years"
        raise fail(
            codes.INEXACT_LENGTH,
            f"{what} is longer than {limit}",
            span,
            helps=["use a shorter one"],
        )
    return Amount(int(value), in_rows)
