"""The store contract, other parts of a change: held candidates, grants, keys, bans, outbox."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from dataclasses import replace

from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.writing.change import (
    IdempotencyRecord,
    JournalEntry,
    PendingOutbox,
    PolicyRecord,
)
from simonides.ports import MemoryStore
from simonides.testing.contracts.base import ContractBase, drive, is_refused
from simonides.testing.samples import ALICE, BOB

ONE, TWO, THREE = (letter * 32 for letter in (b"1", b"2", b"3"))


class WorkContract(ContractBase):
    """All parts of a change except memories and events."""

    def test_held_candidates_come_by_id_and_by_session(self, store: MemoryStore) -> None:
        first, second, third = (self.make.held(session=s) for s in ("a", None, "b"))
        self.write(store, self.make.change(held=(third, first)))
        self.write(store, self.make.change(held=(second,)))

        assert drive(store, store.held(ALICE)) == (first, second, third)
        assert drive(store, store.held(ALICE, session="a")) == (first,)
        assert drive(store, store.held(ALICE, session="c")) == ()

    def test_a_held_candidate_is_let_go_or_replaced(self, store: MemoryStore) -> None:
        first, second, third = (self.make.held(session="a") for _ in range(3))
        self.write(store, self.make.change(held=(first, second)))
        newer = second._replace(body=b"[]", session="b")

        change = self.make.change(released=(first.id, second.id, "unknown"), held=(newer, third))
        self.write(store, change)
        self.write(store, self.make.change(held=(third._replace(reason="repeat"),)))

        assert drive(store, store.held(ALICE)) == (newer, third._replace(reason="repeat"))

    def test_the_steps_of_sessions_come_by_name_and_of_one(self, store: MemoryStore) -> None:
        first, second = (self.make.session_step(name, told=1) for name in ("a", "会 議"))
        self.write(store, self.make.change(session_steps=(second, first)))

        assert drive(store, store.session_steps(ALICE)) == (first, second)
        assert drive(store, store.session_steps(ALICE, session="会 議")) == (second,)
        assert drive(store, store.session_steps(ALICE, session="b")) == ()

    def test_a_step_replaces_that_of_its_session(self, store: MemoryStore) -> None:
        first, other = self.make.session_step("a"), self.make.session_step("b")
        self.write(store, self.make.change(session_steps=(first, other)))
        self.make.clock.advance(us=5)

        newer = self.make.session_step("a", "done", entries=7)
        self.write(store, self.make.change(session_steps=(newer,)))

        assert drive(store, store.session_steps(ALICE)) == (newer, other)

    def test_who_asks_sees_the_step_and_what_is_held_under_the_turn(
        self, store: MemoryStore
    ) -> None:
        step, others = self.make.session_step("a"), self.make.session_step("b")
        held = (self.make.held(session="a"), self.make.held())
        self.write(store, self.make.change(session_steps=(step, others), held=held[::-1]))

        seen = self.seen_under_turn(store, session="a", held=True)
        unknown = self.seen_under_turn(store, session="c")
        unasked = self.seen_under_turn(store)

        assert (seen.session_step, seen.held) == (step, held)
        assert (unknown.session_step, unknown.held) == (None, ())
        assert (unasked.session_step, unasked.held) == (None, ())

    def test_reviews_come_by_id_and_by_status(self, store: MemoryStore) -> None:
        first, second, third = (self.make.review() for _ in range(3))
        self.write(store, self.make.change(reviews=(third, first)))
        self.write(store, self.make.change(reviews=(second._replace(status="decided"),)))

        decided = second._replace(status="decided")
        assert drive(store, store.reviews(ALICE)) == (first, decided, third)
        assert drive(store, store.reviews(ALICE, status="open")) == (first, third)
        assert drive(store, store.reviews(ALICE, status="decided")) == (decided,)
        assert drive(store, store.reviews(ALICE, status="lost")) == ()

    def test_a_review_replaces_that_of_its_id(self, store: MemoryStore) -> None:
        first, second = self.make.review(), self.make.review()
        self.write(store, self.make.change(reviews=(first, second)))

        newer = first._replace(status="decided", at=first.at + 1, body=b"[]")
        self.write(store, self.make.change(reviews=(newer,)))

        assert drive(store, store.reviews(ALICE)) == (newer, second)

    def test_grants_come_by_grantee_then_name(self, store: MemoryStore) -> None:
        org = Scope.of_org("acme")
        grants = (
            Grant("ann", Right.ADMIN, by="root"),
            Grant("ann", Right.READ_USER, "alice", by="root"),
            Grant("ann", Right.READ_USER, "bob", by="root"),
            Grant("zed", Right.ORG_WRITE, by="root"),
        )
        self.write(store, self.make.change(granted=tuple(reversed(grants))), org)

        assert drive(store, store.grants(org)) == grants
        assert self.seen_under_turn(store, org, grants=True).grants == grants
        assert self.seen_under_turn(store, org).grants == ()

    def test_the_policy_recorded_last_is_shown_to_who_asks(self, store: MemoryStore) -> None:
        org = Scope.of_org("acme")
        first, second = PolicyRecord(ONE, 1, b"{}"), PolicyRecord(TWO, 2, b"[]")
        self.stored(store, scope=org)
        assert self.seen_under_turn(store, org, policy=True).policy is None

        for record in (first, second, first._replace(at=3)):
            self.write(store, self.make.change(policy=record), org)

            assert self.seen_under_turn(store, org, policy=True).policy == record
        assert self.seen_under_turn(store, org).policy is None

    def test_a_grant_is_known_by_grantee_right_and_subject(self, store: MemoryStore) -> None:
        org = Scope.of_org("acme")
        admin = Grant("ann", Right.ADMIN, by="root")
        reader = Grant("ann", Right.READ_USER, "bob", by="root")
        self.write(store, self.make.change(granted=(admin, reader)), org)

        again = replace(admin, by="other")
        self.write(store, self.make.change(granted=(again,)), org)
        assert drive(store, store.grants(org)) == (again, reader)

        gone = (Grant("ann", Right.READ_USER, "bob"), Grant("nobody", Right.ADMIN))
        self.write(store, self.make.change(revoked=gone), org)
        assert drive(store, store.grants(org)) == (again,)

    def test_a_write_done_under_a_key_is_found_again(self, store: MemoryStore) -> None:
        record = IdempotencyRecord("k1", b"r" * 32, b'{"kind":"created"}')
        other = record._replace(key="k2")
        self.write(store, self.make.change(idempotency=(record, other)))

        seen = self.seen_under_turn(store, idempotency_keys=("k1", "unknown", "\ud800"))

        assert seen.idempotent == {"k1": record}

    def test_tombstones_stand_until_revived(self, store: MemoryStore) -> None:
        self.write(store, self.make.change(tombstones=(ONE, TWO)))
        self.write(store, self.make.change(tombstones=(TWO,)))
        self.write(store, self.make.change(revived=(ONE, THREE)))

        seen = self.seen_under_turn(store, tombstones=(ONE, TWO, THREE))

        assert seen.tombstoned == {TWO}
        assert self.seen_under_turn(store, tombstones=(ONE,)).tombstoned == frozenset()

    def test_what_a_change_sets_outlives_what_it_lifts(self, store: MemoryStore) -> None:
        grant = Grant("ann", Right.ADMIN)

        self.write(
            store,
            self.make.change(tombstones=(ONE,), revived=(ONE,), granted=(grant,), revoked=(grant,)),
        )

        assert self.seen_under_turn(store, tombstones=(ONE,)).tombstoned == {ONE}
        assert drive(store, store.grants(ALICE)) == (grant,)

    def test_the_outbox_comes_by_id_over_all_owners(self, store: MemoryStore) -> None:
        first, second, third = (self.make.outbox_item() for _ in range(3))
        self.write(store, self.make.change(outbox=(third, first)))
        self.write(store, self.make.change(outbox=(second,)), BOB)

        mine = (PendingOutbox(ALICE, first), PendingOutbox(ALICE, third))
        assert drive(store, store.outbox(source=ALICE)) == mine
        everyones = (mine[0], PendingOutbox(BOB, second), mine[1])
        assert drive(store, store.outbox()) == everyones
        assert drive(store, store.outbox(limit=2)) == everyones[:2]

    def test_settled_work_is_gone_and_raises_no_revision(self, store: MemoryStore) -> None:
        first, second = self.make.outbox_item(), self.make.outbox_item()
        head = self.write(store, self.make.change(outbox=(first, second))).head

        drive(store, store.settle(ALICE, (first.id, "unknown", "\ud800")))
        drive(store, store.settle(ALICE, (first.id,)))
        drive(store, store.settle(BOB, (second.id,)))

        assert drive(store, store.outbox()) == (PendingOutbox(ALICE, second),)
        assert drive(store, store.heads((ALICE,))) == (head,)

    def test_a_memory_is_kept_with_its_parents_of_the_same_owner(self, store: MemoryStore) -> None:
        parent, foreign = self.stored(store), self.stored(store, scope=BOB)
        ids = (parent.id, foreign.id, "unknown", parent.id)
        child = self.make.memory(parents=ids)
        grandchild = self.make.memory(parents=(child.id,))

        self.add(store, grandchild, child)

        assert drive(store, store.derived(ALICE, parent.id)) == ((ALICE, child.id),)
        assert drive(store, store.derived(ALICE, child.id)) == ((ALICE, grandchild.id),)
        assert drive(store, store.derived(ALICE, foreign.id)) == ()
        assert drive(store, store.derived(BOB, foreign.id)) == ()

    def test_who_settles_tells_what_was_derived_elsewhere(self, store: MemoryStore) -> None:
        parent, item = self.stored(store), self.make.outbox_item()
        head = self.write(store, self.make.change(outbox=(item,))).head
        org = Scope.of_org("acme")
        copy, promoted = self.stored(store, scope=BOB), self.stored(store, scope=org)
        edges = ((parent.id, BOB, copy.id), (parent.id, org, promoted.id))

        for _ in range(2):
            drive(store, store.settle(ALICE, (item.id,), edges=edges))

        by_path = ((org, promoted.id), (BOB, copy.id))
        assert drive(store, store.derived(ALICE, parent.id)) == by_path
        assert drive(store, store.outbox()) == ()
        assert drive(store, store.heads((ALICE,))) == (head,)
        for owner, id in by_path:
            assert drive(store, store.derived(owner, id)) == ()

    def test_an_edge_of_no_parent_or_to_nobody_is_not_kept(self, store: MemoryStore) -> None:
        parent = self.stored(store)
        nobody = Scope.of_org("nobody")

        edges = (("unknown", BOB, "c"), ("\ud800", BOB, "c"), (parent.id, nobody, "c"))
        drive(store, store.settle(ALICE, (), edges=edges))
        drive(store, store.settle(nobody, (), edges=edges))

        assert drive(store, store.derived(ALICE, parent.id)) == ()
        assert drive(store, store.derived(ALICE, "unknown")) == ()
        assert drive(store, store.owners()) == (ALICE,)

    def test_an_edge_that_cannot_be_kept_settles_nothing(self, store: MemoryStore) -> None:
        parent, item = self.stored(store), self.make.outbox_item()
        self.write(store, self.make.change(outbox=(item,)))
        fit = (parent.id, ALICE, "child")
        task = Scope.of_task("acme", "alice", "t1")

        for unfit in ((parent.id, task, "child"), (parent.id, ALICE, "\ud800")):
            call = store.settle(ALICE, (item.id,), edges=(fit, unfit))
            assert is_refused(store, call, ValueError)

        assert drive(store, store.outbox()) == (PendingOutbox(ALICE, item),)
        assert drive(store, store.derived(ALICE, parent.id)) == ()

    def test_edges_go_with_parent_and_child_but_those_to_others_stay(
        self, store: MemoryStore
    ) -> None:
        one, two = self.stored(store), self.stored(store)
        copy = self.stored(store, scope=BOB)
        child = self.stored(store, parents=(one.id, two.id))
        drive(store, store.settle(ALICE, (), edges=((one.id, BOB, copy.id),)))

        self.write(store, self.make.change(forgotten=(child.id,)))
        assert drive(store, store.derived(ALICE, one.id)) == ((BOB, copy.id),)
        assert drive(store, store.derived(ALICE, two.id)) == ()

        last = self.stored(store, parents=(one.id,))
        self.write(store, self.make.change(forgotten=(one.id,)))
        assert drive(store, store.derived(ALICE, one.id)) == ((BOB, copy.id),)
        assert drive(store, store.derived(ALICE)) == ((BOB, copy.id),)
        self.write(store, self.make.change(forgotten=(last.id,)))
        assert drive(store, store.derived(ALICE)) == ((BOB, copy.id),)

    def test_the_newest_journal_entries_come_oldest_first(self, store: MemoryStore) -> None:
        entries = tuple(JournalEntry(9 - n, "access", b"%d" % n) for n in range(5))
        drive(store, store.journal({ALICE: entries[:2]}))
        drive(store, store.journal({ALICE: entries[2:]}))

        assert drive(store, store.journaled(ALICE)) == entries
        assert drive(store, store.journaled(ALICE, limit=2)) == entries[3:]
        other = JournalEntry(3, "digest", b"{}")
        drive(store, store.journal({ALICE: (other,)}))
        drive(store, store.journal({ALICE: entries[:1]}))
        assert drive(store, store.journaled(ALICE, kind="digest")) == (other,)
        assert drive(store, store.journaled(ALICE, limit=2, kind="access")) == (
            entries[4],
            entries[0],
        )
        assert drive(store, store.journaled(ALICE, kind="dream")) == ()
        assert drive(store, store.journaled(BOB)) == ()

    def test_several_journals_are_written_together(self, store: MemoryStore) -> None:
        mine, theirs = JournalEntry(1, "access", b"{}"), JournalEntry(2, "digest", b"[]")
        drive(store, store.journal({ALICE: (mine, theirs), BOB: (theirs,)}))
        drive(store, store.journal({}))

        assert drive(store, store.journaled(ALICE)) == (mine, theirs)
        assert drive(store, store.journaled(BOB)) == (theirs,)
