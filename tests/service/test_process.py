"""What simonides costs and touches as a process: imports, sockets, files, names, signatures."""

import importlib.metadata
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, get_type_hints

import pytest

import simonides
from simonides import ports, testing
from simonides.api import sync as blocking
from simonides.api.store import AsyncStore
from simonides.api.sync.contexts import StoreContext

HEAVY = (
    "pydantic",
    "pydantic_settings",
    "typer",
    "numpy",
    "apsw",
    "re2",
    "Stemmer",
    "openai",
    "yaml",
    "phonenumbers",
    "stdnum",
    "rich",
)

# Events of the interpreter that reach out, and where a write may go.
GUARD = """
import os, sys
allowed = tuple(os.path.realpath(place) for place in sys.argv[1].split(os.pathsep))
broken = []
def watch(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__",):
        broken.append((event, repr(arguments)))
    elif event == "socket.__new__":
        broken.append((event, ""))
    elif event in ("subprocess.Popen", "os.system", "os.posix_spawn", "urllib.Request"):
        broken.append((event, repr(arguments)))
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        path, mode, flags = arguments
        if set(mode or "") & set("wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR):
            check(event, path)
    elif event in ("os.mkdir", "os.remove", "os.rename", "os.symlink", "os.link", "os.truncate"):
        check(event, arguments[-1] if event in ("os.symlink", "os.link") else arguments[0])
def check(event, path):
    if not isinstance(path, (str, bytes)):
        return
    where = os.path.realpath(os.fsdecode(path))
    if where != os.devnull and not where.startswith(allowed):
        broken.append((event, where))
"""
WORK = """
import simonides
said = ("For future incident updates, write in English, keep replies concise, use email as the "
        "primary channel, and remember that I am enterprise tier.")
with simonides.open(store) as opened_store:
    memory = opened_store.memory(user="ana").session("s1")
    opened_store.agent(memory).capture(said)
    memory.remember("Deploy to us-east-1", key="deploy_region")
    memory.correct("deploy_region", "eu-west-1")
    opened_store.admin(actor="root").grant("ana", "org_write")
    memory.promote(memory.history("deploy_region")[-1].id, "org")
with simonides.open(store) as opened_store:
    memory = opened_store.memory(user="ana").session("s2")
    answer = opened_store.agent(memory).answer("Draft an update on the payment incident")
    assert answer.status == "ok", answer
    assert len(memory.recall("where do I deploy?"))
    memory.forget("deploy_region")
    assert opened_store.admin(actor="root").check_audit().ok
"""


def python(code: str, *arguments: str, **environment: str) -> str:
    """Run code in an interpreter of its own and return what it printed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIMONIDES", "OPENAI"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(code), *arguments],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_nothing_heavy_and_reaches_for_nothing() -> None:
    code = GUARD + dedent(
        """
        import json
        before = set(sys.modules)
        sys.addaudithook(watch)
        import simonides
        simonides.SimonidesError, simonides.Draft("x"), simonides.__version__
        print(json.dumps([sorted(set(sys.modules) - before), broken]))
        """
    )

    loaded, broken = json.loads(python(code, os.pathsep, PYTHONDONTWRITEBYTECODE="1"))

    assert broken == []
    roots = {name.partition(".")[0] for name in loaded}
    assert roots.isdisjoint(HEAVY)
    assert roots.isdisjoint({"socket", "ssl", "asyncio", "sqlite3", "urllib", "http"})


def test_help_imports_nothing_that_it_does_not_need() -> None:
    code = """
        import json, sys
        sys.argv = ["simonides", "--help"]
        from simonides.cli import main
        try:
            main()
        except SystemExit:
            print(json.dumps(sorted(sys.modules)))
    """

    loaded = json.loads(python(dedent(code)).splitlines()[-1])

    roots = {name.partition(".")[0] for name in loaded}
    assert roots.isdisjoint(set(HEAVY) - {"typer"})
    assert {"simonides.api.open.assemble", "simonides.settings", "simonides.transfer"}.isdisjoint(
        loaded
    )


def test_a_whole_life_opens_no_socket_and_writes_to_its_store_only(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    store = tmp_path / "store" / "memory.db"
    store.parent.mkdir()
    code = GUARD + "sys.addaudithook(watch)\nstore = sys.argv[2]\n" + WORK + "print(broken)"

    printed = python(
        code,
        str(store.parent),
        str(store),
        HOME=str(tmp_path / "home"),
        PYTHONDONTWRITEBYTECODE="1",
    )

    assert printed.strip() == "[]"
    assert list((tmp_path / "home").iterdir()) == []
    # SQLite writes past the interpreter: what is on disk afterwards is the store and its turn file.
    assert {path.name.partition(".")[0] for path in store.parent.iterdir()} == {"memory"}


def test_incognito_writes_nothing_at_all(tmp_path: Path) -> None:
    code = (
        GUARD
        + "sys.addaudithook(watch)\nimport simonides\n"
        + "with simonides.open(sys.argv[2], mode='incognito') as opened_store:\n"
        + "    opened_store.memory(user='ana').remember('Secret')\n"
        + "    assert len(opened_store.memory(user='ana').recall('secret')) == 1\n"
        + "print(broken)"
    )
    printed = python(
        code,
        str(tmp_path / "x"),
        str(tmp_path / "m.db"),
        HOME=str(tmp_path),
        PYTHONDONTWRITEBYTECODE="1",
    )

    assert printed.strip() == "[]"
    assert list(tmp_path.iterdir()) == []


def test_the_async_face_opens_no_socket_but_the_loops_own(tmp_path: Path) -> None:
    # An event loop wakes itself over a socket pair; nothing is ever connected or bound.
    code = GUARD + dedent(
        """
        import asyncio, simonides
        sys.addaudithook(watch)
        async def life():
            async with simonides.aopen(sys.argv[2]) as opened_store:
                memory = opened_store.memory(user="ana")
                await memory.remember("Use email", key="channel")
                return len(await memory.recall("email"))
        assert asyncio.run(life()) == 1
        print([found for found in broken if found[0] != "socket.__new__"])
        """
    )

    printed = python(code, str(tmp_path), str(tmp_path / "m.db"), PYTHONDONTWRITEBYTECODE="1")

    assert printed.strip() == "[]"


def test_the_base_install_has_at_most_eight_direct_dependencies() -> None:
    required = importlib.metadata.requires("simonides") or []

    base = [line for line in required if "extra ==" not in line.replace("'", '"')]

    assert 0 < len(base) <= 8, base


@pytest.mark.parametrize("module", [simonides, ports, testing], ids=lambda m: m.__name__)
def test_every_public_name_is_there_and_every_name_there_is_public(module: Any) -> None:
    names = set(module.__all__)

    assert sorted(names) == sorted(module.__all__)
    assert [name for name in names if not hasattr(module, name)] == []
    # The front door gives values of all rooms; a port module only what it defines itself.
    home = "simonides" if module is simonides else module.__name__
    here = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    own = {n for n, v in here.items() if str(getattr(v, "__module__", "")).startswith(home)}
    assert own <= names
    assert "__version__" not in names or re.fullmatch(r"\d+\.\d+.*", module.__version__)


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'MemoryManger'"):
        simonides.MemoryManger  # noqa: B018


def test_each_async_class_has_its_blocking_one() -> None:
    blocking_names = {n.removeprefix("Async") for n in simonides.__all__ if n.startswith("Async")}

    assert blocking_names <= set(simonides.__all__)
    assert {"Agent", *blocking_names} <= set(blocking.__all__)


def test_a_memory_can_be_taken_in_at_a_glance() -> None:
    shown = {name for name in dir(blocking.Memory) if not name.startswith("_")}
    groups = {"privacy", "data", "pending", "receipts", "maintenance", "audit"}

    assert groups <= shown
    assert len(shown - groups) <= 21
    assert {name for name in dir(simonides.AsyncMemory) if not name.startswith("_")} == shown


def test_what_is_written_by_hand_takes_what_the_async_class_takes() -> None:
    here = {n: v for n, v in vars(StoreContext).items() if not n.startswith("_")}

    for name, method in here.items():
        assert inspect.signature(method) == inspect.signature(getattr(AsyncStore, name)), name
    assert {"__enter__", "__exit__"} <= set(vars(StoreContext))
    assert {"__aenter__", "__aexit__"} <= set(vars(AsyncStore))


def test_the_types_of_the_blocking_face_are_there() -> None:
    for name in blocking.__all__:
        members = vars(getattr(blocking, name)) if inspect.isclass(getattr(blocking, name)) else {}
        for member in members.values():
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function):
                assert "return" in get_type_hints(function, localns=vars(blocking))


def test_open_and_aopen_take_the_same() -> None:
    ours, theirs = inspect.signature(simonides.open), inspect.signature(simonides.aopen)

    assert list(ours.parameters.values()) == list(theirs.parameters.values())
