"""The example of Nexmark's query 6, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracle import Aggregate, same
from row_oracle import RowQuery, evaluate_rows
from running import run_text

EXAMPLE = Path(__file__).parent.parent / "examples" / "nexmark_q6.ssql"
QUERY = RowQuery(
    range_rows=10,
    slide_rows=1,
    partition=("seller",),
    aggregates=(Aggregate(name="mean_price", function="avg", column="price"),),
)


@pytest.mark.spark
def test_the_last_ten_closing_prices(spark: Any) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    ran = run_text(f"{text}SELECT seller, price, auction, ts FROM closings;", until_done=True)
    rows = [_without_number(r) for r in ran.rows if r["_query"] == 2]
    found = [_without_number(r) for r in ran.rows if r["_query"] == 1]
    assert len(rows) == 2_000 and len({r["seller"] for r in rows}) == 20
    columns = ("seller", "price", "auction", "ts")
    assert same(found, evaluate_rows(QUERY, rows, columns)) is None
    # Every closing is the last of some ten, and at the end each seller has nine windows more.
    assert len(found) == 2_000 + 9 * 20


def _without_number(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k != "_query"}
