"""The store contract, maintenance: isolation of owners, deletion, a chain that verifies."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from dataclasses import replace

import pytest

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.memory import decode
from simonides.domain.memory import Record
from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.writing.change import IdempotencyRecord, JournalEntry, PolicyRecord
from simonides.ports import MemoryStore
from simonides.testing.contracts.base import (
    ALL,
    ContractBase,
    drive,
    verify_chain,
)
from simonides.testing.samples import ALICE, BOB

STRANGERS = (
    BOB,
    Scope.of_org("acme"),
    Scope.of_global(),
    Scope.of_user("acme", "alice2"),
    Scope.of_user("acme2", "alice"),
    Scope.of_user("acme", "Alice"),
    Scope.of_session("acme", "alice"),
    Scope.of_org("alice"),
)
"""Owners whose names are similar to ALICE's."""


class CareContract(ContractBase):
    """One owner's rows are never another's, and forgotten memories are deleted."""

    def test_nothing_of_an_owner_is_shown_to_another(self, store: MemoryStore) -> None:
        memory = self.everything_of(store, ALICE)

        for stranger in STRANGERS:
            assert set(self.shown(store, stranger)._replace(owners=())) == {None, ()}
            assert drive(store, store.get(stranger, (memory.id,))) == ()
            assert drive(store, store.history(stranger, memory.root)) == ()
            assert drive(store, store.keyed(stranger, ALICE, "k")) == ()
            assert drive(store, store.keyed(stranger, stranger, "k")) == ()
            assert drive(store, store.states(stranger, memory.id)) == ()
            assert drive(store, store.as_of(stranger, self.make.clock.now_us())) == ()
            assert drive(store, store.held(stranger, session="s")) == ()
            assert drive(store, store.derived(stranger, memory.id)) == ()
            assert drive(store, store.size(stranger)) == (0, 0)

    def test_nothing_of_an_owner_is_seen_under_anothers_turn(self, store: MemoryStore) -> None:
        self.everything_of(store, ALICE)
        self.stored(store, scope=BOB)

        seen = self.seen_under_turn(
            store,
            BOB,
            idempotency_keys=("done",),
            tombstones=(b"t" * 32,),
            grants=True,
            policy=True,
            held=True,
            session="s",
        )

        assert [decode(row).scope for row in seen.rows] == [BOB]
        assert (seen.idempotent, seen.tombstoned, seen.grants) == ({}, frozenset(), ())
        assert seen.policy is None
        assert seen.consents == ()
        assert (seen.held, seen.session_step) == ((), None)

    def test_nothing_of_an_owner_is_changed_by_another(self, store: MemoryStore) -> None:
        memory = self.everything_of(store, ALICE)
        self.stored(store, scope=BOB)
        before = self.shown(store)
        foreign = replace(memory, scope=BOB, pinned=True)

        for change in (
            self.make.change(restated=(foreign,)),
            self.make.change(forgotten=(memory.id,)),
            self.make.change(self.make.successor(foreign)),
        ):
            with pytest.raises(ValueError):  # noqa: PT011 - stores word it differently
                self.write(store, change, BOB)
        edges = ((memory.id, BOB, "child"),)
        drive(store, store.settle(BOB, [item.item.id for item in before.outbox], edges=edges))
        self.write(
            store,
            self.make.change(
                released=tuple(held.id for held in before.held),
                revoked=before.grants,
                revived=(b"t" * 32,),
                idempotency=(IdempotencyRecord("done", b"other", b"{}"),),
            ),
            BOB,
        )

        assert self.shown(store) == before
        assert self.seen_under_turn(store, tombstones=(b"t" * 32,)).tombstoned

    def test_who_reads_is_told_of_tombstones_as_who_writes_is(self, store: MemoryStore) -> None:
        kept, lifted, unknown = (name * 32 for name in (b"k", b"l", b"u"))
        asked = (unknown, kept, lifted, kept)
        assert drive(store, store.tombstoned(ALICE, asked)) == frozenset()
        self.write(store, self.make.change(tombstones=(kept, lifted)))
        assert drive(store, store.tombstoned(ALICE, asked)) == {kept, lifted}

        self.write(store, self.make.change(revived=(lifted,)))

        assert drive(store, store.tombstoned(ALICE, asked)) == {kept}
        assert self.seen_under_turn(store, tombstones=asked).tombstoned == {kept}
        assert drive(store, store.tombstoned(ALICE, ())) == frozenset()
        assert drive(store, store.tombstoned(BOB, asked)) == frozenset()

    def test_two_owners_may_use_the_same_ids(self, store: MemoryStore) -> None:
        self.everything_of(store, ALICE, id="same")
        self.everything_of(store, BOB, id="same")
        mine = self.shown(store)
        event = self.make.event("same", scope=BOB)

        self.write(store, self.make.change(forgotten=("same",), events=(event,)), BOB)

        assert self.shown(store) == mine
        assert drive(store, store.get(BOB, ("same",))) == ()

    def test_tasks_keep_their_scope_within_the_owner(self, store: MemoryStore) -> None:
        tasks = [Scope.of_task("acme", "alice", name) for name in ("t1", "t2")]
        for task in tasks:
            self.stored(store, scope=task, key="k")

        rows = drive(store, store.snapshot(ALICE)).rows

        assert [decode(row).scope for row in rows] == tasks
        for task in tasks:
            (row,) = drive(store, store.keyed(ALICE, task, "k"))
            assert decode(row).scope == task
        assert drive(store, store.keyed(ALICE, ALICE, "k")) == ()

    def test_what_is_forgotten_is_gone_from_every_read(self, store: MemoryStore) -> None:
        kept = self.stored(store, key="k")
        gone = self.stored(store, key="k")
        self.write(store, self.make.change(restated=(replace(gone, pinned=True),)))
        known_at = self.make.clock.now_us()

        self.write(store, self.make.change(forgotten=(gone.id,)))

        assert drive(store, store.get(ALICE, (gone.id,))) == ()
        assert drive(store, store.states(ALICE, gone.id)) == ()
        assert drive(store, store.history(ALICE, gone.root)) == ()
        for rows in (
            drive(store, store.snapshot(ALICE)).rows,
            drive(store, store.rows(ALICE)),
            drive(store, store.keyed(ALICE, ALICE, "k")),
            drive(store, store.as_of(ALICE, known_at)),
        ):
            assert [row.id for row in rows] == [kept.id]

    def test_forgetting_raises_the_epoch(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        before = self.shown(store).head

        after = self.write(store, self.make.change(forgotten=(memory.id,))).head

        assert before is not None
        assert after is not None
        assert after[:3] == (before.incarnation, before.epoch + 1, before.revision + 1)
        assert drive(store, store.snapshot(ALICE, since=before)).complete

    def test_forgetting_erases_payloads_and_the_chain_verifies(self, store: MemoryStore) -> None:
        kept, gone = self.stored(store), self.stored(store)
        both = self.make.event(kept.id, gone.id)
        self.write(store, self.make.change(events=(both,)))
        farewell = self.make.event(gone.id)

        self.write(store, self.make.change(forgotten=(gone.id,), events=(farewell,)))

        links = drive(store, store.links(ALICE))
        assert [link.payload is None for link in links] == [False, True, True, False]
        assert [link.salt is None for link in links] == [False, True, True, False]
        verify_chain(links, drive(store, store.chain_head(ALICE)))

    def test_nothing_that_was_written_is_damaged_or_astray(self, store: MemoryStore) -> None:
        first, gone = self.stored(store, key="k"), self.stored(store)
        self.write(store, self.make.change(restated=(replace(first, pinned=True),)))
        second = self.make.successor(first)
        retired = self.make.superseded(first, second)
        self.write(store, self.make.change(second, restated=(retired,)))
        change = self.make.change(self.make.memory())
        self.write(store, replace(change, added=(change.added[0]._replace(entry=b""),)))
        self.write(store, self.make.change(forgotten=(gone.id,)))
        drive(store, store.journal({BOB: (JournalEntry(1, "access", b"{}"),)}))

        assert drive(store, store.damaged(ALICE)) == ()
        assert drive(store, store.damaged(BOB)) == ()
        assert drive(store, store.strays()) == ()

    def test_a_forgotten_id_may_be_used_again(self, store: MemoryStore) -> None:
        memory = self.stored(store, key="k")
        self.write(store, self.make.change(restated=(memory,)))
        self.write(store, self.make.change(forgotten=(memory.id,)))

        self.add(store, memory)

        assert self.live_ids(store) == [memory.id]
        assert len(drive(store, store.states(ALICE, memory.id))) == 1
        assert len(drive(store, store.history(ALICE, memory.root))) == 1

    def test_numbering_goes_on_after_the_highest_version_left(self, store: MemoryStore) -> None:
        first = self.stored(store)
        second = self.make.successor(first)
        third = self.make.successor(second)
        self.add(store, second, third)

        self.write(store, self.make.change(forgotten=(third.id,)))
        self.write(store, self.make.change(forgotten=(first.id,)))

        self.add(store, self.make.successor(second))
        versions = drive(store, store.history(ALICE, first.root))
        assert [decode(row).version for row in versions] == [2, 3]

    def test_the_chain_holds_the_events_in_order(self, store: MemoryStore) -> None:
        events = [self.make.event(), self.make.event(details={"b": 1, "a": "ü"})]
        self.write(store, self.make.change(events=tuple(events)))
        events.append(self.make.event())
        committed = self.write(store, self.make.change(events=(events[2],)))

        links = drive(store, store.links(ALICE))

        assert [link.payload for link in links] == [canonical_json(e.to_dict()) for e in events]
        assert [link.salt for link in links] == [event.salt for event in events]
        assert committed.head is not None
        assert committed.head.seq == 3
        verify_chain(links, drive(store, store.chain_head(ALICE)))

    def test_links_are_paged_by_seq(self, store: MemoryStore) -> None:
        self.write(store, self.make.change(events=tuple(self.make.event() for _ in range(5))))

        page = drive(store, store.links(ALICE, after=1, limit=2))

        assert [link.seq for link in page] == [2, 3]
        assert [link.seq for link in drive(store, store.links(ALICE, after=3))] == [4, 5]
        assert drive(store, store.links(ALICE, after=5)) == ()

    def test_each_owner_has_a_chain_of_its_own(self, store: MemoryStore) -> None:
        event = self.make.event()
        for owner in (ALICE, BOB):
            self.write(store, self.make.change(events=(event,)), owner)

        mine, others = self.shown(store), self.shown(store, BOB)

        assert mine.chain_head is not None
        assert others.chain_head is not None
        assert mine.chain_head[0] != others.chain_head[0]
        assert mine.links[0].commitment == others.links[0].commitment
        assert mine.links[0].mac != others.links[0].mac
        verify_chain(others.links, others.chain_head)

    def test_a_journal_is_in_no_chain_and_no_revision(self, store: MemoryStore) -> None:
        self.stored(store)
        before = self.shown(store)
        entry = JournalEntry(1, "access", b"{}")

        drive(store, store.journal({ALICE: (entry,)}))
        drive(store, store.journal({BOB: (entry,)}))

        assert self.shown(store) == before._replace(journaled=(entry,))
        assert drive(store, store.heads((BOB,))) == (None,)
        assert drive(store, store.owners()) == (ALICE,)

    def everything_of(self, store: MemoryStore, owner: Scope, id: str | None = None) -> Record:
        """Write one item of each kind for an owner and return its only memory."""
        memory = self.make.memory(scope=owner, key="k", id=id)
        change = self.make.change(
            memory,
            tombstones=(b"t" * 32,),
            held=(self.make.held(session="s"), self.make.held()),
            reviews=(self.make.review(),),
            session_steps=(self.make.session_step("s"),),
            idempotency=(IdempotencyRecord("done", b"request", b"{}"),),
            outbox=(self.make.outbox_item(),),
            granted=(Grant("carol", Right.ADMIN),),
            consents=(self.make.consent("salary"),),
            policy=PolicyRecord(b"p" * 32, 1, b"{}"),
        )
        self.write(store, change, owner)
        drive(store, store.journal({owner: (JournalEntry(1, "access", b"{}"),)}))
        assert len(drive(store, store.rows(owner, limit=ALL))) == 1
        return memory
