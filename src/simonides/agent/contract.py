"""What a model may answer in each phase. Anything else stops the run with its reason.

``{"items": [{"key", "value", "scope"?, "ttl_days"?, "confidence"?}]}`` proposes memories.
``{"kind", "query", "top_k"?, "scopes"?, "include_preference_keys"?}`` plans a retrieval.
``{"answer", "used_memory_keys"}`` answers. A null optional field is absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simonides.agent.result import Intent
from simonides.core.errors import InvalidInput
from simonides.core.policy import Policy, ProposalLimits, folded
from simonides.core.validation import text
from simonides.text.patterns import is_whole
from simonides.write.candidate import MAX_KEY_CHARS

PREFIX = "Incident update:"
"""How an answer in English starts, as agreed with the model."""

CONCISE_WORDS, CONCISE_SENTENCES = 80, 3
KINDS = ("retrieve_memory", "retrieve")
MAX_SCOPE_CHARS = 32

Check = Callable[[str, str], bool | None]
"""Whether a memory's value shows in an answer; None where that cannot be seen."""

Checks = Mapping[str, Check]


class Stop(Exception):
    """Ends a run early, for the reason that it names; it never leaves the run."""


class AgentProposal(NamedTuple):
    """A proposed memory, within the policy's limits."""

    key: str
    value: str
    scope: str
    ttl_days: float
    confidence: float
    is_clamped: bool


def proposals_of(raw: Any, policy: Policy) -> list[AgentProposal]:
    """Check proposed memories.

    Raises:
        Stop: At the first violation.
    """
    _candidates(isinstance(raw, dict), "not_object")
    items = raw.get("items")
    _candidates(isinstance(items, list), "items")
    _candidates(len(items) <= policy.proposals.max_items, "too_many_items")
    return [_proposal(item, policy) for item in items]


def _proposal(item: Any, policy: Policy) -> AgentProposal:
    limits = policy.proposals
    _candidates(isinstance(item, dict), "item")
    _candidates("key" in item and "value" in item, "missing_keys")
    key, value = _text(item["key"]), _text(item["value"])
    scope = _text(_given(item, "scope", "user"))
    _candidates(len(key) <= MAX_KEY_CHARS, "key")
    _candidates(is_whole(policy.callers.key_pattern, key), "key")
    must(limits.category_of(key) is not None, f"memory_key_not_allowed_policy:{key}")
    _candidates(value != "", "value")
    _candidates(len(value) <= limits.max_value_chars, "value_too_long")
    _candidates(0 < len(scope) <= MAX_SCOPE_CHARS, "scope")
    must(scope in limits.scopes, f"memory_scope_not_allowed_policy:{scope}")
    ttl = _given(item, "ttl_days", limits.default_ttl_days)
    _candidates(_is_number(ttl) and ttl > 0, "ttl_days")
    said = _given(item, "confidence", limits.default_confidence)
    _candidates(_is_number(said), "confidence")
    ttl = min(max(ttl, limits.min_ttl_days), limits.max_ttl_days)
    confidence = float(min(max(said, 0), 1))
    return AgentProposal(key, value, scope, float(ttl), confidence, said != confidence)


def intent_of(raw: Any, limits: ProposalLimits) -> Intent:
    """Check a plan of retrieval.

    Raises:
        Stop: At the first violation.
    """
    _intent(isinstance(raw, dict), "not_object")
    _intent(raw.get("kind") in KINDS, "kind")
    query, top_k = _text(raw.get("query")), _given(raw, "top_k", limits.default_top_k)
    _intent(query != "", "query")
    _intent(len(query) <= limits.max_query_chars, "query_too_long")
    _intent(type(top_k) is int and 1 <= top_k <= limits.max_top_k, "top_k")
    named = _given(raw, "scopes", [])
    _intent(isinstance(named, list), "scopes")
    scopes = tuple(dict.fromkeys(map(_text, named)))
    for scope in scopes:
        _intent(0 < len(scope) <= MAX_SCOPE_CHARS, "scope_item")
        _intent(scope in limits.scopes, f"scope_not_allowed:{scope}")
    biased = raw.get("include_preference_keys") is not False
    return Intent(query=query, top_k=top_k, scopes=scopes, include_preference_keys=biased)


def answer_of(raw: Any, most: int) -> tuple[str, tuple[str, ...]]:
    """Return the text and the declared keys of an answer, each key once.

    Raises:
        Stop: If its form is wrong, or its text empty or too long.
    """
    fields = raw if isinstance(raw, dict) else {}
    answer, used = fields.get("answer"), fields.get("used_memory_keys")
    is_whole = isinstance(answer, str) and isinstance(used, list)
    must(is_whole and all(isinstance(key, str) for key in used or ()), "llm_invalid_schema")
    answer, used = str(answer).strip(), [str(key).strip() for key in used or ()]
    must(answer != "", "llm_empty")
    must(len(answer) <= most, "invalid_answer:too_long")
    return answer, tuple(dict.fromkeys(used))


def shows(key: str, value: str, answer: str, checks: Checks) -> bool | None:
    """Return whether a memory has its effect in an answer; None where that cannot be seen."""
    check = checks.get(key) or CHECKS.get(folded(key))
    return None if check is None else check(value, answer)


def _shows_language(value: str, answer: str) -> bool | None:
    return answer.startswith(PREFIX) if value.casefold() in ("english", "en") else None


def _shows_length(value: str, answer: str) -> bool | None:
    if value.casefold() not in ("concise", "short", "brief"):
        return None
    ends = len(re.findall(r"[.!?]+(?=\s|$)", answer))
    return len(answer.split()) <= CONCISE_WORDS and ends <= CONCISE_SENTENCES


def _shows_channel(value: str, answer: str) -> bool:
    return value.casefold().replace("-", "") in answer.casefold().replace("-", "")


CHECKS: Checks = {
    "language": _shows_language, "response_style": _shows_length,
    "update_channel": _shows_channel,
}  # fmt: skip
"""Effects that can be seen, by the one name of a key."""


def must(holds: object, reason: str) -> None:
    """Stop the run for a reason unless something holds."""
    if not holds:
        raise Stop(reason)


def _candidates(holds: object, fault: str) -> None:
    must(holds, f"invalid_memory_candidates:{fault}")


def _intent(holds: object, fault: str) -> None:
    must(holds, f"invalid_retrieval_intent:{fault}")


def _given(fields: Mapping[str, Any], name: str, default: Any) -> Any:
    return default if fields.get(name) is None else fields[name]


def _text(raw: object) -> str:
    """Return a text without blanks around it; empty for what is no storable text."""
    try:
        return text("value", raw).strip()
    except InvalidInput:
        return ""


def _is_number(raw: object) -> bool:
    return isinstance(raw, (int, float)) and not isinstance(raw, bool)
