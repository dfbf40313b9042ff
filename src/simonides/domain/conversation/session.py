"""What a session store keeps: what was observed in one conversation, in order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from simonides.domain.canonical_json import canonical_json
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import StoreCorrupt
from simonides.domain.memory import Importance
from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Outcome, Usage


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
        importance: How much it matters beyond the session.
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
    """What of a full hot set gives way.

    ``lru``: what was read or written longest ago. ``fifo``: what was written longest ago. With
    both, a session that nobody has used for its time goes cold as a whole. ``ttl``: each entry goes
    when its own time since it was written is up, and the first to go where there is no room.
    """

    LRU = "lru"
    FIFO = "fifo"
    TTL = "ttl"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules(Value):
    """By what sessions are kept.

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


class EndedBy(StrEnum):
    """What ended a session."""

    CALL = "call"
    IDLE = "idle"
    SHUTDOWN = "shutdown"
    IMPORT = "import"


class EndStep(StrEnum):
    """How far a session has come on its way out; each is taken once, in this order.

    ``open``: it goes on, and ``extracted`` of its entries have been looked at. ``extracted``: all
    have. ``summarised``: its arc is written, if it was worth one. ``promoted``: what was held back
    is stored, kept on as evidence, or let go. ``cleaned``: its task scopes are gone. ``done``:
    its log is dropped.
    """

    OPEN = "open"
    EXTRACTED = "extracted"
    SUMMARISED = "summarised"
    PROMOTED = "promoted"
    CLEANED = "cleaned"
    DONE = "done"


class SessionStep(NamedTuple):
    """Where a session stands, as the memory store keeps it.

    Attributes:
        session: Its name.
        step: Taken last.
        at: When, µs.
        body: Canonical JSON: what later steps need.
    """

    session: str
    step: str
    at: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEndReport(Value):
    """What came of a session that ended.

    Attributes:
        session: Its name.
        ended_by: What ended it.
        entries: How many entries its log had.
        already: True if it had been finalised before; then nothing was done.
        resumed_after: The step that somebody else had come to, or None.
        summary: What became of the session's arc, or None where it was worth none.
        promoted: What became of what was held back and found support, and of what a task left.
        kept: Held candidates that wait for another session.
        let_go: Held candidates that found no support.
        tasks: Task scopes that were cleaned.
        counts: What is counted of the session, by name.
        usage: Model calls and tokens of it all.
        diagnostics: What could not be done as wished, each a short name.
    """

    session: str
    ended_by: EndedBy
    entries: int = 0
    already: bool = False
    resumed_after: str | None = None
    summary: Outcome | None = None
    promoted: tuple[Outcome, ...] = ()
    kept: int = 0
    let_go: int = 0
    tasks: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()


MOST_MEMORIES = 500
"""Ids of memories that a session's step keeps, the latest; chosen: a summary says less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Value):
    """How far one session has come; numbers and ids, no content.

    A session may be taken up again under its name: then another run of it begins. Entries are
    counted in a log, which goes when a run has ended; turns are counted over all runs, for they are
    known by session and place for ever.

    Attributes:
        session: Its name.
        step: Taken last.
        run: Which time it is, from 0.
        started_at: When the log began that ``first`` and ``extracted`` count in, µs; None for one
            without a log.
        base: Number that the log's first entry has among the turns of all runs.
        first: Number in the log of the run's first entry.
        extracted: Number in the log of the last entry that was looked at; -1 for none.
        asked: Number in the log of the last entry that a model's lanes looked at; -1 for none.
        part: How much of the next entry was done: it may hold several things to be forgotten.
        unheard: Numbers in the log of turns that asked not to be remembered.
        memories: Ids of what was stored of it.
        summary: Id of the run's summary.
        counts: What is counted of the run, by name.
        is_dropped: Whether the log of the run that ended is gone.
    """

    session: str
    step: EndStep = EndStep.OPEN
    run: int = 0
    started_at: int | None = None
    base: int = 0
    first: int = 0
    extracted: int = -1
    asked: int = -1
    part: int = 0
    unheard: tuple[int, ...] = ()
    memories: tuple[str, ...] = ()
    summary: str | None = None
    counts: tuple[tuple[str, int], ...] = ()
    is_dropped: bool = False

    @property
    def next_turn(self) -> int:
        """Number of the turn that would come after all that were looked at."""
        return self.base + self.extracted + 1

    def counting(self, **more: int) -> Progress:
        """Return it with more of what is counted."""
        counts = dict(self.counts)
        for name, count in more.items():
            counts[name] = counts.get(name, 0) + count
        kept = tuple(sorted((name, count) for name, count in counts.items() if count))
        return replace(self, counts=kept)

    def recorded(self, at: int) -> SessionStep:
        """Return it as a step, taken at a time in µs."""
        told = {name: value for name, value in self.to_dict().items() if name not in _APART}
        told["memories"] = told["memories"][-MOST_MEMORIES:]
        return SessionStep(self.session, self.step.value, at, canonical_json(told))


_APART = {"session", "step"}
_TOLD = {each.name for each in fields(Progress)} - _APART


def progress_of(step: SessionStep, location: str) -> Progress:
    """Read where a session stands.

    Raises:
        StoreCorrupt: If it is not what :meth:`Progress.recorded` writes; it names the place.
    """
    try:
        told: dict[str, Any] = json.loads(step.body)
        if told.keys() != _TOLD:
            raise ValueError(f"its fields are {sorted(told)}")
        read = {name: _tuples(value) for name, value in told.items()}
        return Progress(session=step.session, step=EndStep(step.step), **read)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreCorrupt(location, f"the step of a session cannot be read: {error}") from error


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value
