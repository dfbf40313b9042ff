"""Judge candidates before the write turn: the edge checks, the boundaries and the policy's judge.

Some candidates are kept only for what they change. Whether they change anything is decided under
the turn, by :func:`changes_nothing`.
"""

from __future__ import annotations

from simonides.capture.drafts import DraftRules
from simonides.capture.model import NO_SUCH_SCOPE
from simonides.capture.rules import ENDING, LIKED_IN_PASSING, NOT_THE_USER
from simonides.capture.support import UNPROVEN
from simonides.domain.decision import Candidate, Commit, Drop, Hold, Judgement, Proposer
from simonides.domain.gates import Shape
from simonides.domain.memory import Memory
from simonides.domain.opposition import OppositionLook, Relation
from simonides.domain.proposal import ScopeName
from simonides.domain.scope import ScopeLevel
from simonides.policy.execution import denied
from simonides.policy.guards import hygiene_held
from simonides.policy.judge import judge
from simonides.policy.rules import Policy
from simonides.ports import OwnerView

_UNPROVEN = (*UNPROVEN, NOT_THE_USER)
"""Marks of what the user's own words do not bear out: held, never stored at once."""

UNPROVEN_MARKS = frozenset(_UNPROVEN)
"""The same, for who asks whether what is held waits for words at all."""

EXTRACTED = (Proposer.RULES, Proposer.MODEL)
"""Who reads candidates out of a conversation; what nobody asked for outright is never an error."""

TOO_MANY = "invalid_memory_candidates:too_many_items"

_SCOPE_NAMES = {
    ScopeLevel.USER: ScopeName.USER,
    ScopeLevel.SESSION: ScopeName.USER,
    ScopeLevel.ORG: ScopeName.WORKSPACE,
    ScopeLevel.TASK: ScopeName.TASK,
}


def rules_of(policy: Policy) -> DraftRules:
    """Return what a policy says of callers' drafts."""
    return DraftRules(
        content_bytes=policy.callers.max_content_bytes,
        metadata_bytes=policy.callers.max_metadata_bytes,
        category_of_kind=policy.category_of_kind,
    )


def judged_under(candidate: Candidate, policy: Policy) -> Judgement:
    """Judge a candidate: by execution where it was extracted, then by policy.

    What execution denies binds proposals of rules and models, not what a caller writes. What its
    quote does not bear out is held, whoever gives the quote, and so is what policy has wait for
    what hygiene found in it.
    """
    judgement = _judged(candidate, policy)
    held = hygiene_held(candidate, policy)
    if not held or isinstance(judgement, Drop):
        return judgement
    others = () if isinstance(judgement, Commit) else judgement.reasons
    return Hold(candidate, (*held, *others))


def _judged(candidate: Candidate, policy: Policy) -> Judgement:
    if candidate.proposer in EXTRACTED:
        why = _beyond_boundaries(candidate, policy)
        if why is not None:
            return Drop(candidate, (why,))
    if candidate.marks:
        unproven = tuple(mark for mark in _UNPROVEN if mark in candidate.marks)
        if unproven:
            return Hold(candidate, unproven)
    return judge(candidate, policy)


def _beyond_boundaries(candidate: Candidate, policy: Policy) -> str | None:
    """Return why policy or execution refuses what was extracted, or None.

    A model's proposal has met these limits as JSON already; the rules' meets them here, and so does
    what is looked at again under another policy.
    """
    key, name = candidate.key, _SCOPE_NAMES.get(candidate.scope.level)
    if key is not None:
        if policy.category_of_key(key) is None:
            return f"memory_key_not_allowed_policy:{key}"
        if len(candidate.content) > policy.proposals.max_value_chars:
            return "invalid_memory_candidates:value_too_long"
    if name is None or NO_SUCH_SCOPE in candidate.marks:
        return "scope_denied_execution"
    if name not in policy.proposals.scopes:
        return f"memory_scope_not_allowed_policy:{name}"
    return denied(key, name, policy)


def changes_nothing(
    candidate: Candidate, view: OwnerView, look: OppositionLook, shape: Shape | None
) -> str | None:
    """Return the mark of a candidate that is kept only for what it changes, if it changes nothing.

    A liking in passing must take back a rejection, and an ending the value that it names.
    """
    if LIKED_IN_PASSING in candidate.marks:
        against = None if shape is None else look(candidate, shape, None)
        lifts = against is not None and against.verdict.relation is Relation.UPDATE
        return None if lifts else LIKED_IN_PASSING
    if ENDING in candidate.marks:
        standing = view.by_key(candidate.place, str(candidate.key))
        return None if standing is not None and _ends(candidate, standing) else ENDING
    return None


def _ends(candidate: Candidate, standing: Memory) -> bool:
    """Whether a statement that something is over names what stands, or names nothing."""
    said = candidate.content.casefold()
    names = [word for word in candidate.content.split()[1:] if word[0].isupper()]
    return standing.content.casefold() in said or not names
