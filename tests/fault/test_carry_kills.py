"""Killed in the middle of a backup, a restore or an export, all is as it was, or as it is to be."""

import asyncio
import os
import signal

import pytest
from killing import Child

from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.errors import CarryRefused
from simonides.domain.memory import Draft
from simonides.engine.core.audit_chain import verify
from simonides.settings import Settings
from simonides.storage.schema.portable_rows import ROWS
from simonides.storage.sqlite import transfer as sqlite_backups
from simonides.storage.sqlite.file import connection as sqlite_file
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import CountingIds, ManualClock
from simonides.testing.contracts.base import drive
from simonides.transfer.portable import import_ as restoring

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

PLAIN = Settings(embedder="none", synchronous="normal")
MEMORIES = 300
"""Enough for a dozen steps of each work, and little enough to be written in a moment."""

KILLS = 5
"""Points at which each work is killed, spread over all that it says. Chosen: a second for each."""


def opened(target):
    made = assemble(target, settings=PLAIN, inline=True, clock=ManualClock(), ids=CountingIds())
    return Store(made)


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A store with some life in it, its export, its backup, and what came after both."""
    place = tmp_path_factory.mktemp("lived")
    with opened(place / "m.db") as store:
        memory = store.memory(user="alice")
        memory.remember_many([Draft(f"Memory number {n}") for n in range(MEMORIES)])
        memory.data.export(place / "alice.jsonl")
        store.admin(actor="root").backup(place / "b.db")
        memory.remember("Newer")
    return place


def copied(lived, tmp_path):
    (tmp_path / "m.db").write_bytes((lived / "m.db").read_bytes())
    return tmp_path / "m.db"


def steps_of(work):
    """Do the work to its end in a child and return how often it said something."""
    child = Child(lambda say: (work(say), say("end"), signal.pause()))
    said = 0
    while child.hear(1) != ["end"]:
        said += 1
    child.kill()
    return said


def killed_along(work, prepare, check):
    """Kill the work at points spread over all that it says, and check what is left each time."""
    prepare()
    steps = steps_of(work)
    assert steps >= KILLS
    for kill in range(KILLS):
        prepare()
        child = Child(lambda say: (work(say), signal.pause()))
        child.hear(1 + kill * (steps - 1) // (KILLS - 1))
        child.kill()
        check()


def contents(path):
    with opened(path) as store:
        assert store.admin(actor="root").check_audit().ok
        return {memory.content for memory in store.memory(user="alice").list(limit=1000)}


NUMBERED = {f"Memory number {n}" for n in range(MEMORIES)}


def test_a_backup_that_is_killed_leaves_none_under_its_name(lived, tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "STEP_PAGES", 4)
    path, target = copied(lived, tmp_path), tmp_path / "copy.db"

    def work(say):
        with opened(path) as store:
            store.admin(actor="root").backup(target, progress=lambda *far: say(far[0]))
            say("done")

    def check():
        if target.exists():
            assert contents(target) == NUMBERED | {"Newer"}
        assert contents(path) == NUMBERED | {"Newer"}

    killed_along(work, lambda: target.unlink(missing_ok=True), check)
    with opened(path) as store:
        target.unlink(missing_ok=True)
        store.admin(actor="root").backup(target)
    assert contents(target) == NUMBERED | {"Newer"}


def test_a_store_that_is_killed_on_its_way_back_is_what_it_was(lived, tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "STEP_PAGES", 4)
    real, path = sqlite_backups.copy_pages, tmp_path / "m.db"

    def work(say):
        def copy(target, source, _):
            real(target, source, lambda *far: say(far[0]))

        sqlite_backups.copy_pages = copy
        with opened(path) as store:
            store.admin(actor="root").restore_backup(lived / "b.db")

    def check():
        found = contents(path)
        assert found in (NUMBERED, NUMBERED | {"Newer"})
        seen.add(len(found))

    seen = set()
    killed_along(work, lambda: copied(lived, tmp_path), check)
    assert MEMORIES + 1 in seen
    with opened(path) as store:
        store.admin(actor="root").restore_backup(lived / "b.db")
    assert contents(path) == NUMBERED


def test_an_owner_that_is_killed_on_the_way_in_is_not_there(lived, tmp_path, monkeypatch):
    monkeypatch.setattr(restoring, "LINES_AT_ONCE", ROWS // 10)
    path = tmp_path / "new.db"

    def work(say):
        with opened(path) as store:
            store.memory(user="alice").data.restore(
                lived / "alice.jsonl", progress=lambda far: say(f"{far.step}{far.lines}")
            )

    def check():
        found = contents(path)
        assert found in (set(), NUMBERED)

    def prepare():
        for file in tmp_path.iterdir():
            file.unlink()

    killed_along(work, prepare, check)
    with opened(path) as store:
        store.memory(user="alice").data.restore(lived / "alice.jsonl")
    assert contents(path) == NUMBERED


def test_an_export_that_is_killed_leaves_what_was_there(lived, tmp_path, monkeypatch):
    target, path = tmp_path / "a.jsonl", copied(lived, tmp_path)
    monkeypatch.setattr("simonides.storage.schema.portable_rows.PAGE", 20)

    def work(say):
        with opened(path) as store:
            store.memory(user="alice").data.export(
                target, overwrite=True, progress=lambda far: say(far.lines)
            )

    def check():
        raw = target.read_bytes()
        with opened(tmp_path / "other.db") as store:
            if raw == b"before":
                with pytest.raises(CarryRefused):
                    store.memory(user="alice").data.restore(target)
            else:
                assert store.memory(user="alice").data.restore(target).counts["memory"] > MEMORIES
        for file in tmp_path.glob("other.db*"):
            file.unlink()

    killed_along(work, lambda: target.write_bytes(b"before"), check)


def test_another_process_notices_that_the_store_went_back(lived, tmp_path):
    path = copied(lived, tmp_path)
    waiting, go = os.pipe()

    def work(say):
        store = SqliteStore.open(path)
        with Store(assemble(path, settings=PLAIN, inline=True)) as opened:
            memory = opened.memory(user="alice")
            say(len(memory.list(limit=1000)))
            os.read(waiting, 1)
            say(len(memory.list(limit=1000)))
            memory.remember("Said by the other")
            say("ok" if asyncio.run(verify(store)).ok else "broken")
        signal.pause()

    child = Child(work)
    assert child.hear(1) == [str(MEMORIES + 1)]
    with Store(assemble(path, settings=PLAIN, inline=True)) as opened:
        opened.admin(actor="root").restore_backup(lived / "b.db")
        os.write(go, b"x")

        assert child.hear(2) == [str(MEMORIES), "ok"]
        found = {memory.content for memory in opened.memory(user="alice").list(limit=1000)}
    child.kill()

    assert found == NUMBERED | {"Said by the other"}
    store = SqliteStore.open(path)
    assert drive(store, store.strays()) == ()
    drive(store, store.close())
