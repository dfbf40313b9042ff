"""Over a network a recall is ranked while the store says where its owners stand, and again if that
is news.
"""

import asyncio
import threading

import pytest

import simonides
from embedders import HashedEmbedder
from simonides import StoreUnavailable
from simonides.domain.governance.consent import RECALL_OFF
from simonides.engine.recall import reader as reading
from simonides.types import Layer

TEA, COFFEE = "Ana drinks green tea.", "Ana drinks black coffee."


@pytest.fixture
def target(postgres, database):
    return str(postgres.url("simonides_app", database))


@pytest.fixture
def opened(target):
    with simonides.open(target) as opened:
        yield opened


@pytest.fixture
def memory(opened):
    """One that has been read from, so that its owner is in memory."""
    memory = opened.memory(user="ana")
    memory.remember(TEA, key="drink")
    for _ in range(2):
        memory.recall("drinks")
    return memory


@pytest.fixture
def elsewhere(target):
    """What another process writes by."""
    with simonides.open(target) as opened:
        yield opened.memory(user="ana")


@pytest.fixture
def rankings(monkeypatch):
    made = []

    def noted(*given, **named):
        made.append(ranked := rank(*given, **named))
        return ranked

    rank = reading.rank
    monkeypatch.setattr(reading, "rank", noted)
    return made


def contents(found):
    return sorted(hit.record.content for hit in found.hits)


def test_where_nobody_wrote_a_recall_is_ranked_once(memory, rankings):
    assert contents(memory.recall("what does she drink?")) == [TEA]
    assert len(rankings) == 1


def test_what_was_written_elsewhere_is_found(memory, elsewhere, rankings):
    elsewhere.remember(COFFEE)

    assert contents(memory.recall("drinks")) == [COFFEE, TEA]
    assert len(rankings) == 2
    assert contents(memory.recall("drinks")) == [COFFEE, TEA]
    assert len(rankings) == 3


def test_what_was_forgotten_elsewhere_is_not_found(memory, elsewhere):
    elsewhere.forget("drink")

    assert memory.recall("drinks").hits == ()


def test_what_was_refused_elsewhere_is_not_found(memory, elsewhere):
    elsewhere.privacy.refuse(key="drink")

    assert memory.recall("drinks").hits == ()


def test_recall_that_was_switched_off_elsewhere_is_off(memory, elsewhere):
    elsewhere.privacy.pause_recall()

    found = memory.recall("drinks")

    assert (found.hits, found.degraded) == ((), (RECALL_OFF,))


def test_the_receipt_is_that_of_what_was_answered(memory, elsewhere):
    for text in (TEA, COFFEE):
        elsewhere.remember(text)
        found = memory.recall("drinks")

        assert memory.receipts.replay(found.receipt).hits == found.hits


def test_in_a_session_what_was_said_there_comes_first(memory, rankings):
    session = memory.session("s")
    session.add({"role": "user", "content": "I live in Lisbon."})

    session.recall("where do I live?")

    assert len(rankings) == 1


@pytest.fixture
def alone(target):
    """Settings by which a process has one connection."""
    return simonides.Settings(pool_size=1, call_timeout_s=1, embedder="none")


def test_no_recall_waits_for_the_connection_that_it_has_itself(target, alone):
    with simonides.open(target, settings=alone) as opened:
        memory = opened.memory(user="ana")
        memory.remember(TEA)
        session = memory.session("s")
        session.add({"role": "user", "content": "I live in Lisbon."})

        said = session.recall("where do I live?")
        everywhere = memory.recall("drinks", layer="all")

    assert said.hits[0].record.source is simonides.Source.IN_SESSION_CORRECTION
    assert (said.degraded, everywhere.degraded) == ((), ())
    assert contents(everywhere) == [TEA]


def test_while_a_model_reads_the_question_others_have_the_connection(target, alone):
    class Waiting(HashedEmbedder):
        go_on = threading.Event()
        go_on.set()

        def encode(self, texts):
            assert self.go_on.wait(10)
            return super().encode(texts)

    async def main():
        async with simonides.aopen(target, settings=alone, embedder=Waiting()) as opened:
            memory = opened.memory(user="ana")
            await memory.remember(TEA)
            Waiting.go_on.clear()
            recall = asyncio.create_task(memory.recall("drinks"))
            await asyncio.sleep(0)
            try:
                return await memory.list(), recall
            finally:
                Waiting.go_on.set()
                await recall

    listed, recall = asyncio.run(main())
    assert [memory.content for memory in listed] == [TEA]
    assert contents(recall.result()) == [TEA]


def test_a_file_has_answered_before_there_is_anything_to_do_meanwhile(tmp_path, rankings):
    async def main():
        async with simonides.aopen(tmp_path / "m.db") as opened:
            memory = opened.memory(user="ana")
            await memory.remember(TEA)
            for _ in range(3):
                await memory.recall("drinks", layer=Layer.L2)

    asyncio.run(main())

    assert len(rankings) == 3


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_recall_that_comes_to_nothing_lets_go_of_what_it_began_to_ask(
    target, monkeypatch, is_cancelled
):
    async def main():
        async with simonides.aopen(target) as opened:
            memory, store = opened.memory(user="ana"), opened.runtime.store
            await memory.remember(TEA)
            asking, ended = asyncio.Event(), []
            standing = store.snapshots

            async def snapshots(asked):
                try:
                    return await standing(asked)
                finally:
                    ended.append(True)

            async def consents(owner):
                asking.set()
                if is_cancelled:
                    await asyncio.Event().wait()
                raise StoreUnavailable("m.db", "gone")

            monkeypatch.setattr(store, "snapshots", snapshots)
            monkeypatch.setattr(store, "consents", consents)
            opened.runtime.indexes.clear()
            recall = asyncio.create_task(memory.recall("drinks", layer="all"))
            await asking.wait()
            if is_cancelled:
                recall.cancel()
            with pytest.raises(asyncio.CancelledError if is_cancelled else StoreUnavailable):
                await recall
            assert ended

    asyncio.run(main())
