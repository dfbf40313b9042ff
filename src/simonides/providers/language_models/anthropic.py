"""Claude through the Messages API and the ``anthropic`` SDK. Structure is requested by
``output_config`` (structured outputs, where the API supports the schema), then by a forced tool
call, then in words. See :mod:`simonides.providers.language_models.structured_output`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Unpack

from simonides.domain.errors import ModelGarbled
from simonides.domain.writing.decision import Usage
from simonides.providers.language_models.json_schema import is_strict, reduced
from simonides.providers.language_models.reply import Reply, parse_body, tokens_in
from simonides.providers.language_models.request import OutputMode, Question
from simonides.providers.language_models.sdk import SdkEndpoint
from simonides.providers.language_models.structured_output import Limits, StructuredModel

ANTHROPIC_BASE_URL = "https://api.anthropic.com"

MAX_ANSWER_TOKENS = 4_096
"""The API requires a limit; chosen: several times the longest expected answer."""

KEYWORDS = frozenset(
    {"type", "enum", "const", "properties", "required", "additionalProperties", "items"}
    | {"description", "title"}
)
"""Keywords of a structured-output schema; bounds of length and number are not allowed. The answer
is checked against the whole schema."""

_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Messages(SdkEndpoint):
    """The ``/v1/messages`` of some base URL."""

    sdk = "anthropic"
    refusal_words: ClassVar = {
        OutputMode.SCHEMA: ("output_config", "output_format", "json_schema", "structured output"),
        OutputMode.TOOL: ("tool",),
    }

    def __init__(self, *, label: str, model: str, api_key: str, base_url: str) -> None:
        super().__init__(label=label, model=model, base_url=base_url)
        self._api_key = api_key

    def output_modes(self, question: Question) -> tuple[OutputMode, ...]:
        """Return structured output where the schema allows it, a tool for objects, the prompt."""
        guaranteed = is_strict(question.schema) and reduced(question.schema, KEYWORDS) is not None
        is_object = question.schema.get("type") == "object"
        return (
            *((OutputMode.SCHEMA,) if guaranteed else ()),
            *((OutputMode.TOOL,) if is_object else ()),
            OutputMode.PROMPT,
        )

    def read(self, body: bytes) -> tuple[Usage, Callable[[], Reply]]:
        """Return the cost and the text of a message; a tool's input is its text."""
        message = parse_body(body)
        reported = message.get("usage") if isinstance(message, dict) else None
        usage = Usage()
        if isinstance(reported, dict):
            spent = sum(tokens_in(reported, name) for name in _COUNTED)
            usage = Usage(input_tokens=spent, output_tokens=tokens_in(reported, "output_tokens"))
        return usage, lambda: _reply_in(message)

    def _new_client(self, sdk: Any, http_client: Any) -> Any:
        return sdk.AsyncAnthropic(
            # Without a key the SDK would read the environment and the user's profile.
            api_key=self._api_key or "none",
            base_url=self._base_url,
            max_retries=0,
            default_headers={"Accept-Encoding": "identity"},
            http_client=http_client,
            open_telemetry=False,
        )

    def _call(self, client: Any) -> Callable[..., Any]:
        call: Callable[..., Any] = client.messages.with_streaming_response.create
        return call

    def _arguments(
        self, question: Question, mode: OutputMode, *, fixed_temperature: bool
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "max_tokens": MAX_ANSWER_TOKENS,
            "system": question.instructions(mode),
            "messages": question.turns(),
        }
        if mode is OutputMode.SCHEMA:
            schema = reduced(question.schema, KEYWORDS)
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        elif mode is OutputMode.TOOL:
            tool = {
                "name": question.name,
                "description": "Gives the answer.",
                "input_schema": question.schema,
            }
            arguments["tools"] = [tool]
            arguments["tool_choice"] = {"type": "tool", "name": question.name}
        if fixed_temperature:
            # The SDK has no parameter for it: newer models refuse it, older ones accept it.
            arguments["extra_body"] = {"temperature": 0}
        return arguments


def _reply_in(message: Any) -> Reply:
    """Return a message's text and model.

    Raises:
        ModelGarbled: If it is no message.
    """
    blocks = message.get("content") if isinstance(message, dict) else None
    if not isinstance(blocks, list):
        raise ModelGarbled("invalid_json", "the endpoint's reply is not a message")
    model = message.get("model")
    return Reply(_text_in(blocks), model if isinstance(model, str) else "")


def _text_in(blocks: list[Any]) -> str:
    known = [block for block in blocks if isinstance(block, dict)]
    for block in known:
        if block.get("type") == "tool_use":
            return json.dumps(block.get("input"), ensure_ascii=False)
    texts = [block.get("text") for block in known if block.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


class AnthropicModel(StructuredModel):
    """A Claude model."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str | None = None,
        **limits: Unpack[Limits],
    ) -> None:
        """Configure the model; opens no connection and reads no environment.

        Args:
            model: Name that the endpoint knows.
            api_key: Credentials.
            base_url: Root of the API, without ``/v1``; None is Anthropic's.
            limits: Time-outs and retries, see :class:`StructuredModel`.

        Raises:
            MissingExtra: If the ``anthropic`` package is not installed.
        """
        endpoint = Messages(
            label="AnthropicModel",
            model=model,
            api_key=api_key,
            base_url=base_url or ANTHROPIC_BASE_URL,
        )
        super().__init__(endpoint, model=model, **limits)
