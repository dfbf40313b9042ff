"""How a store uses its connections: which it takes, how it waits on them, how it reads."""

import asyncio

import pytest

from simonides.testing import ALICE
from simonides.testing.fault_proxy import FaultProxy, Faults
from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.store import PostgresStore
from simonides.storage.postgres.wire import protocol as postgres_answers
from simonides.storage.postgres.wire.protocol import Nearness

APP = "simonides_app"

contract = MemoryStoreContract()


@pytest.fixture
def url(postgres, database):
    return postgres.url(APP, database)


@pytest.fixture
def store(url):
    store = PostgresStore.open(url, pool_size=2)
    yield store
    drive(store, store.close())


def sessions(postgres, database):
    """The processes of the server that serve the store."""
    with postgres.connect("postgres") as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND usename = %s", (database, APP)
        )
        return {pid for (pid,) in found}


@pytest.mark.parametrize("over", [-1, 0, 1, postgres_answers.PIECE])
def test_a_long_answer_is_the_same_in_pieces(store, monkeypatch, over):
    many = postgres_answers.PIECE + over
    contract.write(store, contract.make.change(*(contract.make.memory() for _ in range(many))))

    rows = drive(store, store.snapshot(ALICE)).rows
    page = drive(store, store.rows(ALICE))
    monkeypatch.setattr(postgres_answers, "_HAS_PIECES", False)

    assert len(rows) == many
    assert drive(store, store.snapshot(ALICE)).rows == rows
    assert drive(store, store.rows(ALICE)) == page


def test_one_call_after_another_is_on_the_same_connection(store, postgres, database):
    drive(store, store.heads((ALICE,)))
    first = sessions(postgres, database)

    for _ in range(5):
        contract.stored(store)

    assert sessions(postgres, database) == first


def test_who_waits_for_a_connection_gets_the_one_that_was_kept(store):
    drive(store, store.heads((ALICE,)))

    async def crowd():
        return await asyncio.gather(*(store.heads((ALICE,)) for _ in range(30)))

    assert drive(store, crowd()) == [(None,)] * 30


def test_a_connection_goes_through_the_pool_from_time_to_time(store, monkeypatch):
    put = []
    drive(store, store.heads((ALICE,)))
    pool = store._pool._pool
    putconn = pool.putconn

    async def noted(connection):
        put.append(connection)
        await putconn(connection)

    monkeypatch.setattr(pool, "putconn", noted)
    drive(store, store.heads((ALICE,)))
    drive(store, store.heads((ALICE,)))
    kept = len(put)
    store._pool._kept_until = 0.0
    drive(store, store.heads((ALICE,)))

    assert (kept, len(put)) == (0, 1)


@pytest.fixture
def at_once(monkeypatch):
    """However long the server takes here, it is waited for in place."""
    monkeypatch.setattr(postgres_answers, "IN_PLACE_MS", 10_000)
    monkeypatch.setattr(postgres_answers, "IN_PIECES_S", 10.0)


def test_what_comes_at_once_takes_no_timer(store, at_once, monkeypatch):
    drive(store, store.heads((ALICE,)))
    timed = []

    async def main():
        loop = asyncio.get_running_loop()
        with monkeypatch.context() as patched:
            patched.setattr(loop, "call_at", lambda *given, **_: timed.append(given))
            return await store.consents(ALICE)

    assert drive(store, main()) == ()
    assert timed == []


@pytest.mark.parametrize(("after_s", "turns"), [(0.0, 3), (3600.0, 0)])
def test_others_on_the_loop_have_their_turn_beside_answers_that_come_at_once(
    store, at_once, monkeypatch, after_s, turns
):
    drive(store, store.heads((ALICE,)))
    monkeypatch.setattr(postgres_answers, "AT_ONCE_S", 3600.0)
    told = []

    async def other():
        while True:
            told.append(1)
            await asyncio.sleep(0)

    async def main():
        await store.consents(ALICE)  # Who has not had a turn yet has one now.
        monkeypatch.setattr(postgres_answers, "AT_ONCE_S", after_s)
        beside = asyncio.create_task(other())
        for _ in range(3):
            await store.consents(ALICE)
        beside.cancel()

    drive(store, main())
    assert len(told) == turns


def test_what_was_broken_off_is_not_the_next_ones_answer(store):
    contract.stored(store)

    async def main():
        for _ in range(3):
            call = store.heads((ALICE,))
            call.send(None)
            with pytest.raises(asyncio.CancelledError):
                call.throw(asyncio.CancelledError())
            assert len(await store.rows(ALICE)) == 1

    drive(store, main())


def test_who_is_cancelled_while_a_connection_goes_back_takes_none_along(url):
    store = PostgresStore.open(url, pool_size=1, timeout_s=1)

    async def main():
        for _ in range(2):
            await store.heads((ALICE,))
        store._pool._kept_until = 0.0  # It goes back after the next call.
        lock = store._pool._pool._lock
        async with lock:
            call = asyncio.create_task(store.heads((ALICE,)))
            while not lock._waiters:
                await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        return await store.heads((ALICE,))

    assert drive(store, main()) == (None,)
    drive(store, store.close())


class TestNearness:
    def test_an_answer_that_comes_at_once_is_waited_for_in_place(self):
        nearness = Nearness()
        nearness.lines = 1

        nearness.note(0.0009)
        near = nearness.is_in_place
        nearness.note(0.0011)

        assert (near, nearness.is_in_place) == (True, False)

    def test_who_is_not_alone_waits_on_the_loop(self):
        nearness = Nearness()
        nearness.lines = 2

        assert not nearness.is_in_place

    def test_a_server_far_away_is_not_waited_for_in_place(self, postgres, database):
        with FaultProxy(postgres.directory / ".s.PGSQL.5432") as proxy:
            url = f"postgresql://{APP}@{proxy.host}:{proxy.port}/{database}?sslmode=disable"
            store = PostgresStore.open(url)
            proxy.inject(Faults(latency_s=0.02))
            for _ in range(2):
                drive(store, store.heads((ALICE,)))
            far = store._pool._nearness._is_near
            drive(store, store.close())

        assert not far

    def test_only_calls_under_way_count(self, store):
        drive(store, store.heads((ALICE,)))
        contract.stored(store)

        assert store._pool._nearness.lines == 0
