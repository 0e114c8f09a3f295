"""What a query has done so far, from what Spark reports of its batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ssql.planner.job import JobSource
from ssql.runtime.progress import rows_in

ROWS_OUT = "out"
LATE = "late "  # what our operators have dropped, each under a name that begins so


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
            if found := metrics.get(ROWS_OUT):
                self.rows_out += found["rows"]
            self.late += sum(o.numRowsDroppedByWatermark for o in report.stateOperators)
            self.late += sum(m["rows"] or 0 for n, m in metrics.items() if n.startswith(LATE))
            self.state_rows = sum(o.numRowsTotal for o in report.stateOperators)
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
