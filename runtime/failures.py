"""What goes wrong while a job runs, in words for the person who started it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ssql.planner.span import Span

# Its connections break a moment before a process is gone.
JVM_END_SECONDS = 2.0


class Kind(Enum):
    """What a failure is about; the command line gives each a code and an exit code."""

    ENVIRONMENT = "environment"  # Java, Spark, packages
    SOURCE = "source"
    SINK = "sink"
    CHECKPOINT = "checkpoint"
    ENDLESS = "endless"
    QUERY = "query"


class RunFailure(Exception):
    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        about: Span | None = None,
        notes: tuple[str, ...] = (),
        helps: tuple[str, ...] = (),
        details: str = "",  # what Spark said, in full
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.about = about
        self.notes = notes
        self.helps = helps
        self.details = details


@dataclass(frozen=True, slots=True)
class _Sign:
    """What an error of Spark's looks like, and what to say instead. `{1}` is a matched group."""

    pattern: str
    kind: Kind
    message: str
    help: str


_SIGNS = tuple(
    _Sign(*sign)
    for sign in (
        (
            r"No space left on device|Disk quota exceeded",
            Kind.SINK,
            "the disk is full",
            "free some space and run it again: with --checkpoint it goes on where it was",
        ),
        (
            r"KAFKA_DATA_SOURCE_NOT_ENABLED|Failed to find data source: kafka",
            Kind.ENVIRONMENT,
            "Spark's Kafka package is not there",
            "add --conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION",
        ),
        (
            r"unresolved dependenc\w+:? ?(\S*)",
            Kind.ENVIRONMENT,
            "a package could not be fetched: {1}",
            "check the network, or give the jars with --conf spark.jars=a.jar,b.jar",
        ),
        (
            r"FILE_NOT_EXIST|FileNotFoundException: (?:File )?(\S+)",
            Kind.SOURCE,
            "a file was removed before it was read: {1}",
            "put it back; or go on without it: --conf spark.sql.files.ignoreMissingFiles=true",
        ),
        (
            r"PATH_NOT_FOUND[^:]*: (\S+)",
            Kind.SOURCE,
            "there is nothing at {1}",
            "check the path; it counts from where ssql was started",
        ),
        (
            r"(?s)CSV header does not conform.*?Header: (.*?)\s*Schema: (.*?)\s*Expected",
            Kind.SOURCE,
            "the CSV file has the columns {1}, and {2} are declared",
            "declare them in the file's order, or write enforceSchema = true to go by position",
        ),
        (
            r"PARQUET_COLUMN_DATA_TYPE_MISMATCH[^\n]*?file (\S+?)\.? (Data type mismatches[^\n]*)",
            Kind.SOURCE,
            "a file does not have the declared types: {2}",
            "declare the types that the files have",
        ),
        (
            r"(?:CANNOT_READ_FILE_FOOTER|CANNOT_READ_FOOTER|FAILED_READ_FILE)[^\n]*?file:? (\S+)",
            Kind.SOURCE,
            "a file cannot be read: {1}",
            "check its format, or skip such files: --conf spark.sql.files.ignoreCorruptFiles=true",
        ),
        (
            r"Connection refused|UnknownHostException|No resolvable bootstrap|TimeoutException",
            Kind.SOURCE,
            "nobody answers at the other end",
            "check the host and the port, and that it is running",
        ),
        (
            r"UnknownTopicOrPartitionException|UNKNOWN_TOPIC",
            Kind.SOURCE,
            "the topic does not exist",
            "create it first, or check its name",
        ),
        (
            r"OverflowError: (a sum[^\n:]*): ([^\n]*)",
            Kind.QUERY,
            "{1}",
            "{2}",
        ),
        (
            r"(this state has format \d+), and (this version of ssql reads format \d+)",
            Kind.CHECKPOINT,
            "{1}, and {2}",
            "use the version that wrote it, or start anew with another checkpoint directory",
        ),
        (
            r"OutOfMemoryError",
            Kind.QUERY,
            "Spark ran out of memory",
            "give it more: --conf spark.driver.memory=4g",
        ),
        (
            r"Permission denied",
            Kind.SINK,
            "permission denied",
            "check who may write there",
        ),
    )
)  # fmt: skip

_CAUSE = re.compile(r"(?:^|\n)(?:Caused by: )?([\w.$]+(?:Exception|Error)): ([^\n]*)")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ([^\n]*?)(?: SQLSTATE: \w+)?(?:\n|$)")
_PYTHON = re.compile(r"(?:^|\n|\s)(\w+(?:Error|Exception|Warning): [^\n]+)(?=\n|\Z)")


def spark_errors() -> tuple[type[Exception], ...]:
    """What a call into Spark may raise."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def spark_is_gone(error: BaseException) -> RunFailure | None:
    """The JVM was killed or died, and nobody answers any more."""
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

    cut_off = isinstance(error, ConnectionError | Py4JNetworkError)
    # A call that was under way then fails without a cause.
    unanswered = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    if not cut_off and not (unanswered and _jvm_has_ended()):
        return None
    return RunFailure(
        Kind.QUERY,
        "the process of Spark has ended",
        helps=("it may have run out of memory: give it more with --conf spark.driver.memory=4g",),
    )


def _jvm_has_ended() -> bool:
    from subprocess import TimeoutExpired

    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:  # not started from here
        return False
    try:
        process.wait(JVM_END_SECONDS)
    except TimeoutExpired:
        return False
    return True


def explained(error: BaseException, about: Span | None = None) -> RunFailure:
    """A failure of Spark's as one sentence; what Spark said in full stays in `details`."""
    if isinstance(error, RunFailure):
        return error
    if gone := spark_is_gone(error):
        return gone
    text = "\n".join(_causes(error))
    for sign in _SIGNS:
        if found := re.search(sign.pattern, text):
            message, help = (_filled(words, found) for words in (sign.message, sign.help))
            return RunFailure(sign.kind, message, about=about, helps=(help,), details=text)
    return RunFailure(Kind.QUERY, _sentence(text), about=about, details=text)


def _filled(words: str, found: re.Match[str]) -> str:
    for at, group in enumerate(found.groups(), 1):
        words = words.replace(f"{{{at}}}", (group or "").strip(" .,'\"`"))
    return words.rstrip(": ")


def _causes(error: BaseException) -> Iterator[str]:
    """What went wrong, and what that came from, down to the first cause in the JVM."""
    yield str(error)
    cause = getattr(error, "_cause", None)
    while cause is not None:
        yield f"Caused by: {cause}"
        cause = getattr(cause, "_cause", None)


def _sentence(text: str) -> str:
    in_python = "PythonException" in text or "Traceback (most recent call last)" in text
    if in_python and (raised := _PYTHON.findall(text)):
        return f"a Python function failed: {raised[-1]}"
    # The innermost cause says the most, and Spark prints it last.
    conditions = [c for c in _CONDITION.findall(text) if not c[0].startswith("STREAM_FAILED")]
    if conditions:
        return str(conditions[-1][1]).strip()
    causes = _CAUSE.findall(text)
    if causes:
        return f"{causes[-1][0].rsplit('.', 1)[-1]}: {causes[-1][1]}".strip()
    return text.strip().splitlines()[0] if text.strip() else "Spark failed without a reason"
