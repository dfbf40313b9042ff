"""A store in memory: who waits for whom, and what it keeps to itself."""

import threading

import apsw
import pytest

from simonides.domain.errors import StoreUnavailable
from simonides.domain.writing.change import TurnRequest
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE, BOB
from simonides.testing.store_contract import MemoryStoreContract, drive

contract = MemoryStoreContract()


@pytest.fixture
def store():
    store = SqliteStore.in_memory()
    yield store
    drive(store, store.close())


@pytest.fixture
def deciding(store):
    """A writer in another thread that has the turn and decides until it is let go on."""
    is_deciding, may_go_on = threading.Event(), threading.Event()
    change = contract.make.change(contract.make.memory("decided"))

    def decide(_):
        is_deciding.set()
        assert may_go_on.wait(20)
        return change

    writer = threading.Thread(
        target=lambda: drive(store, store.commit(ALICE, TurnRequest(), decide))
    )
    writer.start()
    assert is_deciding.wait(20)
    yield may_go_on
    may_go_on.set()
    writer.join()


def test_a_reader_does_not_wait_for_what_a_writer_decides(store, deciding):
    assert drive(store, store.rows(ALICE)) == ()
    assert drive(store, store.heads((ALICE,))) == (None,)


def test_what_was_decided_is_seen_at_once(store, deciding):
    assert drive(store, store.heads((ALICE,))) == (None,)
    deciding.set()

    contract.stored(store, scope=BOB)  # its turn comes after the one that is being decided
    assert drive(store, store.heads((ALICE,)))[0].revision == 1


def test_a_writer_waits_for_its_turn_no_longer_than_was_said():
    store = SqliteStore.in_memory(busy_timeout_s=0.05)
    refused = []

    def decide(_):
        other = threading.Thread(target=write)
        other.start()
        other.join()

    def write():
        with pytest.raises(StoreUnavailable, match="did not come"):
            contract.stored(store)
        refused.append(True)

    drive(store, store.commit(ALICE, TurnRequest(), decide))

    assert refused == [True]
    contract.stored(store)
    drive(store, store.close())


def test_a_decision_that_writes_is_refused_and_stops_nobody(store):
    with pytest.raises(ValueError, match="must not call the store"):
        drive(store, store.commit(ALICE, TurnRequest(), lambda _: contract.stored(store)))

    contract.stored(store)


def test_a_decision_may_read(store):
    seen = []

    def decide(_):
        seen.append(drive(store, store.rows(ALICE)))

    contract.stored(store)
    drive(store, store.commit(ALICE, TurnRequest(), decide))

    assert len(seen[0]) == 1


def test_the_heads_are_asked_for_once_while_nothing_is_written(store):
    contract.stored(store)
    asked = []
    store._place.writer.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))

    told = [drive(store, store.heads((ALICE, BOB))) for _ in range(3)]

    assert len(asked) == 1
    assert told[0] == told[1] == told[2]


def test_two_stores_have_nothing_in_common(store):
    other = SqliteStore.in_memory()
    contract.stored(store)

    assert drive(other, other.owners()) == ()
    assert drive(other, other.keys()) != drive(store, store.keys())
    drive(other, other.close())


def test_nothing_is_kept_outside_of_memory(store):
    wanted = {"temp_store": 2, "journal_mode": "memory", "secure_delete": 1}

    assert {name: store._place.writer.pragma(name) for name in wanted} == wanted
    assert store._place.writer.filename == ""


def test_a_store_that_was_not_used_can_be_closed():
    store = SqliteStore.in_memory()
    drive(store, store.close())

    with pytest.raises(StoreUnavailable, match="closed"):
        drive(store, store.owners())


def test_a_portrait_shows_one_moment_and_stops_no_writer(store):
    contract.stored(store)

    async def look():
        async with store.portrait(ALICE) as portrait:
            contract.stored(store)
            items = []
            while some := await portrait.next():
                items += some
            return items

    items = drive(store, look())

    assert sum(item.type == "memory" for item in items) == 1
    assert len(drive(store, store.rows(ALICE))) == 2
