"""Captures one turn: rules, a model, or both propose candidates; retractions are carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any

from simonides.capture import name_or_none, turn_number, without_digests
from simonides.capture.model import anchor, propose
from simonides.capture.rules import examine_behind
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.errors import CeilingReached, ModelError, ModelGarbled, ModelTimeout
from simonides.domain.scope import Principal
from simonides.domain.value import enum_member, moment
from simonides.domain.writing.decision import (
    NO_USAGE,
    Candidate,
    CaptureReport,
    Judgement,
    Judgements,
    Outcome,
    Usage,
)
from simonides.domain.writing.proposal import Violation
from simonides.engine.forgetting import Forgetter
from simonides.engine.recall import sequence
from simonides.engine.screening import screened
from simonides.engine.write import REPEATED, Writer
from simonides.policy import OnViolation, Policy, check_candidates
from simonides.ports import LanguageModel
from simonides.text import check_text

EARLIER_TURNS = 3
"""Earlier turns that are read with a turn; chosen: enough for a correction of a correction."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """Result of extraction from one turn.

    Attributes:
        candidates: In the order of the text.
        raw: The model's answer as JSON; None for the rules.
        violation: Why the whole proposal is refused, or None.
        diagnostics: Short names of what was left out and why.
        usage: Model calls and tokens.
    """

    candidates: tuple[Candidate, ...] = ()
    raw: Any = None
    violation: str | None = None
    diagnostics: tuple[str, ...] = ()
    usage: Usage = NO_USAGE


def turn_of(
    text: object,
    principal: Principal,
    *,
    role: str = "user",
    speaker: str | None = None,
    at: datetime | str | None = None,
    number: int | None = None,
) -> Turn:
    """Check the text, role and speaker of a turn.

    Raises:
        InvalidInput: Names the value that cannot be stored.
    """
    return Turn(
        text=check_text("text", text, 64 * 1024),
        role=enum_member(Role, "role", role),
        speaker=name_or_none("speaker", speaker),
        session=principal.session,
        number=turn_number(number),
        said_at=moment("at", at),
    )


def turns_before(before: Sequence[str], principal: Principal) -> tuple[Turn, ...]:
    """Check the user's earlier texts, oldest first; the last :data:`EARLIER_TURNS` are used.

    Raises:
        InvalidInput: If it is not a sequence, or a text cannot be stored.
    """
    said = sequence("before", before)[-EARLIER_TURNS:]
    texts = [check_text("before", text, 64 * 1024) for text in said]
    return tuple(turn_of(text, principal) for text in texts)


def propose_by_rules(turn: Turn, principal: Principal, before: Sequence[Turn] = ()) -> Proposed:
    """Return what the rules find; ``before`` gives the context of corrections."""
    found = examine_behind(_own(turn), principal.home, before)
    return Proposed(found.candidates, diagnostics=found.diagnostics)


def _own(turn: Turn) -> Turn:
    """Return a turn with pasted digests blanked: their content is not the speaker's."""
    left = without_digests(turn.text)
    return turn if left == turn.text else replace(turn, text=left)


async def propose_by_model(
    model: LanguageModel,
    turn: Turn,
    principal: Principal,
    policy: Policy,
    on_violation: OnViolation,
    deadline_s: float,
    before: Sequence[Turn] = (),
) -> Proposed:
    """Return what a model finds, checked against policy and anchored in the turn.

    Raises:
        ModelError: As the model's port says.
    """
    if turn.role is not Role.USER:
        return Proposed(diagnostics=("not_the_user",))
    turn = _own(turn)
    if turn.text.isspace():
        return Proposed(diagnostics=(REPEATED,))
    answer = await propose(model, turn, deadline_s=deadline_s, before=before)
    checked = check_candidates(answer.value, policy, default=on_violation)
    if isinstance(checked, Violation):
        return Proposed((), answer.value, checked.reason, (checked.reason,), answer.usage)
    candidates = tuple(
        anchor(
            item,
            turn,
            principal.home,
            category=policy.category_of_key(item.key) or "fact",
            model=answer.model,
        )
        for item in checked.items
    )
    refused = tuple(refusal.reason for refusal in checked.refusals)
    return Proposed(candidates, answer.value, None, refused, answer.usage)


async def propose_by_all(
    model: LanguageModel | None,
    turn: Turn,
    principal: Principal,
    policy: Policy,
    deadline_s: float,
    before: Sequence[Turn] = (),
) -> Proposed:
    """Return what the rules find, plus what the model adds, if there is one.

    If both give a key, the rules' value wins, because it is quoted from the turn. A failing model
    becomes a diagnostic; the rules' findings are kept.
    """
    by_rules = propose_by_rules(turn, principal, before)
    if model is None:
        return by_rules
    try:
        by_model = await propose_by_model(
            model, turn, principal, policy, OnViolation.REFUSE, deadline_s, before
        )
    except ModelError as error:
        return Proposed(
            by_rules.candidates,
            diagnostics=(*by_rules.diagnostics, failure_of(error)),
            usage=error.usage or NO_USAGE,
        )
    known = {candidate.key for candidate in by_rules.candidates}
    added = tuple(c for c in by_model.candidates if c.key not in known)
    return Proposed(
        tuple(sorted((*by_rules.candidates, *added), key=_place_in_text)),
        by_model.raw,
        by_model.violation,
        (*by_rules.diagnostics, *by_model.diagnostics),
        by_model.usage,
    )


async def captured(
    model: LanguageModel | None,
    turn: Turn,
    before: Sequence[Turn],
    principal: Principal,
    writer: Writer,
    forgetter: Forgetter,
) -> CaptureReport:
    """Extract candidates from a turn and store them as policy allows.

    Nothing is stored if the owner is erased meanwhile.
    """
    policy = writer.policy(principal.home)
    if model is not None:
        writer = await writer.bound_to_incarnation()
    proposed = await propose_by_all(model, turn, principal, policy, policy.budgets.seconds, before)
    if proposed.candidates:
        # The rules are fast, so reading the incarnation after them is early enough.
        writer = await writer.bound_to_incarnation()
    judged, outcomes = await carry_out(writer, forgetter, proposed.candidates)
    # A retraction is matched by its original words; the report must not repeat them.
    judged = tuple(replace(j, candidate=screened(j.candidate, policy)) for j in judged)
    return CaptureReport(
        proposed=tuple(judgement.candidate for judgement in judged),
        judged=judged,
        outcomes=outcomes,
        diagnostics=proposed.diagnostics,
        usage=proposed.usage,
    )


async def carry_out(
    writer: Writer, forgetter: Forgetter, candidates: Sequence[Candidate]
) -> tuple[tuple[Judgement, ...], tuple[Outcome, ...]]:
    """Judge candidates by policy and write them, in order; return judgements and outcomes in order.

    Candidates between two retractions are one transaction per owner. A retraction does not bind
    later statements of the same turn; older tombstones do.

    Raises:
        InvalidInput: If there are too many candidates.
        ScopeDenied: If a caller's own candidate is for a scope outside the principal's.
        StoreError: If the store failed; candidates before the failure are written.
    """
    judged = await writer.judge(candidates)
    stated = [candidate for candidate in candidates if candidate.retracts is None]
    binding = None if len(stated) == len(candidates) else await writer.tombstoned(stated)
    outcomes: list[Outcome] = []
    usage = judged.usage
    for retracts, run in groupby(judged.each, key=lambda one: one.candidate.retracts is not None):
        if retracts:
            outcomes += [await forgetter.retract(str(one.candidate.retracts)) for one in run]
        else:
            outcomes += await writer.write_judged(Judgements(tuple(run), usage), binding)
            usage = NO_USAGE
    return judged.each, tuple(outcomes)


def _place_in_text(candidate: Candidate) -> float:
    """Return where a candidate's words begin; a candidate not found in the text comes last."""
    span = candidate.metadata.get("span")
    return float("inf") if span is None else float(span[0])


def failure_of(error: ModelError) -> str:
    """Return the diagnostic name of a model's failure."""
    if isinstance(error, ModelTimeout):
        return "llm_timeout"
    if isinstance(error, CeilingReached):
        return error.reason
    return f"llm_{error.reason}" if isinstance(error, ModelGarbled) else "llm_unavailable"
