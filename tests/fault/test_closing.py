"""A store that is closed while others work with it, close it too, or were forked from it."""

import asyncio
import os
import signal
import threading

import pytest
from killing import Child

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.errors import StoreUnavailable
from simonides.engine.recall.read_journal import ReadJournal
from simonides.settings import Settings

WAIT_S = 20.0
"""Longer than anything here takes, and shorter than a test that hangs."""


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "m.db")
    database = request.getfixturevalue("database")
    return request.getfixturevalue("postgres").url("simonides_app", database)


def opened(target):
    return Store(assemble(target, inline=True, settings=Settings(embedder="none")))


def test_of_several_threads_that_close_one_does_and_the_others_wait_for_it(target):
    store = opened(target)
    store.memory(user="ana").session("s").add({"role": "user", "content": "I live in Zorbville."})
    begun, go_on, told = threading.Event(), threading.Event(), []
    close = store.runtime.part(ReadJournal).close

    async def slowly():
        begun.set()
        await (asyncio.to_thread(go_on.wait) if "://" in target else at_once())
        await close()

    async def at_once():
        go_on.wait(WAIT_S)

    store.runtime.part(ReadJournal).close = slowly

    def closing():
        try:
            store.close()
            told.append(go_on.is_set())
        except StoreUnavailable as error:
            told.append(error)

    threads = [threading.Thread(target=closing) for _ in range(3)]
    threads[0].start()
    assert begun.wait(WAIT_S)
    for thread in threads[1:]:
        thread.start()
        thread.join(0.2)
    go_on.set()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    assert told == [True] * 3
    with opened(target) as again:
        memory = again.memory(user="ana")
        assert memory.sessions() == ()
        assert any("Zorbville" in each.content for each in memory.list())


def test_of_several_tasks_that_close_one_does_and_the_others_wait_for_it(target):
    async def main():
        opened_store = await simonides.aopen(target)
        memory, store = opened_store.memory(user="ana"), opened_store.runtime.store
        await memory.remember("Lives in Zorbville.")
        await memory.digest("Zorbville")
        write, writing, go_on = store.journal, asyncio.Event(), asyncio.Event()

        async def slowly(found):
            writing.set()
            await go_on.wait()
            await write(found)

        store.journal = slowly
        closing = [asyncio.create_task(opened_store.close())]
        await writing.wait()
        closing += [asyncio.create_task(opened_store.close()) for _ in range(2)]
        assert (await asyncio.wait(closing[1:], timeout=0.2))[0] == set()
        go_on.set()
        assert await asyncio.gather(*closing) == [None] * 3

    asyncio.run(main())
    with opened(target) as again:
        assert len(again.memory(user="ana").receipts.list()) == 1


def test_a_signals_handler_that_closes_what_is_being_closed_waits_for_nothing(target):
    store = opened(target)
    store.memory(user="ana").remember("Lives in Zorbville.")
    close, told = store.runtime.part(ReadJournal).close, []

    async def interrupted():
        signal.raise_signal(signal.SIGUSR1)
        told.append("gone on with")
        await close()

    def handler(*_):
        store.close()
        told.append("handled")

    store.runtime.part(ReadJournal).close = interrupted
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        store.close()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert told == ["handled", "gone on with"]
    with pytest.raises(StoreUnavailable, match="closed"):
        store.memory(user="ana").recall("Zorbville")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_others_call_waits_for_none_of_its_parents_threads(database, postgres):
    store = opened(postgres.url("simonides_app", database))
    memory = store.memory(user="ana")
    memory.remember("Prefers tea", key="drink")
    begun, go_on = threading.Event(), threading.Event()

    async def long():
        begun.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)

    turning = threading.Thread(target=lambda: store._driver.run(long()))
    turning.start()
    assert begun.wait(WAIT_S)

    def work(say):
        try:
            memory.remember("Prefers coffee", key="drink")
        except StoreUnavailable as error:
            say(str(error).rpartition(": ")[2].replace(" ", "_"))
        store.close()
        say("closed")

    child = Child(work)
    impatient = threading.Timer(WAIT_S, os.kill, (child.pid, 9))
    impatient.start()
    said = child.said.read().split()
    impatient.cancel()
    os.waitpid(child.pid, 0)
    child.said.close()
    # The parent is woken by its own calls, as before.
    assert [hit.record.content for hit in memory.recall("drink")] == ["Prefers tea"]
    go_on.set()
    turning.join(WAIT_S)
    store.close()
    assert said == ["opened_before_a_fork;_open_it_in_this_process", "closed"]
