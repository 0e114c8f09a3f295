"""What every part of the binder needs to know."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ssql.compiler.diagnostics import Diagnostics
from ssql.planner.catalog import Catalog, Function
from ssql.planner.logical import Plan


@dataclass(frozen=True, slots=True)
class Context:
    catalog: Catalog
    diagnostics: Diagnostics
    functions: dict[str, Function] = field(default_factory=dict)  # those that are called
    common: dict[str, Plan] = field(default_factory=dict)  # the WITH queries in sight

    def with_common(self, name: str, plan: Plan) -> Context:
        return replace(self, common={**self.common, name.casefold(): plan})
