"""Policy values for consolidation: rules, model extraction and insights."""

from __future__ import annotations

from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRules(Value):
    """Policy for consolidation.

    Attributes:
        verbatim_turns: Whether turns of users and assistants are also stored verbatim.
        support_turns: Number of turns of a session that must support a held candidate.
        held_days: Time that an unsupported candidate waits as evidence for a later session; None
            for ever.
        arc_user_turns: Least user turns of a session with a summary.
        arc_user_chars: Least characters of user text in a session with a summary.
        arc_chars: Longest summary, in characters.
        procedural_rules: Most active rules of one user; None for no limit.
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
    """Policy for extraction by a model, in batches of turns.

    Each batch costs one question per lane. All batches together cost one question for the judge
    and one for the reconciler: at most ``2 · batches + 2`` for a session of any length.

    Attributes:
        batch_tokens: Estimated tokens of turns in one question.
        batches: Most questions of each lane. If turns do not fit, only the rules read the oldest
            ones, and the report has their number.
        judge: Whether the model also advises to commit, hold, repeat or drop.
        reconcile: Whether the model also relates new candidates to stored memories.
        summaries: Whether the model writes summaries.
    """

    batch_tokens: int = 12_000  # chosen: 300 turns of an ordinary talk, which many models hold
    batches: int = 2
    judge: bool = True
    reconcile: bool = True
    summaries: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionRules(Value):
    """Policy for insights.

    Attributes:
        threshold: Summed importance of new memories (0.5 for a normal one) that starts another
            reflection; None for never.
        evidence: Least memories that support an insight.
        insights: Most insights of one reflection.
        shown: Newest memories to consider; all fit in one question.
    """

    threshold: float | None = 10.0  # chosen: twenty ordinary facts
    evidence: int = 2
    insights: int = 3
    shown: int = 60  # chosen: some 2,000 tokens
