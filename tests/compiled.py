"""Queries compiled and run on rows, for the tests that compare results with the oracle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

from ssql.compiler.pipeline import compile_job
from ssql.compiler.source import Source
from ssql.planner.job import Job

Row = dict[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def job_of(text: str, plan: str | None = None) -> Job:
    job, diagnostics = compile_job(Source("query.ssql", text), plan)
    assert job is not None, [d.message for d in diagnostics]
    return job


def module_of(job: Job) -> ModuleType:
    module = ModuleType("emitted")
    exec(compile(job.code, "emitted.py", "exec"), module.__dict__)
    return module


def micros(moment: datetime) -> int:
    """Microseconds since the epoch; sessions of the tests are in UTC."""
    since = moment.replace(tzinfo=UTC) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment(us: int | None) -> datetime | None:
    return None if us is None else (_EPOCH + timedelta(microseconds=us)).replace(tzinfo=None)


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def frame_of(spark: Any, rows: list[Row], types: dict[str, str]) -> Any:
    """Rows as a DataFrame; times are microseconds in the rows, and timestamps in the frame."""
    names = ", ".join(f"`{n}` {t}" for n, t in types.items())
    data = [
        tuple(moment(r[n]) if t == "TIMESTAMP" else r[n] for n, t in types.items()) for r in rows
    ]
    return spark.createDataFrame(data, names)


def collected(frame: Any) -> list[Row]:
    return [{k: plain(v) for k, v in r.asDict().items()} for r in frame.collect()]


def stream_ddl(name: str, types: dict[str, str], delay: str, options: str) -> str:
    columns = ", ".join(f"{n} {t}" for n, t in types.items())
    return (
        f"CREATE STREAM {name} ({columns}, WATERMARK FOR ts AS ts - INTERVAL {delay})"
        f" WITH ({options});\n"
    )
