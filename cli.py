"""The commands. With console.py, the only place that prints or exits."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssql.arguments import STDIN, parser
from ssql.console import (
    FINE,
    WRONG_INPUT,
    Run,
    Status,
    colors,
    read,
    report_failure,
    report_problems,
    say,
    write,
)

if TYPE_CHECKING:
    from ssql.compiler.diagnostics import Diagnostic
    from ssql.compiler.source import Source
    from ssql.planner.choose import Circumstances
    from ssql.planner.job import Job
    from ssql.planner.logical import Program
    from ssql.planner.report import Report
    from ssql.planner.statistics import Memory
    from ssql.runtime.run import Options
    from ssql.runtime.summary import Summary


def entry() -> None:
    """The `ssql` command."""
    gc.disable()  # a command lives for a moment, and imports make nothing but survivors
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `ssql … | head`: whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FINE
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    commands = {
        "check": _check,
        "compile": _compile,
        "run": _run,
        "explain": _explain,
        "analyze": _analyze,
        "fmt": _fmt,
    }
    return commands[parsed.command](parsed)


# ------------------------------------------------------------------ commands


def _check(options: argparse.Namespace) -> int:
    from ssql.compiler.pipeline import check

    found: list[tuple[Source, Diagnostic]] = []
    for path in options.files:
        source, diagnostics = read(path)
        if source.text or not diagnostics.has_errors:
            diagnostics = check(source).diagnostics
        found += [(source, d) for d in diagnostics]
    return report_problems(found, options.format, files=len(options.files))


def _compile(options: argparse.Namespace) -> int:
    from ssql.compiler.pipeline import compile_source

    source, diagnostics = read(options.file)
    text: str | None = None
    if not diagnostics.has_errors:
        text, diagnostics = compile_source(
            source,
            options.plan,
            standalone=options.standalone,
            given=_circumstances(options),
        )
    code = report_problems([(source, d) for d in diagnostics], options.format, to_stdout=False)
    if text is None:
        return code
    if options.output is None:
        sys.stdout.write(text)
        return code
    return code if write(options.output, text) else WRONG_INPUT


def _explain(options: argparse.Namespace) -> int:
    from ssql.compiler.pipeline import check, choice_of
    from ssql.planner.report import report

    source, diagnostics = read(options.file)
    checked = None if diagnostics.has_errors else check(source)
    diagnostics = checked.diagnostics if checked else diagnostics
    reports = []
    if checked is not None and not diagnostics.has_errors:
        program, given = _asked(checked.program), _circumstances(options)
        for query in program.queries:
            planned = choice_of(program, query, given)
            reports.append(report(planned.rewritten, planned.choice, verbose=options.verbose))
            for warning in planned.warnings:
                diagnostics.add(warning)
    problems = "json" if options.format == "json" else "text"
    code = report_problems([(source, d) for d in diagnostics], problems, to_stdout=False)
    if checked is None or code != FINE:
        return code
    run = [q for q in program.queries if options.analyze or q.analyzed]
    if run:
        code, reports = _measured(source, replace(program, queries=tuple(run)), reports, options)
        if code != FINE:
            return code
    text = _explained(reports, source.name, options)
    if options.format == "text":
        text = _described(program, given.memory) + text
    if options.output is None:
        sys.stdout.write(text)
        return code
    return code if write(options.output, text) else WRONG_INPUT


def _asked(program: Program) -> Program:
    """All queries that there is something to say about, in the order of the file."""
    asked = sorted((*program.queries, *program.explained), key=lambda q: q.statement_span)
    numbered = (replace(q, number=at) for at, q in enumerate(asked, 1))
    return replace(program, queries=tuple(numbered), explained=())


def _described(program: Program, memory: Memory) -> str:
    from ssql.planner.catalog import Stream
    from ssql.planner.explain import outline_entry

    outlines = (
        outline_entry(entry, memory.figures(entry) if isinstance(entry, Stream) else None)
        for entry in program.described
    )
    return "".join("\n".join(shown.lines()) + "\n\n" for shown in outlines)


def _measured(
    source: Source, program: Program, reports: list[Report], options: argparse.Namespace
) -> tuple[int, list[Report]]:
    """Run the queries on what is there. Their results go nowhere."""
    from ssql.compiler.diagnostics import Diagnostics
    from ssql.compiler.pipeline import job_of
    from ssql.planner.report import measured

    gc.enable()
    diagnostics = Diagnostics()
    job = job_of(source, program, diagnostics, _circumstances(options))
    code = report_problems([(source, d) for d in diagnostics], "text")
    if job is None or code != FINE:
        return code or WRONG_INPUT, reports
    run = Run(job, source, _run_options(options, until_done=True, discard=True))
    code = run.to_the_end()
    found = {s.name: s for s in run.summaries}
    of_query = {q.number: (q.plan, found[q.function]) for q in job.queries if q.function in found}
    with_figures = []
    for report in reports:
        if report.number in of_query:
            plan, summary = of_query[report.number]
            seen = [s.observed() for s in summary.seen.values()]
            report = measured(report, summary.run(plan), seen)
        with_figures.append(report)
    return code, with_figures


def _explained(reports: list[Report], name: str, options: argparse.Namespace) -> str:
    match options.format:
        case "json":
            import json

            from ssql.planner.report import as_json

            return json.dumps([as_json(r) for r in reports], indent=2, ensure_ascii=False) + "\n"
        case "html":
            from ssql.planner.page import page

            return page(Path(name).name, reports)
        case _:
            from ssql.showing import explained

            color = options.output is None and colors(sys.stdout)
            return explained(reports, color=color, verbose=options.verbose)


def _circumstances(options: argparse.Namespace, *, resumed: str | None = None) -> Circumstances:
    """What choices depend on: the plan that was asked for, what is known of the streams, and the
    plans of the checkpoint that is resumed."""
    from ssql.planner.choose import Circumstances

    kept: dict[int, tuple[str, ...]] = {}
    if resumed is not None:
        from ssql.runtime.checkpoints import recorded_plans
        from ssql.runtime.failures import RunFailure

        with suppress(RunFailure):  # the run itself says what is wrong with a checkpoint
            kept = recorded_plans(resumed)
    return Circumstances(options.plan, kept, _remembered(options.file))


def _remembered(file: str) -> Memory:
    from ssql.planner.remembered import load, path_beside
    from ssql.planner.statistics import NOTHING_KNOWN

    if file == STDIN:
        return NOTHING_KNOWN
    try:
        return load(file)
    except (OSError, ValueError) as error:
        say(f"{path_beside(file)} is passed over: {error}")
        return NOTHING_KNOWN


def _analyze(options: argparse.Namespace) -> int:
    from ssql.compiler.pipeline import compile_job
    from ssql.runtime.analyze import analyze
    from ssql.runtime.failures import RunFailure
    from ssql.runtime.session import new_log
    from ssql.showing import analyzed, kept_in

    source, diagnostics = read(options.file)
    job: Job | None = None
    if not diagnostics.has_errors:
        job, diagnostics = compile_job(source)
    code = report_problems([(source, d) for d in diagnostics], "text")
    if job is None or code != FINE:
        return code or WRONG_INPUT
    status = Status()
    memory = before = _remembered(options.file)
    status.say("starting Spark")
    try:
        for stream, seen in analyze(job, _run_options(options), options.rows):
            status.clear()
            sys.stdout.write(analyzed(stream, seen, color=colors(sys.stdout)))
            memory = memory.with_sampled(stream, seen)
    except RunFailure as failure:
        status.clear()
        return report_failure(failure, source, new_log())
    if memory == before:
        say("there are no rows of streams to look at")
    elif options.file != STDIN and _keep(memory, options.file):
        say(kept_in(options.file))
    return FINE


def _run(options: argparse.Namespace) -> int:
    gc.enable()  # a run may live for years
    from ssql.compiler.pipeline import compile_job

    source, diagnostics = read(options.file)
    job: Job | None = None
    if not diagnostics.has_errors:
        given = _circumstances(options, resumed=options.checkpoint)
        job, diagnostics = compile_job(source, options.plan, given=given)
    code = report_problems([(source, d) for d in diagnostics], "text")
    if job is None or code != FINE:
        return code or WRONG_INPUT
    return _run_job(job, source, options)


def _run_job(job: Job, source: Source, options: argparse.Namespace) -> int:
    run = Run(
        job,
        source,
        _run_options(
            options,
            until_done=options.until_done,
            format=options.format,
            checkpoint=options.checkpoint,
            flush=options.flush,
        ),
    )
    code = run.to_the_end()
    for summary in run.summaries:
        say(summary.text())
    if any(s.late for s in run.summaries):
        say("late rows came after the watermark: declare more disorder, if they should count")
    if code == FINE:
        _learn(job, run.summaries, options.file)
    return code


def _run_options(options: argparse.Namespace, **more: Any) -> Options:
    from ssql.runtime.run import Options

    return Options(
        master=options.master,
        settings=dict(options.conf),
        module_path=str(Path(options.file).resolve().parent),
        **more,
    )


def _learn(job: Job, summaries: list[Summary], file: str) -> None:
    """Keep what a run has seen of its streams, for the next choice of a plan."""
    plans = {q.function: q.plan for q in job.queries}
    memory = before = _remembered(file)
    for summary in summaries:
        memory = summary.learned(plans[summary.name], memory)
    if memory != before and file != STDIN:
        _keep(memory, file)


def _keep(memory: Memory, file: str) -> bool:
    from ssql.planner.remembered import path_beside, save

    try:
        save(file, memory)
    except OSError as error:
        say(f"{path_beside(file)} cannot be written: {error.strerror or error}")
        return False
    return True


def _fmt(options: argparse.Namespace) -> int:
    code, changed = FINE, 0
    for path in options.files:
        source, text = _formatted(path, options.format)
        if text is None:
            code = WRONG_INPUT
        elif options.stdout or path == STDIN:
            sys.stdout.write(text)
        elif text != source.text:
            changed += 1
            if options.check:
                say(f"{path} would be reformatted")
            elif not write(path, text):
                code = WRONG_INPUT
            else:
                say(f"{path} reformatted")
    if options.check and changed:
        return WRONG_INPUT
    return code


def _formatted(path: str, format: str) -> tuple[Source, str | None]:
    from ssql.compiler.formatting import format_file
    from ssql.compiler.parser import parse

    source, diagnostics = read(path)
    if not diagnostics.has_errors:
        file = parse(source, diagnostics)
    if diagnostics.has_errors:
        report_problems([(source, d) for d in diagnostics], format, to_stdout=False)
        return source, None
    return source, format_file(file)


if __name__ == "__main__":
    entry()
