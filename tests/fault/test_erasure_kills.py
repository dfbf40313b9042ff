"""Killed at any point an erasure has not begun, or is gone on with to its end."""

import os
import signal
import time

import pytest
from erasing import Life, found_in
from killing import Child

from principals import erase
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.scope import Scope
from simonides.settings import Settings
from simonides.storage.sqlite import writes as sqlite_change
from simonides.storage.sqlite.file import connection as sqlite_file
from simonides.storage.sqlite.store import SqliteStore
from simonides.types import ErasureState

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

ORG = Scope.of_org("default")
TIMED = 3
STEP_S = 5e-3


def opened(path):
    settings = Settings(reindex="manual", synchronous="normal")
    return Store(assemble(path, inline=True, settings=settings))


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def in_the_midst_of_the_rows(monkeypatch):
    erase = sqlite_change.erase_rows
    monkeypatch.setattr(sqlite_change, "erase_rows", lambda *a: (erase(*a), die()))


def before_others_are_told(monkeypatch):
    commit = SqliteStore.commit

    async def cut(self, owner, request, decide):
        return die() if owner == ORG else await commit(self, owner, request, decide)

    monkeypatch.setattr(SqliteStore, "commit", cut)


def before_it_is_settled(monkeypatch):
    monkeypatch.setattr(SqliteStore, "settle", die)


def before_the_log_is_cut(monkeypatch):
    monkeypatch.setattr("simonides.storage.sqlite.file.connection.empty_log", die)


def before_the_files_are_read(monkeypatch):
    monkeypatch.setattr(sqlite_file, "Files", die)


POINTS = (
    in_the_midst_of_the_rows,
    before_the_log_is_cut,
    before_others_are_told,
    before_it_is_settled,
    before_the_files_are_read,
)


def prepared(path):
    """A user with copies in the org, and somebody beside; returns the user's life and the other."""
    life = Life("killed")
    with opened(path) as store:
        store.admin(actor="root").grant("ana", "org_write")
        store.memory(user="bob").remember("Bob was here")
        life.lead(store.memory(user="ana"))
    return life


def finished(path, life):
    """Go on after the kill, and look."""
    with opened(path) as store:
        ana, bob = store.memory(user="ana"), store.memory(user="bob")
        before = ana.data.erasure()
        assert bool(before) != bool(ana.list(scopes=["user"])), "all of it or nothing"
        done = before if before is not None else erase(ana)
        assert done.state is ErasureState.COMPLETE
        assert ana.list() == ()
        assert [memory.content for memory in bob.list()] == ["Bob was here"]
        assert {o.kind for o in life.replay(ana)} == {"blocked"}
        assert store.admin(actor="root").check_audit().ok
        assert store.admin(actor="root").check_erasure(done).ok
    directory = path.parent
    assert found_in(directory, life.canaries) == []


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.__name__)
def test_killed_at_a_point_it_is_gone_on_with(tmp_path, monkeypatch, point):
    path = tmp_path / "m.db"
    life = prepared(path)

    def work(say):
        point(monkeypatch)
        erase(opened(path).memory(user="ana"))
        say("done")

    child = Child(work)
    assert child.hear(1) == [""], "it was to be killed"
    with child.said:
        _, status = os.waitpid(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL

    finished(path, life)


@pytest.mark.parametrize("step", range(TIMED))
def test_killed_at_any_time_it_is_gone_on_with(tmp_path, step):
    path = tmp_path / "m.db"
    life = prepared(path)

    def work(say):
        store = opened(path)
        say("ready")
        erase(store.memory(user="ana"))
        time.sleep(60)

    child = Child(work)
    child.hear(1)
    time.sleep(step * STEP_S)
    child.kill()

    finished(path, life)
