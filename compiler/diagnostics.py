"""What ssql tells people about their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from ssql.compiler.codes import Code
from ssql.compiler.source import Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: what is wrong, where, what else is worth knowing, and what would help."""

    code: Code
    message: str
    span: Span
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()

    @property
    def severity(self) -> str:
        return "warning" if self.code.is_warning else "error"


class SsqlError(Exception):
    """Raised where a statement cannot be understood any further; caught per statement."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.code.id}: {diagnostic.message}")
        self.diagnostic = diagnostic


def fail(
    code: Code,
    message: str,
    span: Span,
    *,
    notes: Iterable[str] = (),
    helps: Iterable[str] = (),
) -> SsqlError:
    """The exception to raise for an error: `raise fail(codes.SYNTAX, "…", span)`."""
    return SsqlError(Diagnostic(code, message, span, tuple(notes), tuple(helps)))


class Diagnostics:
    """Collects what is found in one source, in any order."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self._found:
            self._found.append(diagnostic)

    def warn(
        self,
        code: Code,
        message: str,
        span: Span,
        *,
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
    ) -> None:
        self.add(Diagnostic(code, message, span, tuple(notes), tuple(helps)))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self._found, key=lambda d: (d.span.start, d.span.end, d.code.id)))

    def __len__(self) -> int:
        return len(self._found)

    @property
    def has_errors(self) -> bool:
        return any(not d.code.is_warning for d in self._found)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody who wrote `name` most likely meant."""
    by_fold = {k.casefold(): k for k in known}
    # A long name is no typing mistake, and comparing it is quadratic.
    close = get_close_matches(name.casefold()[:80], by_fold, n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], what: str) -> tuple[str, ...]:
    """Help lines for a name that was not found: the nearest one, then all there are."""
    names = sorted(set(known), key=str.casefold)
    if not names:
        return (f"there are no {what} here",)
    near = nearest(name, names)
    listed = ", ".join(names[:20]) + (f", … ({len(names)} in all)" if len(names) > 20 else "")
    helps = (f"{what}: {listed}",)
    return (f"did you mean {near}?", *helps) if near else helps
