"""The reference store keeps the contract."""

import time

import pytest

from simonides.adapters.store_memory import DictStore
from simonides.domain.change import IdempotencyRecord
from simonides.testing.samples import ALICE
from simonides.testing.store_contract import MemoryStoreContract, drive


class TestDictStore(MemoryStoreContract):
    @pytest.fixture
    def store(self):
        return DictStore()

    def seconds(self, store, change):
        """Processor time of a commit on this thread; what else runs does not count."""
        began = time.thread_time()
        self.write(store, change)
        return time.thread_time() - began

    def seconds_of_keys(self, number):
        records = tuple(IdempotencyRecord(f"{n}", b"r", b"{}") for n in range(number))
        return self.seconds(DictStore(), self.make.change(idempotency=records))

    def seconds_of_forgetting(self, number):
        store, many = DictStore(), [self.make.memory() for _ in range(number)]
        self.add(store, *many)
        ids = tuple(memory.id for memory in many)
        return self.seconds(store, self.make.change(forgotten=ids))

    @pytest.mark.parametrize("seconds_of", [seconds_of_keys, seconds_of_forgetting])
    def test_a_large_change_costs_no_more_for_each(self, seconds_of):
        few = min(seconds_of(self, 500) for _ in range(3))
        many = min(seconds_of(self, 8000) for _ in range(2))

        # 16 times as much work; what grows with the square takes 256 times as long.
        assert many < 90 * few

    @pytest.mark.parametrize(
        "damage", [{"body": b"{}"}, {"version": 2}, {"code": bytes(32)}], ids=str
    )
    def test_a_damaged_memory_is_found(self, store, damage):
        memory, _ = self.stored(store), self.stored(store)
        kept = store._shelves[ALICE].kept
        kept[memory.id] = kept[memory.id]._replace(**damage)

        assert drive(store, store.damaged(ALICE)) == (memory.id,)
