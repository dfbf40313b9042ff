"""A task's conversation within a token budget: recent turns verbatim, earlier ones summarised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from simonides.domain.policy.working import (
    ConversationMessage,
    Pressure,
    Talk,
    WorkingRules,
)
from simonides.domain.value import Value

Count = Callable[[str], int]
"""Number of tokens of a text."""


@dataclass(frozen=True, slots=True)
class Conversation(Value):
    """The conversation so far.

    Attributes:
        messages: Verbatim turns, oldest first.
        summary: Summary of the turns before them; empty if there are none.
        summary_tokens: Tokens of the summary.
        summarised: Number of turns in the summary.
    """

    messages: tuple[ConversationMessage, ...] = ()
    summary: str = ""
    summary_tokens: int = 0
    summarised: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of the whole conversation."""
        return self.summary_tokens + sum(message.tokens for message in self.messages)

    @property
    def older_half(self) -> tuple[ConversationMessage, ...]:
        """The turns to summarise next: half of them, including the middle one."""
        return self.messages[: -(-len(self.messages) // 2)]

    def with_message(self, message: ConversationMessage) -> Conversation:
        """Return the conversation with one more turn."""
        return replace(self, messages=(*self.messages, message))

    def with_summary(self, summary: str, turns: int, count: Count) -> Conversation:
        """Return it with a new summary in place of its first turns and the old summary.

        Args:
            summary: Summary of those turns; empty if they say nothing.
            turns: Number of those turns.
            count: Tokens of a text; the summary is counted with its mark.
        """
        total = self.summarised + turns
        tokens = count(marked(summary, total)) if summary else 0
        return Conversation(self.messages[turns:], summary, tokens, total)

    def pressure(self, rules: WorkingRules) -> Pressure:
        """Return how full the budget is."""
        if self.tokens >= rules.conversation_tokens:
            return Pressure.FULL
        near = self.tokens >= rules.warn_at * rules.conversation_tokens
        return Pressure.WARNING if near else Pressure.LOW

    def must_flush(self, rules: WorkingRules) -> bool:
        """Whether turns must be summarised."""
        return bool(self.messages) and self.pressure(rules) is Pressure.FULL

    def shown(self, rules: WorkingRules, pressure: Pressure | None = None) -> Talk:
        """Return the conversation as shown to a model.

        Args:
            rules: The budget.
            pressure: How full the budget was before summarising; None computes it.
        """
        return Talk(
            summary=marked(self.summary, self.summarised) if self.summary else None,
            messages=self.messages,
            tokens=self.tokens,
            budget=rules.conversation_tokens,
            pressure=self.pressure(rules) if pressure is None else pressure,
            summarised=self.summarised,
        )


def marked(summary: str, turns: int) -> str:
    """Return a summary marked as one."""
    return f"(Summary of {turns} earlier turn{'' if turns == 1 else 's'}: {summary})"
