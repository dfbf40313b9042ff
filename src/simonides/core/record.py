"""The memory: a caller's draft of one, the stored record, and the labels that trust travels in."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY
from dataclasses import dataclass as stdlib_dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import wraps
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    Strict,
    ValidationError,
    model_serializer,
)
from pydantic.dataclasses import dataclass

from simonides.core.clock import staleness, to_ms
from simonides.core.scope import Scope, checked_id, scope_of
from simonides.core.validation import Days, Flag, Moment, Name, Share, Text, enum_member, invalid

NEEDS_VERIFICATION_BELOW = 0.7
"""Confidence under which a memory counts as unverified until confirmed."""

DOUBTFUL_BELOW = 0.3
"""Confidence under which what nobody confirmed is shown as possibly relevant at most."""

ASKED_FOR = timedelta(hours=1)
"""Time for which a prompt asks to verify what is unverified."""

STALE_AFTER = timedelta(days=7)
STALE_BELOW = 0.8
"""Age from which, and confidence under which, a memory is shown as possibly stale."""

DECAY_A_DAY = 0.05 / 30
"""Confidence that an unconfirmed inference loses a day."""

TURN = "turn"
"""Category of verbatim turns of a conversation."""

SUMMARY = "session_summary"
"""Category of what a conversation came to."""

REFUSED = "refused"
"""Tag of a turn that asks to switch off a safeguard."""

GAP = "[…]"
"""Stands in a turn for what is not kept."""


def is_gap(content: str) -> bool:
    """Whether nothing of a turn is kept: it only holds the place of what was said."""
    return GAP in content and not any(map(str.isalnum, content.replace(GAP, "")))


class Kind(StrEnum):
    """The cognitive layer of a memory: facts, what happened, how to do things."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


class Status(StrEnum):
    """Status of a version in its life cycle.

    ``active``, ``review`` and ``stale`` are recalled. ``superseded`` was replaced by a newer
    version, ``archived`` is a rule beyond the cap, ``evicted`` gave way to a quota or to age.
    """

    ACTIVE = "active"
    REVIEW = "review"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    STALE = "stale"
    EVICTED = "evicted"


class Importance(StrEnum):
    """How much a memory matters."""

    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def weight(self) -> float:
        """0.5, 0.8 or 1.0."""
        return {"normal": 0.5, "high": 0.8, "critical": 1.0}[self.value]


class Sensitivity(StrEnum):
    """How far a memory may appear in prompts, least strict first."""

    PUBLIC = "public"
    PRIVATE = "private"
    SENSITIVE = "sensitive"


class Trust(StrEnum):
    """Authority behind a statement, strongest first."""

    SYSTEM = "system"
    USER = "user"
    TOOL = "tool"
    AGENT = "agent"
    EXTERNAL = "external"

    @property
    def rank(self) -> int:
        """4 for system down to 0 for external."""
        return 4 - list(Trust).index(self)


class Source(StrEnum):
    """Where a memory comes from; it decides its trust and its default confidence.

    Attributes:
        trust: The label that this source starts with.
        default_confidence: Confidence of a memory whose proposer states none.
    """

    USER_STATED = "user_stated", Trust.USER, 1.0
    USER_CORRECTION = "user_correction", Trust.USER, 1.0
    IN_SESSION_CORRECTION = "in_session_correction", Trust.USER, 1.0
    TOOL_VERIFIED = "tool_verified", Trust.TOOL, 0.9
    CONFIG_CHANGE = "config_change", Trust.SYSTEM, 0.9
    TASK_LEARNING = "task_learning", Trust.AGENT, 0.8
    TASK_OUTCOME = "task_outcome", Trust.AGENT, 0.7
    AGENT_INFERRED = "agent_inferred", Trust.AGENT, 0.6
    RECALLED = "recalled", Trust.AGENT, 0.5
    PATTERN = "pattern", Trust.AGENT, 0.4
    EXTERNAL = "external", Trust.EXTERNAL, 0.3
    UNKNOWN = "unknown", Trust.EXTERNAL, 0.5

    trust: Trust
    default_confidence: float

    def __new__(
        cls, value: str, trust: Trust = Trust.EXTERNAL, default_confidence: float = 0.5
    ) -> "Source":
        """Keep what goes with a source at its member."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.trust, member.default_confidence = trust, default_confidence
        return member

    @property
    def is_correction(self) -> bool:
        """Whether it is an explicit correction, which always wins."""
        return self in (Source.USER_CORRECTION, Source.IN_SESSION_CORRECTION)


Audience = tuple[str, ...] | None
"""Agents that may see a memory, sorted; None means every reader of the scope, () no agent."""


class Label(NamedTuple):
    """What a memory passes to everything derived from it."""

    trust: Trust
    sensitivity: Sensitivity
    audience: Audience


def join(labels: Iterable[Label]) -> Label:
    """Return the label of something derived from all of ``labels``.

    It has the least trust, the strictest sensitivity and the agents in every audience. Order and
    repetition do not matter.

    Raises:
        ValueError: If there is no label: without a parent there is no trust.
    """
    trusts, sensitivities, audiences = zip(*labels, strict=True)
    order = list(Sensitivity)
    restricted = [frozenset(each) for each in audiences if each is not None]
    return Label(
        min(trusts, key=lambda trust: trust.rank),
        max(sensitivities, key=order.index),
        tuple(sorted(frozenset.intersection(*restricted))) if restricted else None,
    )


class Triple(NamedTuple):
    """A fact in three parts; subject and predicate name its slot."""

    subject: str
    predicate: str
    object: str


def _sorted(names: object) -> object:
    if isinstance(names, (list, tuple, set, frozenset)):
        return tuple(sorted(set(names))) if all(isinstance(n, str) for n in names) else names
    return names


def _in_one_line(name: object) -> object:
    return " ".join(name.split()) if isinstance(name, str) else name


def _member_of(kind: type[StrEnum]) -> AfterValidator:
    return AfterValidator(lambda raw: enum_member(kind, "value", raw))


KindName = Annotated[str, _member_of(Kind)]
SourceName = Annotated[str, _member_of(Source)]
ImportanceName = Annotated[str, _member_of(Importance)]
SensitivityName = Annotated[str, _member_of(Sensitivity)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_sorted), Field(max_length=256)]
# They are compared with ids of principals.
IdName = Annotated[str, AfterValidator(lambda raw: checked_id("value", raw))]
Ids = Annotated[tuple[IdName, ...], BeforeValidator(_sorted), Field(max_length=256)]
Moments = Annotated[datetime | None, Moment]
Parts = Annotated[Name, Field(max_length=1_000)]
# It heads a line of a prompt.
Line = Annotated[Name, BeforeValidator(_in_one_line)]


class Column(NamedTuple):
    """How a field of a memory lies in a row, and what becomes of its value.

    Every field is declared once with its column: in `Fields`, if a caller gives it and reads it
    back as it is; else in `Record`, `SPLIT` or `INTERNAL`. Statements, filters and what the index
    reads follow from that, and so does what a new memory keeps.

    Attributes:
        indexed: Whether the index in memory reads it.
        kept: The verbs whose new memory keeps the value of the old one, where a draft has it.
        name: The name of the column, where it is not the field's.
    """

    indexed: bool = False
    kept: str = "correct promote"
    name: str = ""


Stored, Indexed = Column(), Column(indexed=True)


@stdlib_dataclass(frozen=True, kw_only=True)
class Fields:
    """What a caller gives and reads back as it is.

    Attributes:
        key: Name of the fact within the scope; a later statement under it replaces this one.
        tags: Free words; sorted, without repetition.
        quote: Evidence, verbatim.
        speaker: The name of the person who said it.
        role: Whose turn it is, for example ``user`` or ``assistant``.
        session: Conversation; a draft without one takes the principal's.
        position: Place in the session, from 0. With ``session`` it makes a verbatim turn.
        message_id: The caller's id of the message.
        audience: Agents that may see it; None means every reader of the scope.
        purpose: What it was given for; a draft without one takes the principal's.
        parents: Ids of the memories that it was derived from.
        depends_on: Files, commits, URLs or memories that it rests on.
        origin: URL of a page, name of a document or tool, or id of the promoted memory.
    """

    key: Annotated[Name | None, Indexed] = None
    tags: Annotated[Names, Indexed] = ()
    quote: Annotated[Text | None, Column(kept="")] = None
    speaker: Annotated[Name | None, Indexed] = None
    role: Annotated[Name | None, Indexed] = None
    session: Annotated[Name | None, Field(max_length=512), Indexed] = None
    position: Annotated[int | None, Field(ge=0, lt=2**53), Strict(), Indexed] = None
    message_id: Annotated[Name | None, Stored] = None
    audience: Annotated[Ids | None, Indexed] = None
    purpose: Annotated[IdName | None, Indexed] = None
    parents: Annotated[Names, Column(kept="correct")] = ()
    depends_on: Annotated[Names, Stored] = ()
    origin: Annotated[Line | None, Column(kept="correct")] = None


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Draft(Fields):
    """A caller's request to remember a text; every other field has a default.

    Attributes:
        content: The text, at most 64 KiB.
        category: One of the policy's categories; None lets the policy choose by kind.
        kind: ``semantic``, ``episodic`` or ``procedural``.
        source: Where it comes from; a caller's default is ``user_stated``.
        confidence: 0 to 1; None takes the source's default.
        importance: ``normal``, ``high`` or ``critical``.
        sensitivity: ``public``, ``private`` or ``sensitive``.
        metadata: JSON-ready, at most 16 KiB.
        scope: None for the principal's own scope; ``"org"``, ``"global"`` or a path otherwise.
        at: When it was said or happened, in its zone; without one, in the machine's. The time of
            recording is always the clock's.
        valid_from: Since when the fact is true in the world; None takes ``at``.
        valid_to: Until when the fact is true in the world, exclusive.
        ttl_days: Days until it is never returned again; None takes the category's.
        pinned: A full quota evicts it after all unpinned memories.
        timeless: It is never stale. The category's expiry still applies.
        idempotency_key: Two writes with one key write once; the second returns the first outcome.
        triple: Subject, predicate and object of the fact.
        Further fields are those of `Fields`.

    Raises:
        InvalidInput: If a field is unknown or its value is not storable; it names the field.
    """

    content: Annotated[Text, Strict(), Field(min_length=1)]
    _: KW_ONLY
    category: Name | None = None
    kind: KindName = Kind.SEMANTIC
    source: SourceName = Source.USER_STATED
    confidence: Share | None = None
    importance: ImportanceName = Importance.NORMAL
    sensitivity: SensitivityName = Sensitivity.PRIVATE
    metadata: Mapping[str, Any] | None = None
    scope: Name | None = None
    at: Moments = None
    valid_from: Moments = None
    valid_to: Moments = None
    ttl_days: Days | None = None
    pinned: Flag = False
    timeless: Flag = False
    idempotency_key: Name | None = None
    triple: tuple[Parts, Parts, Parts] | None = None


DRAFT_FIELDS = tuple(Draft.__dataclass_fields__)


def _with_own_errors() -> None:
    """Let the constructor of `Draft` raise the project's error instead of pydantic's."""
    validated = Draft.__init__

    @wraps(validated)
    def construct(self: Any, *content: Any, **fields: Any) -> None:
        named = dict(zip(("content",), content, strict=False))
        try:
            validated(self, *content[1:], **{**named, **fields})
        except ValidationError as error:
            raise invalid(error, DRAFT_FIELDS) from error

    Draft.__init__ = construct  # type: ignore[method-assign]


_with_own_errors()


class Partition(NamedTuple):
    """The group in which memories of one owner are compared: those for other readers never mix.

    Attributes:
        task: The task that it belongs to, or None.
        audience: Agents that may see it, or None for all.
        purpose: What it was given for, or None.
    """

    task: str | None = None
    audience: Audience = None
    purpose: str | None = None


def id_text(raw: bytes) -> str:
    """Return the text of an id's 16 bytes; of no bytes, an empty text."""
    digits = raw.hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts) if raw else ""


Id = Annotated[str, BeforeValidator(lambda raw: id_text(raw) if isinstance(raw, bytes) else raw)]


class Value(BaseModel):
    """Base of what simonides returns: immutable, and JSON-ready as a dictionary."""

    model_config = ConfigDict(frozen=True, val_temporal_unit="milliseconds", defer_build=True)
    # Paths of properties that are told like fields, under their first name.
    _PROPERTIES: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-ready data."""
        return self.model_dump(mode="json", context="to_dict")

    @model_serializer(mode="wrap")
    def _with_properties(
        self, fields: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        # `model_dump` alone holds the fields only, so that they can be validated again.
        paths = self._PROPERTIES if info.context == "to_dict" else ()
        return {**fields(self), **{p.split(".")[0]: attrgetter(p)(self) for p in paths}}


class Record(Value, Fields):  # type: ignore[misc]  # frozen by its configuration
    """One stored version of a memory.

    Attributes:
        id: UUID (version 7) of this version.
        root: Id of the first version; it names the memory.
        version: Place in the chain of versions, from 1, without gaps.
        owner: Name of the unit that it is stored under, for example ``/org/acme/user/ana``.
        task: The task that it belongs to, or None.
        kind: Cognitive layer.
        category: One of the policy's categories.
        content: The text.
        hash: SHA-256 of the normalised text, hexadecimal.
        triple: Subject, predicate, object, where known.
        source: Where it comes from.
        trust: Label of the trust lattice.
        confidence: 0 to 1.
        importance: ``normal``, ``high`` or ``critical``.
        sensitivity: ``public``, ``private`` or ``sensitive``.
        metadata: JSON-ready.
        pinned: A full quota evicts it after all unpinned memories.
        timeless: It is never stale.
        status: Status in its life cycle.
        created_at: When its content was recorded; in the machine's zone where it has no other time.
        updated_at: When it was last said or confirmed.
        verified_at: When it was last confirmed, or None.
        said_at: When it was last said in the world, in the zone that was given.
        valid_from: Since when the fact is true in the world, in the zone that was given.
        valid_to: Until when, exclusive.
        known_from: When this version came into force.
        known_to: When it went out of force; None while it is in force.
        superseded_by: Id of the version that replaced it.
        soft_expires_at: From here on it counts half and is due for review.
        hard_expires_at: From here on it is never returned.
        embedder: Id of the embedder of its vector, or None.
        last_accessed_at: When it was last recalled, to the last flush of the journal.
        access_count: How often it was recalled so far.
        Further fields are those of `Fields`.
    """

    model_config = ConfigDict(extra="forbid")
    _PROPERTIES = ("scope.path",)

    id: Annotated[Id, Indexed]
    root: Annotated[Id, Stored]
    version: Annotated[int, Stored]
    owner: Annotated[str, Stored]
    task: Annotated[str | None, Indexed] = None
    kind: Annotated[Kind, Indexed]
    category: Annotated[str, Indexed]
    content: Annotated[str, Column(kept="promote")]
    hash: Annotated[str, Stored]
    triple: Triple | None = None
    source: Annotated[Source, Column(indexed=True, kept="promote")]
    trust: Annotated[Trust, Indexed]
    confidence: Annotated[float, Column(indexed=True, kept="promote")]
    importance: Annotated[Importance, Indexed]
    sensitivity: Annotated[Sensitivity, Stored]
    metadata: Annotated[Mapping[str, Any], Stored] = Field(default_factory=dict)
    pinned: Annotated[bool, Indexed] = False
    timeless: Annotated[bool, Stored] = False
    status: Annotated[Status, Indexed] = Status.ACTIVE
    created_at: Annotated[datetime, Indexed]
    updated_at: Annotated[datetime, Indexed]
    verified_at: Annotated[datetime | None, Indexed] = None
    said_at: Annotated[datetime, Indexed]
    valid_from: Annotated[datetime | None, Column(kept="promote")] = None
    valid_to: Annotated[datetime | None, Indexed] = None
    known_from: Annotated[datetime, Stored]
    known_to: Annotated[datetime | None, Indexed] = None
    superseded_by: Annotated[Id | None, Column(name="ended_by")] = None
    soft_expires_at: Annotated[datetime | None, Indexed] = None
    hard_expires_at: Annotated[datetime | None, Indexed] = None
    embedder: Annotated[str | None, Indexed] = None
    last_accessed_at: datetime | None = None
    access_count: int = 0

    @property
    def scope(self) -> Scope:
        """Where it belongs."""
        return scope_of(self.owner, self.task)

    @property
    def partition(self) -> Partition:
        """The group of memories that it is compared with."""
        return Partition(self.task, self.audience, self.purpose)

    @property
    def label(self) -> Label:
        """The label that its derivations inherit."""
        return Label(self.trust, self.sensitivity, self.audience)

    @property
    def is_current(self) -> bool:
        """Whether this version is in force."""
        return self.known_to is None

    @property
    def needs_verification(self) -> bool:
        """Whether it is unconfirmed and too uncertain to be taken as true."""
        return self.confidence < NEEDS_VERIFICATION_BELOW and self.verified_at is None

    def confidence_at(self, now: datetime) -> float:
        """Return the confidence of an inference that nobody confirmed: it loses 0.05 in 30 days."""
        if self.trust is not Trust.AGENT or self.verified_at is not None:
            return self.confidence
        days = max(now - self.created_at, timedelta()) / timedelta(days=1)
        return max(self.confidence - DECAY_A_DAY * days, 0.0)

    def staleness_at(self, now: datetime, *, is_contradicted: bool | None = None) -> float:
        """Return how stale it is, 0 to 1; see `staleness`. Reads are what `get` and `list` know.

        Args:
            now: The moment.
            is_contradicted: Whether a contradiction of it waits; None takes its status.
        """
        if is_contradicted is None:
            is_contradicted = self.status is Status.REVIEW
        made, said = to_ms(self.created_at), None if self.timeless else to_ms(self.updated_at)
        later = (self.hard_expires_at, self.last_accessed_at)
        ends, read = (None if each is None else to_ms(each) for each in later)
        return staleness(to_ms(now), made, said, ends, read, is_contradicted=is_contradicted)

    def as_of(self, now: datetime) -> "Record":
        """Return the stored record with the confidence that it has at a moment, to hundredths."""
        confidence = round(self.confidence_at(now), 2)
        if confidence >= self.confidence:
            return self
        return self.model_copy(update={"confidence": confidence})

    @property
    def is_doubtful(self) -> bool:
        """Whether it is unconfirmed and so uncertain that it never counts as relevant."""
        return self.confidence < DOUBTFUL_BELOW and self.verified_at is None

    def warnings(self, now: datetime) -> tuple[str, ...]:
        """Return the warnings that apply: ``unverified``, ``stale?``, ``in review``, ``refused``.

        A turn is ``refused`` if it asks to switch off a safeguard.
        """
        aged = not self.timeless and now - (self.verified_at or self.created_at) > STALE_AFTER
        soft = self.soft_expires_at is not None and now >= self.soft_expires_at
        stale = self.status is Status.STALE or soft or (self.confidence < STALE_BELOW and aged)
        warnings = {
            "unverified": self.needs_verification,
            "stale?": stale,
            "in review": self.status is Status.REVIEW,
            REFUSED: REFUSED in self.tags,
        }
        return tuple(name for name, holds in warnings.items() if holds)

    def __repr__(self) -> str:
        named = "" if self.key is None else f"{self.key} = "
        cut = f"{self.content[:60]}…" if len(self.content) > 60 else self.content
        return f"<Record {self.id} {self.category} {named}{cut!r} {self.status.value}>"

    __str__ = __repr__


SPLIT = {
    "subject": Stored, "predicate": Stored, "object": Stored, "ended": Stored,
    "utc_offset": Indexed,
}  # fmt: skip
"""Columns of which a field of the record is made: its triple, its status, its times."""

INTERNAL = {
    "ttl": Stored, "terms": Indexed, "marks": Indexed, "fingerprint": Indexed, "vector": Indexed,
    "scale": Indexed, "token_ids": Indexed, "salt": Stored,
}  # fmt: skip
"""Columns of which a record shows nothing."""

FIELDS: Mapping[str, Column] = {
    name: column
    for name, field in Record.model_fields.items()
    for column in field.metadata
    if isinstance(column, Column)
}
"""The fields of a record that have a column of their own."""


def value_type(field: str) -> type:
    """Return the type of a record's field, without None: ``tuple`` for a list of texts."""
    annotation: Any = Record.model_fields[field].annotation
    while (origin := get_origin(annotation)) in (Union, UnionType, Annotated):
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    kind: type = origin or annotation
    return kind


FULL_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
SHORT_ID = re.compile(r"[0-9a-f]{8}")


def looks_like_id(name: str) -> bool:
    """Whether a name is an id or a short id; no key may look like one."""
    return bool(FULL_ID.fullmatch(name) or SHORT_ID.fullmatch(name))
