"""What every adapter of a language model promises, told of each: OpenAI, Gemini and Anthropic, with
the vendors' SDKs over real HTTP against the scripted server.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from simonides.api.agent.answer import ANSWER_SCHEMA
from simonides.capture.model.turn import PROPOSE_SCHEMA
from simonides.domain.errors import (
    MissingExtra,
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from simonides.hygiene.contradiction.model_judge import JUDGE_SCHEMA
from simonides.ports import Capability, ModelAnswer
from simonides.providers.language_models.anthropic import KEYWORDS as ANTHROPIC_KEYWORDS
from simonides.providers.language_models.anthropic import AnthropicModel
from simonides.providers.language_models.gemini import KEYWORDS as GEMINI_KEYWORDS
from simonides.providers.language_models.gemini import GeminiModel
from simonides.providers.language_models.json_schema import problem, reduced
from simonides.providers.language_models.openai import OpenAIModel
from simonides.providers.language_models.sdk import MAX_BODY_BYTES
from simonides.providers.language_models.structured_output import StructuredModel
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
    "properties": {"colour": {"type": "string", "minLength": 1}},
    "required": ["colour"],
    "additionalProperties": False,
}
TEAL = {"colour": "teal"}
NOTHING = b"{}"

Make: TypeAlias = Callable[..., StructuredModel]


class Waits:
    """Notes what the adapter wants to wait, and does not wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def openai_of(server: ModelServer, **options: Any) -> StructuredModel:
    return OpenAIModel(model="m", api_key=KEY, base_url=server.base_url, **options)


def gemini_of(server: ModelServer, **options: Any) -> StructuredModel:
    return GeminiModel(model="m", api_key=KEY, base_url=server.gemini_url, **options)


def anthropic_of(server: ModelServer, **options: Any) -> StructuredModel:
    return AnthropicModel(model="m", api_key=KEY, base_url=server.root_url, **options)


@pytest.fixture(params=[openai_of, gemini_of, anthropic_of], ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    def patient(server: ModelServer, **options: Any) -> StructuredModel:
        return request.param(server, **({"jitter": lambda: 1.0, "sleep": Waits()} | options))

    return patient


def ask(model: StructuredModel, *, schema: Any = SCHEMA, deadline_s: float = 10.0) -> ModelAnswer:
    async def once() -> ModelAnswer:
        try:
            return await model.complete_json(
                system="Name a colour.",
                user="Which?",
                schema=schema,
                name="colour",
                deadline_s=deadline_s,
            )
        finally:
            await model.close()

    return asyncio.run(once())


def failure_of(model: StructuredModel, *, deadline_s: float = 10.0) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model, deadline_s=deadline_s)
    return caught.value


def test_a_good_answer_is_returned_with_its_usage_and_model(make: Make) -> None:
    with ModelServer([saying('{"colour": "teal"}', tokens=(11, 7))]) as server:
        answer = ask(make(server))

    assert answer.value == TEAL
    assert answer.model == "scripted-1"
    assert (answer.usage.model_calls, answer.usage.input_tokens) == (1, 11)
    assert answer.usage.output_tokens == 7


def test_the_most_binding_form_comes_first_at_temperature_zero(make: Make) -> None:
    with ModelServer([well(TEAL)]) as server:
        ask(make(server))

    (sent,) = server.received
    assert sent.format == "json_schema"
    assert sent.body["temperature"] == 0


@pytest.mark.parametrize("schema", [PROPOSE_SCHEMA, JUDGE_SCHEMA, ANSWER_SCHEMA])
def test_what_simonides_asks_for_is_understood_by_each(make: Make, schema: Any) -> None:
    answers = {"items": [], "verdicts": [], "answer": "yes", "used_memory_keys": []}
    wanted = {name: answers[name] for name in schema["properties"]}
    with ModelServer([well(wanted)]) as server:
        answer = ask(make(server), schema=schema)

    assert answer.value == wanted
    assert answer.usage.model_calls == 1


def test_an_endpoint_that_knows_no_form_is_asked_in_words_and_only_so_from_then_on(
    make: Make,
) -> None:
    forms = ["json_schema", "json_object", "tool"]
    with ModelServer([fenced(TEAL), well(TEAL)], refuses=forms) as server:
        model = make(server)
        first, second = ask(model), ask(model)

    assert (first.value, second.value) == (TEAL, TEAL)
    assert [sent.format for sent in server.received[-2:]] == [None, None]
    assert '"additionalProperties"' in str(server.received[-1].body)
    assert first.usage.model_calls == len(server.received) - 1


def test_a_model_that_takes_no_temperature_is_asked_without(make: Make) -> None:
    refusal = failing(400, "`temperature` is not supported for this model.")
    with ModelServer([refusal, well(TEAL), well(TEAL)]) as server:
        model = make(server)
        ask(model)
        ask(model)

    assert ["temperature" in sent.body for sent in server.received] == [True, False, False]


def test_a_wrong_answer_goes_back_once_with_what_is_wrong(make: Make) -> None:
    wrong = saying('{"color": "teal"}', tokens=(10, 5))
    with ModelServer([wrong, saying('{"colour": "teal"}', tokens=(30, 6))]) as server:
        answer = ask(make(server))

    *_, said, wanted = server.received[1].body["messages"]
    assert answer.value == TEAL
    assert (answer.usage.model_calls, answer.usage.input_tokens) == (2, 40)
    assert said == {"role": "assistant", "content": '{"color": "teal"}'}
    assert "'colour' is missing" in wanted["content"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (garbage(), "invalid_json"),
        (empty(), "empty"),
        (saying(None), "empty"),
        (saying('{"colour": 3}'), "invalid_schema"),
        (saying('{"colour": ""}'), "invalid_schema"),
        (saying('{"colour": "te'), "invalid_json"),
        (saying("[" * 100_000), "invalid_json"),
    ],
)
def test_an_answer_wrong_twice_is_garbled(make: Make, reply: Reply, reason: str) -> None:
    with ModelServer([reply, reply, well(TEAL)]) as server:
        error = failure_of(make(server))

    assert isinstance(error, ModelGarbled)
    assert error.reason == reason
    assert len(server.received) == 2


@pytest.mark.parametrize("body", [b"<html>proxy</html>", b"", b"[]", NOTHING, b"\xff", b"null"])
def test_a_body_that_is_no_answer_is_garbled(make: Make, body: bytes) -> None:
    with ModelServer([Reply(body=body)]) as server:
        error = failure_of(make(server))

    assert isinstance(error, ModelGarbled)
    assert error.reason == "invalid_json"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_a_transient_failure_is_tried_again(make: Make, status: int) -> None:
    with ModelServer([failing(status), well(TEAL)]) as server:
        answer = ask(make(server))

    assert answer.value == TEAL
    assert answer.usage.model_calls == 2


def test_waits_grow_and_what_a_server_asks_for_is_honoured(make: Make) -> None:
    waits = Waits()
    script = [failing(500), failing(529), limited("3"), well(TEAL)]
    with ModelServer(script) as server:
        ask(make(server, sleep=waits))

    assert waits.seconds == [0.5, 1.0, 3.0]


def test_retries_end_with_a_time_out_error(make: Make) -> None:
    with ModelServer([failing(500)] * 9) as server:
        error = failure_of(make(server, max_retries=2))

    assert isinstance(error, ModelTimeout)
    assert "status 500, after 3 attempts" in str(error)
    assert len(server.received) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_tried_again(make: Make, status: int) -> None:
    with ModelServer([failing(status), well(TEAL)]) as server:
        error = failure_of(make(server))

    assert isinstance(error, ModelUnavailable)
    assert str(status) in str(error)
    assert len(server.received) == 1


def test_a_connection_cut_in_the_body_is_tried_again(make: Make) -> None:
    with ModelServer([cut(), well(TEAL)]) as server:
        assert ask(make(server)).value == TEAL


def test_an_answer_later_than_the_time_out_is_tried_again(make: Make) -> None:
    with ModelServer([late(TEAL, 3.0), well(TEAL)]) as server:
        answer = ask(make(server, timeout_s=0.25))

    assert answer.usage.model_calls == 2


def test_nothing_at_all_ends_with_the_deadline(make: Make) -> None:
    with ModelServer([well(TEAL), *[hanging()] * 9]) as server:
        model = make(server)
        ask(model)
        begun = time.monotonic()
        error = failure_of(model, deadline_s=0.3)
        took_s = time.monotonic() - begun

    assert isinstance(error, ModelTimeout)
    assert took_s < 2.0


def test_an_answer_of_5_mb_is_refused_unread(make: Make) -> None:
    with ModelServer([huge(), well(TEAL)]) as server:
        error = failure_of(make(server))

    assert isinstance(error, ModelGarbled)
    assert f"{MAX_BODY_BYTES:,}" in str(error)
    assert len(server.received) == 1


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_key_shows_nowhere(make: Make, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ModelServer([failing(status, f"Incorrect API key provided: {KEY}")] * 4) as server:
        model = make(server)
        error = failure_of(model)

    shown = "".join(traceback.format_exception(error))
    assert KEY not in shown + repr(error) + repr(model) + str(vars(error)) + caplog.text
    assert error.__cause__ is None


def test_usage_counts_what_was_spent_before_an_error(make: Make) -> None:
    with ModelServer([saying("no", tokens=(100, 1)), *[failing(503)] * 4]) as server:
        usage = failure_of(make(server)).usage

    assert usage is not None
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == (5, 100, 1)


def test_it_needs_an_event_loop_and_serves_one_after_another(make: Make) -> None:
    with ModelServer([well(TEAL)] * 2) as server:
        model = make(server)
        answers = [ask(model), ask(model)]

    assert [answer.value for answer in answers] == [TEAL, TEAL]
    assert Capability.INLINE not in model.capabilities


@pytest.mark.parametrize(
    ("model", "extra"),
    [(OpenAIModel, "openai"), (GeminiModel, "openai"), (AnthropicModel, "anthropic")],
)
def test_a_missing_extra_says_how_to_install_it(
    model: Any, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=rf"pip install '{extra}>="):
        model(model="m", api_key=KEY)


# -- What only one of them does ------------------------------------------------------------


def test_claude_is_asked_by_structured_output_without_the_bounds_that_it_refuses() -> None:
    with ModelServer([well(TEAL)]) as server:
        ask(anthropic_of(server))

    (sent,) = server.received
    schema = sent.body["output_config"]["format"]["schema"]
    assert sent.path == "/v1/messages"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert schema["additionalProperties"] is False
    assert schema["properties"] == {"colour": {"type": "string"}}


def test_claude_must_call_a_tool_where_the_schema_cannot_be_guaranteed() -> None:
    with ModelServer([well({"items": []})]) as server:
        answer = ask(anthropic_of(server), schema=PROPOSE_SCHEMA)

    (sent,) = server.received
    assert answer.value == {"items": []}
    assert sent.body["tool_choice"] == {"type": "tool", "name": "colour"}
    assert sent.body["tools"][0]["input_schema"]["properties"].keys() == {"items"}


def test_claudes_ladder_goes_from_structured_output_over_a_tool_to_the_prompt() -> None:
    with ModelServer([well(TEAL)], refuses=["json_schema", "tool"]) as server:
        ask(anthropic_of(server))

    assert [sent.format for sent in server.received] == ["json_schema", "tool", None]


def test_tokens_that_claude_read_from_its_cache_are_counted() -> None:
    said = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 3}
    body = (
        f'{{"content": [{{"type": "text", "text": "{{\\"colour\\": \\"x\\"}}"}}], "usage": {said}}}'
    )
    with ModelServer([Reply(body=body.replace("'", '"').encode())]) as server:
        usage = ask(anthropic_of(server)).usage

    assert (usage.input_tokens, usage.output_tokens) == (98, 0)


def test_the_environments_other_credentials_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-somebody-else")
    with ModelServer([well(TEAL)]) as server:
        ask(anthropic_of(server))

    assert "of-somebody-else" not in str(server.received[0].headers)


def test_gemini_is_not_sent_keywords_that_it_does_not_know() -> None:
    with ModelServer([well(TEAL)]) as server:
        ask(gemini_of(server))

    (sent,) = server.received
    wanted = sent.body["response_format"]["json_schema"]
    assert sent.path == "/v1beta/openai/chat/completions"
    assert wanted["schema"]["properties"] == {"colour": {"type": "string"}}
    assert "additionalProperties" not in wanted["schema"]
    assert sent.body.keys() == {"model", "messages", "response_format", "temperature"}


def test_gemini_is_asked_for_an_object_where_a_value_has_no_type() -> None:
    with ModelServer([well({"items": []})]) as server:
        ask(gemini_of(server), schema=PROPOSE_SCHEMA)

    assert [sent.format for sent in server.received] == ["json_object"]


def test_gemini_says_in_the_body_how_long_to_wait() -> None:
    waits = Waits()
    info = '{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}'
    body = f'[{{"error": {{"code": 429, "message": "quota", "details": [{info}]}}}}]'
    with ModelServer([Reply(429, body.encode()), well(TEAL)]) as server:
        ask(gemini_of(server, sleep=waits, jitter=lambda: 1.0))

    assert waits.seconds == [7.5]


def test_geminis_refusal_of_a_key_is_one_of_credentials() -> None:
    refusal = failing(400, "API key not valid. Please pass a valid API key.")
    with ModelServer([refusal]) as server:
        error = failure_of(gemini_of(server))

    assert isinstance(error, ModelUnavailable)
    assert "credentials refused (400)" in str(error)


@pytest.mark.parametrize("keywords", [GEMINI_KEYWORDS, ANTHROPIC_KEYWORDS])
def test_a_reduced_schema_asks_for_no_more_than_the_whole_one(keywords: frozenset[str]) -> None:
    for schema, value in [(SCHEMA, TEAL), (JUDGE_SCHEMA, {"verdicts": []})]:
        smaller = reduced(schema, keywords)
        assert smaller is not None
        assert problem(value, smaller) is None


def test_a_const_becomes_a_list_of_one_where_it_is_not_known() -> None:
    schema = {"type": "array", "items": {"const": 3}}

    assert reduced(schema, GEMINI_KEYWORDS) == {"type": "array", "items": {"enum": [3]}}
    assert reduced(schema, ANTHROPIC_KEYWORDS) == schema
    assert reduced({"type": ["string", "null"]}, GEMINI_KEYWORDS) is None
    assert reduced({"type": "array", "items": {}}, GEMINI_KEYWORDS) is None
