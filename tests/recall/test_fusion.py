"""The modes of fusion, the reranker, and what a hit says of itself."""

from datetime import timedelta

import pytest

import simonides
from simonides import Draft, Settings
from simonides.testing import ManualClock

TEXTS = ["Ana drinks green tea", "The train leaves at noon", "The hotel has a garden"]


def opened(clock=None, **settings):
    store = simonides.open(":memory:", settings=Settings(**settings), clock=clock or ManualClock())
    memory = store.memory(user="ana")
    memory.remember_many([Draft(text) for text in TEXTS])
    return memory


@pytest.mark.parametrize("fusion", ["conversational", "rrf", "weighted", "hybrid"])
def test_each_mode_finds_the_answer_and_names_its_parts(fusion):
    hits = opened(fusion=fusion).recall("which tea does Ana drink?", limit=3)
    assert hits[0].content == TEXTS[0]
    assert all(0 <= hit.score <= 1 and 0 <= hit.relevance <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    expected = {"weighted": {"vector", "keyword", "recency", "importance"}}
    fused = {"vector", "keyword"} if fusion in ("rrf", "hybrid") else {"window", "words"}
    known = expected.get(fusion, fused)
    assert known <= set(hits[0].why)


def test_the_weight_of_hybrid_moves_between_words_and_vectors():
    words = opened(fusion="hybrid", hybrid_weight=0).recall("tea")
    vectors = opened(fusion="hybrid", hybrid_weight=1).recall("tea")
    assert "vector" not in words[0].why
    assert "keyword" not in vectors[0].why


def test_recency_in_the_composite_halves_in_thirty_days():
    clock = ManualClock()
    memory = opened(clock, fusion="weighted")
    fresh = memory.recall("tea")[0].why["recency"]
    clock.advance(days=30)
    assert memory.recall("tea")[0].why["recency"] == pytest.approx(fresh / 2)


def test_doubt_lowers_a_hit_and_is_named():
    memory = opened()
    memory.remember(Draft("Ana drinks black tea", source="agent_inferred"))
    inferred = next(h for h in memory.recall("tea", limit=9) if h.record.trust == "agent")
    assert inferred.why["confidence"] == pytest.approx(0.6 - 1)


def test_a_reranker_orders_the_best_hits_and_its_failure_is_said():
    class Backwards:
        def rerank(self, query, texts):
            return range(len(texts))

    class Broken:
        def rerank(self, query, texts):
            raise OSError("no connection")

    plain = [hit.content for hit in opened().recall("tea", limit=3)]
    for reranker, order, degraded in (
        (Backwards(), plain[::-1], ()), (Broken(), plain, ("reranker",)),
    ):  # fmt: skip
        with simonides.open(":memory:", reranker=reranker, clock=ManualClock()) as store:
            memory = store.memory(user="ana")
            memory.remember_many([Draft(text) for text in TEXTS])
            found = memory.recall("tea", limit=3)
        assert ([hit.content for hit in found], found.degraded) == (order, degraded)


def test_an_old_doubtful_memory_carries_a_warning():
    clock = ManualClock()
    memory = opened(clock)
    memory.remember(Draft("Ana drinks black tea", key="drink", source="agent_inferred"))
    assert memory.recall("black tea")[0].warnings == ("unverified",)
    clock.advance(days=8)
    assert memory.recall("black tea")[0].warnings == ("unverified", "stale?")
    memory.confirm("drink")
    assert memory.recall("black tea")[0].warnings == ()
    assert memory.recall("black tea")[0].at - clock.now == timedelta()
