"""Wrong texts by the thousand: mutants of a corpus, and extremes of size and depth."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator

TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|--[^\n]*|\w+|\s+|.", re.DOTALL)
# What is thrown in: words and signs of the language, and things that no language has.
_SPICE = (
    "SELECT FROM WHERE GROUP BY HAVING UNION JOIN ON AS [ ] ( ) , ; . * = < > - + / ' \" ` "
    "RANGE SLIDE WA PA RATTR SATTR ORIGIN TUMBLING ALL rows minutes row-num rank(ts) WINDOW "
    "count(*) max(len) ts 0 -1 1e9 99999999999999999999 0.0000001 NULL INTERVAL /*+ */ -- /* :: -> "
    "CREATE STREAM STREAM( 'CUT\x00ON' \ud7ff é \u202e 漢字 \U0001f600 \r \t $x ${x} {{x}} ? @ # "
    "~ ^ \\ a[0] case when end"
).split(" ")


def statements(text: str) -> list[str]:
    """A corpus file in pieces; a piece needs the definitions before it to make sense."""
    return [s.strip() + ";" for s in re.sub(r"--[^\n]*", "", text).split(";") if s.strip()]


def mutants(corpus: list[str], count: int, seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        tokens = TOKEN.findall(rng.choice(corpus))
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            tokens = _mutate(tokens, rng)
        yield "".join(tokens)


def _mutate(tokens: list[str], rng: random.Random) -> list[str]:
    if not tokens:
        return [rng.choice(_SPICE)]
    at = rng.randrange(len(tokens))
    other = rng.randrange(len(tokens))
    match rng.randrange(9):
        case 0:  # swap
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 1:  # drop
            del tokens[at]
        case 2:  # duplicate
            tokens.insert(at, tokens[other])
        case 3:  # truncate
            del tokens[at:]
        case 4:  # insert a word or sign of the language
            tokens.insert(at, f" {rng.choice(_SPICE)} ")
        case 5:  # replace
            tokens[at] = rng.choice(_SPICE)
        case 6:  # a slip of the finger inside of a word
            word = tokens[at]
            cut = rng.randrange(len(word) + 1)
            tokens[at] = word[:cut] + rng.choice(string.printable) + word[cut + 1 :]
        case 7:  # random characters
            tokens.insert(
                at, "".join(chr(rng.randrange(1, 0x3000)) for _ in range(rng.randrange(1, 9)))
            )
        case 8:  # drop a run
            del tokens[at : at + rng.randrange(1, 8)]
    return tokens


def extremes() -> Iterator[tuple[str, str]]:
    """Texts that are hard for their size, by name."""
    select = "SELECT a FROM t WHERE "
    for name, piece in (("round", "()"), ("square", "[]")):
        yield f"{name} brackets 10,000 deep", select + piece[0] * 10_000 + "x" + piece[1] * 10_000
        yield f"{name} brackets 10,000 deep, open", select + piece[0] * 10_000
        yield f"{name} brackets 10,000 deep, closing", select + piece[1] * 10_000
        yield f"{name} brackets 59 deep", select + piece[0] * 59 + "x" + piece[1] * 59
    yield "sub-queries 55 deep", "SELECT * FROM (" * 55 + "t" + ")" * 55 + ";"
    yield "NOT 5,000 times", select + "NOT " * 5_000 + "x"
    yield "minus 5,000 times", select + "- " * 5_000 + "x"
    yield "CASE 3,000 deep", select + "CASE WHEN " * 3_000 + "x" + " THEN 1 END" * 3_000
    yield "a sum of 10,000", select + "x + " * 10_000 + "x > 1"
    yield "10,000 ANDs", select + "x > 1 AND " * 6_000 + "x > 1"
    yield "a list of 10,000", select + f"x IN ({', '.join(map(str, range(10_000)))})"
    yield "IS NOT NULL 130 times", "SELECT x" + " IS NOT NULL" * 130 + " FROM t"
    yield "NOT IN 150 times", "SELECT x" + " NOT IN (1)" * 150 + " FROM t"
    yield "casts 250 deep", "SELECT x" + "::int" * 250 + " FROM t"
    yield "functions with too little", "SELECT map('a'), ceil(), date_trunc(), if() FROM t"
    yield "a comment 5,000 deep", "/*" * 5_000 + "*/" * 5_000 + "SELECT 1"
    yield "a comment 5,000 deep, open", "/*" * 5_000
    yield "quotes", "'" * 60_001
    yield "backslashes in a string", "SELECT '" + "\\" * 60_001
    yield "backticks", "SELECT " + "`" * 60_001
    yield "spaces", " " * 400_000
    yield "window openers", "SELECT max(a) " + "[RANGE " * 9_000
    yield "almost windows", "SELECT max(a) [" + "RANGE x " * 7_000 + "] FROM t"
    yield "10,000 unions", "SELECT a FROM t" + " UNION t" * 7_000
    yield "dots", select + "a." * 20_000 + "a"
    yield "semicolons", ";" * 400_000
    yield "doubling WITH", _doubling_with(40)
    yield "chained WITH", _chained_with(600)
    yield "a long name", f"SELECT {'a' * 60_000} FROM t"
    yield "long numbers", f"SELECT a FROM t WHERE x > {'9' * 60_000}"
    yield "a huge exponent", "SELECT max(a) [RANGE 1e999999999 minutes] FROM t"
    yield "a tiny exponent", "SELECT max(a) [RANGE 1e-999999999 minutes] FROM t"
    yield "angle brackets", "CREATE STREAM z (a " + "ARRAY<" * 9_000 + "INT" + ">" * 9_000 + ")"
    yield "NUL characters", "\x00" * 100_000
    yield "5 MB of SQL", "SELECT a FROM t WHERE x > 1;\n" * 180_000
    yield "5 MB of brackets", "(" * 5_000_000
    yield "5 MB of one string", "SELECT '" + "x" * 5_000_000 + "'"
    yield "5 MB of noise", "".join(chr(33 + i % 90) for i in range(5_000_000))


def _doubling_with(count: int) -> str:
    """Each step reads the one before twice: the plan doubles."""
    steps = ["c0 AS (SELECT * FROM t)"]
    steps += [f"c{i} AS (SELECT * FROM c{i - 1} UNION c{i - 1})" for i in range(1, count)]
    return f"WITH {', '.join(steps)} SELECT * FROM c{count - 1}"


def _chained_with(count: int) -> str:
    steps = ["c0 AS (SELECT * FROM t)"]
    steps += [f"c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, count)]
    return f"WITH {', '.join(steps)} SELECT * FROM c{count - 1}"
