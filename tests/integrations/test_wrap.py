"""The real SDKs, wrapped, against a real HTTP server."""

import asyncio
import gc
import json
import threading

import anthropic
import openai
import pytest

import simonides
from simonides.testing.model_server import ModelServer, calling, failing, hanging, saying

HI = [{"role": "user", "content": "I prefer aisle seats when I fly."}]
ASK = [{"role": "user", "content": "Which seat do I prefer when I fly?"}]
FACT = "Ana prefers aisle seats when she flies"
TITLE = "Memory digest:"


@pytest.fixture
def store():
    with simonides.testing.open() as store:
        yield store


@pytest.fixture
def ana(store):
    return store.memory(user="ana").session("thread")


@pytest.fixture
def known(store):
    memory = store.memory(user="ana")
    assert memory.remember(FACT)
    return memory.session("thread")


class Api:
    """One endpoint of an SDK, asked in the same way as the others."""

    def __init__(self, name, is_async):
        self.name, self.is_async = name, is_async

    def client(self, server):
        sdk = anthropic if self.name == "messages" else openai
        kind = ("Async" if self.is_async else "") + ("Anthropic" if sdk is anthropic else "OpenAI")
        url = server.root_url if sdk is anthropic else server.base_url
        return getattr(sdk, kind)(api_key="none", base_url=url, max_retries=0)

    def resource(self, client):
        return {"chat": lambda: client.chat.completions, "responses": lambda: client.responses,
                "messages": lambda: client.messages}[self.name]()  # fmt: skip

    def asked(self, messages):
        if self.name == "responses":
            return {"model": "m", "input": messages}
        return {"model": "m", "messages": messages} | (
            {"max_tokens": 9} if self.name == "messages" else {}
        )

    def create(self, client, messages, **more):
        answer = self.resource(client).create(**self.asked(messages), **more)
        return asyncio.run(answer) if self.is_async else answer

    def pieces(self, client, messages, most=None):
        """Return the pieces of a stream, or its first ones, and close it."""

        async def collected():
            found = []
            async with await self.resource(client).create(
                **self.asked(messages), stream=True
            ) as stream:
                async for piece in stream:
                    found.append(piece)
                    if len(found) == most:
                        break
            return found

        if self.is_async:
            return asyncio.run(collected())
        found = []
        with self.resource(client).create(**self.asked(messages), stream=True) as stream:
            for piece in stream:
                found.append(piece)
                if len(found) == most:
                    break
        return found

    def helped(self, client, messages):
        """Use the SDK's stream helper to its end."""

        async def finished():
            async with self.resource(client).stream(**self.asked(messages)) as stream:
                async for _ in stream:
                    pass

        if self.is_async:
            return asyncio.run(finished())
        with self.resource(client).stream(**self.asked(messages)) as stream:
            for _ in stream:
                pass
        return None

    def told(self, received):
        """Return the digest that a request carries, and the request without it."""
        body = received.body
        if self.name == "chat":
            texts = [message["content"] or "" for message in body["messages"]]
            found = [text for text in texts if text.startswith(TITLE)]
            body["messages"] = [m for m in body["messages"] if m["content"] not in found]
            return "".join(found), body
        return body.pop("system" if self.name == "messages" else "instructions", ""), body


APIS = [Api(name, is_async) for name in ("chat", "responses", "messages") for is_async in (0, 1)]
every_api = pytest.mark.parametrize(
    "api", APIS, ids=lambda api: f"{'async ' * api.is_async}{api.name}"
)


def log(memory):
    return [(record.role, record.content) for record in memory.messages()]


@every_api
def test_a_request_carries_the_digest_and_is_otherwise_the_same(api, known):
    with ModelServer(answers=lambda _: saying("An aisle seat.")) as server:
        plain = api.client(server)
        api.create(plain, ASK)
        api.create(simonides.wrap(plain, known), ASK)
        api.create(plain, ASK)
    before, wrapped, after = server.received
    digest, rest = api.told(wrapped)
    assert digest.startswith(TITLE)
    assert FACT in digest
    assert rest == before.body
    assert before.raw == after.raw  # the given client does not change


@every_api
def test_what_bears_on_nothing_is_not_sent(api, known):
    with ModelServer(answers=lambda _: saying("4")) as server:
        plain = api.client(server)
        question = [{"role": "user", "content": "What is 2+2?"}]
        api.create(plain, question)
        api.create(simonides.wrap(plain, known), question)
    assert server.received[0].raw == server.received[1].raw


@every_api
@pytest.mark.parametrize("how", ["create", "pieces", "helped"])
def test_the_next_conversation_knows_what_was_said(api, how, store):
    with ModelServer(answers=lambda _: saying("I note that down.")) as server:
        monday, tuesday = (store.memory(user="ana").session(day) for day in ("mon", "tue"))
        getattr(api, how)(simonides.wrap(api.client(server), monday), HI)
        assert log(monday) == []  # nothing is written on the path of the answer
        store.flush()
        assert log(monday) == [("user", HI[0]["content"]), ("assistant", "I note that down.")]
        getattr(api, how)(simonides.wrap(api.client(server), tuesday), ASK)
    assert HI[0]["content"] in api.told(server.received[1])[0]


@every_api
def test_streams_pass_piece_by_piece_and_untouched(api, known):
    with ModelServer(answers=lambda _: saying("An aisle seat.")) as server:
        client = api.client(server)
        wrapped = simonides.wrap(client, known)
        assert api.pieces(client, ASK) == api.pieces(wrapped, ASK)
    assert len(server.received) == 2


def test_a_piece_arrives_before_the_next_is_made(known):
    gate = threading.Event()
    with ModelServer(saying("An aisle seat.", gate)) as server:
        client = simonides.wrap(APIS[0].client(server), known)
        stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
        assert next(stream).choices[0].delta.content == "An ai"
        gate.set()
        assert len(list(stream)) == 3


@every_api
def test_of_a_stream_that_is_left_early_what_came_is_kept(api, ana, store):
    with ModelServer(answers=lambda _: saying("abcdefghi")) as server:
        first = {"chat": 1, "responses": 4, "messages": 3}[api.name]
        api.pieces(simonides.wrap(api.client(server), ana), HI, most=first)
        store.flush()
    assert log(ana) == [("user", HI[0]["content"]), ("assistant", "abc")]


@every_api
def test_of_a_helpers_stream_that_is_left_early_what_came_is_kept(api, ana, store):
    async def begun(client):
        async with api.resource(client).stream(**api.asked(HI)) as stream:
            async for event in stream:
                if "delta" in event.type or event.type == "text":
                    return

    with ModelServer(saying("abcdefghi")) as server:
        client = simonides.wrap(api.client(server), ana)
        if api.is_async:
            asyncio.run(begun(client))
        else:
            with api.resource(client).stream(**api.asked(HI)) as stream:
                next(each for each in stream if "delta" in each.type or each.type == "text")
        store.flush()
    assert log(ana)[0] == ("user", HI[0]["content"])
    assert log(ana)[1][1].startswith("abc")


@every_api
def test_messages_may_come_from_an_iterator(api, known):
    with ModelServer(answers=lambda _: saying("An aisle seat.")) as server:
        client = simonides.wrap(api.client(server), known)
        if api.name != "responses":  # its SDK takes lists only
            api.create(client, iter(ASK))
            api.helped(client, iter(ASK))
    assert all(api.told(received)[1]["messages"] == ASK for received in server.received)


def test_a_stream_that_is_dropped_is_kept_too(ana, store):
    with ModelServer(saying("abcdefghi")) as server:
        client = simonides.wrap(APIS[0].client(server), ana)
        stream = client.chat.completions.create(model="m", messages=HI, stream=True)
        next(stream)
        response = stream.response
        del stream
        gc.collect()
        response.close()
        store.flush()
    assert log(ana) == [("user", HI[0]["content"]), ("assistant", "abc")]


@every_api
def test_a_failed_request_keeps_the_users_message_alone(api, ana, store):
    with ModelServer(failing(500), saying("I note that down.")) as server:
        client = simonides.wrap(api.client(server), ana)
        with pytest.raises((openai.InternalServerError, anthropic.InternalServerError)):
            api.create(client, HI)
        store.flush()
        assert log(ana) == [("user", HI[0]["content"])]
        api.create(client, HI)
        store.flush()
    assert log(ana) == [("user", HI[0]["content"]), ("assistant", "I note that down.")]


def test_a_request_that_takes_too_long_keeps_the_users_message(ana, store):
    with ModelServer(hanging()) as server:
        client = simonides.wrap(APIS[0].client(server), ana).with_options(timeout=0.2)
        with pytest.raises(openai.APITimeoutError):
            APIS[0].create(client, HI)
    store.flush()
    assert log(ana) == [("user", HI[0]["content"])]


def test_two_users_of_one_client_are_never_mixed(store):
    with ModelServer(answers=lambda _: saying("Yes.")) as server:
        plain = APIS[0].client(server)
        ana, ben = (simonides.wrap(plain, user=user, store=store) for user in ("ana", "ben"))
        APIS[0].create(ana, HI)
        store.flush()
        APIS[0].create(ben, ASK)
        APIS[0].create(ana, ASK)
    assert "aisle" not in str(server.received[1].body)
    assert "aisle" in str(server.received[2].body)
    assert simonides.memory_of(ana).sessions() != []
    assert simonides.memory_of(ben).sessions() == []


def loop_of(api, free="12A"):
    """Return a model's call of a tool, and its result."""
    call = {"name": "seats", "arguments": "{}"}
    if api.name == "chat":
        called = {"id": "c", "type": "function", "function": call}
        return [
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "c", "content": f"{free} is free"},
        ]
    if api.name == "responses":
        return [
            {"type": "function_call", "call_id": "c", **call},
            {"type": "function_call_output", "call_id": "c", "output": f"{free} is free"},
        ]
    use = {"type": "tool_use", "id": "c", "name": "seats", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": f"{free} is free"}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


@every_api
def test_a_loop_of_tool_calls_repeats_the_prefix_without_what_was_forgotten(api, known, store):
    memory = store.memory(user="ana")
    with ModelServer(calling("seats"), calling("seats"), saying("Done.")) as server:
        client = simonides.wrap(api.client(server), known)
        api.create(client, ASK)
        memory.remember("Ana prefers window seats when she flies at night")
        api.create(client, ASK + loop_of(api))
        assert memory.forget(memory.recall(FACT)[0])
        api.create(client, ASK + loop_of(api) + loop_of(api, "12B"))
        store.flush()
    first, second, third = (api.told(received)[0] for received in server.received)
    assert FACT in first
    assert first == second
    assert FACT not in third
    results = [("tool", "12A is free"), ("tool", "12B is free")]
    assert log(known) == [("user", ASK[0]["content"]), *results, ("assistant", "Done.")]


def test_a_result_without_the_question_carries_its_digest(known):
    with ModelServer(answers=lambda _: calling("seats")) as server:
        client = simonides.wrap(APIS[2].client(server), known)
        answer = client.responses.create(model="m", input=ASK[0]["content"])
        client.responses.create(
            model="m", input=loop_of(APIS[2])[1:], previous_response_id=answer.id
        )
        for said in (ASK, loop_of(APIS[2])[1:]):
            client.responses.create(model="m", input=said, conversation="conv_1")
    first, *others = (received.body["instructions"] for received in server.received)
    assert FACT in first
    assert others == [first] * 3


def test_the_callers_instructions_come_first_and_an_earlier_digest_goes(known):
    blocks = [{"type": "text", "text": "Be brief."}]
    with ModelServer(answers=lambda _: saying("An aisle seat.")) as server:
        gpt, claude = (simonides.wrap(api.client(server), known) for api in (APIS[2], APIS[4]))
        gpt.responses.create(model="m", input=ASK, instructions="Be brief.")
        sent = server.received[0].body["instructions"]
        gpt.responses.create(model="m", input=ASK, instructions=sent)
        claude.messages.create(model="m", messages=ASK, max_tokens=9, system="Be brief.")
        claude.messages.create(model="m", messages=ASK, max_tokens=9, system=sent)
        claude.messages.create(model="m", messages=ASK, max_tokens=9, system=blocks)
    texts = [r.body.get("instructions") or r.body["system"] for r in server.received]
    assert sent.startswith("Be brief.\n\nMemory digest:\n")
    assert texts[:4] == [sent] * 4
    assert texts[4] == [*blocks, {"type": "text", "text": sent.partition("\n\n")[2]}]


def test_what_the_memory_put_in_is_not_learned_when_it_comes_back(known, store):
    with ModelServer(answers=lambda _: saying("Yes.")) as server:
        client = simonides.wrap(APIS[0].client(server), known)
        APIS[0].create(client, ASK)
        digest = APIS[0].told(server.received[0])[0]
        brief = {"role": "system", "content": f"Be brief.\n\n{digest}"}
        APIS[0].create(client, [brief, {"role": "system", "content": digest}, *ASK])
        APIS[0].create(client, [{"role": "user", "content": f"Right?\n\n{digest}"}])
        store.flush()
    sent = APIS[0].told(server.received[1])[1]["messages"]
    assert sent == [{"role": "system", "content": "Be brief."}, *ASK]
    assert str(server.received[1].body).count(TITLE) == 1
    assert log(known)[-2] == ("user", "Right?")
    assert not any("Ana prefers" in text for _, text in log(known))


def test_parsed_raw_and_copied_calls_use_the_memory_too(known, store):
    with ModelServer(*(saying(f"Seat {number}A.") for number in range(6))) as server:
        gpt, claude = (simonides.wrap(api.client(server), known) for api in (APIS[0], APIS[4]))
        gpt.chat.completions.parse(model="m", messages=ASK)
        gpt.with_options(timeout=9).chat.completions.create(model="m", messages=ASK)
        raw = gpt.chat.completions.with_raw_response.create(model="m", messages=ASK)
        assert raw.parse().choices[0].message.content == "Seat 2A."
        raw = claude.with_raw_response.messages.create(model="m", messages=ASK, max_tokens=9)
        assert raw.parse().content[0].text == "Seat 3A."
        claude.beta.messages.create(model="m", messages=ASK, max_tokens=9)
        raw = gpt.chat.completions.with_raw_response.create(model="m", messages=ASK, stream=True)
        assert len(list(raw.parse())) == 4
        store.flush()
    assert all(FACT in str(received.body) for received in server.received)
    assert len(server.received) == 6
    answers = [text for role, text in log(known) if role == "assistant"]
    assert answers == [f"Seat {number}A." for number in range(6)]


READS = {
    "parsed": ("parse", ()), "bytes": ("iter_bytes", (7,)), "lines": ("iter_lines", ()),
    "text": ("iter_text", ()), "whole": ("read", ()),
}  # fmt: skip


@every_api
@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("stream", [True, False])
def test_what_the_caller_reads_of_a_raw_response_is_kept(api, how, stream, ana, store):
    name, size = READS[how]

    def read(client):
        asked = {**api.asked(HI), "stream": stream}
        with api.resource(client).with_streaming_response.create(**asked) as response:
            found = getattr(response, name)(*size)
            return list(found) if hasattr(found, "__next__") else [found]

    async def read_async(client):
        asked = {**api.asked(HI), "stream": stream}
        async with api.resource(client).with_streaming_response.create(**asked) as response:
            found = getattr(response, name)(*size)
            found = await found if hasattr(found, "__await__") else found
            return [each async for each in found] if hasattr(found, "__anext__") else [found]

    with ModelServer(answers=lambda _: saying("I note thät down.")) as server:
        clients = api.client(server), simonides.wrap(api.client(server), ana)
        plain, wrapped = (
            asyncio.run(read_async(each)) if api.is_async else read(each) for each in clients
        )
    store.flush()
    if how == "text":  # its pieces are those of the network
        plain, wrapped = "".join(plain), "".join(wrapped)
    assert repr(plain) == repr(wrapped)
    assert log(ana) == [("user", HI[0]["content"]), ("assistant", "I note thät down.")]


def test_of_a_raw_response_that_is_left_early_what_was_read_is_kept(ana, store):
    with ModelServer(answers=lambda _: saying("abcdefghi", threading.Event())) as server:
        resource = simonides.wrap(APIS[0].client(server), ana).chat.completions
        raw = resource.with_raw_response.create(**APIS[0].asked(HI), stream=True)
        next(raw.parse())
        del raw
        gc.collect()
        store.flush()
        assert log(ana) == [("user", HI[0]["content"]), ("assistant", "abc")]
        raw = resource.with_raw_response.create(**APIS[0].asked(ASK), stream=True)
        raw.http_response.close()
        del raw
        gc.collect()
        store.flush()
    assert log(ana)[2:] == [("user", ASK[0]["content"])]


def test_a_key_in_the_environment_makes_no_request_of_ours(monkeypatch, tmp_path):
    with ModelServer(answers=lambda _: saying("Noted.")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        client = simonides.wrap(openai.OpenAI(), user="ana", store=tmp_path / "memory.db")
        for messages in (HI, ASK):
            client.chat.completions.create(model="m", messages=messages)
        client.close()
        asked = [received.body["messages"][-1] for received in server.received]
    assert asked == [*HI, *ASK]


def test_closing_the_client_keeps_what_was_just_said(tmp_path):
    with ModelServer(saying("Noted.")) as server:
        path = tmp_path / "memory.db"
        with simonides.wrap(APIS[0].client(server), user="ana", store=path) as client:
            APIS[0].create(client, HI)
    with simonides.open(path) as store:
        assert HI[0]["content"] in store.memory(user="ana").digest(ASK).text


def test_a_memory_that_fails_costs_no_answer(caplog):
    store = simonides.testing.open()
    with ModelServer(saying("Yes.")) as server:
        client = simonides.wrap(APIS[0].client(server), user="ana", store=store)
        store._engine.db.close()
        APIS[0].create(client, ASK)
    with pytest.raises(simonides.StoreUnavailable):
        store.flush()
    assert json.loads(server.received[0].raw)["messages"] == ASK
    assert "without a digest" in caplog.text


FAULTS = [AssertionError("broken"), KeyError("gone"), simonides.StoreError("here", "is full")]


@every_api
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_no_fault_of_the_memory_reaches_the_caller(api, fault, known, store, monkeypatch, caplog):
    def failing(*_, **__):
        raise fault

    monkeypatch.setattr("simonides.sessions.notes.digest", failing)
    monkeypatch.setattr("simonides.sessions.add.add", failing)
    with ModelServer(answers=lambda _: saying("Yes.")) as server:
        api.create(api.client(server), ASK)
        api.create(simonides.wrap(api.client(server), known), ASK)
        store.flush()
    assert server.received[0].raw == server.received[1].raw
    told = [record.message for record in caplog.records if record.exc_info[1] is fault]
    assert told == [
        "the request is sent without a digest", "what was said is not added to the memory",
    ]  # fmt: skip


def test_an_interrupt_of_the_memory_reaches_the_caller(known, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("simonides.sessions.notes.digest", interrupted)
    with ModelServer() as server, pytest.raises(KeyboardInterrupt):
        APIS[0].create(simonides.wrap(APIS[0].client(server), known), ASK)
    assert server.received == []


@pytest.fixture
def timed():
    with simonides.open(":memory:") as store:
        yield store


@every_api
def test_a_request_knows_what_was_said_in_the_one_before(api, timed):
    with ModelServer(answers=lambda _: saying("I note that down.")) as server:
        client = simonides.wrap(api.client(server), timed.memory(user="ana"))
        api.create(client, HI)
        api.create(client, ASK)
        api.pieces(client, [{"role": "user", "content": "My bike is in the shed."}])
        api.create(client, [{"role": "user", "content": "Where is my bike?"}])
    assert HI[0]["content"] in api.told(server.received[1])[0]
    assert "in the shed" in api.told(server.received[3])[0]


def test_a_request_waits_only_for_its_own_conversation_and_not_for_long(timed, monkeypatch, caplog):
    monkeypatch.setattr("simonides.integrations.wrap.MOST_WAIT_S", 0.1)
    caplog.set_level("DEBUG", "simonides.integrations")
    gate, stuck = threading.Event(), threading.Event()

    def hang():
        stuck.set()
        gate.wait(30)

    timed._engine.worker.submit("hang", hang)
    assert stuck.wait(30)
    with ModelServer(answers=lambda _: saying("Noted.")) as server:
        plain = APIS[0].client(server)
        ana, ben = (simonides.wrap(plain, user=user, store=timed) for user in ("ana", "ben"))
        APIS[0].create(ana, HI)
        APIS[0].create(ben, ASK)
        assert caplog.records == []
        APIS[0].create(ana, ASK)
        assert "does not know yet what was said" in caplog.text
        gate.set()
        APIS[0].create(ana, ASK)
    assert "aisle" not in str(server.received[2].body)
    assert HI[0]["content"] in str(server.received[3].body)


@every_api
def test_a_turn_that_stands_in_the_request_is_not_shown_again(api, store):
    rule = {"role": "user", "content": "Never deploy on Fridays."}
    with ModelServer(answers=lambda _: saying("I note that down.")) as server:
        monday, tuesday = (store.memory(user="ana").session(day) for day in ("mon", "tue"))
        for client in (simonides.wrap(api.client(server), each) for each in (monday, tuesday)):
            api.create(client, [rule])
            api.create(client, HI)
            answer = {"role": "assistant", "content": "I note that down."}
            talk = [rule, answer, {"role": "user", "content": f" {HI[0]['content'].upper()}"}]
            api.create(client, [*talk, answer, *ASK])
            api.create(client, ASK)
    shown, other = (api.told(server.received[n])[0] for n in (2, 6))
    assert "Never deploy" in shown
    assert "aisle" not in shown
    assert "aisle" in api.told(server.received[3])[0]
    assert "aisle" in other  # it was said in the other conversation, too


def test_receipts_are_kept_if_asked_for_and_hold_no_text(known):
    with ModelServer(answers=lambda _: saying("An aisle seat.")) as server:
        APIS[0].create(simonides.wrap(APIS[0].client(server), known), ASK)
        assert known.receipts.list() == []
        APIS[0].create(simonides.wrap(APIS[0].client(server), known, receipts=True), ASK)
    [receipt] = known.receipts.list()
    assert known.receipts.replay(receipt).text == APIS[0].told(server.received[1])[0]


def test_mistakes_are_named(known):
    with ModelServer() as server:
        client = APIS[0].client(server)
        wrapped = simonides.wrap(client, known)
        assert simonides.memory_of(wrapped) is known
        assert isinstance(wrapped, openai.OpenAI)
        for wrong in (
            lambda: simonides.wrap("client", known),
            lambda: simonides.wrap(wrapped, known),
            lambda: simonides.wrap(client, known, user="ana"),
            lambda: simonides.memory_of(client),
        ):
            with pytest.raises(simonides.InvalidInput):
                wrong()
        with pytest.raises(simonides.InvalidInput, match=r'wrap\(client, user="maya"\)'):
            simonides.wrap(client, "maya")
        with pytest.raises(simonides.InvalidInput, match="a memory or a session, not int"):
            simonides.wrap(client, 7)
        with pytest.raises(simonides.OwnerRequired):
            simonides.wrap(client)
