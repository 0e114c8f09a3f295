"""Every diagnostic code: its number, its title and what it means.

Codes are stable: editors, scripts and people refer to them. A code is never given to another
problem; one that goes out of use stays reserved. `docs/errors.md` is made from this file
(`make docs`), and each code has a case in `tests/cases/errors/`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    id: str
    title: str
    meaning: str

    @property
    def is_warning(self) -> bool:
        return self.id.startswith("W")


CODES: dict[str, Code] = {}
SECTIONS: dict[str, str] = {
    "E01": "Reading the text",
    "E02": "Names",
    "E03": "Expressions",
    "E04": "Windows",
    "E05": "Streams and progress",
    "E06": "Joins and epochs",
    "E07": "Statements, sources and sinks",
    "E08": "Running",
    "E09": "Limits",
    "W": "Warnings",
}


def _code(id: str, title: str, meaning: str) -> Code:
    if id in CODES:
        raise ValueError(f"code {id} is given twice")
    CODES[id] = code = Code(id, title, meaning)
    return code


# E01: reading the text
SYNTAX = _code("E0101", "syntax error", "The text does not fit the grammar at this place.")
UNCLOSED_STRING = _code(
    "E0102", "unclosed string", "A string or a quoted name is opened and never closed."
)
UNCLOSED_COMMENT = _code("E0103", "unclosed comment", "A `/*` comment is opened and never closed.")
UNCLOSED_BRACKET = _code(
    "E0104", "unclosed bracket", "A `(` or `[` is opened and not closed before the statement ends."
)
STRAY_BRACKET = _code(
    "E0105", "bracket without its partner", "A `)` or `]` closes nothing, or closes the wrong kind."
)
BAD_EXPRESSION = _code(
    "E0106", "broken expression", "Spark SQL cannot read this scalar expression."
)
UNREADABLE = _code(
    "E0107", "the file cannot be read", "The file is missing, is a directory, or is not UTF-8 text."
)
STRAY_CHARACTER = _code(
    "E0108",
    "character that no statement has",
    "A control character, or a sign that is not part of the language, stands outside of a string.",
)

# E02: names
UNKNOWN_RELATION = _code(
    "E0201",
    "unknown stream, table or view",
    "FROM names something that was not created before this statement.",
)
UNKNOWN_COLUMN = _code("E0202", "unknown column", "No relation in scope has a column of this name.")
AMBIGUOUS_COLUMN = _code(
    "E0203", "ambiguous column", "More than one relation in scope has a column of this name."
)
UNKNOWN_FUNCTION = _code(
    "E0204", "unknown function", "Neither Spark nor a CREATE FUNCTION of this file has it."
)
UNKNOWN_SINK = _code("E0205", "unknown sink", "INSERT INTO names a sink that was not created.")
UNKNOWN_QUALIFIER = _code(
    "E0206",
    "unknown relation before the dot",
    "The name before the dot is not a relation of this FROM.",
)
DUPLICATE_ALIAS = _code(
    "E0207", "one name for two relations", "Two items of one FROM have the same name."
)
ALREADY_EXISTS = _code(
    "E0208", "the name is taken", "A stream, table, view, sink or function has this name already."
)
UNKNOWN_OBJECT = _code(
    "E0209", "nothing of that name", "DESCRIBE or DROP names something that does not exist."
)
NOT_READABLE = _code(
    "E0210", "not something to read from", "FROM names a sink, or INSERT INTO names a stream."
)

# E03: expressions
FORBIDDEN_FUNCTION = _code(
    "E0301",
    "function that is refused",
    "The function reaches into the JVM and could run anything there.",
)
WRONG_TYPE = _code("E0302", "wrong type", "The expression has a type that does not fit its place.")
NOT_GROUPED = _code(
    "E0303",
    "neither grouped nor aggregated",
    "A column of an aggregating query must be in GROUP BY, in PA, or inside of an aggregate.",
)
MISPLACED_AGGREGATE = _code(
    "E0304",
    "aggregate in the wrong place",
    "Aggregates stand in SELECT and HAVING: not in WHERE, GROUP BY, ON or inside of one another.",
)
BAD_GROUP_POSITION = _code(
    "E0305", "GROUP BY position out of range", "A number in GROUP BY counts the SELECT items."
)
SUBQUERY_IN_EXPRESSION = _code(
    "E0306", "sub-query in an expression", "Sub-queries stand in FROM only."
)
WINDOW_FUNCTION = _code(
    "E0307", "OVER is not a stream window", "Spark cannot run analytic functions on a stream."
)
WRONG_ARGUMENTS = _code(
    "E0308",
    "wrong arguments",
    "The function takes another number or another type of arguments.",
)
HAVING_WITHOUT_AGGREGATE = _code(
    "E0309", "HAVING without an aggregate", "HAVING filters groups, and the query makes none."
)
MISPLACED_STAR = _code(
    "E0310", "`*` in the wrong place", "`*` is a SELECT item of its own, or the argument of count."
)
DUPLICATE_COLUMN = _code(
    "E0311", "one name for two columns", "Two columns of a result or of a CREATE have one name."
)
PARAMETER = _code(
    "E0312", "parameter", "Placeholders such as `?`, `:x` and `${x}` have no value here."
)
MISPLACED_GENERATOR = _code(
    "E0314",
    "function that makes rows in the wrong place",
    "explode and its kin stand alone in a SELECT item of a query without aggregates.",
)
BAD_TYPE = _code("E0313", "unknown type", "Spark has no such type.")

# E04: windows
DUPLICATE_WINDOW_ITEM = _code(
    "E0401", "window item given twice", "Each item of a window clause is given once."
)
CONTRADICTORY_WINDOW = _code(
    "E0402", "contradictory window items", "The items of the window clause exclude one another."
)
NOT_POSITIVE = _code("E0403", "RANGE or SLIDE is not positive", "A length is greater than zero.")
MIXED_UNITS = _code(
    "E0404",
    "RANGE and SLIDE in different units",
    "A RANGE in time with a SLIDE in rows (or the reverse) needs RATTR and SATTR.",
)
BAD_WINDOW_ATTRIBUTE = _code(
    "E0405",
    "windowing attribute is not the stream's time",
    "WA (or RATTR) must be a timestamp, and the column that the watermark is on.",
)
BAD_UNIT = _code("E0406", "unknown unit", "The unit of a length is missing or not known.")
CALENDAR_UNIT = _code(
    "E0407", "unit without a fixed length", "Months and years differ in length from one another."
)
INEXACT_LENGTH = _code(
    "E0408",
    "length that is not exact",
    "Lengths are whole microseconds or whole rows, and not longer than Spark can count.",
)
WINDOW_WITHOUT_AGGREGATE = _code(
    "E0409",
    "window clause without an aggregate",
    "A window clause after a SELECT item needs an aggregate in that item.",
)
INCOMPLETE_WINDOW = _code(
    "E0410", "incomplete window", "The window clause lacks an item that its kind needs."
)
MIXED_WINDOWS = _code(
    "E0411",
    "windows that cannot share a query",
    "The aggregates of one query may differ in RANGE only.",
)
BAD_ORIGIN = _code("E0412", "ORIGIN is not a point in time", "ORIGIN takes a timestamp string.")

# E05: streams and progress
NEVER_CLOSES = _code(
    "E0501",
    "the query can never give a result",
    "An aggregate or DISTINCT over a stream needs a window, or GROUP BY on the progressing"
    " attribute: without one no group is ever complete.",
)
ORDER_BY_NOT_TIME = _code(
    "E0502",
    "ORDER BY on something other than time",
    "A stream never ends, so it can only be put in order of its time, ascending.",
)
NO_WATERMARK = _code(
    "E0503", "no watermark", "The query needs the stream's progress, and the stream declares none."
)
BAD_WATERMARK = _code(
    "E0504",
    "watermark that cannot be",
    "A watermark is on a TIMESTAMP column of the stream, `ts` or `ts - INTERVAL …`.",
)
LIMIT_ON_STREAM = _code(
    "E0505",
    "LIMIT on a stream",
    "Which rows come first depends on arrival, which a result must not.",
)
SET_UNION_ON_STREAM = _code(
    "E0506",
    "UNION that drops duplicates",
    "To drop duplicates of an endless stream all of it would have to be kept.",
)

# E06: joins and epochs
UNBOUNDED_JOIN = _code(
    "E0601",
    "join of streams without a window",
    "Two streams joined without a window would have to be kept for ever.",
)
BAD_JOIN_WINDOW = _code(
    "E0602",
    "window that a join cannot have",
    "A join window is a RANGE in time a side, one TUMBLING for all, or WINDOW w.",
)
BAD_CUT = _code(
    "E0603",
    "wrong CUT",
    "The string says `CUT ON col BY n SECS`, `CUT BY n ROWS` or `CUT ON KEY col`.",
)
BAD_EPOCH = _code(
    "E0604",
    "wrong epoch function",
    "It is `STREAM(stream, 'CUT …' [, 'BLOCK' [, chunks]])`, over a stream.",
)
MIXED_EPOCHS = _code(
    "E0605",
    "epochs beside plain streams",
    "A query by epochs reads streams through STREAM(…) only, all cut alike, and has no windows.",
)
BAD_UNION = _code(
    "E0606", "UNION of things that do not fit", "The members of a UNION have the same columns."
)
BAD_JOIN = _code(
    "E0607", "join that cannot run", "Spark has no plan for this kind of join on a stream."
)

# E07: statements, sources and sinks
NO_CONNECTOR = _code("E0701", "no connector", "A stream, table or sink says where its data is.")
UNKNOWN_CONNECTOR = _code(
    "E0702", "unknown connector", "There is no such connector, or not for this."
)
MISSING_OPTION = _code("E0703", "missing option", "The connector needs an option that is absent.")
BAD_OPTION = _code("E0704", "wrong option", "The option has a value that it cannot have.")
INSERT_MISMATCH = _code(
    "E0705",
    "the columns do not fit the sink",
    "The query's columns are not those that the sink or the INSERT declares.",
)
BAD_HINT = _code("E0706", "wrong hint", "The hint is not known or not well formed.")
BAD_FUNCTION = _code(
    "E0707", "wrong function declaration", "CREATE FUNCTION … AS 'module:function'."
)
NOT_COMPILED_YET = _code(
    "E0708",
    "understood, but not compiled yet",
    "The query is legal; this version of ssql has no plan for it yet.",
)
NOTHING_TO_COMPILE = _code("E0709", "nothing to compile", "The file has no SELECT and no INSERT.")
NOT_A_SOURCE_COLUMN = _code(
    "E0710", "column that the connector does not have", "The connector has fixed columns."
)

# E08: running
RUN_ENVIRONMENT = _code(
    "E0801", "something is missing here", "Java, a package, a module or a variable is not there."
)
RUN_SOURCE = _code("E0802", "the data cannot be read", "A stream or table is not as declared.")
RUN_SINK = _code("E0803", "the results cannot be written", "The sink does not take them.")
RUN_CHECKPOINT = _code(
    "E0804",
    "the checkpoint is of something else",
    "A checkpoint fits the query, plan, sources, sink and settings that it was written with.",
)
RUN_ENDLESS = _code(
    "E0805", "the stream never ends", "--until-done needs sources that have an end."
)
RUN_FAILED = _code("E0806", "the query failed", "Spark stopped while it was running the query.")

# E09: limits
TOO_DEEP = _code(
    "E0901", "nested too deeply", "Brackets or expressions are nested deeper than ssql reads."
)
TOO_LARGE = _code("E0902", "too large", "The file or statement is longer than ssql reads.")

# Warnings
VOLATILE = _code(
    "W0001",
    "result depends on when it runs",
    "The function gives another value each time, so a restart can change a result.",
)
WINDOW_PLACED_BY_START = _code(
    "W0002",
    "windows placed by window_start",
    "The input is itself windowed, has two time columns, and WA does not say which one counts.",
)
LANDMARK_GROWS = _code(
    "W0003", "landmark state never shrinks", "RANGE ALL keeps every group for ever."
)
GLOBAL_ROWS = _code(
    "W0004",
    "one task numbers all rows",
    "A window that counts rows without PA needs one order of all rows, so it does not run in"
    " parallel.",
)
MANY_WINDOWS = _code(
    "W0005",
    "many windows are open at a time",
    "RANGE and the declared disorder are many times SLIDE: that many windows stay open, and each"
    " group keeps what they need.",
)
OUTER_JOIN_WAITS = _code(
    "W0006",
    "an outer join waits",
    "That a row of a stream matches nothing is known only when no partner can come any more: when"
    " the watermark has passed its window.",
)
ALL_PAIRS = _code(
    "W0007",
    "a join without an equality",
    "Nothing says what rows of both streams have in common, so every pair of rows whose times are"
    " in the window is compared.",
)
LARGE_JOIN = _code(
    "W0008",
    "a join keeps more than may be",
    "By what is known of the streams, the rows that wait in the windows of this join take more than"
    " `SET ssql.memory` allows (8 GB, if nothing is set).",
)
