"""Small files beside a checkpoint, on this machine or wherever Spark can write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse


class Storage(Protocol):
    def read(self, path: str) -> str | None: ...

    def write(self, path: str, text: str) -> None:
        """The whole file or none of it, even if the machine stops."""

    def make_directory(self, path: str) -> None: ...


def local_path(path: str) -> Path | None:
    """The path on this machine; None if it is elsewhere."""
    url = urlparse(path)
    if url.scheme == "file":
        return Path(unquote(url.path))
    return None if url.scheme else Path(path)


class LocalStorage:
    def read(self, path: str) -> str | None:
        try:
            return _here(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, path: str, text: str) -> None:
        target = _here(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)

    def make_directory(self, path: str) -> None:
        _here(path).mkdir(parents=True, exist_ok=True)


def _here(path: str) -> Path:
    found = local_path(path)
    assert found is not None
    return found


class HadoopStorage:
    """Any file system that Spark knows, through Spark."""

    def __init__(self, spark: Any) -> None:
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        self._configuration = spark._jsc.hadoopConfiguration()

    def _path(self, path: str) -> tuple[Any, Any]:
        target = self._jvm.org.apache.hadoop.fs.Path(path)
        return target, target.getFileSystem(self._configuration)

    def read(self, path: str) -> str | None:
        target, system = self._path(path)
        if not system.exists(target):
            return None
        stream = system.open(target)
        try:
            return bytes(stream.readAllBytes()).decode("utf-8")
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        target, system = self._path(path)
        partial, _ = self._path(f"{target.getParent()}/.{target.getName()}.partial")
        stream = system.create(partial, True)
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
        files = self._jvm.org.apache.hadoop.fs
        how = self._gateway.new_array(files.Options.Rename, 1)
        how[0] = files.Options.Rename.OVERWRITE
        context = files.FileContext.getFileContext(target.toUri(), self._configuration)
        context.rename(partial, context.makeQualified(target), how)

    def make_directory(self, path: str) -> None:
        target, system = self._path(path)
        system.mkdirs(target)
