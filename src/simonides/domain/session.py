"""What a session store keeps: what was observed in one conversation, in order (SE-1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from simonides.domain.memory import Importance
from simonides.domain.turn import Role
from simonides.domain.value import Value


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
        marks: What hygiene noticed in it, each a short name; what policy has kept out is struck
            out of the text.
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
    marks: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class LoggedEntry(Value):
    """An entry of a session's log as who wrote it, or reads it, sees it.

    Attributes:
        number: Place in the session, from 0, without gaps.
        at: When it was observed.
        entry: What, as it is kept.
        reasons: What hygiene found in it and what was done, ``hygiene_blocked:secret:openai_key``:
            told when it is added, and empty when it is read again, as ``entry.marks`` say what.
    """

    number: int
    at: datetime
    entry: Entry
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What was said, or given, or decided."""
        return self.entry.text

    @property
    def role(self) -> Role:
        """Who spoke."""
        return self.entry.role

    @property
    def kind(self) -> EntryKind:
        """A turn, a tool's result, or a decision."""
        return self.entry.kind


@dataclass(frozen=True, slots=True)
class OpenSession(Value):
    """A session that has not ended.

    Attributes:
        name: What it is called.
        started_at: When it was opened.
        due_at: When it counts as left; None for never.
        entries: How many its log has.
    """

    name: str
    started_at: datetime
    due_at: datetime | None
    entries: int


class Eviction(StrEnum):
    """What of a full hot set gives way (SE-1).

    ``lru``: what was read or written longest ago. ``fifo``: what was written longest ago. With
    both, a session that nobody has used for its time goes cold as a whole. ``ttl``: each entry goes
    when its own time since it was written is up, and the first to go where there is no room.
    """

    LRU = "lru"
    FIFO = "fifo"
    TTL = "ttl"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules(Value):
    """By what sessions are kept (SE-1, SE-4).

    Attributes:
        idle_minutes: So long after its last entry a session counts as left.
        hot_entries: Entries of one session that stay in memory.
        hot_entries_per_user: Entries of all sessions of one user that do.
        hot_minutes: So long they do without being used; see :class:`Eviction`.
        eviction: What gives way.
        hot_sessions: Sessions of all users of which any entry does, in one process.
    """

    idle_minutes: float = 20.0
    hot_entries: int = 100
    hot_entries_per_user: int = 1_000
    hot_minutes: float = 60.0
    eviction: Eviction = Eviction.LRU
    hot_sessions: int = 256

    @property
    def idle_us(self) -> int:
        """The idle time in µs."""
        return round(self.idle_minutes * 60_000_000)

    @property
    def hot_us(self) -> int:
        """How long entries stay in memory, in µs."""
        return round(self.hot_minutes * 60_000_000)
