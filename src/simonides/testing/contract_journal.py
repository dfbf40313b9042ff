"""The store contract, beside the chain: journals made shorter, and leases (LT-6, LT-9)."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from concurrent.futures import ThreadPoolExecutor

from simonides.domain.change import JournalEntry
from simonides.domain.scope import Scope
from simonides.ports import MemoryStore
from simonides.testing.contract_base import ContractBase, drive
from simonides.testing.samples import ALICE, BOB

READS = tuple(JournalEntry(n, "access", b"read %d" % n) for n in range(4))
DIGEST = JournalEntry(9, "digest", b"a receipt")
FOLDED = JournalEntry(5, "access", b"several reads")
GC = "gc"


class JournalContract(ContractBase):
    """A journal is condensed as a whole or not at all; a lease has one holder at a time."""

    def noted(self, store: MemoryStore, owner: Scope = ALICE) -> None:
        drive(store, store.journal({owner: (*READS[:2], DIGEST, *READS[2:])}))

    def test_the_oldest_journal_entries_come_first_if_asked(self, store: MemoryStore) -> None:
        self.noted(store)

        assert drive(store, store.journaled(ALICE, oldest=True, limit=3)) == (*READS[:2], DIGEST)
        found = drive(store, store.journaled(ALICE, oldest=True, limit=3, kind="access"))
        assert found == READS[:3]
        assert drive(store, store.journaled(ALICE, oldest=True, kind="dream")) == ()

    def test_a_journal_is_condensed_into_other_entries(self, store: MemoryStore) -> None:
        self.noted(store)
        before = self.shown(store).head

        done = drive(store, store.condense(ALICE, "access", READS[:3], {ALICE: (FOLDED,)}))

        assert done
        assert drive(store, store.journaled(ALICE)) == (DIGEST, READS[3], FOLDED)
        assert self.shown(store).head == before
        assert drive(store, store.condense(ALICE, "access", (READS[3], FOLDED), {}))
        assert drive(store, store.journaled(ALICE)) == (DIGEST,)

    def test_what_was_condensed_goes_to_whom_it_is_about(self, store: MemoryStore) -> None:
        org = Scope.of_org("acme")
        self.noted(store)

        into = {org: (FOLDED,), BOB: (DIGEST,)}
        assert drive(store, store.condense(ALICE, "access", READS, into))

        assert drive(store, store.journaled(ALICE)) == (DIGEST,)
        assert drive(store, store.journaled(org)) == (FOLDED,)
        assert drive(store, store.journaled(BOB)) == (DIGEST,)
        assert drive(store, store.owners()) == ()

    def test_a_journal_that_is_not_as_it_was_is_left_alone(self, store: MemoryStore) -> None:
        self.noted(store)
        self.noted(store, BOB)
        drive(store, store.condense(ALICE, "access", READS[:1], {}))
        journals = [drive(store, store.journaled(owner)) for owner in (ALICE, BOB)]

        for taken in (
            READS,
            READS[:1],
            READS[2:],
            READS[2:0:-1],
            (READS[1]._replace(at=7),),
            (READS[1]._replace(body=b"other"),),
            (READS[1]._replace(kind="digest"),),
            (*READS[1:], DIGEST),
        ):
            assert not drive(store, store.condense(ALICE, "access", taken, {BOB: (FOLDED,)}))

        assert [drive(store, store.journaled(owner)) for owner in (ALICE, BOB)] == journals

    def test_of_those_who_condense_at_once_one_does(self, store: MemoryStore) -> None:
        self.noted(store)

        def condense(_: int) -> bool:
            return drive(store, store.condense(ALICE, "access", READS, {ALICE: (FOLDED,)}))

        with ThreadPoolExecutor(4) as crew:
            done = list(crew.map(condense, range(4)))

        assert sum(done) == 1
        assert drive(store, store.journaled(ALICE)) == (DIGEST, FOLDED)

    def test_entries_after_condensing_come_last(self, store: MemoryStore) -> None:
        drive(store, store.journal({ALICE: READS}))
        drive(store, store.condense(ALICE, "access", READS, {}))
        drive(store, store.journal({ALICE: (DIGEST,)}))
        drive(store, store.journal({ALICE: (FOLDED,)}))

        assert drive(store, store.journaled(ALICE)) == (DIGEST, FOLDED)

    def test_a_lease_has_one_holder_until_its_end(self, store: MemoryStore) -> None:
        def take(holder: str, now: int, until: int, owner: Scope = ALICE) -> bool:
            return drive(store, store.lease(owner, GC, holder, now=now, until=until))

        assert take("one", 100, 200)
        assert not take("two", 199, 300)
        assert take("one", 150, 250)
        assert not take("two", 200, 300)
        assert take("two", 250, 300)
        assert not take("one", 251, 400)
        assert take("one", 251, 400, BOB)
        assert drive(store, store.lease(ALICE, "other work", "one", now=251, until=400))
        assert drive(store, store.owners()) == ()

    def test_a_lease_is_given_back_by_who_holds_it(self, store: MemoryStore) -> None:
        drive(store, store.lease(ALICE, GC, "one", now=100, until=200))

        for owner, name, holder in ((ALICE, GC, "two"), (BOB, GC, "one"), (ALICE, "x", "one")):
            drive(store, store.release(owner, name, holder))
        assert not drive(store, store.lease(ALICE, GC, "two", now=100, until=200))

        drive(store, store.release(ALICE, GC, "one"))
        assert drive(store, store.lease(ALICE, GC, "two", now=100, until=200))

    def test_of_those_who_ask_at_once_one_gets_the_lease(self, store: MemoryStore) -> None:
        def take(number: int) -> bool:
            return drive(store, store.lease(ALICE, GC, f"worker {number}", now=1, until=9))

        with ThreadPoolExecutor(4) as crew:
            assert sum(crew.map(take, range(8))) == 1
