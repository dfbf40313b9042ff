"""A call that is begun now and waited for later."""

import asyncio
from dataclasses import replace

import pytest

import simonides
from simonides.api.store import AsyncStore
from simonides.domain.errors import StoreUnavailable
from simonides.engine.core.prefetch import Prefetch
from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.indexer import Indexer


def stepped(coroutine):
    """Complete a coroutine that may not suspend."""
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    return stopped.value.value


async def awaited(call):
    return await call


class Pause:
    def __await__(self):
        yield


def test_what_need_not_wait_has_ended_when_it_was_begun():
    told = []

    async def call():
        told.append("asked")
        return 7

    begun = Prefetch(call())

    assert told == ["asked"]
    assert stepped(awaited(begun)) == 7


def test_what_waits_goes_on_when_it_is_awaited():
    told = []

    async def call():
        told.append("asked")
        await Pause()
        await asyncio.sleep(0)
        told.append("answered")
        return 7

    async def main():
        begun = Prefetch(call())
        told.append("meanwhile")
        return await begun

    assert asyncio.run(main()) == 7
    assert told == ["asked", "meanwhile", "answered"]


@pytest.mark.parametrize("fails", [False, True])
def test_who_awaits_it_again_is_told_the_same(fails):
    async def call():
        await Pause()
        if fails:
            raise StoreUnavailable("here", "gone")
        return 7

    async def told(begun):
        try:
            return await begun
        except StoreUnavailable as error:
            return str(error)

    async def main():
        begun = Prefetch(call())
        return [await told(begun), await told(begun)]

    first, again = asyncio.run(main())
    assert first == again
    assert (first == 7) is not fails


def test_what_waits_for_something_of_the_loop_waits_for_it():
    async def main():
        came = asyncio.get_running_loop().create_future()
        begun = Prefetch(awaited(came))
        asyncio.get_running_loop().call_soon(came.set_result, 7)
        return await begun

    assert asyncio.run(main()) == 7


@pytest.mark.parametrize("is_held", [False, True])
def test_who_waits_for_something_else_first_does_not_wait_for_what_the_call_holds(is_held):
    async def holding(lock):
        async with lock:
            await Pause()
            return 7

    async def main():
        lock = asyncio.Lock()
        if is_held:
            await lock.acquire()
        begun = Prefetch(holding(lock), goes_on=True)
        await Pause()
        if is_held:
            lock.release()  # Who begun is next in the line.
        async with asyncio.timeout(1), lock:
            pass
        return await begun

    assert asyncio.run(main()) == 7


def test_a_time_out_of_a_call_that_goes_on_by_itself_is_not_that_of_who_began_it():
    async def call(came, ended):
        try:
            async with asyncio.timeout(0):
                await came
        except TimeoutError:
            raise StoreUnavailable("here", "no connection") from None
        finally:
            ended.set()

    async def main():
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        begun = Prefetch(call(loop.create_future(), ended), goes_on=True)
        await ended.wait()
        assert not asyncio.current_task().cancelling()
        with pytest.raises(StoreUnavailable, match="no connection"):
            await begun

    asyncio.run(main())


@pytest.mark.parametrize("pauses", [0, 1])
def test_an_error_is_raised_when_the_call_is_awaited(pauses):
    async def call():
        for _ in range(pauses):
            await Pause()
        raise StoreUnavailable("here", "gone")

    async def main():
        begun = Prefetch(call())
        with pytest.raises(StoreUnavailable, match="gone"):
            await begun

    asyncio.run(main())


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_that_is_dismissed_comes_to_its_end(fails):
    told = []

    async def call():
        await Pause()
        told.append("ended")
        if fails:
            raise StoreUnavailable("here", "gone")

    async def main():
        await Prefetch(call()).dismiss()

    asyncio.run(main())
    assert told == ["ended"]


def test_a_call_that_was_awaited_is_dismissed_already():
    async def call():
        await Pause()
        return 7

    async def main():
        begun = Prefetch(call())
        found = await begun
        await begun.dismiss()
        return found

    assert asyncio.run(main()) == 7


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_call_that_is_cancelled_ends_in_its_own_way(goes_on):
    told = []

    async def call(came):
        try:
            await came
        finally:
            await asyncio.sleep(0)
            told.append("left")

    async def main():
        loop = asyncio.get_running_loop()
        begun = Prefetch(call(loop.create_future()), goes_on=goes_on)
        task = loop.create_task(awaited(begun))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert told == ["left"]


class Faulty:
    """An embedder with a fault of its own."""

    model_id = "faulty"
    dimensions = 2
    scripts = frozenset({"Latin"})

    def encode(self, texts):
        raise ZeroDivisionError


class FarAway:
    """A store whose answer about where owners stand takes a round of the loop."""

    def __init__(self, store, told):
        self._store = store
        self._told = told
        self.capabilities = frozenset()

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def heads(self, owners):
        return await self._slowly(self._store.heads(owners))

    async def snapshots(self, asked):
        return await self._slowly(self._store.snapshots(asked))

    async def _slowly(self, call):
        self._told.append("asked")
        await asyncio.sleep(0)
        self._told.append("answered")
        return await call


def test_what_this_process_writes_while_a_recall_asks_is_found():
    class Meanwhile(FarAway):
        async def _slowly(self, call):
            await asyncio.sleep(0)
            await self.write
            return await call

    async def main():
        async with simonides.aopen(":memory:") as opened:
            memory = opened.memory(user="ana")
            await memory.remember("the boat lies in the harbour")
            await memory.recall("which boat?")
            store = Meanwhile(opened.runtime.store, [])
            store.write = memory.remember("another boat lies on the beach")
            far = AsyncStore(replace(opened.runtime, store=store))
            return await far.memory(user="ana").recall("which boat?")

    assert len(asyncio.run(main()).hits) == 2


def test_a_recall_that_fails_leaves_no_question_under_way():
    told = []

    async def main():
        async with simonides.aopen(":memory:") as opened:
            await opened.memory(user="ana").remember("the boat lies in the harbour")
            runtime = replace(
                opened.runtime,
                store=FarAway(opened.runtime.store, told),
                indexes=IndexCache(Indexer(Faulty())),
            )
            with pytest.raises(ZeroDivisionError):
                await AsyncStore(runtime).memory(user="ana").recall("which boat?")

    asyncio.run(main())
    assert told == ["asked", "answered"]
