"""Whether two claims speak of the same thing at all, before anything in them is compared.

"I no longer drink coffee" says nothing of what Anna drinks, and what is true of port 8081 nothing
of port 8080. Where it is not plain that both are about one, they are not: a true statement that is
taken away is worse than a false one that stays until somebody sees it. English.
"""

from __future__ import annotations

from collections import Counter

from simonides.hygiene.claims import Claim, has
from simonides.hygiene.figures import Measure
from simonides.language import patterns
from simonides.language.analyser import analyse

_SELF = ("self",)
_I = frozenset("i i'm im i've ive i'd we we're we've we'd user".split())
_BIDS = frozenset(
    "don't dont do never please no not stop always avoid use prefer keep leave enough quit".split()
)
_LEAD = frozenset("actually well so now currently recently lately also and but today".split())
_OF_SOMEBODY = frozenset("my our the a an his her their this that user's".split())
_VERB = (
    r"\b(?:is|are|was|were|has|have|had|costs?|takes?|starts?|ends?|opens?|closes?|allows?|weighs?"
    r"|equals?|will|can|does|did|needs?|uses?|lives?|works?|moved|changed|isn't|aren't|doesn't)\b"
)
_SEVERAL = r"\b(?:and|or)\b|[,&]"


def are_of_one(older: Claim, newer: Claim) -> bool:
    """Whether two claims are about one subject."""
    was, now = _subject(older.text), _subject(newer.text)
    if was == now:
        return True
    if now == _SELF and len(was) == 2 and older.figures and newer.figures:
        # "My budget is $50", then "I've adjusted the budget to $75".
        return newer.changes and was[0] in _OF_SOMEBODY and set(analyse(was[1])) <= newer.terms
    if _SELF in (was, now) or not was or not now:
        return False
    shorter = min(len(was), len(now))
    least = 2 if was[0] in _OF_SOMEBODY else 1
    # Of one no verb was found, and the subject may go on.
    return shorter >= least and was[:shorter] == now[:shorter] and shorter in (len(was), len(now))


def figures_agree(older: Claim, newer: Claim) -> bool:
    """Whether no figure of one is another in the other: a day, a year, the number of a thing."""
    was, now = ({f.value for f in each.figures} for each in (older, newer))
    return not was or not now or was == now


def is_one_figure_another(older: Claim, newer: Claim) -> bool:
    """Whether two claims have the same figures but for one, of one measure, that is no name."""
    was, now = (
        Counter((f.measure, f.unit, f.value) for f in each.figures) for each in (older, newer)
    )
    gone, come = list((was - now).elements()), list((now - was).elements())
    if len(gone) != 1 or len(come) != 1:
        return False
    return gone[0][:2] == come[0][:2] and come[0][0] is not Measure.NAMED


def names_several(claim: Claim) -> bool:
    """Whether a claim says something of more than one thing."""
    return has(_SEVERAL, claim.text)


def _subject(text: str) -> tuple[str, ...]:
    """Return the words that a claim begins with, up to its verb; one word for whoever speaks."""
    plain = text.lower().replace("\u2019", "'").replace("favour", "favor")
    words = plain.lstrip("\"'( ").split()
    while words and words[0].strip(",") in _LEAD:
        del words[0]
    if not words:
        return ()
    first = words[0].strip(",:;")
    if first in _I or first in _BIDS or (first == "the" and words[1:2] == ["user"]):
        return _SELF
    plain = " ".join(words)
    verb = patterns.compile(_VERB, ignore_case=True).search(plain)
    if verb is not None and verb.span()[0] > 0:
        head = plain[: verb.span()[0]].split()
        return tuple(word.strip(",:;") for word in head)
    return tuple(words[: 1 if first not in _OF_SOMEBODY else 2])
