"""`STREAM(packets, 'CUT ON ts BY 60 SECS', 'BLOCK', 12)`: streams cut into chunks."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from ssql.compiler import ast, codes
from ssql.compiler.bind.durations import MAX_ROWS, unit_microseconds
from ssql.compiler.diagnostics import SsqlError, did_you_mean, fail
from ssql.compiler.source import Span
from ssql.planner.catalog import Column, Stream
from ssql.planner.logical import Cut, CutByKey, CutByRows, CutByTime

_FORMS = "the forms are 'CUT ON ts BY 60 SECS', 'CUT BY 1000 ROWS' and 'CUT ON KEY col'"
_WORD = re.compile(r"\S+")
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
MAX_CHUNKS = 1_000_000


class _CutParser:
    """Reads the CUT string word by word; errors point into the string."""

    def __init__(self, text: ast.String, stream: Stream) -> None:
        self.text = text
        self.stream = stream
        self.words = [(m.group(), m.start()) for m in _WORD.finditer(text.value)]
        self.at = 0

    def parse(self) -> Cut:
        self._expect("CUT")
        if self._next_is("BY"):
            cut: Cut = CutByRows(rows=self._rows())
        else:
            self._expect("ON")
            if self._peek(0) == "KEY" and self._peek(1) not in ("BY", ""):
                self.at += 1
                cut = CutByKey(column=self._column().name)
            else:
                cut = self._by_time()
        if self.at < len(self.words):
            raise self._error(f"unexpected {self.words[self.at][0]}")
        if not isinstance(cut, CutByTime) and self.stream.watermark is None:
            raise fail(
                codes.NO_WATERMARK,
                f"{self.stream.name} declares no watermark, so its rows have no order",
                self.text.span,
                helps=["add to its CREATE STREAM, as in WATERMARK FOR ts AS ts"],
            )
        return cut

    def _by_time(self) -> CutByTime:
        at = self.at
        column = self._column()
        self._expect("BY")
        number = self._number()
        unit = self._word("a unit of time")
        size = unit_microseconds(unit)
        if size is None:
            raise self._error(f"{unit} is not a unit of time", self.at - 1, "as in 60 SECS")
        length = number * size
        if length != int(length):
            raise self._error("a chunk is a whole number of microseconds", self.at - 2)
        watermark = self.stream.watermark
        is_time = watermark is not None and watermark.column == column.name
        if not is_time and column.type not in _INTEGERS:
            raise self._error(
                f"{column.name} is neither the watermark column nor an integer of seconds",
                at,
                *([f"the watermark is on {watermark.column}"] if watermark else []),
            )
        return CutByTime(column=column.name, length_us=int(length))

    def _rows(self) -> int:
        number = self._number()
        unit = self._word("ROWS")
        if unit.upper() not in ("ROW", "ROWS"):
            raise self._error(
                f"unexpected {unit}", self.at - 1, "CUT BY counts ROWS; for time: CUT ON ts BY …"
            )
        if number != int(number) or number > MAX_ROWS:
            raise self._error("a chunk is a whole number of rows", self.at - 2)
        return int(number)

    def _number(self) -> Decimal:
        word = self._word("a number")
        try:
            number = Decimal(word)
        except InvalidOperation:
            raise self._error(f"{word} is not a number", self.at - 1) from None
        if not number.is_finite() or number <= 0 or number.adjusted() > 15:
            raise self._error("the length must be greater than zero, and not absurd", self.at - 1)
        return number

    def _column(self) -> Column:
        word = self._word("a column")
        for column in self.stream.columns:
            if column.name.casefold() == word.strip("`").casefold():
                return column
        names = [c.name for c in self.stream.columns]
        helps = did_you_mean(word, names, f"columns of {self.stream.name}")
        raise self._error(f"unknown column {word}", self.at - 1, *helps)

    def _peek(self, ahead: int) -> str:
        at = self.at + ahead
        return self.words[at][0].upper() if at < len(self.words) else ""

    def _next_is(self, word: str) -> bool:
        if self._peek(0) != word:
            return False
        self.at += 1
        return True

    def _word(self, what: str) -> str:
        if self.at >= len(self.words):
            raise self._error(f"{what} is missing at the end")
        self.at += 1
        return self.words[self.at - 1][0]

    def _expect(self, word: str) -> None:
        if not self._next_is(word):
            found = self.words[self.at][0] if self.at < len(self.words) else "the end"
            raise self._error(f"expected {word}, found {found}")

    def _error(self, message: str, at: int | None = None, *helps: str) -> SsqlError:
        at = self.at if at is None else at
        return fail(codes.BAD_CUT, message, self._span(at), helps=[*helps, _FORMS])

    def _span(self, word: int) -> Span:
        """The word's place in the source; the whole string where escapes blur it."""
        span, value = self.text.span, self.text.value
        if span.end - span.start != len(value) + 2:
            return span
        if word >= len(self.words):
            return Span(span.end - 1, span.end)
        text, start = self.words[word]
        return Span(span.start + 1 + start, span.start + 1 + start + len(text))


def read_cut(text: ast.String, stream: Stream) -> Cut:
    return _CutParser(text, stream).parse()


def read_chunks(epoch: ast.Epoch) -> tuple[int, bool]:
    """How many chunks are held, and whether BLOCK was said."""
    if epoch.block is None:
        return 1, False
    if epoch.block.value.strip().upper() != "BLOCK":
        raise fail(
            codes.BAD_EPOCH,
            f"expected 'BLOCK', found {epoch.block.value!r}",
            epoch.block.span,
            helps=["as in STREAM(packets, 'CUT ON ts BY 5 SECS', 'BLOCK', 12)"],
        )
    if epoch.chunks is None:
        return 1, True
    if epoch.chunks != int(epoch.chunks) or not 0 < epoch.chunks <= MAX_CHUNKS:
        raise fail(
            codes.BAD_EPOCH,
            "the number of chunks is a whole number from 1",
            epoch.chunks_span or epoch.span,
            helps=["12 keeps the current chunk and the 11 before it"],
        )
    return int(epoch.chunks), True
