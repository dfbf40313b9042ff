"""Trust labels as a lattice: a derived memory is never more trusted than its parents.

Labels decide; detectors run later and only flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from simonides.domain.value import Value

Audience = frozenset[str] | None
"""Agents that may see a memory; None means every agent of the scope, empty means none."""


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
        return _TRUST_RANK[self]


_TRUST_RANK = {trust: len(Trust) - 1 - place for place, trust in enumerate(Trust)}


class Sensitivity(StrEnum):
    """How far a memory may appear in prompts, least strict first."""

    PUBLIC = "public"
    PRIVATE = "private"
    SENSITIVE = "sensitive"


class Source(StrEnum):
    """Source of a memory."""

    USER_STATED = "user_stated"
    USER_CORRECTION = "user_correction"
    IN_SESSION_CORRECTION = "in_session_correction"
    TOOL_VERIFIED = "tool_verified"
    CONFIG_CHANGE = "config_change"
    TASK_LEARNING = "task_learning"
    TASK_OUTCOME = "task_outcome"
    AGENT_INFERRED = "agent_inferred"
    RECALLED = "recalled"
    PATTERN = "pattern"
    EXTERNAL = "external"
    UNKNOWN = "unknown"

    @property
    def default_confidence(self) -> float:
        """Confidence of a memory whose proposer states none."""
        return _CONFIDENCE[self]

    @property
    def trust(self) -> Trust:
        """The label that this source starts with."""
        return _TRUST[self]

    @property
    def is_correction(self) -> bool:
        """Whether it is an explicit correction, which always wins."""
        return self in (Source.USER_CORRECTION, Source.IN_SESSION_CORRECTION)


_CONFIDENCE = {
    Source.USER_STATED: 1.0,
    Source.USER_CORRECTION: 1.0,
    Source.IN_SESSION_CORRECTION: 1.0,
    Source.TOOL_VERIFIED: 0.9,
    Source.CONFIG_CHANGE: 0.9,
    Source.TASK_LEARNING: 0.8,
    Source.TASK_OUTCOME: 0.7,
    Source.AGENT_INFERRED: 0.6,
    Source.RECALLED: 0.5,
    Source.PATTERN: 0.4,
    Source.EXTERNAL: 0.3,
    Source.UNKNOWN: 0.5,
}
_TRUST = {
    Source.USER_STATED: Trust.USER,
    Source.USER_CORRECTION: Trust.USER,
    Source.IN_SESSION_CORRECTION: Trust.USER,
    Source.TOOL_VERIFIED: Trust.TOOL,
    Source.CONFIG_CHANGE: Trust.SYSTEM,
    Source.TASK_LEARNING: Trust.AGENT,
    Source.TASK_OUTCOME: Trust.AGENT,
    Source.AGENT_INFERRED: Trust.AGENT,
    Source.RECALLED: Trust.AGENT,
    Source.PATTERN: Trust.AGENT,
    Source.EXTERNAL: Trust.EXTERNAL,
    Source.UNKNOWN: Trust.EXTERNAL,
}


@dataclass(frozen=True, slots=True)
class Label(Value):
    """The label that a memory passes to every derivation.

    Attributes:
        trust: Least trust of the parents.
        sensitivity: Strictest sensitivity of the parents.
        audience: Intersection of the parents' audiences.
    """

    trust: Trust
    sensitivity: Sensitivity = Sensitivity.PRIVATE
    audience: Audience = None


def join(labels: Iterable[Label]) -> Label:
    """Return the label of something derived from all of ``labels``.

    The result has the least trust, the strictest sensitivity and the intersection of the
    audiences. It does not depend on order or repetition.

    Raises:
        ValueError: If there is no label: without a parent there is no trust.
    """
    parts: Sequence[Label] = list(labels)
    if not parts:
        raise ValueError("a derivation needs at least one parent")
    order = list(Sensitivity)
    return Label(
        trust=min((part.trust for part in parts), key=lambda trust: trust.rank),
        sensitivity=max((part.sensitivity for part in parts), key=order.index),
        audience=narrowest(part.audience for part in parts),
    )


def narrowest(audiences: Iterable[Audience]) -> Audience:
    """Return the agents in every audience; None if no audience restricts."""
    restricted = [audience for audience in audiences if audience is not None]
    return frozenset.intersection(*restricted) if restricted else None
