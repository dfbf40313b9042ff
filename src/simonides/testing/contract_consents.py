"""The store contract, what a person refused (PO-4), and how much an owner has (PO-6)."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from simonides.domain.consent import About
from simonides.ports import MemoryStore
from simonides.testing.contract_base import ContractBase, drive
from simonides.testing.samples import ALICE, BOB


class ConsentsContract(ContractBase):
    """Consents are kept by what they are about, and reach whoever has an owner's rows."""

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
        # A delta goes with the consents that its reader has.
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
        # Under a key ring an entry has a code behind it.
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
