"""What a query has done so far, from what Spark reports of its batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ssql.planner.cost.zipf import distinct_behind
from ssql.planner.job import JobSource
from ssql.planner.statistics import Memory, Observed, Run
from ssql.runtime.progress import EARLIEST, LATEST, distinct_in, rows_in

ROWS_OUT = "out"
LATE = "late "  # what our operators have dropped, each under a name that begins so


@dataclass(slots=True)
class Seen:
    """What a run has seen of a stream: how many rows of which times, and how many groups in the
    largest batch."""

    rows: int = 0
    batches: int = 0
    earliest: int | None = None
    latest: int | None = None
    largest: int = 0
    groups: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, found: Any, source: JobSource) -> None:
        metrics = found.asDict()
        rows = metrics["rows"] - metrics["rejected"]
        if not rows:
            return
        self.rows += rows
        self.batches += 1
        first, last = metrics.get(EARLIEST), metrics.get(LATEST)
        if first is not None and last is not None:
            self.earliest = first if self.earliest is None else min(self.earliest, first)
            self.latest = last if self.latest is None else max(self.latest, last)
        if rows > self.largest:
            self.largest = rows
            for at, columns in enumerate(source.groupings):
                self.groups[columns] = metrics[distinct_in(at)]

    def observed(self) -> Observed:
        seconds = (self.latest - self.earliest) / 1e6 if self.earliest and self.latest else 0.0
        distinct = {
            ",".join(columns).casefold(): distinct_behind(self.largest, groups)
            for columns, groups in self.groups.items()
        }
        return Observed(
            rate=self.rows / seconds if seconds > 0 else None,
            distinct=distinct,
            batch_rows=self.rows / self.batches if self.batches else None,
            rows=self.rows,
        )


@dataclass(slots=True)
class Summary:
    name: str
    rows_in: int = 0
    late: int = 0
    rejected: int = 0
    rows_out: int = 0
    state_rows: int = 0
    batches: int = 0
    seconds: float = 0.0
    watermark: str | None = None
    most_state_rows: int = 0
    most_state_bytes: int = 0
    batch_seconds: list[float] = field(default_factory=list)
    seen: dict[str, Seen] = field(default_factory=dict)  # by stream
    _looked_at: str = ""
    _seen: set[tuple[str, int]] = field(default_factory=set)

    def add(self, reports: Iterable[Any], sources: tuple[JobSource, ...]) -> None:
        """Take in reports; those that were there before count once."""
        for report in reports:
            batch = (str(report.runId), report.batchId)
            metrics = report.observedMetrics
            if batch in self._seen or not metrics:
                continue
            self._seen.add(batch)
            self.batches += 1
            for source in sources:
                if found := metrics.get(rows_in(source)):
                    self.rows_in += found["rows"]
                    self.rejected += found["rejected"]
                    self.seen.setdefault(source.name, Seen()).add(found, source)
            if found := metrics.get(ROWS_OUT):
                self.rows_out += found["rows"]
            self.late += sum(o.numRowsDroppedByWatermark for o in report.stateOperators)
            self.late += sum(m["rows"] or 0 for n, m in metrics.items() if n.startswith(LATE))
            self.state_rows = sum(o.numRowsTotal for o in report.stateOperators)
            self.most_state_rows = max(self.most_state_rows, self.state_rows)
            state_bytes = sum(o.memoryUsedBytes for o in report.stateOperators)
            self.most_state_bytes = max(self.most_state_bytes, state_bytes)
            self.batch_seconds.append(report.batchDuration / 1000)
            self.watermark = report.eventTime.get("watermark", self.watermark)

    def misses(self, report: Any) -> bool:
        """Is this report another than the last one that was looked at? It is from now on."""
        before, self._looked_at = self._looked_at, report.timestamp
        return bool(before != report.timestamp)

    def text(self) -> str:
        counts = (
            f"{self.rows_in:,} rows in",
            f"{self.late:,} late dropped",
            f"{self.rejected:,} rejected",
            f"{self.rows_out:,} rows out",
            f"{self.state_rows:,} state rows",
            f"{self.seconds:.1f} s",
        )
        return f"{self.name}: {', '.join(counts)}"

    def run(self, plan: str) -> Run:
        """The run in figures, for those who come after it."""
        return Run(
            plan=plan,
            rows=self.rows_in,
            seconds=round(self.seconds, 3),
            batches=self.batches,
            batch_seconds=round(median(self.batch_seconds), 3) if self.batch_seconds else 0.0,
            state_rows=self.most_state_rows,
            state_bytes=self.most_state_bytes,
        )

    def learned(self, plan: str, memory: Memory) -> Memory:
        """With what this run has seen, for the next one."""
        for stream, seen in self.seen.items():
            if seen.rows:
                memory = memory.with_learned(stream, seen.observed())
        return memory.with_run(self.name, self.run(plan)) if self.batch_seconds else memory
