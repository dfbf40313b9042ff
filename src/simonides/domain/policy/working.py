"""Working memory of a task: constraints, the conversation so far, and their limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simonides.domain.conversation.turn import Role
from simonides.domain.memory import Importance
from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingRules(Value):
    """Limits of working memory; all are settings.

    Attributes:
        observations: Most observations shown.
        observation_chars: Longest shown observation, in characters.
        constraints: Most constraints shown.
        scratchpad_chars: Longest scratchpad, in characters.
        conversation_tokens: Token budget of the conversation; above it the older half is
            summarised.
        warn_at: Share of that budget at which the pressure is ``warning``.
        summary_share: Share of that budget for the summary; chosen.
        kept_chars: Longest text promoted from one observation or note, in characters; chosen,
            because a memory is recalled whole.
        task_days: Days after its last entry at which a task with its own session counts as
            abandoned; chosen, so that a task stopped on Friday can continue on Monday.
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
    """A constraint on a task.

    Attributes:
        text: One sentence.
        importance: Priority if not all constraints can be shown.
    """

    text: str
    importance: Importance = Importance.NORMAL


class Pressure(StrEnum):
    """Usage of the conversation budget.

    From ``warning`` on a host may shorten its messages; at ``full`` the older half was summarised.
    """

    LOW = "low"
    WARNING = "warning"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class ConversationMessage(Value):
    """A turn of the conversation, verbatim except for policy's redactions.

    Attributes:
        role: Role of the speaker.
        text: Text of the turn.
        speaker: Name of the speaker, if known.
        tokens: Its tokens.
    """

    role: Role
    text: str
    speaker: str | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk(Value):
    """The conversation as shown to a model.

    Attributes:
        summary: Summary of earlier turns, marked as one; None if all turns are in ``messages``.
        messages: The later turns, oldest first.
        tokens: Tokens of the whole.
        budget: Token budget.
        pressure: Usage of the budget at the last turn.
        summarised: Number of summarised turns.
        usage: Cost of the summary, if the last turn caused one.
        diagnostics: Why a configured model was not used for the summary.
    """

    summary: str | None
    messages: tuple[ConversationMessage, ...]
    tokens: int
    budget: int
    pressure: Pressure
    summarised: int = 0
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()
