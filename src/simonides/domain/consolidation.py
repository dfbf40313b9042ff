"""By what numbers sessions become memories when they end (CO-4, CO-5, CO-7, CO-10)."""

from __future__ import annotations

from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRules(Value):
    """What policy says of consolidation.

    Attributes:
        verbatim_turns: Whether what users and assistants say is kept as it was, too (CO-10).
        support_turns: In so many turns of a session what is held back must be found.
        held_days: So long what found no support waits as evidence for a later session; None for
            ever.
        arc_user_turns: A session of fewer turns of the user gets no summary.
        arc_user_chars: Nor does one in which the user said less, in characters.
        arc_chars: Longest summary, in characters.
        procedural_rules: Most rules that are active for one user (CO-7); None for no limit.
    """

    verbatim_turns: bool = False  # CO-4: nothing per turn
    support_turns: int = 2  # CO-5
    held_days: float | None = 30  # chosen: the soft life of most facts (LT-5)
    arc_user_turns: int = 3  # chosen: a question, its answer and a thanks are no story
    arc_user_chars: int = 200  # chosen: some three sentences
    arc_chars: int = 800  # chosen: the digest's budget for episodic memories (DI-2)
    procedural_rules: int | None = 20  # CO-7
