"""Explains the outcome of a write in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.domain.writing.decision import OutcomeKind

_KINDS = {
    "created": "Stored.",
    "refreshed": "Known already; it was renewed.",
    "bumped": "Known already; it was confirmed.",
    "touched": "Not stored as current: what is remembered under the key is better supported.",
    "superseded": "Stored; it replaces an earlier version.",
    "coexists": "Stored beside what is remembered.",
    "held": "Held back until its session ends or a person decides.",
    "repeat": "Held back until it is said again.",
    "dropped": "Not stored.",
    "review": "Stored and marked: it contradicts another memory, and a person is asked.",
    "blocked": "Refused.",
    "undone": "Undone.",
    "forgotten": "Forgotten.",
}

_NEEDS_REASON = frozenset({"held", "repeat", "dropped", "blocked"})

_REASONS = {
    "not_found": "there is no such memory",
    "hygiene_blocked": "policy forbids this content",
    "hygiene_held": "its content has to be looked at",
    "consent_refused": "the person has refused to have this remembered",
    "category_not_in_policy": "the policy has no such category",
    "category_not_admitted": "the policy does not store this category",
    "source_not_in_category": "the category does not accept this source",
    "kind_not_in_category": "the category does not accept this kind",
    "memory_scope_not_allowed_policy": "the policy does not allow this scope",
    "memory_key_not_allowed_policy": "the policy does not allow this key",
    "scope_denied": "the principal may not write there",
    "quota": "a quota is exhausted",
    "erased_since": "the user was erased in the meantime",
    "tombstoned": "it was forgotten on request",
    "unsupported_number": "a number is not in the quoted words",
    "unsupported_name": "a name is not in the quoted words",
    "unsupported_date": "a date is not in the quoted words",
    "unsupported_negation": "a negation is not in the quoted words",
    "unsupported_speaker": "somebody else said it",
    "unanchored": "the quoted words are not in the turn",
    "unasserted": "the words do not assert it",
    "no_news": "nothing in it is new",
    "turn_already_stored": "this turn is stored already",
    "own_proposal": "the proposer may not decide about it",
    "already_decided": "it is decided already",
    "side_gone": "the memory to be kept is gone",
    "side_changed": "the other memory was changed in the meantime",
    "discarded": "it was rejected",
    "dry_run": "this was a dry run",
    "memory_control": "it is a request about memory",
    "turn_scoped": "it concerns this turn only",
    "declared_tier": "only the application may say it",
    "retry_after_s": "writes come too fast",
}


def explain(kind: OutcomeKind, reasons: Sequence[str]) -> str:
    """Return a sentence for an outcome.

    What took effect needs no reason. Unknown reasons are quoted as they are.
    """
    if not reasons or kind.value not in _NEEDS_REASON:
        return _KINDS[kind.value]
    return f"{_KINDS[kind.value][:-1]}: {'; '.join(map(_reason, reasons))}."


def _reason(reason: str) -> str:
    name, _, rest = reason.partition(":")
    said = _REASONS.get(name)
    if said is None:
        return f"`{reason}`"
    return f"{said} ({rest})" if rest else said
