"""Decide by rules what is worth storing; the default is to deny.

A configured language model may judge instead; the guards apply to both. The first matching row
decides:

=========================================  =========  ================================
reason                                     judgement  when
=========================================  =========  ================================
``category_not_in_policy:<category>``      Drop       the closed list has no such name
``category_not_admitted:<category>``       Drop       the list says not to store it
``kind_not_in_category:<kind>``            Drop       the category has other kinds
``source_not_in_category:<source>``        Drop       the category has other sources
``verbatim_turn``                          Commit     a turn, stored verbatim
``would_disable_safety``                   Drop       a directive against safety
``below_confidence_floor``                 Drop       inferred, confidence too low
``explicit_remember``                      Commit     a caller or import asks for it
``turn_scoped``                            Drop       marked as valid for this turn only
``needs_repetition``                       Repeat     marked as fragile until repeated
``session_only_category``                  Hold       the category is session-only
``explicit_instruction``                   Commit     procedural, explicitly durable
``implicit_preference``                    Hold       procedural, inferred from the talk
``stable_category``                        Commit     anything else
=========================================  =========  ================================

The first four, and the reasons of the boundaries, refuse the request itself; :func:`is_blocked`
separates them from drops.
"""

from __future__ import annotations

from simonides.domain.memory import Kind
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Proposer,
    Repeat,
)
from simonides.policy.guards import would_disable_safety
from simonides.policy.policy import Category, Durability, Policy

DISABLES_SAFETY_MARK = "disables_safety"
"""Mark of a request to switch off safety; the judge checks the text as well."""
TURN_SCOPED_MARK = "turn_scoped"
"""Mark of ``for now``, ``just today`` without a durable cue."""
FRAGILE_MARK = "fragile"
"""Mark of negative self-statements, which count only when repeated."""

_BLOCKING = frozenset(
    {
        "category_not_in_policy",
        "category_not_admitted",
        "kind_not_in_category",
        "source_not_in_category",
        # Reasons of the boundaries and of missing rights, which come before the judge.
        "invalid_memory_candidates",
        "memory_key_not_allowed_policy",
        "memory_scope_not_allowed_policy",
        "key_denied_execution",
        "scope_denied_execution",
        "scope_not_own",
    }
)


def judge(candidate: Candidate, policy: Policy) -> Judgement:
    """Judge a candidate by the module's table, with the one reason that decided; pure, total."""
    category = policy.category(candidate.category)
    if category is None:
        return Drop(candidate, (f"category_not_in_policy:{candidate.category}",))
    refusal = _refused_by_category(candidate, category)
    if refusal is not None:
        return Drop(candidate, (refusal,))
    if candidate.is_turn:
        return Commit(candidate, ("verbatim_turn",))
    if _is_directive(candidate, category) and _disables_safety(candidate):
        return Drop(candidate, ("would_disable_safety",))
    if candidate.label.trust is Trust.AGENT and candidate.confidence < policy.confidence_floor:
        return Drop(candidate, ("below_confidence_floor",))
    if candidate.proposer in (Proposer.CALLER, Proposer.IMPORT):
        return Commit(candidate, ("explicit_remember",))
    return _judge_proposal(candidate, category)


def is_blocked(judgement: Judgement) -> bool:
    """Whether the policy refuses the request itself; the outcome is ``blocked``, not dropped."""
    return isinstance(judgement, Drop) and any(
        reason.partition(":")[0] in _BLOCKING for reason in judgement.reasons
    )


def _refused_by_category(candidate: Candidate, category: Category) -> str | None:
    if not category.admit:
        return f"category_not_admitted:{candidate.category}"
    if category.kinds and candidate.kind not in category.kinds:
        return f"kind_not_in_category:{candidate.kind}"
    if category.sources and candidate.source not in category.sources:
        return f"source_not_in_category:{candidate.source}"
    return None


def _is_directive(candidate: Candidate, category: Category) -> bool:
    return category.directive or candidate.kind is Kind.PROCEDURAL


def _disables_safety(candidate: Candidate) -> bool:
    return DISABLES_SAFETY_MARK in candidate.marks or would_disable_safety(candidate.content)


def _judge_proposal(candidate: Candidate, category: Category) -> Judgement:
    """Judge a candidate that rules or a model extracted from a conversation."""
    if TURN_SCOPED_MARK in candidate.marks:
        return Drop(candidate, ("turn_scoped",))
    if FRAGILE_MARK in candidate.marks:
        return Repeat(candidate, ("needs_repetition",))
    if category.durability is Durability.SESSION_ONLY:
        return Hold(candidate, ("session_only_category",))
    if candidate.kind is not Kind.PROCEDURAL:
        return Commit(candidate, ("stable_category",))
    if candidate.explicit:
        return Commit(candidate, ("explicit_instruction",))
    return Hold(candidate, ("implicit_preference",))
