"""Find the memories that a new text may contradict, through the owner's index in the write turn.

Most texts contradict nothing, which their words show in microseconds. For the others the index
returns three groups of texts: with two shared topic words and a cosine of 0.6 or more, with the
opposite stance on the same thing, and with the same slot in any words. "I live in Oslo" and "We
moved to Rome" have a cosine of 0.2. Only these are read and judged, five at most. Without such
texts the cost is a few dictionary look-ups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from simonides.domain.governance.contradiction import Opposed, Pair, Relation, Verdict
from simonides.domain.memory import Kind, Record
from simonides.domain.policy.gates import Need, Shape
from simonides.domain.writing.decision import Candidate
from simonides.hygiene.contradiction.claims import light, stems
from simonides.hygiene.contradiction.rules import (
    Reading,
    compare_readings,
    ends_something,
    readings,
)
from simonides.hygiene.contradiction.stances import Stance, lifts_with
from simonides.ports import OwnerView
from simonides.text import analyse, patterns, term_id

ALIKE = 0.6
"""Least cosine of texts about the same thing."""

NEAR = 0.7
"""Least cosine at which a model, if configured, judges a pair that the rules cannot."""

ALIKE_IN_STANCE = 0.45
"""Least cosine of two stances on things that share a word; "I don't like Acme sneakers" and "I love
Acme's new line" have 0.52 (measured)."""

_DENYING = """
    never none dont doesnt isnt arent wasnt werent havent hasnt hadnt didnt wont cant couldnt
    shouldnt
"""
_OPPOSITE = """
    enabled disabled open closed active inactive allowed forbidden required optional light dark tabs
    spaces window aisle public private online offline
"""
_PLAIN = _DENYING + _OPPOSITE
_CHANGING = """
    switch switched switching change changed moved moving replaced traded ditched swapped migrated
    instead rescheduled postponed pushed extended increased decreased reduced raised lowered
    adjusted revised updated dropped upgraded downgraded now new
"""
_ENDING = """
    stopped quit gave given cancelled canceled ceased sold left broke longer anymore dropped
    switched changed moved migrated converted upgraded went swapped replaced traded ditched
    instead used rid
"""
_FIGURE = r"\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_HAS_FIGURE = (
    r"\b(?:is|are|costs?|has|have|takes?|allows?|starts?|ends?|opens?|closes?)\b[^.]{0,60}\d"
)
_SLOT_WORDS = {
    "residence": "live lives reside based located settled moved relocated",
    "employer": "work works working employed started job",
    "born": "born",
    "marital status": "single married engaged divorced widowed",
    "diet": "vegan vegetarian pescatarian meat beef steak steaks pork bacon chicken",
}
_ATTRIBUTES = (
    "name nickname birthday birth age address email phone number password boss manager employer"
    " job title role diet zone timezone language editor ide theme deadline budget status capital"
    " landlord doctor dentist blood size salary rent wake bedtime team spouse wife husband partner"
    " girlfriend boyfriend fiance os system car laptop bank gym plan tier school university major"
    " hometown favourite favorite"
)
_COPULAS = frozenset("is are =".split())
_SLOTTED = " ".join(_SLOT_WORDS.values())
_FOR = (
    "like love enjoy adore fan fond prefer appreciate keen happy impressed interested considering"
    " open excited great lovely excellent amazing fantastic wonderful superb favourite favorite"
)
_AGAINST = (
    "dont doesnt wont cant don't doesn't won't can't never longer dislike hate detest loathe"
    " despise"
    " avoid boycott refuse regret done tired sick fed disappointed stop suggest recommend offer"
    " propose mention interested considering keen fond happy impressed enough table question no-go"
    " looking buying against quit option"
)
# Word forms, not stems: "I prefer" is a stance of the speaker, "Ana prefers" a fact about Ana.
_STANCES = frozenset(
    "like likes liked love loves loved enjoy enjoys adore adores appreciate prefer recommend warmed"
    " fond fan keen impressed interested considering open excited great great. lovely lovely."
    " excellent amazing fantastic wonderful superb don't dont doesn't won't can't not never longer"
    " dislike dislikes hate hates hated detest loathe despise avoid avoids boycott refuse"
    " regret done"
    " tired sick fed disappointed off through against stop quit no enough leave keep table"
    " no-go into"
    " option happy back favourite favorite cannot didn't".split()
)


def opposed(
    candidate: Candidate, view: OwnerView, shape: Shape, same_words: Record | None
) -> Opposed | None:
    """Return the memories that a free text contradicts or updates, or None.

    The candidate is no duplicate. A memory with the same words is always compared.
    """
    if candidate.kind is Kind.EPISODIC:
        return None
    needs = needs_of(candidate.content, shape)
    found = view.about(candidate.place, candidate.kind, shape, needs) if needs else ()
    met = {memory.id: memory for memory in found}
    if same_words is not None:
        met[same_words.id] = same_words
    if not met:
        return None
    said = readings(candidate.content)
    against = _judged(candidate, said, tuple(met.values()))
    if against is None or against.verdict.rule != "stance":
        return against
    return _with_kind(candidate, said, against, view, shape)


def earlier_conflicts(
    memory: Record, view: OwnerView, shape: Shape
) -> tuple[tuple[Record, Verdict], ...]:
    """Return the earlier memories that a stored one contradicts or updates.

    Searches wider than a write: any memory with half of its topic words, whatever the wording.
    """
    about = shape.terms - _common_terms()
    wide = Need(about, max(1, len(about) // 2), above=ALIKE)
    needs = (*needs_of(memory.content, shape), *((wide,) if about else ()))
    said = readings(memory.content)
    found = []
    for other in _earlier(memory, view, shape, needs):
        verdict = compare_readings(readings(other.content), said)
        if verdict.relation is not Relation.NEITHER:
            found.append((other, verdict))
    return tuple(found)


def undecided_pairs(memory: Record, view: OwnerView, shape: Shape) -> tuple[Pair, ...]:
    """Return the pairs for a model: an earlier memory near in meaning, rules say "neither".

    They share a topic word; nearest first, five at most.
    """
    about = shape.terms - _common_terms()
    if not about:
        return ()
    said = readings(memory.content)
    return tuple(
        Pair(other, memory)
        for other in _earlier(memory, view, shape, (Need(about, 1, above=NEAR),))
        if compare_readings(readings(other.content), said).relation is Relation.NEITHER
    )


def _earlier(
    memory: Record, view: OwnerView, shape: Shape, needs: Sequence[Need]
) -> Iterator[Record]:
    """Yield memories that meet a need, are older and may be of the same speaker."""
    for other in view.about(memory.place, memory.kind, shape, needs):
        if (other.created_at, other.id) >= (memory.created_at, memory.id):
            continue
        both = None not in (memory.speaker, other.speaker)
        if other.root != memory.root and not (both and other.speaker != memory.speaker):
            yield other


def needs_of(text: str, shape: Shape) -> tuple[Need, ...]:
    """Return the words that a statement needs to conflict with a text; empty for most texts."""
    terms, needs = shape.terms, list[Need]()
    about = terms - _common_terms()
    if about and _signals_conflict(terms, text):
        # An ended, denied or recounted thing is part of the older statement: half of the words.
        needs.append(Need(about, max(1, len(about) // 2), above=ALIKE))
    words = text.lower().split()
    named = not terms.isdisjoint(_ids_of(_ATTRIBUTES)) and not _COPULAS.isdisjoint(words)
    ends = not terms.isdisjoint(_ids_of(_ENDING)) and ends_something(text)
    takes_sides = not _STANCES.isdisjoint(words)
    if ends or named or takes_sides or not terms.isdisjoint(_ids_of(_SLOTTED)):
        said = readings(text)
        needs += _of_ends(said) if ends else ()
        needs += _of_slots(said)
        needs += _of_stances(said)
    return tuple(needs)


def _of_stances(said: Sequence[Reading]) -> Iterator[Need]:
    for mine in _stances(said):
        theirs = _ids_of(_AGAINST if mine.favours else _FOR)
        for term in sorted(mine.thing):
            # A shared name is enough: the statements around it may differ widely.
            least = -1.0 if term in mine.names else ALIKE_IN_STANCE
            yield Need(_ids({term}), 1, theirs, above=least)


def _of_ends(said: Sequence[Reading]) -> Iterator[Need]:
    for one in said:
        for old in (one.ended, *one.replaced):
            if old:
                yield Need(_ids(old), len(old))


def _signals_conflict(terms: frozenset[int], text: str) -> bool:
    """Whether a text has a denial, an antonym or a new figure."""
    if not terms.isdisjoint(_ids_of(_PLAIN)):
        return True
    lowered = text.lower()
    if " not " in lowered or " no " in lowered or "n\u2019t" in lowered:
        return True
    changes = not terms.isdisjoint(_ids_of(_CHANGING))
    return patterns.compile(_FIGURE if changes else _HAS_FIGURE).search(lowered) is not None


def _of_slots(said: Sequence[Reading]) -> Iterator[Need]:
    for one in said:
        for slot in one.slots:
            words = _SLOT_WORDS.get(slot.name)
            if words is not None:
                yield Need(frozenset(), 0, _ids_of(words))
            else:
                named = _ids(stems(slot.name.removeprefix("attribute:")))
                yield Need(named, len(named))


@cache
def _common_terms() -> frozenset[int]:
    return _ids(light())


def _judged(
    candidate: Candidate, said: Sequence[Reading], found: Sequence[Record]
) -> Opposed | None:
    judged = []
    for memory in found:
        if not _is_comparable(candidate, memory):
            continue
        verdict = compare_readings(readings(memory.content), said)
        if verdict.relation is not Relation.NEITHER:
            judged.append((verdict, memory))
    updated = [each for each in judged if each[0].relation is Relation.UPDATE]
    chosen = updated or judged[:1]
    return Opposed(chosen[0][0], tuple(memory for _, memory in chosen)) if chosen else None


def _is_comparable(candidate: Candidate, memory: Record) -> bool:
    """Whether both may be of one speaker; "I" of two speakers is not one person."""
    both = None not in (candidate.speaker, memory.speaker)
    return memory.kind is not Kind.EPISODIC and not (both and candidate.speaker != memory.speaker)


def _with_kind(
    candidate: Candidate, said: Sequence[Reading], against: Opposed, view: OwnerView, shape: Shape
) -> Opposed:
    """Add refusals of the kind of thing that a lifted refusal named."""
    mine = _stances(said)
    lifted = [one for memory in against.rivals for one in _stances(readings(memory.content))]
    kinds = frozenset(term for one in lifted for term in one.kind_of_thing)
    if not kinds or not any(one.favours and not one.kind_of_thing for one in mine):
        return against
    needs = [Need(_ids({term}), 1, _ids_of(_AGAINST)) for term in sorted(kinds)]
    known = {memory.id for memory in against.rivals}
    more = [
        memory
        for memory in view.about(candidate.place, candidate.kind, shape, needs)
        if memory.id not in known
        and _is_comparable(candidate, memory)
        and any(
            lifts_with(one, older, newer)
            for one in lifted
            for older in _stances(readings(memory.content))
            for newer in mine
        )
    ]
    return against._replace(rivals=(*against.rivals, *more))


def _stances(said: Sequence[Reading]) -> list[Stance]:
    return [found for one in said if (found := one.stance) is not None]


@cache
def _ids_of(words: str) -> frozenset[int]:
    return _ids(frozenset(analyse(words)))


def _ids(terms: frozenset[str] | set[str]) -> frozenset[int]:
    return frozenset(map(term_id, terms))
