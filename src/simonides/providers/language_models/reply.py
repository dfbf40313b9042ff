"""Parses an endpoint's answer and checks its JSON; nothing in it is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simonides.domain.errors import ModelGarbled
from simonides.domain.writing.decision import Usage
from simonides.providers.language_models.json_schema import problem


@dataclass(frozen=True, slots=True)
class Reply:
    """An endpoint's answer.

    Attributes:
        text: The model's text; may be empty.
        model: Name of the model, empty where the endpoint names none.
    """

    text: str
    model: str


def parse_body(body: bytes) -> Any:
    """Return the JSON of an answer, unchecked.

    Raises:
        ModelGarbled: If the body is not JSON.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ModelGarbled("invalid_json", "the endpoint's reply is not JSON") from None


def counted(completion: Any) -> Usage:
    """Return the token usage that a completion reports, even if it is otherwise unusable."""
    usage = completion.get("usage") if isinstance(completion, dict) else None
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=tokens_in(usage, "prompt_tokens"),
        output_tokens=tokens_in(usage, "completion_tokens"),
    )


def reply_in(completion: Any) -> Reply:
    """Return a completion's text and model.

    Raises:
        ModelGarbled: If it is no chat completion.
    """
    try:
        content = completion["choices"][0]["message"].get("content")
        model = completion.get("model")
    except (LookupError, TypeError, AttributeError):
        raise _no_completion() from None
    return Reply(
        content if isinstance(content, str) else "", model if isinstance(model, str) else ""
    )


def _no_completion() -> ModelGarbled:
    return ModelGarbled("invalid_json", "the endpoint's reply is not a chat completion")


def tokens_in(counted: Mapping[str, Any], name: str) -> int:
    """Return a reported token count; 0 if it is invalid."""
    count = counted.get(name)
    usable = isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**40
    return count if usable and isinstance(count, int) else 0


def checked_json(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the JSON in a model's answer.

    Raises:
        ModelGarbled: ``empty``, ``invalid_json`` or ``invalid_schema``.
    """
    bare = _unwrapped(text)
    if not bare:
        raise ModelGarbled("empty", "the model answered nothing")
    try:
        value = json.loads(bare, parse_constant=_no_constant)
    except RecursionError:
        raise ModelGarbled("invalid_json", "nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ModelGarbled("invalid_json", f"{error.msg} at character {error.pos}") from None
    except ValueError:
        raise ModelGarbled("invalid_json", "a number that JSON does not have") from None
    found = problem(value, schema)
    if found is not None:
        raise ModelGarbled("invalid_schema", found)
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _unwrapped(text: str) -> str:
    """Strip what models put around JSON: a thought, a fence, a sentence before and after."""
    bare = text.rpartition("</think>")[2].strip()
    opened = bare.find("```")
    if opened >= 0:
        inner, fence, _ = bare[opened + 3 :].partition("```")
        language, line, rest = inner.partition("\n")
        if fence or opened == 0:
            bare = (rest if line and language.strip().isalnum() else inner).strip()
            bare = bare.removeprefix("json").strip() if bare.startswith("json") else bare
    if bare[:1] in "{[" or not bare:
        return bare
    first, last = bare.find("{"), bare.rfind("}")
    return bare[first : last + 1] if 0 <= first < last else bare
