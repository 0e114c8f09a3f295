"""Operators as text in the emitted module, for machines that have no ssql.

Their modules are read, and never imported: compiling must not need Spark.
"""

from __future__ import annotations

import ast
import symtable
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ssql.compiler.emit.python import INDENT, comment, fits

_PACKAGE = "ssql"
_ROOT = Path(__file__).parents[2]
INLINED_WIDTH = 100  # of lines, as ssql is formatted
FUTURE = "from __future__ import annotations"


@dataclass(frozen=True, slots=True)
class Import:
    """One name: `from module import name as alias`; without a name, the module itself."""

    module: str
    name: str
    alias: str

    @property
    def binds(self) -> str:
        return self.alias or self.name or self.module.split(".")[0]

    @property
    def is_ours(self) -> bool:
        return self.module.split(".")[0] == _PACKAGE


@dataclass(frozen=True, slots=True)
class SourceModule:
    """A module of ssql, taken apart."""

    name: str
    about: str  # the first paragraph of its docstring
    imports: tuple[Import, ...]  # those that it uses
    needs: tuple[str, ...]  # the modules of ssql that it imports from
    body: str  # everything else, as it is written
    names: frozenset[str]  # that the body defines

    def text(self) -> str:
        head = "\n".join(comment(f"---- {self.name.rpartition('.')[2]}: {self.about}"))
        first = ast.parse(self.body).body[0]
        begins_with_block = isinstance(first, ast.FunctionDef | ast.ClassDef)
        gap = "\n\n\n" if begins_with_block else "\n\n"
        return f"{head}{gap}{self.body}"


@dataclass(frozen=True, slots=True)
class Inlined:
    """The modules of ssql that an emitted module has inside, in an order to be executed in."""

    modules: tuple[SourceModule, ...]

    @property
    def names(self) -> frozenset[str]:
        """What the emitter may not call anything of its own."""
        imported = frozenset(i.binds for i in self.imports)
        return imported.union(*(m.names for m in self.modules))

    @property
    def imports(self) -> tuple[Import, ...]:
        return tuple(dict.fromkeys(i for m in self.modules for i in m.imports))

    def text(self) -> str:
        return "\n\n\n".join(m.text() for m in self.modules)


def inline(import_lines: Iterable[str]) -> Inlined:
    """What these imports from ssql stand for, and all that it needs in turn."""
    found: dict[str, SourceModule] = {}

    def add(name: str) -> None:
        if name not in found:
            module = read_module(name)
            for other in module.needs:
                add(other)
            found[name] = module

    for item in imports_in(import_lines):
        assert item.is_ours, item.module
        add(item.module)
    return Inlined(tuple(found.values()))


# ------------------------------------------------------------------ modules


def read_module(name: str) -> SourceModule:
    text = _path(name).read_text(encoding="utf-8")
    lines = text.split("\n")  # as Python counts them
    tree = ast.parse(text)
    imports: list[Import] = []
    for at, node in enumerate(tree.body):
        if at == 0 and ast.get_docstring(tree) is not None:
            pass
        elif (found := _imports_of(node)) is not None:
            imports += found
        else:
            continue
        _blank(lines, node)
    body = "\n".join(line for line in lines if line != _GONE).strip("\n")
    ours = [i for i in imports if i.is_ours]
    assert all(i.name and not i.alias for i in ours), f"{name} imports under other names"
    used = {n.id for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name)}
    return SourceModule(
        name=name,
        about=(ast.get_docstring(tree) or "").split("\n\n")[0],
        imports=tuple(i for i in imports if not i.is_ours and i.binds in used),
        needs=tuple(dict.fromkeys(i.module for i in ours)),
        body=body,
        names=_defined(body, name),
    )


def _path(module: str) -> Path:
    package, *parts = module.split(".")
    assert package == _PACKAGE
    return _ROOT.joinpath(*parts).with_suffix(".py")


_GONE = "\0"  # in no source


def _blank(lines: list[str], node: ast.stmt) -> None:
    """Take a statement out, with the empty lines after it."""
    end = node.end_lineno or node.lineno
    while end < len(lines) and not lines[end].strip():
        end += 1
    lines[node.lineno - 1 : end] = [_GONE] * (end - node.lineno + 1)


def _imports_of(node: ast.stmt) -> list[Import] | None:
    """The imports of a statement that is nothing else. Those for type checkers count as well:
    annotations name them."""
    match node:
        case ast.ImportFrom(module="__future__"):
            return []
        case ast.ImportFrom(module=str(module), level=0):
            return [Import(module, a.name, a.asname or "") for a in node.names]
        case ast.Import():
            return [Import(a.name, "", a.asname or "") for a in node.names]
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=[]):
            inner = [_imports_of(n) for n in node.body]
            return [i for found in inner for i in found or ()]
    return None


def _defined(body: str, name: str) -> frozenset[str]:
    table = symtable.symtable(body, name, "exec")
    return frozenset(s.get_name() for s in table.get_symbols() if s.is_assigned())


# ------------------------------------------------------------------ imports


def imports_in(lines: Iterable[str]) -> list[Import]:
    return [i for node in ast.parse("\n".join(lines)).body for i in _imports_of(node) or ()]


def import_block(imports: Iterable[Import]) -> Iterator[str]:
    """Each import once, in isort's order, below that of annotations."""
    yield FUTURE
    distinct = set(imports)
    for is_third_party in (False, True):
        section = [i for i in distinct if _is_third_party(i) == is_third_party]
        if section:
            yield ""
            yield from _section(section)


def _is_third_party(item: Import) -> bool:
    return item.module.split(".")[0] not in sys.stdlib_module_names


def _section(imports: list[Import]) -> Iterator[str]:
    for item in sorted((i for i in imports if not i.name), key=_place):
        yield f"import {item.module}{_as(item)}"
    # An alias has a line of its own.
    groups: dict[tuple[str, str, str], list[Import]] = {}
    for item in sorted((i for i in imports if i.name), key=_place):
        apart = (item.name, item.alias) if item.alias else ("", "")
        groups.setdefault((item.module, *apart), []).append(item)
    for group in groups.values():
        yield from _from_lines(group)


def _place(item: Import) -> tuple[str, str, int, str, str, str]:
    """Constants, then classes, then the rest, as isort has it."""
    kind = 0 if item.name.isupper() and len(item.name) > 1 else 1 if item.name[:1].isupper() else 2
    name = item.name
    return item.module.lower(), item.module, kind, name.lower(), name, item.alias


def _from_lines(group: list[Import]) -> list[str]:
    start = f"from {group[0].module} import "
    names = [f"{i.name}{_as(i)}" for i in group]
    line = f"{start}{', '.join(names)}"
    if fits(line):
        return [line]
    return [f"{start}(", *(f"{INDENT}{n}," for n in names), ")"]


def _as(item: Import) -> str:
    return f" as {item.alias}" if item.alias else ""
