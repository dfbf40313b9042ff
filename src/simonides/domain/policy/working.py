"""What a task has in front of it: constraints, the talk so far, and within which bounds (WM)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simonides.domain.conversation.turn import Role
from simonides.domain.memory import Importance
from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingRules(Value):
    """Within which bounds working memory stays; all are settings.

    Attributes:
        observations: Most observations that are shown.
        observation_chars: Longest of one.
        constraints: Most constraints that are shown.
        scratchpad_chars: Longest scratchpad.
        conversation_tokens: What the talk may cost before its older half is summarised.
        warn_at: Share of that from which there is a warning.
        summary_share: Share of that which the summary may take; chosen.
        kept_chars: Longest text that a task leaves of one observation or note; chosen, as a memory
            is recalled whole.
        task_days: So long after its last entry a task that has a session of its own counts as
            left, in days; chosen, so that what stopped on Friday goes on on Monday.
    """

    observations: int = 5
    observation_chars: int = 200
    constraints: int = 8
    scratchpad_chars: int = 500
    conversation_tokens: int = 8_000
    warn_at: float = 0.7
    summary_share: float = 0.25
    kept_chars: int = 2_000
    task_days: float = 7.0


@dataclass(frozen=True, slots=True)
class Constraint(Value):
    """What a task must hold to.

    Attributes:
        text: One sentence.
        importance: Which stay where there are more than can be shown.
    """

    text: str
    importance: Importance = Importance.NORMAL


class Pressure(StrEnum):
    """How full the talk's budget is: from ``warning`` on a host may shorten what it sends,
    at ``full`` the older half was summarised.
    """

    LOW = "low"
    WARNING = "warning"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Message(Value):
    """A turn of the talk, verbatim but for what policy strikes out.

    Attributes:
        role: Who spoke.
        text: What was said.
        speaker: Name of who spoke, where known.
        tokens: What it costs.
    """

    role: Role
    text: str
    speaker: str | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk(Value):
    """The talk as it is in front of a model.

    Attributes:
        summary: What earlier turns said, marked as a summary; None where all turns are here.
        messages: The turns since, oldest first.
        tokens: What all of it costs.
        budget: What it may.
        pressure: How full that was when the last turn came.
        summarised: Turns that the summary stands for.
        usage: What the summary cost, if one was made when the last turn came.
        diagnostics: Why no model took part in it though there is one.
    """

    summary: str | None
    messages: tuple[Message, ...]
    tokens: int
    budget: int
    pressure: Pressure
    summarised: int = 0
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()
