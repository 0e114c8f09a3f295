"""File sinks that hold each result once, whoever reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from ssql.planner.job import JobSink
from ssql.runtime.failures import Kind, RunFailure
from ssql.runtime.storage import local_path

_MANIFEST = "_spark_metadata"
_PART = re.compile(r"part-\d{5}-[0-9a-f-]{36}.*")


def prepare_file_sink(
    sink: JobSink, path: str, *, resumed: bool, undone_since: float | None
) -> None:
    """Spark writes the files of a batch in place and lists them in a manifest when it commits.

    A run that was killed leaves files that no manifest lists; readers that do not know manifests
    would see their rows twice, so they are removed before the batch is done again. A new run into
    the results of an old one would be skipped by Spark, batch by batch: it is refused.

    `undone_since` is when the batch was planned that a run which is resumed did not finish.
    """
    directory = local_path(path)
    if directory is None or not directory.is_dir():
        return
    batches = [int(f.name.split(".")[0]) for f in _batch_files(directory)]
    if batches and not resumed:
        raise RunFailure(
            Kind.SINK,
            f"{path} holds the results of another run",
            about=sink.span,
            notes=(f"{max(batches) + 1} batches were written there",),
            helps=("go on with its --checkpoint, or write to a new directory",),
        )
    if undone_since is None:
        return  # no batch was left half done, so whatever is there is not ours
    listed = set(_listed(directory))
    for file in directory.rglob("part-*"):
        is_ours = (
            _PART.fullmatch(file.name) and file.is_file() and file.stat().st_mtime >= undone_since
        )
        if is_ours and file.resolve() not in listed:
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _batch_files(directory: Path) -> Iterator[Path]:
    for file in (directory / _MANIFEST).glob("[0-9]*"):
        if re.fullmatch(r"\d+(\.compact)?", file.name):
            yield file


def _listed(directory: Path) -> Iterator[Path]:
    for file in _batch_files(directory):
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            if line.strip():
                yield Path(unquote(urlparse(json.loads(line)["path"]).path)).resolve()
