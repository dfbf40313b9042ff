"""What a language model proposes, parsed at the boundary and not yet believed.

``raw JSON → Checked | Violation`` at policy's boundary; execution then denies what is not allowed
now. The same two steps for the intent of a retrieval.
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
    """What a model says is to become of a candidate; policy says how far that goes."""

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
        scope: Where it is to go.
        ttl_days: Asked-for life, already clamped.
        confidence: 0 to 1.
        quote: Evidence that the model claims to have copied from the turn; None if it gave none
            that can be used.
    """

    key: str
    value: str
    scope: ScopeName
    ttl_days: float
    confidence: float
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Intent(Value):
    """What a model wants to have retrieved.

    Attributes:
        kind: ``retrieve_memory``.
        query: Text to search for, without white space at the ends.
        top_k: How many at most.
        scopes: Where to look, without repetition; empty means all that execution allows.
        include_preference_keys: Whether preference keys get their bonus.
    """

    kind: str
    query: str
    top_k: int
    scopes: tuple[ScopeName, ...] = ()
    include_preference_keys: bool = True


@dataclass(frozen=True, slots=True)
class Violation(Value):
    """A proposal as a whole is refused; the run stops where it runs."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refusal(Value):
    """One item of a proposal is refused and the rest proceeds.

    Attributes:
        place: Where it stood in the proposal, from 0.
        reason: As of a :class:`Violation`.
    """

    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class Checked(Value):
    """Items that policy admits as proposals, in the order proposed, and those it does not."""

    items: tuple[ProposedItem, ...]
    refusals: tuple[Refusal, ...] = ()
