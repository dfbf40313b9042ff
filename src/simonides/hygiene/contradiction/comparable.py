"""Decide whether two claims have the same subject, before their contents are compared.

"I no longer drink coffee" says nothing of what Anna drinks. A fact about port 8081 says nothing of
port 8080. In doubt the subjects differ: losing a true statement is worse than keeping a false one.
The rules are for English.
"""

from __future__ import annotations

from collections import Counter

from simonides.hygiene.contradiction.claims import Claim
from simonides.hygiene.contradiction.figures import Measure
from simonides.text import analyse, patterns

_SELF = ("self",)
_I = frozenset("i i'm im i've ive i'd we we're we've we'd user".split())
_IMPERATIVES = frozenset(
    "don't dont do never please no not stop always avoid use prefer keep leave enough quit".split()
)
_FILLERS = frozenset("actually well so now currently recently lately also and but today".split())
_DETERMINERS = frozenset("my our the a an his her their this that user's".split())
_VERB = (
    r"\b(?:is|are|was|were|has|have|had|costs?|takes?|starts?|ends?|opens?|closes?|allows?|weighs?"
    r"|equals?|will|can|does|did|needs?|uses?|lives?|works?|moved|changed|isn't|aren't|doesn't)\b"
)
_CONJUNCTIONS = r"\b(?:and|or)\b|[,&]"


def have_same_subject(older: Claim, newer: Claim) -> bool:
    """Whether two claims are about one subject."""
    was, now = _subject(older.text), _subject(newer.text)
    if was == now:
        return True
    if now == _SELF and len(was) == 2 and older.figures and newer.figures:
        # "My budget is $50", then "I've adjusted the budget to $75".
        return newer.changes and was[0] in _DETERMINERS and set(analyse(was[1])) <= newer.terms
    if _SELF in (was, now) or not was or not now:
        return False
    shorter = min(len(was), len(now))
    least = 2 if was[0] in _DETERMINERS else 1
    # In a claim without a known verb the subject may continue after the words that were read.
    return shorter >= least and was[:shorter] == now[:shorter] and shorter in (len(was), len(now))


def figures_agree(older: Claim, newer: Claim) -> bool:
    """Whether one claim has no figures, or both have the same values."""
    was, now = ({f.value for f in each.figures} for each in (older, newer))
    return not was or not now or was == now


def differ_in_one_figure(older: Claim, newer: Claim) -> bool:
    """Whether two claims differ in one figure of one measure and unit that is no name."""
    was, now = (
        Counter((f.measure, f.unit, f.value) for f in each.figures) for each in (older, newer)
    )
    removed, added = list((was - now).elements()), list((now - was).elements())
    if len(removed) != 1 or len(added) != 1:
        return False
    return removed[0][:2] == added[0][:2] and added[0][0] is not Measure.NAMED


def names_several(claim: Claim) -> bool:
    """Whether a claim joins several things by "and", "or", a comma or "&"."""
    return patterns.has(_CONJUNCTIONS, claim.text)


def _subject(text: str) -> tuple[str, ...]:
    """Return the words of a claim before its verb, or ``_SELF`` if the speaker is the subject."""
    plain = text.lower().replace("\u2019", "'").replace("favour", "favor")
    words = plain.lstrip("\"'( ").split()
    while words and words[0].strip(",") in _FILLERS:
        del words[0]
    if not words:
        return ()
    first = words[0].strip(",:;")
    if first in _I or first in _IMPERATIVES or (first == "the" and words[1:2] == ["user"]):
        return _SELF
    plain = " ".join(words)
    verb = patterns.compile(_VERB, ignore_case=True).search(plain)
    if verb is not None and verb.span()[0] > 0:
        head = plain[: verb.span()[0]].split()
        return tuple(word.strip(",:;") for word in head)
    return tuple(words[: 1 if first not in _DETERMINERS else 2])
