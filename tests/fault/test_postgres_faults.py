"""A server that goes, stalls or is full of others: an error in time, nothing lost, and recovery."""

import asyncio
import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from killing import Child
from racing import Writer, check_store
from victims import writing_to

import simonides
from simonides.domain.errors import StoreError, StoreUnavailable
from simonides.domain.writing.change import TurnRequest
from simonides.testing import ALICE, BOB
from simonides.testing.contracts.base import every_call
from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.store import PostgresStore
from simonides.storage.postgres.wire import pool as postgres_pool

APP = "simonides_app"

OPEN = Path("/proc/self/fd")

# Seconds of every time-out in these tests, and what else the machine may take.
TIMEOUT_S = 0.5
SLACK_S = 2.0

ROUNDS = 30
WRITES_AFTER = 3

# Steps by which the kill moves through a write of some 5 ms, and how many until it starts again.
STEP_S = 370e-6
STEPS = 17

contract = MemoryStoreContract()


@pytest.fixture
def url(postgres, database):
    return postgres.url(APP, database)


@pytest.fixture
def store(url):
    store = PostgresStore.open(url, pool_size=2, timeout_s=TIMEOUT_S, busy_timeout_s=TIMEOUT_S)
    yield store
    drive(store, store.close())


@pytest.fixture
def administer(postgres, database):
    """Run a statement as the superuser; returns its rows."""

    def run(statement):
        with postgres.connect("postgres") as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return run


def end_sessions(administer, database):
    administer(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        f" WHERE datname = '{database}' AND usename = '{APP}'"
    )


def unavailable(store, call):
    """Check that a call fails as it should, within its time."""
    began = time.monotonic()
    with pytest.raises(StoreUnavailable) as caught:
        drive(store, call)
    assert time.monotonic() - began < 2 * TIMEOUT_S + postgres_pool.GRACE_S + SLACK_S
    return str(caught.value)


def test_connections_that_the_server_ended_are_not_used_again(store, administer, database):
    contract.stored(store)
    before = contract.shown(store)

    for _ in range(3):
        end_sessions(administer, database)
        assert contract.shown(store) == before
        end_sessions(administer, database)
        contract.stored(store)
        before = contract.shown(store)


def test_a_connection_that_ends_in_the_middle_of_a_turn_writes_nothing(store, administer, database):
    contract.stored(store)
    before = contract.shown(store)

    def decide(_):
        end_sessions(administer, database)
        return contract.make.change(contract.make.memory())

    said = unavailable(store, store.commit(ALICE, TurnRequest(), decide))

    assert "terminat" in said
    assert contract.shown(store) == before
    contract.stored(store)


def test_a_server_that_crashed_is_found_again(postgres, store):
    memory = contract.stored(store)
    before = contract.shown(store)
    postgres.halt()
    try:
        for name, call in every_call(store, ALICE).items():
            if name in ("heads", "commit", "journal"):
                assert postgres.directory.name in unavailable(store, call())
    finally:
        postgres.start_again()

    assert contract.shown(store) == before
    assert contract.live_ids(store) == [memory.id]
    contract.stored(store)


@pytest.fixture
def frozen(administer, database):
    """Stop the server's processes that serve the store, as a machine that hangs would."""
    stopped = []

    def freeze():
        found = administer(
            f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' AND usename = '{APP}'"
        )
        for (pid,) in found:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)

    yield freeze
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def test_a_server_that_says_nothing_is_not_waited_for(store, frozen):
    contract.stored(store)
    frozen()

    assert "no answer within" in unavailable(store, store.heads((ALICE,)))

    # On another connection, and not on one of those that lead to the same silence.
    assert drive(store, store.heads((ALICE,)))[0] is not None


def test_a_server_that_stalls_while_it_commits_is_not_waited_for(store, frozen):
    contract.stored(store)

    def decide(_):
        frozen()
        return contract.make.change(contract.make.memory())

    unavailable(store, store.commit(ALICE, TurnRequest(), decide))


def test_a_decision_that_fails_is_told_though_the_server_stalls(store, frozen):
    contract.stored(store)

    def decide(_):
        frozen()
        raise ZeroDivisionError

    began = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        drive(store, store.commit(ALICE, TurnRequest(), decide))

    assert time.monotonic() - began < TIMEOUT_S + postgres_pool.GRACE_S + SLACK_S


def test_the_first_calls_may_come_together(store):
    async def together():
        return await asyncio.gather(*(store.heads((ALICE,)) for _ in range(20)))

    assert drive(store, together()) == [(None,)] * 20


def test_who_finds_all_connections_in_use_is_told_in_time(store):
    everyone, go_on = threading.Barrier(3), threading.Event()

    def hold(_):
        everyone.wait()
        go_on.wait()

    def holding(owner):
        return lambda: drive(store, store.commit(owner, TurnRequest(), hold))

    threads = [threading.Thread(target=holding(owner)) for owner in (ALICE, BOB)]
    for thread in threads:
        thread.start()
    everyone.wait()
    said = unavailable(store, store.heads((ALICE,)))
    go_on.set()
    for thread in threads:
        thread.join()

    assert "all 2 connections are in use" in said
    assert drive(store, store.heads((ALICE,))) == (None,)


@pytest.mark.parametrize("here", [True, False], ids=["this process", "another one"])
def test_who_waits_too_long_for_the_turn_is_told(url, store, here):
    other = PostgresStore.open(url)
    began, go_on = threading.Event(), threading.Event()

    def hold(_):
        began.set()
        go_on.wait()

    holder = store if here else other
    thread = threading.Thread(
        target=lambda: drive(holder, holder.commit(ALICE, TurnRequest(), hold))
    )
    thread.start()
    began.wait()
    said = unavailable(store, store.commit(ALICE, TurnRequest(), lambda _: None))
    # Who only waited leaves nothing behind; other owners are not held up.
    contract.stored(store, scope=BOB)
    go_on.set()
    thread.join()
    drive(other, other.close())

    assert "turn did not come within the time-out" in said


def test_a_client_that_does_not_decide_loses_its_turn(url, store):
    other = PostgresStore.open(url)

    def dawdle(_):
        time.sleep(3 * TIMEOUT_S)
        return contract.make.change(contract.make.memory())

    thread = threading.Thread(target=lambda: contract.stored(other))
    slow = threading.Timer(0.1, thread.start)
    slow.start()
    unavailable(store, store.commit(ALICE, TurnRequest(), dawdle))
    thread.join()

    assert len(contract.live_ids(other)) == 1
    drive(other, other.close())


def test_a_call_that_was_cancelled_leaves_a_connection_that_works(store):
    contract.stored(store)
    deciding, go_on = threading.Event(), threading.Event()

    def decide(_):
        deciding.set()
        go_on.wait(TIMEOUT_S)
        return contract.make.change(contract.make.memory())

    async def cancelled():
        task = asyncio.create_task(store.commit(ALICE, TurnRequest(), decide))
        await asyncio.to_thread(deciding.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = contract.shown(store)
    for _ in range(5):
        drive(store, cancelled())
        go_on.set()

    assert contract.shown(store) == before
    contract.stored(store)


def test_a_store_belongs_to_one_event_loop(store):
    drive(store, store.heads((ALICE,)))
    with pytest.raises(StoreUnavailable, match="another event loop"):
        asyncio.run(store.heads((ALICE,)))


def test_a_blocking_call_from_within_another_is_refused(url, monkeypatch):
    with simonides.open(url) as store:
        memory, inner = store.memory(user="ana"), store.runtime.store

        async def asks_again(_):
            memory.list()

        monkeypatch.setattr(inner, "snapshots", asks_again)
        with pytest.raises(RuntimeError, match="wait for itself"):
            memory.recall("anything")
        monkeypatch.undo()


def test_who_calls_after_closing_leaves_nothing_open(url):
    store = simonides.open(url)
    memory = store.memory(user="ana")
    memory.remember("The deploy region is eu-west-1")
    store.close()
    gc.collect()

    before = len([*OPEN.iterdir()])
    with pytest.raises(StoreUnavailable, match="closed"):
        memory.recall("region")

    assert len([*OPEN.iterdir()]) == before


def test_a_database_without_room_is_full(store, postgres, database, administer):
    contract.stored(store)
    before = contract.shown(store)
    with postgres.connect("postgres", database) as connection:
        # As near as a test comes to a full disk: the server says so in its own words.
        connection.execute(
            "CREATE FUNCTION simonides.full() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100';"
            " END $$;"
            " CREATE TRIGGER full_disk BEFORE INSERT ON simonides.events"
            " EXECUTE FUNCTION simonides.full()"
        )

    with pytest.raises(StoreError) as caught:
        contract.stored(store)

    assert type(caught.value).__name__ == "StoreFull"
    assert contract.shown(store) == before


def test_a_standby_is_read_only(store, administer, database):
    contract.stored(store)
    administer(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    end_sessions(administer, database)

    with pytest.raises(StoreError) as caught:
        contract.stored(store)

    assert type(caught.value).__name__ == "StoreReadOnly"
    assert len(contract.live_ids(store)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
class TestKills:
    def test_writers_killed_at_many_points_lose_nothing_acknowledged(self, url):
        acknowledged = []
        for turn in range(ROUNDS):
            one, other = (Child(writing_to(url, f"{name} {turn}")) for name in "ab")
            acknowledged += one.hear(1 + turn % 3)
            time.sleep(turn % STEPS * STEP_S)
            acknowledged += one.kill()
            acknowledged += other.hear(WRITES_AFTER)
            acknowledged += other.kill()

        # Either victim of a round may have written what it could not acknowledge any more.
        check_store(url, acknowledged, unknown=2 * ROUNDS)

    def test_a_killed_holder_of_the_turn_is_not_waited_for(self, url):
        def holding(say):
            writer = Writer(PostgresStore.open(url), "holder")
            decide = writer.decide

            def hold(seen):
                say("deciding")
                signal.pause()
                return decide(seen)

            writer.decide = hold
            writer.write()

        holder = Child(holding)
        holder.hear(1)
        waiting = Child(writing_to(url, "waiting"))
        holder.kill()
        first = waiting.hear(1)
        rest = waiting.kill()

        check_store(url, [*first, *rest], unknown=1)
