"""What users of wrapped clients say before they are erased elsewhere is not captured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from wrapping import (
    FACES,
    STATED,
    Face,
    anthropic_client,
    chat_of,
    facts,
    message_of,
    openai_client,
)

import simonides
from principals import erase
from simonides.api.sync import Store
from simonides.integrations import wrap_memory
from simonides.integrations.wrap import memory_of
from simonides.testing.model_server import ModelServer, saying

LATE = "capture:blocked:erased_since"


@pytest.fixture
def opened_store(tmp_path: Path) -> Iterator[Store]:
    with simonides.open(tmp_path / "m.db") as opened:
        yield opened


@pytest.fixture
def elsewhere(opened_store: Store, tmp_path: Path) -> Iterator[Store]:
    """The same store, as another process has it open."""
    with simonides.open(tmp_path / "m.db") as opened:
        yield opened


def held_up(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Have captures wait; returns what lets them go on."""
    may_go_on, capture = threading.Event(), wrap_memory.capture_turn

    def late(memory: Any, *said: Any, **named: Any) -> Any:
        assert may_go_on.wait(10)
        return capture(memory, *said, **named)

    monkeypatch.setattr(wrap_memory, "capture_turn", late)
    return may_go_on


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_only_what_is_said_after_an_erasure_elsewhere_is_captured(
    face: Face,
    opened_store: Store,
    elsewhere: Store,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_known: bool,
) -> None:
    if is_known:
        opened_store.memory(user="ana").remember("Ana reads on a phone")
    may_go_on = held_up(monkeypatch)
    with ModelServer([saying("Hello!"), saying("Again!")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        face.say(client, STATED)

        erase(elsewhere.memory(user="ana"))
        face.say(client, "I live in Lisbon.")
        may_go_on.set()
        assert memory_of(client).flush(10)

        assert memory_of(client).diagnostics == (LATE,)
    assert facts(opened_store) == {"location": "Lisbon"}


@pytest.mark.parametrize(
    ("make", "begin"),
    [
        (openai_client, lambda client, said: chat_of(client, messages=said, stream=True)),
        (anthropic_client, lambda client, said: message_of(client, messages=said, stream=True)),
        (
            anthropic_client,
            lambda client, said: client.messages.stream(model="m", max_tokens=9, messages=said),
        ),
    ],
    ids=["openai", "anthropic", "anthropic-helper"],
)
def test_what_a_stream_was_asked_before_an_erasure_is_not_captured_at_its_end(
    opened_store: Store, elsewhere: Store, make: Any, begin: Callable[[Any, Any], Any]
) -> None:
    with ModelServer([saying("one two three")]) as server:
        client = simonides.wrap(make(server), user="ana", store=opened_store)
        with begin(client, [{"role": "user", "content": STATED}]) as stream:
            erase(elsewhere.memory(user="ana"))
            for _ in stream:
                pass

        assert client.memory.flush(10)
        assert client.memory.diagnostics == (LATE,)
    assert facts(opened_store) == {}
