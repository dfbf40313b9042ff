"""Any OpenAI-compatible endpoint as a language model, through the ``openai`` SDK. Structure is
requested by ``json_schema``, then ``json_object``, then in words. See
:mod:`simonides.providers.language_models.structured_output`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Unpack

from simonides.domain.writing.decision import Usage
from simonides.providers.http.retry_after import DEFAULT_BASE_URL
from simonides.providers.language_models.json_schema import is_strict
from simonides.providers.language_models.reply import (
    Reply,
    counted,
    parse_body,
    reply_in,
)
from simonides.providers.language_models.request import OutputMode, Question
from simonides.providers.language_models.sdk import SdkEndpoint
from simonides.providers.language_models.structured_output import Limits, StructuredModel

ABOUT_FORMAT = ("response_format", "json_schema", "json_object", "structured output", "json mode")
"""Words in refusals of ``response_format``, as known endpoints write them."""


class ChatCompletions(SdkEndpoint):
    """The ``/chat/completions`` of some base URL."""

    sdk = "openai"
    refusal_words: ClassVar = {OutputMode.SCHEMA: ABOUT_FORMAT, OutputMode.OBJECT: ABOUT_FORMAT}

    def __init__(self, *, label: str, model: str, api_key: str, base_url: str) -> None:
        super().__init__(label=label, model=model, base_url=base_url)
        self._api_key = api_key

    def output_modes(self, question: Question) -> tuple[OutputMode, ...]:
        """Return ``json_schema``, ``json_object`` and the prompt."""
        del question
        return (OutputMode.SCHEMA, OutputMode.OBJECT, OutputMode.PROMPT)

    def read(self, body: bytes) -> tuple[Usage, Callable[[], Reply]]:
        """Return the cost and the text of a chat completion."""
        completion = parse_body(body)
        return counted(completion), lambda: reply_in(completion)

    def _new_client(self, sdk: Any, http_client: Any) -> Any:
        client = sdk.AsyncOpenAI(
            # Without a key the SDK would read the environment.
            api_key=self._api_key or "none",
            base_url=self._base_url,
            max_retries=0,
            default_headers={"Accept-Encoding": "identity"},
            http_client=http_client,
        )
        # The SDK reads these from the environment by default.
        client.organization = client.project = None
        return client

    def _call(self, client: Any) -> Callable[..., Any]:
        call: Callable[..., Any] = client.chat.completions.with_streaming_response.create
        return call

    def _arguments(
        self, question: Question, mode: OutputMode, *, fixed_temperature: bool
    ) -> dict[str, Any]:
        system = {"role": "system", "content": question.instructions(mode)}
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [system, *question.turns()],
        }
        if mode is not OutputMode.PROMPT:
            arguments["response_format"] = self._format(question, mode)
        if fixed_temperature:
            arguments["temperature"] = 0
        return arguments

    def _format(self, question: Question, mode: OutputMode) -> dict[str, Any]:
        if mode is OutputMode.OBJECT:
            return {"type": "json_object"}
        schema = question.schema
        definition = {"name": question.name, "schema": schema, "strict": is_strict(schema)}
        return {"type": "json_schema", "json_schema": definition}


class OpenAIModel(StructuredModel):
    """A chat model behind the ``/chat/completions`` of some base URL."""

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
            api_key: Credentials; local servers take any text.
            base_url: Root of the API, ``…/v1``; None is OpenAI's.
            limits: Time-outs and retries, see :class:`StructuredModel`.

        Raises:
            MissingExtra: If the ``openai`` package is not installed.
        """
        endpoint = ChatCompletions(
            label="OpenAIModel", model=model, api_key=api_key, base_url=base_url or DEFAULT_BASE_URL
        )
        super().__init__(endpoint, model=model, **limits)
