"""Turns that were foreseen: decided while the server takes them, and only if they were rightly."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simonides
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import SimonidesError
from simonides.domain.scope import Scope
from simonides.domain.writing.change import IdempotencyRecord, TurnRequest
from simonides.testing import ALICE
from simonides.testing.contracts.base import verify_chain
from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.store import PostgresStore
from simonides.storage.postgres.wire.pool import Line

APP = "simonides_app"
PRINT = b"p" * 32

contract = MemoryStoreContract()


@pytest.fixture
def url(postgres, database):
    return postgres.url(APP, database)


@pytest.fixture
def store(url):
    store = PostgresStore.open(url)
    yield store
    drive(store, store.close())


@pytest.fixture
def other(url):
    """Another process's store over the same database."""
    store = PostgresStore.open(url)
    yield store
    drive(store, store.close())


@pytest.fixture
def waits(monkeypatch):
    """The names of the statements that each wait for an answer was for."""
    waited = []
    run, send = Line.run, Line.send
    ahead = []

    def sending(line, *statements):
        ahead.extend(name for name, _ in statements)
        send(line, *statements)

    async def running(line, *statements, timeout_s, **how):
        waited.append([*ahead, *(name for name, _ in statements)])
        ahead.clear()
        return await run(line, *statements, timeout_s=timeout_s, **how)

    monkeypatch.setattr(Line, "send", sending)
    monkeypatch.setattr(Line, "run", running)
    return waited


class Writer:
    """Writes for one owner over one store, from the head that it left it at."""

    def __init__(self, store, owner=ALICE):
        self.store, self.owner = store, owner
        self.head = None
        self.seen = []

    def write(self, change=None, **request):
        """Commit what a function makes of a snapshot, by default one more memory."""

        def decide(snapshot):
            self.seen.append(snapshot)
            return (change or self.one_more)(snapshot)

        asked = TurnRequest(since=self.head, is_brief=True, **request)
        committed = drive(self.store, self.store.commit(self.owner, asked, decide))
        self.head = committed.head
        return committed

    def one_more(self, snapshot):
        return contract.make.change(contract.make.memory(scope=self.owner))


@pytest.fixture
def writer(store):
    """A writer whose next turn can be foreseen."""
    writer = Writer(store)
    writer.write()
    writer.seen.clear()
    return writer


FORESEEN = ["begin", "take_turn_as_foreseen", "add_and_move", "commit"]


def test_who_finds_an_owner_as_it_was_left_waits_once(writer, waits):
    before = writer.head

    committed = writer.write()

    assert waits == [FORESEEN]
    assert [snapshot.head for snapshot in writer.seen] == [before]
    assert committed.head.revision == before.revision + 1
    assert len(contract.live_ids(writer.store)) == 2


def test_who_has_not_written_before_takes_its_turn_first(store, waits):
    Writer(store).write()

    # What goes with all of its rows comes in the same wait.
    assert waits == [["begin", "take_turn", "consents"], ["add_and_move", "commit"]]


def test_a_turn_that_another_took_is_decided_anew_on_what_stands(writer, other):
    (theirs,) = Writer(other).write().rows

    writer.write()

    foreseen, stood = writer.seen
    assert foreseen.rows == ()
    assert [row.id for row in stood.rows] == [theirs.id]
    assert stood.head.revision == foreseen.head.revision + 1
    assert len(contract.live_ids(other)) == 3
    shown = contract.shown(writer.store)
    verify_chain(shown.links, shown.chain_head)


def test_who_writes_beside_others_foresees_nothing_until_it_is_alone_again(writer, other, waits):
    beside = Writer(other)
    beside.write()
    writer.write()
    beside.write()
    waits.clear()

    for _ in range(3):
        writer.write()

    # Found moved once more; then as it was left; then foreseen.
    assert [names[1] for names in waits] == [
        "take_turn",
        "commit",
        "take_turn",
        "commit",
        "take_turn_as_foreseen",
    ]


def test_a_tombstone_that_stands_is_seen(writer):
    writer.write(lambda _: contract.make.change(tombstones=(PRINT,)))
    writer.seen.clear()

    writer.write(tombstones=(PRINT,))

    assert [snapshot.tombstoned for snapshot in writer.seen] == [frozenset(), {PRINT}]


@pytest.mark.parametrize(
    "request_",
    [{"idempotency_keys": ("k",)}, {"grants": True}, {"policy": True}],
    ids=["keys", "grants", "policy"],
)
def test_who_asks_for_more_reads_it_under_the_turn(writer, waits, request_):
    done = (IdempotencyRecord("k", b"request", b"{}"),)
    writer.write(lambda _: contract.make.change(idempotency=done))
    waits.clear()
    writer.seen.clear()

    writer.write(**request_)

    assert waits[0][1] == "take_turn"
    (seen,) = writer.seen
    assert bool(seen.idempotent) == ("idempotency_keys" in request_)


def test_a_decision_that_is_not_said_to_be_brief_is_made_under_the_turn(writer, waits):
    request = TurnRequest(since=writer.head)

    drive(writer.store, writer.store.commit(ALICE, request, writer.one_more))

    assert waits[0] == ["begin", "take_turn"]


def test_what_is_refused_is_refused_under_the_turn_and_leaves_nothing(writer, other):
    before = contract.shown(other)

    def refuse(snapshot):
        raise SimonidesError("no")

    with pytest.raises(SimonidesError, match="no"):
        writer.write(refuse)

    assert len(writer.seen) == 2
    assert contract.shown(other) == before
    writer.write()


def test_what_would_be_refused_of_what_was_foreseen_only_is_written(writer, other):
    Writer(other).write()

    def unless_alone(snapshot):
        if not snapshot.rows:
            raise SimonidesError("alone")
        return writer.one_more(snapshot)

    assert writer.write(unless_alone).rows


def test_nothing_to_write_is_nothing_written(writer, other):
    before = contract.shown(other)

    committed = writer.write(lambda _: None)

    assert committed == (before.head, ())
    assert contract.shown(other) == before


def test_a_decision_that_breaks_leaves_a_store_that_works(writer):
    def broken(snapshot):
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            writer.write(broken)
        writer.write()

    assert len(contract.live_ids(writer.store)) == 4


def test_a_change_that_does_not_fit_is_refused_as_ever(writer):
    known = contract.live_ids(writer.store)[0]

    with pytest.raises(ValueError, match="does not come next"):
        writer.write(lambda _: contract.make.change(contract.make.memory(id=known)))

    assert contract.live_ids(writer.store) == [known]


_names = itertools.count()


@settings(max_examples=25, deadline=None)
@given(who=st.lists(st.integers(0, 1), min_size=2, max_size=14))
def test_no_update_is_lost_whoever_writes_when(shared, who):
    """Each write supersedes what stands: one decided on anything else would break the chain."""
    owner = Scope("default", f"user-{next(_names)}")
    writers = [Successions(store, owner) for store in shared]

    for number in who:
        writers[number].write()

    root = writers[who[0]].standing.root
    chain = [decode(row) for row in drive(shared[0], shared[0].history(owner, root))]
    assert [memory.version for memory in chain] == list(range(1, len(who) + 1))
    assert [memory.status.is_live for memory in chain].count(True) == 1
    shown = contract.shown(shared[1], owner)
    verify_chain(shown.links, shown.chain_head)


class Successions(Writer):
    """Writes new versions of one memory, knowing only what its turns showed and what it wrote."""

    standing = None

    def write(self):
        committed = super().write()
        self.standing = self._live(committed.rows)
        return committed

    def one_more(self, snapshot):
        self.standing = self._live(snapshot.rows)
        if self.standing is None:
            return contract.make.change(contract.make.memory(scope=self.owner))
        new = contract.make.successor(self.standing)
        return contract.make.change(new, restated=(contract.make.superseded(self.standing, new),))

    def _live(self, rows):
        live = [memory for memory in map(decode, rows) if memory.status.is_live]
        return live[0] if live else self.standing


@pytest.fixture(scope="module")
def shared(postgres):
    """Two stores over one database, for all examples of a property."""
    name = postgres.new_database()
    stores = [PostgresStore.open(postgres.url(APP, name)) for _ in range(2)]
    yield stores
    for store in stores:
        drive(store, store.close())
    postgres.give_back(name)


def test_the_verbs_answer_the_same_though_another_process_wrote_between(url):
    with simonides.open(url) as one, simonides.open(url) as two:
        here, there = one.memory(user="ana"), two.memory(user="ana")
        for text in ("I like tea", "I like jazz"):
            here.remember(text)
        there.remember("I live in Lisbon", key="home")

        again = here.remember("I live in Porto", key="home")
        same = here.remember("I like tea")

        assert again.record.version == 2
        assert same.kind != "created"
        assert sorted(m.content for m in there.list()) == [
            "I like jazz",
            "I like tea",
            "I live in Porto",
        ]
