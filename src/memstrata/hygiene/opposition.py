"""Whether a newer statement contradicts an older one, updates it, or neither: by rules (HY-3).

Two claims are compared only where they are about the same: the same slot of the same subject, the
same thing that somebody is for or against, or the same words but for what tells them apart. What
adds, supposes, asks or tells of an occasion opposes nothing. Where the wording says that something
has changed it is an update, else a contradiction, but for slots, stances and figures that hold one
value at a time: there the later word is the news.

Made for not taking a true statement away rather than for finding much: an update displaces what
stood, so its rules ask for more than those of a contradiction, which keeps both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memstrata.domain.opposition import NEITHER, Relation, Verdict
from memstrata.hygiene.claims import Claim, claims, has, stems
from memstrata.hygiene.figures import Figure, Measure
from memstrata.hygiene.slots import slots, values_differ
from memstrata.hygiene.stances import lifts, stance
from memstrata.language import patterns
from memstrata.language.analyser import analyse

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
_GONE = (
    r"\b(?:no longer|not .{1,60} any ?more|n't .{1,60} any ?more|stopped|quit|gave up|given up"
    r"|used to|got rid of|cancell?ed|ceased|dropped|sold|broke up with|left)\b\s*(?P<what>.*)"
)
_FROM_TO = (
    r"\b(?:switched|switching|changed|moved|migrated|converted|upgraded|went|swapped)\b.{0,40}?"
    r"\bfrom\s+(?P<old>.{2,50}?)\s+to\s+(?P<new>.+)"
)
_REPLACED = (
    r"\b(?:replaced|swapped|traded(?: in)?|ditched)\s+(?P<old>.{2,50}?)\s+(?:with|by|for)\s+(?P<new>.+)"
    r"|\b(?P<new2>\S.{1,50}?)\s+instead of\s+(?P<old2>.{2,50})$"
)
_IS = r"\b(?:is|are|costs?|has|have|takes?|starts?|ends?|opens?|closes?|due|allows?|weighs?|equals?)\b"
_OF_ONE = r"^(?:the|my|our|his|her|their|\w+'s)\s.*" + _IS
_POSSESSES = stems("have has own owns drink drinks eat eats play plays drive drives work works live"
                   " lives like likes love loves prefer prefers enjoy enjoys am is")  # fmt: skip
_AGAIN = r"\b(?:finally|now|since|again|started|just|at last|for the first time)\b"

MOST_BESIDE = 3
"""Terms that a statement may have besides what is said to be over; chosen: with more it is about
something else, in which that occurs."""


def compare(older: str, newer: str) -> Verdict:
    """Say what a newer statement of somebody does to an older one of the same person.

    Pure, deterministic, linear in both texts; symmetric in nothing: the later word counts.
    """
    return compare_claims(claims(older), claims(newer))


def compare_claims(older: Sequence[Claim], newer: Sequence[Claim]) -> Verdict:
    """Say what claims of a newer statement do to those of an older one; an update goes before a
    contradiction.
    """
    found = [
        verdict
        for later in newer
        if not later.supposed or later.changes
        for earlier in older
        for verdict in _verdicts(earlier, later)
    ]
    updates = (verdict for verdict in found if verdict.relation is Relation.UPDATE)
    return next(updates, found[0] if found else NEITHER)


def _verdicts(older: Claim, newer: Claim) -> Iterator[Verdict]:
    for judge in (_by_slot, _by_stance, _by_end, _by_replacement, _by_figure, _by_denial, _by_pair):
        verdict = judge(older, newer)
        if verdict is not None:
            yield verdict
            return


def _update(rule: str) -> Verdict:
    return Verdict(Relation.UPDATE, rule)


def _contradiction(rule: str) -> Verdict:
    return Verdict(Relation.CONTRADICTION, rule)


def _by_slot(older: Claim, newer: Claim) -> Verdict | None:
    for old in slots(older):
        for new in slots(newer):
            if old[:2] == new[:2] and values_differ(old, new):
                rule = f"slot:{new.name.replace(' ', '_')}"
                return _contradiction(rule) if new.is_fixed else _update(rule)
    return None


def _by_stance(older: Claim, newer: Claim) -> Verdict | None:
    new, old = stance(newer), stance(older)
    return _update("stance") if new and old and lifts(new, old) else None


def _by_end(older: Claim, newer: Claim) -> Verdict | None:
    """Read "I no longer …" against what it says is over."""
    if older.denies or older.supposed:
        return None
    match = patterns.compile(_GONE, ignore_case=True).search(newer.text)
    if match is None:
        return None
    over = newer.terms - _POSSESSES
    beside = older.terms - newer.terms - _POSSESSES
    if over and over <= older.terms and len(beside) <= MOST_BESIDE and _is_state(older):
        return _update("no_longer")
    return None


def _by_replacement(older: Claim, newer: Claim) -> Verdict | None:
    """Read "from X to Y" and "Y instead of X" against a statement that has X."""
    for pattern in (_FROM_TO, _REPLACED):
        match = patterns.compile(pattern, ignore_case=True).search(newer.text)
        if match is None:
            continue
        given = match.groupdict()
        gone = stems(given.get("old") or given.get("old2") or "")
        come = stems(given.get("new") or given.get("new2") or "")
        beside = older.terms - gone - newer.terms - _POSSESSES
        names = gone - come and (gone - come) <= older.terms and not come <= older.terms
        if names and not older.denies and len(beside) <= MOST_BESIDE and _is_state(older):
            return _update("replaced")
    return None


def _is_state(claim: Claim) -> bool:
    return not claim.past and not claim.supposed


def _by_figure(older: Claim, newer: Claim) -> Verdict | None:
    """Read two figures of one thing."""
    if older.denies or newer.denies or newer.adds:
        return None
    pair = _differing(older.figures, newer.figures)
    if pair is None:
        return None
    common, fewer = older.terms & newer.terms, min(len(older.terms), len(newer.terms))
    same = older.terms == newer.terms and bool(common)
    met = len(common) >= 2 and len(common) >= 0.4 * fewer
    whole = common and len(common) == fewer and has(_OF_ONE, older.text)
    if newer.changes and not older.past and (met or whole):
        return _update("figure")
    if not same or newer.past or older.past:
        return None
    return _update("figure") if has(_IS, newer.text) else _contradiction("figure")


def _differing(older: Sequence[Figure], newer: Sequence[Figure]) -> tuple[Figure, Figure] | None:
    """Return two figures that count the same and differ, unless one side has both values."""
    for new in newer:
        if new.measure is Measure.NAMED:
            continue
        like = [old for old in older if (old.measure, old.unit) == (new.measure, new.unit)]
        if not like or new.value in {old.value for old in like}:
            continue
        return like[0], new
    return None


def _by_denial(older: Claim, newer: Claim) -> Verdict | None:
    """Read two claims of which one denies what the other says."""
    if older.denies == newer.denies or older.supposed or newer.supposed:
        return None
    denying, saying = (older, newer) if older.denies else (newer, older)
    denied = denying.terms
    met = denied & saying.terms
    enough = len(met) >= 2 and len(met) >= 0.67 * len(denied)
    if not (enough or (denied == saying.terms and met)):
        return None
    if older.open or (older.denies and has(_AGAIN, newer.text)) or has(_GONE, newer.text):
        return _update("denial")
    return _contradiction("denial")


def _by_pair(older: Claim, newer: Claim) -> Verdict | None:
    """Read two claims that are the same but for one of two antonyms."""
    if older.denies != newer.denies or older.past != newer.past:
        return None
    mine, theirs = set(newer.text.lower().split()), set(older.text.lower().split())
    for pair in _ANTONYMS:
        new, old = pair & mine, pair & theirs
        if len(new) != 1 or len(old) != 1 or new == old:
            continue
        apart = frozenset(analyse(" ".join(pair)))
        common = newer.terms - apart
        if common and common == older.terms - apart:
            return _update("antonym") if newer.changes else _contradiction("antonym")
    return None
