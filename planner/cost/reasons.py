"""Why a plan was chosen, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from ssql.planner.cost.candidates import Candidate
from ssql.planner.cost.workload import Workload
from ssql.planner.durations import spell
from ssql.planner.legality import MOST_WINDOWS_PER_ROW
from ssql.planner.windows import TimeWindow


def reason_for(
    chosen: Candidate,
    found: Sequence[Candidate],
    window: TimeWindow,
    load: Workload,
    pane_us: int,
) -> str:
    by_plan = {c.plan: c for c in found}
    if chosen.over_limit:
        return f"no plan's state fits, and its is the smallest: {chosen.out}"
    if window.range_us <= window.slide_us and chosen.plan == "wid":
        what = "=" if window.is_tumbling else "<"
        return f"RANGE {what} SLIDE, so each row is in one window and panes save nothing"
    cheaper = [
        c
        for c in found
        if c.over_limit
        and c.estimate
        and chosen.estimate
        and c.estimate.cpu_seconds < chosen.estimate.cpu_seconds
    ]
    if cheaper:
        return f"{cheaper[0].plan} would be cheaper, but {cheaper[0].out}"
    copies = -(-window.range_us // window.slide_us)
    in_pane = load.rate.value * pane_us / 1e6
    a_group = in_pane / max(load.groups_in(in_pane), 1e-9)
    match chosen.plan:
        case "wid" if by_plan["paned"].estimate is None:
            return by_plan["paned"].out.replace("computed by the plan paned", "merged from panes")
        case "wid" if a_group < 2:
            return (
                f"a group has about {a_group:.1f} rows in a pane of {spell(pane_us)}, so panes"
                f" save little: each row goes straight into its {copies} windows"
            )
        case "wid":
            return f"a row is in {copies} windows only, and panes would take a second aggregate"
        case "paned":
            return (
                f"a row is in up to {copies} windows: it is aggregated once, in one of"
                f" {window.range_us // pane_us} panes of {spell(pane_us)} a window, and windows"
                " are made of panes"
            )
        case "rolling" if copies > MOST_WINDOWS_PER_ROW:
            return (
                f"a row is in more than {MOST_WINDOWS_PER_ROW:,} windows, too many for Spark's own"
                " windows: each pane is merged once, however many windows it is in"
            )
        case "rolling":
            return (
                f"a row is in up to {copies} windows: it is aggregated once, in a pane of"
                f" {spell(pane_us)}, and each pane is merged once, however many windows it is in"
            )
        case _ if a_group < 2:
            return (
                f"a group has about {a_group:.1f} rows in a pane of {spell(pane_us)}: rows are kept"
                " where they are fewer than aggregates"
            )
        case _:
            return (
                f"one operator makes {copies} windows a row of its panes: an aggregate in Spark's"
                " state would cost more for each of them"
            )
