"""Judges a candidate before any turn: screening, the policy's boundaries, the policy's verdict."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.capture import DraftRules
from simonides.capture.model import NO_SUCH_SCOPE
from simonides.capture.rules import NOT_THE_USER, UNPROVEN
from simonides.domain.scope import ScopeLevel
from simonides.domain.writing.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Proposer,
)
from simonides.domain.writing.finding import Finding
from simonides.domain.writing.proposal import ScopeName
from simonides.engine.screening.screen import screened
from simonides.policy import Policy, denied, hygiene_held, judge

_UNPROVEN = (*UNPROVEN, NOT_THE_USER)
"""Marks of statements that the user's own words do not support: held, never stored at once."""

UNPROVEN_MARKS = frozenset(_UNPROVEN)
"""The same as a set, for callers that ask whether a held candidate waits for evidence."""

EXTRACTED = (Proposer.RULES, Proposer.MODEL)
"""Proposers that extract candidates from a conversation; a refused extraction is never an error."""

TOO_MANY = "invalid_memory_candidates:too_many_items"

_SCOPE_NAMES = {
    ScopeLevel.USER: ScopeName.USER,
    ScopeLevel.SESSION: ScopeName.USER,
    ScopeLevel.ORG: ScopeName.WORKSPACE,
    ScopeLevel.TASK: ScopeName.TASK,
}


def rules_of(policy: Policy) -> DraftRules:
    """Return a policy's rules for callers' drafts."""
    return DraftRules(
        content_bytes=policy.callers.max_content_bytes,
        metadata_bytes=policy.callers.max_metadata_bytes,
        category_of_kind=policy.category_of_kind,
        categories=frozenset(policy.categories),
        key_pattern=policy.callers.key_pattern,
    )


def judge_one(
    candidate: Candidate, policy: Policy, found: Sequence[Finding] | None = None
) -> Judgement:
    """Screen a candidate, then judge it.

    Args:
        candidate: The proposal.
        policy: Of its scope.
        found: Findings in it, if known; None to screen it here.
    """
    return judged_under(screened(candidate, policy, found), policy)


def judged_under(candidate: Candidate, policy: Policy) -> Judgement:
    """Judge a candidate: an extracted one by execution rules first, then any by policy.

    Execution denials bind proposals of rules and models, not a caller's writes. A candidate that
    its quote does not support is held, whoever gives the quote. So is one that policy holds because
    of a hygiene finding.
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
    """Return why policy or execution refuses an extracted candidate, or None.

    A model's proposal was checked against these limits as JSON. Proposals of the rules, and
    candidates judged again under another policy, are checked here.
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
