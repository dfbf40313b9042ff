"""Random lives of a store and of a model in step: whatever is written, all reads agree.

Owners, ids, keys and sessions come from small pools, so that changes collide, and about a third
of the changes do not fit: both must then refuse and stay as they were.
"""

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from model_store import ModelStore

from simonides.domain.codecs.memory import decode, encode_state
from simonides.domain.memory import Status
from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.writing.change import (
    Change,
    IdempotencyRecord,
    JournalEntry,
    NewState,
    PolicyRecord,
    Renewed,
    TurnRequest,
)
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE, BOB, Samples
from simonides.testing.store_contract import MemoryStoreContract, drive, verify_chain

LIVES = int(os.environ.get("STORE_LIVES", "60"))

TASK = Scope.of_task("acme", "alice", "t1")
OWNERS = (ALICE, BOB)
IDS = tuple(f"m{n}" for n in range(8))
KEYS = ("k1", "k2")

owners = st.sampled_from(OWNERS)
ids = st.sampled_from(IDS)
few_ids = st.lists(ids, max_size=3, unique=True).map(tuple)
statuses = st.sampled_from(Status)
names = st.sampled_from(("a", "b", "c"))
fingerprints = st.lists(st.sampled_from((b"1" * 32, b"2" * 32)), max_size=2).map(tuple)
grants = st.builds(Grant, names, st.sampled_from(Right), st.sampled_from((None, "x")), names)


class StoresInStep(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.reference = ModelStore()
        self.tried = self.open()
        self.make = Samples()
        self.contract = MemoryStoreContract()
        self.heads = {owner: [] for owner in OWNERS}

    def open(self):
        return SqliteStore.open(self.directory / "m.db", synchronous="normal")

    def teardown(self):
        drive(self.tried, self.tried.close())
        shutil.rmtree(self.directory)

    def commit(self, owner, change, *, since=None, **request):
        """Commit to both and compare what each showed, returned or refused."""
        told = []
        for store in (self.reference, self.tried):
            seen = []

            def decide(snapshot, seen=seen):
                seen.append(anonymous_snapshot(snapshot))
                return change

            asked = TurnRequest(since=self.since_for(store, owner, since), **request)
            try:
                committed = drive(store, store.commit(owner, asked, decide))
                told.append((seen, anonymous(committed.head), committed.rows))
            except ValueError:
                told.append((seen, None, "refused"))
        assert told[0] == told[1]
        self.remember_heads(owner)

    def remember_heads(self, owner):
        pair = [drive(store, store.heads((owner,)))[0] for store in (self.reference, self.tried)]
        self.heads[owner].append(pair)

    def since_for(self, store, owner, place):
        """The head that a store gave at a place in its past, or None."""
        past = self.heads[owner]
        if place is None or not past:
            return None
        return past[place % len(past)][0 if store is self.reference else 1]

    def standing(self, owner):
        rows = drive(self.reference, self.reference.rows(owner))
        return {row.id: decode(row) for row in rows}

    @initialize()
    def begin_with_something(self):
        for owner in OWNERS:
            self.commit(owner, self.make.change(self.make.memory(scope=owner, key="k1")))

    @rule(
        owner=owners,
        id=ids,
        key=st.sampled_from((None, *KEYS)),
        status=statuses,
        in_task=st.booleans(),
        parents=few_ids,
        since=st.none() | st.integers(0, 50),
    )
    def add(self, owner, id, key, status, in_task, parents, since):
        scope = TASK if in_task else owner
        memory = self.make.memory(scope=scope, id=id, key=key, status=status, parents=parents)

        self.commit(owner, self.make.change(memory), since=since)

    @rule(owner=owners, old=ids, new=ids, status=statuses)
    def supersede(self, owner, old, new, status):
        standing = self.standing(owner).get(old, self.make.memory(id=old, scope=owner))
        successor = replace(self.make.successor(standing), id=new)
        retired = replace(standing, status=status, superseded_by=new)

        self.commit(owner, self.make.change(successor, restated=(retired,)))

    @rule(owner=owners, wanted=few_ids, status=statuses, confidence=st.floats(0, 1))
    def restate(self, owner, wanted, status, confidence):
        standing = self.standing(owner)
        memories = [standing.get(id, self.make.memory(id=id, scope=owner)) for id in wanted]
        restated = [replace(m, status=status, confidence=confidence) for m in memories]
        whole, told = restated[: len(wanted) // 2], restated[len(wanted) // 2 :]
        states = tuple(NewState(memory.id, encode_state(memory)) for memory in told)

        self.commit(owner, self.make.change(restated=whole, states=states))

    @rule(
        owner=owners,
        wanted=few_ids,
        back=st.integers(0, 1),
        before=st.sampled_from((None, b"", b"anew 1")),
        name=st.sampled_from((b"anew 1", b"anew 2")),
    )
    def make_entries_anew(self, owner, wanted, back, before, name):
        rows = drive(self.reference, self.reference.get(owner, wanted))
        asked = [
            Renewed(r.id, r.revision - back, r.entry if before is None else before, name, "a", "e")
            for r in rows
        ]

        told = [drive(s, s.renew(owner, asked)) for s in (self.reference, self.tried)]

        assert told[0] == told[1]

    @rule(owner=owners, wanted=few_ids)
    def forget(self, owner, wanted):
        events = (self.make.event(*wanted, scope=owner),)

        self.commit(owner, self.make.change(forgotten=wanted, events=events))

    @rule(
        owner=owners,
        tombstones=fingerprints,
        revived=fingerprints,
        granted=st.lists(grants, max_size=2).map(tuple),
        revoked=st.lists(grants, max_size=2).map(tuple),
        keys=st.lists(names, max_size=2).map(tuple),
        policy=st.sampled_from((None, b"1" * 32, b"2" * 32)),
        refused=st.lists(names, max_size=2).map(tuple),
    )
    def change_the_rest(self, owner, tombstones, revived, granted, revoked, keys, policy, refused):
        change = self.make.change(
            tombstones=tombstones,
            revived=revived,
            granted=granted,
            revoked=revoked,
            idempotency=tuple(IdempotencyRecord(key, b"r", b"{}") for key in keys),
            held=(self.make.held(session=keys[0] if keys else None),),
            reviews=(self.make.review(status="decided" if keys else "open"),),
            session_steps=(self.make.session_step("s", keys=len(keys)),),
            outbox=(self.make.outbox_item(),),
            policy=None if policy is None else PolicyRecord(policy, 1, b"{}"),
            consents=tuple(map(self.make.consent, refused)),
        )
        asked = {"idempotency_keys": ("a", "b"), "tombstones": (b"1" * 32,), "grants": True}

        self.commit(owner, change, policy=True, **asked)

    @rule(owner=owners, places=st.lists(st.integers(0, 5), max_size=2), parent=ids, child=ids)
    def let_go(self, owner, places, parent, child):
        held = drive(self.reference, self.reference.held(owner))
        work = drive(self.reference, self.reference.outbox(source=owner))
        gone = tuple(held[place].id for place in places if place < len(held))
        settled = [work[place].item.id for place in places if place < len(work)]

        self.commit(owner, self.make.change(released=gone))
        for store in (self.reference, self.tried):
            drive(store, store.settle(owner, settled, edges=[(parent, OWNERS[0], child)]))

    @rule(owner=owners, back=st.integers(0, 3))
    def turn_back_the_clock(self, owner, back):
        self.commit(owner, Change(known_at=self.make.clock.now_us() - back))

    @rule(owner=owners, names=st.lists(names, max_size=3))
    def journal(self, owner, names):
        entries = [JournalEntry(self.make.clock.now_us(), name, b"{}") for name in names]
        for store in (self.reference, self.tried):
            drive(store, store.journal({owner: entries}))

    @rule()
    def reopen(self):
        drive(self.tried, self.tried.close())
        self.tried = self.open()

    @rule(owner=owners, place=st.integers(0, 50), ago=st.integers(-1, 20))
    def read_more(self, owner, place, ago):
        known_at = self.make.clock.now_us() - ago
        told = []
        for store in (self.reference, self.tried):
            since = self.since_for(store, owner, place)
            told.append(
                (
                    anonymous_snapshot(drive(store, store.snapshot(owner, since=since))),
                    drive(store, store.as_of(owner, known_at)),
                    drive(store, store.as_of(owner, known_at, superseded=True)),
                    drive(store, store.rows(owner, after=IDS[place % len(IDS)], limit=2)),
                    [drive(store, store.history(owner, id)) for id in IDS],
                    [drive(store, store.keyed(owner, s, k)) for s in (owner, TASK) for k in KEYS],
                    drive(store, store.held(owner, session="a")),
                    drive(store, store.reviews(owner, status="open")),
                    drive(store, store.session_steps(owner)),
                    drive(store, store.outbox(limit=3)),
                    len(drive(store, store.links(owner, after=place, limit=4))),
                )
            )
        assert told[0] == told[1]

    @invariant()
    def all_that_is_shown_agrees(self):
        for owner in OWNERS:
            reference = self.contract.shown(self.reference, owner)
            tried = self.contract.shown(self.tried, owner)
            assert anonymous_shown(reference) == anonymous_shown(tried)
            verify_chain(tried.links, tried.chain_head)


def anonymous(head):
    """A head without what each store draws at random."""
    return head and head._replace(incarnation=b"")


def anonymous_snapshot(snapshot):
    return replace(snapshot, head=anonymous(snapshot.head))


def anonymous_shown(shown):
    return shown._replace(
        head=anonymous(shown.head),
        chain_head=shown.chain_head and shown.chain_head[1],
        links=[replace(link, mac=b"") for link in shown.links],
    )


TestStoresInStep = StoresInStep.TestCase
# Chosen: about 8 s. The examples are the same in each run: more of them are for a search.
TestStoresInStep.settings = settings(
    max_examples=LIVES,
    stateful_step_count=30,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


class InMemoryInStep(StoresInStep):
    reopen = None  # what is in memory is gone when it is closed

    def open(self):
        return SqliteStore.in_memory()


TestInMemoryInStep = InMemoryInStep.TestCase
TestInMemoryInStep.settings = TestStoresInStep.settings


def test_postgresql_in_step(postgres):
    """The same life over PostgreSQL; fewer examples, for each takes a database of its own."""
    from simonides.storage.postgres.store import PostgresStore

    class InStep(StoresInStep):
        database = None

        def open(self):
            if self.database is None:
                self.database = postgres.new_database()
            return PostgresStore.open(postgres.url("simonides_app", self.database))

        def teardown(self):
            super().teardown()
            postgres.give_back(self.database)

    fewer = settings(
        TestStoresInStep.settings, max_examples=max(LIVES // 7, 1), stateful_step_count=25
    )
    run_state_machine_as_test(InStep, settings=fewer)
