"""A move to PostgreSQL killed at any moment goes on; nobody is served half an owner meanwhile."""

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

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

from simonides.storage.postgres.store import PostgresStore  # noqa: E402 - only where it can be

PAGE = 20

# Steps by which the kill moves through a page, which takes some 10 ms, and how many of them.
STEP_S = 1.7e-3
STEPS = 7

contract = MovableStoreContract()


@pytest.fixture
def source(tmp_path):
    """A store that has everything."""
    path = tmp_path / "a.db"
    store = SqliteStore.open(path)
    contract.fill(store)
    everything = contract.everything(store)
    drive(store, store.close())
    return path, everything


@pytest.fixture
def url(postgres, database):
    return postgres.url("simonides_app", database)


async def moved(source, target, say):
    one, other = SqliteStore.open(source), PostgresStore.open(target, filling=True)
    await migrate(one, other, page=PAGE, progress=lambda done: say(done.rows))
    say("end")
    await other.close()
    await one.close()


def check_halfway(target, everything):
    """What is whole is all there; nothing else is seen."""
    with pytest.raises(StoreUnavailable, match="migrate"):
        PostgresStore.open(target)
    store = PostgresStore.open(target, filling=True)
    found = contract.everything(store)
    for scope in drive(store, store.owners()):
        owner, _, _ = drive(store, store.chain_head(scope))
        for part in PARTS:
            assert found.get((owner, part.name)) == everything.get((owner, part.name))
        assert drive(store, verify_owner(store, scope)).ok
    drive(store, store.close())


def test_a_move_killed_again_and_again_comes_to_its_end(source, url):
    path, everything = source
    kills, reached = 0, []
    while True:

        def work(say):
            asyncio.run(moved(path, url, say))
            signal.pause()

        one = Child(work)
        told = one.hear(1)
        while "end" not in told and len(told) < 2 + kills // 2:
            told += one.hear(1)
        time.sleep(0 if "end" in told else kills % STEPS * STEP_S)
        told += one.kill()
        if "end" in told:
            break
        kills += 1
        reached.append(told[-1])
        check_halfway(url, everything)

    store = PostgresStore.open(url)
    assert contract.everything(store) == everything
    assert drive(store, verify(store)).ok
    drive(store, store.close())
    assert kills > 5, reached
