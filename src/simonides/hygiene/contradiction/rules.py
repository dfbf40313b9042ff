"""Decide by rules whether a newer statement contradicts an older one, updates it, or neither.

Two claims are compared only if they have one subject. They must share a slot, a stance on the same
thing, or all words but the ones that differ. Additions, suppositions, questions and single
occasions conflict with nothing. A wording of change makes an update, otherwise it is a
contradiction. Slots, stances and figures with one value at a time are updated by any later
statement.

Precision comes before recall. An update replaces the older statement, so it needs more evidence
than a contradiction, which keeps both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from simonides.domain.governance.contradiction import NEITHER, Relation, Verdict
from simonides.hygiene.contradiction.claims import Claim, claims, stems, stems_of
from simonides.hygiene.contradiction.comparable import (
    differ_in_one_figure,
    figures_agree,
    have_same_subject,
    names_several,
)
from simonides.hygiene.contradiction.slots import Slot, slots, values_differ
from simonides.hygiene.contradiction.stances import Stance, lifts, stance
from simonides.text import analyse, patterns

_ANTONYMS = tuple(
    frozenset(pair.split("/"))
    for pair in (
        "enabled/disabled on/off open/closed light/dark hot/cold early/late morning/evening "
        "morning/night indoor/outdoor indoors/outdoors left/right always/never public/private "
        "online/offline active/inactive available/unavailable allowed/forbidden true/false "
        "possible/impossible required/optional before/after window/aisle tabs/spaces tea/coffee "
        "single/married allowed/prohibited increase/decrease mandatory/optional paid/free "
        "synchronous/asynchronous metric/imperial formal/casual remote/onsite long/short "
        "legal/illegal guilty/innocent alive/dead pass/fail win/lose first/last high/low "
        "cheap/expensive safe/dangerous healthy/unhealthy happy/unhappy vegetarian/carnivore"
    ).split()
)
_ENDED = (
    r"\b(?:no longer|not .{1,60} any ?more|n't .{1,60} any ?more|stopped|ceased|used to)\b"
    r"|\bgot rid of\b"
    r"|\b(?:i|we|i've|we've|user)\s+(?:\w+\s+){0,3}(?:quit|gave up|given up|cancell?ed|dropped|sold"
    r"|left|broke up with)\b|\b(?:was|were|been|is|are|got)\s+cancell?ed\b"
)
_ENDS = "stopped quit gave given rid cancelled canceled ceased dropped sold broke left longer"
_FROM_TO = (
    r"\b(?:switched|switching|changed|moved|migrated|converted|upgraded|went|swapped)\b.{0,40}?"
    r"\bfrom\s+(?P<old>.{2,50}?)\s+to\s+(?P<new>.+)"
)
_REPLACED = (
    r"\b(?:replaced|swapped|traded(?: in)?|ditched)\s+(?P<old>.{2,50}?)\s+(?:with|by"
    r"|for)\s+(?P<new>.+)"
    r"|\b(?P<new2>\S.{1,50}?)\s+instead of\s+(?P<old2>.{2,50})$"
)
_IS = (
    r"\b(?:is|are|costs?|has|have|takes?|starts?|ends?|opens?|closes?|due|allows?|weighs?"
    r"|equals?)\b"
)
_OF_ONE = r"^(?:the|my|our|his|her|their|\w+'s)\s.*" + _IS
_POSSESSES = (
    "have has own owns drink drinks eat eats play plays drive drives work works live lives like"
    " likes love loves prefer prefers enjoy enjoys am is"
)
_AGAIN = r"\b(?:finally|now|since|again|started|just|at last|for the first time)\b"
_SAYS_ONE_THING = (
    r"^(?:i|(?:the )?user)(?:['\x{2019}]m| am| is| do| does)?"
    r"(?:n['\x{2019}]t| not)? (?:an? )?\w+[.!]?$"
)

_NEVER_ANY = r"\bnever (?:actually |really |ever )?(?P<done>\w+) any\b"

MAX_EXTRA_TERMS = 3
"""Terms that a statement may have besides those that ended; chosen: with more it is about something
else and only mentions them."""


class Reading:
    """A claim with its parsed parts, each computed on first use."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Slots that it fills."""
        return slots(self.claim)

    @cached_property
    def stance(self) -> Stance | None:
        """Its stance for or against something."""
        return stance(self.claim)

    @cached_property
    def ended(self) -> frozenset[str]:
        """Terms of what it says has ended."""
        if not patterns.has(_ENDED, self.claim.text):
            return frozenset()
        return self.claim.terms - stems_of(_POSSESSES) - stems_of(_ENDS)

    @cached_property
    def replaced(self) -> tuple[frozenset[str], ...]:
        """Terms of each thing it says was replaced, without those of the replacement."""
        return tuple(_replaced(self.claim.text))

    @cached_property
    def opposites(self) -> tuple[frozenset[str], ...]:
        """Pairs of antonyms of which it has exactly one."""
        terms = self.claim.terms
        return tuple(pair for pair in _opposites() if len(pair & terms) == 1)


def readings(text: str) -> tuple[Reading, ...]:
    """Return the claims of a text, for :func:`compare_readings`."""
    return tuple(map(Reading, claims(text)))


def compare(older: str, newer: str) -> Verdict:
    """Compare two statements of one person; pure, deterministic, linear in both texts."""
    return compare_readings(readings(older), readings(newer))


def compare_readings(older: Sequence[Reading], newer: Sequence[Reading]) -> Verdict:
    """Compare the claims of two statements; an update takes precedence over a contradiction."""
    found = NEITHER
    for later in newer:
        if later.claim.is_supposed and not later.claim.changes:
            continue
        for earlier in older:
            verdict = _verdict(earlier, later)
            if verdict.relation is Relation.UPDATE:
                return verdict
            if found is NEITHER:
                found = verdict
    return found


def _verdict(older: Reading, newer: Reading) -> Verdict:
    if older.claim.is_anaphoric or newer.claim.is_anaphoric:
        return NEITHER
    if not have_same_subject(older.claim, newer.claim):
        return NEITHER
    judges = _JUDGES if figures_agree(older.claim, newer.claim) else _OF_FIGURES
    for judge in judges:
        verdict = judge(older, newer)
        if verdict is not None:
            return verdict
    return NEITHER


def _update(rule: str) -> Verdict:
    return Verdict(Relation.UPDATE, rule)


def _contradiction(rule: str) -> Verdict:
    return Verdict(Relation.CONTRADICTION, rule)


def _by_slot(older: Reading, newer: Reading) -> Verdict | None:
    for old in older.slots if newer.slots else ():
        for new in newer.slots:
            if old[:2] == new[:2] and values_differ(old, new):
                rule = f"slot:{new.name.replace(' ', '_')}"
                is_news = new.is_news or newer.claim.changes
                return _update(rule) if is_news and not new.is_fixed else _contradiction(rule)
    return None


def _by_stance(older: Reading, newer: Reading) -> Verdict | None:
    new = newer.stance
    old = older.stance if new else None
    return _update("stance") if new and old and lifts(new, old) else None


def _by_end(older: Reading, newer: Reading) -> Verdict | None:
    """Compare "I no longer …" with a statement of what has ended."""
    ended, was = newer.ended, older.claim
    if not ended or not ended <= was.terms or was.denies or older.ended or not _is_state(was):
        return None
    if names_several(was):
        return None
    return _update("no_longer") if _is_about(was, newer.claim.terms) else None


def _by_replacement(older: Reading, newer: Reading) -> Verdict | None:
    """Compare "from X to Y" and "Y instead of X" with a statement of X."""
    was = older.claim
    for old in newer.replaced:
        if old <= was.terms and not was.denies and _is_state(was):
            return _update("replaced") if _is_about(was, old | newer.claim.terms) else None
    return None


def ends_something(text: str) -> bool:
    """Whether the wording of a text says that something ended or was replaced."""
    return patterns.has(
        f"{_ENDED}|{patterns.unnamed(_FROM_TO)}|{patterns.unnamed(_REPLACED)}", text
    )


def _replaced(text: str) -> Iterator[frozenset[str]]:
    for pattern in (_FROM_TO, _REPLACED):
        match = patterns.compile(pattern, ignore_case=True).search(text)
        given = {} if match is None else match.groupdict()
        old = stems(given.get("old") or given.get("old2") or "")
        new = stems(given.get("new") or given.get("new2") or "")
        if old - new:
            yield old - new


def _is_about(claim: Claim, said: frozenset[str]) -> bool:
    """Whether a claim adds at most :data:`MAX_EXTRA_TERMS` terms to some given ones."""
    return len(claim.terms - said - stems_of(_POSSESSES)) <= MAX_EXTRA_TERMS


def _is_state(claim: Claim) -> bool:
    return not claim.is_past and not claim.is_supposed


def _by_figure(older: Reading, newer: Reading) -> Verdict | None:
    was, now = older.claim, newer.claim
    if not differ_in_one_figure(was, now) or was.denies or now.denies or now.adds:
        return None
    common, fewer = was.terms & now.terms, min(len(was.terms), len(now.terms))
    met = len(common) >= 2 and len(common) >= 0.4 * fewer
    whole = common and len(common) == fewer and patterns.has(_OF_ONE, was.text)
    if now.changes and (met or whole) and (was.changes or not was.is_past):
        return _update("figure")
    same = common and was.terms == now.terms and not (was.is_past or now.is_past)
    return _update("figure") if same and patterns.has(_IS, now.text) else None


def _by_denial(older: Reading, newer: Reading) -> Verdict | None:
    was, now = older.claim, newer.claim
    met = was.terms & now.terms
    if not met or was.denies == now.denies or was.is_supposed or now.is_supposed:
        return None
    denying = was if was.denies else now
    enough = len(met) >= 2 and len(met) >= 0.67 * len(denying.terms)
    same = was.terms == now.terms and len(met) >= 2
    whole = _says_one_thing(was) and _says_one_thing(now)
    if not enough and not same and not whole and not _denies_any(denying, met):
        return None
    if was.is_open or (was.denies and patterns.has(_AGAIN, now.text)) or newer.ended:
        return _update("denial")
    return _contradiction("denial")


def _says_one_thing(claim: Claim) -> bool:
    """Whether a claim says one word of the speaker, as in "The user is not married"."""
    return patterns.compile(_SAYS_ONE_THING, ignore_case=True).match(claim.text) is not None


def _denies_any(denying: Claim, met: frozenset[str]) -> bool:
    """Whether it denies each of several things: "never attended any workshop or course"."""
    match = patterns.compile(_NEVER_ANY, ignore_case=True).search(denying.text)
    done = frozenset[str]() if match is None else stems(match.group("done") or "")
    return bool(done) and done <= met and len(met) > len(done)


def _by_pair(older: Reading, newer: Reading) -> Verdict | None:
    was, now = older.claim, newer.claim
    for pair in newer.opposites:
        common = now.terms - pair
        if pair not in older.opposites or now.terms == was.terms or common != was.terms - pair:
            continue
        if common and was.denies == now.denies:
            return _update("antonym") if now.changes else _contradiction("antonym")
    return None


_OF_FIGURES = (_by_slot, _by_figure)
"""The only rules for claims with different figures."""

_JUDGES = (
    _by_slot,
    _by_stance,
    _by_end,
    _by_replacement,
    _by_figure,
    _by_denial,
    _by_pair,
)


@cache
def _opposites() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(analyse(" ".join(sorted(pair)))) for pair in _ANTONYMS)
