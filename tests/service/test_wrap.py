"""Wrapped clients: the vendors' own SDKs over real HTTP, with a memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from wrapping import (
    ASKED,
    FACES,
    SECRET,
    STATED,
    Face,
    anthropic_client,
    async_anthropic_client,
    async_openai_client,
    chat_of,
    facts,
    message_of,
    openai_client,
    texts,
)

import simonides
from principals import erase, history_of
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.integrations import wrap_memory
from simonides.integrations.wrap import memory_of
from simonides.testing.model_server import (
    ModelServer,
    calling,
    failing,
    saying,
)
from simonides.testing.models import ScriptedModel


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def opened_store(tmp_path: Path) -> Iterator[Store]:
    with simonides.open(tmp_path / "m.db") as opened:
        yield opened


def test_what_the_user_says_is_remembered_and_recalled_as_one_part(
    face: Face, opened_store: Store
) -> None:
    with ModelServer([saying("Hello!"), saying("Ana.")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
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
    assert facts(opened_store) == {"nickname": "Ana"}
    assert client.memory.diagnostics == ()


def test_where_nothing_is_remembered_the_request_is_byte_for_byte_what_it_was(
    face: Face, opened_store: Store
) -> None:
    with ModelServer([saying("Hello!")] * 3) as server:
        face.say(face.client(server), ASKED)
        face.say(simonides.wrap(face.client(server), user="ana", store=opened_store), ASKED)
        opened_store.memory(user="ana").remember("Ana", key="nickname")
        off = simonides.wrap(face.client(server), user="ana", store=opened_store, recall=False)
        face.say(off, ASKED)

    bare, empty, switched_off = (received.body for received in server.received)
    assert bare == empty == switched_off


def test_with_the_policys_floor_a_request_about_something_else_is_what_it_was(
    face: Face, opened_store: Store
) -> None:
    opened_store.memory(user="ana").remember("Ana's dog Rex is afraid of thunder.")
    with ModelServer([saying("Hello!")] * 2) as server:
        client = simonides.wrap(
            face.client(server), user="ana", store=opened_store, min_relevance=None
        )
        face.say(client, "Write a haiku about compilers.")
        face.say(client, "What is Ana's dog Rex afraid of?")

    elsewhere, about_it = (str(received.body) for received in server.received)
    assert "Memory digest:" not in elsewhere
    assert "Memory digest:" in about_it


def test_what_the_caller_handed_over_stays_as_it_was(face: Face, opened_store: Store) -> None:
    opened_store.memory(user="ana").remember("Ana", key="nickname", category="preference")
    earlier = {"role": "user", "content": "Hi."}
    conversation = [
        earlier,
        {"role": "assistant", "content": "Hello!"},
        {**earlier, "content": ASKED},
    ]
    copied = [{**message} for message in conversation]
    with ModelServer([saying("Ana.")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        face.say(client, conversation)

    sent = face.sent(server.received[0])
    assert conversation == copied
    assert sent[:2] == copied[:2]
    assert [part[:14] for part in texts(sent[2])] == ["Memory digest:", ASKED[:14]]


def test_two_users_of_one_store_never_mix(face: Face, opened_store: Store) -> None:
    with ModelServer([saying("Hello!")] * 4) as server:
        ana = simonides.wrap(face.client(server), user="ana", store=opened_store)
        bob = simonides.wrap(face.client(server), user="bob", store=opened_store)
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
    assert facts(opened_store) == {"nickname": "Ana"}
    assert facts(opened_store, "bob") == {"nickname": "Bob"}


def test_a_secret_is_not_stored_and_not_told_of(face: Face, opened_store: Store) -> None:
    with ModelServer([saying("Noted.")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        face.say(client, f"Remember that my access key is {SECRET}.")
        assert memory_of(client).flush(10)

    assert SECRET not in str(facts(opened_store))
    assert facts(opened_store) == {}
    assert any(note.startswith("capture:blocked:") for note in client.memory.diagnostics)
    assert SECRET not in str(client.memory.diagnostics)


def test_what_the_assistant_says_never_becomes_a_fact(face: Face, opened_store: Store) -> None:
    with ModelServer([saying("I will call you Bob. Call me Rex.")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        face.say(
            client,
            [
                {"role": "user", "content": "Hi."},
                {"role": "assistant", "content": "Call me Rex. I live in Rome."},
                {"role": "user", "content": "Nice to meet you."},
            ],
        )
        assert memory_of(client).flush(10)

    assert facts(opened_store) == {}


def test_what_was_answered_before_is_not_captured_again(face: Face, opened_store: Store) -> None:
    with ModelServer([saying("Hello!")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        face.say(
            client,
            [
                {"role": "user", "content": "I live in Berlin."},
                {"role": "assistant", "content": "Fine."},
                {"role": "user", "content": STATED},
            ],
        )
        assert memory_of(client).flush(10)

    assert facts(opened_store) == {"nickname": "Ana"}


def test_a_correction_is_read_against_what_the_user_said_before(
    face: Face, opened_store: Store
) -> None:
    opened_store.memory(user="ana").add("I live in Paris.")
    with ModelServer([saying("Fine.")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        face.say(
            client,
            [
                {"role": "user", "content": "I live in Paris."},
                {"role": "assistant", "content": "Fine."},
                {"role": "user", "content": "No, it's Berlin."},
            ],
        )
        assert memory_of(client).flush(10)

    assert facts(opened_store) == {"location": "Berlin"}


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_errors_of_the_provider_pass_through_unchanged(
    face: Face, opened_store: Store, status: int
) -> None:
    def error_of(client: Any) -> Exception:
        with pytest.raises((openai.APIError, anthropic.APIError)) as caught:
            face.say(client, STATED)
        return caught.value

    with ModelServer([failing(status, "no")] * 2) as server:
        bare = error_of(face.client(server))
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        wrapped = error_of(client)
        assert memory_of(client).flush(10)

    assert type(wrapped) is type(bare)
    assert str(wrapped) == str(bare)
    assert wrapped.__cause__ is bare.__cause__ is None
    assert facts(opened_store) == {}


def test_a_memory_that_fails_never_makes_a_call_fail(face: Face, tmp_path: Path) -> None:
    opened_store = simonides.open(tmp_path / "m.db")
    with ModelServer([saying("Hello!")]) as server:
        client = simonides.wrap(face.client(server), user="ana", store=opened_store)
        opened_store.close()
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
        raise simonides.ModelTimeout("out", usage=simonides.types.Usage(model_calls=1))


def test_the_caller_never_waits_for_capture(face: Face, tmp_path: Path) -> None:
    model = Slow()
    with Store(assemble(str(tmp_path / "m.db"), inline=True, model=model)) as opened_store:
        with ModelServer([saying("Hello!")]) as server:
            client = simonides.wrap(face.client(server), user="ana", store=opened_store)
            face.say(client, STATED)
            # The answer is here, capture is still under way.
            assert client.memory.pending == 1
            assert not client.memory.flush(0)
            model.gate.set()
            assert client.memory.flush(10)

        assert client.memory.diagnostics == ("capture:llm_timeout",)
        assert client.memory.usage.model_calls == 1
        assert facts(opened_store) == {"nickname": "Ana"}


# -- Tools ---------------------------------------------------------------------------------------


def test_a_tool_loop_keeps_the_digest_and_captures_once(opened_store: Store) -> None:
    opened_store.memory(user="ana").remember("Ana", key="nickname", category="preference")
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    said: list[Any] = [{"role": "user", "content": "I live in Berlin. What is my name?"}]
    with ModelServer([calling("look", city="Berlin"), saying("Sunny.")]) as server:
        client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
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
    assert facts(opened_store) == {"nickname": "Ana", "location": "Berlin"}


@pytest.mark.parametrize("forgets", [False, True])
def test_in_a_tool_loop_only_what_was_forgotten_changes_what_was_shown(
    opened_store: Store, *, forgets: bool
) -> None:
    ana = opened_store.memory(user="ana")
    ana.remember("Ana", key="nickname", category="preference")
    said: list[Any] = [{"role": "user", "content": ASKED}]
    with ModelServer([calling("look", city="Berlin"), saying("Sunny.")]) as server:
        client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        answer = client.chat.completions.create(model="m", messages=said)
        message = answer.choices[0].message
        ana.remember("Never call before nine")  # as a capture beside may, by then
        if forgets:
            ana.forget("nickname")
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain."}
        client.chat.completions.create(model="m", messages=[*said, message, result])
        assert memory_of(client).flush(10)

    first, second = (str(received.body["messages"][0]) for received in server.received)
    assert (first == second) is not forgets
    assert ("nickname" in first, "nickname" in second) == (True, not forgets)


def test_results_of_tools_stay_first_in_claudes_turn(opened_store: Store) -> None:
    opened_store.memory(user="ana").remember("Ana", key="nickname", category="preference")
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
        client = simonides.wrap(anthropic_client(server), user="ana", store=opened_store)
        client.messages.create(model="m", max_tokens=9, messages=conversation)
        assert memory_of(client).flush(10)

    kinds = [part["type"] for part in server.received[0].body["messages"][2]["content"]]
    assert kinds == ["tool_result", "text", "text"]
    assert facts(opened_store) == {"nickname": "Ana"}


def test_structured_answers_go_by_the_memory_too(opened_store: Store) -> None:
    from pydantic import BaseModel

    class Name(BaseModel):
        name: str

    said = [{"role": "user", "content": STATED}]
    with ModelServer([saying('{"name": "Ana"}')] * 3) as server:
        first = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        parsed = first.chat.completions.parse(model="m", messages=said, response_format=Name)
        first.responses.parse(model="m", input=STATED, text_format=Name)
        second = simonides.wrap(anthropic_client(server), user="bob", store=opened_store)
        second.messages.parse(model="m", max_tokens=9, messages=said, output_format=Name)
        assert memory_of(first).flush(10)
        assert memory_of(second).flush(10)

    assert parsed.choices[0].message.parsed == Name(name="Ana")
    assert facts(opened_store) == facts(opened_store, "bob") == {"nickname": "Ana"}


# -- The rest of the client ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [openai_client, anthropic_client])
def test_everything_else_is_the_sdks_own(
    make: Callable[[ModelServer], Any], opened_store: Store
) -> None:
    with ModelServer([saying("Hello!")] * 6) as server:
        bare = make(server)
        client = simonides.wrap(bare, user="ana", store=opened_store)
        call = chat_of if make is openai_client else message_of
        said = [{"role": "user", "content": STATED}]

        assert type(client) is type(bare)
        assert [model.id for model in client.models.list()] == ["scripted-1"]
        assert call(client, messages=said).to_dict() == call(bare, messages=said).to_dict()
        assert "memory" not in vars(bare)

        chat = client.chat.completions if make is openai_client else client.messages
        limit = {} if make is openai_client else {"max_tokens": 9}
        raw = chat.with_raw_response.create(model="m", messages=said, **limit)
        assert raw.headers["content-type"] == "application/json"
        with chat.with_streaming_response.create(model="m", messages=said, **limit) as response:
            assert response.status_code == 200
        whole = client.with_raw_response
        raw = whole.chat.completions if make is openai_client else whole.messages
        assert raw.create(model="m", messages=said, **limit).status_code == 200
        assert memory_of(client).flush(10)

    assert facts(opened_store) == {"nickname": "Ana"}
    assert client.memory.diagnostics == ()


def test_a_client_of_a_derived_class_stays_one(opened_store: Store) -> None:
    with ModelServer([saying("Hello!")] * 2) as server:
        bare = openai.AzureOpenAI(
            api_key="k", azure_endpoint=server.root_url, api_version="2026-10-01"
        )
        client = simonides.wrap(bare, user="ana", store=opened_store)
        for text in (STATED, ASKED):
            said: Any = [{"role": "user", "content": text}]
            client.chat.completions.create(model="deployed", messages=said)
            assert memory_of(client).flush(10)

    assert isinstance(client, openai.AzureOpenAI)
    assert server.received[1].path.startswith("/openai/deployments/deployed/chat/completions")
    assert "Memory digest:" in str(server.received[1].body)


def test_the_sdks_own_tool_loop_remembers_what_the_user_said_once(opened_store: Store) -> None:
    @anthropic.beta_tool
    def look(city: str) -> str:
        """Look at the weather.

        Args:
            city: Where.
        """
        return f"Call me Rex. It is sunny in {city}."

    said: Any = [{"role": "user", "content": "I live in Berlin."}]
    with ModelServer([calling("look", city="Berlin"), saying("Sunny.")]) as server:
        client = simonides.wrap(anthropic_client(server), user="ana", store=opened_store)
        runner = client.beta.messages.tool_runner(
            model="m", max_tokens=9, messages=said, tools=[look]
        )
        last = runner.until_done()
        assert memory_of(client).flush(10)

    assert last.content[0].text == "Sunny."
    assert len(server.received) == 2
    assert facts(opened_store) == {"location": "Berlin"}
    assert len(history_of(opened_store.memory(user="ana"), "location")) == 1


def test_a_policy_without_digests_leaves_requests_as_they_are(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: no digests\ndigest: {enabled: false}\n")
    settings = simonides.Settings(policy=policy)
    with simonides.open(tmp_path / "m.db", settings=settings) as opened_store:
        opened_store.memory(user="ana").remember("Ana", key="nickname", category="preference")
        with ModelServer([saying("Hello!")] * 2) as server:
            said: Any = [{"role": "user", "content": ASKED}]
            openai_client(server).chat.completions.create(model="m", messages=said)
            client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
            client.chat.completions.create(model="m", messages=said)

    assert server.received[0].body == server.received[1].body


@pytest.mark.parametrize(
    "make", [openai_client, anthropic_client, async_openai_client, async_anthropic_client]
)
def test_a_client_with_other_options_remembers_too(
    make: Callable[[ModelServer], Any], opened_store: Store
) -> None:
    face = next(face for face in FACES if face.client is make)
    with ModelServer([saying("Hello!")] * 2) as server:
        client = simonides.wrap(make(server), user="ana", store=opened_store)
        other = client.with_options(timeout=7, default_headers={"x-mine": "1"})
        face.say(other.copy(), STATED)
        assert memory_of(other).flush(10)
        face.say(other, ASKED)

    assert other.timeout == 7
    assert server.received[1].headers["x-mine"] == "1"
    assert "Memory digest:" in str(server.received[1].body)
    assert other.memory is client.memory


def test_a_message_of_its_own_serves_servers_that_take_texts_only(opened_store: Store) -> None:
    opened_store.memory(user="ana").remember("Ana", key="nickname", category="preference")
    with ModelServer([saying("Ana.")]) as server:
        client = simonides.wrap(
            openai_client(server), user="ana", store=opened_store, place="message"
        )
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": ASKED}])

    digest, question = server.received[0].body["messages"]
    assert digest["role"] == "user"
    assert digest["content"].startswith("Memory digest:")
    assert question == {"role": "user", "content": ASKED}


def test_a_text_as_input_and_an_iterator_of_messages_are_read_too(opened_store: Store) -> None:
    with ModelServer([saying("Hello!")] * 2) as server:
        client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        client.responses.create(model="m", input=STATED)
        assert memory_of(client).flush(10)
        once = iter([{"role": "user", "content": ASKED}])
        client.chat.completions.create(model="m", messages=once)  # type: ignore[arg-type]

    assert server.received[0].body["input"] == STATED
    assert texts(server.received[1].body["messages"][0])[-1] == ASKED


def test_a_closed_memory_leaves_a_client_that_works(opened_store: Store) -> None:
    with ModelServer([saying("Hello!")]) as server:
        client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        with client.memory:
            pass
        client.memory.close()
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": STATED}])

    assert client.memory.diagnostics == ("recall:closed", "capture:closed")
    assert facts(opened_store) == {}


def test_a_store_that_is_closed_by_its_owner_waits_for_what_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, flush = threading.Event(), simonides.WrappedMemory.flush

    def let_go(memory: Any, timeout_s: float | None = None) -> bool:
        gate.set()
        return flush(memory, timeout_s)

    monkeypatch.setattr(simonides.WrappedMemory, "flush", let_go)
    said: Any = [{"role": "user", "content": STATED}]
    try:
        with (
            ModelServer([saying("Noted.")]) as server,
            simonides.open(tmp_path / "m.db") as opened_store,
        ):
            client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
            # Nothing is captured before somebody waits for it.
            client.memory._worker.put(lambda: [gate.wait(30)].clear())
            client.chat.completions.create(model="m", messages=said)
    finally:
        gate.set()

    assert client.memory.diagnostics == ()
    with simonides.open(tmp_path / "m.db") as opened_store:
        assert facts(opened_store) == {"nickname": "Ana"}


def test_closing_the_client_closes_a_store_that_was_opened_for_it(tmp_path: Path) -> None:
    with ModelServer([saying("Hello!")]) as server:
        with simonides.wrap(openai_client(server), user="ana", store=tmp_path / "m.db") as client:
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": STATED}]
            )
        with pytest.raises(simonides.StoreError):
            memory_of(client).memory.list()

    with simonides.open(tmp_path / "m.db") as opened_store:
        assert facts(opened_store) == {"nickname": "Ana"}


def test_wrap_refuses_what_it_cannot_wrap(tmp_path: Path) -> None:
    client = openai.OpenAI(api_key="k")
    wrapped = simonides.wrap(client, user="ana", store=":memory:")

    with pytest.raises(simonides.InvalidInput, match="not object"):
        simonides.wrap(object(), user="ana")
    with pytest.raises(simonides.InvalidInput, match="wrapped already"):
        simonides.wrap(wrapped, user="ana")
    with pytest.raises(simonides.OwnerRequired):
        simonides.wrap(client, store=tmp_path / "m.db")
    with pytest.raises(simonides.InvalidInput, match="part or message"):
        simonides.wrap(client, user="ana", place="system")
    with pytest.raises(simonides.InvalidInput, match="is not wrapped"):
        memory_of(client)
    with suppress(RuntimeError):
        memory_of(wrapped).close()


def test_wrap_imports_no_sdk() -> None:
    code = "import sys, simonides; simonides.wrap; print({'openai', 'anthropic'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("by", ["user", "admin"])
def test_what_waits_to_be_captured_does_not_outlive_an_erasure(
    opened_store: Store, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    may_go_on, capture = threading.Event(), wrap_memory.capture_turn

    def late(memory: Any, *said: Any, **named: Any) -> Any:
        assert may_go_on.wait(10)
        return capture(memory, *said, **named)

    monkeypatch.setattr(wrap_memory, "capture_turn", late)
    with ModelServer([saying("Hello!")]) as server:
        client = simonides.wrap(openai_client(server), user="ana", store=opened_store)
        chat_of(client, messages=[{"role": "user", "content": STATED}])
        assert client.memory.pending == 1
        threading.Timer(0.2, may_go_on.set).start()

        if by == "user":
            erase(opened_store.memory(user="ana"))
        else:
            opened_store.admin(actor="root").erase("ana", confirm="ana")

        assert client.memory.flush(10)
        client.memory.close()
    assert facts(opened_store) == {}
