"""Gemini through its OpenAI-compatible endpoint (LM-1).

It speaks ``/chat/completions``, and differs where schemas and errors are concerned: it knows a part
of JSON Schema and answers 400 for a keyword outside it, wants a type for every value, writes errors
as a list, refuses a wrong key with 400, and says how long to wait in the body instead of a header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from simonides.adapters.json_schema import reduced
from simonides.adapters.model_ladder import LadderModel, Limits
from simonides.adapters.model_openai import ABOUT_FORMAT, ChatCompletions
from simonides.adapters.model_question import Question, Rung

GEMINI_BASE_URL = "https://generativelanguage.googleapis.com/v1beta/openai/"

KEYWORDS = frozenset(
    {
        *("type", "enum", "properties", "required", "items", "description", "title"),
        *("minItems", "maxItems", "minimum", "maximum"),
    }
)
"""What its schemas may hold. Others, ``additionalProperties`` and ``const`` among them, it answers
with "Unknown name"; what is left out is checked when the answer is here."""

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

    about: ClassVar = {Rung.SCHEMA: _ABOUT_SCHEMA, Rung.OBJECT: _ABOUT_SCHEMA}

    def rungs(self, question: Question) -> tuple[Rung, ...]:
        """Return ``json_schema`` where the schema can be said, ``json_object`` and the prompt."""
        can = reduced(question.schema, KEYWORDS) is not None
        return (*((Rung.SCHEMA,) if can else ()), Rung.OBJECT, Rung.PROMPT)

    def _format(self, question: Question, rung: Rung) -> dict[str, Any]:
        if rung is Rung.OBJECT:
            return {"type": "json_object"}
        schema = reduced(question.schema, KEYWORDS)
        return {"type": "json_schema", "json_schema": {"name": question.name, "schema": schema}}

    def _said(self, error: Any) -> str:
        # The SDK looks for the message in a mapping only.
        return f"{super()._said(error)} {_error_in(error.body).get('message')}"

    def _after_s(self, error: Any) -> float | None:
        said = super()._after_s(error)
        return _retry_delay_s(error.body) if said is None else said


def _error_in(body: Any) -> Mapping[str, Any]:
    """Return the error that a body tells of, which may be the first of a list."""
    first = body[0] if isinstance(body, list) and body else body
    error = first.get("error", first) if isinstance(first, Mapping) else None
    return error if isinstance(error, Mapping) else {}


def _retry_delay_s(body: Any) -> float | None:
    """Return the ``retryDelay`` of an error's details, such as ``"34s"``, in seconds."""
    details = _error_in(body).get("details")
    told = (
        [each for each in details if isinstance(each, Mapping)] if isinstance(details, list) else []
    )
    delay = next((each["retryDelay"] for each in told if "retryDelay" in each), None)
    try:
        seconds = float(str(delay).removesuffix("s"))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


class GeminiModel(LadderModel):
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
            limits: How long it is waited for, see :class:`LadderModel`.

        Raises:
            MissingExtra: If the ``openai`` package is not installed.
        """
        endpoint = GeminiCompletions(
            label="GeminiModel", model=model, api_key=api_key, base_url=base_url or GEMINI_BASE_URL
        )
        super().__init__(endpoint, model=model, **limits)
