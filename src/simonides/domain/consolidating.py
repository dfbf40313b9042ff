"""By what a model reads sessions, and by what insights come to be: values of the policy (CO-1)."""

from __future__ import annotations

from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRules(Value):
    """How a model reads turns for what is worth remembering (CO-1, CO-2, CO-6).

    Each batch costs one question a lane, and all batches together one for the judge and one for
    the reconciler: ``2 · batches + 2`` at the most, however long a session was.

    Attributes:
        batch_tokens: Tokens of turns in one question, as estimated.
        batches: Questions of each lane at the most; the turns that do not fit are left to the
            rules, the oldest first, and the report says how many.
        judge: Whether the model also says what is committed, held, to be repeated or dropped.
        reconcile: Whether the model also says how newcomers stand to what is there.
        summaries: Whether the model writes summaries.
    """

    batch_tokens: int = 12_000  # chosen: 300 turns of an ordinary talk, which many models hold
    batches: int = 2
    judge: bool = True
    reconcile: bool = True
    summaries: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionRules(Value):
    """When and of what insights are made (CO-9).

    Attributes:
        threshold: Summed importance of what came since the last reflection (0.5 for a normal
            memory) from which on there is another; None for never.
        evidence: Memories that an insight must rest on.
        insights: At the most at once.
        shown: Memories that are looked at, the newest; all fit in one question.
    """

    threshold: float | None = 10.0  # chosen: twenty ordinary facts
    evidence: int = 2
    insights: int = 3
    shown: int = 60  # chosen: some 2,000 tokens
