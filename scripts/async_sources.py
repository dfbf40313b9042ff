"""Read classes from source text: their members, where their names come from, their base classes.

Nothing is imported. :mod:`generate_sync` writes the blocking face from what this module reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


class Untranslatable(Exception):
    """An async class has a shape for which the script has no rule."""


@dataclass(frozen=True)
class Import:
    """Where a name comes from: a name of a module, or with None the module itself."""

    module: str
    name: str | None

    def statement(self, local: str) -> str:
        """Return the import that binds the name locally."""
        given = self.module if self.name is None else self.name
        alias = "" if given.split(".")[0] == local else f" as {local}"
        start = "" if self.name is None else f"from {self.module} "
        return f"{start}import {given}{alias}"


@dataclass(frozen=True)
class Module:
    """The names of one source file."""

    name: str
    imports: Mapping[str, Import]
    defined: Mapping[str, ast.stmt]


class Sources:
    """The modules below a folder, each parsed once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """Return a module; None if it does not lie in this folder."""
        if name not in self._modules:
            stem = self._root.joinpath(*name.split("."))
            files = (stem.with_suffix(".py"), stem / "__init__.py")
            found = next((file for file in files if file.is_file()), None)
            self._modules[name] = None if found is None else _parsed(name, found)
        return self._modules[name]

    def definition(self, module: Module, local: str) -> Import | None:
        """Follow a name to the module that defines it; None if the module does not know it."""
        if local in module.defined:
            return Import(module.name, local)
        given = module.imports.get(local)
        if given is None or given.name is None:
            return given
        there = self.module(given.module)
        return given if there is None else self.definition(there, given.name) or given

    def class_of(self, place: str) -> tuple[Module, ast.ClassDef]:
        """Return a class, given as ``package.module:Class``.

        Raises:
            Untranslatable: If there is none.
        """
        name, _, local = place.partition(":")
        module = self.module(name)
        found = module.defined.get(local) if module is not None else None
        if module is None or not isinstance(found, ast.ClassDef):
            raise Untranslatable(f"the table names {place}, which defines no class")
        return module, found

    def bases(self, module: Module, node: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
        """Return the base classes that lie in this folder.

        Raises:
            Untranslatable: If one of them is given otherwise than by its name.
        """
        for base in node.bases:
            names = (each.id for each in ast.walk(base) if isinstance(each, ast.Name))
            at = self.definition(module, next(names, ""))
            if at is None or self.module(at.module) is None:
                continue
            if not isinstance(base, ast.Name):
                raise Untranslatable(f"{node.name} inherits from {ast.unparse(base)}")
            yield self.class_of(f"{at.module}:{at.name}")


def _parsed(name: str, file: Path) -> Module:
    imports: dict[str, Import] = {}
    defined: dict[str, ast.stmt] = {}
    for node in _statements(ast.parse(file.read_text(encoding="utf-8")).body):
        match node:
            case ast.Import(names=names):
                for each in names:
                    local = each.asname or each.name.split(".")[0]
                    imports[local] = Import(each.name if each.asname else local, None)
            case ast.ImportFrom(module=str(origin), names=names):
                imports |= {a.asname or a.name: Import(origin, a.name) for a in names}
            case ast.ClassDef(name=local) | ast.FunctionDef(name=local):
                defined[local] = node
            case (
                ast.Assign(targets=[ast.Name(id=local)]) | ast.AnnAssign(target=ast.Name(id=local))
            ):
                defined[local] = node
            case _:
                pass
    return Module(name, imports, defined)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Return the statements at the top of a module, those under ``if TYPE_CHECKING`` included."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements(node.body)
        else:
            yield node


Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Member:
    """A method or property of an async class.

    Attributes:
        module: Where it is written, whose names its signature uses.
        parts: Its definitions: the overloads, then the implementation.
    """

    module: Module
    parts: list[Function] = field(default_factory=list)


def own_members(module: Module, node: ast.ClassDef) -> dict[str, Member]:
    """Return the methods and properties that a class itself defines, by name.

    Raises:
        Untranslatable: If it has a public attribute, whose type its methods do not tell.
    """
    members: dict[str, Member] = {}
    for each in node.body:
        if isinstance(each, Function):
            members.setdefault(each.name, Member(module)).parts.append(each)
    for name in _attributes(node):
        if not name.startswith("_"):
            raise Untranslatable(f"{node.name}.{name} must be a property")
    return members


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    """Return the attributes of a class, and those that its methods set."""
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case _:
                pass
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name
            case _:
                pass


def decorators(node: Function) -> set[str]:
    """Return the names of a method's decorators."""
    plain = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return {each.attr if isinstance(each, ast.Attribute) else ast.unparse(each) for each in plain}


def yields(node: ast.AST) -> bool:
    """Whether a function is a generator."""
    return any(
        isinstance(each, ast.Yield)
        or (not isinstance(each, Function | ast.Lambda | ast.ClassDef) and yields(each))
        for each in ast.iter_child_nodes(node)
    )
