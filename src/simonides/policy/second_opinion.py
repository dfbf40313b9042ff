"""Combine the rules' judgement with a model's: it may lower any and raise one case of ``hold``.

=========  =========  =========  ==========  ======================================================
rules say  commit     hold       repeat      drop                    when the model says …
=========  =========  =========  ==========  ======================================================
commit     commit     hold       repeat      drop
hold       (hold)     hold       repeat      drop
repeat     repeat     repeat     repeat      drop
drop       drop       drop       drop        drop
=========  =========  =========  ==========  ======================================================

(hold) becomes ``commit`` if the rules' only objection was ``implicit_preference``: they did not
recognise the user's words as a standing instruction. A model does that better than a table of
phrases. It never raises a candidate that has no quote, is held by hygiene, belongs to the session
or needs repetition. The guards follow in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simonides.domain.trust import Trust
from simonides.domain.writing.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Proposer,
    Repeat,
)
from simonides.domain.writing.proposal import Advice

IMPLICIT = "implicit_preference"

_ORDER = (Advice.DROP, Advice.REPEAT, Advice.HOLD, Advice.COMMIT)
"""From lowest to highest."""

_JUDGEMENT_OF: Mapping[Advice, Callable[[Candidate, tuple[str, ...]], Judgement]] = {
    Advice.DROP: Drop,
    Advice.REPEAT: Repeat,
    Advice.HOLD: Hold,
    Advice.COMMIT: Commit,
}


def is_open(judgement: Judgement) -> bool:
    """Whether to ask a model: never about drops, retractions, and texts of callers or imports."""
    candidate = judgement.candidate
    extracted = candidate.proposer in (Proposer.RULES, Proposer.MODEL)
    return extracted and candidate.retracts is None and not isinstance(judgement, Drop)


def advised(judgement: Judgement, advice: Advice) -> Judgement:
    """Return the judgement after a model's advice, by the module's table."""
    now = _advice_of(judgement)
    if _ORDER.index(advice) < _ORDER.index(now):
        return _JUDGEMENT_OF[advice](judgement.candidate, (f"model:{advice}", *judgement.reasons))
    if advice is Advice.COMMIT and isinstance(judgement, Hold) and _may_be_raised(judgement):
        return Commit(judgement.candidate, (f"model:{advice}", *judgement.reasons))
    return judgement


def _may_be_raised(judgement: Hold) -> bool:
    candidate: Candidate = judgement.candidate
    own_words = candidate.label.trust is Trust.USER and candidate.quote is not None
    return judgement.reasons == (IMPLICIT,) and own_words and not candidate.marks


def _advice_of(judgement: Judgement) -> Advice:
    match judgement:
        case Commit():
            return Advice.COMMIT
        case Hold():
            return Advice.HOLD
        case Repeat():
            return Advice.REPEAT
        case Drop():
            return Advice.DROP
