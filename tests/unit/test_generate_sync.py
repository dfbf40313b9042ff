"""The script that writes the blocking face: what it makes of each shape, and what it refuses."""

import importlib
import itertools
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
generate_sync = importlib.import_module("generate_sync")
sys.path.pop(0)
Face, Untranslatable = generate_sync.Face, generate_sync.Untranslatable

NUMBERS = itertools.count()

HEAD = """
from __future__ import annotations
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Self, overload
from {package}.marks import waits_for_background_work, waits_for_model
"""

MARKS = """
def waits_for_model(method): return method
def waits_for_background_work(method): return method
"""

DRIVER = """
import asyncio
class Driver:
    def __init__(self): self.seen = []
    def run(self, work, *, asks_model=False):
        self.seen.append(asks_model)
        return asyncio.run(work)
    def iterate(self, items, *, asks_model=False):
        self.seen.append(asks_model)
        async def all(): return [item async for item in items]
        yield from asyncio.run(all())
    def flush(self): self.seen.append("flush")
"""

TALK = '''
class AsyncTalk:
    """A talk of an :class:`simonides.AsyncHouse`; ``async with`` begins it."""
    def __init__(self, name: str = "talk") -> None:
        self._name, self._log = name, []
    @property
    def name(self) -> str:
        return self._name
    @property
    def log(self) -> list[str]:
        return self._log
    async def __aenter__(self) -> Self:
        self._log.append("in")
        return self
    @waits_for_model
    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        self._log.append("out")
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes a package, and gives its sources and its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(**modules):
        name = f"toy{next(NUMBERS)}"
        (tmp_path / name).mkdir()
        files = {"__init__": "", "marks": MARKS, "driver": DRIVER, **modules}
        for module, text in files.items():
            head = HEAD.format(package=name) if module in modules else ""
            text = dedent(text).replace("PACKAGE", name)
            (tmp_path / name / f"{module}.py").write_text(head + text)
        return generate_sync.Sources(tmp_path), name

    return made


def written(sources, name, faces):
    return generate_sync.generate(sources, faces, (f"{name}.driver", "Driver"))


@pytest.fixture
def face(package):
    """Return a function that generates the face of one class `AsyncHouse`, and loads it."""

    def made(body, *, also="", base=None, **modules):
        house = f"{TALK}\n{also}\nclass AsyncHouse:\n{body}"
        sources, name = package(house=house, **modules)
        faces = [
            Face(f"{name}.house:AsyncTalk", "Talk", "_talk"),
            Face(f"{name}.house:AsyncHouse", "House", "_house", base and f"{name}.{base}"),
        ]
        return loaded(written(sources, name, faces), name)

    return made


def loaded(text, name):
    there = {"__name__": f"{name}.generated"}
    exec(text, there)
    there["source"] = text
    there["asynchronous"] = importlib.import_module(f"{name}.house")
    there["driver"] = importlib.import_module(f"{name}.driver").Driver()
    return there


def built(there):
    return there["House"](there["asynchronous"].AsyncHouse(), there["driver"])


def test_the_blocking_face_is_current(capsys):
    assert generate_sync.main(["--check"]) == 0, capsys.readouterr().err


def test_a_check_names_the_first_difference(monkeypatch, capsys):
    file = generate_sync.TARGET / "session.py"
    text = file.read_text().replace("class Task:", "class Job:")
    monkeypatch.setattr(Path, "read_text", reading(file, text))

    assert generate_sync.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "session.py is not current, line " in said
    assert "'class Job:' is there, 'class Task:' must be" in said


def reading(target, text):
    read = Path.read_text
    return lambda file, *args, **named: text if file == target else read(file, *args, **named)


def test_the_same_sources_give_the_same_text():
    sources = generate_sync.Sources(generate_sync.SOURCE)
    again = generate_sync.Sources(generate_sync.SOURCE)

    first, second = (
        generate_sync.generate(each, generate_sync.FACES, file="memory")
        for each in (sources, again)
    )

    assert first == second


def test_arguments_are_passed_as_they_are_taken(face):
    there = face("""
    async def all(
        self, one: int, /, two: int, *many: int, three: int, four: str = "", **more: int
    ) -> tuple[object, ...]:
        return one, two, many, three, four, more
""")

    assert built(there).all(1, 2, 3, 4, three=5, six=6) == (1, 2, (3, 4), 5, "", {"six": 6})


def test_a_default_comes_from_the_module_that_has_it(face):
    there = face(
        """
    async def count(self, of: Many = FEW) -> Many:
        return of
""",
        also="Many = int\nFEW = 3",
    )

    assert built(there).count() == 3


def test_what_waits_says_so_to_the_driver(face):
    there = face("""
    async def plain(self) -> int: return 1
    @waits_for_model
    async def ask(self) -> int: return 2
    @waits_for_background_work
    async def erase(self) -> int: return 3
    def now(self) -> int: return 4
""")
    house = built(there)

    assert [house.plain(), house.ask(), house.erase(), house.now()] == [1, 2, 3, 4]
    assert there["driver"].seen == [False, True, "flush", False]


def test_async_objects_come_back_as_blocking_ones(face):
    there = face("""
    async def begun(self) -> AsyncTalk: return AsyncTalk()
    def talk(self) -> AsyncTalk: return AsyncTalk()
    async def found(self, name: str) -> AsyncTalk | None: return AsyncTalk() if name else None
    async def some(self) -> tuple[AsyncTalk, ...]: return (AsyncTalk("a"), AsyncTalk("b"))
    async def several(self) -> list[AsyncTalk]: return [AsyncTalk("a")]
    async def given(self) -> Sequence[AsyncTalk]: return [AsyncTalk("a")]
    async def alike(self) -> Self: return AsyncHouse()
    @property
    def own(self) -> AsyncTalk: return AsyncTalk("own")
""")
    house, talk = built(there), there["Talk"]

    assert type(house.begun()) is type(house.talk()) is type(house.found("x")) is talk
    assert house.found("") is None
    assert [type(one) for one in house.some()] == [talk, talk]
    assert [one.name for one in (*house.several(), *house.given())] == ["a", "a"]
    assert type(house.alike()) is there["House"]
    assert house.own.name == "own"


def test_a_page_of_async_objects_is_one_of_blocking_ones(face):
    there = face(
        """
    async def talks(self) -> Page[AsyncTalk]: return Page([AsyncTalk("a")], "next")
""",
        also="""
class Page(list):
    def __init__(self, items, cursor): super().__init__(items); self.cursor = cursor
    def map(self, change): return Page([change(one) for one in self], self.cursor)
    def __class_getitem__(cls, of): return cls
""",
    )
    page = built(there).talks()

    assert ([type(one) for one in page], page.cursor) == ([there["Talk"]], "next")


def test_blocking_objects_are_given_as_async_ones(face):
    there = face("""
    def one(self, talk: AsyncTalk) -> str: return talk._name
    def maybe(self, talk: AsyncTalk | None = None) -> bool: return talk is None
    def all(self, talks: Sequence[AsyncTalk]) -> list[str]: return [each._name for each in talks]
""")
    house = built(there)
    talk = there["Talk"](there["asynchronous"].AsyncTalk("t"), there["driver"])

    assert (house.one(talk), house.all([talk])) == ("t", ["t"])
    assert (house.maybe(), house.maybe(talk)) == (True, False)


def test_async_iterators_become_iterators(face):
    there = face("""
    async def counted(self, to: int) -> AsyncIterator[int]:
        for number in range(to):
            yield number
    async def opened(self) -> AsyncIterator[int]:
        return self.counted(2)
    @waits_for_model
    def talks(self) -> AsyncIterator[AsyncTalk]:
        async def made():
            yield AsyncTalk("a")
        return made()
""")
    house = built(there)

    assert list(house.counted(3)) == [0, 1, 2]
    assert list(house.opened()) == [0, 1]
    assert [type(one) for one in house.talks()] == [there["Talk"]]
    assert there["driver"].seen[-1] is True


def test_a_context_manager_is_entered_and_left(face):
    there = face("    async def x(self) -> None: ...")
    talk = there["Talk"](there["asynchronous"].AsyncTalk(), there["driver"])

    with talk as entered:
        assert entered is talk

    assert talk.log == ["in", "out"]
    assert there["driver"].seen == [False, True]


def test_methods_of_the_class_are_delegated(face):
    there = face("""
    @classmethod
    def named(cls, name: str) -> str: return f"{cls.__name__} {name}"
    @staticmethod
    def sum(one: int, *, other: int) -> int: return one + other
    def __len__(self) -> int: return 7
""")

    assert there["House"].named("x") == "AsyncHouse x"
    assert there["House"].sum(1, other=2) == 3
    assert len(built(there)) == 7


def test_overloads_stay(face):
    there = face("""
    @overload
    async def get(self, key: str) -> str: ...
    @overload
    async def get(self, key: int) -> int: ...
    async def get(self, key: str | int) -> str | int:
        '''Return it.'''
        return key
""")

    assert built(there).get(3) == 3
    assert there["source"].count("@overload") == 2
    assert "def get(self, key: int) -> int: ..." in there["source"]


def test_private_methods_stay_away(face):
    there = face("""
    async def first(self) -> int: return await self._hidden()
    async def _hidden(self) -> int: return 1
""")

    assert built(there).first() == 1
    assert not hasattr(there["House"], "_hidden")


def test_mixins_are_merged_and_bases_of_the_table_inherited(package):
    sources, name = package(
        house="""
        class Mixin:
            async def counted(self) -> int: return 3
        class AsyncRoom(Mixin):
            '''A room.'''
            async def name(self) -> str: return "room"
        """,
        hall="""
        from PACKAGE.house import AsyncRoom
        class AsyncHall(AsyncRoom):
            '''A hall.'''
            async def size(self) -> int: return 9
        """,
    )
    faces = [
        Face(f"{name}.house:AsyncRoom", "QuotaCheck", "_room"),
        Face(f"{name}.hall:AsyncHall", "Hall", "_room"),
    ]
    there = loaded(written(sources, name, faces), name)
    hall = there["Hall"](importlib.import_module(f"{name}.hall").AsyncHall(), there["driver"])

    assert (hall.name(), hall.size(), hall.counted()) == ("room", 9, 3)
    assert isinstance(hall, there["QuotaCheck"])
    assert "name" not in vars(there["Hall"])


def test_what_the_base_by_hand_has_is_not_generated(face):
    there = face(
        """
    async def close(self) -> str: return "async"
    async def count(self) -> int: return 1
""",
        base="hand:HouseContext",
        hand="""
        class HouseContext:
            def __init__(self, house, driver) -> None:
                self._house, self._driver = house, driver
            def close(self) -> str: return "by hand"
        """,
    )

    assert (built(there).close(), built(there).count()) == ("by hand", 1)


def test_a_method_does_not_hide_the_type_of_its_name(face):
    there = face("""
    async def all(self) -> list[int]: return [1]
    async def list(self) -> tuple[int, ...]: return ()
""")

    assert "def all(self) -> builtins.list[int]:" in there["source"]


def test_docstrings_speak_of_the_blocking_face(face):
    there = face("""
    async def call(self) -> AsyncTalk:
        '''Return an :class:`AsyncTalk`, an async context manager; see `toy.house.AsyncHouse`.

        Example::

            async with await house.call() as talk:
                print(await house.aopen(r"a\\\\b"))
        '''
        return AsyncTalk()
""")

    said = there["House"].call.__doc__
    assert "Return an :class:`Talk`, a context manager; see `simonides.api.sync.House`." in said
    assert "with house.call() as talk:" in said
    assert 'print(house.open(r"a\\b"))' in said
    assert there["Talk"].__doc__ == "A talk of an :class:`simonides.House`; ``with`` begins it."


REFUSED = {
    "async def f(self, on: Callable[[], Awaitable[None]]) -> None: ...": "speaks of Awaitable",
    "async def f(self) -> dict[str, AsyncTalk]: ...": "returns dict",
    "async def f(self) -> int | AsyncTalk: ...": "returns int | AsyncTalk",
    "async def f(self, talk: dict[str, AsyncTalk]) -> None: ...": "takes dict",
    "async def f(self) -> AsyncOther: ...": "speaks of AsyncOther",
    "async def f(self) -> Unknown: ...": "Unknown is neither imported nor defined",
    "async def f(self): ...": "says no type for what it returns",
    "async def f(self, x) -> None: ...": "has no type for x",
    "@asynccontextmanager\n    async def f(self) -> None: ...": "is decorated by asynccontext",
    "@classmethod\n    async def f(cls) -> None: ...": "needs a driver",
    "@waits_for_model\n    def f(self) -> None: ...": "is marked to wait, and does not",
    "async def f(self) -> None:\n        '''To be awaited.'''": "says 'awaited'",
    "async def __aenter__(self) -> int: ...": "must return the object that is entered",
    "def __eq__(self, other: object) -> bool: ...": "__eq__ has no rule",
    "x: int = 3": "x must be a property",
    "def f(self) -> None: self.x = 3": "x must be a property",
    "def f(self, talk: Talk) -> None: ...": "has the name of a blocking class",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_rule_is_refused(face, body):
    also = "class AsyncOther: ...\nclass Talk: ..."

    with pytest.raises(Untranslatable, match=REFUSED[body].replace("|", r"\|")):
        face(f"    {body}", also=also)


def test_one_name_for_two_things_is_refused(package):
    sources, name = package(
        one="class Size: ...\nclass AsyncOne:\n    async def f(self) -> Size: ...",
        two="class Size: ...\nclass AsyncTwo:\n    async def f(self) -> Size: ...",
    )
    faces = [
        Face(f"{name}.one:AsyncOne", "One", "_one"),
        Face(f"{name}.two:AsyncTwo", "Two", "_two"),
    ]

    with pytest.raises(Untranslatable, match="Size is"):
        written(sources, name, faces)
