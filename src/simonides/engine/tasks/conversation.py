"""The talk of a task within a budget: recent turns verbatim, earlier ones summed up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from simonides.domain.policy.working import (
    Message,
    Pressure,
    Talk,
    WorkingRules,
)
from simonides.domain.value import Value

Count = Callable[[str], int]
"""How many tokens a text costs."""


@dataclass(frozen=True, slots=True)
class Conversation(Value):
    """The talk so far.

    Attributes:
        messages: Turns that stand verbatim, oldest first.
        summary: What those before them said; empty where there are none.
        summary_tokens: What that costs.
        summarised: How many turns it stands for.
    """

    messages: tuple[Message, ...] = ()
    summary: str = ""
    summary_tokens: int = 0
    summarised: int = 0

    @property
    def tokens(self) -> int:
        """What all of it costs."""
        return self.summary_tokens + sum(message.tokens for message in self.messages)

    @property
    def older_half(self) -> tuple[Message, ...]:
        """The turns that are summarised next: half of them, the middle one included."""
        return self.messages[: -(-len(self.messages) // 2)]

    def with_message(self, message: Message) -> Conversation:
        """Return it with one more turn."""
        return replace(self, messages=(*self.messages, message))

    def with_summary(self, summary: str, turns: int, count: Count) -> Conversation:
        """Return it with a summary in the place of the first turns and of the summary before.

        Args:
            summary: Of those turns; empty where they say nothing.
            turns: How many they are.
            count: Tokens of a text; the summary costs what it does with its mark.
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
        """Whether there are turns that have to be summarised."""
        return bool(self.messages) and self.pressure(rules) is Pressure.FULL

    def shown(self, rules: WorkingRules, pressure: Pressure | None = None) -> Talk:
        """Return the talk as it is in front of a model.

        Args:
            rules: The budget.
            pressure: How full that was before it was summarised; None for how full it is.
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
    """Return a summary that says that it is one."""
    return f"(Summary of {turns} earlier turn{'' if turns == 1 else 's'}: {summary})"
