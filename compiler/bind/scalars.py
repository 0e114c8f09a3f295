"""Scalar expressions: names resolved, functions checked, types found."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ssql.compiler import ast, codes
from ssql.compiler.bind.allowed import check_allowed
from ssql.compiler.bind.context import Context
from ssql.compiler.bind.scope import Scope
from ssql.compiler.diagnostics import did_you_mean, fail
from ssql.compiler.dialect import Expression, call_name, type_of
from ssql.compiler.source import Span
from ssql.compiler.spark_functions import (
    FORBIDDEN,
    FOREIGN_WINDOWS,
    SPARK_WINDOWS,
    VOLATILE,
    kinds,
)
from ssql.planner.aggregates import AGGREGATES, OWN_AGGREGATES, Argument
from ssql.planner.logical import Field
from ssql.planner.rules.certain import IN_PYTHON
from ssql.planner.scalar import UNKNOWN_TYPE, Scalar, column, to_sql

# They take a unit of time, which looks like a column, as their first argument.
_UNIT_FIRST = frozenset(
    {"dateadd", "date_add", "datediff", "date_diff", "timestampadd", "timestampdiff"}
)
_UNITS = frozenset(
    "microsecond millisecond second minute hour day dayofyear week month quarter year".split()
)
_WIDER = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
_ONE_COLUMN = ("explode", "explode_outer")  # the generators whose rows have one column
_AROUND_AGGREGATES = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
_NUMERIC = (
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "INTERVAL",
    "STRING",
)


@dataclass(frozen=True, slots=True)
class Bound:
    """A resolved tree, with the text it came from for the sake of positions."""

    expression: Expression
    tree: exp.Expression

    @property
    def span(self) -> Span:
        return self.expression.span

    @property
    def conjuncts(self) -> tuple[Span, ...]:
        return self.expression.conjuncts() if isinstance(self.tree, exp.And) else ()

    def span_of(self, node: exp.Expression) -> Span:
        return self.expression.span_of(node)


class ScalarBinder:
    """Binds expressions over one scope."""

    def __init__(self, context: Context, scope: Scope) -> None:
        self.context = context
        self.scope = scope
        self._functions = context.catalog.functions()
        self._types: dict[exp.Expression, str] = {}
        self._field_types = {(f.relation, f.name): f.type for f in scope.schema}
        # Columns that are not of the scope: this query's own window_start and window_end.
        self.pseudo: dict[str, Field] = {}

    def bind(self, text: ast.Scalar, place: str, *, aggregates: bool = False) -> Bound:
        """Bind the expression of a clause; `place` names the clause in errors."""
        return self.resolve(Expression(text.text, text.span.start), place, aggregates=aggregates)

    def condition(self, text: ast.Scalar, place: str) -> Scalar:
        """Bind a condition: a boolean without aggregates."""
        scalar = self.scalar(self.bind(text, place))
        self.check_condition(scalar, place)
        return scalar

    @staticmethod
    def check_condition(scalar: Scalar, place: str) -> None:
        if scalar.type not in ("BOOLEAN", "VOID", UNKNOWN_TYPE):
            raise fail(
                codes.WRONG_TYPE,
                f"{place} takes a condition, and this is {scalar.type}",
                scalar.span,
                helps=["compare it with something, as in x > 0"],
            )

    def resolve(self, expression: Expression, place: str, *, aggregates: bool = False) -> Bound:
        self._check_nodes(expression, place)
        if not aggregates:
            self._refuse_aggregates(expression, place)
        inside = {id(n) for a in self.aggregates_in(expression.tree) for n in a.walk()}

        def to_bound(node: exp.Expression) -> exp.Expression:
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
                return node
            return self._column(expression, node, in_aggregate=id(node) in inside)

        # Columns are replaced in place: `id` of a copied node would say nothing.
        tree = expression.tree
        for node in list(tree.find_all(exp.Column)):
            bound = to_bound(node)
            if node is tree:
                tree = bound
            elif bound is not node:
                node.replace(bound)
        self._check_arguments(expression, tree)
        return Bound(expression, tree)

    # -------------------------------------------------------------- columns

    def _column(
        self, expression: Expression, node: exp.Column, *, in_aggregate: bool
    ) -> exp.Expression:
        parts = [p.name for p in node.parts]
        span = expression.span_of(node)
        if len(parts) == 1 and not in_aggregate and parts[0].casefold() in self.pseudo:
            field, fields = self.pseudo[parts[0].casefold()], list[str]()
        elif self._is_unit(node):
            return exp.var(node.name)
        else:
            field, fields = self._find(parts, span)
        self._refuse_capture(node, field, span)
        found = column(field.name, field.relation)
        found.this.meta.update(
            start=span.start - expression.base, end=span.end - expression.base - 1
        )
        if not fields:
            return found
        self._check_fields(field, fields, span)
        return exp.Dot.build([found, *(exp.to_identifier(f) for f in fields)])

    @staticmethod
    def _refuse_capture(node: exp.Column, field: Field, span: Span) -> None:
        """A column inside of a lambda whose parameter has the same name."""
        outer = node.find_ancestor(exp.Lambda)
        while outer is not None:
            if any(p.name.casefold() == field.name.casefold() for p in outer.expressions):
                raise fail(
                    codes.BAD_EXPRESSION,
                    f"the parameter {field.name} hides the column {field.name}",
                    span,
                    helps=["give the parameter of the lambda another name"],
                )
            outer = outer.find_ancestor(exp.Lambda)

    @staticmethod
    def _is_unit(node: exp.Column) -> bool:
        call = node.parent
        return (
            isinstance(call, exp.Anonymous)
            and call.name.lower() in _UNIT_FIRST
            and node.arg_key == "expressions"
            and node.index == 0
            and node.name.lower() in _UNITS
        )

    def _find(self, parts: list[str], span: Span) -> tuple[Field, list[str]]:
        """The field that the first part or two name, and the struct fields that follow."""
        head, scope = parts[0], self.scope
        if len(parts) == 1:
            return scope.find(head, span), []
        in_relation = {f.name.casefold() for f in scope.of_relation(head)}
        if parts[1].casefold() in in_relation or (
            scope.has_relation(head) and not scope.has_column(head)
        ):
            return scope.find(parts[1], span, head), parts[2:]
        if scope.has_column(head):
            return scope.find(head, span), parts[1:]
        raise fail(
            codes.UNKNOWN_QUALIFIER,
            f"unknown relation {head}",
            span,
            helps=did_you_mean(head, scope.relations(), "relations in this FROM"),
        )

    @staticmethod
    def _check_fields(field: Field, fields: list[str], span: Span) -> None:
        type, path = exp.DataType.build(field.type, dialect="spark"), field.name
        for name in fields:
            if not type.is_type(exp.DataType.Type.STRUCT):
                if type.is_type(
                    exp.DataType.Type.MAP, exp.DataType.Type.ARRAY, exp.DataType.Type.VARIANT
                ):
                    return  # m.key and list.field are Spark's to read
                raise fail(
                    codes.UNKNOWN_COLUMN,
                    f"{path} is {type.sql('spark')} and has no fields",
                    span,
                    helps=[f"write {path}"],
                )
            known = {f.name.casefold(): f for f in type.expressions}
            if name.casefold() not in known:
                raise fail(
                    codes.UNKNOWN_COLUMN,
                    f"{path} has no field {name}",
                    span,
                    helps=did_you_mean(name, [f.name for f in type.expressions], "fields"),
                )
            type, path = known[name.casefold()].args["kind"], f"{path}.{name}"

    # -------------------------------------------------------------- checks

    def _check_nodes(self, expression: Expression, place: str) -> None:
        for node in expression.tree.walk():
            match node:
                case exp.Query() | exp.Subquery():
                    raise fail(
                        codes.SUBQUERY_IN_EXPRESSION,
                        "a sub-query inside of an expression",
                        expression.span_of(node),
                        helps=[
                            "put it into FROM, as in FROM packets p, (SELECT …) q WHERE p.x = q.x"
                        ],
                    )
                case exp.Window():
                    raise fail(
                        codes.WINDOW_FUNCTION,
                        "OVER cannot run on a stream",
                        expression.span_of(node),
                        helps=[
                            "use a window clause, as in max(len) [RANGE 10 minutes, SLIDE 1 minute]"
                        ],
                    )
                case exp.Placeholder() | exp.Parameter() | exp.SessionParameter():
                    raise fail(
                        codes.PARAMETER,
                        "a parameter has no value here",
                        expression.span_of(node),
                        helps=["write the value itself"],
                    )
                case exp.JSONExtract() | exp.JSONExtractScalar():
                    raise fail(
                        codes.BAD_EXPRESSION,
                        "-> is not an operator of Spark SQL",
                        expression.span_of(node),
                        helps=["use get_json_object(text, '$.path')"],
                    )
                case exp.Star() if not _may_have_star(node.parent):
                    raise fail(
                        codes.MISPLACED_STAR,
                        f"* cannot stand here, in {place}",
                        expression.span_of(node),
                        helps=["name the columns"],
                    )
                case exp.Anonymous() | exp.Func():
                    self._check_function(expression, node)
            check_allowed(expression, node)

    def _check_function(self, expression: Expression, node: exp.Expression) -> None:
        name = call_name(node)
        if name is None:
            return
        span = expression.span_of(node)
        if name in FORBIDDEN:
            raise fail(
                codes.FORBIDDEN_FUNCTION,
                f"{name} calls into the JVM and is refused",
                span,
                helps=["write a CREATE FUNCTION … LANGUAGE PYTHON instead"],
            )
        if name in VOLATILE:
            self.context.diagnostics.warn(
                codes.VOLATILE,
                f"{name}() gives another value each time it runs",
                span,
                helps=["use the stream's own time or columns"],
            )
        if not isinstance(node, exp.Anonymous):
            return
        if name in SPARK_WINDOWS | FOREIGN_WINDOWS:
            raise fail(
                codes.WINDOW_FUNCTION,
                f"{name}() is not how a window is written here",
                span,
                helps=[
                    "use a window clause, as in count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]"
                ],
            )
        kind = "aggregate" if name in OWN_AGGREGATES else kinds().get(name)
        if kind == "window":
            raise fail(
                codes.WINDOW_FUNCTION,
                f"{name} needs OVER, which cannot run on a stream",
                span,
                helps=["use a window clause, as in max(len) [RANGE 10 minutes, SLIDE 1 minute]"],
            )
        if kind == "generator" and (node is not expression.tree or name not in _ONE_COLUMN):
            raise fail(
                codes.MISPLACED_GENERATOR,
                f"{name} makes rows, and stands as a SELECT item alone",
                span,
                helps=["give it a SELECT item of its own, and compute on it in an outer query"],
            )
        if own := self._functions.get(name):
            self.context.functions[own.name] = own
            node.meta[IN_PYTHON] = True
            if len(node.expressions) != len(own.parameters):
                takes = ", ".join(f"{p.name} {p.type}" for p in own.parameters)
                raise fail(
                    codes.WRONG_ARGUMENTS,
                    f"{own.name} takes {len(own.parameters)} arguments, "
                    f"not {len(node.expressions)}",
                    span,
                    helps=[f"it is {own.name}({takes})"],
                )
        elif kind is None or kind == "table":
            spark = [n for n, k in kinds().items() if k != "table"]
            known = [*spark, *OWN_AGGREGATES, *self._functions]
            near = did_you_mean(name, known, "functions")
            raise fail(
                codes.UNKNOWN_FUNCTION,
                f"unknown function {name}",
                span,
                helps=[
                    *(h for h in near if h.startswith("did you")),
                    f"functions of this file: {', '.join(self._functions)}"
                    if self._functions
                    else "it is not one of Spark's, and no CREATE FUNCTION makes it",
                ],
            )

    def _check_arguments(self, expression: Expression, tree: exp.Expression) -> None:
        """Aggregates once more, now that the types of their arguments can be known."""
        for node in tree.find_all(exp.Anonymous):
            known = AGGREGATES.get(node.name.lower())
            if known is None or node.name.lower() in self._functions:
                continue
            arguments = node.expressions
            if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
                arguments = arguments[0].expressions
            if isinstance(node.parent, exp.WithinGroup):
                continue
            if not known.least <= len(arguments) <= known.most:
                raise fail(
                    codes.WRONG_ARGUMENTS,
                    f"{node.name} cannot take {len(arguments)} arguments",
                    expression.span_of(node),
                    helps=[f"it is {known.synopsis}"],
                )
            type = self.type_of(arguments[0])
            wanted = known.argument
            fits = {
                Argument.NUMBER: type.startswith(_NUMERIC),
                Argument.BOOLEAN: type == "BOOLEAN",
                Argument.ORDERED: not type.startswith(("MAP", "VARIANT")),
                Argument.ANY: True,
            }[wanted]
            if not fits and type not in (UNKNOWN_TYPE, "VOID"):
                raise fail(
                    codes.WRONG_ARGUMENTS,
                    f"{node.name} takes {wanted.value}, and this is {type}",
                    expression.span_of(arguments[0]),
                    helps=[f"it is {known.synopsis}"],
                )

    def _refuse_aggregates(self, expression: Expression, place: str) -> None:
        for node in self.aggregates_in(expression.tree):
            helps = {
                "WHERE": "filter groups with HAVING",
                "GROUP BY": "group by columns, and aggregate in SELECT",
            }
            raise fail(
                codes.MISPLACED_AGGREGATE,
                f"an aggregate cannot stand in {place}",
                expression.span_of(node),
                helps=[helps.get(place, "compute it in a sub-query first")],
            )

    # -------------------------------------------------------------- aggregates and types

    def aggregates_in(self, tree: exp.Expression) -> list[exp.Expression]:
        """The aggregate calls of an expression, each with its FILTER and the like around it."""
        roots = []
        for node in tree.find_all(exp.Anonymous):
            name = node.name.lower()
            if name in self._functions:
                continue
            if name in OWN_AGGREGATES or kinds().get(name) == "aggregate":
                root: exp.Expression = node
                while isinstance(root.parent, _AROUND_AGGREGATES) and root.arg_key == "this":
                    root = root.parent
                roots.append(root)
        return roots

    def type_of(self, tree: exp.Expression) -> str:
        if isinstance(tree, exp.Column):
            return self._column_type(tree)
        known = self._types.get(tree)
        if known is None:
            known = self._types[tree] = (
                self._sum_type(tree) or self._aggregate_type(tree) or self._scalar_type(tree)
            )
        return known

    def _sum_type(self, tree: exp.Expression) -> str | None:
        """`x + 1` and the like, which are many and need no second reading."""
        if not isinstance(tree, exp.Add | exp.Sub | exp.Mul):
            return None
        types = [
            "INT" if isinstance(end, exp.Literal) and end.is_int and len(end.name) < 10
            else self._column_type(end) if isinstance(end, exp.Column)
            else UNKNOWN_TYPE
            for end in (tree.left, tree.right)
        ]  # fmt: skip
        if not all(type in _WIDER for type in types):
            return None
        return max(types, key=_WIDER.index)

    def _aggregate_type(self, tree: exp.Expression) -> str | None:
        """The type of an aggregate call that we have a row for."""
        call = tree.this if isinstance(tree, _AROUND_AGGREGATES) else tree
        if not isinstance(call, exp.Anonymous) or isinstance(tree, exp.WithinGroup):
            return None
        function = AGGREGATES.get(call.name.lower())
        if function is None or call.name.lower() in self._functions or not call.expressions:
            return None
        argument = call.expressions[0]
        if isinstance(argument, exp.Distinct):
            argument = argument.expressions[0]
        return function.result(
            UNKNOWN_TYPE if isinstance(argument, exp.Star) else self.type_of(argument)
        )

    def _scalar_type(self, tree: exp.Expression) -> str:
        functions = {name: f.returns for name, f in self._functions.items()}
        for call in tree.find_all(exp.Anonymous):
            if call.name.lower() in OWN_AGGREGATES:
                known = self._aggregate_type(call)
                if known and UNKNOWN_TYPE not in known:
                    functions[call.name.lower()] = known
        return type_of(tree, self._column_type, functions)

    def _column_type(self, node: exp.Column) -> str:
        field = self.pseudo.get(node.name) if not node.table else None
        if field is not None:
            return field.type
        return self._field_types.get((node.table or None, node.name), UNKNOWN_TYPE)

    def scalar(self, bound: Bound) -> Scalar:
        if not isinstance(bound.tree, exp.Column):
            to_sql(bound.tree)  # what is too deep to be written fails here, and is reported
        return Scalar(
            tree=bound.tree,
            type=self.type_of(bound.tree),
            span=bound.span,
            conjuncts=bound.conjuncts,
        )


def _may_have_star(call: exp.Expression | None) -> bool:
    """count(*) and struct(*)"""
    return (
        isinstance(call, exp.Anonymous)
        and call.name.lower() in ("count", "struct")
        and len(call.expressions) == 1
    )
