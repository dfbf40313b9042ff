"""What the policy says of a candidate; the default is to deny. Only this module makes a `Commit`.

The first row that applies decides:

==================================  ========  =============================================
reason                              decision  when
==================================  ========  =============================================
``secret:<rule>``                   blocked   a key, token or password is in any of its texts
``key_denied_execution``            blocked   the policy denies the key
``value_too_long``                  blocked   a model's text is longer than it may be
``key_not_allowed_policy:<key>``    blocked   models may not propose the key
``scope_not_allowed_policy:<name>`` blocked   models may not propose the scope
``scope_denied_execution:<name>``   blocked   the runtime does not write the scope now
``category_not_admitted:<name>``    blocked   the category is not stored
``kind_not_in_category:<kind>``     blocked   the category has other kinds
``source_not_in_category:<name>``   blocked   the category has other sources
``external_directive``              blocked   external text would become a rule
``below_confidence_floor``          dropped   an inference that is too uncertain
==================================  ========  =============================================

A verbatim turn that holds a secret is stored with ``[secret]`` in its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simonides.core.clock import DAY_MS
from simonides.core.policy import Action, ProposalLimits
from simonides.core.record import Kind, Trust
from simonides.hygiene.secrets import find_secrets
from simonides.write.candidate import Candidate

MASK = "[secret]"
"""Stands for a secret in a verbatim turn."""


@dataclass(frozen=True)
class Commit:
    """Store it.

    Attributes:
        candidate: What is stored.
        reasons: What was noticed, machine-readable.
    """

    candidate: Candidate
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drop:
    """Do not store it.

    Attributes:
        candidate: What was proposed.
        reasons: Why, most important first.
        blocked: Whether policy refuses the request itself; else it is only not worth storing.
    """

    candidate: Candidate
    reasons: tuple[str, ...]
    blocked: bool = True


Judgement = Commit | Drop


def judge(candidate: Candidate, *, by_model: bool = False) -> Judgement:
    """Judge a candidate by the table of this module.

    Args:
        candidate: What is proposed.
        by_model: Whether a model proposes it; its limits are narrower than a caller's.
    """
    reasons: tuple[str, ...] = ()
    policy = candidate.policy
    if policy.hygiene.secrets is Action.BLOCK:
        secrets = tuple(dict.fromkeys(f"secret:{n}" for n in _secrets(candidate.texts())))
        if secrets and not candidate.is_turn:
            return Drop(candidate, secrets)
        if secrets:
            candidate = candidate.with_content(masked(candidate.content))
            reasons = secrets
            if _secrets(candidate.texts()):
                return Drop(candidate, secrets)  # it is not in the text, but beside it
    refusal = _refusal(candidate)
    if refusal is None and by_model:
        refusal = _refused_proposal(candidate)
        candidate = _within_lifetimes(candidate, policy.proposals)
    if refusal is not None:
        return Drop(candidate, (refusal,))
    inferred = candidate.label.trust is Trust.AGENT and not candidate.is_turn
    if inferred and candidate.confidence < policy.gates.confidence_floor:
        return Drop(candidate, ("below_confidence_floor",), blocked=False)
    return Commit(candidate, reasons)


def _refusal(candidate: Candidate) -> str | None:
    rules = candidate.rules
    if candidate.key in candidate.policy.denied_keys:
        return "key_denied_execution"
    if not rules.admit:
        return f"category_not_admitted:{candidate.category}"
    if rules.kinds and candidate.kind not in rules.kinds:
        return f"kind_not_in_category:{candidate.kind}"
    if rules.sources and candidate.source not in rules.sources:
        return f"source_not_in_category:{candidate.source}"
    directs = rules.directive or candidate.kind is Kind.PROCEDURAL
    if directs and candidate.label.trust is Trust.EXTERNAL:
        return "external_directive"
    return None


def _refused_proposal(candidate: Candidate) -> str | None:
    """Return why a model's proposal is refused: by policy first, then by what execution allows."""
    policy, key = candidate.policy, candidate.key
    allowed, now = policy.proposals, policy.execution
    level = "task" if candidate.scope.task else "user" if candidate.scope.user else "workspace"
    if len(candidate.content) > allowed.max_value_chars:
        return "value_too_long"
    if key is not None and allowed.category_of(key) is None:
        return f"key_not_allowed_policy:{key}"
    if level not in allowed.scopes:
        return f"scope_not_allowed_policy:{level}"
    narrower = now.allowed_keys is not None and key is not None and key not in now.allowed_keys
    if narrower or key in now.denied_keys:
        return "key_denied_execution"
    return None if level in now.allowed_scopes else f"scope_denied_execution:{level}"


def _within_lifetimes(candidate: Candidate, allowed: ProposalLimits) -> Candidate:
    if candidate.ttl_ms is None:
        return candidate
    days = min(max(candidate.ttl_ms / DAY_MS, allowed.min_ttl_days), allowed.max_ttl_days)
    return replace(candidate, ttl_ms=round(days * DAY_MS))


def _secrets(texts: tuple[str, ...]) -> list[str]:
    return [secret.name for text in texts for secret in find_secrets(text)]


def masked(text: str) -> str:
    """Return a text with each secret in it replaced by `MASK`."""
    for secret in reversed(find_secrets(text)):
        text = text[: secret.start] + MASK + text[secret.end :]
    return text
