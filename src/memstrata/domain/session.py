"""What a session store keeps: what was observed in one conversation, in order (SE-1)."""

from __future__ import annotations

from typing import NamedTuple


class Observation(NamedTuple):
    """A turn, a tool result or a decision, about to be appended.

    Attributes:
        at: When, µs.
        body: Canonical JSON.
    """

    at: int
    body: bytes


class SessionEntry(NamedTuple):
    """An observation in its place.

    Attributes:
        number: Place in the session, from 0, without gaps.
        at: When, µs.
        body: Canonical JSON.
    """

    number: int
    at: int
    body: bytes


class SessionRecord(NamedTuple):
    """A session that is kept.

    Attributes:
        id: As its principal names it.
        started_at: Time of its first append, µs.
        due_at: When it counts as left, µs; None for never.
        entries: How many entries it has.
    """

    id: str
    started_at: int
    due_at: int | None
    entries: int
