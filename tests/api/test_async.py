"""The async face has the same verbs; writes finish even if their caller is cancelled."""

import asyncio
import inspect
import threading

import pytest

import simonides
from simonides.api import aio, groups
from simonides.api.admin import Admin
from simonides.api.agent import Agent
from simonides.api.memory import Memory
from simonides.api.store import Store
from simonides.testing import ManualClock

PAIRS = [
    (Store, aio.AsyncStore), (Memory, aio.AsyncMemory), (Admin, aio.AsyncAdmin),
    (groups.Audit, aio.AsyncAudit), (Agent, aio.AsyncAgent),
]  # fmt: skip


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
def test_both_faces_have_the_same_verbs_parameters_and_docstrings(blocking, awaited):
    def verbs(face):
        return {name: each for name, each in vars(face).items() if not name.startswith("_")}

    assert verbs(blocking).keys() == verbs(awaited).keys()
    for name, verb in verbs(blocking).items():
        if inspect.isfunction(verb):
            theirs = verbs(awaited)[name]
            assert inspect.getdoc(verb) == inspect.getdoc(theirs)
            parameters = [str(each) for each in inspect.signature(theirs).parameters.values()]
            assert [str(each) for each in inspect.signature(verb).parameters.values()] == [
                each.replace("AsyncMemory", "Memory") for each in parameters
            ]


def test_a_story_is_told_awaited(tmp_path):
    async def story():
        async with simonides.aopen(tmp_path / "m.db", clock=ManualClock()) as store:
            memory = store.memory(user="ana")
            assert await memory.remember("Ana drinks tea", key="drink")
            await memory.correct("drink", "Ana drinks coffee")
            hits = await memory.recall("what does Ana drink?")
            assert [hit.content for hit in hits] == ["Ana drinks coffee"]
            assert len(await memory.history("drink")) == 2
            assert (await memory.audit.verify()).ok
            assert (await store.admin(actor="root").verify_audit()).owners == 1
            assert repr(memory) == "<AsyncMemory /global/org/default/user/ana/>"

    asyncio.run(story())


def test_a_store_can_be_awaited_and_closed(tmp_path):
    async def story():
        store = await simonides.aopen(tmp_path / "m.db")
        assert await store.memory(user="ana").remember("tea")
        await store.close()
        with pytest.raises(simonides.StoreUnavailable):
            await store.memory(user="ana").recall("tea")

    asyncio.run(story())


def test_a_write_that_has_begun_ends_though_its_caller_is_cancelled():
    begun, go_on = threading.Event(), threading.Event()

    class SlowEmbedder:
        model_id, dimensions = "slow", 2

        def encode(self, texts):
            import numpy as np

            begun.set()
            go_on.wait(10)
            return np.ones((len(texts), 2), np.float32)

    async def story():
        async with simonides.aopen(":memory:", embedder=SlowEmbedder()) as store:
            memory = store.memory(user="ana")
            write = asyncio.create_task(memory.remember("tea", key="drink"))
            await asyncio.to_thread(begun.wait, 10)
            write.cancel()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await write
            assert (await memory.get("drink")).content == "tea"

    asyncio.run(story())
