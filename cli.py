"""The command line: the only place that prints or exits."""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ssql.arguments import STDIN, parser

if TYPE_CHECKING:
    from ssql.compiler.diagnostics import Diagnostic, Diagnostics
    from ssql.compiler.source import Source
    from ssql.planner.explain import Outline
    from ssql.planner.job import Job
    from ssql.planner.logical import Query
    from ssql.runtime.failures import RunFailure
    from ssql.runtime.run import Runner
    from ssql.runtime.summary import Summary

FINE, FAILED, WRONG_INPUT = 0, 1, 2


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
    commands = {"check": _check, "compile": _compile, "run": _run, "explain": _explain, "fmt": _fmt}
    return commands[parsed.command](parsed)


# ------------------------------------------------------------------ commands


def _check(options: argparse.Namespace) -> int:
    from ssql.compiler.pipeline import check

    found: list[tuple[Source, Diagnostic]] = []
    for path in options.files:
        source, diagnostics = _read(path)
        if source.text or not diagnostics.has_errors:
            diagnostics = check(source).diagnostics
        found += [(source, d) for d in diagnostics]
    return _report(found, options.format, files=len(options.files))


def _compile(options: argparse.Namespace) -> int:
    from ssql.compiler.pipeline import compile_source

    source, diagnostics = _read(options.file)
    text: str | None = None
    if not diagnostics.has_errors:
        text, diagnostics = compile_source(source, options.plan, standalone=options.standalone)
    code = _report([(source, d) for d in diagnostics], options.format, to_stdout=False)
    if text is None:
        return code
    if options.output is None:
        sys.stdout.write(text)
        return code
    return code if _write(options.output, text) else WRONG_INPUT


def _explain(options: argparse.Namespace) -> int:
    from ssql.compiler.pipeline import check
    from ssql.planner.explain import outline_query

    source, diagnostics = _read(options.file)
    outlines: list[Outline] = []
    if not diagnostics.has_errors:
        checked = check(source)
        diagnostics = checked.diagnostics
        asked = [*checked.program.queries, *checked.program.explained]
        asked.sort(key=lambda q: q.statement_span)
        outlines = [outline_query(q, verbose=options.verbose, chosen=_chosen(q)) for q in asked]
    code = _report([(source, d) for d in diagnostics], options.format, to_stdout=False)
    if code == FINE:
        _show_outlines(outlines)
    return code


def _chosen(query: Query) -> str:
    from ssql.planner.choose import Choice, choose
    from ssql.planner.rules import rewrite

    choice = choose(rewrite(query).query)
    if isinstance(choice, Choice):
        return f"plan {choice.plan}: {choice.reason}"
    return f"no plan: {choice.message}"


def _run(options: argparse.Namespace) -> int:
    gc.enable()  # a run may live for years
    from ssql.compiler.pipeline import compile_job

    source, diagnostics = _read(options.file)
    job: Job | None = None
    if not diagnostics.has_errors:
        job, diagnostics = compile_job(source, options.plan)
    code = _report([(source, d) for d in diagnostics], "text")
    if job is None or code != FINE:
        return code or WRONG_INPUT
    return _run_job(job, source, options)


def _run_job(job: Job, source: Source, options: argparse.Namespace) -> int:
    from ssql.runtime.failures import RunFailure
    from ssql.runtime.run import Options, Runner

    status = _Status()
    runner = Runner(
        job,
        Options(
            until_done=options.until_done,
            format=options.format,
            checkpoint=options.checkpoint,
            flush=options.flush,
            master=options.master,
            settings=dict(options.conf),
            module_path=str(Path(options.file).resolve().parent),
        ),
        write=status.around(_write_results),
        say=status.around(_say),
        watch=status.show,
    )
    status.say("starting Spark")
    code = FINE
    try:
        with _stopping(runner):
            runner.run()
    except RunFailure as failure:
        status.clear()
        code = _report_failure(failure, source, runner.log)
    status.clear()
    for summary in runner.summaries:
        _say(summary.text())
    if any(s.late for s in runner.summaries):
        _say("late rows came after the watermark: declare more disorder, if they should count")
    return code


@contextmanager
def _stopping(runner: Runner) -> Iterator[None]:
    """Ctrl-C ends a run in order; a second one ends it at once."""
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: object) -> None:
        runner.stop()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_results(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _report_failure(failure: RunFailure, source: Source, log: Path) -> int:
    from ssql.compiler import codes
    from ssql.compiler.diagnostics import Diagnostic
    from ssql.compiler.source import Span
    from ssql.runtime.failures import Kind

    code = {
        Kind.ENVIRONMENT: codes.RUN_ENVIRONMENT,
        Kind.SOURCE: codes.RUN_SOURCE,
        Kind.SINK: codes.RUN_SINK,
        Kind.CHECKPOINT: codes.RUN_CHECKPOINT,
        Kind.ENDLESS: codes.RUN_ENDLESS,
        Kind.QUERY: codes.RUN_FAILED,
    }[failure.kind]
    span = failure.about or Span(0, 0)
    helps = failure.helps
    if failure.details:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"\n{failure.details}\n")
        helps = (*helps, f"all that Spark said is in {log}")
    else:
        log.unlink(missing_ok=True)
    found = Diagnostic(code, failure.message, span, notes=failure.notes, helps=helps)
    _report([(source, found)], "text")
    return WRONG_INPUT if failure.kind in (Kind.CHECKPOINT, Kind.ENDLESS) else FAILED


class _Status:
    """One line on a terminal that says how far a run is; nothing elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._last = ""

    def say(self, text: str) -> None:
        if self._shown and text != self._last:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{text[:width]}")
            sys.stderr.flush()
            self._last = text

    def clear(self) -> None:
        if self._shown and self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._last = ""

    def show(self, summaries: list[Summary]) -> None:
        now = summaries[-1]
        at = f", watermark {now.watermark}" if now.watermark else ""
        self.say(
            f"{now.name}: {now.rows_in:,} rows in, {now.rows_out:,} out, {now.batches} batches,"
            f" {now.seconds:.0f} s{at}"
        )

    def around(self, action: Callable[[str], None]) -> Callable[[str], None]:
        """Clear the line before something else is written."""

        def cleared(text: str) -> None:
            self.clear()
            action(text)

        return cleared


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
                _say(f"{path} would be reformatted")
            elif not _write(path, text):
                code = WRONG_INPUT
            else:
                _say(f"{path} reformatted")
    if options.check and changed:
        return WRONG_INPUT
    return code


def _formatted(path: str, format: str) -> tuple[Source, str | None]:
    from ssql.compiler.formatting import format_file
    from ssql.compiler.parser import parse

    source, diagnostics = _read(path)
    if not diagnostics.has_errors:
        file = parse(source, diagnostics)
    if diagnostics.has_errors:
        _report([(source, d) for d in diagnostics], format, to_stdout=False)
        return source, None
    return source, format_file(file)


# ------------------------------------------------------------------ reading and writing


def _read(path: str) -> tuple[Source, Diagnostics]:
    """A file as a source; what is wrong with the file is a diagnostic like any other."""
    from ssql.compiler import codes
    from ssql.compiler.diagnostics import Diagnostic, Diagnostics
    from ssql.compiler.scanner import MAX_CHARACTERS
    from ssql.compiler.source import Source, Span

    diagnostics = Diagnostics()

    def unreadable(reason: str, help: str) -> tuple[Source, Diagnostics]:
        message = f"cannot read the file: {reason}"
        diagnostics.add(Diagnostic(codes.UNREADABLE, message, Span(0, 0), helps=(help,)))
        return Source(path, ""), diagnostics

    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(4 * MAX_CHARACTERS + 1)
        else:
            with open(path, "rb") as file:
                # No more than it takes to see that the file is too large.
                data = file.read(4 * MAX_CHARACTERS + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        return unreadable(error.strerror or str(error), "check the path")
    except UnicodeDecodeError as error:
        if len(data) > 4 * MAX_CHARACTERS:  # the cut may have hit the middle of a character
            text = data.decode("utf-8-sig", errors="replace")
        else:
            return unreadable(f"byte {error.start} is not UTF-8", "save it as UTF-8")
    return Source("<stdin>" if path == STDIN else path, text.replace("\r\n", "\n")), diagnostics


def _write(path: str, text: str) -> bool:
    """Write a whole file or leave the old one: never half of it."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        if target.exists():
            partial.chmod(target.stat().st_mode & 0o777)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        _say(f"ssql: cannot write {path}: {error.strerror or error}")
        return False
    return True


# ------------------------------------------------------------------ showing


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _colors(stream: object) -> bool:
    is_terminal = getattr(stream, "isatty", lambda: False)()
    return is_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _report(
    found: Iterable[tuple[Source, Diagnostic]],
    format: str,
    *,
    files: int = 0,
    to_stdout: bool = True,
) -> int:
    """Show diagnostics, as text on stderr or as JSON; the exit code they deserve."""
    from ssql.compiler.render import render, render_json

    found = list(found)
    errors = sum(d.severity == "error" for _, d in found)
    if format == "json":
        if to_stdout or found:
            print(render_json(found), file=sys.stdout if to_stdout else sys.stderr)
        return WRONG_INPUT if errors else FINE
    for source, diagnostic in found:
        _say(render(source, diagnostic, color=_colors(sys.stderr)) + "\n")
    if found or files:
        warnings = len(found) - errors
        counts = [_count(errors, "error")] if errors else []
        counts += [_count(warnings, "warning")] if warnings else []
        checked = f"{_count(files, 'file')} checked: " if files else ""
        _say(checked + (", ".join(counts) or "no problems"))
    return WRONG_INPUT if errors else FINE


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _show_outlines(outlines: list[Outline]) -> None:
    if not _colors(sys.stdout):
        for outline in outlines:
            print("\n".join(outline.lines()))
        return
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    def styled(outline: Outline) -> Text:
        label = Text(outline.title, style="bold cyan")
        for detail in outline.details:
            label.append(f"\n{detail}", style="not bold default")
        return label

    def grow(tree: Tree, outline: Outline) -> Tree:
        for child in outline.inputs:
            grow(tree.add(styled(child)), child)
        return tree

    console = Console()
    for outline in outlines:
        console.print(grow(Tree(styled(outline)), outline))


if __name__ == "__main__":
    entry()
