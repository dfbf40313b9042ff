"""The memory record: one immutable content version with its state at one moment.

A *version* never changes once written: content, scope, origin, quote. A *state* is every
attribute that may change without new content: status, confidence, expiry and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from simonides.domain.scope import Scope
from simonides.domain.trust import Audience, Label, Sensitivity, Source, Trust
from simonides.domain.value import Value

NO_METADATA: Mapping[str, Any] = MappingProxyType({})


def no_metadata() -> Mapping[str, Any]:
    """Return the empty, unchangeable metadata; for use as a default factory."""
    return NO_METADATA


NEEDS_VERIFICATION_BELOW = 0.7
"""Confidence under which a memory counts as unverified until confirmed."""


VERIFY_WITHIN = timedelta(hours=1)
"""Time after recording in which the user is asked to verify an unverified memory."""

STALE_AFTER = timedelta(days=7)
STALE_BELOW = 0.8
"""Age from which, and confidence under which, a memory is shown as possibly stale."""


PASSAGE_CATEGORY = "l3 document"
"""Category of a passage of a document. No memory has it: a policy's categories have no white
space in their names."""


def is_id(name: str) -> bool:
    """Whether a name is an id of a memory (UUIDv7) or of a document passage (UUIDv8).

    Such a name cannot be the key of a new memory.
    """
    try:
        id = UUID(name)
    except ValueError:
        return False
    return id.version in (7, 8) and str(id) == name


class Kind(StrEnum):
    """The cognitive layer of a memory."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


class Status(StrEnum):
    """Status of a memory in its life cycle.

    ``active`` and ``review`` are recalled. ``held`` waits for the end of its session.
    ``superseded`` was replaced by a newer version. ``archived`` is a rule beyond the cap. ``stale``
    aged out of use. ``evicted`` was garbage-collected. ``tombstoned`` was deleted by the user: id
    and time stay, the content is gone.
    """

    ACTIVE = "active"
    HELD = "held"
    REVIEW = "review"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    STALE = "stale"
    EVICTED = "evicted"
    TOMBSTONED = "tombstoned"

    @property
    def is_live(self) -> bool:
        """Whether gates compare with it and recall may return it."""
        return self in (Status.ACTIVE, Status.REVIEW, Status.STALE)


class Importance(StrEnum):
    """How much a memory matters."""

    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def weight(self) -> float:
        """0.5, 0.8 or 1.0."""
        return {"normal": 0.5, "high": 0.8, "critical": 1.0}[self.value]


@dataclass(frozen=True, slots=True)
class Triple(Value):
    """A fact in three parts; subject and predicate name its slot."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class Origin(Value):
    """Origin of a memory.

    Attributes:
        session: Conversation.
        turn: Number of the turn in its session, from 0.
        tool_call: Id of the tool call.
        model: Model that proposed it.
        memory: Id of the memory that it was promoted from.
        name: URL of a page, or name of a document or of a tool.
    """

    session: str | None = None
    turn: int | None = None
    tool_call: str | None = None
    model: str | None = None
    memory: str | None = None
    name: str | None = None


class Place(NamedTuple):
    """The group in which gates compare memories: those for different readers never mix.

    Attributes:
        scope: Scope of the memories.
        audience: Agents that may see them.
        purpose: Purpose that they were given for.
    """

    scope: Scope
    audience: Audience = None
    purpose: str | None = None


@dataclass(frozen=True, kw_only=True)
class Record(Value):
    """One stored record as of one moment.

    It has no slots on purpose: the decoder (``domain.codecs.memory``) sets the instance's
    dictionary, which takes a tenth of the time of setting 40 frozen fields.

    Attributes:
        id: UUIDv7 of this version; a new version gets an id of its own.
        root: Id of the first version of its chain.
        version: Place in the chain, from 1, without gaps.
        scope: Where it belongs.
        kind: Cognitive layer.
        category: One of the policy's categories.
        content: The text.
        content_hash: SHA-256 of the normalised text, hexadecimal.
        source: Where it came from, with the trust label that follows from it.
        trust: Label of the lattice.
        created_at: When it was recorded.
        updated_at: When it was last said, confirmed or changed; ageing and garbage collection do
            not count.
        known_from: Start of this state on the system clock, strictly increasing per owner.
        key: Name of the fact within its scope, or None for free text.
        triple: Subject, predicate, object, where known.
        quote: Evidence, verbatim from the turn.
        origin: Session, turn, tool call, model.
        speaker: Who said it.
        parents: Ids of the memories it was derived from.
        audience: Agents that may see it; None means all.
        purpose: What it was given for.
        confidence: 0 to 1.
        importance: ``normal``, ``high`` or ``critical``.
        sensitivity: ``public``, ``private`` or ``sensitive``.
        tags: Sorted, without repetition.
        metadata: JSON-ready, at most 16 KiB.
        pinned: A full quota evicts it only after all unpinned memories.
        timeless: Does not age.
        status: Status in its life cycle.
        supersedes: Id of the version that it replaced.
        superseded_by: Id of the version that replaced it.
        versions: Highest version of its chain that is known to this state.
        last_accessed_at: Last recall known to ranking, to the minute. It is folded in from the read
            journal only where the memory would otherwise count as stale.
        access_count: Recalls so far; 0 in the record itself, because only the journal counts. Ask
            for the memory's ``ageing`` to get it.
        reads_30d: Recalls in the last 30 days; 0 in the record itself, like ``access_count``.
        verified_at: When it was last confirmed.
        valid_from: Since when the fact is true in the world.
        valid_to: Until when the fact is true in the world, exclusive.
        soft_expires_at: From this instant on it is down-weighted and due for review.
        hard_expires_at: From this instant on it is never returned.
        known_to: End of this state on the system clock; None while it is in force.
        embedding_model: Embedder in force when it was written, or None. The vector may have been
            recomputed since; the index entry names its embedder.
    """

    id: str
    root: str
    version: int
    scope: Scope
    kind: Kind
    category: str
    content: str
    content_hash: str
    source: Source
    trust: Trust
    created_at: datetime
    updated_at: datetime
    known_from: datetime
    key: str | None = None
    triple: Triple | None = None
    quote: str | None = None
    origin: Origin = field(default_factory=Origin)
    speaker: str | None = None
    parents: tuple[str, ...] = ()
    audience: Audience = None
    purpose: str | None = None
    confidence: float = 1.0
    importance: Importance = Importance.NORMAL
    sensitivity: Sensitivity = Sensitivity.PRIVATE
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=no_metadata)
    pinned: bool = False
    timeless: bool = False
    status: Status = Status.ACTIVE
    supersedes: str | None = None
    superseded_by: str | None = None
    versions: int = 1
    last_accessed_at: datetime | None = None
    access_count: int = 0
    reads_30d: int = 0
    verified_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    soft_expires_at: datetime | None = None
    hard_expires_at: datetime | None = None
    known_to: datetime | None = None
    embedding_model: str | None = None

    @classmethod
    def of(cls, **given: Any) -> Record:
        """Return a memory with the given fields, the others at their defaults."""
        return cls.over(given)

    @classmethod
    def over(cls, fields: dict[str, Any]) -> Record:
        """Return a memory that takes over a dictionary as its attributes, unchecked.

        Every write and every hit makes one. The constructor of a frozen class sets its forty fields
        one by one, which costs ten times as much. Missing fields take the class's defaults.
        """
        fields.setdefault("origin", _NOWHERE)
        fields.setdefault("metadata", NO_METADATA)
        memory = object.__new__(cls)
        object.__setattr__(memory, "__dict__", fields)
        return memory

    def __repr__(self) -> str:
        named = "" if self.key is None else f"{self.key} = "
        told = f"{self.content[:60]}…" if len(self.content) > 60 else self.content
        return f"<Record {self.id} {self.category} {named}{told!r} {self.status.value}>"

    @property
    def place(self) -> Place:
        """The group of memories that it is compared with."""
        return Place(self.scope, self.audience, self.purpose)

    @property
    def label(self) -> Label:
        """The label that its derivations inherit."""
        return Label(self.trust, self.sensitivity, self.audience)

    @property
    def needs_verification(self) -> bool:
        """Whether it is still unconfirmed and below the confidence that needs no verification."""
        return self.confidence < NEEDS_VERIFICATION_BELOW and self.verified_at is None

    @property
    def is_passage(self) -> bool:
        """Whether it is a passage of a document, shown like a memory and never stored."""
        return self.category == PASSAGE_CATEGORY

    def asks_to_be_verified(self, now: datetime) -> bool:
        """Whether to ask the user now; the flag stays, but asking ends after an hour."""
        return self.needs_verification and now < self.created_at + VERIFY_WITHIN

    def warnings(self, now: datetime) -> tuple[str, ...]:
        """Return the warnings of ``unverified``, ``stale?`` and ``in review`` that apply.

        A document passage is read again each time and so never stale. Its warnings are
        ``unverified`` and the marks of hygiene findings.
        """
        if self.is_passage:
            return ("unverified", *filter(None, str(self.metadata.get("marks", "")).split(", ")))
        confirmed = self.created_at if self.verified_at is None else self.verified_at
        aged = self.confidence < STALE_BELOW and now - confirmed > STALE_AFTER
        soft = self.soft_expires_at is not None and now >= self.soft_expires_at
        found = {
            "unverified": self.needs_verification,
            "stale?": aged or soft or self.status is Status.STALE,
            "in review": self.status is Status.REVIEW,
        }
        return tuple(name for name, holds in found.items() if holds)

    def is_expired(self, now: datetime) -> bool:
        """Whether its hard expiry has passed; True from that instant on."""
        return self.hard_expires_at is not None and now >= self.hard_expires_at


_NOWHERE = Origin()


@dataclass(frozen=True, slots=True)
class Draft(Value):
    """A caller's request to remember a text; every other field has a default.

    Attributes:
        content: The text, 1 character to 64 KiB.
        key: Name of the fact within the scope.
        category: One of the policy's categories; None lets the policy choose by kind.
        source: Name of a source; a caller's default is ``user_stated``.
        kind: Cognitive layer.
        confidence: 0 to 1; None takes the source's default.
        importance: ``normal``, ``high`` or ``critical``.
        sensitivity: ``public``, ``private`` or ``sensitive``.
        tags: Free words.
        metadata: JSON-ready, at most 16 KiB.
        scope: None for the principal's own scope; ``"org"``, ``"global"`` or a path otherwise.
        at: When it was said or happened; the time of recording is always the clock's.
        valid_from: Since when the fact is true in the world; None takes ``at``.
        ttl_days: Days until hard expiry; None takes the category's.
        pinned: A full quota evicts it only after all unpinned memories.
        quote: Evidence, verbatim.
        idempotency_key: Two writes with one key write once. The second returns the first outcome
            with the memory as it is now. If that was forgotten since, the outcome is ``forgotten``
            with the reasons ``forgotten_since`` and ``was:created`` (or the first outcome's kind).
        speaker: Who said it.
        session: Conversation; None takes the principal's.
        turn: Place in the session, from 0. With ``session`` it makes a verbatim turn.
        triple: Subject, predicate, object.
        audience: Agents that may see it.
        purpose: What it was given for.
        parents: Ids of memories it was derived from.
        timeless: Does not age: it is never stale. The category's expiry still applies.
        origin: URL of a page, or name of a document or of a tool.
    """

    content: str
    _: KW_ONLY
    key: str | None = None
    category: str | None = None
    source: str = Source.USER_STATED
    kind: str = Kind.SEMANTIC
    confidence: float | None = None
    importance: str = Importance.NORMAL
    sensitivity: str = Sensitivity.PRIVATE
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    scope: str | None = None
    at: datetime | str | None = None
    valid_from: datetime | str | None = None
    ttl_days: float | None = None
    pinned: bool = False
    quote: str | None = None
    idempotency_key: str | None = None
    speaker: str | None = None
    session: str | None = None
    turn: int | None = None
    triple: tuple[str, str, str] | None = None
    audience: tuple[str, ...] | None = None
    purpose: str | None = None
    parents: tuple[str, ...] = ()
    timeless: bool = False
    origin: str | None = None
