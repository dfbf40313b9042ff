"""Enforce hard invariants on each write, inside the owner's write turn.

Only this module makes an ``Approved``. No text, model or caller can change a guard's answer.
Reasons of a refusal:

``scope_not_own``
    The principal may write at home only. An org needs the ``org_write`` grant, the global scope the
    ``admin`` right in the default org.
``hygiene_blocked:<mark>``
    The policy blocks a finding, as in ``hygiene_blocked:secret:github-pat``.
``hygiene_held:<mark>``
    The policy holds a finding for review, and the review is undecided.
``consent_refused:key``, ``consent_refused:category``
    The owner, or the writer to another owner's scope, refused consent.
``tombstoned``
    The user had this forgotten. Only a caller can write it again, and never as a turn.
``external_never_directive``
    External text never becomes a rule, preference, constraint or guard.
``external_never_user_fact``
    External text never gets a key that the policy lists for facts or wishes of the user. It never
    gets a triple about the user.
``trust_above_source``
    The label claims more trust than the source can give.
``key_not_allowed``
    The key does not match the policy's pattern.
``category_not_in_policy:<category>``, ``category_not_admitted:<category>``
    As in the judge; repeated here for judgements of a model.
``ttl_not_positive``
    The TTL is not a positive number of days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from simonides.domain.governance.consent import About
from simonides.domain.governance.held import HYGIENE_HELD
from simonides.domain.memory import Kind
from simonides.domain.policy.hygiene import Action
from simonides.domain.scope import DEFAULT_ORG, Grant, Principal, Right, Scope, ScopeLevel
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import Approved, Candidate, Commit, Proposer, Rejected
from simonides.domain.writing.finding import Finding
from simonides.policy.policy import Policy
from simonides.text import normalise, patterns

CONSENT_REFUSED = "consent_refused"
HYGIENE_BLOCKED = "hygiene_blocked"

ABOUT_USER = "entity_fact"
"""Category of keys for facts about the user."""


def approve(
    commit: Commit,
    *,
    policy: Policy,
    principal: Principal,
    grants: Iterable[Grant] = (),
    tombstoned: bool = False,
    refused: About | None = None,
    released: bool = False,
) -> Approved | Rejected:
    """Approve a judgement for writing, or refuse it with every reason.

    Args:
        commit: What the judge wants stored.
        policy: Policy in force for the target's org.
        principal: The writer.
        grants: Those of the org that governs the target, read in the same turn.
        tombstoned: Whether the candidate's key or normalised content has a tombstone.
        refused: What the refusal of consent names, or None.
        released: Whether a review released the held candidate.

    Returns:
        The approval has the TTL in days: the category's, with the candidate's own as hard expiry (a
        model's is clamped to the policy's range). A soft expiry not before the hard one is dropped.
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
        return Rejected(candidate, tuple(reasons))
    return Approved(candidate, _ttl(candidate, policy), commit.reasons)


def consent_refused(by: About) -> str:
    """Return the reason for refused consent."""
    return f"{CONSENT_REFUSED}:{by.value}"


def hygiene_blocked(candidate: Candidate, policy: Policy) -> tuple[str, ...]:
    """Return the reason for the first finding that the policy blocks, and its second look."""
    for finding in candidate.findings:
        if policy.hygiene.action_on(finding) is Action.BLOCK:
            return (f"{HYGIENE_BLOCKED}:{finding.mark}", *_second_look_reasons([finding]))
    return ()


def hygiene_held(candidate: Candidate, policy: Policy) -> tuple[str, ...]:
    """Return the distinct reasons for findings that the policy holds, and their second looks."""
    if not candidate.findings:
        return ()
    held = [f for f in candidate.findings if policy.hygiene.action_on(f) is Action.HOLD]
    marks = dict.fromkeys(f"{HYGIENE_HELD}:{finding.mark}" for finding in held)
    return (*marks, *_second_look_reasons(held))


def _second_look_reasons(findings: Iterable[Finding]) -> tuple[str, ...]:
    reasons = (f.second.reason(f.mark) for f in findings if f.second is not None)
    return tuple(dict.fromkeys(reasons))


def may_write(principal: Principal, target: Scope, grants: Iterable[Grant] = ()) -> bool:
    """Whether a principal may write to a scope.

    It may write to its home, and with an ``org_write`` grant to its own org. The global scope needs
    the ``admin`` right in the default org, because every org reads it. An administrator's handle
    may write anywhere. Scopes are compared whole, never by prefix. The grants are those of the org
    that :func:`governing` returns.
    """
    if principal.by is not None or target == principal.home:
        return True
    org = governing(target)
    if org is None or org.org != principal.home.org:
        return False
    right = Right.ADMIN if target.level is ScopeLevel.GLOBAL else Right.ORG_WRITE
    return _holds(principal, right, grants)


def governing(target: Scope) -> Scope | None:
    """Return the org whose grants open a scope, or None; for the global scope the default org."""
    if target.level is ScopeLevel.GLOBAL:
        return Scope.of_org(DEFAULT_ORG)
    return target if target.level is ScopeLevel.ORG else None


def administers(principal: Principal, org: Scope, grants: Iterable[Grant]) -> bool:
    """Whether it is an administrator's handle or a user with the ``admin`` right in its org."""
    if principal.by is not None:
        return True
    own = org.level is ScopeLevel.ORG and org.org == principal.home.org
    return own and _holds(principal, Right.ADMIN, grants)


def may_grant(principal: Principal, org: Scope, grant: Grant, grants: Iterable[Grant]) -> bool:
    """Whether a principal may grant a right: it administers the org; no user grants itself one."""
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
    # A caller may store a forgotten text again; a repeated turn is a replayed transcript.
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


_SAFEGUARD = (
    r"(?:safety|security|moderation|content|policy|compliance|approval|audit)"
    r"[ -](?:filter|filters|filtering|check|checks|rule|rules|guideline|guidelines|policy|policies"
    r"|setting|settings|feature|features|limit|limits|restriction|restrictions"
    r"|measure|measures|control|controls|log|logs|logging|mode|mechanism|mechanisms|gate|gates)"
    r"|guard ?rails?|safeguards?|safety|moderation"
    r"|(?:system prompt|(?:your|all|previous|prior|safety|system) "
    r"(?:instructions|rules|guidelines|restrictions|policies))"
)
_BETWEEN = r"(?:[ ,]+(?:all|any|of|the|your|its|these|those|every|my|our|out|off|with)){0,4}[ ,]+"
_OFF = (
    r"(?:disabl(?:e|ing)|turn(?:ing)? off|switch(?:ing)? off|deactivat(?:e|ing)|bypass(?:ing)?"
    r"|ignor(?:e|ing)|overrid(?:e|ing)|skip(?:ping)?|disregard(?:ing)?|circumvent(?:ing)?"
    r"|forget|suspend(?:ing)?|remov(?:e|ing))"
)
# Matches the negation as well: "never disable safety" is no request to disable it.
_SWITCHES_OFF = (
    r"(?P<negation>\b(?:never|not|don'?t|dont|cannot|can'?t|mustn'?t|without|avoid)[ ]+"
    r"(?:[a-z]+[ ]+){0,2})?"
    rf"\b(?:{_OFF}{_BETWEEN}(?:{_SAFEGUARD})\b"
    rf"|(?:turn|switch)(?:ing)?{_BETWEEN}(?:{_SAFEGUARD}) off\b)"
)
_REFUSES_TO_APPLY = (
    r"\b(?:never|not|don'?t|dont|stop|without)[ ]+(?:[a-z]+[ ]+)?"
    r"(?:apply|applying|enforce|enforcing|follow|following|obey|obeying|respect|respecting"
    rf"|run|running|use|using){_BETWEEN}(?:{_SAFEGUARD})\b"
)


def would_disable_safety(text: str) -> bool:
    """Whether a text asks to skip safety checks, rules or approval."""
    flat = " ".join(text.replace("\u2019", "'").encode("utf-8", "replace").decode().split())
    switching = patterns.compile(_SWITCHES_OFF, ignore_case=True).finditer(flat)
    if any(match.group("negation") is None for match in switching):
        return True
    return patterns.compile(_REFUSES_TO_APPLY, ignore_case=True).search(flat) is not None
