"""The store contract, re-indexing, consents, journals and usage counts."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from simonides.domain.governance.consent import About
from simonides.domain.scope import Scope
from simonides.domain.writing.change import (
    JournalEntry,
    NewVersion,
    Renewed,
    StoredRow,
    TurnRequest,
)
from simonides.ports import MemoryStore
from simonides.testing.contracts.base import ContractBase, drive, verify_chain
from simonides.testing.samples import ALICE, BOB

NEW = b"made anew"


class RenewalContract(ContractBase):
    """A rebuilt index entry replaces the entry that it was made from, or fills an empty place."""

    def test_an_entry_made_anew_is_read_in_the_place_of_the_old(self, store: MemoryStore) -> None:
        first, other = self.make.memory(key="k"), self.make.memory()
        self.add(store, first, other)
        (row,) = drive(store, store.get(ALICE, (first.id,)))

        assert drive(store, store.renew(ALICE, (_anew(row),))) == (first.id,)

        new = row._replace(entry=NEW)
        assert drive(store, store.get(ALICE, (first.id,))) == (new,)
        assert new in drive(store, store.snapshot(ALICE)).rows
        assert drive(store, store.history(ALICE, first.root)) == (new,)
        assert drive(store, store.keyed(ALICE, ALICE, "k")) == (new,)
        assert new in drive(store, store.as_of(ALICE, self.make.clock.now_us()))
        (untouched,) = drive(store, store.get(ALICE, (other.id,)))
        assert untouched.entry == b"entry " + other.id.encode()

    def test_an_entry_made_anew_changes_nothing_else(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        self.write(store, self.make.change(restated=(replace(memory, pinned=True),)))
        before = self.shown(store)
        (row,) = before.rows

        drive(store, store.renew(ALICE, (_anew(row),)))

        new = (row._replace(entry=NEW),)
        after = self.shown(store)
        assert after == before._replace(rows=new, live=new)
        verify_chain(after.links, after.chain_head)
        assert before.head is not None
        assert drive(store, store.snapshot(ALICE, since=before.head)).rows == ()

    def test_a_memory_without_an_entry_gets_one(self, store: MemoryStore) -> None:
        change = self.make.change(self.make.memory())
        bare = replace(change, added=(change.added[0]._replace(entry=b""),))
        (row,) = self.write(store, bare).rows

        assert drive(store, store.renew(ALICE, (_anew(row),))) == (row.id,)
        assert drive(store, store.get(ALICE, (row.id,))) == (row._replace(entry=NEW),)
        assert drive(store, store.damaged(ALICE)) == ()

    def test_an_entry_is_made_anew_only_of_what_still_stands(self, store: MemoryStore) -> None:
        changed, tagged, made, gone, kept = (self.make.memory() for _ in range(5))
        rows = {r.id: r for r in self.add(store, changed, tagged, made, gone, kept).rows}
        self.write(store, self.make.change(restated=(replace(changed, pinned=True),)))
        other = NewVersion(replace(tagged, tags=("new",)), b"of its tags", "a", "e")
        self.write(store, self.make.change(restated=(other.memory,), reindexed=(other,)))
        drive(store, store.renew(ALICE, (_anew(rows[made.id])._replace(entry=b"by another"),)))
        self.write(store, self.make.change(forgotten=(gone.id,)))
        before = drive(store, store.rows(ALICE))

        # In another order, which is also the order of the answer.
        late = [_anew(rows[memory.id]) for memory in (kept, gone, made, tagged, changed)]
        assert drive(store, store.renew(ALICE, late)) == (kept.id,)

        after = drive(store, store.rows(ALICE))
        assert [row.id for row in after] == [row.id for row in before]
        assert [row for row in after if row.id != kept.id] == [r for r in before if r.id != kept.id]
        assert drive(store, store.damaged(ALICE)) == ()

    def test_an_entry_is_made_anew_once(self, store: MemoryStore) -> None:
        self.stored(store)
        (row,) = drive(store, store.rows(ALICE))

        assert drive(store, store.renew(ALICE, (_anew(row),))) == (row.id,)
        assert drive(store, store.renew(ALICE, (_anew(row),))) == ()

    def test_entries_of_others_and_of_nothing_are_left_alone(self, store: MemoryStore) -> None:
        self.stored(store)
        (row,) = drive(store, store.rows(ALICE))
        nobody = [_anew(row)._replace(id=id) for id in ("", "%", "\ud800", "a\0b")]

        for owner in (BOB, Scope.of_global()):
            assert drive(store, store.renew(owner, (_anew(row),))) == ()
        assert drive(store, store.renew(ALICE, nobody)) == ()
        assert drive(store, store.renew(ALICE, ())) == ()

        assert drive(store, store.rows(ALICE)) == (row,)
        assert drive(store, store.owners()) == (ALICE,)
        assert drive(store, store.heads((BOB,))) == (None,)

    def test_an_entry_made_anew_waits_for_who_is_writing(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        (row,) = drive(store, store.rows(ALICE))
        written: list[tuple[str, ...]] = []
        renewing = threading.Thread(
            target=lambda: written.append(drive(store, store.renew(ALICE, (_anew(row),))))
        )
        other = NewVersion(replace(memory, tags=("new",)), b"of its tags", "a", "e")
        change = self.make.change(restated=(other.memory,), reindexed=(other,))

        def decide(_: object) -> object:
            if not renewing.is_alive():
                renewing.start()
            return change

        drive(store, store.commit(ALICE, TurnRequest(), decide))  # type: ignore[arg-type]
        renewing.join()

        assert written == [()]
        assert drive(store, store.rows(ALICE))[0].entry == b"of its tags"


def _anew(row: StoredRow) -> Renewed:
    return Renewed(row.id, row.revision, row.entry, NEW, "a2", "e2")


class ConsentsContract(ContractBase):
    """Consents are kept by subject, and every reader of an owner's rows gets them."""

    def test_consents_come_by_what_they_are_about_then_name(self, store: MemoryStore) -> None:
        key, other = self.make.consent("b"), self.make.consent("a", allowed=True)
        category = self.make.consent("a", About.CATEGORY)
        self.write(store, self.make.change(consents=(key, other)))
        self.write(store, self.make.change(consents=(category,)))

        assert drive(store, store.consents(ALICE)) == (category, other, key)
        assert drive(store, store.consents(BOB)) == ()

    def test_the_last_word_about_one_thing_counts(self, store: MemoryStore) -> None:
        refused, allowed = self.make.consent("salary"), self.make.consent("salary", allowed=True)
        self.write(store, self.make.change(consents=(refused,)))
        self.write(store, self.make.change(consents=(refused, allowed)))

        assert drive(store, store.consents(ALICE)) == (allowed,)

    def test_a_consent_about_recall_is_kept_apart_from_keys_and_categories(
        self, store: MemoryStore
    ) -> None:
        named = [self.make.consent("recall", about) for about in (About.KEY, About.CATEGORY)]
        off = self.make.consent("recall", About.RECALL)
        self.write(store, self.make.change(consents=(*named, off)))
        on = self.make.consent("recall", About.RECALL, allowed=True)
        self.write(store, self.make.change(consents=(on,)))

        assert drive(store, store.consents(ALICE)) == (*reversed(named), on)
        assert drive(store, store.snapshot(ALICE)).consents == (*reversed(named), on)

    def test_consents_come_with_all_rows_and_a_change_of_them_makes_all_come(
        self, store: MemoryStore
    ) -> None:
        self.stored(store)
        before = drive(store, store.snapshot(ALICE)).head
        consent = self.make.consent("salary")
        assert before is not None

        self.write(store, self.make.change(consents=(consent,)))
        # A delta assumes that its reader has the present consents.
        (seen,) = drive(store, store.snapshots({ALICE: before}))
        self.stored(store)
        since = drive(store, store.snapshot(ALICE, since=seen.head))

        assert seen.head is not None
        assert (seen.head.epoch, seen.complete) == (before.epoch + 1, True)
        assert seen.consents == drive(store, store.snapshot(ALICE)).consents == (consent,)
        assert (since.complete, since.consents) == (False, ())

    def test_consents_come_under_the_turn_with_all_rows(self, store: MemoryStore) -> None:
        self.stored(store)
        before = drive(store, store.snapshot(ALICE)).head
        consent = self.make.consent("health", About.CATEGORY)
        self.write(store, self.make.change(consents=(consent,)))

        cold, behind = (self.seen_under_turn(store, since=head) for head in (None, before))
        current = self.seen_under_turn(store, since=cold.head)

        assert cold.consents == behind.consents == (consent,)
        assert (current.complete, current.consents) == (False, ())

    def test_an_owners_size_is_that_of_all_of_its_versions(self, store: MemoryStore) -> None:
        assert drive(store, store.size(ALICE)) == (0, 0)
        first = self.stored(store, "First")
        second = self.make.successor(first)
        self.write(store, self.make.change(second, restated=(self.make.superseded(first, second),)))
        self.stored(store, "Another's", scope=BOB)

        rows = drive(store, store.rows(ALICE))
        lengths = sum(len(row.body) + len(row.state) + len(row.entry) for row in rows)
        size = drive(store, store.size(ALICE))
        assert size.rows == 2
        # With a key ring an entry is followed by a MAC.
        assert lengths <= size.stored_bytes < 2 * lengths

        gone = (first.id, second.id)
        self.write(store, self.make.change(forgotten=gone))
        assert drive(store, store.size(ALICE)) == (0, 0)

    def test_nothing_of_an_erased_owners_consents_is_left(self, store: MemoryStore) -> None:
        self.stored(store)
        self.write(store, self.make.change(consents=(self.make.consent("salary"),)))

        self.write(store, self.make.change(erased=True))

        assert drive(store, store.consents(ALICE)) == ()
        assert drive(store, store.size(ALICE)) == (0, 0)


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


DAY = 20_000
NO_LIMIT: dict[str, int] = {}


class UsageContract(ContractBase):
    """Counts by owner and day; concurrent callers cannot spend the same amount twice."""

    def test_what_is_spent_adds_up_by_day(self, store: MemoryStore) -> None:
        for day, calls in ((DAY + 1, 1), (DAY, 2), (DAY, 3)):
            assert drive(store, store.spend(ALICE, day, {"calls": calls}, most=NO_LIMIT))

        assert drive(store, store.spent(ALICE)) == ((DAY, {"calls": 5}), (DAY + 1, {"calls": 1}))
        assert drive(store, store.spent(ALICE, since=DAY + 1)) == ((DAY + 1, {"calls": 1}),)
        assert drive(store, store.spent(BOB)) == ()

    def test_nothing_is_spent_past_a_ceiling(self, store: MemoryStore) -> None:
        most = {"calls": 3, "tokens": 10}
        both = {"calls": 1, "tokens": 6}

        assert drive(store, store.spend(ALICE, DAY, both, most=most))
        assert not drive(store, store.spend(ALICE, DAY, both, most=most))
        assert drive(store, store.spend(ALICE, DAY, {"calls": 2}, most=most))

        assert drive(store, store.spent(ALICE)) == ((DAY, {"calls": 3, "tokens": 6}),)

    def test_what_was_reserved_is_settled_and_never_falls_below_nothing(
        self, store: MemoryStore
    ) -> None:
        drive(store, store.spend(ALICE, DAY, {"calls": 9, "tokens": 100}, most=NO_LIMIT))

        assert drive(store, store.spend(ALICE, DAY, {"calls": -8, "tokens": -200}))

        assert drive(store, store.spent(ALICE)) == ((DAY, {"calls": 1}),)

    def test_settling_begins_no_day(self, store: MemoryStore) -> None:
        assert not drive(store, store.spend(ALICE, DAY, {"calls": 1}))

        assert drive(store, store.spent(ALICE)) == ()

    def test_spending_creates_no_owner_and_moves_none(self, store: MemoryStore) -> None:
        self.stored(store)
        before = drive(store, store.heads([ALICE, BOB]))

        for owner in (ALICE, BOB):
            drive(store, store.spend(owner, DAY, {"calls": 1}, most=NO_LIMIT))

        assert drive(store, store.heads([ALICE, BOB])) == before
        assert drive(store, store.owners()) == (ALICE,)

    def test_an_org_has_counts_of_its_own(self, store: MemoryStore) -> None:
        org = Scope.of_org("acme")

        drive(store, store.spend(org, DAY, {"calls": 4}, most=NO_LIMIT))

        assert drive(store, store.spent(org)) == ((DAY, {"calls": 4}),)
        assert drive(store, store.spent(ALICE)) == ()

    def test_who_is_erased_leaves_no_counts_and_settling_brings_none_back(
        self, store: MemoryStore
    ) -> None:
        self.stored(store)
        drive(store, store.spend(ALICE, DAY, {"calls": 9}, most=NO_LIMIT))

        self.write(store, self.make.change(erased=True))
        drive(store, store.spend(ALICE, DAY, {"calls": -8}))

        assert drive(store, store.spent(ALICE)) == ()

    def test_many_who_ask_at_once_stay_under_the_ceiling(self, store: MemoryStore) -> None:
        def ask(_: int) -> bool:
            return drive(store, store.spend(ALICE, DAY, {"calls": 1}, most={"calls": 5}))

        with ThreadPoolExecutor(8) as threads:
            given = list(threads.map(ask, range(24)))

        assert sum(given) == 5
        assert drive(store, store.spent(ALICE)) == ((DAY, {"calls": 5}),)
