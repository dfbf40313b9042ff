"""The OpenAI-compatible adapter over real HTTP, against the scripted server of the test kit."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from simonides.domain.errors import (
    MissingExtra,
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from simonides.domain.writing.decision import Usage
from simonides.ports import Capability, ModelAnswer
from simonides.providers.language_models.openai import OpenAIModel
from simonides.providers.language_models.sdk import MAX_BODY_BYTES
from simonides.testing.model_server import (
    ModelServer,
    Reply,
    cut,
    empty,
    failing,
    fenced,
    garbage,
    hanging,
    huge,
    late,
    limited,
    saying,
    well,
)

KEY = "sk-test-very-secret-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}
TEAL = {"colour": "teal"}


class Waits:
    """Notes what the adapter wants to wait, and does not wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def model_of(server: ModelServer, waits: Waits | None = None, **options: Any) -> OpenAIModel:
    settings: dict[str, Any] = {"jitter": lambda: 1.0, "max_retries": 3} | options
    return OpenAIModel(
        model="test-model",
        api_key=KEY,
        base_url=server.base_url,
        sleep=waits or Waits(),
        **settings,
    )


def ask(model: OpenAIModel, *, deadline_s: float = 10.0) -> ModelAnswer:
    async def once() -> ModelAnswer:
        try:
            return await model.complete_json(
                system="Name a colour.",
                user="Which?",
                schema=SCHEMA,
                name="colour",
                deadline_s=deadline_s,
            )
        finally:
            await model.close()

    return asyncio.run(once())


def failure_of(model: OpenAIModel, *, deadline_s: float = 10.0) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model, deadline_s=deadline_s)
    return caught.value


def test_a_good_answer_is_returned_with_its_usage_and_model() -> None:
    with ModelServer([saying('{"colour": "teal"}', tokens=(11, 7))]) as server:
        answer = ask(model_of(server))

    assert answer.value == TEAL
    assert answer.model == "scripted-1"
    assert (answer.usage.model_calls, answer.usage.input_tokens) == (1, 11)
    assert answer.usage.output_tokens == 7


def test_the_request_asks_for_the_schema_at_temperature_zero() -> None:
    with ModelServer([well(TEAL)]) as server:
        ask(model_of(server))

    sent = server.received[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["model"] == "test-model"
    assert sent.body["temperature"] == 0
    assert sent.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "colour", "schema": SCHEMA, "strict": True},
    }
    assert [message["role"] for message in sent.body["messages"]] == ["system", "user"]


def test_an_endpoint_without_json_schema_is_asked_for_a_json_object() -> None:
    with ModelServer([well(TEAL)], refuses=["json_schema"]) as server:
        answer = ask(model_of(server))

    assert answer.value == TEAL
    assert answer.usage.model_calls == 2
    assert [sent.format for sent in server.received] == ["json_schema", "json_object"]
    assert '"colour"' in server.received[1].body["messages"][0]["content"]


def test_an_endpoint_without_any_response_format_is_asked_in_words() -> None:
    with ModelServer([fenced(TEAL)], refuses=["json_schema", "json_object"]) as server:
        answer = ask(model_of(server))

    assert answer.value == TEAL
    assert [sent.format for sent in server.received] == ["json_schema", "json_object", None]
    assert '"additionalProperties"' in server.received[2].body["messages"][0]["content"]


def test_the_rung_that_worked_is_remembered() -> None:
    with ModelServer([well(TEAL), well(TEAL)], refuses=["json_schema"]) as server:
        model = model_of(server)
        ask(model)
        second = ask(model)

    assert second.usage.model_calls == 1
    assert [s.format for s in server.received] == ["json_schema", "json_object", "json_object"]


def test_a_model_that_takes_no_temperature_is_asked_without() -> None:
    refusal = failing(400, "Unsupported value: 'temperature' does not support 0 with this model.")
    with ModelServer([refusal, well(TEAL), well(TEAL)]) as server:
        model = model_of(server)
        ask(model)
        ask(model)

    assert ["temperature" in sent.body for sent in server.received] == [True, False, False]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"colour": "teal"}\n```',
        '```\n{"colour": "teal"}\n```',
        '```{"colour": "teal"}```',
        'Here you are:\n```json\n{"colour": "teal"}\n```\nAnything else?',
        'Sure! {"colour": "teal"} Enjoy.',
        '<think>{"colour": "red"}? No.</think>\n{"colour": "teal"}',
        '\n\n  {"colour": "teal"}  ',
    ],
)
def test_what_models_wrap_around_json_is_taken_off(text: str) -> None:
    with ModelServer([saying(text)]) as server:
        answer = ask(model_of(server))

    assert answer.value == TEAL
    assert answer.usage.model_calls == 1


def test_a_wrong_answer_goes_back_once_with_what_is_wrong() -> None:
    wrong = saying('{"color": "teal"}', tokens=(10, 5))
    with ModelServer([wrong, saying('{"colour": "teal"}', tokens=(30, 6))]) as server:
        answer = ask(model_of(server))

    repair = server.received[1].body["messages"]
    assert answer.value == TEAL
    assert (answer.usage.model_calls, answer.usage.input_tokens) == (2, 40)
    assert answer.usage.output_tokens == 11
    assert repair[2] == {"role": "assistant", "content": '{"color": "teal"}'}
    assert "'colour' is missing" in repair[3]["content"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (garbage(), "invalid_json"),
        (empty(), "empty"),
        (saying(None), "empty"),
        (saying("  \n"), "empty"),
        (saying('{"colour": 3}'), "invalid_schema"),
        (saying("[]"), "invalid_schema"),
        (saying('{"colour": NaN}'), "invalid_json"),
        (saying('{"colour": "te'), "invalid_json"),
        (saying("[" * 100_000), "invalid_json"),
    ],
)
def test_an_answer_wrong_twice_is_garbled(reply: Reply, reason: str) -> None:
    with ModelServer([reply, reply, well(TEAL)]) as server:
        error = failure_of(model_of(server))

    assert isinstance(error, ModelGarbled)
    assert error.reason == reason
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "body",
    [b"<html>proxy</html>", b"", b"[]", b'{"choices": []}', b'{"choices": [{"message": 3}]}',
     b"\xff\xfe", b"[" * 100_000, b"null"],
)  # fmt: skip
def test_a_body_that_is_no_completion_is_garbled(body: bytes) -> None:
    with ModelServer([Reply(body=body)]) as server:
        error = failure_of(model_of(server))

    assert isinstance(error, ModelGarbled)
    assert error.reason == "invalid_json"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_transient_failure_is_tried_again(status: int) -> None:
    with ModelServer([failing(status), well(TEAL)]) as server:
        answer = ask(model_of(server))

    assert answer.value == TEAL
    assert answer.usage.model_calls == 2


def test_waits_grow_and_are_jittered_in_full() -> None:
    waits, half = Waits(), Waits()
    script = [failing(500), failing(503), failing(502), well(TEAL)]
    with ModelServer([*script, *script]) as server:
        ask(model_of(server, waits))
        ask(model_of(server, half, jitter=lambda: 0.5))

    assert waits.seconds == [0.5, 1.0, 2.0]
    assert half.seconds == [0.25, 0.5, 1.0]


def test_retry_after_is_honoured_in_seconds() -> None:
    waits = Waits()
    with ModelServer([limited("3"), limited("0.25"), well(TEAL)]) as server:
        ask(model_of(server, waits))

    assert waits.seconds == [3.0, 0.25]


def test_retry_after_is_honoured_as_a_date() -> None:
    waits = Waits()
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=5), usegmt=True)
    with ModelServer([limited(date), limited("soon"), well(TEAL)]) as server:
        ask(model_of(server, waits))

    assert 3.0 < waits.seconds[0] <= 5.0
    assert waits.seconds[1] == 1.0


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    waits = Waits()
    with ModelServer([limited("60"), well(TEAL)]) as server:
        error = failure_of(model_of(server, waits), deadline_s=5.0)

    assert isinstance(error, ModelTimeout)
    assert waits.seconds == []
    assert len(server.received) == 1


def test_retries_end_with_a_time_out_error() -> None:
    with ModelServer([failing(500)] * 9) as server:
        error = failure_of(model_of(server, max_retries=2))

    assert isinstance(error, ModelTimeout)
    assert "status 500, after 3 attempts" in str(error)
    assert len(server.received) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 422])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    waits = Waits()
    with ModelServer([failing(status), well(TEAL)]) as server:
        error = failure_of(model_of(server, waits))

    assert isinstance(error, ModelUnavailable)
    assert str(status) in str(error)
    assert waits.seconds == []
    assert len(server.received) == 1


def test_a_connection_cut_in_the_body_is_tried_again() -> None:
    with ModelServer([cut(), well(TEAL)]) as server:
        answer = ask(model_of(server))

    assert answer.value == TEAL


def test_nobody_listening_is_a_time_out_error() -> None:
    with ModelServer() as server:
        model = model_of(server, max_retries=1)

    error = failure_of(model)

    assert isinstance(error, ModelTimeout)
    assert "the connection failed" in str(error)


def test_a_slow_answer_within_the_limit_is_taken() -> None:
    with ModelServer([late(TEAL, 0.1)]) as server:
        answer = ask(model_of(server, timeout_s=5.0))

    assert answer.value == TEAL


def test_an_answer_later_than_the_time_out_is_tried_again() -> None:
    with ModelServer([late(TEAL, 3.0), well(TEAL)]) as server:
        answer = ask(model_of(server, timeout_s=0.15))

    assert answer.usage.model_calls == 2


def test_a_hanging_server_ends_with_the_deadline() -> None:
    with ModelServer([hanging()] * 9) as server:
        model = model_of(server)
        begun = time.monotonic()
        error = failure_of(model, deadline_s=0.3)
        took_s = time.monotonic() - begun

    assert isinstance(error, ModelTimeout)
    assert took_s < 2.0


def test_all_requests_of_a_question_share_one_deadline() -> None:
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    with ModelServer([failing(500)] * 9) as server:
        model = OpenAIModel(
            model="m",
            api_key=KEY,
            base_url=server.base_url,
            max_retries=100,
            monotonic=lambda: now[0],
            sleep=sleep,
            jitter=lambda: 1.0,
        )
        error = failure_of(model, deadline_s=8.0)

    # 0.5 + 1 + 2 + 4 are waited; the next wait, 8 s, would not fit into the half second left.
    assert isinstance(error, ModelTimeout)
    assert now[0] == 7.5
    assert len(server.received) == 5


def test_no_time_at_all_sends_nothing() -> None:
    with ModelServer([well(TEAL)]) as server:
        error = failure_of(model_of(server), deadline_s=0.0)

    assert isinstance(error, ModelTimeout)
    assert server.received == []


def test_a_huge_answer_is_refused_unread() -> None:
    with ModelServer([huge(), well(TEAL)]) as server:
        error = failure_of(model_of(server))

    assert isinstance(error, ModelGarbled)
    assert error.reason == "invalid_schema"
    assert f"{MAX_BODY_BYTES:,}" in str(error)
    assert len(server.received) == 1


def test_a_huge_error_is_not_read_either() -> None:
    flood = Reply(status=500, body=b"x" * (5 * MAX_BODY_BYTES))
    with ModelServer([flood, well(TEAL)]) as server:
        answer = ask(model_of(server))

    assert answer.value == TEAL


def test_usage_is_summed_over_rungs_retries_and_repair() -> None:
    script = [failing(500), saying("no", tokens=(100, 1)), saying('{"colour":"x"}', tokens=(20, 2))]
    with ModelServer(script, refuses=["json_schema"]) as server:
        answer = ask(model_of(server))

    assert answer.usage.model_calls == 4
    assert answer.usage.input_tokens == 120
    assert answer.usage.output_tokens == 3


WITHOUT_CHOICE = b'{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}'


@pytest.mark.parametrize(
    ("script", "spent"),
    [
        ([saying("no", tokens=(100, 1)), saying("no", tokens=(20, 2))], (2, 120, 3)),
        ([saying("no", tokens=(100, 1)), failing(401)], (2, 100, 1)),
        ([saying("no", tokens=(100, 1)), *[failing(503)] * 4], (5, 100, 1)),
        ([Reply(body=WITHOUT_CHOICE)], (1, 9, 4)),
        ([Reply(body=b"[]")], (1, 0, 0)),
    ],
)
def test_an_error_says_what_was_spent_before_it(
    script: list[Reply], spent: tuple[int, int, int]
) -> None:
    with ModelServer(script) as server:
        usage = failure_of(model_of(server)).usage

    assert usage is not None
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == spent


def test_a_question_that_was_not_asked_cost_nothing() -> None:
    with ModelServer([]) as server:
        usage = failure_of(model_of(server), deadline_s=0).usage

    assert usage == Usage()


@pytest.mark.parametrize("usage", ["null", "{}", '{"prompt_tokens": -1}', '{"prompt_tokens": "9"}'])
def test_a_provider_that_counts_nothing_usable_costs_no_tokens(usage: str) -> None:
    said = '{"choices":[{"message":{"content":"{\\"colour\\":\\"x\\"}"}}],"usage":'
    body = said + usage + "}"
    with ModelServer([Reply(body=body.encode())]) as server:
        answer = ask(model_of(server))

    assert (answer.usage.model_calls, answer.usage.input_tokens) == (1, 0)
    assert answer.model == "test-model"


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_key_shows_nowhere(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = failing(status, f"Incorrect API key provided: {KEY}")
    with ModelServer([echo] * 4) as server:
        model = model_of(server)
        error = failure_of(model)

    shown = "".join(traceback.format_exception(error))
    assert KEY not in shown + repr(error) + repr(model) + str(vars(error))
    assert KEY not in caplog.text
    assert error.__cause__ is None


def test_credentials_in_the_url_are_not_shown() -> None:
    model = OpenAIModel(model="m", api_key=KEY, base_url="https://bob:hunter2@example.org/v1?k=v")

    assert repr(model) == "OpenAIModel(model='m', host='example.org')"


def test_a_broken_text_can_still_be_asked_about() -> None:
    async def once(model: OpenAIModel) -> ModelAnswer:
        try:
            return await model.complete_json(
                system="s", user="half a \ud83d pair", schema=SCHEMA, name="n", deadline_s=5
            )
        finally:
            await model.close()

    with ModelServer([well(TEAL)]) as server:
        asyncio.run(once(model_of(server)))

    assert server.received[0].body["messages"][1]["content"] == "half a ? pair"


def test_questions_at_the_same_time_do_not_disturb_each_other() -> None:
    async def many(model: OpenAIModel) -> list[ModelAnswer]:
        try:
            return list(
                await asyncio.gather(
                    *(
                        model.complete_json(
                            system="s", user=str(n), schema=SCHEMA, name="n", deadline_s=10
                        )
                        for n in range(8)
                    )
                )
            )
        finally:
            await model.close()

    with ModelServer([well(TEAL)] * 8, refuses=["json_schema"]) as server:
        answers = asyncio.run(many(model_of(server)))

    assert [answer.value for answer in answers] == [TEAL] * 8


def test_one_model_may_be_used_from_one_loop_after_another() -> None:
    async def once(model: OpenAIModel) -> ModelAnswer:
        return await model.complete_json(
            system="s", user="u", schema=SCHEMA, name="n", deadline_s=5
        )

    with ModelServer([well(TEAL)] * 3) as server:
        model = model_of(server)
        answers = [asyncio.run(once(model)) for _ in range(3)]
        asyncio.run(model.close())
        asyncio.run(model.close())

    assert [answer.value for answer in answers] == [TEAL] * 3


def test_it_needs_an_event_loop() -> None:
    assert Capability.INLINE not in OpenAIModel.capabilities


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match="pip install 'openai>=") as caught:
        OpenAIModel(model="m", api_key=KEY)

    assert caught.value.extra == "openai"


def test_a_cancelled_question_stops_at_once() -> None:
    async def cancelled(model: OpenAIModel) -> None:
        question = asyncio.create_task(
            model.complete_json(system="s", user="u", schema=SCHEMA, name="n", deadline_s=30)
        )
        await asyncio.sleep(0.1)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        await model.close()

    with ModelServer([hanging()]) as server:
        asyncio.run(cancelled(model_of(server)))
