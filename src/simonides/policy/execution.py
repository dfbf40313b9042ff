"""Restrict valid proposals to the keys and scopes that the runtime allows now.

This boundary is narrower than the policy on purpose. A tier claimed in chat is a valid proposal and
is still not written, because a claim is no entitlement.
"""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.scope import Scope, ScopeLevel
from simonides.domain.writing.proposal import Intent, ScopeName, Violation
from simonides.policy.policy import ExecutionLimits, Policy

# The switch ``trust_declared_tier`` allows this key.
_DECLARED_TIER = "declared_tier"


def denied(key: str | None, scope: ScopeName, policy: Policy) -> str | None:
    """Return why a key may not be written to a scope now, or None if it may.

    Free text has no key and is only checked by scope.
    """
    if key is not None and not _key_allowed(key, policy.execution):
        return "key_denied_execution"
    return None if scope in allowed_scopes(policy) else "scope_denied_execution"


def allowed_scopes(policy: Policy) -> tuple[ScopeName, ...]:
    """Return the scopes that execution allows, in the order of :class:`ScopeName`."""
    limits = policy.execution
    opened = {ScopeName.WORKSPACE} if limits.workspace_memory else set()
    return tuple(name for name in ScopeName if name in opened.union(limits.allowed_scopes))


def resolve_scopes(intent: Intent, policy: Policy) -> tuple[ScopeName, ...] | Violation:
    """Return the scopes to search: those of the intent, or all allowed ones if it names none.

    The first scope that is not allowed is a violation: ``scope_denied:<scope>``.
    """
    allowed = allowed_scopes(policy)
    for scope in intent.scopes:
        if scope not in allowed:
            return Violation(f"scope_denied:{scope}")
    return intent.scopes or allowed


def paths(names: Sequence[ScopeName], home: Scope) -> tuple[str, ...]:
    """Return the paths of a principal's scopes for the given names, nearest first."""
    meant = {
        ScopeName.USER: (ScopeLevel.USER, ScopeLevel.SESSION),
        ScopeName.WORKSPACE: (ScopeLevel.ORG,),
        ScopeName.TASK: (ScopeLevel.TASK,),
    }
    levels = {level for name in names for level in meant[name]}
    return tuple(scope.path for scope in home.lineage if scope.level in levels)


def _key_allowed(key: str, limits: ExecutionLimits) -> bool:
    if key == _DECLARED_TIER and limits.trust_declared_tier:
        return True
    if key in limits.denied_keys:
        return False
    return limits.allowed_keys is None or key in limits.allowed_keys
