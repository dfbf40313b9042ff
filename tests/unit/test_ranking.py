"""How recall orders, in every mode: components, ties, floors, bias, scopes and calibration."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simonides
from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.store import AsyncStore
from simonides.api.sync import Memory, Store
from simonides.domain.errors import InvalidInput
from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.entry import quantise
from simonides.retrieval.index.indexer import Indexer
from simonides.retrieval.query.pool import EXACT_ROWS, Part, Pool
from simonides.retrieval.ranking.fusion import Fusion, FusionMode
from simonides.retrieval.ranking.signals import z_scores
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

TEXTS = (
    "The payment service runs on twelve nodes",
    "Ana adopted a cat called Misha",
    "Our cat vet is Dr. Lee",
    "The launch party is on Friday",
    "Deploys happen in us-east-1",
    "I prefer green tea over coffee",
    "My sister Olga lives in Lisbon",
    "The printer on floor two is broken",
    "Backups run every night at two",
    "The cat sleeps on the printer",
    "Lunch is at noon",
    "The budget was approved",
)


class World:
    def __init__(self, fusion: str = "conversational", **settings: object) -> None:
        self.clock = ManualClock()
        made = Settings(fusion=fusion, **settings)  # type: ignore[arg-type]
        core = assemble(":memory:", settings=made, inline=True, clock=self.clock, ids=CountingIds())
        self.store = Store(core)

    def own(self, texts: Sequence[str] = TEXTS, user: str = "ana") -> Memory:
        own = self.store.memory(user=user)
        own.remember_many([simonides.Draft(text) for text in texts])
        return own


@pytest.mark.parametrize("mode", [mode.value for mode in FusionMode])
def test_every_mode_finds_the_right_memory_and_explains_its_score(mode: str) -> None:
    memory = World(mode).memory()

    hits = memory.recall("What is the cat called?", limit=3)

    assert hits[0].record.content == "Ana adopted a cat called Misha"
    assert hits.receipt.fusion == mode
    for hit in hits:
        assert 0.0 <= hit.score <= 1.0
        assert {"bm25", "vector", "relevance", "confidence", "freshness"} <= hit.why.keys()


@pytest.mark.parametrize("mode", ["conversational", "hybrid", "weighted"])
def test_the_components_add_up_to_what_orders(mode: str) -> None:
    hits = World(mode).memory().recall("cat printer", limit=12)

    factors = ("relevance", "confidence", "freshness")
    sums = [sum(v for name, v in hit.why.items() if name not in factors) for hit in hits]
    assert sums == sorted(sums, reverse=True)


def test_a_hybrid_weight_of_zero_is_keyword_only_and_of_one_vector_only() -> None:
    by_keyword = World("hybrid", hybrid_weight=0.0).memory().recall("cat", limit=12)
    by_vector = World("hybrid", hybrid_weight=1.0).memory().recall("kitten", limit=1)

    assert {h.record.content for h in by_keyword if h.score > 0} == {t for t in TEXTS if "cat" in t}
    assert "cat" in by_vector[0].record.content


def test_rrf_scores_follow_the_formula() -> None:
    hit = World("rrf", rrf_k=60).memory().recall("cat called Misha", limit=1)[0]

    assert hit.why["bm25"] == pytest.approx(1 / 61)
    assert hit.why["vector"] == pytest.approx(1 / 61)
    assert hit.why["relevance"] == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"rrf_k": 0}, {"hybrid_weight": 1.1}, {"half_life_days": 0.0}])
def test_weights_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        Fusion(**wrong)  # type: ignore[arg-type]


def test_equal_scores_go_to_the_newest_then_to_the_smaller_id() -> None:
    world = World()
    memory = world.store.memory(user="ana")
    first, second = memory.remember_many(
        [
            simonides.Draft("a red apple", kind="semantic"),
            simonides.Draft("a red apple", kind="procedural"),
        ]
    )
    world.clock.advance(days=1)
    newest = memory.remember(Draft("a red apple", kind="episodic"))

    found = [hit.record.id for hit in memory.recall("red apple")]

    ids = [o.record.id for o in (newest, first, second) if o.record]
    assert found == ids


def test_a_floor_cuts_what_is_irrelevant_and_spares_what_is_pinned() -> None:
    memory = World().memory()
    memory.remember("Never share the door code", pinned=True)

    found = [
        hit.record.content for hit in memory.recall("cat called Misha", min_relevance=0.9, limit=50)
    ]

    assert found == ["Ana adopted a cat called Misha", "Never share the door code"]


def test_an_empty_or_stop_word_query_returns_structured_candidates_only() -> None:
    memory = World().memory()
    memory.remember("Never share the door code", pinned=True, importance="critical")
    memory.remember("email", key="update_channel", category="preference")

    for query in ("", "  ", "what is the", "?!"):
        assert [h.record.content for h in memory.recall(query)] == ["Never share the door code"]
    biased = memory.recall("", preference_bias=True)
    assert {hit.record.key for hit in biased} == {None, "update_channel"}


def test_a_preference_key_can_enter_without_overlap_but_is_not_always_included() -> None:
    memory = World().memory()
    memory.remember("email", key="update_channel", category="preference")

    biased = memory.recall("zzz", preference_bias=True, limit=1)
    crowded = memory.recall("Ana adopted a cat called Misha", preference_bias=True, limit=1)

    assert biased[0].record.key == "update_channel"
    assert biased[0].why["preference_bias"] == 0.4
    assert crowded[0].record.key is None


def test_confidence_is_a_named_component_that_lowers_a_doubtful_hit() -> None:
    world = World()
    memory = world.store.memory(user="ana")
    sure = memory.remember("the vault is in Basel")
    unsure = memory.remember(Draft("the vault is in Bern", source="agent_inferred", confidence=0.5))

    hits = {hit.record.id: hit for hit in memory.recall("where is the vault?")}

    assert sure.record
    assert unsure.record
    assert hits[sure.record.id].why["confidence"] == 1.0
    assert hits[unsure.record.id].why["confidence"] == pytest.approx(0.9)


def test_soft_expiry_halves_a_score_and_hides_nothing() -> None:
    world = World()
    memory = world.store.memory(user="ana")
    memory.remember("I like dark mode", category="preference")
    before = memory.recall("dark mode")[0]
    world.clock.advance(days=91)

    after = memory.recall("dark mode")[0]

    assert after.why["freshness"] == 0.5
    assert after.why["relevance"] == before.why["relevance"]


def test_turns_around_a_matching_turn_rise() -> None:
    world = World()
    memory = world.store.memory(user="ana")
    said = ["Any plans?", "Yes, the Lisbon marathon!", "Great, good luck.", *["Noise."] * 9]
    memory.remember_many(
        [
            simonides.Draft(text, kind="episodic", session="s", turn=place)
            for place, text in enumerate(said)
        ]
    )

    hits = memory.recall("Lisbon marathon", limit=12)

    top = [hit.record.origin.turn for hit in hits[:3]]
    assert top[0] == 1
    assert set(top[1:]) == {0, 2}
    assert hits[1].why["neighbours"] > 0


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我喜欢喝绿茶", "绿茶"),
        ("金融论坛的地点是北京", "北京"),
        ("Я живу в Санкт-Петербурге", "где я живу"),
        ("東京タワーに行きました", "タワー"),
        ("Nous mangeons à la crêperie", "creperie"),
        ("ＦＵＬＬ ｗｉｄｔｈ", "full width"),
        ("Die STRASSE ist gesperrt", "straße"),
    ],
)
def test_every_script_is_searchable(text: str, query: str) -> None:
    memory = World().memory([*TEXTS, text])

    assert memory.recall(query)[0].record.content == text


def test_a_script_that_the_embedder_does_not_know_is_ranked_without_vectors() -> None:
    memory = World().memory([*TEXTS, "我喜欢喝绿茶"])

    recall = memory.recall("绿茶")

    assert recall.receipt.embedder is None
    assert "vector" not in recall[0].why
    assert recall.degraded == ()


class _BrokenEmbedder:
    model_id = "broken"
    dimensions = 4
    scripts = frozenset({"Latin"})

    def __init__(self) -> None:
        self.fails = False

    def encode(self, texts: Sequence[str]) -> object:
        if self.fails:
            raise simonides.ModelTimeout("the embedder is down")
        return np.full((len(texts), 4), 0.5, np.float32)


def test_an_embedder_that_fails_degrades_recall_and_is_named() -> None:
    broken = _BrokenEmbedder()
    runtime = replace(World().store.runtime, indexes=IndexCache(Indexer(broken)))  # type: ignore[arg-type]
    memory = Store(AsyncStore(runtime)).memory(user="ana")
    memory.remember("the cat is called Misha")
    broken.fails = True

    recall = memory.recall("cat")

    assert recall.degraded == ("vector",)
    assert recall[0].record.content == "the cat is called Misha"


@given(st.lists(st.floats(-50, 50), min_size=10, max_size=60), st.randoms())
def test_standard_scores_do_not_depend_on_the_order_of_rows(
    values: list[float], shuffle: "st.DataObject"
) -> None:
    places = list(range(len(values)))
    shuffle.shuffle(places)  # type: ignore[attr-defined]
    straight = z_scores(np.array(values), (0.0, 1.0))
    shuffled = z_scores(np.array(values)[places], (0.0, 1.0))

    assert shuffled.tobytes() == straight[places].tobytes()


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=64))
def test_quantised_vectors_are_close_and_their_dots_exact(values: list[float]) -> None:
    vector = np.array(values, np.float32)
    coarse, scale = quantise(vector)

    assert np.abs(coarse.astype(np.float64) * scale - vector).max() <= scale / 2 + 1e-12
    as_floats = coarse.astype(np.float32)
    exact = int(np.vdot(coarse.astype(np.int64), coarse.astype(np.int64)))
    assert float(as_floats @ as_floats) == exact


def test_explain_says_why_a_memory_is_not_recalled() -> None:
    world = World()
    memory = world.memory()
    kept = memory.remember("blue", key="color", category="preference")
    memory.correct("color", "green")
    short = memory.remember("the code is 1234", ttl_days=1)
    world.clock.advance(days=2)
    assert kept.record
    assert short.record

    superseded = memory.explain(kept.record.id, "color")
    expired = memory.explain(short.record.id, "code")
    unmatched = memory.explain(memory.recall("绿茶 cat")[0].record.id, "绿茶")
    matched = memory.explain(memory.recall("cat called Misha")[0].record.id, "cat Misha")

    assert superseded.excluded == ("status_superseded",)
    assert expired.excluded == ("expired",)
    assert (unmatched.recalled, unmatched.excluded) == (False, ("no_match",))
    assert (matched.rank, matched.matched_terms) == (1, ("cat", "misha"))


class _Unreachable:
    """A store behind a line that can be cut."""

    def __init__(self, store: object) -> None:
        self._store = store
        self.is_cut = False

    def __getattr__(self, name: str) -> object:
        if self.is_cut and name in ("heads", "snapshots"):
            return self._unanswered
        return getattr(self._store, name)

    async def _unanswered(self, owners: object) -> object:
        raise simonides.StoreUnavailable("far away", "no answer")


def test_a_store_that_does_not_answer_degrades_recall_to_what_is_warm() -> None:
    world = World()
    store = _Unreachable(world.store.runtime.store)
    runtime = replace(world.store.runtime, store=store)  # type: ignore[arg-type]
    memory = Store(AsyncStore(runtime)).memory(user="ana")
    memory.remember("the cat is called Misha")
    memory.recall("cat")
    store.is_cut = True

    recall = memory.recall("cat")

    assert recall.degraded == ("store",)
    assert recall.receipt.degraded == ("store",)
    assert recall[0].record.content == "the cat is called Misha"
    with pytest.raises(simonides.StoreUnavailable):
        Store(AsyncStore(runtime)).memory(user="nobody-warm").recall("cat")


@pytest.mark.parametrize("rows", [3, EXACT_ROWS, EXACT_ROWS + 10_000])
def test_the_sum_of_vectors_is_exact_however_many_there_are(rows: int) -> None:
    vectors = np.full((rows, 2), -128, np.float32)
    vectors[0] = -1, 2
    segment: Any = SimpleNamespace(vectors=vectors)
    everywhere = np.arange(rows)
    pool: Any = SimpleNamespace(parts=[Part(segment, everywhere, everywhere, is_whole=True)])

    summed = Pool.vector_sum(pool)

    assert summed.dtype == np.float64
    assert summed.tolist() == [-128 * (rows - 1) - 1, -128 * (rows - 1) + 2]
