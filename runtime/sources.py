"""Sources before a run: what can be seen to be wrong is said before the first batch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from ssql.planner.catalog import OptionValue
from ssql.planner.job import JobSource
from ssql.planner.span import Span
from ssql.runtime.failures import Kind, RunFailure, explained
from ssql.runtime.storage import local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

# What Parquet and ORC files may hold where something wider is declared.
_WIDER = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint", "double"),
    "float": ("double",),
    "timestamp_ntz": ("timestamp",),
    "timestamp": ("timestamp_ntz",),
    "date": ("timestamp", "timestamp_ntz"),
}


def text_of(value: OptionValue) -> str:
    """An option or setting as text; `env:NAME` is looked up here and nowhere else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if not value.startswith("env:"):
            return value
        name = value[4:]
        if name not in os.environ:
            raise RunFailure(
                Kind.ENVIRONMENT,
                f"the environment variable {name} is not set",
                helps=(f"set it first: export {name}=…",),
            )
        return os.environ[name]
    return str(int(value)) if value == value.to_integral_value() else str(value)


def path_of(source: JobSource) -> str | None:
    path = source.connection.option("path")
    return None if path is None else text_of(path)


def make_missing_directory(source: JobSource) -> str | None:
    """A stream may begin before its directory does; the directory that was made, if one was."""
    path = path_of(source) if source.is_stream and source.connection.connector == "file" else None
    directory = local_path(path) if path else None
    if path is None or directory is None or directory.exists() or any(c in path for c in "*?[{"):
        return None
    directory.mkdir(parents=True)
    return path


def check_schema(spark: SparkSession, source: JobSource, frame: DataFrame) -> None:
    """Parquet and ORC files know their columns: do they have those that are declared?"""
    connection, path = source.connection, path_of(source)
    if connection.format not in ("parquet", "orc") or path is None:
        return
    directory = local_path(path)
    if directory is not None and directory.is_dir() and not any(directory.iterdir()):
        return
    from pyspark.errors import AnalysisException

    try:
        found = spark.read.format(connection.format).load(path).schema
    except AnalysisException as error:
        if source.is_stream:
            return  # no file yet
        raise explained(error, source.span) from error
    held = {f.name.casefold(): f.dataType for f in found.fields}
    for field in frame.schema.fields:
        type = held.get(field.name.casefold())
        if type is None:
            raise RunFailure(
                Kind.SOURCE,
                f"the files of {source.name} have no column {field.name}",
                about=source.span,
                helps=(f"they have {', '.join(f.name for f in found.fields)}",),
            )
        if not _fits(type, field.dataType):
            raise RunFailure(
                Kind.SOURCE,
                f"{field.name} is {type.simpleString()} in the files of {source.name},"
                f" and {field.dataType.simpleString()} is declared",
                about=source.span,
                helps=(f"declare it as {type.simpleString().upper()}",),
            )


_SKIP_MISSING = "spark.sql.files.ignoreMissingFiles"


def check_unread_files(checkpoint: Path, settings: Mapping[str, str], place: Span) -> None:
    """A batch that was planned and not done is done again: are its files still there?

    Spark would leave out those that are not, and say nothing.
    """
    if settings.get(_SKIP_MISSING) == "true":
        return
    for batch in undone_batches(checkpoint):
        before = _log_offsets(checkpoint, batch - 1)
        for at, (last, first) in enumerate(
            zip_longest(_log_offsets(checkpoint, batch), before, fillvalue=-1)
        ):
            for number in range(first + 1, last + 1):
                for file in _listed_files(checkpoint / "sources" / str(at) / str(number)):
                    if not file.exists():
                        raise RunFailure(
                            Kind.SOURCE,
                            f"a file was removed before it was read: {file}",
                            about=place,
                            helps=(
                                f"put it back; or go on without it: --conf {_SKIP_MISSING}=true",
                            ),
                        )


def undone_batches(checkpoint: Path) -> list[int]:
    """Batches that were planned and not done: at most one, unless files were lost."""
    return sorted(_numbers(checkpoint / "offsets") - _numbers(checkpoint / "commits"))


def undone_since(checkpoint: Path) -> float | None:
    """When the batch was planned that is to be done again."""
    undone = undone_batches(checkpoint)
    return (checkpoint / "offsets" / str(undone[0])).stat().st_mtime if undone else None


def _numbers(directory: Path) -> set[int]:
    return {int(f.name) for f in directory.glob("[0-9]*") if f.name.isdecimal()}


def _log_offsets(checkpoint: Path, batch: int) -> list[int]:
    """How far each source had come with a batch; -1 where it is no file source."""
    file = checkpoint / "offsets" / str(batch)
    if not file.exists():
        return []
    offsets = []
    for line in file.read_text(encoding="utf-8").splitlines()[2:]:
        found = json.loads(line) if line.startswith("{") else {}
        offsets.append(int(found.get("logOffset", -1)))
    return offsets


def _listed_files(log: Path) -> Iterator[Path]:
    """The files of one entry of a source's log; now and then an entry holds all before it, too."""
    compact = log.with_name(f"{log.name}.compact")
    file = log if log.exists() else compact
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            entry = json.loads(line)
            path = local_path(entry["path"])
            if path is not None and entry.get("batchId") == int(log.name):
                yield path


def _fits(held: DataType, declared: DataType) -> bool:
    a, b = str(held.simpleString()), str(declared.simpleString())
    if a == b or b in _WIDER.get(a, ()):
        return True
    return a.split("(")[0].split("<")[0] == b.split("(")[0].split("<")[0]
