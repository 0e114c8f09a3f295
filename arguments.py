"""The arguments of the command line: what there is to say, and the help about it."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from ssql import __version__

STDIN = "-"
# As in planner/, which is not imported here: help is there at once.
PLANS = ("wid", "paned", "rolling", "adaptwid", "sync-filter", "filter-order", "adaptive")
_FILE = "an .ssql file, or - for standard input"
_PLAN = "run windows in time or ordered joins by this plan, unless the query asks for another"
# argparse has no public name for what holds commands.
_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="ssql",
        description="Compile window-stream SQL to Spark Structured Streaming, and run it.",
        epilog="example:\n  ssql run examples/sliding.ssql --until-done\n\n"
        "ssql COMMAND --help says more about a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"ssql {__version__}")
    commands = made.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    _check(commands)
    _compile(commands)
    _run(commands)
    _explain(commands)
    _analyze(commands)
    _fmt(commands)
    return made


def _command(commands: _Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _problems(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="how problems are shown: for people, or for editors (default: text)",
    )


def _check(commands: _Commands) -> None:
    check = _command(
        commands, "check", "report what is wrong with files", "ssql check examples/*.ssql"
    )
    _problems(check)
    check.add_argument("files", nargs="+", metavar="FILE", help=_FILE)


def _compile(commands: _Commands) -> None:
    compile_ = _command(
        commands,
        "compile",
        "print the PySpark code of a file",
        "ssql compile examples/traffic.ssql -o traffic.py",
    )
    _problems(compile_)
    compile_.add_argument("file", metavar="FILE", help=_FILE)
    compile_.add_argument("-o", "--output", metavar="OUT.py", help="write the code to this file")
    compile_.add_argument(
        "--standalone",
        action="store_true",
        help="import nothing of ssql: operators that Spark lacks are written into the code",
    )
    compile_.add_argument("--plan", metavar="NAME", choices=PLANS, help=_PLAN)


def _run(commands: _Commands) -> None:
    run = _command(
        commands,
        "run",
        "compile and run a file",
        "ssql run examples/sliding.ssql --until-done --format jsonl",
    )
    run.add_argument("file", metavar="FILE", help=_FILE)
    run.add_argument(
        "--until-done",
        action="store_true",
        help="process what is there, close every window (unless there is a checkpoint), and stop",
    )
    run.add_argument(
        "--format",
        choices=("table", "jsonl", "csv"),
        default="table",
        help="how results are shown on standard output (default: table)",
    )
    run.add_argument(
        "--checkpoint", metavar="DIR", help="keep progress and state here, and go on from it"
    )
    run.add_argument(
        "--flush",
        action=argparse.BooleanOptionalAction,
        help="with --until-done: close every window at the end, or leave them open",
    )
    run.add_argument("--master", metavar="URL", help="where Spark runs (default: local[*])")
    run.add_argument("--plan", metavar="NAME", choices=PLANS, help=_PLAN)
    _conf(run)


def _conf(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        type=_setting,
        action="append",
        default=[],
        help="a setting of Spark's; may be given more than once",
    )


def _setting(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found or not key.startswith("spark."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a setting, as in spark.key=value")
    return key.strip(), value.strip()


def _explain(commands: _Commands) -> None:
    explain = _command(
        commands,
        "explain",
        "show the logical plan of each query, the plans that could run it, and the chosen one",
        "ssql explain examples/traffic.ssql --format html -o traffic.html",
    )
    explain.add_argument("file", metavar="FILE", help=_FILE)
    explain.add_argument(
        "--verbose",
        action="store_true",
        help="show the columns that each operator gives, and the tree after each rule, too",
    )
    explain.add_argument(
        "--format",
        choices=("text", "json", "html"),
        default="text",
        help="for people, for programs, or one page with the operators drawn (default: text)",
    )
    explain.add_argument("-o", "--output", metavar="OUT", help="write it to this file")
    explain.add_argument("--plan", metavar="NAME", choices=PLANS, help=_PLAN)
    explain.add_argument(
        "--analyze",
        action="store_true",
        help="run each query on what is there, and show what was measured beside the estimates",
    )
    explain.add_argument("--master", metavar="URL", help="with --analyze: where Spark runs")
    _conf(explain)


def _analyze(commands: _Commands) -> None:
    analyze = _command(
        commands,
        "analyze",
        "look at the rows of a file's streams, and keep what plans are chosen by",
        "ssql analyze examples/traffic.ssql",
    )
    analyze.add_argument("file", metavar="FILE", help=_FILE)
    analyze.add_argument(
        "--rows",
        metavar="N",
        type=_count,
        default=1_000_000,
        help="look at so many rows of a stream, at most (default: 1000000)",
    )
    analyze.add_argument("--master", metavar="URL", help="where Spark runs (default: local[*])")
    _conf(analyze)


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return number


def _fmt(commands: _Commands) -> None:
    fmt = _command(
        commands,
        "fmt",
        "format files in place, comments kept",
        "ssql fmt --check examples/*.ssql",
    )
    _problems(fmt)
    fmt.add_argument("files", nargs="+", metavar="FILE", help=_FILE)
    fmt.add_argument("--check", action="store_true", help="change nothing; fail if a file would be")
    fmt.add_argument("--stdout", action="store_true", help="print the result, change nothing")
