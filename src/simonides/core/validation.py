"""Turns pydantic's findings into the project's errors, and holds the checks that fields share."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from ipaddress import ip_address
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    Strict,
    StringConstraints,
    ValidationError,
)

from simonides.core.clock import zoned_moment
from simonides.core.errors import InvalidInput, shown

MAX_TEXT_CHARS, MAX_REASON_CHARS = 1 << 20, 2_000
"""Longest text of any argument, and longest reason or topic. Set by judgement."""

MAX_JSON_DEPTH = 16
"""Deepest nesting of metadata; chosen, far above use."""

E = TypeVar("E", bound=StrEnum)


def _pattern(text: str) -> str:
    import re2

    try:
        re2.compile(text)
    except re2.error as error:
        raise ValueError(f"is not a pattern in RE2 syntax: {error}") from error
    return text


def safe_url(text: str) -> str:
    """Return an address that nobody on the way can change: ``https``, or this machine's own.

    Raises:
        ValueError: If it is another one.
    """
    parts = urlsplit(text)
    host = parts.hostname or ""
    try:
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not host or parts.scheme not in (("http", "https") if is_here else ("https",)):
        raise ValueError("must be an https:// address")
    return text


# PostgreSQL cannot store NUL in text; one rule for both databases. pydantic refuses surrogates.
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=65_536)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]
Flag = Annotated[bool, Strict()]
Share = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
Days = Annotated[float, Strict(), Field(gt=0, le=36_500, allow_inf_nan=False)]
Pattern = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)]
Url = Annotated[str, Field(max_length=2_000), AfterValidator(safe_url)]
Moment = BeforeValidator(partial(zoned_moment, "time"))
"""A time of a caller: a datetime or an ISO 8601 text, never a bare number."""


def nearest(name: object, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the most similar known name, or an empty text."""
    matches = difflib.get_close_matches(str(name)[:200], list(known), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def enum_member(kind: type[E], field: str, raw: object) -> E:
    """Return a member by its value.

    Raises:
        InvalidInput: If there is none; it lists the values and names the nearest.
    """
    return kind(one_of(field, raw, [member.value for member in kind]))


def one_of(field: str, raw: object, known: Collection[str]) -> str:
    """Return a name that is one of those known.

    Raises:
        InvalidInput: If it is none; it lists them and names the nearest.
    """
    if not isinstance(raw, str) or raw not in known:
        problem = f"{shown(raw)} is not one of {', '.join(known)}{nearest(raw, known)}"
        raise InvalidInput(field, problem)
    return raw


def invalid(error: ValidationError, known: Sequence[str] = ()) -> InvalidInput:
    """Return the error of the first finding.

    Args:
        error: What pydantic found.
        known: Right names, of which the nearest is named where one is unknown.

    """
    first = error.errors(include_url=False)[0]
    inner = first.get("ctx", {}).get("error")
    where = [str(part) for part in first["loc"] if not _is_internal(part)]
    field = ".".join(where) or "value"
    if isinstance(inner, InvalidInput):
        return InvalidInput(field, str(inner).split(": ", 1)[1])
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return InvalidInput(field, f"is not a field{nearest(where[-1], known)}")
    if first["type"] in ("enum", "literal_error"):
        choices = str(first["ctx"]["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
        problem = f"{shown(first['input'])} is not one of {', '.join(choices)}"
        return InvalidInput(field, problem + nearest(first["input"], choices))
    problem = _PROBLEMS.get(first["type"], first["msg"]).replace("Input should", "must")
    return InvalidInput(field, problem)


_PROBLEMS = {
    "string_pattern_mismatch": "holds a NUL character",
    "string_unicode": "holds a lone surrogate",
    "string_too_short": "must not be empty",
    "missing": "is missing",
    "multiple_argument_values": "only the content goes without a name; write key=…",
    "tuple_type": "must be a list",
    "string_type": "must be text",
}


def _is_internal(part: object) -> bool:
    # Names of validators inside a union are no part of the caller's value.
    return isinstance(part, str) and ("[" in part or part in ("str", "datetime", "float", "int"))


def json_text(field: str, value: object) -> str:
    """Return a JSON-ready value as canonical JSON: sorted names, no blanks, finite numbers.

    Raises:
        InvalidInput: If it is not JSON-ready, nested too deep, or holds a lone surrogate.
    """
    _check_json(field, value)
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        text.encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(field, "must be plain JSON: finite numbers, text, lists") from error
    return text


def result_text(field: str, value: object) -> str:
    """Return a result of a tool as text: a text as it is, other data as JSON.

    Raises:
        InvalidInput: If JSON cannot express it: it holds itself, or is nested too deep.
    """
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(field, "is a result that JSON cannot express") from error


def _check_json(field: str, value: object, level: int = 1) -> None:
    """Check what ``json.dumps`` lets pass: depth, names that are no text, NUL characters."""
    if level > MAX_JSON_DEPTH:
        raise InvalidInput(field, f"is nested deeper than {MAX_JSON_DEPTH} levels")
    if isinstance(value, str) and "\0" in value:
        raise InvalidInput(field, "holds a NUL character")
    inner: Iterable[object] = value if isinstance(value, (list, tuple)) else ()
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise InvalidInput(field, "names must be text")
        inner = (*value, *value.values())
    for each in inner:
        _check_json(field, each, level + 1)


def between(field: str, value: object, least: int, most: int) -> int:
    """Return a whole number of a caller.

    Raises:
        InvalidInput: If it is not a whole number from ``least`` to ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        problem = f"must be a whole number from {least:,} to {most:,}, not {_told(value)}"
        raise InvalidInput(field, problem)
    return value


def share(field: str, value: object) -> float | None:
    """Return a number from 0 to 1 of a caller; None stays None.

    Raises:
        InvalidInput: If it is anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput(field, f"must be a number from 0 to 1, not {_told(value)}")
    return float(value)


def _told(value: object) -> str:
    # Of what is no number, only the type: it may be a secret.
    return f"{value!r:.60}" if isinstance(value, (int, float)) else type(value).__name__


def text(field: str, value: Any, most: int = MAX_TEXT_CHARS) -> str:
    """Return a text of a caller, of at most so many characters.

    Raises:
        InvalidInput: If it is not text, is too long, or holds NUL or a lone surrogate.
    """
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be text, not {type(value).__name__}")
    if len(value) > most:
        raise InvalidInput(field, f"has {len(value):,} characters; at most {most:,} are taken")
    if "\0" in value:
        raise InvalidInput(field, "holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(field, "holds a lone surrogate") from error
    return value
