"""`ssql fmt`: one way to lay out a file.

The grammar's tree says where lines break; the tokens between the breaks are written with one
rule for spaces. Comments keep their place. Only white space and the case of keywords change:
whoever is not sure that this holds for a statement gets it back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token, Tree

from ssql.compiler.parser import Parsed, ParsedFile
from ssql.compiler.scanner import Comment
from ssql.grammar import statement_parser

WIDTH = 88
_STEP = "  "
_INNER_TOKEN = re.compile(
    r"[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`|/\*\+.*?\*/"
    r"|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\w*|[^\W\d]\w*"
    r"|<=>|->|=>|<=|>=|<>|!=|==|\|\||::|<<|>>|&&|\S",
    re.DOTALL,
)
_UPPER_IN_EXPRESSIONS = frozenset(
    "AND AS BETWEEN CASE DISTINCT ELSE END FROM IN IS LIKE NOT NULL OR THEN WHEN WHERE".split()
)
# Words after which a bracket is no call.
_OPERATOR_WORDS = _UPPER_IN_EXPRESSIONS - {"END", "NULL"} | {"FILTER", "RLIKE", "ILIKE", "ANY", "OVER"}
_BINARY = frozenset({"=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>", "+", "-", "*", "/", "%", "||",
                     "->", "=>", "&", "|", "^", "<<", ">>", "&&"})  # fmt: skip
# What a token is besides what the grammar calls it, by the rule that it stands in.
_ROLES = {
    ("create_stream", "LPAR"): "LIST_OPEN",
    ("create_table", "LPAR"): "LIST_OPEN",
    ("create_sink", "LPAR"): "LIST_OPEN",
    ("insert_columns", "LPAR"): "LIST_OPEN",
    ("type", "NAME"): "TYPE",
}
_NAMES = frozenset({"NAME", "QUOTED", "STRING", "NUMBER", "INNER", "HINT", "OPERATOR", "EPOCH"})


@dataclass(slots=True)
class _Token:
    text: str
    start: int
    end: int
    type: str  # the grammar's, or EXPR inside of brackets
    spaced: bool  # was there white space before it?

    @property
    def upper(self) -> str:
        return self.text.upper()


def format_file(file: ParsedFile) -> str:
    """The text of a file that parsed without errors."""
    return _File(file).text()


def tokens_of(tree: Tree[Token], text: str) -> list[str]:
    """What a statement says, without its layout: two statements that agree here are the same."""
    return [t.text if t.text[0] in "'\"`" else t.text.casefold() for t in _tokens(tree, text)]


# ------------------------------------------------------------------ tokens


def _leaves(tree: Tree[Token]) -> Iterator[tuple[Token, str]]:
    """The tokens in order, each with the rule that it stands in."""
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _leaves(child)
        else:
            yield child, str(tree.data)


def _tokens(tree: Tree[Token], text: str) -> list[_Token]:
    result: list[_Token] = []
    for leaf, rule in _leaves(tree):
        start = leaf.start_pos or 0
        if leaf.type in ("INNER", "STRING"):
            kind = "EXPR" if leaf.type == "INNER" else "STRING"
            pieces = [(m.group(), start + m.start(), start + m.end()) for m in _INNER_TOKEN.finditer(str(leaf))]
        else:
            kind = _ROLES.get((rule, leaf.type), leaf.type)
            pieces = [(str(leaf), start, leaf.end_pos or 0)]
        for piece, at, end in pieces:
            result.append(_Token(_cased(piece, kind), at, end, kind, text[at - 1 : at].isspace()))
    _upper_words(result)
    return result


def _cased(text: str, type: str) -> str:
    """Keywords in capitals, those of several words with one space between them."""
    if type == "GROUP_BY":
        return "GROUP BY"
    if type == "ROW_NUM":
        return "row-num"
    if type in _NAMES or type == "EXPR" or text[0] in "`'\"":
        return text
    return " ".join(text.split()).upper() if text[0].isalpha() else text


def _upper_words(tokens: list[_Token]) -> None:
    """AND, OR, CASE and the like inside of expressions, unless they are names there."""
    for at, token in enumerate(tokens):
        if token.type in ("NAME", "EXPR") and token.upper in _UPPER_IN_EXPRESSIONS:
            before = tokens[at - 1].upper if at else ""
            after = tokens[at + 1].text if at + 1 < len(tokens) else ""
            if before not in (".", "AS") and after != ".":
                token.text = token.upper


def _space_between(before: list[_Token], token: _Token) -> bool:
    """Is there a space between the last token of `before` and this one?"""
    last = before[-1]
    a, b = last.text, token.text
    if (a.endswith("-") and b.startswith("-")) or (a.endswith("/") and b.startswith("*")):
        return True  # `--` and `/*` would begin a comment
    if token.type in ("WINDOW_OPEN", "LIST_OPEN"):
        return True
    if _in_type(before) and (a in "<>:" or b in "<>:"):
        return a == ":"
    if a in ("(", "[", ".", "::") or b in (")", "]", ",", ".", "::", ";"):
        return False
    if b == ":" or a == ":":
        return a == ":" and token.spaced
    if b == "[":
        return False
    if b == "(":
        if last.type in ("NAME", "EXPR", "QUOTED", "EPOCH", "RANK", "TYPE"):
            return last.upper in _OPERATOR_WORDS
        return a not in (")", "]", "`") and last.type != "QUOTED"
    if a in ("!", "~", "@", "$", "{", "?", "#") or b in ("}", "{", "#", "?", "$", "@"):
        return token.spaced
    if _is_unary(before):
        return False
    return True


def _in_type(before: list[_Token]) -> bool:
    """Inside of the angle brackets of ARRAY<…>, MAP<…> or STRUCT<…>, or right at their edge."""
    depth = 0
    for token in reversed(before[-40:]):
        if token.text in (">", ">>"):
            depth += len(token.text)
        elif token.text == "<":
            depth -= 1
        elif token.upper in ("ARRAY", "MAP", "STRUCT") and (depth < 0 or token is before[-1]):
            return True
        elif token.text in ("(", ";", "AND", "OR") and depth == 0:
            return False
    return False


def _is_unary(before: list[_Token]) -> bool:
    """Is the last token a sign of the one that follows, and not an operation?"""
    if before[-1].text not in ("-", "+"):
        return False
    if len(before) == 1:
        return True
    previous = before[-2]
    return previous.text in ("(", "[", ",") or previous.text in _BINARY or previous.upper in (
        _OPERATOR_WORDS | {"SELECT", "BY", "ON", "HAVING", "WHERE", "RANGE", "SLIDE", "WINDOW", "GROUP BY", "ORDER BY"}
    )


def _flat(tokens: list[_Token]) -> str:
    out = ""
    for at, token in enumerate(tokens):
        out += (" " if at and _space_between(tokens[:at][-42:], token) else "") + token.text
    return out


# ------------------------------------------------------------------ where lines break


class _Layout:
    """The positions at which a new line begins, and how far it is indented."""

    def __init__(self, tokens: list[_Token], comments: list[Comment], base: int) -> None:
        self.tokens = tokens
        self.comments = [c.span.start - base for c in comments]
        self.breaks: dict[int, int] = {}

    def statement(self, tree: Tree[Token]) -> None:
        inner = tree.children[0]
        assert isinstance(inner, Tree)
        self._rule(inner, 0)

    def _rule(self, tree: Tree[Token], indent: int) -> None:
        match str(tree.data):
            case "query":
                self._query(tree, indent)
            case "insert" | "create_view":
                query = self._child(tree, "query")
                self.breaks[query.meta.start_pos] = indent
                self._query(query, indent)
            case "explain":
                self._rule(self._child(tree, "query", "insert"), indent)
            case "create_stream" | "create_table" | "create_sink":
                self._create(tree, indent)

    @staticmethod
    def _child(tree: Tree[Token], *rules: str) -> Tree[Token]:
        return next(c for c in tree.children if isinstance(c, Tree) and c.data in rules)

    def _fits(self, start: int, end: int, indent: int) -> bool:
        if any(start <= c < end for c in self.comments):
            return False
        inside = [t for t in self.tokens if start <= t.start < end]
        return len(_STEP) * indent + len(_flat(inside)) <= WIDTH

    def _create(self, tree: Tree[Token], indent: int) -> None:
        elements = [c for c in tree.children if isinstance(c, Tree) and c.data in ("column", "watermark", "sequence")]
        options = next((c for c in tree.children if isinstance(c, Tree) and c.data == "options"), None)
        if elements and not self._fits(tree.meta.start_pos, tree.meta.end_pos, indent):
            for element in elements:
                self.breaks[element.meta.start_pos] = indent + 1
            closing = [c for c in tree.children if isinstance(c, Token) and c.type == "RPAR"]
            self.breaks[closing[0].start_pos or 0] = indent
        if options is not None:
            start = options.meta.start_pos - (2 if elements else 0)
            if not self._fits(start, options.meta.end_pos, indent):
                self._listed(options, "option", indent)

    def _listed(self, tree: Tree[Token], rule: str, indent: int) -> None:
        """Each member on a line of its own, the closing bracket too."""
        for child in tree.children:
            if isinstance(child, Tree) and child.data == rule:
                self.breaks[child.meta.start_pos] = indent + 1
        last = tree.children[-1]
        if isinstance(last, Token) and last.type == "RPAR":
            self.breaks[last.start_pos or 0] = indent

    def _query(self, tree: Tree[Token], indent: int) -> None:
        for child in tree.children:
            assert isinstance(child, Tree)
            match str(child.data):
                case "with_clause":
                    for cte in child.find_data("cte"):
                        if cte in child.children:
                            self._bracketed_query(cte, indent)
                    body = tree.children[-1]
                    assert isinstance(body, Tree)
                    self.breaks[body.meta.start_pos] = indent
                case "union_all":
                    for member in child.children:
                        assert isinstance(member, Tree)
                        if member is not child.children[0]:
                            self.breaks[member.meta.start_pos] = indent
                        if member.data == "select":
                            self._select(member, indent)
                case "select":
                    self._select(child, indent)

    def _bracketed_query(self, tree: Tree[Token], indent: int) -> None:
        query = self._child(tree, "query")
        if self._fits(tree.meta.start_pos, tree.meta.end_pos, indent + 2) and tree.data == "subquery":
            return
        self.breaks[query.meta.start_pos] = indent + 1
        self._query(query, indent + 1)
        closing = tree.children[-1]
        assert isinstance(closing, Token)
        self.breaks[closing.start_pos or 0] = indent

    def _select(self, tree: Tree[Token], indent: int) -> None:
        for child in tree.children:
            if not isinstance(child, Tree):
                continue
            start, end = child.meta.start_pos, child.meta.end_pos
            if child.data == "select_list":
                if not self._fits(tree.meta.start_pos, end, indent):
                    self._listed(child, "select_item", indent)
                continue
            self.breaks[start] = indent
            match str(child.data):
                case "from_clause":
                    self._from(child, indent)
                case "where" | "having":
                    if not self._fits(start, end, indent):
                        self._conditions(self._child(child, "expr"), indent)
                case "group_by" | "order_by":
                    if not self._fits(start, end, indent):
                        self._listed(child, "expr", indent)

    def _conditions(self, tree: Tree[Token], indent: int) -> None:
        """A line for each AND or OR that is not inside of brackets."""
        after_between = False
        for child in tree.children:
            if isinstance(child, Token):
                word = str(child).upper()
                if word in ("AND", "OR") and not (word == "AND" and after_between):
                    self.breaks[child.start_pos or 0] = indent + 1
                after_between = word == "BETWEEN" or (after_between and word != "AND")

    def _from(self, tree: Tree[Token], indent: int) -> None:
        fits = self._fits(tree.meta.start_pos, tree.meta.end_pos, indent)
        for child in tree.children:
            if not isinstance(child, Tree):
                continue
            item = self._child(child, "from_item") if child.data == "join" else child
            sign = child.children[0]
            if child.data == "join" and isinstance(sign, Token) and not fits:
                if sign.type == "COMMA":
                    self.breaks[item.meta.start_pos] = indent + 1
                else:
                    self.breaks[sign.start_pos or 0] = indent
            for subquery in self._own_subqueries(item):
                self._bracketed_query(subquery, indent)

    def _own_subqueries(self, tree: Tree[Token]) -> Iterator[Tree[Token]]:
        for child in tree.children:
            if isinstance(child, Tree):
                if child.data == "subquery":
                    yield child
                elif child.data != "expr":
                    yield from self._own_subqueries(child)


# ------------------------------------------------------------------ writing


class _Writer:
    """Tokens and comments to lines."""

    def __init__(self, source: str, base: int, breaks: dict[int, int]) -> None:
        self.source = source
        self.base = base
        self.breaks = breaks
        self.lines: list[str] = []
        self.line: list[_Token | str] = []
        self.indent = 0
        self.structural = 0  # the indent of the last break that the layout asked for

    def _flush(self) -> None:
        if self.line:
            self.lines.append(_STEP * self.indent + self._joined())
        self.line = []

    def _joined(self) -> str:
        out, before = "", []
        for part in self.line:
            if isinstance(part, str):
                out += f" {part}" if out else part
                before = []
            else:
                glue = bool(out) and (not before or _space_between(before, part))
                out += (" " if glue else "") + part.text
                before = [*before[-41:], part]
        return out

    def token(self, token: _Token, comments: list[Comment], previous_end: int | None) -> None:
        must_break = False
        wanted = self.breaks.get(token.start)
        end = previous_end
        for comment in comments:
            same_line = end is not None and "\n" not in self.source[end : comment.span.start]
            if same_line and self.line:
                self.line.append(_tidy(comment))
                must_break = comment.text.startswith("--")
            else:
                self._flush()
                self.indent = wanted if wanted is not None else self.structural + 1
                self.lines.append(_STEP * self.indent + _tidy(comment))
                must_break = True
            end = comment.span.end
        if wanted is not None:
            self._flush()
            self.indent = self.structural = wanted
        elif must_break:
            self._flush()
            self.indent = self.structural + 1
        self.line.append(token)

    def result(self) -> list[str]:
        self._flush()
        return self.lines


def _tidy(comment: Comment) -> str:
    if comment.text.startswith("--"):
        return comment.text.rstrip()
    return "\n".join(line.rstrip() for line in comment.text.split("\n"))


class _File:
    def __init__(self, file: ParsedFile) -> None:
        self.file = file
        self.source = file.source.text
        self.comments = list(file.scan.comments)

    def text(self) -> str:
        out: list[str] = []
        end = 0  # how much of the source is written
        was_long = False
        for parsed in self.file.statements:
            span = parsed.statement.span
            end, blank = self._between(out, end, span.start)
            inside = self._take(span.start, self._semicolon(span.end))
            lines, after = self._statement(parsed, inside)
            if out and (was_long or len(lines) > 1 or blank) and out[-1] and not self._is_comment(out[-1]):
                out.append("")
            lines[-1] += ";"
            for comment in after:
                lines[-1] += f" {_tidy(comment)}" if not lines[-1].endswith("\n") else _tidy(comment)
            out += lines
            was_long = len(lines) > 1
            end = min(self._semicolon(span.end) + 1, len(self.source))
        self._between(out, end, len(self.source))
        while out and not out[-1]:
            out.pop()
        return "\n".join(out) + "\n" if out else ""

    @staticmethod
    def _is_comment(line: str) -> bool:
        return line.startswith(("--", "/*")) or line.endswith("*/")

    def _semicolon(self, at: int) -> int:
        """Where the statement that ends at this position has its `;`."""
        comments = {c.span.start: c.span.end for c in self.file.scan.comments}
        while at < len(self.source) and self.source[at] != ";":
            at = comments.get(at, at + 1)
        return at

    def _take(self, start: int, end: int) -> list[Comment]:
        taken = [c for c in self.comments if start <= c.span.start < end]
        self.comments = [c for c in self.comments if not start <= c.span.start < end]
        return taken

    def _between(self, out: list[str], start: int, end: int) -> tuple[int, bool]:
        """Write the comments between two statements; is there a blank line before `end`?"""
        at = start
        for comment in self._take(start, end):
            gap = self.source[at : comment.span.start]
            if out and "\n" not in gap:
                out[-1] += f" {_tidy(comment)}"
            else:
                if out and gap.count("\n") > 1 and out[-1]:
                    out.append("")
                out += _tidy(comment).split("\n")
            at = comment.span.end
        gap = self.source[at:end]
        blank = gap.count("\n") > 1
        if blank and out and out[-1] and self._is_comment(out[-1]) and at != start:
            out.append("")
        return end, blank

    def _statement(self, parsed: Parsed, comments: list[Comment]) -> tuple[list[str], list[Comment]]:
        base = parsed.statement.span.start
        tokens = _tokens(parsed.tree, parsed.statement.text)
        layout = _Layout(tokens, comments, base)
        layout.statement(parsed.tree)
        writer = _Writer(self.source, base, layout.breaks)
        previous_end: int | None = None
        rest = list(comments)
        for token in tokens:
            before = [c for c in rest if c.span.start < base + token.start]
            rest = rest[len(before) :]
            writer.token(token, before, previous_end)
            previous_end = base + token.end
        lines = "\n".join(writer.result()).split("\n")
        if not comments and not self._says_the_same(parsed, "\n".join(lines)):
            lines = parsed.statement.text.split("\n")
        return lines, rest

    @staticmethod
    def _says_the_same(parsed: Parsed, text: str) -> bool:
        from lark.exceptions import UnexpectedInput

        try:
            tree = statement_parser().parse(text)
        except UnexpectedInput:
            return False
        return tokens_of(tree, text) == tokens_of(parsed.tree, parsed.statement.text)
