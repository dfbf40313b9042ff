"""Episodic arcs: one summary of a session that was worth one, nothing for each turn (CO-4)."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from simonides.domain.ageing import SUMMARY_CATEGORY
from simonides.domain.consolidation import ConsolidationRules
from simonides.domain.decision import Candidate, Proposer
from simonides.domain.memory import Kind, Origin
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source
from simonides.domain.turn import Role, Turn

TOLD_BY = frozenset({Role.USER, Role.ASSISTANT})
"""Whose turns a summary is made of. What tools and others said came from outside: a summary of it
would be external, and so would be none of the user's session (FX-5)."""


def is_substantive(turns: Sequence[Turn], rules: ConsolidationRules) -> bool:
    """Whether a session was worth a summary: enough turns of the user, with enough in them."""
    said = [turn.text for turn in turns if turn.role is Role.USER]
    chars = sum(len(" ".join(text.split())) for text in said)
    return len(said) >= rules.arc_user_turns and chars >= rules.arc_user_chars


def arc(
    text: str, by: str, session: str, turns: Sequence[Turn], scope: Scope, parents: Sequence[str]
) -> Candidate:
    """Return a summary as it is proposed: the agent's words, whoever's they were before.

    Args:
        text: The summary.
        by: ``rules`` or the id of a model.
        session: Of what session.
        turns: What it was made of.
        scope: Where it goes.
        parents: Ids of memories of the same talk: the summary may say what they say, and goes when
            one of them is forgotten (FX-3).
    """
    source = Source.AGENT_INFERRED
    times = [turn.said_at for turn in turns if turn.said_at is not None]
    return Candidate(
        content=text,
        scope=scope,
        source=source,
        proposer=Proposer.RULES if by == "rules" else Proposer.MODEL,
        label=Label(source.trust),
        kind=Kind.EPISODIC,
        category=SUMMARY_CATEGORY,
        confidence=source.default_confidence,
        metadata=MappingProxyType({"turns": len(turns), "summarised_by": by}),
        origin=Origin(session=session),
        parents=tuple(parents),
        said_at=max(times, default=None),
        explicit=False,
    )
