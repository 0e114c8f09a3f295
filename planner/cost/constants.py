"""What one unit of each amount takes, as measured by bench/calibrate.py. Nothing is written here by
hand: `python bench/calibrate.py --write` makes constants.json anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = "constants.json"

BATCH = "batch"  # what a batch takes, whatever is in it

# Bytes in the state, beside the keys: by the layout of Spark's rows (a header, a window of two
# times, eight bytes a column, and RocksDB's own), and of an Arrow table.
NATIVE_ENTRY_BYTES, OPERATOR_ENTRY_BYTES = 72, 16
PART_BYTES = 8


@dataclass(frozen=True, slots=True)
class Constants:
    seconds: Mapping[str, Mapping[str, float]]  # by plan and amount
    another_part: float  # a second column of an aggregate, beside the first one
    join: Mapping[str, float]  # seconds of an ordered join, on all cores: a row, and a result
    how: Mapping[str, str]


@cache
def constants() -> Constants:
    fields = json.loads(Path(__file__).with_name(FILE).read_text(encoding="utf-8"))
    return Constants(fields["seconds"], fields["another part"], fields["join"], fields["how"])
