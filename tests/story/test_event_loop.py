"""What takes longer than a moment leaves the event loop to others; what does not stays on it."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import simonides
from simonides.api.store import AsyncStore
from simonides.engine.recall import fresh_indexes as sights
from simonides.engine.write import writer as writing
from simonides.ports import Capability
from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.indexer import Indexer


class Watched:
    """An embedder of two dimensions that notes on which thread it works."""

    model_id = "watched"
    dimensions = 2
    scripts = frozenset({"Latin"})
    capabilities = frozenset({Capability.INLINE})

    def __init__(self) -> None:
        self.threads: list[int] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.threads.append(threading.get_ident())
        return np.ones((len(texts), 2), np.float32)


def drafts(count: int) -> list[simonides.Draft]:
    return [simonides.Draft(f"boat {number} lies in the harbour") for number in range(count)]


@pytest.mark.parametrize(("count", "is_aside"), [(3, False), (writing.MANY_TEXTS + 1, True)])
def test_many_texts_are_embedded_on_another_thread(tmp_path, count, is_aside):
    async def write() -> list[int]:
        async with simonides.aopen(tmp_path / "m.db") as store:
            embedder = Watched()
            indexes = IndexCache(Indexer(embedder))
            watched = AsyncStore(replace(store.runtime, indexes=indexes))
            await watched.memory(user="ana").remember_many(drafts(count))
            return embedder.threads

    threads = asyncio.run(write())

    assert (threading.get_ident() not in threads) is is_aside


def test_a_caller_without_a_loop_stays_on_one_thread(tmp_path):
    with simonides.open(tmp_path / "m.db") as store:
        embedder = Watched()
        runtime = replace(store.runtime, indexes=IndexCache(Indexer(embedder)))
        memory = simonides.api.sync.Store(AsyncStore(runtime)).memory(user="ana")
        memory.remember_many(drafts(writing.MANY_TEXTS + 1))

    assert set(embedder.threads) == {threading.get_ident()}


class Steps:
    """Where work is done, with a note of how often."""

    def __init__(self) -> None:
        self.done = 0

    async def __call__(self, work):
        self.done += 1
        return await asyncio.to_thread(work)


@pytest.mark.parametrize("verb", ["recall", "digest"])
def test_reading_and_ranking_many_rows_lets_others_go_on(tmp_path, monkeypatch, verb):
    monkeypatch.setattr(sights, "MANY_READ", 20)
    monkeypatch.setattr(sights, "MANY_RANKED", 20)

    async def ask(count: int) -> tuple[int, int, object]:
        async with simonides.aopen(tmp_path / f"{count}.db") as store:
            await store.memory(user="ana").remember_many(drafts(count))
        async with simonides.aopen(tmp_path / f"{count}.db") as store:
            steps = Steps()
            memory = AsyncStore(replace(store.runtime, aside=steps)).memory(user="ana")
            found = await getattr(memory, verb)("which boat lies in the harbour?")
            cold = steps.done
            await getattr(memory, verb)("which boat lies in the harbour?")
            return cold, steps.done - cold, found

    few_cold, few_warm, _ = asyncio.run(ask(5))
    many_cold, many_warm, found = asyncio.run(ask(40))

    assert (few_cold, few_warm) == (0, 0)
    assert (many_cold, many_warm) == (2, 1)
    with simonides.open(tmp_path / "40.db") as store:
        again = getattr(store.memory(user="ana"), verb)("which boat lies in the harbour?")
    assert [item.record.id for item in _items(found)] == [i.record.id for i in _items(again)]


def _items(found):
    return found.items if isinstance(found, simonides.Digest) else list(found)


def test_all_rows_of_an_owner_are_read_off_the_loop(tmp_path):
    async def read() -> bool:
        async with simonides.aopen(tmp_path / "m.db") as store:
            await store.memory(user="ana").remember_many(drafts(5))
            owner = simonides.types.Scope("default", "ana")
            reading_all = asyncio.create_task(store.runtime.store.rows(owner))
            await asyncio.sleep(0)
            had_to_wait = not reading_all.done()
            return had_to_wait and len(await reading_all) == 5

    assert asyncio.run(read())
