"""What becomes of what is held back when its session ends: rules alone.

Evidence is counted in turns: the one that a candidate was read in, and those that bear it out
(:mod:`simonides.text.similarity.support`). The first row that applies decides:

=======================  =========  ==============================================================
reason                   verdict    when
=======================  =========  ==============================================================
``memory_control``       let go     it asks not to be remembered; that is obeyed, never stored
``turn_scoped``          let go     marked: meant for the moment, without a durable cue
``waits_for_somebody``   wait       hygiene or want of proof holds it: words do not decide
``no_news``              wait       nothing in the session that ends bears it out
``said_n_times:<n>``     promote    enough turns of this session bear it out
``two_turns:<n>``        promote    implicit and procedural: enough turns in all
``prior_session``        promote    this session bears it out, and one before it did
``in_summary``           promote    held, not for repetition: this session's summary says it too
``too_little_evidence``  wait       anything else
=======================  =========  ==============================================================

An implicit procedural candidate is promoted by turns alone, one that needs repetition by its
user's words alone; a summary was written by no user.
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
from simonides.text.similarity.support import Said, claim_of, is_said_in

TURN_SCOPED = "turn_scoped"
"""Mark of what was said for the moment; capture gives it."""

MEMORY_CONTROL = "memory_control"


class Fate(StrEnum):
    """What becomes of what is held back."""

    PROMOTE = "promote"
    WAIT = "wait"
    LET_GO = "let_go"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of it, and by which row of the table.

    Attributes:
        fate: What.
        reason: Why, machine-readable.
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
    """Say what becomes of candidates that claim the same.

    Args:
        alike: Each with why it is held: ``hold`` or ``repeat``; one or more, of one claim.
        session: The session that ends.
        summary: Its summary; empty where there is none, or none yet.
        rules: By what numbers.
        unproven: Reasons that say that no user's words bear it out.
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
    """Whether a text is about what is to be remembered, and not itself worth it."""
    return patterns.compile(_CONTROL, ignore_case=True).search(text) is not None


_CONTROL = (
    r"\b(?:do not|don't|does not|doesn't|never|not to|must not) "
    r"(?:want (?:\w+ ){0,3}to )?(?:remember|memori[sz]e|store|save|record|retain|keep)"
    r" (?:this|that|it|these|anything|what|any of)\b|\boff the record\b"
    r"|\bforget (?:this|that|it|what|everything)\b"
)


def _evidence(alike: Sequence[tuple[str, Held]], session: str) -> tuple[int, int]:
    """Return how many turns bear the claim out: of this session, and of those before."""
    turns = {
        (each.session, turn) for _, held in alike for each in held.evidence for turn in each.turns
    }
    now = sum(name == session for name, _ in turns)
    return now, len(turns) - now


def _is_implicit(candidate: Candidate) -> bool:
    return candidate.kind is Kind.PROCEDURAL and not candidate.explicit
