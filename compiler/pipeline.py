"""The compiler from end to end: source → parse → bind → rewrite → choose → emit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ssql.compiler import codes
from ssql.compiler.bind.program import bind_file
from ssql.compiler.diagnostics import Diagnostic, Diagnostics, SsqlError
from ssql.compiler.emit.module import emit
from ssql.compiler.parser import ParsedFile, parse
from ssql.compiler.source import Source, Span
from ssql.planner.catalog import Catalog
from ssql.planner.choose import (
    JOIN_ALPHA,
    MEMORY,
    UNKNOWN,
    Choice,
    Circumstances,
    bytes_of,
    choose,
    large_joins,
)
from ssql.planner.cost.candidates import in_bytes
from ssql.planner.job import Job
from ssql.planner.legality import Unsupported
from ssql.planner.logical import Join, Program, Query
from ssql.planner.rules import Rewritten, rewrite


@dataclass(frozen=True, slots=True)
class Checked:
    """A source as far as it was understood; `diagnostics` says what was not."""

    file: ParsedFile
    catalog: Catalog
    program: Program
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True)
class Planned:
    rewritten: Rewritten
    choice: Choice | Unsupported
    warnings: tuple[Diagnostic, ...] = ()


def check(source: Source) -> Checked:
    diagnostics = Diagnostics()
    catalog = Catalog()
    file = parse(source, diagnostics)
    program = bind_file(file, catalog, diagnostics)
    return Checked(file, catalog, program, diagnostics)


def compile_source(
    source: Source,
    plan: str | None = None,
    *,
    standalone: bool = False,
    given: Circumstances = UNKNOWN,
) -> tuple[str | None, Diagnostics]:
    """The PySpark text; None if something is wrong, which the diagnostics then say."""
    job, found = compile_job(source, plan, standalone=standalone, given=given)
    return (job.code if job else None), found


def compile_job(
    source: Source,
    plan: str | None = None,
    *,
    standalone: bool = False,
    given: Circumstances = UNKNOWN,
) -> tuple[Job | None, Diagnostics]:
    """What there is to run. `plan` is for all queries that do not ask for one themselves;
    `standalone`: the code imports nothing of ssql; `given`: what else choices depend on."""
    checked = check(source)
    found = checked.diagnostics
    if found.has_errors:
        return None, found
    if not checked.program.queries:
        helps = ("add a SELECT or an INSERT",)
        found.add(
            Diagnostic(
                codes.NOTHING_TO_COMPILE, "there is nothing to compile", Span(0, 0), helps=helps
            )
        )
        return None, found
    given = replace(given, asked=plan)
    return job_of(source, checked.program, found, given, standalone=standalone), found


def job_of(
    source: Source,
    program: Program,
    found: Diagnostics,
    given: Circumstances,
    *,
    standalone: bool = False,
) -> Job | None:
    """The queries of a program as a job; what is wrong with them is added to what was `found`."""
    choices = _choices(program, found, given)
    if choices is None:
        return None
    try:
        return emit(source, program, choices, standalone=standalone)
    except SsqlError as error:
        found.add(error.diagnostic)
        return None


def choice_of(program: Program, query: Query, given: Circumstances) -> Planned:
    """A query after the rules, and the plan that runs it."""
    limit = program.setting(MEMORY)
    if limit is not None:
        given = replace(given, limit_bytes=bytes_of(str(limit)))
    alpha = program.setting(JOIN_ALPHA)
    if alpha is not None:
        given = replace(given, alpha=float(alpha))
    rewritten = rewrite(query)
    plan = rewritten.query.plan
    warnings = tuple(_too_large(join, kept, given) for join, kept in large_joins(plan, given))
    return Planned(rewritten, choose(rewritten.query, given), warnings)


def _too_large(join: Join, kept: float, given: Circumstances) -> Diagnostic:
    return Diagnostic(
        codes.LARGE_JOIN,
        f"the rows in the windows of this join take about {in_bytes(kept)}, and"
        f" {in_bytes(given.limit_bytes)} may be",
        join.span,
        helps=("shorten the windows, select fewer columns, or allow more: SET ssql.memory",),
    )


def _choices(
    program: Program, found: Diagnostics, given: Circumstances
) -> tuple[Choice, ...] | None:
    choices: list[Choice] = []
    for query in program.queries:
        planned = choice_of(program, query, given)
        choice = planned.choice
        for warning in planned.warnings:
            found.add(warning)
        if isinstance(choice, Unsupported):
            found.add(
                Diagnostic(
                    codes.NOT_COMPILED_YET, choice.message, choice.span, helps=(choice.help,)
                )
            )
        else:
            choices.append(choice)
    return tuple(choices) if len(choices) == len(program.queries) else None
