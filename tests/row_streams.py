"""Hypothesis strategies: queries over landmark, row and slide-by-tuple windows, and their rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st
from oracle import FUNCTIONS, Row, instant
from row_oracle import ExtentQuery, LandmarkQuery, RowQuery, TupleQuery
from streams import COLUMNS, MS, SECOND, START, queries_of

# ---------------------------------------------------------------- queries
_partitions = st.sampled_from([(), ("k",), ("p",), ("k", "p")])
_keys = st.sampled_from([(), (), ("k",), ("p",), ("k", "p"), ("p", "k")])
_ROW_SHAPES = [
    (1, 1),
    (4, 4),
    (6, 2),
    (10, 1),
    (5, 2),
    (7, 3),
    (8, 5),
    (1, 3),
    (2, 5),
    (3, 4),
    (40, 10),
    (1_000, 100),  # longer than all input: only the end closes such windows
]
_row_shapes = st.one_of(
    st.sampled_from(_ROW_SHAPES), st.tuples(st.integers(1, 12), st.integers(1, 8))
)
_tuple_ranges = st.sampled_from([1, 5, 250, 1_000, 6_400, 60_000]).map(lambda ms: ms * MS)
_tuple_slides = st.sampled_from([1, 1, 2, 3, 5, 8])


def _common(draw: st.DrawFn, functions: Collection[str]) -> dict[str, Any]:
    plain = draw(queries_of(functions, several_ranges=False))
    return {
        "keys": draw(_keys),
        "aggregates": plain.aggregates,
        "where": plain.where,
        "having": plain.having,
    }


@st.composite
def row_queries(draw: st.DrawFn, functions: Collection[str] = tuple(FUNCTIONS)) -> RowQuery:
    length, slide = draw(_row_shapes)
    return RowQuery(
        range_rows=length,
        slide_rows=slide,
        partition=draw(_partitions),
        **_common(draw, functions),
    )


@st.composite
def tuple_queries(draw: st.DrawFn, functions: Collection[str] = tuple(FUNCTIONS)) -> TupleQuery:
    return TupleQuery(
        range_us=draw(_tuple_ranges),
        slide_rows=draw(_tuple_slides),
        order=draw(st.sampled_from(["row-num", "rank"])),
        partition=draw(_partitions),
        **_common(draw, functions),
    )


@st.composite
def landmark_queries(
    draw: st.DrawFn, functions: Collection[str] = tuple(FUNCTIONS)
) -> LandmarkQuery:
    slide_ms = draw(st.sampled_from([1, 7, 100, 250, 1_600, 60_000]))
    origins = [0, 0, START + 7 * SECOND, START + 250 * MS, instant("2031-05-05 05:05:05.5")]
    return LandmarkQuery(
        slide_us=slide_ms * MS,
        origin_us=draw(st.sampled_from(origins)),
        **_common(draw, functions),
    )


# ---------------------------------------------------------------- rows
_near = st.integers(-3, 3)
_ints = st.one_of(st.none(), _near, _near, st.integers(-50, 50))
# Quarters, for the same reason as in `streams`: sums are exact in any order.
_doubles = st.one_of(st.none(), _near, st.integers(-400, 400)).map(
    lambda n: None if n is None else n / 4
)
_partition_values = st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 2))
_anchors = st.builds(
    lambda base, ms, us: base + ms * MS + us,
    st.sampled_from([START, START, START, START + 55 * SECOND, instant("1970-01-02")]),
    st.just(0) | st.integers(0, 120_000),
    st.sampled_from([0, 0, 1, 999]),
)
# How time passes before a phase: in parts of the query's own length, so that a landmark window
# has few extents however short its SLIDE is.
_steps = st.one_of(
    st.tuples(st.just("tie"), st.just(0)),
    st.tuples(st.just("micros"), st.integers(1, 900)),
    st.tuples(st.just("quarters"), st.integers(1, 12)),
    st.tuples(st.just("edge"), st.sampled_from([0, 0, -1, 1])),
    st.tuples(st.just("gap"), st.sampled_from([1, 2, 10])),
)
_MOST_ACTIVE = 3


@st.composite
def _phases(draw: st.DrawFn) -> list[Any]:
    """Steps of time, each with rows of a few partitions; the others are quiet meanwhile."""
    phases = []
    for _ in range(draw(st.integers(1, 7))):
        active = draw(st.lists(_partition_values, min_size=1, max_size=_MOST_ACTIVE))
        rows = st.tuples(
            st.sampled_from(["tie", "tie", "tie", "micros", "sixth"]),
            st.sampled_from([1, 1, 1, 2, 3]),
            st.sampled_from(active),
            _ints,
            _doubles,
        )
        phases.append((draw(_steps), draw(st.lists(rows, min_size=1, max_size=6))))
    return phases


def _unit(query: ExtentQuery) -> int:
    match query:
        case LandmarkQuery(slide_us=slide):
            return slide
        case TupleQuery(range_us=length):
            return length
    return SECOND  # rows are numbered alike however far apart they are


def _after(ts: int, oldest: int, step: tuple[str, int], query: ExtentQuery) -> int:
    kind, n = step
    unit = _unit(query)
    match kind:
        case "micros":
            return ts + n
        case "quarters":
            return ts + n * unit // 4
        case "edge":
            if isinstance(query, LandmarkQuery):
                edge = ts + unit - (ts - query.origin_us) % unit
            else:
                edge = oldest + unit  # where the extent of w leaves out the rows at `oldest`
            return max(ts, edge + n)
        case "gap":
            return ts + n * unit + unit // 2
    return ts


def rows_for_rows(query: ExtentQuery, *, null_times: bool = False) -> st.SearchStrategy[list[Row]]:
    """Rows in the order of time, though not in row order: many of one time, some of them equal."""

    def build(anchor: int, phases: list[Any], lost: set[int]) -> list[Row]:
        rows: list[Row] = []
        ts = oldest = anchor
        for step, phase in phases:
            ts = oldest = _after(ts, oldest, step, query)
            for pause, copies, (k, p), v, d in phase:
                ts += {"tie": 0, "micros": 1, "sixth": _unit(query) // 6}[pause]
                for _ in range(copies):
                    at = None if len(rows) in lost else ts
                    rows.append(dict(zip(COLUMNS, (k, p, v, d, at), strict=True)))
        return rows

    lost = st.sets(st.integers(0, 20), max_size=3) if null_times else st.just(set())
    return st.builds(build, _anchors, _phases(), lost)
