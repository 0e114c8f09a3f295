"""Hypothesis strategies: legal queries over two packet streams and a table."""

from __future__ import annotations

from hypothesis import strategies as st

DEFINITIONS = """
CREATE STREAM packets (
  srcIP STRING, destIP STRING, srcPort INT, destPort INT, len INT, tags ARRAY<STRING>,
  odd STRUCT<a: INT, `b c`: MAP<STRING, DOUBLE>>, `range` INT, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS IDLE AFTER INTERVAL 30 SECONDS
) WITH (connector = 'file', format = 'json', path = 'data/packets');
CREATE STREAM replies (
  srcIP STRING, destIP STRING, len INT, ts TIMESTAMP, WATERMARK FOR ts AS ts
) WITH (connector = 'file', format = 'json', path = 'data/replies');
CREATE TABLE hosts (ip STRING, host_id STRING)
WITH (connector = 'file', format = 'csv', path = 'hosts.csv', header = true);
"""

_numbers = st.sampled_from(["len", "srcPort", "`range`", "odd.a", "42", "-1", "1.5", "size(tags)"])
_texts = st.sampled_from(
    ["srcIP", "destIP", "tags[0]", "'it''s'", "'a\\\\d'", "concat(srcIP, '-', destIP)", "'漢字'"]
)


def _binary(inner: st.SearchStrategy[str], signs: list[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda a, s, b: f"{a} {s} {b}", inner, st.sampled_from(signs), inner)


numbers = st.recursive(
    _numbers,
    lambda inner: st.one_of(
        _binary(inner, ["+", "-", "*", "/", "%"]),
        st.builds(lambda a: f"({a})", inner),
        st.builds(lambda a, b: f"coalesce({a}, {b})", inner, inner),
        st.builds(lambda a: f"CAST({a} AS DECIMAL(10, 2))", inner),
    ),
    max_leaves=4,
)
conditions = st.recursive(
    st.one_of(
        _binary(numbers, ["=", "<", ">=", "<>"]),
        st.builds(lambda a, b: f"{a} LIKE {b}", _texts, _texts),
        st.builds(lambda a: f"{a} IS NOT NULL", _texts),
        st.builds(lambda a: f"{a} BETWEEN 1 AND 2", numbers),
        st.builds(lambda a, b: f"{a} IN ({b}, 'x')", _texts, _texts),
        st.just("srcIP IS DISTINCT FROM destIP"),
    ),
    lambda inner: st.one_of(
        _binary(inner, ["AND", "OR"]),
        st.builds(lambda a: f"NOT ({a})", inner),
    ),
    max_leaves=4,
)

_lengths = st.builds(
    lambda n, u: f"{n} {u}",
    st.sampled_from(["1", "7", "90", "6.4"]),
    st.sampled_from(["seconds", "minutes", "hours", "days", "min", "sec"]),
)
windows = st.one_of(
    st.builds(lambda r: f"[RANGE TUMBLING {r}]", _lengths),
    st.builds(lambda r, s: f"[RANGE {r}, SLIDE {s}, WA ts]", _lengths, _lengths),
    st.builds(lambda r, s: f"[SLIDE {s} WATTR ts RANGE {r}]", _lengths, _lengths),
    st.builds(lambda s: f"[RANGE ALL, SLIDE {s}]", _lengths),
    st.just("[RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP]"),
    st.just("[RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]"),
    st.just("[RANGE 1 day, ORIGIN '2026-01-01 06:00:00']"),
)
aggregates = st.one_of(
    st.just("count(*)"),
    st.builds(lambda a: f"sum({a})", numbers),
    st.builds(lambda a: f"max({a})", _texts),
    st.builds(lambda a, c: f"count({a}) FILTER (WHERE {c})", numbers, conditions),
    st.builds(lambda a: f"count(DISTINCT {a})", _texts),
    st.builds(lambda a: f"sum({a}) / count(*)", numbers),
)

_comments = st.sampled_from(["", "", "", "-- a note\n", "/* a /* nested */ note */", " \t\n"])


def _where(condition: str | None) -> str:
    return f"\nWHERE {condition}" if condition else ""


projections = st.builds(
    lambda a, b, c, note: f"SELECT {a} AS x,{note} {b} AS y\nFROM packets{_where(c)}",
    numbers,
    _texts,
    st.none() | conditions,
    _comments,
)
aggregations = st.builds(
    lambda a, w, c, note, having: (
        f"SELECT srcIP, {a} AS v {w}{note} FROM packets{_where(c)} GROUP BY srcIP"
        + (" HAVING v IS NOT NULL" if having else "")
    ),
    aggregates,
    windows,
    st.none() | conditions,
    _comments,
    st.booleans(),
)
joins = st.builds(
    lambda r, s, note: (
        f"SELECT p.srcIP, r.ts{note} FROM packets p [RANGE {r}], replies r [RANGE {s}] "
        "WHERE p.srcIP = r.destIP"
    ),
    _lengths,
    _lengths,
    _comments,
)
others = st.sampled_from(
    [
        "SELECT h.host_id, p.len FROM packets p LEFT JOIN hosts h ON p.srcIP = h.ip",
        "SELECT count(*) FROM packets p, replies r WHERE p.srcIP = r.destIP WINDOW 10 minutes",
        "SELECT epoch, count(*) FROM STREAM(packets, 'CUT BY 150 ROWS', 'BLOCK', 3) s"
        " GROUP BY epoch",
        "WITH w AS (SELECT * FROM packets) SELECT count(*) [RANGE 1 minute] FROM w",
        "SELECT max(n) [RANGE 1 hour, WA window_start] FROM (SELECT count(*) AS n [RANGE 1 minute]"
        " FROM packets) c",
        "SELECT srcIP FROM packets UNION ALL SELECT destIP FROM replies",
    ]
)
queries = st.one_of(projections, aggregations, joins, others)
files = st.builds(
    lambda qs, note: DEFINITIONS + "".join(f"{note}\n{q};\n" for q in qs),
    st.lists(queries, min_size=1, max_size=3),
    _comments,
)
