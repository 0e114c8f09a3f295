"""Names to columns: what a query's FROM offers."""

from __future__ import annotations

from dataclasses import dataclass

from ssql.compiler import codes
from ssql.compiler.diagnostics import did_you_mean, fail
from ssql.compiler.source import Span
from ssql.planner.logical import Field, Schema

WINDOW_WORDS = frozenset({"range", "slide", "wa", "wattr", "pa", "rattr", "sattr", "origin"})


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns in sight, in the order of FROM."""

    schema: Schema

    def relations(self) -> list[str]:
        return list(dict.fromkeys(f.relation for f in self.schema if f.relation))

    def has_relation(self, name: str) -> bool:
        return any(r.casefold() == name.casefold() for r in self.relations())

    def has_column(self, name: str) -> bool:
        return any(f.name.casefold() == name.casefold() for f in self.schema)

    def of_relation(self, name: str) -> Schema:
        return tuple(
            f for f in self.schema if f.relation and f.relation.casefold() == name.casefold()
        )

    def visible(self) -> Schema:
        return tuple(f for f in self.schema if not f.hidden)

    def times(self) -> Schema:
        return tuple(f for f in self.schema if f.progressing)

    def find(self, name: str, span: Span, relation: str | None = None) -> Field:
        """The one field of that name, or an error that says what there is."""
        if relation is not None and not self.has_relation(relation):
            raise fail(
                codes.UNKNOWN_QUALIFIER,
                f"unknown relation {relation}",
                span,
                helps=did_you_mean(relation, self.relations(), "relations in this FROM"),
            )
        candidates = self.schema if relation is None else self.of_relation(relation)
        found = [f for f in candidates if f.name.casefold() == name.casefold()]
        if not found:
            raise self._unknown(name, span, relation, candidates)
        if len(found) > 1 and not found[0].hidden:
            qualified = [f"{f.relation}.{f.name}" for f in found if f.relation]
            raise fail(
                codes.AMBIGUOUS_COLUMN,
                f"{name} is in more than one relation",
                span,
                helps=[
                    f"write {' or '.join(qualified)}" if qualified else "give the columns names"
                ],
            )
        return found[0]

    def _unknown(
        self, name: str, span: Span, relation: str | None, candidates: Schema
    ) -> Exception:
        where = f" in {relation}" if relation else ""
        helps = did_you_mean(name, [f.name for f in candidates], f"columns{where}")
        if not candidates:
            helps = ("there is no FROM, so there are no columns",)
        if name.casefold() in ("window_start", "window_end"):
            helps = (
                f"{name} comes with the window of an aggregate, as in count(*) [RANGE …]",
                *helps,
            )
        if name.casefold() in WINDOW_WORDS:
            helps = (
                "for a window clause, write as in [RANGE 10 minutes, SLIDE 1 minute, WA ts]",
                *helps,
            )
        return fail(codes.UNKNOWN_COLUMN, f"unknown column {name}{where}", span, helps=helps)
