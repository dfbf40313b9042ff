"""Write the blocking face, the generated modules of ``simonides.api.sync``, from the async classes.

Each class in FACES gets a blocking class with the same methods, signatures and docstrings. The body
of a method is one call, which drives the coroutine of the async method to its end. The script reads
the source text and imports nothing of the package.

    python scripts/generate_sync.py            write the files
    python scripts/generate_sync.py --check    fail if a file is not current

A shape that the script cannot translate is an error that names the method.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from async_sources import (
    Function,
    Import,
    Member,
    Module,
    Sources,
    Untranslatable,
    decorators,
    own_members,
    yields,
)


@dataclass(frozen=True)
class Face:
    """One class of the blocking face.

    Attributes:
        of: The async class, ``package.module:Class``.
        name: What the blocking class is called.
        handle: The attribute of the blocking class that holds the async object.
        base: A class written by hand, ``package.module:Class``, from which the blocking one
            inherits. It has ``__init__``; what it defines is not generated.
        file: The module of ``simonides.api.sync`` that it is written to.
    """

    of: str
    name: str
    handle: str
    base: str | None = None
    file: str = ""

    @property
    def async_name(self) -> str:
        """The name of the async class, without its module."""
        return self.of.partition(":")[2]


FACES = (
    Face("simonides.api.agent.run:AsyncAgent", "Agent", "_agent", file="agent"),
    Face(
        "simonides.engine.prompting.triggers:AsyncTriggers",
        "Triggers",
        "_triggers",
        file="prompting",
    ),
    Face(
        "simonides.api.prompting:AsyncPrompting",
        "Prompting",
        "_prompting",
        base="simonides.api.sync.contexts:PromptingContext",
        file="prompting",
    ),
    Face("simonides.api.tools:AsyncTools", "Tools", "_tools", file="tools"),
    Face("simonides.api.groups.privacy:AsyncPrivacy", "Privacy", "_privacy", file="personal"),
    Face("simonides.api.groups.data:AsyncData", "Data", "_data", file="personal"),
    Face("simonides.api.groups.pending:AsyncPending", "Pending", "_pending", file="review"),
    Face("simonides.api.groups.receipts:AsyncReceipts", "Receipts", "_receipts", file="review"),
    Face("simonides.api.groups.audit:AsyncAudit", "Audit", "_audit", file="review"),
    Face(
        "simonides.api.groups.maintenance:AsyncMaintenance",
        "Maintenance",
        "_maintenance",
        file="maintenance",
    ),
    Face("simonides.api.memory:AsyncMemory", "Memory", "_memory", file="memory"),
    Face("simonides.api.session:AsyncSession", "Session", "_memory", file="session"),
    Face("simonides.api.task:AsyncTask", "Task", "_task", file="session"),
    Face("simonides.api.admin:AsyncAdmin", "Admin", "_admin", file="store"),
    Face(
        "simonides.api.store:AsyncStore",
        "Store",
        "_store",
        base="simonides.api.sync.contexts:StoreContext",
        file="store",
    ),
)
"""A class that inherits from another one of the table comes after it, and so do later files."""

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = "simonides.api.sync"
TARGET = SOURCE / PACKAGE.replace(".", "/")
DRIVER = ("simonides.api.sync.driver", "Driver")

MODEL_MARK = "waits_for_model"
BACKGROUND_MARK = "waits_for_background_work"
KNOWN_DECORATORS = {
    *("property", "classmethod", "staticmethod", "overload", "override"),
    *(MODEL_MARK, BACKGROUND_MARK),
}
"""Any other may change what a call takes or returns."""

ENTERING = {"__aenter__": "__enter__", "__aexit__": "__exit__"}
DELEGATED = {"__repr__", "__str__", "__len__", "__bool__", "__contains__", "__getitem__"}
"""Special methods that ask the async object. Of the others, those that make it are left out."""
LEFT_OUT = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__"}

ITERATORS = {"AsyncIterator", "AsyncGenerator"}
WAITING = {"Awaitable", "Coroutine"}
"""Types that mean nothing to a caller without an event loop."""

SEQUENCES = {"Sequence", "Collection", "Iterable"}

REWORDED = (
    (r"\b([Aa])n async (?=context manager)", r"\1 "),
    (r"\b([Aa]n) async (?=iterator)", r"\1 "),
    (r"\basync (?=with\b|for\b|def\b|context manager)", ""),
    (r"\bawait (?=[\w(])", ""),
    (r"\baopen\b", "open"),
)
"""What a docstring says differently to callers who do not await."""

HEADER = '''"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

'''

SUPPLIED = {
    "Iterator": Import("collections.abc", "Iterator"),
    "Self": Import("typing", "Self"),
}
"""Names that a blocking signature may have and the async one has not."""


class Imports:
    """The imports that the generated file needs."""

    def __init__(self, sources: Sources, taken: Iterable[str]) -> None:
        self._sources = sources
        self._taken = set(taken)
        self._found: dict[str, Import] = {}
        self._typed: dict[str, Import] = {}

    def add(self, module: Module, local: str) -> None:
        """Import a name as a module knows it.

        Raises:
            Untranslatable: If the module does not know it, or another module means another thing
                by the same name.
        """
        here = Import(module.name, local)
        self.need(local, here if local in module.defined else module.imports.get(local))

    def need(self, local: str, given: Import | None) -> None:
        """Import a name from a place; raises as :meth:`add` does."""
        if given is None:
            raise Untranslatable(f"{local} is neither imported nor defined")
        if local in self._taken:
            raise Untranslatable(f"{local} of {given.module} has the name of a blocking class")
        known = self._found.get(local, given)
        if self._meant(known) != self._meant(given):
            raise Untranslatable(f"{local} is {known.module}'s here and {given.module}'s there")
        self._found[local] = min(known, given, key=lambda each: (each.module, each.name or ""))

    def _meant(self, given: Import) -> Import | None:
        there = self._sources.module(given.module) if given.name else None
        found = None if there is None else self._sources.definition(there, given.name or "")
        return found or given

    def need_face(self, face: Face, *, is_later: bool) -> None:
        """Import the blocking class of another file: for types only if that imports this one."""
        found = self._typed if is_later else self._found
        found[face.name] = Import(f"{PACKAGE}.{face.file}", face.name)

    def __str__(self) -> str:
        if self._typed:
            self._found["TYPE_CHECKING"] = Import("typing", "TYPE_CHECKING")
        lines = [each.statement(name) for name, each in sorted(self._found.items())]
        typed = [f"    {each.statement(name)}" for name, each in sorted(self._typed.items())]
        return "\n".join([*lines, *(["", "if TYPE_CHECKING:", *typed] if typed else [])]) + "\n"


class Translator(ast.NodeTransformer):
    """Turns the names in a signature of one module into those of the generated file."""

    def __init__(self, writer: Writer, own: Face, module: Module, hidden: Iterable[str]) -> None:
        """Begin.

        Args:
            writer: Whose table and imports are used.
            own: The face whose method this is.
            module: Where the method is written.
            hidden: The members of the class.
        """
        self._writer = writer
        self._own = own
        self._module = module
        self._hidden = set(hidden)
        self.late: set[Face] = set()

    def face(self, node: ast.expr) -> Face | None:
        """Return the face that an async class has; None for every other type."""
        if not isinstance(node, ast.Name):
            return None
        at = self._writer.sources.definition(self._module, node.id)
        return None if at is None else self._writer.faces.get(f"{at.module}:{at.name}")

    def has_face(self, node: ast.expr) -> bool:
        """Whether a type speaks of an async class, or of the class that it stands in."""
        names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        return any(name.id == "Self" or self.face(name) is not None for name in names)

    def text(self, node: ast.expr | ast.arguments) -> str:
        """Return a type or the arguments of a method as they stand in the generated file."""
        return ast.unparse(self.visit(deepcopy(node)))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Translate one name, and import it."""
        face = self.face(node)
        if face is not None:
            self._writer.refer(face)
            return ast.Name(face.name)
        known = node.id in self._module.imports or node.id in self._module.defined
        if node.id in WAITING or node.id.startswith("Async"):
            raise Untranslatable(f"speaks of {node.id}, which has no blocking counterpart here")
        if node.id in SUPPLIED and not known:
            self._writer.imports.need(node.id, SUPPLIED[node.id])
        elif known or not hasattr(builtins, node.id):
            self._writer.imports.add(self._module, node.id)
        elif node.id in self._hidden:
            # A method `list` hides the type `list` from the annotations of its class.
            self._writer.imports.need("builtins", Import("builtins", None))
            return ast.Attribute(ast.Name("builtins"), node.id)
        return node

    def wrapped(self, kind: ast.expr, value: str) -> str:
        """Return an expression that turns async objects in a result into their blocking ones."""
        if not self.has_face(kind):
            return value
        match kind:
            case ast.Name(id=name):
                return self._built(name, self.face(kind) or self._own, value)
            case ast.BinOp(left=given, op=ast.BitOr(), right=ast.Constant(value=None)):
                return f"None if (found := {value}) is None else {self.wrapped(given, 'found')}"
            case ast.Subscript(value=ast.Name(id=outer), slice=inner):
                return self._each(outer, inner, value)
            case _:
                raise Untranslatable(f"returns {ast.unparse(kind)}")

    def _built(self, name: str, face: Face, value: str) -> str:
        if face.base is not None:
            raise Untranslatable(f"returns {name}, which has a constructor of its own")
        if name == "Self":
            return f"type(self)({value}, self._driver)"
        if self._writer.refer(face):
            self.late.add(face)
        return f"{face.name}({value}, self._driver)"

    def _each(self, outer: str, inner: ast.expr, value: str) -> str:
        match outer, inner:
            case "tuple", ast.Tuple(elts=[each, ast.Constant(value=builtins.Ellipsis)]):
                return f"tuple({self.wrapped(each, 'one')} for one in {value})"
            case "list", each:
                return f"[{self.wrapped(each, 'one')} for one in {value}]"
            case "Iterator", each:
                return f"({self.wrapped(each, 'one')} for one in {value})"
            case "Page", each:
                # The map of a page keeps its cursor.
                return f"{value}.map(lambda one: {self.wrapped(each, 'one')})"
            case _ if outer in SEQUENCES:
                return f"tuple({self.wrapped(inner, 'one')} for one in {value})"
            case _:
                raise Untranslatable(f"returns {outer}[{ast.unparse(inner)}]")

    def unwrapped(self, argument: ast.arg) -> str:
        """Return an argument as the async method takes it."""
        name, kind = argument.arg, argument.annotation
        if kind is None:
            raise Untranslatable(f"has no type for {name}")
        if not self.has_face(kind):
            return name
        face = self.face(kind)
        if face is not None:
            return f"{name}.{face.handle}"
        match kind:
            case ast.BinOp(left=given, op=ast.BitOr(), right=ast.Constant(value=None)):
                face = self.face(given)
                if face is not None:
                    return f"None if {name} is None else {name}.{face.handle}"
            case ast.Subscript(value=ast.Name(id=outer), slice=each):
                face = self.face(each)
                if face is not None and outer in {"list", *SEQUENCES}:
                    return f"[one.{face.handle} for one in {name}]"
            case _:
                pass
        raise Untranslatable(f"takes {ast.unparse(kind)}")


class Writer:
    """Writes the blocking classes of one file of a table."""

    def __init__(
        self, sources: Sources, faces: Sequence[Face], driver: tuple[str, str], file: str
    ) -> None:
        self.sources = sources
        self.faces = {face.of: face for face in faces}
        self.imports = Imports(sources, [face.name for face in faces])
        self._driver = driver
        self._own = [face for face in faces if face.file == file]
        self._later = set(faces[faces.index(self._own[-1]) :]) - set(self._own)

    def refer(self, face: Face) -> bool:
        """Import a blocking class; returns whether a body must import it itself."""
        is_later = face in self._later
        if face not in self._own:
            self.imports.need_face(face, is_later=is_later)
        return is_later

    def text(self) -> str:
        """Return the generated file, before it is formatted.

        Raises:
            Untranslatable: If there is no rule for something.
        """
        classes = [self._class(face) for face in self._own]
        return "\n\n".join([f"{HEADER}{self.imports}", *classes])

    def _class(self, face: Face) -> str:
        module, node = self.sources.class_of(face.of)
        members, parent = self._members(module, node)
        by_hand = self._by_hand(face)
        name, _, base = (face.base or "").rpartition(":")
        if base:
            self.imports.need(base, Import(name, base))
        if parent is not None:
            self.refer(parent)
        bases = ", ".join([each for each in (base, parent and parent.name) if each])
        lines = [f"class {face.name}({bases}):" if bases else f"class {face.name}:"]
        lines += self.docstring(node)
        if "__init__" not in by_hand:
            lines += self._constructor(face, parent)
        for local, member in members.items():
            if ENTERING.get(local, local) not in by_hand:
                lines += Method(self, face, member, hidden=members).lines()
        return "\n".join(lines) + "\n"

    def _members(self, module: Module, node: ast.ClassDef) -> tuple[dict[str, Member], Face | None]:
        """Return what a class has, in its order of method resolution, and its base in the table.

        What comes from that base is left to inheritance.
        """
        members, parent = own_members(module, node), None
        for there, base in self.sources.bases(module, node):
            face = self.faces.get(f"{there.name}:{base.name}")
            found, above = self._members(there, base)
            if parent is not None and (face or above) is not None:
                raise Untranslatable(f"{node.name} has two bases in the table")
            parent = parent or face or above
            if face is None:
                members = {**members, **{n: m for n, m in found.items() if n not in members}}
        return {n: m for n, m in members.items() if _is_shown(n, node)}, parent

    def _by_hand(self, face: Face) -> set[str]:
        if face.base is None:
            return set()
        _, base = self.sources.class_of(face.base)
        return {each.name for each in base.body if isinstance(each, Function)}

    def _constructor(self, face: Face, parent: Face | None) -> list[str]:
        where, _, local = face.of.partition(":")
        self.imports.need(local, Import(where, local))
        self.imports.need(self._driver[1], Import(*self._driver))
        given = face.handle.lstrip("_")
        lines = [f"def __init__(self, {given}: {local}, driver: {self._driver[1]}) -> None:"]
        if parent is None:
            lines += [f"    self.{face.handle} = {given}", "    self._driver = driver"]
        elif parent.handle == face.handle:
            lines = [f"{face.handle}: {local}", "", *lines]
            lines += [f"    super().__init__({given}, driver)"]
        else:
            raise Untranslatable(f"{face.name} must have the handle of {parent.name}")
        return ["", *(f"    {line}".rstrip() for line in lines)]

    def docstring(self, node: Function | ast.ClassDef) -> list[str]:
        """Return the docstring of a class or method as the blocking face says it."""
        text = ast.get_docstring(node, clean=False)
        if text is None:
            return []
        indent = "    " if isinstance(node, ast.ClassDef) else "        "
        adapted = self._adapted(text, node.name).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        return [f'{indent}"""{adapted}"""']

    def _adapted(self, text: str, name: str) -> str:
        for face in self.faces.values():
            text = re.sub(rf"\bsimonides\.{face.async_name}\b", f"simonides.{face.name}", text)
            home = f"simonides.api.sync.{face.name}"
            text = re.sub(rf"\b(?:\w+\.)+{face.async_name}\b", home, text)
            text = re.sub(rf"\b{face.async_name}\b", face.name, text)
        for pattern, said in REWORDED:
            text = re.sub(pattern, said, text)
        left = re.search(r"\b([Aa]wait(s|ed|ing)?|[Aa]sync\w*|aopen)\b", text)
        if left is not None:
            raise Untranslatable(
                f"the docstring of {name} says {left[0]!r} to a caller that blocks"
            )
        return text


def _is_shown(name: str, node: ast.ClassDef) -> bool:
    if not name.startswith("_"):
        return True
    is_special = name.startswith("__") and name.endswith("__")
    if is_special and name not in {*ENTERING, *DELEGATED, *LEFT_OUT}:
        raise Untranslatable(f"{node.name}.{name} has no rule")
    return name in {*ENTERING, *DELEGATED}


class Method:
    """One method or property of a blocking class."""

    def __init__(
        self, writer: Writer, face: Face, member: Member, *, hidden: Iterable[str]
    ) -> None:
        self._writer = writer
        self._face = face
        self._parts = member.parts
        self._names = Translator(writer, face, member.module, hidden)

    def lines(self) -> list[str]:
        """Return its source.

        Raises:
            Untranslatable: If there is no rule for it.
        """
        try:
            return [line for node in self._parts for line in ("", *self._part(node))]
        except Untranslatable as error:
            name = f"{self._face.async_name}.{self._parts[0].name}"
            raise Untranslatable(f"{name}: {error}") from error

    def _part(self, node: Function) -> list[str]:
        marks = decorators(node)
        if marks - KNOWN_DECORATORS:
            raise Untranslatable(f"is decorated by {', '.join(sorted(marks - KNOWN_DECORATORS))}")
        if node.name in ENTERING:
            return self._context(node, marks)
        kept = [f"    @{each}" for each in ("classmethod", "staticmethod") if each in marks]
        if "property" in marks:
            kept = ["    @property"]
        elif "overload" in marks:
            self._writer.imports.need("overload", Import("typing", "overload"))
            return ["    @overload", self._signature(node, self._returned(node)), "        ..."]
        value, kind = self._value(node, marks)
        body = self._names.wrapped(kind, value)
        is_nothing = isinstance(kind, ast.Constant) and kind.value is None
        lines = [*kept, self._signature(node, kind), *self._writer.docstring(node)]
        late = sorted(self._names.late, key=lambda face: face.name)
        lines += [f"        from {PACKAGE}.{face.file} import {face.name}" for face in late]
        if BACKGROUND_MARK in marks:
            lines += ["        self._driver.flush()"]
        return [*lines, f"        {body}" if is_nothing else f"        return {body}"]

    def _returned(self, node: Function) -> ast.expr:
        if node.returns is None:
            raise Untranslatable("says no type for what it returns")
        return node.returns

    def _signature(self, node: Function, kind: ast.expr, name: str | None = None) -> str:
        taken, returns = self._names.text(node.args), self._names.text(kind)
        return f"    def {name or node.name}({taken}) -> {returns}:"

    def _value(self, node: Function, marks: set[str]) -> tuple[str, ast.expr]:
        """Return the expression that a method returns before it is wrapped, and its type."""
        kind, call = self._returned(node), self._call(node, marks)
        asks = ", asks_model=True" if MODEL_MARK in marks else ""
        is_async = isinstance(node, ast.AsyncFunctionDef)
        each = _yielded(kind)
        if marks & {"classmethod", "staticmethod"} and (is_async or self._names.has_face(kind)):
            raise Untranslatable("needs a driver, which a class does not have")
        if each is not None:
            made = f"self._driver.run({call}{asks})" if is_async and not yields(node) else call
            iterator = ast.Subscript(ast.Name("Iterator"), each)
            return f"self._driver.iterate({made}{asks})", iterator
        if is_async:
            return f"self._driver.run({call}{asks})", kind
        if marks & {MODEL_MARK, BACKGROUND_MARK}:
            raise Untranslatable("is marked to wait, and does not")
        return call, kind

    def _call(self, node: Function, marks: set[str]) -> str:
        handle = f"self.{self._face.handle}"
        if "property" in marks:
            return f"{handle}.{node.name}"
        if marks & {"classmethod", "staticmethod"}:
            where, _, handle = self._face.of.partition(":")
            self._writer.imports.need(handle, Import(where, handle))
        passed = self._passed(node.args, skipped=0 if "staticmethod" in marks else 1)
        return f"{handle}.{node.name}({passed})"

    def _passed(self, given: ast.arguments, *, skipped: int = 1) -> str:
        placed = [*given.posonlyargs, *given.args][skipped:]
        passed = [self._names.unwrapped(each) for each in placed]
        if given.vararg is not None:
            passed.append(f"*{self._same(given.vararg)}")
        passed += [f"{each.arg}={self._names.unwrapped(each)}" for each in given.kwonlyargs]
        if given.kwarg is not None:
            passed.append(f"**{self._same(given.kwarg)}")
        return ", ".join(passed)

    def _same(self, argument: ast.arg) -> str:
        name = self._names.unwrapped(argument)
        if name != argument.arg:
            raise Untranslatable(f"takes any number of blocking objects as {name}")
        return name

    def _context(self, node: Function, marks: set[str]) -> list[str]:
        """Return ``__enter__`` or ``__exit__``, of which the first returns the blocking object."""
        asks = ", asks_model=True" if MODEL_MARK in marks else ""
        call = f"self.{self._face.handle}.{node.name}({self._passed(node.args)})"
        run = f"self._driver.run({call}{asks})"
        kind = self._returned(node)
        if node.name == "__aexit__":
            is_nothing = isinstance(kind, ast.Constant) and kind.value is None
            body = [run if is_nothing else f"return {run}"]
        elif self._names.face(kind) == self._face or ast.unparse(kind) == "Self":
            body, kind = [run, "return self"], ast.Name("Self")
        else:
            raise Untranslatable("must return the object that is entered")
        lines = [
            self._signature(node, kind, ENTERING[node.name]),
            *self._writer.docstring(node),
        ]
        return [*lines, *(f"        {line}" for line in body)]


def _yielded(kind: ast.expr) -> ast.expr | None:
    """Return what an async iterator yields; None if the type is none."""
    match kind:
        case ast.Subscript(value=ast.Name(id=outer), slice=inner) if outer in ITERATORS:
            return inner.elts[0] if isinstance(inner, ast.Tuple) else inner
        case _:
            return None


def generate(
    sources: Sources, faces: Sequence[Face], driver: tuple[str, str] = DRIVER, file: str = ""
) -> str:
    """Return a generated file as ruff formats it."""
    raw = Writer(sources, faces, driver, file).text()
    sort = ["check", "--select", "I", "--fix-only", "--quiet"]
    return _ruff(["format"], _ruff(sort, raw))


def _ruff(command: Sequence[str], text: str) -> str:
    name = str(TARGET / "generated.py")
    given = [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"]
    done = subprocess.run(given, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise Untranslatable(f"ruff does not take the generated text: {done.stderr.strip()}")
    return done.stdout


def difference(present: str, wanted: str) -> str | None:
    """Return the first line in which the file differs from what it must be; None if in none."""
    lines = zip_longest(present.splitlines(), wanted.splitlines())
    for number, (is_there, is_wanted) in enumerate(lines, start=1):
        if is_there != is_wanted:
            shown = ("nothing" if line is None else repr(line) for line in (is_there, is_wanted))
            return "line {}: {} is there, {} must be".format(number, *shown)
    return None if present == wanted else "the end of the file"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files or check them; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    given = parser.parse_args(arguments)
    sources, stale = Sources(SOURCE), 0
    for name in dict.fromkeys(face.file for face in FACES):
        wanted, file = generate(sources, FACES, file=name), TARGET / f"{name}.py"
        if not given.check:
            file.write_text(wanted, encoding="utf-8")
            continue
        present = file.read_text(encoding="utf-8") if file.is_file() else ""
        found = difference(present, wanted)
        if found is not None:
            where, run = file.relative_to(ROOT), "python scripts/generate_sync.py"
            print(f"{where} is not current, {found}. Run: {run}", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Untranslatable as error:
        sys.exit(str(error))
