"""Sessions: the ordered log of one conversation, and the session's progress through its end."""

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
    """A stored observation with its number.

    Attributes:
        number: Place in the session, from 0, without gaps.
        at: When, µs.
        body: Canonical JSON.
    """

    number: int
    at: int
    body: bytes


class SessionRecord(NamedTuple):
    """A stored session.

    Attributes:
        id: The principal's name for it.
        started_at: Time of its first append, µs.
        due_at: Idle deadline, µs; None for never.
        entries: Number of entries.
    """

    id: str
    started_at: int
    due_at: int | None
    entries: int


class EntryKind(StrEnum):
    """Kind of observation: a turn of the conversation, a tool result, or a decision."""

    TURN = "turn"
    TOOL = "tool"
    DECISION = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Value):
    """A decoded observation; a store keeps it as the body of an entry.

    Attributes:
        kind: A turn, a tool result, or a decision of the agent.
        text: Verbatim, except for policy's redactions.
        role: Speaker of a turn; ``tool`` for a tool result.
        speaker: Name of the speaker, if known.
        tool: Name of the tool, for its result.
        failed: Whether the tool failed.
        importance: How much it matters beyond the session.
        key: Key of the memory if the entry is promoted, or None.
        task: Task in which it was observed, or None.
        details: Other data of the host; JSON.
        marks: Short names of hygiene findings; text that policy forbids is redacted.
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
    """A decoded entry with its number.

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
    """An entry of a session's log, as returned to the caller.

    Attributes:
        number: Place in the session, from 0, without gaps.
        at: When it was observed.
        entry: The stored observation.
        reasons: Hygiene findings and actions, ``hygiene_blocked:secret:openai_key``. Set when the
            entry is added; empty when it is read later, when ``entry.marks`` has the findings.
    """

    number: int
    at: datetime
    entry: Entry
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Text of the turn, the tool result or the decision."""
        return self.entry.text

    @property
    def role(self) -> Role:
        """Role of the speaker."""
        return self.entry.role

    @property
    def kind(self) -> EntryKind:
        """A turn, a tool's result, or a decision."""
        return self.entry.kind


@dataclass(frozen=True, slots=True)
class OpenSession(Value):
    """A session that has not ended.

    Attributes:
        name: Its name.
        started_at: When it was opened.
        due_at: Idle deadline; None for never.
        entries: Number of log entries.
    """

    name: str
    started_at: datetime
    due_at: datetime | None
    entries: int


class Eviction(StrEnum):
    """Eviction order of a full in-memory cache.

    ``lru``: least recently read or written first. ``fifo``: oldest write first. With both, an idle
    session leaves memory as a whole after ``hot_minutes``. ``ttl``: each entry leaves
    ``hot_minutes`` after its write; a full cache evicts the entry with the least time left.
    """

    LRU = "lru"
    FIFO = "fifo"
    TTL = "ttl"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules(Value):
    """Idle time of sessions, and limits of the in-memory cache.

    Attributes:
        idle_minutes: Time after the last entry at which a session counts as abandoned.
        hot_entries: Most entries of one session in memory.
        hot_entries_per_user: Most entries of one user's sessions in memory.
        hot_minutes: Time that unused entries stay in memory; see :class:`Eviction`.
        eviction: Eviction order.
        hot_sessions: Most sessions with entries in memory, of all users, in one process.
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
    """Cause of the end of a session."""

    CALL = "call"
    IDLE = "idle"
    SHUTDOWN = "shutdown"
    IMPORT = "import"


class EndStep(StrEnum):
    """Steps of a session's end; each run takes each once, in this order.

    ``open``: the session continues; entries up to ``Progress.extracted`` are processed.
    ``extracted``: all entries are processed. ``summarised``: the summary is written, if the session
    deserved one. ``promoted``: each held candidate is stored, kept as evidence, or deleted.
    ``cleaned``: the tasks left open are ended. ``done``: the end is recorded; dropping the log
    follows, see ``Progress.is_dropped``.
    """

    OPEN = "open"
    EXTRACTED = "extracted"
    SUMMARISED = "summarised"
    PROMOTED = "promoted"
    CLEANED = "cleaned"
    DONE = "done"


class SessionStep(NamedTuple):
    """Progress of a session, as stored in the memory store.

    Attributes:
        session: Name of the session.
        step: The last step taken.
        at: Time of that step, µs.
        body: Canonical JSON with the input of later steps.
    """

    session: str
    step: str
    at: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEndReport(Value):
    """Result of ending a session.

    Attributes:
        session: Name of the session.
        ended_by: Cause of the end.
        entries: Number of log entries.
        already: True if the session had ended before this call; then nothing was done.
        resumed_after: Last step of an earlier, unfinished end that this call continued, or None.
        summary: Outcome of the session summary, or None without one.
        promoted: Outcomes of the held candidates with enough support.
        kept: Held candidates that wait for another session.
        let_go: Held candidates deleted without support.
        tasks: Tasks left open that this end has ended.
        counts: Counters of the run, by name.
        usage: Model calls and tokens of this call.
        diagnostics: Short names of what failed.
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
"""Latest memory ids kept in a session's step; chosen: a summary covers fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Value):
    """Progress of one session; numbers and ids, no content.

    Reopening an ended session under its name starts a new run. Entry numbers refer to a log, which
    is dropped when its run ends. Turn numbers continue over all runs, because a turn is identified
    by session and number for ever.

    Attributes:
        session: Name of the session.
        step: The last step taken.
        run: Number of the run, from 0.
        started_at: Start of the log that ``first`` and ``extracted`` refer to, µs; None without a
            log.
        base: Turn number, over all runs, of the log's first entry.
        first: Log number of the run's first entry.
        extracted: Log number of the last processed entry; -1 for none.
        asked: Log number of the last entry processed by model extraction; -1 for none.
        part: Finished parts of the next entry, which may hold several requests to forget.
        unheard: Log numbers of turns that asked not to be remembered.
        memories: Ids of memories stored from it.
        summary: Id of the run's summary.
        counts: Counters of the run, by name.
        is_dropped: Whether the log of the ended run is dropped.
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
        """Number of the first turn that is not processed."""
        return self.base + self.extracted + 1

    def counting(self, **more: int) -> Progress:
        """Return it with ``more`` added to its counters."""
        counts = dict(self.counts)
        for name, count in more.items():
            counts[name] = counts.get(name, 0) + count
        kept = tuple(sorted((name, count) for name, count in counts.items() if count))
        return replace(self, counts=kept)

    def recorded(self, at: int) -> SessionStep:
        """Return it as a step, taken at a time in µs."""
        body = {name: value for name, value in self.to_dict().items() if name not in _COLUMNS}
        body["memories"] = body["memories"][-MOST_MEMORIES:]
        return SessionStep(self.session, self.step.value, at, canonical_json(body))


_COLUMNS = {"session", "step"}
_BODY = {each.name for each in fields(Progress)} - _COLUMNS


def progress_of(step: SessionStep, location: str) -> Progress:
    """Decode the progress of a session.

    Raises:
        StoreCorrupt: If :meth:`Progress.recorded` did not write the step; names the location.
    """
    try:
        body: dict[str, Any] = json.loads(step.body)
        if body.keys() != _BODY:
            raise ValueError(f"its fields are {sorted(body)}")
        read = {name: _tuples(value) for name, value in body.items()}
        return Progress(session=step.session, step=EndStep(step.step), **read)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreCorrupt(location, f"the step of a session cannot be read: {error}") from error


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value
