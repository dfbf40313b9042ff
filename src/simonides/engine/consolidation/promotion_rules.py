"""Rules that decide on a held candidate when its session ends.

Evidence is counted in turns: the turn of the candidate, and the turns that support it
(:mod:`simonides.text.similarity.support`). The first matching row decides:

=======================  =========  ==============================================================
reason                   verdict    when
=======================  =========  ==============================================================
``memory_control``       let go     asks not to be remembered; that is obeyed, never stored
``turn_scoped``          let go     marked as meant for the moment, without a durable cue
``waits_for_somebody``   wait       held by hygiene or for lack of proof: a person decides
``no_news``              wait       the ending session does not support it
``said_n_times:<n>``     promote    enough turns of this session support it
``two_turns:<n>``        promote    implicit and procedural: enough turns in all
``prior_session``        promote    this session and an earlier one support it
``in_summary``           promote    not held for repetition, and in this session's summary
``too_little_evidence``  wait       all other cases
=======================  =========  ==============================================================

Only turns promote an implicit procedural candidate, and only the user's words promote one that
needs repetition. A summary is not the user's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from simonides.domain.governance.held import Held
from simonides.domain.memory import Kind
from simonides.domain.policy.consolidation import ConsolidationRules
from simonides.domain.writing.decision import Candidate, OutcomeKind
from simonides.text import patterns
from simonides.text.similarity import Said, claim_of, is_said_in

TURN_SCOPED = "turn_scoped"
"""Mark, set by capture, of a statement meant only for the moment."""

MEMORY_CONTROL = "memory_control"


class Fate(StrEnum):
    """Decision on a held candidate."""

    PROMOTE = "promote"
    WAIT = "wait"
    LET_GO = "let_go"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision on a held candidate, with the row of the table that made it.

    Attributes:
        fate: The decision.
        reason: Its machine-readable reason.
    """

    fate: Fate
    reason: str


def verdict(
    alike: Sequence[tuple[str, Held]],
    session: str,
    summary: str,
    rules: ConsolidationRules,
    *,
    unproven: frozenset[str] = frozenset(),
) -> Verdict:
    """Decide on held candidates of one claim.

    Args:
        alike: Each with the reason for holding it, ``hold`` or ``repeat``; one or more, of one
            claim.
        session: The session that ends.
        summary: Its summary; empty if there is none, or none yet.
        rules: The limits.
        unproven: Reasons that mark a candidate without support in a user's words.
    """
    (kind, held), *_ = alike
    candidate = held.candidate
    if is_memory_control(candidate.content):
        return Verdict(Fate.LET_GO, MEMORY_CONTROL)
    if any(TURN_SCOPED in each.candidate.marks for _, each in alike):
        return Verdict(Fate.LET_GO, TURN_SCOPED)
    if any(each.waits_for_somebody or unproven.intersection(each.reasons) for _, each in alike):
        return Verdict(Fate.WAIT, "waits_for_somebody")
    now, before = _evidence(alike, session)
    if not now:
        return Verdict(Fate.WAIT, "no_news")
    if now >= rules.support_turns:
        return Verdict(Fate.PROMOTE, f"said_n_times:{now}")
    if _is_implicit(candidate):
        if now + before >= rules.support_turns:
            return Verdict(Fate.PROMOTE, f"two_turns:{now + before}")
        return Verdict(Fate.WAIT, "too_little_evidence")
    if before:
        return Verdict(Fate.PROMOTE, "prior_session")
    if kind != OutcomeKind.REPEAT and summary and is_said_in(claim_of(candidate), Said(summary)):
        return Verdict(Fate.PROMOTE, "in_summary")
    return Verdict(Fate.WAIT, "too_little_evidence")


def is_memory_control(text: str) -> bool:
    """Whether a text is about what to remember, and so not worth storing itself."""
    return patterns.compile(_CONTROL, ignore_case=True).search(text) is not None


_CONTROL = (
    r"\b(?:do not|don't|does not|doesn't|never|not to|must not) "
    r"(?:want (?:\w+ ){0,3}to )?(?:remember|memori[sz]e|store|save|record|retain|keep)"
    r" (?:this|that|it|these|anything|what|any of)\b|\boff the record\b"
    r"|\bforget (?:this|that|it|what|everything)\b"
)


def _evidence(alike: Sequence[tuple[str, Held]], session: str) -> tuple[int, int]:
    """Return the number of turns that support the claim: in this session, and in earlier ones."""
    turns = {
        (each.session, turn) for _, held in alike for each in held.evidence for turn in each.turns
    }
    now = sum(name == session for name, _ in turns)
    return now, len(turns) - now


def _is_implicit(candidate: Candidate) -> bool:
    return candidate.kind is Kind.PROCEDURAL and not candidate.explicit
