"""Wrapped clients of many threads and tasks: nothing is lost, nothing is held up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from wrapping import anthropic_client, async_openai_client, facts, openai_client

import simonides
from simonides.api.sync import Store
from simonides.integrations.wrap import memory_of
from simonides.testing.model_server import ModelServer, saying

FRUIT = ["apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel", "iris", "juniper"]


@pytest.fixture
def opened_store(tmp_path: Path) -> Iterator[Store]:
    with simonides.open(tmp_path / "m.db") as opened:
        yield opened


def stated(fruit: str) -> list[Any]:
    return [{"role": "user", "content": f"Remember that locker {fruit} is mine."}]


def test_one_client_may_be_used_by_many_threads(opened_store: Store) -> None:
    with ModelServer(answers=lambda _: saying("Noted.")) as server:
        client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        with ThreadPoolExecutor(5) as pool:
            list(
                pool.map(
                    lambda fruit: client.chat.completions.create(model="m", messages=stated(fruit)),
                    FRUIT,
                )
            )
        assert client.memory.flush(20)

    kept = " ".join(memory.content for memory in opened_store.memory(user="ana").list())
    assert [fruit for fruit in FRUIT if fruit not in kept] == []
    assert client.memory.diagnostics == ()


def test_one_client_may_be_used_by_many_tasks(opened_store: Store) -> None:
    async def story(server: ModelServer) -> None:
        async with simonides.wrap(
            async_openai_client(server), user="ana", store=opened_store
        ) as client:
            await asyncio.gather(
                *(
                    client.chat.completions.create(model="m", messages=stated(fruit))
                    for fruit in FRUIT
                )
            )

    with ModelServer(answers=lambda _: saying("Noted.")) as server:
        asyncio.run(story(server))

    kept = " ".join(memory.content for memory in opened_store.memory(user="ana").list())
    assert [fruit for fruit in FRUIT if fruit not in kept] == []


class Patient:
    """An embedder that answers when the test lets it."""

    model_id = "patient"
    dimensions = 4
    scripts = frozenset({"Latin"})
    capabilities: frozenset[Any] = frozenset()
    unrelated: dict[str, float] = {}  # noqa: RUF012 - the port's name for what it has not

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()

    def encode(self, texts: Sequence[str]) -> Any:
        self.asked.set()
        assert self.gate.wait(10), "nobody let it go: the event loop was held up"
        return np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (len(texts), 1))


def test_a_recall_that_takes_its_time_holds_up_no_event_loop() -> None:
    embedder = Patient()

    async def story(server: ModelServer, opened_store: Store) -> None:
        client = simonides.wrap(async_openai_client(server), user="ana", store=opened_store)
        embedder.gate.clear()
        embedder.asked.clear()
        said: Any = [{"role": "user", "content": "Where in the harbour lies the boat?"}]
        asking = asyncio.create_task(client.chat.completions.create(model="m", messages=said))
        async with asyncio.timeout(10):
            while not embedder.asked.is_set():
                await asyncio.sleep(0.001)
        # The loop goes on while recall waits; only this lets it go.
        embedder.gate.set()
        await asking
        await client.close()

    with (
        ModelServer([saying("There.")]) as server,
        simonides.open(":memory:", embedder=embedder) as opened_store,  # type: ignore[arg-type]
    ):
        opened_store.memory(user="ana").remember("The boat lies in the harbour of Porto.")
        asyncio.run(story(server, opened_store))

    assert "Porto" in str(server.received[0].body)


def test_what_a_method_of_the_sdk_calls_by_itself_is_the_same_turn(
    opened_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openai.resources.chat.completions import Completions

    monkeypatch.setattr(Completions, "parse", lambda self, **asked: self.create(**asked))
    opened_store.memory(user="ana").remember("Ana", key="nickname", category="preference")
    with ModelServer([saying("Hello!")]) as server:
        client: Any = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        client.chat.completions.parse(model="m", messages=stated("apple"))
        assert client.memory.flush(10)

    assert str(server.received[0].body).count("Memory digest:") == 1
    assert len(opened_store.memory(user="ana").receipts.list()) == 1


def test_two_vendors_may_share_one_users_memory(opened_store: Store) -> None:
    said: Any = [{"role": "user", "content": "Call me Ana."}]
    asked: Any = [{"role": "user", "content": "What is my name?"}]
    with ModelServer([saying("Hello!"), saying("Ana.")]) as server:
        one: openai.OpenAI = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        other = simonides.wrap(anthropic_client(server), user="ana", store=opened_store)
        one.chat.completions.create(model="m", messages=said)
        assert memory_of(one).flush(10)
        other.messages.create(model="m", max_tokens=9, messages=asked)

    assert '"Ana"' in str(server.received[1].body)
    assert facts(opened_store) == {"nickname": "Ana"}
