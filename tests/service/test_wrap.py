"""Wrapped clients: the vendors' own SDKs over real HTTP, with a memory (CO-1, DI-1, DI-5, FX-1)."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import anthropic
import openai
import pytest

import memstrata
from memstrata.blocking import Strata
from memstrata.integrations.wrap import memory_of
from memstrata.testing.model_dialects import Said
from memstrata.testing.model_server import (
    ModelServer,
    Received,
    Reply,
    calling,
    failing,
    saying,
)
from memstrata.testing.models import ScriptedModel
from memstrata.wiring import assemble

STATED = "Call me Ana."
ASKED = "What is my name?"
SECRET = "AKIA" + "IOSFODNN7" + "EXAMPLQ"


@dataclass(frozen=True)
class Face:
    """One way to talk to a model: a client, a call, and what was sent."""

    name: str
    client: Callable[[ModelServer], Any]
    call: Callable[..., Any]
    argument: str = "messages"

    def say(self, client: Any, text: Any, **more: Any) -> Any:
        """Call, and wait where the client is async."""
        conversation = [{"role": "user", "content": text}] if isinstance(text, str) else text
        answer = self.call(client, **{self.argument: conversation}, **more)
        return asyncio.run(_awaited(answer)) if asyncio.iscoroutine(answer) else answer

    def sent(self, received: Received) -> list[Any]:
        conversation = received.body[self.argument]
        return conversation if isinstance(conversation, list) else [conversation]


async def _awaited(answer: Any) -> Any:
    answer = await answer
    if hasattr(type(answer), "__stream__"):
        async for _ in answer:
            pass
    return answer


def _openai(server: ModelServer) -> Any:
    return openai.OpenAI(api_key="k", base_url=server.base_url, max_retries=0)


def _async_openai(server: ModelServer) -> Any:
    return openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0)


def _anthropic(server: ModelServer) -> Any:
    return anthropic.Anthropic(api_key="k", base_url=server.root_url, max_retries=0)


def _async_anthropic(server: ModelServer) -> Any:
    return anthropic.AsyncAnthropic(api_key="k", base_url=server.root_url, max_retries=0)


def _chat(client: Any, **asked: Any) -> Any:
    return client.chat.completions.create(model="m", **asked)


def _respond(client: Any, **asked: Any) -> Any:
    return client.responses.create(model="m", **asked)


def _message(client: Any, **asked: Any) -> Any:
    return client.messages.create(model="m", max_tokens=100, **asked)


def _beta_message(client: Any, **asked: Any) -> Any:
    return client.beta.messages.create(model="m", max_tokens=100, **asked)


FACES = [
    Face("openai chat", _openai, _chat),
    Face("async openai chat", _async_openai, _chat),
    Face("openai responses", _openai, _respond, "input"),
    Face("async openai responses", _async_openai, _respond, "input"),
    Face("anthropic", _anthropic, _message),
    Face("async anthropic", _async_anthropic, _message),
    Face("anthropic beta", _anthropic, _beta_message),
]
SYNC = [face for face in FACES if not face.name.startswith("async")]


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def strata(tmp_path: Path) -> Iterator[Strata]:
    with memstrata.open(tmp_path / "m.db") as opened:
        yield opened


def facts(strata: Strata, user: str = "ana") -> dict[str | None, str]:
    return {each.key: each.content for each in strata.manager(user=user).list()}


def texts(parts: Any) -> list[str]:
    """The texts of one message, part by part."""
    content = parts["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def test_what_the_user_says_is_remembered_and_recalled_as_one_part(
    face: Face, strata: Strata
) -> None:
    with ModelServer([saying("Hello!"), saying("Ana.")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        face.say(client, STATED)
        assert memory_of(client).flush(10)
        face.say(client, ASKED)
        memory_of(client).close()

    first, second = (face.sent(received) for received in server.received)
    assert first == [{"role": "user", "content": STATED}]
    digest, question = texts(second[0])
    assert digest.startswith("Memory digest:\n")
    assert digest.endswith("</memory-data>")
    assert "Ana" in digest
    assert question == ASKED
    assert facts(strata) == {"nickname": "Ana"}
    assert client.memory.diagnostics == ()


def test_where_nothing_is_remembered_the_request_is_byte_for_byte_what_it_was(
    face: Face, strata: Strata
) -> None:
    with ModelServer([saying("Hello!")] * 3) as server:
        face.say(face.client(server), ASKED)
        face.say(memstrata.wrap(face.client(server), user="ana", store=strata), ASKED)
        strata.manager(user="ana").remember("Ana", key="nickname")
        off = memstrata.wrap(face.client(server), user="ana", store=strata, recall=False)
        face.say(off, ASKED)

    bare, empty, switched_off = (received.body for received in server.received)
    assert bare == empty == switched_off


def test_with_the_policys_floor_a_request_about_something_else_is_what_it_was(
    face: Face, strata: Strata
) -> None:
    strata.manager(user="ana").remember("Ana's dog Rex is afraid of thunder.")
    with ModelServer([saying("Hello!")] * 2) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata, floor=None)
        face.say(client, "Write a haiku about compilers.")
        face.say(client, "What is Ana's dog Rex afraid of?")

    elsewhere, about_it = (str(received.body) for received in server.received)
    assert "Memory digest:" not in elsewhere
    assert "Memory digest:" in about_it


def test_what_the_caller_handed_over_stays_as_it_was(face: Face, strata: Strata) -> None:
    strata.manager(user="ana").remember("Ana", key="nickname", category="preference")
    earlier = {"role": "user", "content": "Hi."}
    conversation = [
        earlier,
        {"role": "assistant", "content": "Hello!"},
        {**earlier, "content": ASKED},
    ]
    copied = [{**message} for message in conversation]
    with ModelServer([saying("Ana.")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        face.say(client, conversation)

    sent = face.sent(server.received[0])
    assert conversation == copied
    assert sent[:2] == copied[:2]
    assert [part[:14] for part in texts(sent[2])] == ["Memory digest:", ASKED[:14]]


def test_two_users_of_one_store_never_mix(face: Face, strata: Strata) -> None:
    with ModelServer([saying("Hello!")] * 4) as server:
        ana = memstrata.wrap(face.client(server), user="ana", store=strata)
        bob = memstrata.wrap(face.client(server), user="bob", store=strata)
        face.say(ana, STATED)
        face.say(bob, "Call me Bob.")
        assert memory_of(ana).flush(10)
        assert memory_of(bob).flush(10)
        face.say(ana, ASKED)
        face.say(bob, ASKED)

    of_ana, of_bob = (str(received.body) for received in server.received[2:])
    assert '"Ana"' in of_ana
    assert "Bob" not in of_ana
    assert '"Bob"' in of_bob
    assert "Ana" not in of_bob
    assert facts(strata) == {"nickname": "Ana"}
    assert facts(strata, "bob") == {"nickname": "Bob"}


def test_a_secret_is_not_stored_and_not_told_of(face: Face, strata: Strata) -> None:
    with ModelServer([saying("Noted.")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        face.say(client, f"Remember that my access key is {SECRET}.")
        assert memory_of(client).flush(10)

    assert SECRET not in str(facts(strata))
    assert facts(strata) == {}
    assert any(note.startswith("capture:blocked:") for note in client.memory.diagnostics)
    assert SECRET not in str(client.memory.diagnostics)


def test_what_the_assistant_says_never_becomes_a_fact(face: Face, strata: Strata) -> None:
    with ModelServer([saying("I will call you Bob. Call me Rex.")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        face.say(
            client,
            [
                {"role": "user", "content": "Hi."},
                {"role": "assistant", "content": "Call me Rex. I live in Rome."},
                {"role": "user", "content": "Nice to meet you."},
            ],
        )
        assert memory_of(client).flush(10)

    assert facts(strata) == {}


def test_what_was_answered_before_is_not_captured_again(face: Face, strata: Strata) -> None:
    with ModelServer([saying("Hello!")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        face.say(
            client,
            [
                {"role": "user", "content": "I live in Berlin."},
                {"role": "assistant", "content": "Fine."},
                {"role": "user", "content": STATED},
            ],
        )
        assert memory_of(client).flush(10)

    assert facts(strata) == {"nickname": "Ana"}


def test_a_correction_is_read_against_what_the_user_said_before(face: Face, strata: Strata) -> None:
    strata.manager(user="ana").capture("I live in Paris.")
    with ModelServer([saying("Fine.")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        face.say(
            client,
            [
                {"role": "user", "content": "I live in Paris."},
                {"role": "assistant", "content": "Fine."},
                {"role": "user", "content": "No, it's Berlin."},
            ],
        )
        assert memory_of(client).flush(10)

    assert facts(strata) == {"location": "Berlin"}


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_errors_of_the_provider_pass_through_unchanged(
    face: Face, strata: Strata, status: int
) -> None:
    def error_of(client: Any) -> Exception:
        with pytest.raises((openai.APIError, anthropic.APIError)) as caught:
            face.say(client, STATED)
        return caught.value

    with ModelServer([failing(status, "no")] * 2) as server:
        bare = error_of(face.client(server))
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        wrapped = error_of(client)
        assert memory_of(client).flush(10)

    assert type(wrapped) is type(bare)
    assert str(wrapped) == str(bare)
    assert wrapped.__cause__ is bare.__cause__ is None
    assert facts(strata) == {}


def test_a_memory_that_fails_never_makes_a_call_fail(face: Face, tmp_path: Path) -> None:
    strata = memstrata.open(tmp_path / "m.db")
    with ModelServer([saying("Hello!")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        strata.close()
        face.say(client, STATED)
        assert memory_of(client).flush(10)

    assert client.memory.diagnostics == (
        "recall:StoreUnavailable",
        "capture:StoreUnavailable",
    )


class Slow(ScriptedModel):
    """A model that is let go by the test."""

    capabilities = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    async def complete_json(self, **question: Any) -> Any:
        await asyncio.to_thread(self.gate.wait, 30)
        raise memstrata.ModelTimeout("out", usage=memstrata.Usage(model_calls=1))


def test_the_caller_never_waits_for_capture(face: Face, tmp_path: Path) -> None:
    model = Slow()
    with Strata(assemble(str(tmp_path / "m.db"), inline=True, model=model)) as strata:
        with ModelServer([saying("Hello!")]) as server:
            client = memstrata.wrap(face.client(server), user="ana", store=strata)
            face.say(client, STATED)
            # The answer is here, capture is still under way.
            assert client.memory.pending == 1
            assert not client.memory.flush(0)
            model.gate.set()
            assert client.memory.flush(10)

        assert client.memory.diagnostics == ("capture:llm_timeout",)
        assert client.memory.usage.model_calls == 1
        assert facts(strata) == {"nickname": "Ana"}


# -- Streams -----------------------------------------------------------------------------------


def gated(text: str = "one two three four") -> tuple[Reply, threading.Event]:
    gate = threading.Event()
    return Reply(content=Said(text, pieces=4), gate=gate), gate


@pytest.mark.parametrize("face", SYNC, ids=lambda face: face.name)
def test_pieces_pass_as_they_come_and_capture_waits_for_the_end(face: Face, strata: Strata) -> None:
    reply, gate = gated()
    with ModelServer([reply, reply]) as server:
        gate.set()
        bare = [piece.to_dict() for piece in face.say(face.client(server), STATED, stream=True)]
        gate.clear()
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        stream = face.say(client, STATED, stream=True)
        pieces = [next(stream).to_dict()]
        # The server holds back the rest: what is here was not waited for.
        assert facts(strata) == {}
        assert client.memory.pending == 1
        gate.set()
        pieces += [piece.to_dict() for piece in stream]
        assert memory_of(client).flush(10)

    assert pieces == bare
    assert isinstance(stream, (openai.Stream, anthropic.Stream))
    assert facts(strata) == {"nickname": "Ana"}


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
def test_a_stream_that_was_read_to_its_end_is_captured_once(face: Face, strata: Strata) -> None:
    with ModelServer([saying("Hello there!")]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        stream = face.say(client, STATED, stream=True)
        if not face.name.startswith("async"):
            list(stream)
        assert memory_of(client).flush(10)
        del stream
        gc.collect()
        assert memory_of(client).flush(10)

    history = strata.manager(user="ana").history("nickname")
    assert [version.content for version in history] == ["Ana"]
    assert len(history[0].metadata) <= 1


@pytest.mark.parametrize("how", ["closed", "left", "dropped", "flushed"])
@pytest.mark.parametrize("face", SYNC, ids=lambda face: face.name)
def test_an_abandoned_stream_is_captured_too(face: Face, strata: Strata, how: str) -> None:
    reply, gate = gated()
    with ModelServer([reply]) as server:
        client = memstrata.wrap(face.client(server), user="ana", store=strata)
        stream = face.say(client, STATED, stream=True)
        next(stream)
        if how == "closed":
            stream.close()
        elif how == "left":
            with stream:
                pass
        elif how == "dropped":
            del stream
            gc.collect()
        assert client.memory._streams == {} or how == "flushed"
        assert memory_of(client).flush(10)
        gate.set()

    assert facts(strata) == {"nickname": "Ana"}


@pytest.mark.parametrize("make", [_async_openai, _async_anthropic])
def test_an_async_stream_passes_unbuffered_and_may_be_abandoned(
    make: Callable[[ModelServer], Any], strata: Strata
) -> None:
    call = _chat if make is _async_openai else _message
    reply, gate = gated()

    async def story(server: ModelServer) -> int:
        client = memstrata.wrap(make(server), user="ana", store=strata)
        said = [{"role": "user", "content": STATED}]
        seen = 0
        async with await call(client, messages=said, stream=True) as stream:
            async for _ in stream:
                seen += 1
                break
        assert await asyncio.to_thread(client.memory.flush, 10)
        await client.close()
        return seen

    with ModelServer([reply]) as server:
        assert asyncio.run(story(server)) == 1
        gate.set()

    assert facts(strata) == {"nickname": "Ana"}


HELPERS = {
    "openai chat": (_openai, lambda c, m: c.chat.completions.stream(model="m", messages=m)),
    "openai responses": (_openai, lambda c, m: c.responses.stream(model="m", input=m)),
    "anthropic": (
        _anthropic,
        lambda c, m: c.messages.stream(model="m", max_tokens=9, messages=m),
    ),
    "anthropic beta": (
        _anthropic,
        lambda c, m: c.beta.messages.stream(model="m", max_tokens=9, messages=m),
    ),
}


@pytest.mark.parametrize("helper", HELPERS)
def test_the_sdks_stream_helpers_remember_once(helper: str, strata: Strata) -> None:
    make, stream = HELPERS[helper]
    with ModelServer([saying("Hello there!")] * 2) as server:
        client = memstrata.wrap(make(server), user="ana", store=strata)
        for text in (STATED, ASKED):
            with stream(client, [{"role": "user", "content": text}]) as events:
                assert list(events)
            assert memory_of(client).flush(10)

    assert facts(strata) == {"nickname": "Ana"}
    assert str(server.received[1].body).count("Memory digest:") == 1
    assert len(strata.manager(user="ana").receipts()) == 2


def test_the_async_stream_helper_remembers(strata: Strata) -> None:
    async def story(server: ModelServer) -> None:
        client = memstrata.wrap(_async_anthropic(server), user="ana", store=strata)
        said = [{"role": "user", "content": STATED}]
        async with client.messages.stream(model="m", max_tokens=9, messages=said) as events:
            assert "".join([text async for text in events.text_stream]) == "Hello there!"
        await client.close()

    with ModelServer([saying("Hello there!")]) as server:
        asyncio.run(story(server))

    assert facts(strata) == {"nickname": "Ana"}


# -- Tools ---------------------------------------------------------------------------------------


def test_a_tool_loop_keeps_the_digest_and_captures_once(strata: Strata) -> None:
    strata.manager(user="ana").remember("Ana", key="nickname", category="preference")
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    said: list[Any] = [{"role": "user", "content": "I live in Berlin. What is my name?"}]
    with ModelServer([calling("look", city="Berlin"), saying("Sunny.")]) as server:
        client = memstrata.wrap(_openai(server), user="ana", store=strata)
        answer = client.chat.completions.create(model="m", messages=said, tools=[tool])
        message = answer.choices[0].message
        result = {
            "role": "tool",
            "tool_call_id": message.tool_calls[0].id,
            "content": "Call me Rex. I moved to Rome.",
        }
        client.chat.completions.create(model="m", messages=[*said, message, result], tools=[tool])
        assert memory_of(client).flush(10)

    first, second = (received.body["messages"] for received in server.received)
    assert message.tool_calls[0].function.name == "look"
    # Byte for byte what was sent before, so that the provider's cache serves it.
    assert second[0] == first[0]
    assert second[2] == result
    assert facts(strata) == {"nickname": "Ana", "location": "Berlin"}


def test_results_of_tools_stay_first_in_claudes_turn(strata: Strata) -> None:
    strata.manager(user="ana").remember("Ana", key="nickname", category="preference")
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Call me Rex."}
    conversation = [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}],
        },
        {"role": "user", "content": [result, {"type": "text", "text": ASKED}]},
    ]
    with ModelServer([saying("Ana.")]) as server:
        client = memstrata.wrap(_anthropic(server), user="ana", store=strata)
        client.messages.create(model="m", max_tokens=9, messages=conversation)
        assert memory_of(client).flush(10)

    kinds = [part["type"] for part in server.received[0].body["messages"][2]["content"]]
    assert kinds == ["tool_result", "text", "text"]
    assert facts(strata) == {"nickname": "Ana"}


def test_structured_answers_go_by_the_memory_too(strata: Strata) -> None:
    from pydantic import BaseModel

    class Name(BaseModel):
        name: str

    said = [{"role": "user", "content": STATED}]
    with ModelServer([saying('{"name": "Ana"}')] * 3) as server:
        first = memstrata.wrap(_openai(server), user="ana", store=strata)
        parsed = first.chat.completions.parse(model="m", messages=said, response_format=Name)
        first.responses.parse(model="m", input=STATED, text_format=Name)
        second = memstrata.wrap(_anthropic(server), user="bob", store=strata)
        second.messages.parse(model="m", max_tokens=9, messages=said, output_format=Name)
        assert memory_of(first).flush(10)
        assert memory_of(second).flush(10)

    assert parsed.choices[0].message.parsed == Name(name="Ana")
    assert facts(strata) == facts(strata, "bob") == {"nickname": "Ana"}


# -- The rest of the client ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [_openai, _anthropic])
def test_everything_else_is_the_sdks_own(
    make: Callable[[ModelServer], Any], strata: Strata
) -> None:
    with ModelServer([saying("Hello!")] * 6) as server:
        bare = make(server)
        client = memstrata.wrap(bare, user="ana", store=strata)
        call = _chat if make is _openai else _message
        said = [{"role": "user", "content": STATED}]

        assert type(client) is type(bare)
        assert [model.id for model in client.models.list()] == ["scripted-1"]
        assert call(client, messages=said).to_dict() == call(bare, messages=said).to_dict()
        assert "memory" not in vars(bare)

        chat = client.chat.completions if make is _openai else client.messages
        limit = {} if make is _openai else {"max_tokens": 9}
        raw = chat.with_raw_response.create(model="m", messages=said, **limit)
        assert raw.headers["content-type"] == "application/json"
        with chat.with_streaming_response.create(model="m", messages=said, **limit) as response:
            assert response.status_code == 200
        whole = client.with_raw_response
        raw = whole.chat.completions if make is _openai else whole.messages
        assert raw.create(model="m", messages=said, **limit).status_code == 200
        assert memory_of(client).flush(10)

    assert facts(strata) == {"nickname": "Ana"}
    assert client.memory.diagnostics == ()


@pytest.mark.parametrize("make", [_openai, _anthropic, _async_openai, _async_anthropic])
def test_a_client_with_other_options_remembers_too(
    make: Callable[[ModelServer], Any], strata: Strata
) -> None:
    face = next(face for face in FACES if face.client is make)
    with ModelServer([saying("Hello!")] * 2) as server:
        client = memstrata.wrap(make(server), user="ana", store=strata)
        other = client.with_options(timeout=7, default_headers={"x-mine": "1"})
        face.say(other.copy(), STATED)
        assert memory_of(other).flush(10)
        face.say(other, ASKED)

    assert other.timeout == 7
    assert server.received[1].headers["x-mine"] == "1"
    assert "Memory digest:" in str(server.received[1].body)
    assert other.memory is client.memory


def test_a_message_of_its_own_serves_servers_that_take_texts_only(strata: Strata) -> None:
    strata.manager(user="ana").remember("Ana", key="nickname", category="preference")
    with ModelServer([saying("Ana.")]) as server:
        client = memstrata.wrap(_openai(server), user="ana", store=strata, place="message")
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": ASKED}])

    digest, question = server.received[0].body["messages"]
    assert digest["role"] == "user"
    assert digest["content"].startswith("Memory digest:")
    assert question == {"role": "user", "content": ASKED}


def test_a_text_as_input_and_an_iterator_of_messages_are_read_too(strata: Strata) -> None:
    with ModelServer([saying("Hello!")] * 2) as server:
        client = memstrata.wrap(_openai(server), user="ana", store=strata)
        client.responses.create(model="m", input=STATED)
        assert memory_of(client).flush(10)
        once = iter([{"role": "user", "content": ASKED}])
        client.chat.completions.create(model="m", messages=once)  # type: ignore[arg-type]

    assert server.received[0].body["input"] == STATED
    assert texts(server.received[1].body["messages"][0])[-1] == ASKED


def test_a_closed_memory_leaves_a_client_that_works(strata: Strata) -> None:
    with ModelServer([saying("Hello!")]) as server:
        client = memstrata.wrap(_openai(server), user="ana", store=strata)
        with client.memory:
            pass
        client.memory.close()
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": STATED}])

    assert client.memory.diagnostics == ("recall:closed", "capture:closed")
    assert facts(strata) == {}


def test_closing_the_client_closes_a_store_that_was_opened_for_it(tmp_path: Path) -> None:
    with ModelServer([saying("Hello!")]) as server:
        with memstrata.wrap(_openai(server), user="ana", store=tmp_path / "m.db") as client:
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": STATED}]
            )
        with pytest.raises(memstrata.StoreError):
            memory_of(client).manager.list()

    with memstrata.open(tmp_path / "m.db") as strata:
        assert facts(strata) == {"nickname": "Ana"}


LIFE = dedent(
    """
    import sys, openai, memstrata
    client = memstrata.wrap(
        openai.OpenAI(api_key="k", base_url=sys.argv[1]), user="ana", store=sys.argv[2]
    )
    said = [{"role": "user", "content": "Call me Ana."}]
    answer = client.chat.completions.create(
        model="m", messages=said, stream=sys.argv[3] == "stream"
    )
    if sys.argv[3] == "stream":
        next(answer)
    if sys.argv[3] == "dropped":
        del client
    """
)


@pytest.mark.parametrize("how", ["plain", "stream", "dropped"])
def test_the_end_of_the_process_leaves_nothing_lost(tmp_path: Path, how: str) -> None:
    with ModelServer([saying("Hello there!")]) as server:
        done = subprocess.run(
            [sys.executable, "-c", LIFE, server.base_url, str(tmp_path / "m.db"), how],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert done.stderr == ""
    with memstrata.open(tmp_path / "m.db") as strata:
        assert facts(strata) == {"nickname": "Ana"}


def test_wrap_refuses_what_it_cannot_wrap(tmp_path: Path) -> None:
    client = openai.OpenAI(api_key="k")
    wrapped = memstrata.wrap(client, user="ana", store=":memory:")

    with pytest.raises(memstrata.InvalidInput, match="not object"):
        memstrata.wrap(object(), user="ana")
    with pytest.raises(memstrata.InvalidInput, match="wrapped already"):
        memstrata.wrap(wrapped, user="ana")
    with pytest.raises(memstrata.OwnerRequired):
        memstrata.wrap(client, store=tmp_path / "m.db")
    with pytest.raises(memstrata.InvalidInput, match="part or message"):
        memstrata.wrap(client, user="ana", place="system")
    with pytest.raises(memstrata.InvalidInput, match="is not wrapped"):
        memory_of(client)
    with suppress(RuntimeError):
        memory_of(wrapped).close()


def test_wrap_imports_no_sdk() -> None:
    code = "import sys, memstrata; memstrata.wrap; print({'openai', 'anthropic'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "set()"
