"""The operators that Spark lacks. Each module but the shared ones is one of them.

`tables.py` and `ranges.py` are the ground: Arrow tables, and aggregates over ranges of their rows.
`extents.py` says which windows rows are in. `state.py` keeps tables between batches, and `road.py`
carries rows to an operator and its results back. An operator's kernel is numpy and Arrow alone.
"""

from __future__ import annotations

import sys

from pyspark import cloudpickle

# Workers get the code of operators with their task: nothing is to be installed there.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
