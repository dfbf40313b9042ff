"""Execution's boundary: of what policy admits, what the runtime really does now (PO-2).

Narrower than policy on purpose: a tier that someone claims in chat is a valid proposal, and is
still not written, because a claim is no entitlement.
"""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.proposal import Intent, ScopeName, Violation
from simonides.domain.scope import Scope, ScopeLevel
from simonides.policy.rules import ExecutionLimits, Policy

# The key that the switch ``trust_declared_tier`` is about (PO-2).
_DECLARED_TIER = "declared_tier"


def denied(key: str | None, scope: ScopeName, policy: Policy) -> str | None:
    """Return why a key may not be written to a scope now, or None if it may.

    Args:
        key: Name of the fact; free text without a key is judged by its scope alone.
        scope: Where it is to go.
        policy: Lists and switches in force.
    """
    if key is not None and not _key_allowed(key, policy.execution):
        return "key_denied_execution"
    return None if scope in allowed_scopes(policy) else "scope_denied_execution"


def allowed_scopes(policy: Policy) -> tuple[ScopeName, ...]:
    """Return the scopes that execution allows, in the order of SC-1's list."""
    limits = policy.execution
    opened = {ScopeName.WORKSPACE} if limits.workspace_memory else set()
    return tuple(name for name in ScopeName if name in opened.union(limits.allowed_scopes))


def resolve_scopes(intent: Intent, policy: Policy) -> tuple[ScopeName, ...] | Violation:
    """Return where a retrieval really looks: what it asks for, or all that is allowed.

    The first scope that is not allowed now refuses the intent: ``scope_denied:<scope>``.
    """
    allowed = allowed_scopes(policy)
    for scope in intent.scopes:
        if scope not in allowed:
            return Violation(f"scope_denied:{scope}")
    return intent.scopes or allowed


def paths(names: Sequence[ScopeName], home: Scope) -> tuple[str, ...]:
    """Return the scopes of a principal that the contract's names mean, nearest first.

    None is left out silently for all of them, and none is put in.
    """
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
