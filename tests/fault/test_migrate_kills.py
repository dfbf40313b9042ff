"""A move killed at any moment goes on, and nobody is served half an owner meanwhile."""

import asyncio
import os
import signal
import time

import pytest
from killing import Child

from simonides.api.migrate.migrate import migrate
from simonides.domain.codecs.parts import PARTS
from simonides.domain.errors import StoreUnavailable
from simonides.engine.core.audit_chain import verify, verify_owner
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.moving import MovableStoreContract
from simonides.testing.store_contract import drive

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

PAGE = 4

# Pages from one kill to the next. Chosen: about 30 kills in 8 s.
EVERY = 3

# Steps by which the kill moves through a page, from being told of one to being told of the next;
# a page takes about 0.5 ms.
STEP_S = 110e-6
STEPS = 7

contract = MovableStoreContract()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A store that has everything, and how many steps its move takes."""
    path = tmp_path_factory.mktemp("source") / "a.db"
    store = SqliteStore.open(path)
    contract.fill(store)
    everything = contract.everything(store)
    drive(store, store.close())
    return path, everything


def moving(source, target, say, *, end):
    """Move and say after each page how many rows were written."""
    one, other = SqliteStore.open(source), SqliteStore.open(target, filling=True)
    step = migrate(one, other, page=PAGE, progress=lambda done: say(done.rows))
    asyncio.run(step)
    end()


def child(source, target):
    def work(say):
        moving(source, target, say, end=lambda: (say("end"), signal.pause()))

    return Child(work)


def check_halfway(target, everything):
    """What is whole is all there; nothing else is seen."""
    with pytest.raises(StoreUnavailable, match="migrate"):
        SqliteStore.open(target)
    store = SqliteStore.open(target, filling=True)
    found = contract.everything(store)
    for scope in drive(store, store.owners()):
        owner, _, _ = drive(store, store.chain_head(scope))
        for part in PARTS:
            assert found.get((owner, part.name)) == everything.get((owner, part.name))
        assert drive(store, verify_owner(store, scope)).ok
    drive(store, store.close())


def is_finished(target):
    """Whether a move ended before it was killed: the last page is told before the end is."""
    try:
        drive(store := SqliteStore.open(target), store.close())
    except StoreUnavailable:
        return False
    return True


def check_whole(target, everything):
    store = SqliteStore.open(target)
    assert contract.everything(store) == everything
    assert drive(store, verify(store)).ok
    drive(store, store.close())


def finished(source, target):
    """Move to the end and return how many rows that took."""
    told = []
    moving(source, target, told.append, end=lambda: None)
    return told[-1]


def test_a_move_killed_after_any_page_goes_on(source, tmp_path):
    path, everything = source
    rows = sum(map(len, everything.values()))
    pages = halfway = 0
    while True:
        target = tmp_path / f"{pages}.db"
        one = child(path, target)
        told = one.hear(1)
        while "end" not in told and len(told) <= pages:
            told += one.hear(1)
        if "end" in told:
            one.kill()
            break
        time.sleep(pages // EVERY % STEPS * STEP_S)
        told += one.kill()
        if "end" not in told and not is_finished(target):
            halfway += 1
            check_halfway(target, everything)
            # What had arrived stays: at most what was being written goes again.
            assert finished(path, target) <= rows - int(told[-1])
        check_whole(target, everything)
        pages += EVERY
    assert pages > rows // PAGE
    assert halfway > pages // EVERY // 2


def test_a_move_killed_again_and_again_comes_to_its_end(source, tmp_path):
    path, everything = source
    target = tmp_path / "b.db"
    kills = 0
    while True:
        one = child(path, target)
        told = one.hear(1)
        while "end" not in told and len(told) < 2 + kills // 3:
            told += one.hear(1)
        told += one.kill()
        if "end" in told:
            break
        kills += 1

    check_whole(target, everything)
    assert kills > 5


def test_a_move_killed_while_it_begins_leaves_a_store_or_none(source, tmp_path):
    path, everything = source
    for point in range(20):
        target = tmp_path / f"{point}.db"

        def opening(say, target=target):
            say("here")
            moving(path, target, lambda _: None, end=signal.pause)

        one = Child(opening)
        one.hear(1)
        time.sleep(point * 3 * STEP_S)
        one.kill()

        finished(path, target)
        check_whole(target, everything)
