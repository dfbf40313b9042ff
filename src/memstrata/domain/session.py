"""What a session store keeps: what was observed in one conversation, in order (SE-1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from memstrata.domain.memory import Importance
from memstrata.domain.turn import Role
from memstrata.domain.value import Value


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


class EntryKind(StrEnum):
    """What was observed: a turn of the talk, what a tool gave, or what was decided."""

    TURN = "turn"
    TOOL = "tool"
    DECISION = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Value):
    """An observation as the rooms know it; a store keeps it as the body of an entry.

    Attributes:
        kind: A turn, a tool's result, or a decision of the agent.
        text: Verbatim but for what policy strikes out.
        role: Who spoke, for a turn; ``tool`` for a tool's result.
        speaker: Name of who spoke, where known.
        tool: Name of the tool, for its result.
        failed: Whether the tool failed.
        importance: How much it matters beyond the session (CO-5).
        key: Under which it is to be kept should it be promoted, or None.
        task: Task that it was observed in, or None.
        details: Whatever else the host noted; JSON.
    """

    kind: EntryKind
    text: str
    role: Role = Role.OTHER
    speaker: str | None = None
    tool: str | None = None
    failed: bool = False
    importance: Importance = Importance.NORMAL
    key: str | None = None
    task: str | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class Logged(NamedTuple):
    """An entry in its place.

    Attributes:
        number: Place in the session, from 0, without gaps.
        at: When, µs.
        entry: What was observed.
    """

    number: int
    at: int
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules(Value):
    """By what sessions are kept (SE-1, SE-4).

    Attributes:
        idle_minutes: So long after its last entry a session counts as left.
    """

    idle_minutes: float = 20.0

    @property
    def idle_us(self) -> int:
        """The same in µs."""
        return round(self.idle_minutes * 60_000_000)
