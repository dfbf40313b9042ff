"""The steps of a write, as closed unions: Candidate → Judgement → Approved → Outcome.

A model or a caller only proposes. Policy judges. Only guards approve, under the owner's write
turn: a check enforces that ``Approved`` is constructed in ``policy/guards.py`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from simonides.domain.errors import Refused
from simonides.domain.event import Event
from simonides.domain.memory import Importance, Kind, Origin, Place, Record, Triple, no_metadata
from simonides.domain.scope import Scope
from simonides.domain.trust import Audience, Label, Sensitivity, Source
from simonides.domain.value import Value
from simonides.domain.writing.finding import Finding


class Proposer(StrEnum):
    """Origin of a candidate; it decides which limits apply."""

    CALLER = "caller"
    RULES = "rules"
    MODEL = "model"
    IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Value):
    """A proposed memory: parsed and bounded, nothing decided yet.

    Attributes:
        content: Text, free of NUL and lone surrogates.
        scope: Target scope.
        source: Claimed source.
        proposer: Origin of the proposal.
        label: Its trust, sensitivity and audience.
        said_at: When it was said or happened, or None.
        ttl_days: Requested lifetime, or None for the category's.
        marks: Short names of hygiene findings.
        findings: The same findings with their places; not stored with a held candidate.
        explicit: Said as an instruction to remember, not inferred from other talk.
        replaces: Id of the memory that an explicit correction is about.
        replaces_root: Id of the first version of that memory's chain, in case another correction
            came first.
        timeless: Does not age.
        retracts: For ``forget that …``: the key to be forgotten instead of stored.
    """

    content: str
    scope: Scope
    source: Source
    proposer: Proposer
    label: Label
    kind: Kind = Kind.SEMANTIC
    category: str = "fact"
    key: str | None = None
    confidence: float = 1.0
    importance: Importance = Importance.NORMAL
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=no_metadata)
    triple: Triple | None = None
    quote: str | None = None
    origin: Origin = field(default_factory=Origin)
    speaker: str | None = None
    parents: tuple[str, ...] = ()
    purpose: str | None = None
    said_at: datetime | None = None
    valid_from: datetime | None = None
    ttl_days: float | None = None
    pinned: bool = False
    idempotency_key: str | None = None
    marks: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    explicit: bool = True
    replaces: str | None = None
    replaces_root: str | None = None
    retracts: str | None = None
    timeless: bool = False

    @property
    def is_turn(self) -> bool:
        """Whether it is a verbatim turn, identified by session and turn number."""
        return (
            self.origin.session is not None
            and self.origin.turn is not None
            and (self.kind is Kind.EPISODIC and self.category == TURN_CATEGORY)
        )

    @property
    def place(self) -> Place:
        """The group of memories that it is compared with."""
        return Place(self.scope, self.audience, self.purpose)

    @property
    def audience(self) -> Audience:
        """Agents that may see it."""
        return self.label.audience

    @property
    def sensitivity(self) -> Sensitivity:
        """How far it may appear in prompts."""
        return self.label.sensitivity


TURN_CATEGORY = "turn"
"""Category of verbatim turns; they pass policy but not the text gates."""


@dataclass(frozen=True, slots=True)
class Commit(Value):
    """Store now."""

    candidate: Candidate
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hold(Value):
    """Hold until the session ends."""

    candidate: Candidate
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeat(Value):
    """Hold until the statement is repeated."""

    candidate: Candidate
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drop(Value):
    """Do not store."""

    candidate: Candidate
    reasons: tuple[str, ...] = ()


Judgement: TypeAlias = Commit | Hold | Repeat | Drop


@dataclass(frozen=True, slots=True)
class Approved(Value):
    """A candidate that passed every guard under the write turn; the only input of long-term memory.

    Attributes:
        candidate: The candidate to be stored.
        category_ttl: Soft and hard lifetime in days from the policy, None for no end.
    """

    candidate: Candidate
    category_ttl: tuple[float | None, float | None] = (None, None)
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected(Value):
    """A candidate that a guard refused, with machine-readable reasons."""

    candidate: Candidate
    reasons: tuple[str, ...]


class OutcomeKind(StrEnum):
    """The result of a candidate."""

    CREATED = "created"
    REFRESHED = "refreshed"
    BUMPED = "bumped"
    TOUCHED = "touched"
    SUPERSEDED = "superseded"
    COEXISTS = "coexists"
    HELD = "held"
    REPEAT = "repeat"
    DROPPED = "dropped"
    REVIEW = "review"
    BLOCKED = "blocked"
    UNDONE = "undone"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Usage(Value):
    """Cost of an operation.

    Attributes:
        model_calls: Language-model requests, repairs included.
        input_tokens: As counted by the provider; 0 if it did not count.
        output_tokens: As counted by the provider; 0 if it did not count.
        embedded_texts: Texts that were embedded.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    embedded_texts: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.model_calls + other.model_calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.embedded_texts + other.embedded_texts,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Judgements:
    """Policy's judgements of the candidates of one proposal.

    Attributes:
        each: One judgement for each candidate, in their order.
        usage: Cost of second opinions. It is charged to the first outcome of the write.
    """

    each: tuple[Judgement, ...]
    usage: Usage = NO_USAGE


NO_JUDGEMENTS = Judgements(())


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Value):
    """The result of one write.

    Attributes:
        kind: ``superseded``: the new version replaced an older one. ``touched``: the new version
            was weaker, went into history and only renewed the existing one.
        record: The current record of the statement, or None.
        reasons: Machine-readable, most important first.
        events: The audit events written with it.
        usage: Cost of the write.
    """

    kind: OutcomeKind
    record: Record | None = None
    reasons: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    usage: Usage = NO_USAGE

    @property
    def stored(self) -> bool:
        """Whether the store holds the statement now."""
        return self.kind in _STORED

    @property
    def done(self) -> bool:
        """Whether the request took effect."""
        return self.kind in _DONE

    @property
    def pending(self) -> bool:
        """Whether it waits for a session's end, a repetition, or a person's decision."""
        return self.kind in _PENDING

    @property
    def refused(self) -> bool:
        """Whether it did not take effect; ``reasons`` say why."""
        return not self.done and not self.pending

    @property
    def explanation(self) -> str:
        """What happened and why, in one sentence."""
        from simonides.domain.writing.explanations import explain

        return explain(self.kind, self.reasons)

    def raise_for_refusal(self) -> Outcome:
        """Return this outcome.

        Raises:
            Refused: If it is refused.
        """
        if self.refused:
            raise Refused(self)
        return self

    def __bool__(self) -> bool:
        return self.done

    def __repr__(self) -> str:
        about = "" if self.record is None else f" {self.record.id}"
        why = f" ({', '.join(self.reasons)})" if self.reasons else ""
        return f"<Outcome {self.kind}{about}{why}>"


class Outcomes(tuple[Outcome, ...]):
    """The outcomes of several writes, in the order of the request; a tuple."""

    __slots__ = ()

    @property
    def done(self) -> tuple[Outcome, ...]:
        """Those that took effect."""
        return tuple(each for each in self if each.done)

    @property
    def pending(self) -> tuple[Outcome, ...]:
        """Those that wait."""
        return tuple(each for each in self if each.pending)

    @property
    def refused(self) -> tuple[Outcome, ...]:
        """Those that did not take effect."""
        return tuple(each for each in self if each.refused)

    def raise_for_refusal(self) -> Outcomes:
        """Return these outcomes.

        Raises:
            Refused: If one is refused; the error names the first and counts the others.
        """
        if self.refused:
            raise Refused(*self.refused)
        return self


_DONE = frozenset(
    {
        OutcomeKind.CREATED,
        OutcomeKind.REFRESHED,
        OutcomeKind.BUMPED,
        OutcomeKind.SUPERSEDED,
        OutcomeKind.COEXISTS,
        OutcomeKind.UNDONE,
        OutcomeKind.FORGOTTEN,
    }
)
_PENDING = frozenset({OutcomeKind.HELD, OutcomeKind.REPEAT, OutcomeKind.REVIEW})

_STORED = frozenset(
    {
        OutcomeKind.CREATED,
        OutcomeKind.REFRESHED,
        OutcomeKind.BUMPED,
        OutcomeKind.TOUCHED,
        OutcomeKind.SUPERSEDED,
        OutcomeKind.COEXISTS,
        OutcomeKind.REVIEW,
    }
)


@dataclass(frozen=True, slots=True)
class CaptureReport(Value):
    """The result of capturing one turn.

    Attributes:
        proposed: Every candidate, in the order of the text.
        judged: Policy's judgement of each, same order.
        outcomes: Outcome of each, same order.
        diagnostics: Notes of the extractors, for people.
        usage: Model calls and tokens.
    """

    proposed: tuple[Candidate, ...] = ()
    judged: tuple[Judgement, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    diagnostics: tuple[str, ...] = ()
    usage: Usage = NO_USAGE

    @property
    def stored(self) -> tuple[Outcome, ...]:
        """Outcomes whose statement the store holds now."""
        return tuple(outcome for outcome in self.outcomes if outcome.stored)

    @property
    def held(self) -> tuple[Outcome, ...]:
        """Outcomes held until the end of the session or until repetition."""
        kept = (OutcomeKind.HELD, OutcomeKind.REPEAT)
        return tuple(outcome for outcome in self.outcomes if outcome.kind in kept)

    @property
    def blocked(self) -> tuple[Outcome, ...]:
        """Outcomes that policy, execution or a guard refused."""
        return tuple(o for o in self.outcomes if o.kind is OutcomeKind.BLOCKED)
