"""Where in the source text a node came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Offsets into a source, `start` inclusive and `end` exclusive."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def shift(self, by: int) -> Span:
        return Span(self.start + by, self.end + by)


NOWHERE = Span(0, 0)
