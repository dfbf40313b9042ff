"""The store contract, what goes with memories: held candidates, grants, keys, bans, outbox."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from dataclasses import replace

from memstrata.domain.change import IdempotencyRecord, JournalEntry, PendingOutbox
from memstrata.domain.scope import Grant, Right, Scope
from memstrata.ports import MemoryStore
from memstrata.testing.contract_base import ContractBase, drive
from memstrata.testing.samples import ALICE, BOB

ONE, TWO, THREE = (letter * 32 for letter in (b"1", b"2", b"3"))


class WorkContract(ContractBase):
    """Everything that a change carries beside memories and events."""

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

    def test_the_newest_journal_entries_come_oldest_first(self, store: MemoryStore) -> None:
        entries = tuple(JournalEntry(9 - n, "access", b"%d" % n) for n in range(5))
        drive(store, store.journal(ALICE, entries[:2]))
        drive(store, store.journal(ALICE, entries[2:]))

        assert drive(store, store.journaled(ALICE)) == entries
        assert drive(store, store.journaled(ALICE, limit=2)) == entries[3:]
        assert drive(store, store.journaled(BOB)) == ()
