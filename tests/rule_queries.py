"""Hypothesis strategies: nested queries, as people and views nest them, for the rules to rewrite."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

DDL = (
    "CREATE STREAM t (k STRING, a INT, b INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)"
    " WITH (connector = 'file', format = 'json', path = 'p');\n"
)

_numbers = st.integers(-3, 3).map(str)
_signs = st.sampled_from(["=", "<>", "<>", "<", "<=", ">", ">="])
_constants = st.sampled_from(["1 = 1", "1 = 1", "2 < 1", "TRUE", "NOT FALSE", "1 + 1 > 3 - 2"])


def _condition(texts: list[str], numbers: list[str]) -> st.SearchStrategy[str]:
    """Conditions on columns that hold texts, and on columns that hold numbers."""
    leaves = [
        _constants,
        st.builds(
            lambda c, s, v: f"{c} {s} '{v}'",
            st.sampled_from(texts), _signs, st.sampled_from("xyX"),
        ),
        st.builds(lambda c: f"{c} IS NULL", st.sampled_from([*texts, *numbers])),
        st.builds(lambda c, s, v: f"upper({c}) {s} '{v}'", st.sampled_from(texts), _signs, st.sampled_from("XY")),
    ]  # fmt: skip
    if numbers:
        leaves.append(
            st.builds(lambda c, s, v: f"{c} {s} {v}", st.sampled_from(numbers), _signs, _numbers)
        )
        leaves.append(
            st.builds(
                lambda c, s, v: f"{c} + 1 {s} {v}", st.sampled_from(numbers), _signs, _numbers
            )
        )
    return st.recursive(
        st.one_of(leaves),
        lambda inner: st.one_of(
            st.builds(lambda a, b: f"{a} AND {b}", inner, inner),
            st.builds(lambda a, b: f"({a} OR {b})", inner, inner),
            st.builds(lambda a: f"NOT ({a})", inner),
        ),
        max_leaves=4,
    )


def _clause(word: str, condition: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), st.just(""), condition.map(lambda c: f" {word} {c}"))


_row_condition = _condition(["k"], ["a", "b"])
_a_items = ["a", "b AS a", "a + 1 AS a", "a * (1 + 1) AS a"]
_b_items = ["b", "a - b AS b"]


def _over_rows(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Sub-queries with the columns k, a, b and ts."""
    selected = st.builds(
        lambda i, a, b, w, d: f"(SELECT {d}k, {a}, {b}, ts FROM {i} q{w})",
        inner,
        st.sampled_from(_a_items),
        st.sampled_from(_b_items),
        _clause("WHERE", _row_condition),
        st.sampled_from(["", "", "DISTINCT "]),
    )
    starred = st.builds(
        lambda i, w: f"(SELECT * FROM {i} q{w})", inner, _clause("WHERE", _row_condition)
    )
    united = st.builds(
        lambda x, y, a: (
            f"(SELECT k, {a}, b, ts FROM {x} x UNION ALL SELECT DISTINCT k, b, a, ts FROM {y} y)"
        ),
        inner,
        inner,
        st.sampled_from(_a_items),
    )
    return st.one_of(selected, starred, united)


_rows = st.recursive(st.just("t"), _over_rows, max_leaves=3)
_keys = st.sampled_from([["k"], ["k", "a"], []])


def _window(ranges: list[int], origins: list[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda r, s, o: f"RANGE {r} seconds, SLIDE {s} seconds{o}",
        st.sampled_from(ranges),
        st.sampled_from(ranges),
        st.sampled_from(origins),
    )


_ORIGINS = ["", "", ", ORIGIN '2026-01-01 00:00:10'", ", ORIGIN '2026-01-01 00:00:20'"]


@st.composite
def _aggregated(draw: st.DrawFn) -> tuple[str, list[str]]:
    keys = draw(_keys)
    if draw(st.booleans()):
        size = draw(st.sampled_from([10, 20, 30]))
        window = f"RANGE {size} seconds{draw(st.sampled_from(_ORIGINS))}"
    else:
        window = draw(_window([10, 20, 40], _ORIGINS))
    having = _condition([*(k for k in keys if k == "k")] or ["max(k)"], ["n", *keys[1:]])
    shown = "".join(f"{k}, " for k in keys)
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    text = (
        f"(SELECT {shown}count(*) AS n, sum(a) AS s, min(b) AS lo, max(b) AS hi [{window}]"
        f" FROM {draw(_rows)} r{draw(_clause('WHERE', _row_condition))}{group}"
        f"{draw(_clause('HAVING', having))})"
    )
    return text, keys


@st.composite
def queries(draw: st.DrawFn) -> str:
    shape = draw(st.sampled_from(["rows", "windows", "windows of windows", "windows of windows"]))
    if shape == "rows":
        return f"{DDL}SELECT * FROM {draw(_rows)} q{draw(_clause('WHERE', _row_condition))};"
    inner, keys = draw(_aggregated())
    texts = [k for k in keys if k == "k"]
    where = draw(_clause("WHERE", _condition(texts, keys[1:]))) if texts else ""
    if shape == "windows":
        return f"{DDL}SELECT n, window_end{''.join(', ' + k for k in keys)} FROM {inner} w{where};"
    grouped = keys[: draw(st.integers(0, len(keys)))]
    calls = draw(
        st.lists(
            st.sampled_from(
                [
                    "sum(n) AS n2",
                    "sum(s) AS s2",
                    "min(lo) AS lo2",
                    "max(hi) AS hi2",
                    "max(n) AS top",
                ]
            ),
            min_size=1,
            max_size=3,
            unique=True,
        )
    )
    attribute = draw(st.sampled_from(["window_start", "window_start", "window_end"]))
    window = draw(_window([20, 30, 60], _ORIGINS))
    shown = "".join(f"{k}, " for k in grouped)
    group = f" GROUP BY {', '.join(grouped)}" if grouped else ""
    having = ""
    if grouped:
        having = draw(_clause("HAVING", _condition(["k"], grouped[1:])))
    return (
        f"{DDL}SELECT {shown}{', '.join(calls)} [{window}, WA {attribute}]"
        f" FROM {inner} w{where}{group}{having};"
    )


_START = 1_767_225_600_000_000  # 2026-01-01
rows: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from(["x", "y", "X", None]),
            "a": st.one_of(st.none(), st.integers(-3, 3)),
            "b": st.one_of(st.none(), st.integers(-3, 3)),
            "ts": st.integers(0, 12).map(lambda n: _START + n * 5_000_000),
        }
    ),
    min_size=4,
    max_size=12,
)
