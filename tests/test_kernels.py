"""The kernels of the operators alone, without Spark: stepped as Spark does, with a restart before
every step, they give what the definitions say, once each, and leave nothing behind."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Aggregate, Condition, Row, WindowQuery, evaluate, grouped, in_row_order, same
from row_oracle import ExtentQuery, LandmarkQuery, RowQuery, TupleQuery, evaluate_rows
from row_streams import landmark_queries, row_queries, rows_for_rows, tuple_queries
from streams import COLUMNS, MS, SECOND, arrivals, queries_of, rows_for

from ssql.runtime.operators.adaptwid import AdaptKernel
from ssql.runtime.operators.landmark import LandmarkKernel
from ssql.runtime.operators.merging import Layout
from ssql.runtime.operators.processor import END_US, HeldChunks, Kernel, Moment
from ssql.runtime.operators.road import key_names, order_names, part_names
from ssql.runtime.operators.rolling import RollingKernel
from ssql.runtime.operators.rows import RowsKernel
from ssql.runtime.operators.sliding import Sliding
from ssql.runtime.operators.state import State
from ssql.runtime.operators.tables import from_bytes, to_bytes
from ssql.runtime.operators.tuples import TuplesKernel

EXAMPLES = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
ORDER = ("ts", *COLUMNS)
_ARROW = {
    "k": pa.string(),
    "p": pa.int32(),
    "v": pa.int32(),
    "d": pa.float64(),
    "ts": pa.int64(),
}
_PLACE = pa.struct([(f"o{i}", _ARROW[c]) for i, c in enumerate(ORDER)])
_MOMENTS = pa.struct([(name, pa.float64()) for name in ("n", "mean", "m2")])


# ---------------------------------------------------------------- parts
@dataclass(frozen=True, slots=True)
class Part:
    """An aggregate as a kernel has it: of rows that are in row order, and as a result."""

    how: str
    type: pa.DataType
    aggregate: Aggregate
    of: Callable[[list[Row]], Any] | None = None  # the aggregate itself, if absent
    result: Callable[[Any], Any] = lambda value: value

    def over(self, rows: list[Row]) -> Any:
        return self.aggregate.over(rows) if self.of is None else self.of(rows)


def _moments(rows: list[Row]) -> Any:
    values = [Fraction(r["d"]) for r in rows if r["d"] is not None]
    mean = sum(values, Fraction(0)) / len(values) if values else Fraction(0)
    m2 = sum(((v - mean) ** 2 for v in values), Fraction(0))
    return {"n": float(len(values)), "mean": float(mean), "m2": float(m2)}


def _placed(row: Row, column: str) -> Any:
    return {"at": {f"o{i}": row[c] for i, c in enumerate(ORDER)}, "value": row[column]}


def _list(rows: list[Row]) -> Any:
    values = [r["v"] for r in rows if r["v"] is not None]
    return values or ([] if rows[0]["p"] % 2 else None)  # NULL is an empty list too


_KNOWN = Condition(column="v", operator="IS NOT NULL")


def _first_known(rows: list[Row]) -> Any:
    known = [r for r in rows if r["v"] is not None]
    return _placed(known[0], "k") if known else None


def _value(found: Any) -> Any:
    return None if found is None else found["value"]


def _parts() -> list[Part]:
    def by(column: str) -> pa.DataType:
        return pa.struct([("at", _PLACE), ("value", _ARROW[column])])

    def named(function: str, column: str | None, where: Condition | None = None) -> Aggregate:
        return Aggregate(name="", function=function, column=column, where=where)

    return [
        Part("sum", pa.int64(), named("count", None), len, lambda n: n or 0),
        Part("sum", pa.int64(), named("sum", "v")),
        Part("max", pa.int32(), named("max", "v")),
        Part("min", pa.string(), named("min", "k")),
        Part(
            "moments",
            _MOMENTS,
            named("var_pop", "d"),
            _moments,
            lambda found: found["m2"] / found["n"] if found["n"] else None,
        ),
        Part("max_by", by("v"), named("last", "v"), lambda rows: _placed(rows[-1], "v"), _value),
        Part("min_by", by("k"), named("first", "k", _KNOWN), _first_known, _value),
        Part("sum", pa.float64(), named("sum", "d")),
        Part("concat", pa.list_(pa.int32()), named("collect_list", "v"), _list, sorted),
    ]


PARTS = _parts()
NO_LISTS = [p for p in PARTS if p.how != "concat"]


def aggregates_of(parts: Sequence[Part], ranges: Sequence[int | None] = (None,)) -> Any:
    return tuple(
        replace(p.aggregate, name=f"a{i}", range_us=ranges[i % len(ranges)])
        for i, p in enumerate(parts)
    )


def layout_of(keys: Sequence[str], parts: Sequence[Part]) -> Layout:
    hows = [p.how for p in parts]
    return Layout(tuple(key_names(len(keys))), dict(zip(part_names(len(parts)), hows, strict=True)))


@dataclass(frozen=True, slots=True)
class Form:
    """How rows and results look: the keys, the parts, and whether there are columns of order."""

    keys: tuple[str, ...]
    parts: Sequence[Part]
    ordered: bool = False

    def table(self, entries: Sequence[tuple[int, list[Row]]]) -> pa.Table:
        """Entries with their times, each of rows of one group that are in row order."""
        columns = {"at": pa.array([at for at, _ in entries], pa.int64())}
        for name, key in zip(key_names(len(self.keys)), self.keys, strict=True):
            columns[name] = pa.array([rows[0][key] for _, rows in entries], _ARROW[key])
        for name, part in zip(part_names(len(self.parts)), self.parts, strict=True):
            columns[name] = pa.array([part.over(rows) for _, rows in entries], part.type)
        if self.ordered:
            for name, column in zip(order_names(len(ORDER)), ORDER, strict=True):
                columns[name] = pa.array([r[0][column] for _, r in entries], _ARROW[column])
        return from_bytes(to_bytes(pa.table(columns)))  # as it comes from Spark

    def results(self, table: pa.Table) -> list[Row]:
        found = []
        for row in table.to_pylist():
            result = {"window_start": row["start"], "window_end": row["end"]}
            result |= {key: row[f"key_{i}"] for i, key in enumerate(self.keys)}
            for i, part in enumerate(self.parts):
                result[f"a{i}"] = part.result(row[f"part_{i}"])
            found.append(result)
        return found


def in_comparable_order(rows: Iterable[Row]) -> list[Row]:
    """Lists are compared as bags."""
    return [
        {name: sorted(v) if isinstance(v, list) else v for name, v in row.items()} for row in rows
    ]


# ---------------------------------------------------------------- stepping
class Bucket:
    """A kernel and its state, which is read anew before every step."""

    def __init__(self, kernel: Kernel, form: Form) -> None:
        self.kernel, self.form = kernel, form
        self.chunks = HeldChunks()
        self.kept: Any = None

    @property
    def state(self) -> State:
        return State(self.chunks, self.kept)

    def is_due(self, watermark: int) -> bool:
        return self.kept is not None and self.kept["memo"]["due"] <= watermark

    def step(self, rows: pa.Table | None, now: Moment) -> list[Row]:
        state = self.state
        results = self.kernel.step(state, rows, now)
        # Spark's state is written first; results are computed later.
        text = json.dumps(state.kept())
        blobs = dict(self.chunks.blobs)
        found = [row for table in results for row in self.form.results(table)]
        assert json.dumps(state.kept()) == text and self.chunks.blobs == blobs
        self.kept = json.loads(text)
        chunks = self.kept["chunks"] if self.kept else {}
        assert {(t, int(c)) for t, ids in chunks.items() for c in ids} == set(blobs)
        if self.kept is not None:  # whatever is kept, someone comes for it
            assert self.kept["memo"]["due"] <= END_US
        return found

    def assert_empty(self) -> None:
        assert self.kept is None
        assert self.chunks.blobs == {}


END = Moment(END_US + 1, is_end=True)


@dataclass(frozen=True, slots=True)
class Step:
    batch: list[Row]
    now: Moment


def steps_of(batches: Sequence[list[Row]], delay_us: int, silence_us: int | None) -> list[Step]:
    """Batches with their watermarks, one without rows and, after a silence, another."""
    steps, watermark, newest = [], 0, 0
    for batch in [*batches, []]:
        watermark = max(watermark, newest // MS * MS - delay_us)
        steps.append(Step(batch, Moment(watermark, is_end=False)))
        newest = max([newest, *(r["ts"] for r in batch)])
    if silence_us is not None:
        passed = max(watermark, -(-(newest + silence_us + 1) // MS) * MS)
        steps.append(Step([], Moment(passed, is_end=False)))
    return [*steps, Step([], END)]


@st.composite
def streams(draw: st.DrawFn, rows: list[Row], silence_us: int) -> list[Step]:
    delay_us = draw(st.sampled_from([0, MS, 250 * MS, 10 * SECOND, 90 * SECOND]))
    silent = draw(st.booleans())
    return steps_of(draw(arrivals(rows, delay_us)), delay_us, silence_us if silent else None)


# When a kernel without rows is called: when it is due, or always, without or with an empty table.
idle = st.sampled_from(["due", "none", "empty"])


def stepped(
    bucket: Bucket, entries: Sequence[tuple[int, list[Row]]], now: Moment, when: str
) -> list[Row]:
    if entries:
        return bucket.step(bucket.form.table(entries), now)
    if when == "due" and not bucket.is_due(now.watermark):
        return []
    empty = when == "empty" and not now.is_end
    return bucket.step(bucket.form.table([]) if empty else None, now)


def admitted(query: Any, rows: Iterable[Row]) -> list[Row]:
    return [r for r in rows if query.where is None or query.where.holds(r)]


Panes = dict[int, list[tuple[int, list[Row]]]]


def panes_of(query: Any, rows: Iterable[Row], pane_us: int) -> Panes:
    """By their end: the panes of the groups, as entries."""
    found: Panes = defaultdict(list)
    keys = query.by if isinstance(query, ExtentQuery) else query.keys
    for members in grouped(in_row_order(rows, "ts", query.where, COLUMNS), keys).values():
        of_pane = defaultdict(list)
        for row in members:
            of_pane[(row["ts"] - query.origin_us) // pane_us + 1].append(row)
        for number, pane in of_pane.items():
            end = number * pane_us + query.origin_us
            found[end].append((end - 1, pane))
    return found


def taken_out(panes: Panes, watermark: int) -> list[tuple[int, list[Row]]]:
    return [e for end in sorted(panes) if end <= watermark for e in panes.pop(end)]


# ---------------------------------------------------------------- sliding windows
@st.composite
def sliding_queries(draw: st.DrawFn, parts: Sequence[Part] = PARTS) -> WindowQuery:
    drawn = draw(queries_of(("count",)))
    ranges = [a.range_us for a in drawn.aggregates]
    return replace(drawn, aggregates=aggregates_of(parts, ranges), having=None)


def shape_of(query: WindowQuery) -> Sliding:
    ranges = tuple(query.range_of(a) for a in query.aggregates)
    return Sliding(query.longest_us, query.slide_us, query.origin_us, ranges)


def timely(data: st.DataObject, query: WindowQuery) -> list[Row]:
    return [r for r in data.draw(rows_for(query)) if r["ts"] >= 0]


def check_sliding(
    bucket: Bucket, query: WindowQuery, steps: list[Step], feed: Any, when: str
) -> None:
    rows = [r for step in steps for r in step.batch]
    expected = in_comparable_order(evaluate(query, rows, COLUMNS))
    found: list[Row] = []
    for step in steps:
        results = stepped(bucket, feed(step), step.now, when)
        assert step.now.is_end or all(r["window_end"] <= step.now.watermark for r in results)
        found += results
        if not step.batch:  # nothing that is final waits for more rows
            final = [
                r for r in expected if step.now.is_end or r["window_end"] <= step.now.watermark
            ]
            assert same(found, final) is None
            if rows and step.now.watermark > max(r["ts"] for r in rows) + query.longest_us:
                bucket.assert_empty()
    bucket.assert_empty()


@EXAMPLES
@given(data=st.data())
def test_rolling(data: st.DataObject) -> None:
    query = data.draw(sliding_queries())
    steps = data.draw(streams(timely(data, query), query.longest_us))
    shape, form = shape_of(query), Form(query.keys, PARTS)
    bucket = Bucket(RollingKernel(layout_of(query.keys, PARTS), shape), form)
    panes = panes_of(query, [r for s in steps for r in s.batch], shape.pane_us)
    check_sliding(
        bucket, query, steps, lambda s: taken_out(panes, s.now.watermark), data.draw(idle)
    )


@EXAMPLES
@given(data=st.data())
def test_adaptwid(data: st.DataObject) -> None:
    eagerness = data.draw(st.sampled_from([0.0, 0.2, 1.0, math.inf]))
    parts = data.draw(st.sampled_from([PARTS, NO_LISTS, NO_LISTS]))
    query = data.draw(sliding_queries(parts))
    steps = data.draw(streams(timely(data, query), query.longest_us))
    kernel = AdaptKernel(layout_of(query.keys, parts), shape_of(query), eagerness)
    bucket = Bucket(kernel, Form(query.keys, parts))
    check_sliding(bucket, query, steps, lambda s: row_entries(query, s), data.draw(idle))


def row_entries(query: Any, step: Step) -> list[tuple[int, list[Row]]]:
    return [(r["ts"], [r]) for r in admitted(query, step.batch)]


# ---------------------------------------------------------------- rows, tuples, landmarks
def check_rows(bucket: Bucket, query: ExtentQuery, steps: list[Step], when: str) -> None:
    rows = [r for step in steps for r in step.batch]
    expected = in_comparable_order(evaluate_rows(query, rows, COLUMNS))
    found: list[Row] = []
    for step in steps:
        found += stepped(bucket, row_entries(query, step), step.now, when)
        if isinstance(query, TupleQuery) and not step.batch:
            final = [r for r in expected if r["window_end"] < step.now.watermark]
            assert same(found, final) is None
            silent = step.now.watermark > max(r["ts"] for r in rows) + query.range_us
            if silent and query.slide_rows == 1:
                bucket.assert_empty()
    assert same(found, expected) is None
    bucket.assert_empty()


@EXAMPLES
@given(data=st.data())
def test_rows(data: st.DataObject) -> None:
    drawn = data.draw(row_queries(("count",)))
    query: RowQuery = replace(drawn, aggregates=aggregates_of(PARTS), having=None)
    steps = data.draw(streams(data.draw(rows_for_rows(query)), SECOND))
    layout = layout_of(query.by, PARTS)
    partition = layout.keys[: len(query.partition)]
    kernel = RowsKernel(
        layout, partition, tuple(order_names(len(ORDER))), query.range_rows, query.slide_rows
    )
    check_rows(Bucket(kernel, Form(query.by, PARTS, ordered=True)), query, steps, data.draw(idle))


@EXAMPLES
@given(data=st.data())
def test_tuples(data: st.DataObject) -> None:
    drawn = data.draw(tuple_queries(("count",)))
    query: TupleQuery = replace(drawn, aggregates=aggregates_of(PARTS), having=None)
    steps = data.draw(streams(data.draw(rows_for_rows(query)), query.range_us))
    layout = layout_of(query.by, PARTS)
    partition = layout.keys[: len(query.partition)]
    kernel = TuplesKernel(layout, partition, query.range_us, query.slide_rows)
    check_rows(Bucket(kernel, Form(query.by, PARTS)), query, steps, data.draw(idle))


@EXAMPLES
@given(data=st.data())
def test_landmark(data: st.DataObject) -> None:
    drawn = data.draw(landmark_queries(("count",)))
    query: LandmarkQuery = replace(drawn, aggregates=aggregates_of(PARTS), having=None)
    rows = data.draw(rows_for_rows(query))
    steps = data.draw(streams(rows, query.slide_us))
    form = Form(query.by, PARTS)
    kernel = LandmarkKernel(layout_of(query.by, PARTS), query.slide_us, query.origin_us)
    buckets = [Bucket(kernel, form) for _ in range(3)]
    groups = {key: i for i, key in enumerate(grouped(rows, query.by))}
    turn = data.draw(st.integers(0, 2))

    def bucket_of(row: Row) -> int:
        return (groups[tuple(row[k] for k in query.by)] + turn) % len(buckets)

    panes = panes_of(query, rows, query.slide_us)
    found: list[Row] = []
    for step in steps:
        entries = taken_out(panes, step.now.watermark)
        if entries:
            now = replace(step.now, latest=max(at for at, _ in entries))
            for i, bucket in enumerate(buckets):
                own = [e for e in entries if bucket_of(e[1][0]) == i]
                found += bucket.step(form.table(own), now)
    assert same(found, in_comparable_order(evaluate_rows(query, rows, COLUMNS))) is None
    for bucket in buckets:  # at the end, those that still have a state are woken
        if bucket.is_due(END.watermark):
            assert bucket.step(None, END) == []
        bucket.assert_empty()
