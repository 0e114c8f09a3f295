"""What each unit of work takes on this Spark: the constants of the cost model.

Runs every plan on cells that the other benchmarks do not have, and fits the constants of
planner/cost/ to the times by least squares, none below zero. `--write` puts them into
planner/cost/constants.json; `--from FILE` fits the times of an earlier run (`--times FILE`) anew.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
from pathlib import Path
from typing import Any

import joins
import numpy as np
import operators
from cells import BATCHES, COLLECTS, PLANS, Cell, rows_of, seconds, warm_session
from scipy.optimize import nnls

from ssql.compiler.pipeline import check
from ssql.compiler.source import Source
from ssql.planner.choose import pane_of
from ssql.planner.cost import constants as constants_module
from ssql.planner.cost.amounts import OF_VALUES, amounts
from ssql.planner.cost.constants import BATCH
from ssql.planner.cost.estimate import shape_of
from ssql.planner.cost.workload import workload_of
from ssql.planner.logical import Aggregate, walk
from ssql.planner.ordered import SYNC_FILTER
from ssql.planner.statistics import NOTHING_KNOWN

TARGET = Path(constants_module.__file__).parent / constants_module.FILE
MOST_SECONDS = 15.0
# RANGE/SLIDE, groups, rows of a group in a pane: corners, and what lies between them.
POINTS = (
    (1, 30, 300), (1, 5_000, 20), (1, 60_000, 4), (4, 20_000, 1), (4, 3_000, 100), (25, 30, 400),
    (25, 3_000, 2), (250, 30, 100), (10, 20, 20_000), (250, 800, 2), (25, 3_000, 40),
    (250, 800, 30), (25, 300, 30), (25, 40_000, 1), (250, 5_000, 1),
)  # fmt: skip
PLAIN = "sum"
ANOTHER_PART = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write planner/cost/constants.json")
    parser.add_argument("--times", type=Path, help="keep the times in this file")
    parser.add_argument("--from", type=Path, dest="kept", help="fit these times, measure nothing")
    options = parser.parse_args()
    if options.kept:
        times = json.loads(options.kept.read_text())
    else:
        times = measured(options.times)
    fitted = {plan: fit(plan, times) for plan in PLANS}
    if options.kept:
        joining = dict(constants_module.constants().join)
    else:
        with warm_session() as spark:
            joining = seconds_of_joins(spark)
    found = {
        "how": {
            "command": "python bench/calibrate.py --write",
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "spark": spark_version(),
            "unit": "seconds on all cores; `batch` is for one batch, the others for one of each",
        },
        "another part": ANOTHER_PART,
        "join": joining,
        "seconds": fitted,
    }
    text = json.dumps(found, indent=2) + "\n"
    if options.write:
        TARGET.write_text(text)
    else:
        print(text)


def measured(keep: Path | None) -> list[dict[str, Any]]:
    """With `keep`, cells that are in that file already are not measured again."""
    times: list[dict[str, Any]] = json.loads(keep.read_text()) if keep and keep.exists() else []
    known = {(*t["point"], t["aggregate"]) for t in times}
    cells = [Cell(*point, aggregate) for point in POINTS for aggregate in (PLAIN, COLLECTS)]
    with warm_session() as spark:
        for cell in cells:
            point = (cell.ratio, cell.groups, cell.rows_a_pane)
            if (*point, cell.aggregate) in known or not cell.fits:
                continue
            with rows_of(spark, cell) as path:
                found = {p: seconds(spark, cell.text(path), p, MOST_SECONDS) for p in PLANS}
            shown = ", ".join(f"{p} {t or MOST_SECONDS:.1f}" for p, t in found.items())
            print(
                f"{cell.name():>16} {cell.aggregate:>10} {cell.rows:>11,} rows: {shown}", flush=True
            )
            times.append({"point": point, "aggregate": cell.aggregate, "seconds": found})
            if keep:
                keep.write_text(json.dumps(times, indent=1))
    return times


def done(cell: Cell, plan: str) -> dict[str, float]:
    """The amounts of one batch of a cell."""
    checked = check(Source("bench.ssql", cell.text("nowhere")))
    (node,) = [n for n in walk(checked.program.queries[0].plan) if isinstance(n, Aggregate)]
    shape = shape_of(node.window, pane_of(node))
    return amounts(plan, workload_of(node, NOTHING_KNOWN), shape)


def fit(plan: str, times: list[dict[str, Any]]) -> dict[str, float]:
    """First what every aggregate pays; then, from what is left of the time, what values cost."""
    takes: dict[str, float] = {}
    for aggregate in (PLAIN, COLLECTS):
        known = [
            (Cell(*t["point"], aggregate), t["seconds"][plan])
            for t in times
            if t["aggregate"] == aggregate and t["seconds"][plan] is not None
        ]
        work = [{BATCH: 1.0, **done(cell, plan)} for cell, _ in known]
        names = [n for n in work[0] if (n in OF_VALUES) == (aggregate == COLLECTS)]
        took = np.array([took for _, took in known])
        before = np.array([BATCHES * sum(takes.get(n, 0) * w[n] for n in w) for w in work])
        matrix = np.array([[BATCHES * w[n] for n in names] for w in work])
        # Relative errors count, so that small cells are as good as large ones.
        scale = matrix.max(axis=0)
        solution, _ = nnls(matrix / took[:, None] / scale, np.maximum(1 - before / took, 0))
        found = solution / scale
        off = np.abs(np.log((before + matrix @ found) / took))
        print(
            f"{plan:>8} {aggregate:>8}: off by {np.exp(np.median(off)):.2f} in the middle,"
            f" {np.exp(off.max()):.2f} at most ({known[int(off.argmax())][0].name()})"
        )
        takes |= {n: float(f"{v:.3g}") for n, v in zip(names, found, strict=True)}
    return takes


JOINED_ROWS, PARTNERS = 1_000_000, (1, 20)


def seconds_of_joins(spark: Any) -> dict[str, float]:
    """What an ordered join takes for a row, and for a result: from one that gives few of them, and
    one that gives many."""
    took = []
    for partners in PARTNERS:
        with tempfile.TemporaryDirectory(prefix="ssql-bench-") as directory:
            for salt, name in enumerate("ab"):
                joins.generate(spark, f"{directory}/{name}", JOINED_ROWS, salt, partners)
            select = "SELECT a.k, a.v, b.v AS w FROM a, b WHERE a.k = b.k WINDOW 1 minute"
            module = joins.module_of(directory, select, SYNC_FILTER)
            runs = (operators.seconds(module.query_1(*joins.read(spark, module))) for _ in range(4))
            took.append(statistics.median(list(runs)[1:]))
            print(f"join, {partners} partners a row: {took[-1]:.1f} s", flush=True)
    few, many = (JOINED_ROWS * partners for partners in PARTNERS)
    pair = max(took[1] - took[0], 0.0) / (many - few)
    row = max(took[0] - few * pair, 0.0) / (2 * JOINED_ROWS)
    return {"rows": float(f"{row:.3g}"), "pairs": float(f"{pair:.3g}")}


def spark_version() -> str:
    from importlib.metadata import version

    return version("pyspark")


if __name__ == "__main__":
    main()
