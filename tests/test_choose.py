"""Which plan is chosen, and what is said about it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssql.compiler.pipeline import check, choice_of
from ssql.compiler.source import Source
from ssql.planner.choose import UNKNOWN, AggregatePlan, Choice, Circumstances, bytes_of
from ssql.planner.cost.amounts import Shape, amounts, state_entries
from ssql.planner.cost.candidates import Candidate, cheapest, in_bytes
from ssql.planner.cost.constants import constants
from ssql.planner.cost.estimate import Estimate
from ssql.planner.cost.workload import Workload
from ssql.planner.legality import TIME_PLANS
from ssql.planner.page import page
from ssql.planner.report import as_json, measured, report
from ssql.planner.rules import Rewritten
from ssql.planner.statistics import DECLARED, NOTHING_KNOWN, Figure, Observed, Run
from ssql.showing import explained

COUNT = (
    "SELECT srcIP, count(*) AS n [RANGE 10 minutes, SLIDE 1 minute, WA ts] FROM M GROUP BY srcIP"
)


def ddl(**stats: float) -> str:
    declared = "".join(f", stats.{name} = {value}" for name, value in stats.items())
    return (
        "CREATE STREAM M (srcIP STRING, len INT, ts TIMESTAMP,"
        " WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)"
        f" WITH (connector = 'file', format = 'json', path = 'in'{declared});"
    )


def chosen(text: str, given_: Circumstances = UNKNOWN) -> Choice:
    checked = check(Source("q.ssql", text))
    assert not checked.diagnostics.has_errors, [d.message for d in checked.diagnostics]
    choice = choice_of(checked.program, checked.program.queries[0], given_).choice
    assert isinstance(choice, Choice), choice
    return choice


def only(choice: Choice) -> AggregatePlan:
    (plan,) = choice.aggregates
    return plan


# ------------------------------------------------------------------ choices


@pytest.mark.parametrize(
    ("stats", "plan", "reason"),
    [
        ({"rate": 200, "groups": 50}, "wid", "panes would take a second aggregate"),
        ({"rate": 100_000, "groups": 1_000}, "paned", "windows are made of panes"),
        ({"rate": 100_000, "groups": 20_000}, "rolling", "each pane is merged once"),
        ({"rate": 2_000, "groups": 100_000}, "adaptwid", "rows are kept where they are fewer"),
    ],
)
def test_one_query_four_plans(stats: dict[str, float], plan: str, reason: str) -> None:
    """Q1-1: the statistics decide, and the reason says how."""
    choice = chosen(ddl(**stats) + COUNT)
    assert choice.plan == plan
    assert reason in choice.reason


@settings(deadline=None)
@given(st.floats(0.1, 1e6), st.floats(1, 1e7), st.floats(1e3, 1e8))
def test_tumbling_windows_need_no_panes(rate: float, groups: float, batch: float) -> None:
    tumbling = "SELECT srcIP, sum(len) AS n [RANGE TUMBLING 1 minute] FROM M GROUP BY srcIP"
    choice = chosen(ddl(rate=round(rate, 3), groups=round(groups), batch=round(batch)) + tumbling)
    assert choice.plan in ("wid", "adaptwid")


def test_a_hint_counts_more_than_what_was_asked_for() -> None:
    hinted = COUNT.replace("SELECT", "SELECT /*+ PLAN(adaptwid) */")
    choice = chosen(ddl() + hinted, replace(UNKNOWN, asked="wid"))
    assert (choice.plan, choice.reason) == ("adaptwid", "it was asked for")
    assert {c.plan for c in only(choice).candidates} == set(TIME_PLANS)  # shown all the same


def test_a_checkpoint_keeps_its_plan() -> None:
    for plan in TIME_PLANS:
        choice = chosen(ddl() + COUNT, replace(UNKNOWN, kept={1: (plan,)}))
        assert (choice.plan, choice.reason) == (plan, "the checkpoint was written by it")
    asked = chosen(ddl() + COUNT, replace(UNKNOWN, kept={1: ("paned",)}, asked="wid"))
    assert asked.plan == "wid"  # and is refused when the checkpoint is looked at


def test_what_was_learned_informs_the_choice() -> None:
    before = only(chosen(ddl() + COUNT))
    seen = Observed(rate=1.0, distinct={"srcip": 500_000.0}, batch_rows=60.0, rows=1_000)
    after = only(chosen(ddl() + COUNT, Circumstances(memory=NOTHING_KNOWN.with_learned("m", seen))))
    assert before.load and after.load
    assert (before.load.rate.origin, after.load.rate.origin) == ("assumed", "learned")
    assert after.load.groups.value == 500_000.0
    assert before.candidates != after.candidates


# ------------------------------------------------------------------ memory


def test_a_plan_whose_state_does_not_fit_is_out() -> None:
    text = ddl(rate=10_000, groups=100_000, batch=600_000) + COUNT
    sizes = {c.plan: c.estimate.state_bytes for c in only(chosen(text)).candidates if c.estimate}
    least, limit = min(sizes.values()), sorted(sizes.values())[1]
    choice = only(chosen(f"SET ssql.memory = '{int((least + limit) / 2)}';{text}"))
    assert sizes[choice.plan] == least
    out = [c for c in choice.candidates if not c.is_option]
    assert len(out) == 3 and all(c.over_limit for c in out)
    assert all(in_bytes(sizes[c.plan]) in c.out for c in out)


def test_if_no_state_fits_the_smallest_is_taken() -> None:
    choice = chosen(f"SET ssql.memory = '1k';{ddl(groups=100_000)}{COUNT}")
    sizes = {c.plan: c.estimate.state_bytes for c in only(choice).candidates if c.estimate}
    assert sizes[choice.plan] == min(sizes.values())
    assert choice.reason.startswith("no plan's state fits")


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("1k", 1024), ("1.5 GB", 1.5 * 2**30), ("8g", 2**33), ("2 MiB", 2**21)],
)
def test_sizes(text: str, size: float) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("value", ["'much'", "'-1g'", "''", "true", "'1 gigabyte'"])
def test_what_is_no_size(value: str) -> None:
    found = list(check(Source("q.ssql", f"SET ssql.memory = {value};")).diagnostics)
    assert [d.code.id for d in found] == ["E0704"] and "is not a size" in found[0].message


# ------------------------------------------------------------------ costs


def load(**changed: float) -> Workload:
    figures = {
        "rate": 1_000.0, "groups": 100.0, "skew": 0.0, "batch_seconds": 60.0,
        "delay_seconds": 5.0, "values": 50.0,
    } | changed  # fmt: skip
    known = {name: Figure(value, DECLARED) for name, value in figures.items()}
    return Workload(**known, key_bytes=20.0, streams=("m",))


def test_amounts_of_a_batch_by_hand() -> None:
    """A minute of 1,000 rows a second in 100 groups; RANGE 10 minutes, SLIDE 1 minute."""
    shape = Shape(range=600.0, slide=60.0, pane=60.0)
    wid = amounts("wid", load(), shape)
    assert wid["copies"] == pytest.approx(600_000)
    assert wid["results"] == pytest.approx(100, rel=0.01)
    assert wid["window accesses"] == pytest.approx(11 * 100, rel=0.01)  # of eleven windows
    paned = amounts("paned", load(), shape)
    assert paned["rows"] == pytest.approx(60_000)
    assert paned["panes"] == pytest.approx(100, rel=0.01)
    assert paned["pane copies"] == pytest.approx(1_000, rel=0.01)
    rolling = amounts("rolling", load(), shape)
    assert rolling["held"] == pytest.approx(11 * 100, rel=0.01)
    assert amounts("adaptwid", load(), shape)["rows"] == pytest.approx(60_000)


def test_sparse_groups_keep_rows() -> None:
    """One row a group and window: ten aggregates of panes for each would be too many."""
    shape = Shape(range=600.0, slide=60.0, pane=60.0)
    sparse = load(rate=10.0, groups=1e6)
    _, rows = state_entries("adaptwid", sparse, shape)
    assert rows == pytest.approx(10 * (600 + 65), rel=0.01)
    native, _ = state_entries("wid", sparse, shape)
    assert native > 9 * rows


def test_gaps_between_windows_cost_nothing() -> None:
    shape = Shape(range=20.0, slide=60.0, pane=20.0)
    assert amounts("wid", load(), shape)["copies"] == pytest.approx(20_000)


def estimated(cpu: float) -> Estimate:
    return Estimate(cpu_seconds=cpu, state_bytes=1.0, delay_seconds=1.0, copies=1.0)


def test_an_operator_has_to_be_worth_it() -> None:
    costs = {"wid": 2.0, "paned": 1.04, "rolling": 1.0, "adaptwid": 3.0}
    found = [Candidate(plan, estimated(cpu)) for plan, cpu in costs.items()]
    best = cheapest(found)
    assert best is not None and best.plan == "paned"
    found[1] = Candidate("paned", estimated(1.2))
    best = cheapest(found)
    assert best is not None and best.plan == "rolling"
    assert cheapest([Candidate("wid", None, "cannot")]) is None


def test_constants_are_there_for_every_amount() -> None:
    known, shape = constants(), Shape(range=600.0, slide=60.0, pane=60.0)
    assert known.how["command"] and known.how["spark"]
    for plan in TIME_PLANS:
        takes = known.seconds[plan]
        assert set(takes) == {"batch", *amounts(plan, load(), shape)}
        assert min(takes.values()) >= 0 and takes["batch"] > 0


# ------------------------------------------------------------------ EXPLAIN

NOTHING_TO_RUN = "<script>alert(1)</script>"


def test_a_page_has_no_markup_of_users() -> None:
    text = (
        "CREATE STREAM `<b>x</b>` (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH"
        f" (connector = 'file', format = 'json', path = '{NOTHING_TO_RUN}');"
        f"SELECT k, count(*) AS `{NOTHING_TO_RUN}` [RANGE 2 minutes, SLIDE 1 minute]"
        " FROM `<b>x</b>` GROUP BY k"
    )
    choice = chosen(text)
    found = page(NOTHING_TO_RUN, [report(Rewritten(choice.query), choice)])
    assert "<script" not in found and "<b>x" not in found
    assert "&lt;script&gt;" in found and "http" not in found.replace("http-equiv", "")


def test_a_report_as_json() -> None:
    choice = chosen(ddl(rate=5_000) + COUNT)
    found = json.loads(json.dumps(as_json(report(Rewritten(choice.query), choice))))
    assert found["plan"] == choice.plan and found["reason"] == choice.reason
    (window,) = found["windows"]
    assert [c["plan"] for c in window["candidates"]] == list(TIME_PLANS)
    assert sum(c["chosen"] for c in window["candidates"]) == 1
    rate = next(s for s in window["statistics"] if s["name"] == "rate")
    assert (rate["value"], rate["origin"]) == (5_000.0, "declared")


def test_a_report_in_a_terminal() -> None:
    median = "SELECT corr(len, len) AS c [RANGE 2 minutes, SLIDE 1 minute] FROM M"
    choice = chosen(ddl() + median)
    shown = explained([report(Rewritten(choice.query), choice)], color=False, verbose=False)
    assert "\x1b" not in shown
    assert "▸  wid" in shown and "chosen" in shown
    words = " ".join(shown.split())
    assert "corr(M.len, M.len) cannot be computed by the plan paned" in words
    assert "rate" in shown and "assumed" in shown
    assert "\x1b[" in explained(
        [report(Rewritten(choice.query), choice)], color=True, verbose=False
    )


def test_measured_beside_estimated() -> None:
    choice = chosen(ddl(rate=5_000, groups=10) + COUNT)
    run = Run(
        plan=choice.plan, rows=1_000_000, seconds=9.0, batches=4, batch_seconds=2.0,
        state_rows=40, state_bytes=4_000,
    )  # fmt: skip
    seen = Observed(rate=4_000.0, distinct={"srcip": 12.0}, rows=1_000_000)
    found = {
        m.name: m.found
        for m in measured(report(Rewritten(choice.query), choice), run, [seen]).measured
    }
    assert found["a million rows take"] == "8.00 s"
    assert found["rows a second"] == "4,000" and found["groups"] == "12"
    assert found["state, at most"] == "4.0 kB, 40 rows"
