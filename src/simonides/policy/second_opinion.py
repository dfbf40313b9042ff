"""How far a model's word goes about what is written: down at will, up by one step (CO-2).

=========  =========  =========  ==========  ======================================================
rules say  commit     hold       repeat      drop                    when the model says …
=========  =========  =========  ==========  ======================================================
commit     commit     hold       repeat      drop
hold       (hold)     hold       repeat      drop
repeat     repeat     repeat     repeat      drop
drop       drop       drop       drop        drop
=========  =========  =========  ==========  ======================================================

(hold) is ``commit`` if all that was against it is that the rules did not recognise the user's own
words as a standing instruction (``implicit_preference``): that is what a model reads better than a
table of phrases, and CO-3 lets explicit ones commit. Nothing that a quote does not bear out, that
hygiene holds, that belongs to the session or that must be repeated is ever raised; guards follow
anyhow. What callers write themselves is not put to a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simonides.domain.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Proposer,
    Repeat,
)
from simonides.domain.proposal import Advice
from simonides.domain.trust import Trust

IMPLICIT = "implicit_preference"

_ORDER = (Advice.DROP, Advice.REPEAT, Advice.HOLD, Advice.COMMIT)
"""From least to most."""

_MADE: Mapping[Advice, Callable[[Candidate, tuple[str, ...]], Judgement]] = {
    Advice.DROP: Drop,
    Advice.REPEAT: Repeat,
    Advice.HOLD: Hold,
    Advice.COMMIT: Commit,
}


def is_open(judgement: Judgement) -> bool:
    """Whether a model may be asked about a judgement: not where it could change nothing, nor about
    what nobody extracted or what is to be forgotten.
    """
    candidate = judgement.candidate
    extracted = candidate.proposer in (Proposer.RULES, Proposer.MODEL)
    return extracted and candidate.retracts is None and not isinstance(judgement, Drop)


def advised(judgement: Judgement, advice: Advice) -> Judgement:
    """Return what becomes of a judgement of the rules by a model's word; see the table."""
    now = _advice_of(judgement)
    if _ORDER.index(advice) < _ORDER.index(now):
        return _MADE[advice](judgement.candidate, (f"model:{advice}", *judgement.reasons))
    if advice is Advice.COMMIT and isinstance(judgement, Hold) and _may_rise(judgement):
        return Commit(judgement.candidate, (f"model:{advice}", *judgement.reasons))
    return judgement


def _may_rise(judgement: Hold) -> bool:
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
