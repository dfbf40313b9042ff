"""Gemini through its OpenAI-compatible endpoint.

It speaks ``/chat/completions``, with its own schemas and errors. It supports a part of JSON Schema,
answers 400 for other keywords, and requires a type for every value. It writes errors as a list and
refuses a wrong key with 400. The retry delay is in the body, not in a header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from simonides.providers.language_models.json_schema import reduced
from simonides.providers.language_models.openai import ABOUT_FORMAT, ChatCompletions
from simonides.providers.language_models.request import OutputMode, Question
from simonides.providers.language_models.structured_output import Limits, StructuredModel

GEMINI_BASE_URL = "https://generativelanguage.googleapis.com/v1beta/openai/"

KEYWORDS = frozenset(
    {
        *("type", "enum", "properties", "required", "items", "description", "title"),
        *("minItems", "maxItems", "minimum", "maximum"),
    }
)
"""Keywords that its schemas may hold. It answers others, ``additionalProperties`` and ``const``
among them, with "Unknown name". The answer is checked against the whole schema."""

_ABOUT_SCHEMA = (
    *ABOUT_FORMAT,
    "response_schema",
    "responseschema",
    "response mime type",
    "response_mime_type",
    "generation_config",
    "unknown name",
)


class GeminiCompletions(ChatCompletions):
    """The OpenAI-compatible ``/chat/completions`` of the Gemini API."""

    refusal_words: ClassVar = {OutputMode.SCHEMA: _ABOUT_SCHEMA, OutputMode.OBJECT: _ABOUT_SCHEMA}

    def output_modes(self, question: Question) -> tuple[OutputMode, ...]:
        """Return ``json_schema`` where the schema can be reduced, ``json_object``, the prompt."""
        can = reduced(question.schema, KEYWORDS) is not None
        return (*((OutputMode.SCHEMA,) if can else ()), OutputMode.OBJECT, OutputMode.PROMPT)

    def _format(self, question: Question, mode: OutputMode) -> dict[str, Any]:
        if mode is OutputMode.OBJECT:
            return {"type": "json_object"}
        schema = reduced(question.schema, KEYWORDS)
        return {"type": "json_schema", "json_schema": {"name": question.name, "schema": schema}}

    def _refusal_text(self, error: Any) -> str:
        # The SDK finds a message only in a mapping, and this API sends a list.
        return f"{super()._refusal_text(error)} {_error_in(error.body).get('message')}"

    def _after_s(self, error: Any) -> float | None:
        after_s = super()._after_s(error)
        return _retry_delay_s(error.body) if after_s is None else after_s


def _error_in(body: Any) -> Mapping[str, Any]:
    """Return a body's error, which may be the first of a list."""
    first = body[0] if isinstance(body, list) and body else body
    error = first.get("error", first) if isinstance(first, Mapping) else None
    return error if isinstance(error, Mapping) else {}


def _retry_delay_s(body: Any) -> float | None:
    """Return the ``retryDelay`` of an error's details, such as ``"34s"``, in seconds."""
    details = _error_in(body).get("details")
    known = (
        [each for each in details if isinstance(each, Mapping)] if isinstance(details, list) else []
    )
    delay = next((each["retryDelay"] for each in known if "retryDelay" in each), None)
    try:
        seconds = float(str(delay).removesuffix("s"))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


class GeminiModel(StructuredModel):
    """A Gemini model."""

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
            base_url: Root of the compatible API, ``…/v1beta/openai/``; None is Google's.
            limits: Time-outs and retries, see :class:`StructuredModel`.

        Raises:
            MissingExtra: If the ``openai`` package is not installed.
        """
        endpoint = GeminiCompletions(
            label="GeminiModel", model=model, api_key=api_key, base_url=base_url or GEMINI_BASE_URL
        )
        super().__init__(endpoint, model=model, **limits)
