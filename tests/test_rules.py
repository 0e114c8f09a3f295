"""Rules: what they leave alone, that plans mean the same after them, and that Spark agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import CASES, all_cases, case_id, source_of
from compiled import collected, frame_of, job_of, module_of, stream_ddl
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_oracle import evaluate, value
from rule_queries import queries, rows
from running import run_text, write_rows
from streams import PACKET_TYPES, SECOND, packets

from ssql.compiler import pipeline
from ssql.compiler.dialect import Expression
from ssql.compiler.pipeline import check
from ssql.compiler.source import Source
from ssql.planner.logical import Aggregate, Filter, Plan, Query, StreamScan, walk
from ssql.planner.rules import RULES, Rewritten, rewrite
from ssql.planner.rules.distinct_as_groups import distinct_as_groups
from ssql.planner.rules.fold_constants import folded
from ssql.planner.scalar import to_sql

RULE_CASES = sorted((CASES / "rules").glob("*.ssql"))


def queries_in(case: Path) -> tuple[Query, ...]:
    checked = check(source_of(case))
    return () if checked.diagnostics.has_errors else checked.program.queries


# ------------------------------------------------------------------ what all rules have in common


def test_every_rule_has_a_case() -> None:
    assert {c.stem for c in RULE_CASES} == {r.name for r in RULES}
    for case in RULE_CASES:
        assert any(c.rule == case.stem for q in queries_in(case) for c in rewrite(q).changes), case


@pytest.mark.parametrize("case", all_cases(), ids=case_id)
def test_the_same_object_if_nothing_changed(case: Path) -> None:
    """And a plan that has been through the rules once has nothing left for them."""
    for query in queries_in(case):
        plan = query.plan
        for rule in RULES:
            before, plan = plan, rule.apply(plan)
            assert (plan is before) == (plan == before), rule.name
            assert rule.apply(plan) is plan, rule.name
        assert rewrite(query).query.plan == plan
        again = rewrite(rewrite(query).query)
        assert not again.changes


@pytest.mark.parametrize("case", all_cases(), ids=case_id)
def test_what_a_query_gives_is_what_it_gave(case: Path) -> None:
    """Names, types and times of its columns; and time moves as before: a stream's watermark is
    below all filters."""
    for query in queries_in(case):
        plan = rewrite(query).query.plan
        assert plan.schema == query.plan.schema
        assert plan.is_streaming == query.plan.is_streaming


def test_plans_that_are_too_deep_are_left_alone() -> None:
    views = "".join(
        f"CREATE VIEW v{i} AS SELECT * FROM v{i - 1} WHERE 1 = 1;\n" for i in range(1, 90)
    )
    text = (
        "CREATE TABLE t (a INT) WITH (connector = 'file', format = 'json', path = 'p');\n"
        f"CREATE VIEW v0 AS SELECT * FROM t;\n{views}SELECT * FROM v89;"
    )
    (query,) = check(Source("deep.ssql", text)).program.queries
    assert rewrite(query) == Rewritten(query)


# ------------------------------------------------------------------ constants


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 = 1", "TRUE"),
        ("2 > 1 AND 3 <> 3", "FALSE"),
        ("NOT (1 < 2)", "FALSE"),
        ("TRUE AND a > 1", "a > 1"),
        ("a > 1 OR FALSE", "a > 1"),
        ("a > 1 OR 1 = 1", "TRUE"),
        ("a > 1 AND FALSE", "FALSE"),
        ("60 * 60 * a", "3600 * a"),
        ("a - (1 - 3)", "a - (-2)"),
        ("a > 2 - 5", "a > -3"),
        ("-5 < 3", "TRUE"),
        ("(1 + 2) * a", "3 * a"),
        # It is not known to be a condition.
        ("TRUE AND a", "TRUE AND a"),
        # Spark has meanings of its own.
        ("NULL AND FALSE", "FALSE"),
        ("NULL AND TRUE", "NULL AND TRUE"),
        ("1 / 2", "1 / 2"),
        ("7 % 2 = 1", "7 % 2 = 1"),
        ("0.1 + 0.2", "0.1 + 0.2"),
        ("1.0 = 1", "1.0 = 1"),
        ("1e3 > 2", "1e3 > 2"),
        ("'a' < 'b'", "'a' < 'b'"),
        ("'1' = 1", "'1' = 1"),
        ("1L + 1", "CAST(1 AS BIGINT) + 1"),
        ("2147483647 + 1", "2147483647 + 1"),
        ("2147483648 - 1", "2147483648 - 1"),
        ("46341 * 46341", "46341 * 46341"),
        ("CAST(1 + 1 AS STRING)", "CAST(1 + 1 AS STRING)"),
        ("a + 1 + 1", "a + 1 + 1"),
        ("(5) + a", "(5) + a"),
        ("l[1 + 1]", "l[1 + 1]"),
        (f"1 < {'9' * 5_000}", f"1 < {'9' * 5_000}"),
    ],
)
def test_constants(text: str, expected: str) -> None:
    assert to_sql(folded(Expression(text, 0).tree)) == expected


_constants = st.recursive(
    st.sampled_from(["0", "1", "2", "-1", "3", "2147483647"]),
    lambda n: st.builds(lambda a, o, b: f"({a} {o} {b})", n, st.sampled_from("+-*"), n),
    max_leaves=4,
)
_comparisons = st.builds(
    lambda a, o, b: f"{a} {o} {b}",
    st.one_of(_constants, st.just("a")),
    st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    _constants,
)
_conditions = st.recursive(
    st.one_of(_comparisons, st.sampled_from(["TRUE", "FALSE", "NULL", "p"])),
    lambda c: st.one_of(
        st.builds(lambda a, o, b: f"({a} {o} {b})", c, st.sampled_from(["AND", "OR"]), c),
        st.builds(lambda a: f"NOT ({a})", c),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(_conditions, st.sampled_from([None, -1, 0, 1]), st.sampled_from([None, True, False]))
def test_constants_keep_the_value(text: str, a: int | None, p: bool | None) -> None:
    tree = Expression(text, 0).tree
    before = to_sql(tree)
    after = folded(tree)
    row = {(None, "a"): a, (None, "p"): p}
    assert value(after, row) == value(tree, row)
    assert to_sql(tree) == before  # a tree is a value
    assert to_sql(Expression(to_sql(after), 0).tree) == to_sql(after)
    assert folded(after) is after or to_sql(folded(after)) == to_sql(after)


# ------------------------------------------------------------------ all rules, without Spark


@settings(max_examples=400, deadline=None)
@given(queries(), rows)
def test_plans_mean_the_same(text: str, given_rows: list[dict[str, Any]]) -> None:
    """Nested queries evaluated by the definitions, as they are written and after each rule."""
    checked = check(Source("query.ssql", text))
    assert not checked.diagnostics.has_errors, [d.message for d in checked.diagnostics]
    (query,) = checked.program.queries
    expected = Counter(evaluate(query.plan, {"t": given_rows}))
    for change in rewrite(query).changes:
        assert change.plan.schema == query.plan.schema
        assert Counter(evaluate(change.plan, {"t": given_rows})) == expected, change.rule


PACKETS = stream_ddl("packets", PACKET_TYPES, "5 SECONDS", "connector = 'datagen', rows = 10")


def plan_of(text: str) -> Plan:
    (query,) = check(Source("query.ssql", f"{PACKETS}{text};")).program.queries
    return rewrite(query).query.plan


def filters(plan: Plan) -> Iterator[tuple[str, bool]]:
    """The conditions of a plan, and whether they are met on the rows of the stream."""
    for node in walk(plan):
        if isinstance(node, Filter):
            yield to_sql(node.condition.tree), not any(isinstance(n, Aggregate) for n in walk(node))


COUNTED = "count(*) AS n [{}] FROM packets GROUP BY srcIP"


@pytest.mark.parametrize(
    ("condition", "window", "moves"),
    [
        ("srcIP = 'a'", "RANGE 1 minute", True),
        ("srcIP = 'a'", "RANGE 10 minutes, SLIDE 1 minute", True),
        ("srcIP = 'a'", "RANGE 10 seconds, SLIDE 1 minute", True),
        ("upper(srcIP) IN ('A', 'B') OR srcIP IS NULL", "RANGE 1 minute", True),
        ("srcIP BETWEEN 'a' AND 'b'", "RANGE 1 minute", True),
        ("srcIP = 'a'", "RANGE 10 rows, PA srcIP", True),
        ("srcIP = 'a'", "RANGE 1 minute, RATTR ts, SLIDE 5 rows, SATTR row-num, PA srcIP", True),
        ("srcIP = 'a'", "RANGE 10 rows", False),
        ("srcIP = 'a'", "RANGE 10 rows, PA destIP", False),
        ("srcIP = 'a'", "RANGE ALL, SLIDE 1 minute", False),
        ("srcIP = 5", "RANGE 1 minute", False),  # read as a number, which may fail
        ("srcIP LIKE 'a\\\\'", "RANGE 1 minute", False),
        ("length(srcIP) / 0 > 1", "RANGE 1 minute", False),
        ("rand() < 0.5", "RANGE 1 minute", False),
        ("srcIP = 'a' OR count(*) > 1", "RANGE 1 minute", False),
        ("window_end > window_start", "RANGE 1 minute", False),
    ],
)
def test_which_conditions_pass_an_aggregate(condition: str, window: str, moves: bool) -> None:
    for text in (
        f"SELECT srcIP, {COUNTED.format(window)} HAVING {condition}",
        f"SELECT srcIP FROM (SELECT window_start, window_end, srcIP, {COUNTED.format(window)}) x"
        f" WHERE {condition.replace('count(*)', 'n')}",
    ):
        found = list(filters(plan_of(text)))
        assert [on_rows for _, on_rows in found] == [moves], found


def test_a_guard_is_not_passed() -> None:
    """What a filter keeps from being computed is not computed before it."""
    text = (
        "SELECT x FROM (SELECT destPort / len AS x, len, srcIP, upper(destIP) AS d FROM packets"
        " WHERE len > 0) q WHERE x > 1 AND srcIP = 'a'"
    )
    conditions = [c for c, _ in filters(plan_of(text))]
    assert conditions == ["q.x > 1", "packets.srcIP = 'a'", "packets.len > 0"]


def test_filters_stay_above_the_watermark() -> None:
    for case in RULE_CASES:
        for query in queries_in(case):
            before = [n for n in walk(query.plan) if isinstance(n, StreamScan)]
            after = [n for n in walk(rewrite(query).query.plan) if isinstance(n, StreamScan)]
            assert before == after


# ------------------------------------------------------------------ on Spark


def _as_written(query: Query) -> Rewritten:
    """But for DISTINCT, which nothing else runs on a stream."""
    return Rewritten(replace(query, plan=distinct_as_groups(query.plan)))


TYPES = {
    "srcIP": "STRING", "destIP": "STRING", "len": "INT", "rtt": "DOUBLE", "cost": "DECIMAL(10, 2)",
    "tags": "ARRAY<STRING>", "ts": "TIMESTAMP",
}  # fmt: skip


@pytest.fixture(scope="module")
def frames(spark: Any) -> dict[str, Any]:
    """Stored rows for the streams and tables of the cases."""
    found = {}
    for at, name in enumerate(("packets", "others")):
        data = [
            {**r, "rtt": r["len"] / 4, "cost": None, "tags": ["a", "b"][: r["len"] % 3]}
            for r in packets(21 + at, 120, minutes=90)
        ]
        data[5]["srcIP"] = data[6]["len"] = None
        found[name] = frame_of(spark, data, TYPES).coalesce(1)
    hosts = [{"ip": f"10.0.0.{i}", "host": f"h{i % 2}", "room": "R"} for i in range(4)]
    found["hosts"] = frame_of(spark, hosts, dict.fromkeys(("ip", "host", "room"), "STRING"))
    return found


@pytest.mark.spark
@pytest.mark.parametrize(
    "case", [c for c in RULE_CASES if c.stem != "distinct_as_groups"], ids=case_id
)
def test_spark_gives_the_same(
    spark: Any, frames: dict[str, Any], case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every query that its case is about, as it was written and as it is now."""
    text = case.read_text(encoding="utf-8")
    job = job_of(text)
    monkeypatch.setattr(pipeline, "rewrite", _as_written)
    plain = job_of(text)
    changed = [any(c.rule == case.stem for c in rewrite(q).changes) for q in queries_in(case)]
    now, before = module_of(job), module_of(plain)
    for is_changed, query in zip(changed, job.queries, strict=True):
        if is_changed:
            given = [frames[f].select(*(n for n, _ in job.source(f).columns)) for f in query.frames]
            left = getattr(before, query.function)(*given)
            right = getattr(now, query.function)(*given)
            assert left.dtypes == right.dtypes
            assert Counter(map(repr, collected(left))) == Counter(map(repr, collected(right)))


VIEW = (
    "CREATE VIEW per_half AS SELECT srcIP, count(*) AS n, max(len) AS top [RANGE 30 seconds]"
    " FROM a GROUP BY srcIP;\n"
)
DISTINCTS = (
    "SELECT DISTINCT srcIP, ts FROM a WHERE len > 40;\n"
    "SELECT DISTINCT window_end, n FROM per_half;\n"
    "SELECT count(*) AS n [RANGE 1 minute] FROM (SELECT DISTINCT srcIP, ts FROM a) d;\n"
)
STREAMED = (
    "SELECT count(*) AS n [RANGE 1 minute] FROM (SELECT srcIP, ts FROM a WHERE len > 40"
    " UNION ALL SELECT srcIP, ts FROM a WHERE len > 40) both;\n"
    "SELECT srcIP, sum(n) AS n, max(top) AS top [RANGE 2 minutes, SLIDE 1 minute, WA window_start]"
    " FROM per_half WHERE srcIP <> '10.0.0.2' GROUP BY srcIP HAVING srcIP LIKE '10.%';\n"
)
# Times in whole seconds, and every other row twice: there is something to tell apart.
ROWS = [r for r in packets(31, 90, minutes=4, grain_us=SECOND) for _ in range(1 + r["len"] % 2)]


@pytest.fixture
def stream(tmp_path: Path) -> str:
    for at in range(3):
        write_rows(tmp_path / f"{at}.json", ROWS[at * 50 : (at + 1) * 50], at)
    options = f"connector = 'file', format = 'json', path = '{tmp_path}', maxFilesPerTrigger = 1"
    return stream_ddl("a", PACKET_TYPES, "5 SECONDS", options) + VIEW


def counted(found: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in found)


@pytest.mark.spark
def test_streams_give_the_same(spark: Any, stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = run_text(stream + STREAMED, until_done=True)
    monkeypatch.setattr(pipeline, "rewrite", _as_written)
    before = run_text(stream + STREAMED, until_done=True)
    assert {row["_query"] for row in now.rows} == {1, 2}
    assert counted(now.rows) == counted(before.rows)
    twice = sum(row["n"] for row in now.rows if row["_query"] == 1)
    assert twice == 2 * sum(r["len"] > 40 for r in ROWS)
    assert all(s.late == 0 and s.state_rows == 0 for s in now.summaries)


@pytest.mark.spark
def test_distinct_rows_of_a_stream(spark: Any, stream: str) -> None:
    """Each of them once, and none is kept."""
    ran = run_text(stream + DISTINCTS, until_done=True)
    instants = {(r["srcIP"], r["ts"]) for r in ROWS}
    large = {(r["srcIP"], r["ts"]) for r in ROWS if r["len"] > 40}
    assert len(large) < sum(r["len"] > 40 for r in ROWS)
    halves = Counter((r["ts"] // (30 * SECOND), r["srcIP"]) for r in ROWS)
    sizes = {((half + 1) * 30 * SECOND, n) for (half, _), n in halves.items()}
    minutes = Counter(ts // (60 * SECOND) * 60 * SECOND for _, ts in instants)
    expected = [
        *({"_query": 1, "srcIP": ip, "ts": ts} for ip, ts in large),
        *({"_query": 2, "window_end": end, "n": n} for end, n in sizes),
        *(
            {"_query": 3, "window_start": start, "window_end": start + 60 * SECOND, "n": n}
            for start, n in minutes.items()
        ),
    ]
    assert counted(ran.rows) == counted(expected)
    assert all(s.late == 0 and s.state_rows == 0 for s in ran.summaries)
