"""Decides how an approved candidate relates to the stored memories: gates first, then conflict.

The gates, cheapest first:

1. the memory that a correction names, or the live version of its chain;
2. a verbatim turn, by its place in its session;
3. a keyed fact, by its key;
4. a fact of a functional slot, by subject and predicate;
5. text, by the hash of its normalised form;
6. near-identical text, then text with the same meaning (``near.py``).

All gates compare within one place: one scope, one audience, one purpose. A gate that finds the
same statement makes the candidate a repetition (``repetition.py``). Another value under the same
key or slot is a conflict (``conflict.py``), unless the predicate is declared multi-valued. An
inferred text without new information is dropped. Any other candidate is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.domain.ageing import confidence_at
from simonides.domain.governance.contradiction import OppositionLook
from simonides.domain.memory import Record
from simonides.domain.moment import Moment
from simonides.domain.policy.gates import LongTermRules, Shape
from simonides.domain.writing.decision import Approved, Candidate, OutcomeKind
from simonides.engine.write.rules.conflict import (
    contend,
    contend_with_all,
    oppose,
    weigh,
)
from simonides.engine.write.rules.near import (
    NEAR_TEXT,
    NOTHING_NEAR,
    find_near,
    no_news,
)
from simonides.engine.write.rules.repetition import is_trusted
from simonides.engine.write.rules.results import (
    Resolution,
    create,
    repeat,
    supersede,
)
from simonides.ports import OwnerView
from simonides.text import content_hash, normalise
from simonides.text.similarity import are_the_same, read

__all__ = ["BUILT_IN", "Resolution", "resolve"]

BUILT_IN = LongTermRules()
"""Rules of a policy that declares no slots."""


def resolve(
    approved: Approved,
    view: OwnerView,
    moment: Moment,
    rules: LongTermRules = BUILT_IN,
    shape: Shape | None = None,
    look: OppositionLook | None = None,
) -> Resolution:
    """Resolve a candidate; the first reason of the result names the gate or rule that decided.

    Args:
        approved: A candidate that passed every guard.
        view: Stored memories, with this turn's changes so far.
        moment: Time of the decision, and source of ids.
        rules: Thresholds, and which slots hold one value or several.
        shape: Terms and vector of free text; None skips the near gates.
        look: Finds memories that free text updates or contradicts; None skips the search.
    """
    candidate = approved.candidate
    named = _named(candidate, view)
    if named is not None and named.place == candidate.place:
        if named.content == candidate.content:
            return repeat(approved, named, moment, "same_text")
        return supersede(approved, named, moment, "correction")
    if candidate.is_turn:
        return _turn(approved, view, moment)
    if candidate.key is not None:
        return _keyed(approved, view, moment, candidate.key)
    if _predicate(candidate) in rules.slots.functional:
        values = _slot_values(candidate, view, moment)
        if values:
            return _functional_value(approved, values, moment)
    return _free_text(approved, view, moment, rules, shape, look)


def _named(candidate: Candidate, view: OwnerView) -> Record | None:
    """Return the memory that a correction names, or the live version that replaced it."""
    named = None if candidate.replaces is None else view.by_id(candidate.replaces)
    if named is None and candidate.replaces_root is not None:
        return view.by_root(candidate.replaces_root)
    return named


def _turn(approved: Approved, view: OwnerView, moment: Moment) -> Resolution:
    candidate = approved.candidate
    session, turn = str(candidate.origin.session), int(candidate.origin.turn or 0)
    standing = view.by_turn(candidate.place, session, turn)
    if standing is None:
        return create(approved, moment, "new_turn")
    if standing.content == candidate.content and standing.speaker == candidate.speaker:
        return Resolution(OutcomeKind.DROPPED, standing, reasons=("turn_already_stored",))
    return supersede(approved, standing, moment, "turn_edited")


def _keyed(approved: Approved, view: OwnerView, moment: Moment, key: str) -> Resolution:
    candidate = approved.candidate
    standing = view.by_key(candidate.place, key)
    if standing is None:
        return _keyed_text(approved, view, moment) or create(approved, moment, "new_key")
    if standing.is_expired(moment.now):
        return replace(
            supersede(approved, standing, moment, "previous_expired"), kind=OutcomeKind.CREATED
        )
    if standing.content_hash == content_hash(candidate.content):
        return repeat(approved, standing, moment, "same_key_and_value")
    return contend(approved, standing, moment)


def _keyed_text(approved: Approved, view: OwnerView, moment: Moment) -> Resolution | None:
    """Give the key to free text with the same content, unless the candidate is less trusted."""
    candidate = approved.candidate
    for standing in _same_text(candidate, view):
        if standing.key is None and is_trusted(candidate, standing):
            return repeat(approved, standing, moment, "same_text")
    return None


def _predicate(candidate: Candidate) -> str | None:
    return None if candidate.triple is None else normalise(candidate.triple.predicate)


def _slot_values(candidate: Candidate, view: OwnerView, moment: Moment) -> Sequence[Record]:
    """Return the memories in the slot of a candidate, the most confident and newest first."""
    if candidate.triple is None:
        return ()
    found = view.by_slot(candidate.place, candidate.triple)
    values = [memory for memory in found if memory.kind is candidate.kind]
    now = moment.now
    return sorted(values, key=lambda m: (confidence_at(m, now), m.known_from), reverse=True)


def _functional_value(approved: Approved, values: Sequence[Record], moment: Moment) -> Resolution:
    """Repeat the value of a functional slot, or contend with it."""
    candidate = approved.candidate
    text_hash = content_hash(candidate.content)
    for value in values:
        if value.content_hash == text_hash:
            return repeat(approved, value, moment, "same_text")
    if not candidate.source.is_correction:
        said = read(candidate.content)
        for value in values:
            if are_the_same(said, read(value.content)):
                return repeat(approved, value, moment, NEAR_TEXT)
    return contend_with_all(approved, values, moment)


def _free_text(
    approved: Approved,
    view: OwnerView,
    moment: Moment,
    rules: LongTermRules,
    shape: Shape | None,
    look: OppositionLook | None,
) -> Resolution:
    candidate = approved.candidate
    alike = _same_text(candidate, view)
    if alike:
        return repeat(approved, alike[0], moment, "same_text")
    near = NOTHING_NEAR
    # A correction is meant exactly, even if it is near-identical to the stored text.
    if shape is not None and not candidate.source.is_correction:
        near = find_near(candidate, view, shape, rules.gates)
    if near.same is not None:
        return repeat(approved, near.same, moment, near.gate)
    others = _other_values(candidate, view, moment)
    if others:
        return _another_value(approved, others, moment, rules)
    whole = None if shape is None else no_news(candidate, view, shape, rules.gates.no_news)
    if whole is not None:
        return Resolution(OutcomeKind.DROPPED, whole, reasons=("no_news",))
    additive = _predicate(candidate) in rules.slots.multi_valued
    opposed = None
    if look is not None and shape is not None and not additive:
        opposed = look(candidate, shape, near.different)
    if opposed is not None:
        return oppose(approved, opposed, moment, rules.gates.confidence_gap)
    if near.different is not None:
        return create(approved, moment, "beside_near_text", OutcomeKind.COEXISTS)
    return create(approved, moment, "new_text")


def _other_values(candidate: Candidate, view: OwnerView, moment: Moment) -> Sequence[Record]:
    if candidate.triple is None:
        return ()
    value = normalise(candidate.triple.object)
    return [
        memory
        for memory in _slot_values(candidate, view, moment)
        if memory.triple is not None and normalise(memory.triple.object) != value
    ]


def _another_value(
    approved: Approved, others: Sequence[Record], moment: Moment, rules: LongTermRules
) -> Resolution:
    """Decide on one more value of a slot that is not declared functional.

    The value is added if the slot is declared multi-valued, or holds several values already: those
    show that its values do not exclude each other.
    """
    if _predicate(approved.candidate) in rules.slots.multi_valued:
        return create(approved, moment, "multi_valued_slot", OutcomeKind.COEXISTS)
    if len(others) > 1:
        return create(approved, moment, "slot_has_several", OutcomeKind.COEXISTS)
    return weigh(approved, others[0], moment, rules.gates.confidence_gap)


def _same_text(candidate: Candidate, view: OwnerView) -> Sequence[Record]:
    equal = view.by_hash(candidate.place, content_hash(candidate.content))
    return [memory for memory in equal if memory.kind is candidate.kind]
