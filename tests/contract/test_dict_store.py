"""The reference store keeps the contract."""

import pytest

from memstrata.adapters.store_memory import DictStore
from memstrata.testing.store_contract import MemoryStoreContract


class TestDictStore(MemoryStoreContract):
    @pytest.fixture
    def store(self):
        return DictStore()
