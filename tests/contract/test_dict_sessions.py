"""Sessions in dictionaries keep the contract."""

import pytest

from memstrata.adapters.session_memory import DictSessionStore
from memstrata.testing.session_contract import SessionStoreContract, drive


class TestDictSessions(SessionStoreContract):
    @pytest.fixture
    def store(self):
        store = DictSessionStore()
        yield store
        drive(store, store.close())
