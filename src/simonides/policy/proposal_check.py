"""Validate what a model proposes, clamp it to the policy's limits, and apply execution limits.

The two contracts, as JSON:

``{"items": [{"key", "value", "scope"?, "ttl_days"?, "confidence"?, "quote"?}]}``
    Candidates. ``scope`` is ``user``, ``workspace`` or ``task``.
``{"kind": "retrieve_memory", "query", "top_k"?, "scopes"?, "include_preference_keys"?}``
    A retrieval intent; ``retrieve`` is read as ``retrieve_memory``.

A null optional field counts as absent; unknown fields are ignored. Texts are stripped; scope names
and kinds are case-insensitive. No input raises: the result is a value or a :class:`Violation` with
a machine-readable reason.

Execution limits restrict valid proposals to the keys and scopes that the runtime allows now. They
are narrower than the policy on purpose. A tier claimed in chat is a valid proposal and is still not
written, because a claim is no entitlement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from simonides.domain.errors import InvalidInput
from simonides.domain.scope import Scope, ScopeLevel
from simonides.domain.writing.proposal import (
    Checked,
    Intent,
    ProposedItem,
    Refusal,
    ScopeName,
    Violation,
)
from simonides.policy.policy import ExecutionLimits, OnViolation, Policy, ProposalLimits
from simonides.text import check_text, patterns

_CANDIDATES: Final = "invalid_memory_candidates"
_INTENT: Final = "invalid_retrieval_intent"
# Chosen: a quote is one or two sentences of a turn; a longer one proves nothing.
_MAX_QUOTE_CHARS = 1_000
# Chosen: scope names have at most nine characters; a reason repeats no other text of a model.
_SCOPE_NAME = "[a-z][a-z_]{0,31}"

# The switch ``trust_declared_tier`` allows this key.
_DECLARED_TIER = "declared_tier"

MAX_BATCH_ITEMS = 24
"""Most items of one answer about many turns; chosen: as many as rules take from one turn."""


def check_candidates(
    raw: object, policy: Policy, *, default: OnViolation = OnViolation.REFUSE
) -> Checked | Violation:
    """Check the memory candidates that a model proposes, as parsed JSON of any shape.

    ``default`` applies if the policy has no ``on_violation``; an agent run passes ``stop``. Under
    ``stop`` the first invalid item is a violation of the whole. A missing item list always is.
    Items over the limit are refused as ``too_many_items``.
    """
    if not isinstance(raw, Mapping):
        return Violation(f"{_CANDIDATES}:not_object")
    proposed = raw.get("items")
    if not isinstance(proposed, (list, tuple)):
        return Violation(f"{_CANDIDATES}:items")
    limits = policy.proposals
    items: list[ProposedItem] = []
    refusals: list[Refusal] = []
    for place, item in enumerate(proposed):
        if place >= limits.max_items:
            # One refusal for all further items: the model could send any number.
            refusals.append(Refusal(place, f"{_CANDIDATES}:too_many_items"))
            break
        checked = _check_item(item, policy)
        if isinstance(checked, ProposedItem):
            items.append(checked)
        else:
            refusals.append(Refusal(place, checked))
    if refusals and (limits.on_violation or default) is OnViolation.STOP:
        return Violation(refusals[0].reason)
    return Checked(tuple(items), tuple(refusals))


def check_batch(
    raw: object, policy: Policy, *, turns: int, keyed: bool
) -> tuple[tuple[tuple[int, ProposedItem], ...], tuple[str, ...]]:
    """Check the items that a model proposes for several turns at once.

    Turns are numbered from 0; without ``keyed`` each key is empty. An invalid item never stops the
    others. The limits are ``max_items`` per turn and :data:`MAX_BATCH_ITEMS` in all.

    Returns:
        The items with their turns, in order, and the distinct reasons of refusals.
    """
    proposed = raw.get("items") if isinstance(raw, Mapping) else None
    if not isinstance(proposed, (list, tuple)):
        return (), (f"{_CANDIDATES}:{'items' if isinstance(raw, Mapping) else 'not_object'}",)
    items: list[tuple[int, ProposedItem]] = []
    refusals: list[str] = []
    taken = Counter[int]()
    for item in proposed[:MAX_BATCH_ITEMS]:
        place: Any = item.get("turn") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping):
            refusals.append(f"{_CANDIDATES}:item")
        elif not _is_whole(place) or not 0 <= place < turns:
            refusals.append(f"{_CANDIDATES}:turn")
        elif taken[place] >= policy.proposals.max_items:
            refusals.append(f"{_CANDIDATES}:too_many_items")
        elif isinstance(checked := _check_batch_item(item, policy, keyed=keyed), ProposedItem):
            taken[place] += 1
            items.append((place, checked))
        else:
            refusals.append(checked)
    if len(proposed) > MAX_BATCH_ITEMS:
        refusals.append(f"{_CANDIDATES}:too_many_items")
    return tuple(items), tuple(dict.fromkeys(refusals))


def check_intent(raw: object, policy: Policy) -> Intent | Violation:
    """Check a retrieval intent that a model proposes; one invalid field is a violation."""
    if not isinstance(raw, Mapping):
        return Violation(f"{_INTENT}:not_object")
    limits = policy.proposals
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind.strip().lower() not in limits.intent_kinds:
        return Violation(f"{_INTENT}:kind")
    query = _text(raw.get("query"))
    if query is None:
        return Violation(f"{_INTENT}:query")
    if len(query) > limits.max_query_chars:
        return Violation(f"{_INTENT}:query_too_long")
    top_k = _given(raw, "top_k", limits.default_top_k)
    if not _is_whole(top_k) or not 1 <= top_k <= limits.max_top_k:
        return Violation(f"{_INTENT}:top_k")
    scopes = _check_scopes(_given(raw, "scopes", ()), limits)
    if isinstance(scopes, Violation):
        return scopes
    # Only an explicit false turns it off: there is no reason code for an invalid value.
    include = raw.get("include_preference_keys") is not False
    return Intent(limits.intent_kinds[0], query, int(top_k), scopes, include)


def _check_item(item: object, policy: Policy) -> ProposedItem | str:
    """Return the item, or the reason of its refusal."""
    limits = policy.proposals
    if not isinstance(item, Mapping):
        return f"{_CANDIDATES}:item"
    if "key" not in item or "value" not in item:
        return f"{_CANDIDATES}:missing_keys"
    key = _text(item["key"])
    if key is None or not patterns.compile(policy.callers.key_pattern).fullmatch(key):
        return f"{_CANDIDATES}:key"
    if policy.category_of_key(key) is None:
        return f"memory_key_not_allowed_policy:{key}"
    value = _text(item["value"])
    if value is None:
        return f"{_CANDIDATES}:value"
    if len(value) > limits.max_value_chars:
        return f"{_CANDIDATES}:value_too_long"
    return _check_terms(item, key, value, limits)


def _check_batch_item(
    item: Mapping[Any, Any], policy: Policy, *, keyed: bool
) -> ProposedItem | str:
    if keyed:
        return _check_item(item, policy)
    value = _text(item.get("value"))
    if value is None:
        return f"{_CANDIDATES}:value"
    if len(value) > policy.proposals.max_value_chars:
        return f"{_CANDIDATES}:value_too_long"
    return _check_terms(item, "", value, policy.proposals)


def _check_terms(
    item: Mapping[Any, Any], key: str, value: str, limits: ProposalLimits
) -> ProposedItem | str:
    """Check scope, TTL and confidence."""
    scope = _scope_name(_given(item, "scope", limits.default_scope))
    if scope is None:
        return f"{_CANDIDATES}:scope"
    if scope not in limits.scopes:
        return f"memory_scope_not_allowed_policy:{scope}"
    ttl = _given(item, "ttl_days", limits.default_ttl_days)
    if not _is_number(ttl):
        return f"{_CANDIDATES}:ttl_days"
    confidence = _given(item, "confidence", limits.default_confidence)
    if not _is_number(confidence) or not 0 <= confidence <= 1:
        return f"{_CANDIDATES}:confidence"
    return ProposedItem(
        key=key,
        value=value,
        scope=ScopeName(scope),
        # Clamped before the conversion: an integer may be too large for a float.
        ttl_days=float(min(max(ttl, limits.min_ttl_days), limits.max_ttl_days)),
        confidence=float(confidence),
        quote=_quote(item.get("quote")),
    )


def _check_scopes(raw: object, limits: ProposalLimits) -> tuple[ScopeName, ...] | Violation:
    if not isinstance(raw, (list, tuple)):
        return Violation(f"{_INTENT}:scopes")
    scopes: dict[ScopeName, None] = {}
    for each in raw:
        name = _scope_name(each)
        if name is None:
            return Violation(f"{_INTENT}:scope_item")
        if name not in limits.scopes:
            return Violation(f"{_INTENT}:scope_not_allowed:{name}")
        scopes[ScopeName(name)] = None
    return tuple(scopes)


def _given(fields: Mapping[Any, Any], name: str, default: object) -> Any:
    value = fields.get(name)
    return default if value is None else value


def _text(raw: object) -> str | None:
    """Return a stripped text without invalid characters, or None; the caller checks the length."""
    if not isinstance(raw, str):
        return None
    try:
        return check_text("value", raw, max_bytes=4 * len(raw)).strip()
    except InvalidInput:
        return None


def _scope_name(raw: object) -> str | None:
    name = _text(raw)
    if name is None or not patterns.compile(_SCOPE_NAME, ignore_case=True).fullmatch(name):
        return None
    return name.lower()


def _quote(raw: object) -> str | None:
    quote = _text(raw)
    return quote if quote is not None and len(quote) <= _MAX_QUOTE_CHARS else None


def _is_number(raw: object) -> bool:
    if isinstance(raw, bool):
        return False
    return isinstance(raw, int) or (isinstance(raw, float) and math.isfinite(raw))


def _is_whole(raw: object) -> bool:
    return isinstance(raw, int) and not isinstance(raw, bool)


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
