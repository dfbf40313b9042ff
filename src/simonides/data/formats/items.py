"""What readers yield, and what several of them need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Fields = Mapping[str, Any]
"""A value of an export, as JSON has it."""


class Entry(NamedTuple):
    """A value of an export.

    Attributes:
        value: The value.
        place: Where it stands, for example ``line 4``.
        file: Name of its file.
    """

    value: Fields
    place: str
    file: str = ""


class Turn(NamedTuple):
    """A message of a conversation.

    Attributes:
        role: Whose turn it is, as `capture.messages` reads it.
        content: A text, or parts as in messages of today's SDKs.
        conversation: Name of its conversation in the export.
        place: Where it stands.
        id: Its id in the export; without one its content names it.
        at: When it was said: ISO 8601, or seconds or milliseconds since 1970.
        name: The speaker, if the export names one.
        users: Names of the users whose conversation it is; empty if the export does not say.
    """

    role: str
    content: Any
    conversation: str
    place: str
    id: str | None = None
    at: Any = None
    name: str | None = None
    users: tuple[str, ...] = ()


class Statement(NamedTuple):
    """A statement that another memory holds.

    Attributes:
        content: Its text.
        place: Where it stands.
        id: Its id in the export; without one its content names it.
        at: When it was said, as in `Turn`.
        key: Name of the fact.
        tags: Free words.
        is_own: Whether these are the user's own words; else a model or a stranger wrote them.
        users: Names of the users that it belongs to; empty if the export does not say.
        draft: Further fields of its `Draft`; the text then stays exactly as it is.
        task: Name of the task that it belongs to.
        until: When its memory lets it expire, as in `Turn`; None if it does not.
    """

    content: str
    place: str
    id: str | None = None
    at: Any = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    is_own: bool = False
    users: tuple[str, ...] = ()
    draft: Fields | None = None
    task: str | None = None
    until: Any = None


class Left(NamedTuple):
    """What is not imported.

    Attributes:
        reason: Why, machine-readable: ``unreadable``, ``tool``, ``harness``, …
        place: Where it stands.
    """

    reason: str
    place: str


Item = Turn | Statement | Left


def text_of(value: object, depth: int = 3) -> str:
    """Return the text that a value holds under one of the usual names; empty if there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and depth:
        named = (text_of(value.get(name), depth - 1) for name in TEXTS)
        return next(filter(None, named), "")
    return ""


TEXTS = ("content", "text", "memory", "fact", "statement", "data", "note")
"""Names under which exports have the text of a statement."""

_SAID = ("created_at", "timestamp", "create_time", "at", "date", "time", "created")
_HELD = ("valid_at", "updated_at", *_SAID)


def said_of(value: Fields) -> Any:
    """Return when a message was said, or None."""
    return next((value[name] for name in _SAID if value.get(name)), None)


def time_of(value: Fields) -> Any:
    """Return since when a statement holds as it is, or None."""
    return next((value[name] for name in _HELD if value.get(name)), None)


def tags_of(raw: object) -> tuple[str, ...]:
    """Return tags of a list, or of a text that separates them by commas or semicolons."""
    words = raw.replace(";", ",").split(",") if isinstance(raw, str) else raw
    return tuple(str(word).strip() for word in words or () if str(word).strip())  # type: ignore[attr-defined]  # a sequence


def branch(parents: Mapping[str, str | None], leaf: object) -> list[str]:
    """Return the ids from the root of a tree to a leaf; of a cycle each once.

    Args:
        parents: Of each node its parent.
        leaf: The last node of the branch; an unknown one means the last node.
    """
    found: dict[str, None] = {}
    at = leaf if isinstance(leaf, str) and leaf in parents else next(reversed(list(parents)), None)
    while at is not None and at in parents and at not in found:
        found[at] = None
        at = parents[at]
    return list(reversed(found))


def dicts(raw: object) -> Iterator[Fields]:
    """Yield the objects of a list, or of the values of an object."""
    items = raw.values() if isinstance(raw, Mapping) else raw
    yield from (each for each in (items if items is not None else ()) if isinstance(each, Mapping))  # type: ignore[attr-defined]  # a collection
