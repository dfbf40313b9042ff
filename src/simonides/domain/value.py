"""Base class of returned values, with conversion to plain data, and conversions of time.

Times are timezone-aware ``datetime`` in the public record and integer microseconds UTC everywhere
else. Both conversions are in this module, so that there is one rounding rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from simonides.domain.entropy import without_secrets
from simonides.domain.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


MAX_SHOWN_CHARS = 60
"""Longest value of a field in a ``repr``; chosen, so that a result stays on one line."""

MAX_REPR_CHARS = 240
"""Longest ``repr`` of a result; chosen likewise."""


class Value:
    """Base of the frozen dataclasses that simonides returns."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        # ``dataclass`` writes a ``__repr__`` with every field where the class itself has none.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        told = ((field.name, getattr(self, field.name)) for field in fields if field.repr)
        said = [f"{name}={_brief(value)}" for name, value in told if not _is_nothing(value)]
        text = ", ".join(said)
        if len(text) > MAX_REPR_CHARS:
            text = f"{text[:MAX_REPR_CHARS]}…"
        return f"{type(self).__name__}({text})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready data: enumerations by value, times in ISO 8601."""
        return {
            field.name: plain(getattr(self, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        }

    def plain(self) -> Any:
        """Return the form of this value inside another value's plain data."""
        return self.to_dict()


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, (str, bytes, Collection)) and not value)


def _brief(value: object) -> str:
    """Return a value of a field in at most :data:`MAX_SHOWN_CHARS` characters and an ellipsis."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, (bytes, str)):
        text = repr(value[:MAX_SHOWN_CHARS])
        return text if len(value) <= MAX_SHOWN_CHARS else f"{text}…"
    if isinstance(value, (tuple, list, set, frozenset, dict)) and len(value) > 1:
        return f"<{len(value)}>"
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


def plain(value: Any) -> Any:
    """Turn a value of the domain into JSON-ready data; bytes become hexadecimal text."""
    if isinstance(value, Value):
        return value.plain()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(inner) for inner in value)
    return value


def shown(raw: object) -> str:
    """Return the form of a refused value in an error: a quoted text of 60 characters, or a type.

    A possible secret is replaced by its length.
    """
    if not isinstance(raw, str):
        return type(raw).__name__
    return repr(raw[:60]) if without_secrets(raw) is raw else without_secrets(raw)


def to_us(moment: datetime) -> int:
    """Return microseconds since 1970 UTC; a naive time is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // _MICROSECOND


# Cached, because fields written together have the same time.
@lru_cache(maxsize=4096)
def from_us(microseconds: int) -> datetime:
    """Return the aware UTC time of microseconds since 1970."""
    return EPOCH + timedelta(0, 0, microseconds)


E = TypeVar("E", bound=StrEnum)


def enum_member(kind: type[E], field: str, raw: object) -> E:
    """Return the member of an enumeration by value.

    Raises:
        InvalidInput: Names the allowed values.
    """
    member = kind._value2member_map_.get(raw) if isinstance(raw, str) else None
    if isinstance(member, kind):
        return member
    allowed = ", ".join(member.value for member in kind)
    raise InvalidInput(field, f"must be one of {allowed}, not {shown(raw)}")


def moment(field: str, raw: object) -> datetime | None:
    """Parse a datetime or ISO 8601 text to an aware UTC datetime; a naive time is taken as UTC.

    Raises:
        InvalidInput: If it is neither, or outside the calendar.
    """
    if raw is None:
        return None
    if isinstance(raw, str):
        try:
            raw = datetime.fromisoformat(raw)
        except ValueError as error:
            raise InvalidInput(field, "must be ISO 8601, like 2026-01-31T12:00:00Z") from error
    if not isinstance(raw, datetime):
        raise InvalidInput(field, f"must be a datetime or ISO 8601 text, not {type(raw).__name__}")
    try:
        return from_us(to_us(raw))
    except OverflowError as error:
        raise InvalidInput(field, "is outside the calendar") from error
