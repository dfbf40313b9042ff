"""Sessions in dictionaries keep the contract."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.adapters.session_memory import DictSessionStore, _length
from simonides.adapters.store_memory import DictStore
from simonides.testing.session_contract import SessionStoreContract, drive


class TestDictSessions(SessionStoreContract):
    @pytest.fixture
    def store(self):
        store = DictSessionStore()
        yield store
        drive(store, store.close())


class TestDictSessionsBesideMemories(SessionStoreContract):
    @pytest.fixture
    def store(self):
        self.memories = DictStore()
        yield DictSessionStore(self.memories)
        drive(self.memories, self.memories.close())

    def test_closing_the_sessions_leaves_the_memories_open(self, store):
        drive(store, store.close())

        assert drive(self.memories, self.memories.owners()) == ()


@given(st.integers(0, 300))
def test_a_session_s_length_is_found_without_counting(length):
    turns = {(b"s", number): () for number in range(length)}

    assert _length(turns, b"s") == length
    assert _length(turns, b"t") == 0
