"""Proposals of a language model, parsed but not trusted.

Policy parses ``raw JSON → Checked | Violation``; execution then denies what is not allowed now.
A retrieval intent passes the same two steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simonides.domain.value import Value


class ScopeName(StrEnum):
    """Scopes as model contracts name them; ``workspace`` is the org."""

    USER = "user"
    WORKSPACE = "workspace"
    TASK = "task"


class Advice(StrEnum):
    """A model's advice for a candidate; policy limits how far it is followed."""

    COMMIT = "commit"
    HOLD = "hold"
    REPEAT = "repeat"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class ProposedItem(Value):
    """One fact that a model proposes to remember.

    Attributes:
        key: Name of the fact.
        value: Its text, without white space at the ends.
        scope: Target scope.
        ttl_days: Requested lifetime, already clamped.
        confidence: 0 to 1.
        quote: Evidence that the model claims to have copied from the turn; None without a usable
            one.
    """

    key: str
    value: str
    scope: ScopeName
    ttl_days: float
    confidence: float
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Intent(Value):
    """A model's request for a retrieval.

    Attributes:
        kind: ``retrieve_memory``.
        query: Text to search for, without white space at the ends.
        top_k: Maximum number of memories.
        scopes: Scopes to search, without duplicates; empty means all that execution allows.
        include_preference_keys: Whether preference keys get their bonus.
    """

    kind: str
    query: str
    top_k: int
    scopes: tuple[ScopeName, ...] = ()
    include_preference_keys: bool = True


@dataclass(frozen=True, slots=True)
class Violation(Value):
    """The whole proposal is refused; the run stops at that point."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refusal(Value):
    """One item of a proposal is refused and the rest proceeds.

    Attributes:
        place: Index in the proposal, from 0.
        reason: As of a :class:`Violation`.
    """

    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class Checked(Value):
    """Items that policy admits, in the order proposed, and its refusals of the others."""

    items: tuple[ProposedItem, ...]
    refusals: tuple[Refusal, ...] = ()
