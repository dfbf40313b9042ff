"""The store contract, erasing: an owner's rows are deleted; MACs and tombstones stay."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from typing import Any

import pytest

from simonides.domain.canonical_json import canonical_json
from simonides.domain.event import EventType
from simonides.domain.governance.erasure import Purged
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Change, IdempotencyRecord, JournalEntry
from simonides.ports import MemoryStore
from simonides.testing.contracts.base import (
    ALL,
    ContractBase,
    drive,
    verify_chain,
)
from simonides.testing.samples import ALICE, BOB

BEFORE, SINCE = b"t" * 32, b"e" * 32


class ErasureContract(ContractBase):
    """What an erasure deletes, and what it keeps."""

    def erasing(self, **fields: object) -> Change:
        """Return a change that erases, with its event and a tombstone."""
        event = self.make.event(type=EventType.ERASED)
        said: dict[str, Any] = {"events": (event,), "tombstones": (SINCE,), "erased": True}
        return self.make.change(**(said | fields))

    def lived(self, store: MemoryStore, owner: Scope = ALICE) -> None:
        """Write data of an owner: two memories, one derived, and one of every pending item."""
        parent = self.stored(store, scope=owner, key="k")
        child = self.make.memory(scope=owner, parents=(parent.id,))
        change = self.make.change(
            child,
            tombstones=(BEFORE,),
            held=(self.make.held(session="s"),),
            session_steps=(self.make.session_step("s"),),
            idempotency=(IdempotencyRecord("done", b"request", b"{}"),),
            outbox=(self.make.outbox_item(),),
        )
        self.write(store, change, owner)
        self.note(store, owner, self.make.clock.now_us())

    def note(self, store: MemoryStore, owner: Scope, at: int, said: str = "seen") -> None:
        entry = JournalEntry(at, "digest", canonical_json({"id": said}))
        drive(store, store.journal({owner: (entry,)}))

    def test_an_erased_owner_keeps_codes_and_tombstones_and_nothing_else(
        self, store: MemoryStore
    ) -> None:
        self.lived(store)
        before = self.shown(store)
        counted = self.seen_under_turn(store, counts=True).counts

        head = self.write(store, self.erasing()).head

        after = self.shown(store)
        assert counted["memories"] == 2
        assert counted["states"] == 2
        assert {
            "lookups",
            "index_rows",
            "held",
            "outbox",
            "derivations",
            "session_ends",
        } <= counted.keys()
        assert counted["read_journal"] == counted["tombstones"] == counted["idempotency"] == 1
        empty = after._replace(head=None, links=(), chain_head=None, owners=(), strays=())
        assert set(empty) == {None, ()}
        assert ALICE not in after.owners
        assert [link.payload is None for link in after.links] == [True, True, False]
        codes = [(link.commitment, link.mac) for link in before.links]
        assert [(link.commitment, link.mac) for link in after.links[:-1]] == codes
        verify_chain(after.links, after.chain_head)
        assert before.head is not None
        assert head is not None
        assert after.head == head
        assert head.incarnation != before.head.incarnation
        assert head.revision == before.head.revision + 1
        seen = self.seen_under_turn(
            store, since=before.head, tombstones=(BEFORE, SINCE), idempotency_keys=("done",)
        )
        assert (seen.complete, seen.rows, seen.idempotent) == (True, (), {})
        assert seen.tombstoned == {BEFORE, SINCE}
        assert self.seen_under_turn(store, counts=True).counts == {
            "events": 3,
            "event_payloads": 1,
            "tombstones": 2,
        }

    def test_erasing_an_owner_leaves_others_as_they_were(self, store: MemoryStore) -> None:
        others = (BOB, Scope.of_org("acme"), Scope.of_session("acme", "alice"))
        for owner in (ALICE, *others):
            self.lived(store, owner)
        before = [self.shown(store, owner)._replace(owners=()) for owner in others]

        self.write(store, self.erasing())

        assert [self.shown(store, owner)._replace(owners=()) for owner in others] == before
        assert drive(store, store.owners()) == tuple(sorted(others, key=lambda each: each.path))

    def test_who_was_erased_may_come_back(self, store: MemoryStore) -> None:
        self.lived(store)
        erased = self.write(store, self.erasing()).head

        memory = self.stored(store)

        shown = self.shown(store)
        assert erased is not None
        assert shown.head is not None
        assert shown.head[:3] == (erased.incarnation, erased.epoch, erased.revision + 1)
        assert [row.id for row in shown.rows] == [memory.id]
        assert shown.owners == (ALICE,)
        assert shown.strays == ()
        verify_chain(shown.links, shown.chain_head)
        assert self.seen_under_turn(store, tombstones=(BEFORE,)).tombstoned == {BEFORE}

    def test_work_for_others_outlives_the_erasure_that_made_it(self, store: MemoryStore) -> None:
        self.lived(store)
        work = self.make.outbox_item(BOB)

        self.write(store, self.erasing(outbox=(work,)))

        assert [each.item for each in drive(store, store.outbox(source=ALICE))] == [work]
        (pending,) = drive(store, store.outbox())
        assert (pending.source, pending.item) == (ALICE, work)
        drive(store, store.settle(ALICE, [work.id]))
        assert drive(store, store.outbox()) == ()
        assert drive(store, store.owners()) == ()
        assert drive(store, store.strays()) == ()

    def test_what_readers_did_before_an_erasure_is_not_written_after_it(
        self, store: MemoryStore
    ) -> None:
        self.lived(store)
        read_at = self.make.clock.now_us()

        self.write(store, self.erasing())
        self.note(store, ALICE, read_at, "before")
        self.note(store, ALICE, self.make.clock.advance(us=1), "after")
        self.note(store, BOB, read_at, "another's")

        (kept,) = drive(store, store.journaled(ALICE))
        assert b"after" in kept.body
        assert len(drive(store, store.journaled(BOB))) == 1

    def test_who_has_only_read_can_be_erased_too(self, store: MemoryStore) -> None:
        self.note(store, ALICE, 1)
        counted = self.seen_under_turn(store, counts=True)

        self.write(store, self.erasing())

        assert (counted.head, counted.counts) == (None, {"read_journal": 1})
        assert drive(store, store.journaled(ALICE)) == ()
        assert drive(store, store.owners()) == ()

    def test_what_erases_an_owner_brings_nothing_that_would_stay(self, store: MemoryStore) -> None:
        self.lived(store)
        before = self.shown(store)

        for more in ({"held": (self.make.held(),)}, {"forgotten": ("x",)}):
            with pytest.raises(ValueError, match="an erased owner keeps no"):
                self.write(store, self.erasing(**more))

        assert self.shown(store) == before

    def test_forgetting_blanks_places_of_the_chain_and_entries_that_name_it(
        self, store: MemoryStore
    ) -> None:
        gone, kept = self.stored(store), self.stored(store)
        self.write(store, self.make.change(events=(self.make.event(),)))
        for said in (gone.id, kept.id, f"{gone.id}-longer"):
            self.note(store, ALICE, 1, said)
        access = JournalEntry(2, "access", canonical_json({"id": gone.id}))
        drive(store, store.journal({ALICE: (access,)}))

        change = self.make.change(
            forgotten=(gone.id,), blanked=(3, 99), unjournaled=("digest",), events=()
        )
        self.write(store, change)

        links = drive(store, store.links(ALICE))
        assert [link.payload is None for link in links] == [True, False, True]
        verify_chain(links, drive(store, store.chain_head(ALICE)))
        left = drive(store, store.journaled(ALICE, limit=ALL))
        assert [(each.kind, gone.id.encode() in each.body) for each in left] == [
            ("digest", False),
            ("digest", True),
            ("access", True),
        ]
        assert drive(store, store.derived(ALICE)) == ()

    def test_what_was_derived_from_any_memory_is_told_at_once(self, store: MemoryStore) -> None:
        parents = [self.stored(store), self.stored(store)]
        child = self.stored(store, parents=tuple(parent.id for parent in parents))
        self.stored(store, scope=BOB)
        edges = [(parents[0].id, BOB, "elsewhere")]
        drive(store, store.settle(ALICE, [], edges=edges))

        assert drive(store, store.derived(ALICE)) == ((ALICE, child.id), (BOB, "elsewhere"))

    def test_a_purge_changes_nothing_that_is_there(self, store: MemoryStore) -> None:
        self.lived(store)
        before = self.shown(store)

        purged = drive(store, store.purge(ALICE, (b"never written anywhere",)))

        assert isinstance(purged, Purged)
        assert self.shown(store) == before
