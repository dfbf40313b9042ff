"""Random lives of a store that is moved again and again, beside one that stays where it is."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule
from test_store_machine import StoresInStep

from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.moving import MovableStoreContract
from simonides.testing.store_contract import drive

contract = MovableStoreContract()


class StoresOnTheMove(StoresInStep):
    """After every journey whatever is written, read or refused is as if there had been none."""

    moves = 0

    def open(self, *, filling=False):
        file = self.directory / f"{self.moves}.db"
        return SqliteStore.open(file, synchronous="normal", filling=filling)

    @rule(page=st.sampled_from((1, 5, 500)), by_way=st.booleans())
    def move(self, page, by_way):
        source = self.tried
        if by_way:
            source = SqliteStore.in_memory()
            contract.move(self.tried, source, page=page)
        self.moves += 1
        target = self.open(filling=True)
        contract.move(source, target, page=page)
        assert contract.everything(target) == contract.everything(self.tried)
        drive(self.tried, self.tried.close())
        self.tried = target


# Otherwise pytest would run the machine that is imported here once more.
del StoresInStep

TestStoresOnTheMove = StoresOnTheMove.TestCase
# Chosen: about 5 s.
TestStoresOnTheMove.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
