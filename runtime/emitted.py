"""The emitted module as it is executed, with the user's functions."""

from __future__ import annotations

import shutil
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ssql.planner.job import Job
from ssql.runtime.failures import Kind, RunFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def load_module(job: Job, spark: SparkSession, path: str | None) -> ModuleType:
    """The module, with functions registered; `path` is where the user's modules are."""
    if path is not None and path not in sys.path:
        sys.path.insert(0, path)
    module = ModuleType(f"ssql_job_{job.name}")
    code = compile(job.code, f"{job.name}.py", "exec")
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            exec(code, module.__dict__)  # noqa: S102 - this is what running a job is
    except Exception as error:  # a module of the user's may raise anything
        raise RunFailure(
            Kind.ENVIRONMENT,
            f"a Python function cannot be imported: {type(error).__name__}: {error}",
            helps=("put its module beside the .ssql file, or on PYTHONPATH",),
            details=traceback.format_exc(),
        ) from error
    for function in job.functions:
        spark.udf.register(function.name, getattr(module, function.attribute), function.returns)
        _ship(spark, function.module.split(".")[0])
    return module


def _ship(spark: SparkSession, name: str) -> None:
    """The processes that run the user's functions need their module, wherever they are."""
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        return
    path = Path(file)
    if path.name == "__init__.py":
        archive = str(Path(tempfile.mkdtemp(prefix="ssql-")) / name)
        path = Path(shutil.make_archive(archive, "zip", path.parent.parent, name))
    spark.sparkContext.addPyFile(str(path))
