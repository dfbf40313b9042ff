"""The last look before a write: hard invariants, checked under the owner's write turn (CO-2).

The only place that makes an ``Approved``. No wording of a candidate, no model and no caller can
talk a guard out of its answer. Reasons of a refusal:

``scope_not_own``
    The principal writes at home only; an org needs the ``org_write`` grant, the global scope the
    ``admin`` right in the default org (SC-3).
``hygiene_blocked:<mark>``
    Policy blocks what hygiene found in it, ``hygiene_blocked:secret:github-pat`` (HY-1).
``hygiene_held:<mark>``
    Policy has it wait for somebody to decide, and nobody has (HY-6).
``consent_refused:key``, ``consent_refused:category``
    The user, or who writes for somebody else, refused to have this remembered (PO-4).
``tombstoned``
    The user had this forgotten; only a caller brings it back, and no turn comes back (FX-3).
``external_never_directive``
    External text never becomes a rule, preference, constraint or guard (FX-5).
``external_never_user_fact``
    Nor a fact about the user: it stands under no key that the policy lists for what he is and
    wants, and in no triple that is about him (FX-5).
``trust_above_source``
    The label claims more trust than the source can give (FX-5).
``key_not_allowed``
    The key does not match the policy's pattern (PO-1).
``category_not_in_policy:<category>``, ``category_not_admitted:<category>``
    As the judge says; here for judgements that a model made (LT-4).
``ttl_not_positive``
    The asked-for life is not a positive number of days (LT-5).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from simonides.domain.consent import About
from simonides.domain.decision import Approved, Candidate, Commit, Proposer, Refused
from simonides.domain.findings import Finding
from simonides.domain.held import HYGIENE_HELD
from simonides.domain.hygiene import Action
from simonides.domain.memory import Kind
from simonides.domain.scope import DEFAULT_ORG, Grant, Principal, Right, Scope, ScopeLevel
from simonides.domain.trust import Trust
from simonides.language import patterns
from simonides.language.normalise import normalise
from simonides.policy.rules import Policy

CONSENT_REFUSED = "consent_refused"
HYGIENE_BLOCKED = "hygiene_blocked"

ABOUT_USER = "entity_fact"
"""Category of those keys that say who somebody is (LT-5)."""


def approve(
    commit: Commit,
    *,
    policy: Policy,
    principal: Principal,
    grants: Iterable[Grant] = (),
    tombstoned: bool = False,
    refused: About | None = None,
    released: bool = False,
) -> Approved | Refused:
    """Approve a judgement for writing, or say why not.

    Args:
        commit: What the judge wants stored.
        policy: Policy in force for the target's org.
        principal: Who writes.
        grants: Grants kept with the org that governs the target: a target's own are read under the
            same turn.
        tombstoned: Whether the candidate's key or normalised content is a tombstone.
        refused: By what a person refused to have it remembered, or None.
        released: Whether somebody has decided that what waited is to be stored.

    Returns:
        The approval with the life in days that the memory gets: the category's, or the
        candidate's own as hard expiry (a model's clamped to the policy's range); a soft expiry
        that would not come before the hard one is left out. Or every reason against it.
    """
    candidate = commit.candidate
    reasons = [
        reason
        for reason in (
            None if may_write(principal, candidate.scope, grants) else "scope_not_own",
            *hygiene_blocked(candidate, policy),
            *(() if released else hygiene_held(candidate, policy)),
            _against_category(candidate, policy),
            _against_trust(candidate, policy),
            _against_tombstone(candidate, tombstoned=tombstoned),
            None if refused is None else consent_refused(refused),
            _against_key(candidate, policy),
            _against_ttl(candidate),
        )
        if reason is not None
    ]
    if reasons:
        return Refused(candidate, tuple(reasons))
    return Approved(candidate, _ttl(candidate, policy), commit.reasons)


def consent_refused(by: About) -> str:
    """Return the reason of a refusal for want of consent."""
    return f"{CONSENT_REFUSED}:{by.value}"


def hygiene_blocked(candidate: Candidate, policy: Policy) -> tuple[str, ...]:
    """Return the reason of a refusal for what hygiene found, and what a second look said of that;
    nothing where policy blocks none.
    """
    for finding in candidate.findings:
        if policy.hygiene.action_on(finding) is Action.BLOCK:
            return (f"{HYGIENE_BLOCKED}:{finding.mark}", *_looked_again([finding]))
    return ()


def hygiene_held(candidate: Candidate, policy: Policy) -> tuple[str, ...]:
    """Return for what of hygiene's findings policy has a candidate wait, each mark once, and what a
    second look said of those.
    """
    if not candidate.findings:
        return ()
    held = [f for f in candidate.findings if policy.hygiene.action_on(f) is Action.HOLD]
    marks = dict.fromkeys(f"{HYGIENE_HELD}:{finding.mark}" for finding in held)
    return (*marks, *_looked_again(held))


def _looked_again(findings: Iterable[Finding]) -> tuple[str, ...]:
    told = (f.second.reason(f.mark) for f in findings if f.second is not None)
    return tuple(dict.fromkeys(told))


def may_write(principal: Principal, target: Scope, grants: Iterable[Grant] = ()) -> bool:
    """Whether a principal may write to a scope (SC-3).

    Its home always; any scope for an administrator's handle; its own org with an ``org_write``
    grant of that org; the global scope with the ``admin`` right in the default org, which governs
    it. Who administers another org does not write for all: what is global reaches every org (SC-4).
    Scopes compare as wholes, never by prefix.

    Args:
        principal: Who writes.
        target: Where to.
        grants: Those kept with :func:`governing` of the target.
    """
    if principal.by is not None or target == principal.home:
        return True
    org = governing(target)
    if org is None or org.org != principal.home.org:
        return False
    right = Right.ADMIN if target.level is ScopeLevel.GLOBAL else Right.ORG_WRITE
    return _holds(principal, right, grants)


def governing(target: Scope) -> Scope | None:
    """Return the org whose grants open a scope to others than its own principal, or None.

    The default org governs what belongs to all, as its policy does.
    """
    if target.level is ScopeLevel.GLOBAL:
        return Scope.of_org(DEFAULT_ORG)
    return target if target.level is ScopeLevel.ORG else None


def administers(principal: Principal, org: Scope, grants: Iterable[Grant]) -> bool:
    """Whether a principal gives and takes rights in an org (SC-3): an administrator's handle in
    all, a user with the ``admin`` right in its own.
    """
    if principal.by is not None:
        return True
    own = org.level is ScopeLevel.ORG and org.org == principal.home.org
    return own and _holds(principal, Right.ADMIN, grants)


def may_grant(principal: Principal, org: Scope, grant: Grant, grants: Iterable[Grant]) -> bool:
    """Whether a principal may give a right: it administers the org, and nothing grants itself."""
    own = principal.by is None and grant.grantee == principal.home.user
    return administers(principal, org, grants) and not own


def _holds(principal: Principal, right: Right, grants: Iterable[Grant]) -> bool:
    user = principal.home.user
    return user is not None and any(g.right is right and g.grantee == user for g in grants)


def _against_category(candidate: Candidate, policy: Policy) -> str | None:
    category = policy.category(candidate.category)
    if category is None:
        return f"category_not_in_policy:{candidate.category}"
    return None if category.admit else f"category_not_admitted:{candidate.category}"


def _against_trust(candidate: Candidate, policy: Policy) -> str | None:
    trust = candidate.label.trust
    if trust.rank > candidate.source.trust.rank:
        return "trust_above_source"
    if trust is not Trust.EXTERNAL:
        return None
    if candidate.kind is Kind.PROCEDURAL or _is_directive(candidate.category, policy):
        return "external_never_directive"
    return "external_never_user_fact" if _is_about_user(candidate, policy) else None


def _is_directive(name: str, policy: Policy) -> bool:
    category = policy.category(name)
    return category is not None and category.directive


def _is_about_user(candidate: Candidate, policy: Policy) -> bool:
    triple, key = candidate.triple, candidate.key
    if triple is not None and normalise(triple.subject) == "user":
        return True
    listed = None if key is None else policy.category_of_key(key)
    return listed is not None and (listed == ABOUT_USER or _is_directive(listed, policy))


def _against_tombstone(candidate: Candidate, *, tombstoned: bool) -> str | None:
    # A caller may say a forgotten thing anew; a turn that comes again is the transcript, replayed.
    revives = candidate.proposer is Proposer.CALLER and not candidate.is_turn
    return "tombstoned" if tombstoned and not revives else None


def _against_key(candidate: Candidate, policy: Policy) -> str | None:
    if candidate.key is None:
        return None
    pattern = patterns.compile(policy.callers.key_pattern)
    return None if pattern.fullmatch(candidate.key) else "key_not_allowed"


def _against_ttl(candidate: Candidate) -> str | None:
    days = candidate.ttl_days
    usable = days is None or candidate.proposer is Proposer.MODEL or days > 0
    return None if usable and (days is None or math.isfinite(days)) else "ttl_not_positive"


def _ttl(candidate: Candidate, policy: Policy) -> tuple[float | None, float | None]:
    soft, hard = policy.ttl_for(candidate.category)
    if candidate.ttl_days is not None:
        hard = candidate.ttl_days
        if candidate.proposer is Proposer.MODEL:
            limits = policy.proposals
            hard = min(max(hard, limits.min_ttl_days), limits.max_ttl_days)
    if soft is not None and hard is not None and soft >= hard:
        soft = None
    return soft, hard
