"""Hypothesis strategies: streams of rows, queries over time windows, and ways to arrive."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
from oracle import FUNCTIONS, Aggregate, Condition, Row, WindowQuery, instant

MS = 1_000
SECOND = 1_000_000

TYPES = {"k": "STRING", "p": "INT", "v": "INT", "d": "DOUBLE", "ts": "TIMESTAMP"}
COLUMNS = tuple(TYPES)
PACKET_TYPES = {
    "srcIP": "STRING",
    "srcPort": "INT",
    "destIP": "STRING",
    "destPort": "INT",
    "len": "INT",
    "ts": "TIMESTAMP",
}
PACKET_COLUMNS = tuple(PACKET_TYPES)
START = instant("2026-01-01 00:00:00")

# ---------------------------------------------------------------- rows
_keys = st.sampled_from(["a", "b", "c", None])
_small = st.integers(0, 3)
_near = st.integers(-3, 3)  # often equal: ties, repeated values, constants that are met
_whole = st.one_of(_near, _near, st.integers(-50, 50))
_ints = st.one_of(st.none(), _whole)
# Quarters: sums and sums of squares are exact doubles in any order, so that a difference is a
# wrong answer and not a matter of rounding.
_quarters = st.one_of(_near, st.integers(-400, 400)).map(lambda n: n / 4)
_doubles = st.one_of(st.none(), _quarters)
_values = st.tuples(_keys, _small, _ints, _doubles)

_anchors = st.builds(
    lambda base, ms, us: base + ms * MS + us,
    st.sampled_from(
        [START, START, START, START + 55 * SECOND, START - 3 * SECOND, -20 * SECOND, -SECOND]
    ),
    st.just(0) | st.integers(0, 120_000),
    st.sampled_from([0, 0, 1, 999]),
)
# How time passes before a burst of rows.
_steps = st.one_of(
    st.tuples(st.just("tie"), st.just(0)),
    st.tuples(st.just("micros"), st.integers(1, 2_000)),
    st.tuples(st.just("millis"), st.integers(1, 5_000)),
    st.tuples(st.just("slides"), st.integers(1, 12)),
    st.tuples(st.just("to_end"), st.just(0)),
    st.tuples(st.just("to_end"), st.sampled_from([0, -1, 1])),
    st.tuples(st.just("to_start"), st.sampled_from([0, 0, -1, 1])),
    st.tuples(st.just("gap"), st.sampled_from([1, 2, 10, 1_000])),
)
_bursts = st.lists(
    st.tuples(
        _steps,
        st.lists(
            st.tuples(st.sampled_from([0, 0, 1, 1_000, 40_000]), _values), min_size=1, max_size=6
        ),
    ),
    min_size=1,
    max_size=8,
)


def _after(ts: int, step: tuple[str, int], query: WindowQuery) -> int:
    kind, n = step
    slide, origin, longest = query.slide_us, query.origin_us, query.longest_us

    def boundary(phase: int) -> int:
        return phase + ((ts - phase) // slide + 1) * slide

    match kind:
        case "micros":
            return ts + n
        case "millis":
            return ts + n * MS
        case "slides":
            return ts + n * slide // 4
        case "to_end":
            return boundary(origin) + n
        case "to_start":
            return boundary(origin - longest) + n
        case "gap":
            return ts + n * longest + slide
    return ts


def rows_for(query: WindowQuery, *, null_times: bool = False) -> st.SearchStrategy[list[Row]]:
    """Rows in the order of time whose times hit the starts and ends of the query's extents."""

    def build(anchor: int, bursts: list[Any], lost: set[int]) -> list[Row]:
        rows: list[Row] = []
        ts = anchor
        for step, burst in bursts:
            ts = _after(ts, step, query)
            for gap, values in burst:
                ts += gap
                at = None if len(rows) in lost else ts
                rows.append(dict(zip(COLUMNS, (*values, at), strict=True)))
        return rows

    lost = st.sets(st.integers(0, 20), max_size=3) if null_times else st.just(set())
    return st.builds(build, _anchors, _bursts, lost)


packet_rows = rows_for(
    WindowQuery(
        range_us=90 * SECOND,
        slide_us=60 * SECOND,
        aggregates=(Aggregate(name="n", function="count"),),
    )
)

# ---------------------------------------------------------------- queries
_SHAPES_MS = [
    (60_000, 60_000),
    (1_000, 1_000),
    (600_000, 60_000),
    (20_000, 1_000),
    (6_400, 1_600),
    (90_000, 60_000),
    (7_000, 3_000),
    (1_000, 5_000),
    (2_500, 4_000),
    (250, 100),
    (5, 1),
    (20, 7),
]
_MOST_WINDOWS = 20
_shapes = st.one_of(
    st.sampled_from(_SHAPES_MS),
    st.builds(
        lambda unit, slide, length: (unit * min(length, _MOST_WINDOWS * slide), unit * slide),
        st.sampled_from([1, 10, 250, 1_000, 1_600, 30_000]),
        st.integers(1, 7),
        st.integers(1, 40),
    ),
)
_origins = st.sampled_from(
    [
        0,
        0,
        START + 7 * SECOND,
        START + 250 * MS,
        instant("1969-12-31 23:59:58"),
        instant("2031-05-05 05:05:05.5"),
    ]
)
_orders = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
conditions = st.one_of(
    st.builds(lambda o, n: Condition(column="v", operator=o, value=n), _orders, _whole),
    st.builds(lambda o, n: Condition(column="p", operator=o, value=n), _orders, _small),
    st.builds(lambda o, n: Condition(column="d", operator=o, value=n), _orders, _quarters),
    st.builds(
        lambda o, s: Condition(column="k", operator=o, value=s),
        _orders,
        st.sampled_from(["a", "b", "it's"]),
    ),
    st.builds(
        lambda o, c: Condition(column=c, operator=o),
        st.sampled_from(["IS NULL", "IS NOT NULL"]),
        st.sampled_from(["k", "v", "d"]),
    ),
)


def _sometimes(strategy: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition | None]:
    # Not `none() | strategy`: that is flattened, and none() is one branch among many.
    return st.sampled_from([False, False, True]).flatmap(
        lambda there: strategy if there else st.none()
    )


_NUMBERS, _WHOLE, _GROUPS = ("v", "d", "p"), ("v", "p"), ("k", "v", "p")
_COLUMNS_OF: dict[str, tuple[str | None, ...]] = {
    "count": (None, None, "k", "v", "d"),
    "sum": _NUMBERS,
    "avg": _NUMBERS,
    "min": (*_NUMBERS, "k"),
    "max": (*_NUMBERS, "k"),
    "var_pop": _NUMBERS,
    "var_samp": _NUMBERS,
    "stddev_pop": _NUMBERS,
    "stddev_samp": _NUMBERS,
    "first": ("v", "k", "d"),
    "last": ("v", "k", "d"),
    "collect_list": _GROUPS,
    "collect_set": _GROUPS,
    "approx_count_distinct": _GROUPS,
    "approx_percentile": _NUMBERS,
    "percentile": _NUMBERS,
    "median": _NUMBERS,
    "mode": _GROUPS,
    "heavy_hitters": _GROUPS,
}
_FRACTIONS_OF = {
    "approx_percentile": [0.0, 0.25, 0.5, 0.9, 1.0],
    "percentile": [0.0, 0.25, 0.5, 0.9, 1.0],
    "heavy_hitters": [0.05, 0.2, 0.25, 0.3, 0.5],
}
_COUNTS = ("count", "count_if", "approx_count_distinct")


@st.composite
def _aggregates(
    draw: st.DrawFn, name: str, functions: Sequence[str], ranges: Sequence[int | None]
) -> Aggregate:
    function = draw(st.sampled_from(functions))
    column: str | None = None
    distinct = False
    arguments: tuple[Any, ...] = ()
    if function in _COLUMNS_OF:
        column = draw(st.sampled_from(_COLUMNS_OF[function]))
        if column in _GROUPS and function in ("count", "sum", "avg"):
            distinct = draw(st.booleans())
        if function in _FRACTIONS_OF:
            arguments = (draw(st.sampled_from(_FRACTIONS_OF[function])),)
    else:
        arguments = (draw(conditions),)
    return Aggregate(
        name=name,
        function=function,
        column=column,
        distinct=distinct,
        arguments=arguments,
        where=draw(_sometimes(conditions)),
        range_us=draw(st.sampled_from(ranges)),
    )


def _havings(aggregates: Iterable[Aggregate]) -> st.SearchStrategy[Condition | None]:
    """On whole numbers only: a float next to the threshold would be decided by its rounding."""
    options: list[st.SearchStrategy[Condition | None]] = [st.none(), st.none()]
    for a in aggregates:
        of_whole = a.function in ("sum", "min", "max") and a.column in _WHOLE
        if a.function in _COUNTS or of_whole:
            options.append(
                st.builds(
                    lambda o, n, name: Condition(column=name, operator=o, value=n),
                    _orders,
                    st.integers(0, 5),
                    st.just(a.name),
                )
            )
        if of_whole:
            options.append(st.just(Condition(column=a.name, operator="IS NOT NULL")))
    return st.one_of(options)


@st.composite
def queries_of(
    draw: st.DrawFn,
    functions: Collection[str] = tuple(FUNCTIONS),
    *,
    several_ranges: bool = True,
) -> WindowQuery:
    """Queries with these aggregate functions only; at most 20 extents hold a row."""
    length, slide = draw(_shapes)
    ranges: list[int | None] = [None]
    if several_ranges and draw(st.booleans()):
        # Halves of the SLIDE: the other RANGE is a multiple of it or is not, shorter or longer.
        halves = draw(st.integers(1, 2 * _MOST_WINDOWS))
        ranges.append(max(halves * slide // 2, 1) * MS)
    count = draw(st.integers(1, 4))
    aggregates = tuple(draw(_aggregates(f"a{i}", list(functions), ranges)) for i in range(count))
    return WindowQuery(
        range_us=length * MS,
        slide_us=slide * MS,
        origin_us=draw(_origins),
        keys=draw(st.sampled_from([(), ("k",), ("p",), ("k", "p"), ("p", "k")])),
        aggregates=aggregates,
        where=draw(_sometimes(conditions)),
        having=draw(_havings(aggregates)),
    )


time_queries = queries_of()
queries_with_rows = time_queries.flatmap(lambda q: st.tuples(st.just(q), rows_for(q)))


# ---------------------------------------------------------------- arrival
@st.composite
def arrivals(
    draw: st.DrawFn, rows: Sequence[Row], delay_us: int, time: str = "ts"
) -> list[list[Row]]:
    """The rows in batches, none of them late: each row is at most `delay_us` older than the
    newest row of all earlier batches. A row without a time may come in any batch.
    """
    delays = st.lists(
        st.sampled_from([0, delay_us]) | st.integers(0, delay_us),
        min_size=len(rows),
        max_size=len(rows),
    )
    # Sent at ts and under way for at most the delay: then no order of arrival makes a row late,
    # wherever the batches are cut. The permutation decides among those that arrive together.
    shuffled = [rows[i] for i in draw(st.permutations(range(len(rows))))]
    known = [r[time] for r in rows if r[time] is not None]
    sent = [draw(st.sampled_from(known or [0])) if r[time] is None else r[time] for r in shuffled]
    arrived = [ts + under_way for ts, under_way in zip(sent, draw(delays), strict=True)]
    order = sorted(range(len(rows)), key=lambda i: arrived[i])
    batches: list[list[Row]] = []
    for i in order:
        if not batches or draw(st.booleans()):
            batches.append([])
        batches[-1].append(shuffled[i])
    return [draw(st.permutations(batch)) for batch in batches]


def late(batches: Iterable[Iterable[Row]], delay_us: int, time: str = "ts") -> list[Row]:
    """The rows that are older than the watermark when their batch is read."""
    found: list[Row] = []
    seen: list[int] = []
    for batch in batches:
        times = [r[time] for r in batch if r[time] is not None]
        if seen:
            watermark = max(seen) - delay_us
            found += [r for r in batch if r[time] is not None and r[time] < watermark]
        seen += times
    return found


# ---------------------------------------------------------------- packets
def packets(
    seed: int,
    n: int,
    *,
    start_us: int = START,
    minutes: float = 5,
    hosts: int = 8,
    disorder_us: int = 2 * SECOND,
    grain_us: int = 1,
) -> list[Row]:
    """Packets in order of arrival, the same for the same seed.

    Wherever the list is cut into batches, no row is late for a delay of `disorder_us`, plus
    `grain_us` where times are cut down to whole multiples of it.
    """
    chance = random.Random(seed)
    addresses = [f"10.0.0.{i}" for i in range(1, hosts + 1)]
    weights = [1 / rank for rank in range(1, hosts + 1)]
    ports = [53, 80, 443, 8080]
    arriving = []
    for _ in range(n):
        ts = start_us + chance.randrange(round(minutes * 60 * SECOND))
        source, destination = chance.choices(addresses, weights, k=2)
        row = {
            "srcIP": source,
            "srcPort": 40_000 + chance.randrange(16),
            "destIP": destination,
            "destPort": chance.choice(ports),
            "len": chance.choice([40, 40, 52, 576, 1_500, chance.randint(40, 1_500)]),
            "ts": ts // grain_us * grain_us,
        }
        arriving.append((ts + chance.randint(0, disorder_us), row))
    arriving.sort(key=lambda pair: pair[0])
    return [row for _, row in arriving]
