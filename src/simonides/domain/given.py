"""What callers give, read at the edge: names of an enumeration, and times."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from simonides.domain.errors import InvalidInput
from simonides.domain.value import from_us, shown, to_us

E = TypeVar("E", bound=StrEnum)


def enum_member(kind: type[E], field: str, raw: object) -> E:
    """Return the member of an enumeration by value.

    Raises:
        InvalidInput: Naming the values allowed.
    """
    member = kind._value2member_map_.get(raw) if isinstance(raw, str) else None
    if isinstance(member, kind):
        return member
    allowed = ", ".join(member.value for member in kind)
    raise InvalidInput(field, f"must be one of {allowed}, not {shown(raw)}")


def moment(field: str, raw: object) -> datetime | None:
    """Return a time given as datetime or ISO 8601 text as an aware datetime in UTC; a naive one
    is taken as UTC.

    Raises:
        InvalidInput: If it is neither.
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
