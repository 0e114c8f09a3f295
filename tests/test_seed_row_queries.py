"""The papers' queries over row, partitioned, landmark and slide-by-tuple windows, as they are printed
there, run on generated packets: each gives what the definitions say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compiled import stream_ddl
from oracle import Aggregate, same
from row_oracle import ExtentQuery, LandmarkQuery, RowQuery, TupleQuery, evaluate_rows
from running import run_text, write_rows
from streams import PACKET_COLUMNS, PACKET_TYPES, SECOND, packets

MINUTE = 60 * SECOND
COUNT = (Aggregate(name="count(*)", function="count"),)
LONGEST = (Aggregate(name="max(len)", function="max", column="len"),)
# name: (text, the same by the oracle)
QUERIES: dict[str, tuple[str, ExtentQuery]] = {
    "Q5-2": (
        "SELECT srcIP, max(len) [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP] FROM Main",
        RowQuery(range_rows=1000, slide_rows=10, partition=("srcIP",), aggregates=LONGEST),
    ),
    "Q5-2 with fewer rows": (
        "SELECT srcIP, max(len) [RANGE 25 rows, SLIDE 10 rows, WA row-num, PA srcIP] FROM Main",
        RowQuery(range_rows=25, slide_rows=10, partition=("srcIP",), aggregates=LONGEST),
    ),
    "Q5-3": (
        "SELECT srcIP, max(len) [RANGE 1000 rows, SLIDE 10 rows, WA row-num] FROM Main GROUP-BY srcIP",
        RowQuery(range_rows=1000, slide_rows=10, keys=("srcIP",), aggregates=LONGEST),
    ),
    "Q5-4": (
        "SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute, WA ts] FROM Main GROUP BY srcIP",
        LandmarkQuery(slide_us=MINUTE, keys=("srcIP",), aggregates=COUNT),
    ),
    "Q5-5": (
        "SELECT max(len) [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num] FROM Main",
        TupleQuery(range_us=5 * MINUTE, slide_rows=1, aggregates=LONGEST),
    ),
    "Q5-6": (
        "SELECT count(*) [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)] FROM Main",
        TupleQuery(range_us=5 * MINUTE, slide_rows=5, order="rank", aggregates=COUNT),
    ),
}


@pytest.mark.spark
@pytest.mark.parametrize("name", QUERIES)
def test_query(spark: Any, tmp_path: Path, name: str) -> None:
    text, query = QUERIES[name]
    rows = packets(11, 600, minutes=12)
    for at in range(4):
        write_rows(tmp_path / f"{at}.json", rows[at * 150 : (at + 1) * 150], at)
    options = f"connector = 'file', format = 'json', path = '{tmp_path}', maxFilesPerTrigger = 1"
    ddl = stream_ddl("Main", PACKET_TYPES, "5 SECONDS", options)
    ran = run_text(f"{ddl}{text};", until_done=True)
    assert same(ran.rows, evaluate_rows(query, rows, PACKET_COLUMNS)) is None
    assert ran.summaries[0].rows_in == len(rows)
    assert ran.summaries[0].late == 0
