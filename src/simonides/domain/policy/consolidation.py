"""Numbers of the policy for consolidation: rules, model lanes and insights."""

from __future__ import annotations

from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRules(Value):
    """What policy says of consolidation.

    Attributes:
        verbatim_turns: Whether what users and assistants say is kept as it was, too.
        support_turns: In so many turns of a session what is held back must be found.
        held_days: So long what found no support waits as evidence for a later session; None for
            ever.
        arc_user_turns: A session of fewer turns of the user gets no summary.
        arc_user_chars: Nor does one in which the user said less, in characters.
        arc_chars: Longest summary, in characters.
        procedural_rules: Most rules that are active for one user; None for no limit.
    """

    verbatim_turns: bool = False  # nothing per turn
    support_turns: int = 2
    held_days: float | None = 30  # chosen: the soft life of most facts
    arc_user_turns: int = 3  # chosen: a question, its answer and a thanks are no story
    arc_user_chars: int = 200  # chosen: some three sentences
    arc_chars: int = 800  # chosen: the digest's budget for episodic memories
    procedural_rules: int | None = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRules(Value):
    """How a model reads turns for what is worth remembering.

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
    """When and of what insights are made.

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
