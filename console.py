"""The terminal as commands see it: files in, results and problems out, and a line on how far a run
is. cli.py and this are the only places that print."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ssql.arguments import STDIN

if TYPE_CHECKING:
    from ssql.compiler.diagnostics import Diagnostic, Diagnostics
    from ssql.compiler.source import Source
    from ssql.planner.job import Job
    from ssql.runtime.failures import RunFailure
    from ssql.runtime.run import Options, Runner
    from ssql.runtime.summary import Summary

FINE, FAILED, WRONG_INPUT = 0, 1, 2


# ------------------------------------------------------------------ reading and writing


def read(path: str) -> tuple[Source, Diagnostics]:
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


def write(path: str, text: str) -> bool:
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
        say(f"ssql: cannot write {path}: {error.strerror or error}")
        return False
    return True


# ------------------------------------------------------------------ showing


def say(text: str) -> None:
    print(text, file=sys.stderr)


def colors(stream: object) -> bool:
    is_terminal = getattr(stream, "isatty", lambda: False)()
    return is_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def report_problems(
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
        say(render(source, diagnostic, color=colors(sys.stderr)) + "\n")
    if found or files:
        warnings = len(found) - errors
        counts = [_count(errors, "error")] if errors else []
        counts += [_count(warnings, "warning")] if warnings else []
        checked = f"{_count(files, 'file')} checked: " if files else ""
        say(checked + (", ".join(counts) or "no problems"))
    return WRONG_INPUT if errors else FINE


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# ------------------------------------------------------------------ running


class Run:
    """A job that runs under the eyes of whoever started it."""

    def __init__(self, job: Job, source: Source, options: Options) -> None:
        from ssql.runtime.run import Runner

        self._source = source
        self._status = Status()
        self._runner = Runner(
            job,
            options,
            write=self._status.around(_write_results),
            say=self._status.around(say),
            watch=self._status.show,
        )

    @property
    def summaries(self) -> list[Summary]:
        return self._runner.summaries

    def to_the_end(self) -> int:
        from ssql.runtime.failures import RunFailure

        self._status.say("starting Spark")
        code = FINE
        try:
            with _stopping(self._runner):
                self._runner.run()
        except RunFailure as failure:
            self._status.clear()
            code = report_failure(failure, self._source, self._runner.log)
        self._status.clear()
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


def report_failure(failure: RunFailure, source: Source, log: Path) -> int:
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
    report_problems([(source, found)], "text")
    return WRONG_INPUT if failure.kind in (Kind.CHECKPOINT, Kind.ENDLESS) else FAILED


class Status:
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
