"""The store contract, what models have cost an owner (FX-11)."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from concurrent.futures import ThreadPoolExecutor

from simonides.domain.scope import Scope
from simonides.ports import MemoryStore
from simonides.testing.contract_base import ContractBase, drive
from simonides.testing.samples import ALICE, BOB

DAY = 20_000
NO_LIMIT: dict[str, int] = {}


class UsageContract(ContractBase):
    """Counts by owner and day, that no two askers spend twice."""

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
