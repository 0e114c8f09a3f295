"""What a checkpoint was written for: a run that does not fit it is refused before Spark starts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from ssql.planner.catalog import Connection
from ssql.planner.job import Job, JobQuery, JobSource
from ssql.planner.statistics import PREFIX
from ssql.runtime.failures import Kind, RunFailure
from ssql.runtime.session import FROZEN, SHUFFLE_PARTITIONS
from ssql.runtime.storage import LocalStorage, Storage, local_path

FORMAT = 1
_FILE = "ssql.json"
# Options that say how fast a source is read, not what is in it.
_PACE = ("maxfilespertrigger", "maxbytespertrigger", "maxoffsetspertrigger", "latestfirst")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One query as its checkpoint remembers it."""

    query: tuple[str, ...]
    plan: str
    plans: tuple[str, ...] = ()  # of its aggregates
    sources: Mapping[str, str]
    sink: str
    settings: Mapping[str, str]
    flush: str = ""  # "begun" or "done", once --flush has closed the windows

    def text(self) -> str:
        fields = {"format": FORMAT, **{f: getattr(self, f) for f in self.__slots__}}
        return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def record_of(job: Job, query: JobQuery, settings: Mapping[str, str]) -> Record:
    return Record(
        query=query.outline,
        plan=query.plan,
        plans=query.plans,
        sources={s.name: _source_text(s) for s in job.sources_of(query)},
        sink=_connection_text(query.sink.connection) if query.sink else "standard output",
        settings={k: v for k, v in settings.items() if k in FROZEN},
    )


def _source_text(source: JobSource) -> str:
    columns = ", ".join(f"{name} {type}" for name, type in source.columns)
    watermark = f", watermark {source.time} - {source.delay}" if source.time else ""
    return f"({columns}{watermark}) from {_connection_text(source.connection)}"


def _connection_text(connection: Connection) -> str:
    """Where it is, as it was written: `env:NAME` stays a name."""
    kind = "/".join(filter(None, (connection.connector, connection.format)))
    kept = [f"{k} = {v}" for k, v in connection.options if not _says_nothing(k)]
    return f"{kind} ({', '.join(kept)})"


def _says_nothing(key: str) -> bool:
    """About what is in a source: how fast it is read, and what is known of it."""
    return key.casefold() in _PACE or key.casefold().startswith(PREFIX)


def load(storage: Storage, directory: str) -> Record | None:
    text = storage.read(f"{directory}/{_FILE}")
    if text is None:
        return None
    try:
        fields = json.loads(text)
        if fields.pop("format") != FORMAT:
            raise RunFailure(
                Kind.CHECKPOINT,
                f"the checkpoint in {directory} was written by another version of ssql",
                helps=("use that version, or a new checkpoint directory",),
            )
        lists = {k: tuple(fields[k]) for k in ("query", "plans") if k in fields}
        return Record(**{**fields, **lists})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFailure(
            Kind.CHECKPOINT,
            f"{directory}/{_FILE} is damaged",
            helps=("use a new checkpoint directory",),
        ) from error


def recorded_plans(root: str) -> dict[int, tuple[str, ...]]:
    """By the numbers of queries: the plans that a checkpoint on this machine was written by. State
    is of one plan, so a run goes on with it, whatever has been learned since."""
    local = local_path(root)
    found: dict[int, tuple[str, ...]] = {}
    for directory in sorted(local.glob("query_*")) if local is not None else ():
        number = directory.name.removeprefix("query_")
        kept = load(LocalStorage(), str(directory)) if number.isdecimal() else None
        if kept is not None:
            found[int(number)] = kept.plans
    return found


def save(storage: Storage, directory: str, record: Record) -> None:
    storage.write(f"{directory}/{_FILE}", record.text())


def check(kept: Record, now: Record, query: JobQuery, directory: str, *, flush: bool) -> None:
    """Refuse to resume with something that the checkpoint was not written for."""
    about = query.span
    differences = list(_differences(kept, now))
    if differences:
        raise RunFailure(
            Kind.CHECKPOINT,
            f"the checkpoint in {directory} was written for something else",
            about=about,
            notes=tuple(differences),
            helps=("undo the change, or start anew with another checkpoint directory",),
        )
    if kept.flush == "done" or (kept.flush and not flush):
        raise RunFailure(
            Kind.CHECKPOINT,
            f"the windows of the checkpoint in {directory} were closed with --flush",
            about=about,
            notes=("every row that comes now would be late",),
            helps=("start anew with another checkpoint directory",),
        )


def _differences(kept: Record, now: Record) -> Iterator[str]:
    if kept.plan != now.plan:
        yield f"the plan was {kept.plan}, and is {now.plan} now (force it with --plan {kept.plan})"
    for name in sorted({*kept.sources, *now.sources}):
        before, after = kept.sources.get(name), now.sources.get(name)
        if before != after:
            yield f"{name} was {before or 'not read'}"
            yield f"{name} is  {after or 'not read'}"
    if kept.sink != now.sink:
        yield f"results went to {kept.sink}, and go to {now.sink} now"
    if kept.query != now.query and kept.sources == now.sources:
        for before, after in zip_longest(kept.query, now.query, fillvalue=""):
            if before != after:
                yield f"the query was {before.strip(' │├└─')!r}"
                yield f"the query is  {after.strip(' │├└─')!r}"
                break
    for key in FROZEN:
        before, after = kept.settings.get(key), now.settings.get(key)
        if before != after and not (key == SHUFFLE_PARTITIONS and after is None):
            yield f"{key} was {before}, and is {after} now"
