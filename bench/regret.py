"""Is the chosen plan the fastest one? Every legal plan of every cell of a grid, measured.

Regret is the time of the chosen plan by that of the best one. A plan is given up when it has taken
twice as long as the best one so far and two seconds more; those that are near the best one are
measured again, in turn, and the median counts, unless they take long, when noise counts for less.
`--only 60x1000x20` runs one cell.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from itertools import product
from typing import Any

from cells import PLANS, Cell, rows_of, seconds, warm_session

from ssql.compiler.pipeline import UNKNOWN, check, choice_of
from ssql.compiler.source import Source
from ssql.planner.choose import Choice

RATIOS = (1, 2, 10, 60, 600)
GROUPS = (10, 1_000, 100_000)
ROWS_A_PANE = (1, 20, 500)
AGGREGATES = ("sum", "max", "distinct")
MEDIAN, WORST = 1.05, 1.3
NEAR, REPEATS, LONG_SECONDS = 1.5, 3, 10.0


@dataclass(frozen=True, slots=True)
class Result:
    cell: Cell
    chosen: str
    times: dict[str, float | None]  # None: given up

    @property
    def best(self) -> str:
        return min((p for p, t in self.times.items() if t), key=lambda p: self.times[p] or 0.0)

    @property
    def regret(self) -> float:
        took, best = self.times[self.chosen], self.times[self.best]
        assert best is not None
        return took / best if took else float("inf")


def grid() -> list[Cell]:
    """Aggregates alternate, so that each kind meets every ratio, size and density."""
    cells = []
    for at, (ratio, groups, rows) in enumerate(product(RATIOS, GROUPS, ROWS_A_PANE)):
        turn = at + at // len(ROWS_A_PANE) + at // len(ROWS_A_PANE) // len(GROUPS)
        cells.append(Cell(ratio, groups, rows, AGGREGATES[turn % len(AGGREGATES)]))
    return cells


def chosen_plan(cell: Cell) -> str:
    checked = check(Source("bench.ssql", cell.text("nowhere")))
    choice = choice_of(checked.program, checked.program.queries[0], UNKNOWN).choice
    assert isinstance(choice, Choice)
    return choice.plan


def measure(spark: Any, cell: Cell) -> Result:
    chosen = chosen_plan(cell)
    with rows_of(spark, cell) as path:
        text = cell.text(path)
        taken: dict[str, list[float]] = {}
        for plan in (chosen, *(p for p in PLANS if p != chosen)):
            best = min((t[0] for t in taken.values()), default=float("inf"))
            took = seconds(spark, text, plan, 2 * best + 2)
            if took is not None:
                taken[plan] = [took]
        best = min(t[0] for t in taken.values())
        near = [p for p, t in taken.items() if t[0] <= NEAR * best]
        again = len(near) > 1 and best < LONG_SECONDS
        for _ in range(REPEATS - 1 if again else 0):
            for plan in near:
                took = seconds(spark, text, plan)
                assert took is not None
                taken[plan].append(took)
    times = {p: statistics.median(taken[p]) if p in taken else None for p in PLANS}
    return Result(cell, chosen, times)


def show(result: Result) -> None:
    cell = result.cell
    times = " ".join(f"{t:8.1f}" if t else "       –" for t in result.times.values())
    print(
        f"{cell.ratio:>11} {cell.groups:>8,} {cell.rows_a_pane:>5} {cell.aggregate:>10}"
        f" {cell.rows:>11,} {times}  {result.chosen:>8} {result.best:>8} {result.regret:6.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="RATIOxGROUPSxROWS", help="one cell, as in 60x1000x20")
    options = parser.parse_args()
    cells = [c for c in grid() if options.only in (None, c.name())]
    begun = time.monotonic()
    print("seconds by plan (–: given up), the chosen plan, the best one, and the regret")
    print(
        f"{'RANGE/SLIDE':>11} {'groups':>8} {'rows':>5} {'aggregate':>10} {'in all':>11}"
        f" {' '.join(f'{p:>8}' for p in PLANS)}  {'chosen':>8} {'best':>8} {'regret':>6}"
    )
    results = []
    with warm_session() as spark:
        for cell in cells:
            if not cell.fits:
                continue
            results.append(measure(spark, cell))
            show(results[-1])
    regrets = [r.regret for r in results]
    print(
        f"regret: {statistics.median(regrets):.2f} in the middle (at most {MEDIAN}),"
        f" {max(regrets):.2f} at worst (at most {WORST}); {len(results)} cells in"
        f" {(time.monotonic() - begun) / 60:.0f} minutes"
    )
    left = [c.name() for c in cells if not c.fits]
    if left:
        print(f"left out, too many rows or results for this machine: {', '.join(left)}")


if __name__ == "__main__":
    main()
