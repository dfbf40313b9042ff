"""One row makes a verb: on the command line, and in the asynchronous face."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simonides.api.admin import Admin
from simonides.api.groups import Audit, Data, Maintenance, Pending, Privacy, Receipts
from simonides.api.memory import Memory
from simonides.api.session import Session
from simonides.api.store import Store
from simonides.api.task import Task
from simonides.api.verbs import GROUPS, VERBS

ROOT = Path(__file__).parents[2]
FACES = (Memory, Session, Privacy, Pending, Maintenance, Data, Receipts, Audit, Task, Admin, Store)
OBJECTS = {
    "Memory.session", "Memory.task", "Memory.tools", "Admin.memory", "Store.memory",
    "Store.visitor", "Store.admin", "Store.agent", "Store.flush", "Store.close",
}  # fmt: skip
"""Methods that return an object with verbs of its own, or are of the store's life."""


def test_every_verb_is_a_row_and_every_row_a_verb():
    methods = {
        f"{face.__module__.rpartition('.')[2]}:{face.__name__}.{name}"
        for face in FACES
        for name, each in vars(face).items()
        if inspect.isfunction(each) and not name.startswith("_")
    }
    verbs = {each for each in methods if each.partition(":")[2] not in OBJECTS}
    assert verbs == {verb.function for verb in VERBS}
    assert len({(verb.group, verb.name) for verb in VERBS}) == len(VERBS)
    assert {verb.group for verb in VERBS} == {"", *GROUPS}


@pytest.mark.parametrize("verb", [v for v in VERBS if v.options], ids=lambda v: v.function)
def test_options_of_a_row_are_arguments_of_its_method(verb):
    module, _, name = verb.function.partition(":")
    owner, _, method = name.partition(".")
    face = getattr(importlib.import_module(f"simonides.api.{module}"), owner)
    assert set(verb.options) <= inspect.signature(getattr(face, method)).parameters.keys()


def test_the_list_loads_nothing_of_the_engine():
    program = (
        "import sys, simonides.api.verbs;"
        "sys.exit(any(n in sys.modules for n in ('numpy', 'pydantic', 'simonides.core')))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


METHOD = '''
    def count(self, query: str, *, scopes: Sequence[str] | None = None, most: int = 9) -> int:
        """Return how many memories serve a query.

        Args:
            query: What memories are wanted for.
            scopes: Only these.
            most: Where counting stops. Nothing counts more.
        """
        return len(self.recall(query, limit=most, scopes=scopes))
'''

ADDED = f"""
import sys, textwrap
from collections.abc import Sequence
from simonides.api import verbs

ROW = verbs.Verb("count", "", "memory:Memory.count", "reads", "Print a count.", result="count")
verbs.VERBS += (ROW,)
METHOD = {METHOD!r}
"""

ON_THE_COMMAND_LINE = """
from simonides.api.memory import Memory
from simonides.cli import main

made = {}
exec(textwrap.dedent(METHOD), globals(), made)
Memory.count = made["count"]
sys.exit(main(sys.argv[1:]))
"""

ASYNCHRONOUS = """
import generate_async

source = (generate_async.API / "memory.py").read_text("utf-8")
place = source.index("    def remember_many(")
print(generate_async.generated(
    verbs.VERBS, {"memory": source[:place] + METHOD[1:] + source[place:]}
))
"""


def ran(program: str, *args: object, folder: Path = ROOT) -> str:
    command = [sys.executable, "-c", program, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_row_makes_a_command(tmp_path):
    program = ADDED + ON_THE_COMMAND_LINE
    assert re.search(r"  count +Print a count\.\n", ran(program, "--help"))
    described = ran(program, "count", "--help")
    assert "--most <int>" in described
    assert "Where counting stops.  [default: 9]" in described
    place = ("--store", tmp_path / "m.db", "--user", "ana")
    ran(program, *place, "remember", "Ana lives in Oslo")
    assert ran(program, *place, "count", "Oslo", "--scope", "user", "--json") == '{"count": 1}\n'


def test_one_row_makes_an_awaited_verb():
    text = ran(ADDED + ASYNCHRONOUS, folder=ROOT / "scripts")
    head = text[text.index("    async def count(") :]
    assert "return await self._threads.read(" in head[: head.index("    async def remember_many(")]
