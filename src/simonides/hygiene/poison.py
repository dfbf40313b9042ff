"""Poison: texts from outside that were written to command whoever reads them (HY-6).

Three looks, at the text and at what is hidden in it: signs that nobody sees, rules on wording, and
a classifier on its sentences. What a user says himself is no business of this detector: labels
decide (FX-5), this only finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from simonides.domain.findings import Concern, Finding, Severity
from simonides.hygiene import poison_classifier
from simonides.hygiene.disguises import View, mixed_words, views
from simonides.hygiene.poison_rules import ADDRESSED, POISON_RULES
from simonides.language import patterns

CLASSIFIER = "classifier"
TAGS, BIDI, UNSEEN, LOOK_ALIKES = (
    "tag-characters",
    "bidi-override",
    "unseen-characters",
    "look-alikes",
)

WINDOW = 400
"""Characters that the classifier reads at once: an attack in a long page is seen by itself."""

_DENSE = 8_192
"""Of longer texts only sentences are read, for the time it takes."""

_SHORTEST_SENTENCE = 20
_SENTENCE_ENDS = (". ", "! ", "? ", "。", "！", "？")

UNSURE = frozenset({CLASSIFIER, ADDRESSED})
"""Rules that are suspicious only: people talk like that too, and thank or greet an assistant."""

_ANY_RULE = "|".join(f"(?:{rule.pattern})" for rule in POISON_RULES)

# A flag is a black flag and tags with a cancel tag; tags elsewhere are ASCII that nobody sees.
_FLAG = r"\x{1F3F4}[\x{E0020}-\x{E007E}]{1,8}\x{E007F}"
_TAG = r"[\x{E0020}-\x{E007E}]+"
_OVERRIDE = r"[\x{202D}\x{202E}][^\x{202C}]*"
# Joiners are letters' business in Persian and emoji's; between letters of ASCII they are nobody's.
_SPLIT = r"(?:[A-Za-z]+[\x{AD}\x{200B}-\x{200F}\x{2060}-\x{2064}\x{FEFF}]+){2,}[A-Za-z]"


def find(text: str) -> tuple[Finding, ...]:
    """Return what in a text from outside looks like a command to a model, by place.

    Places do not overlap: of several findings in one place the gravest stands, of those the first
    in the order of the rules. Time is linear in the text.
    """
    found = [*_unseen(text)]
    read = views(text)
    for view in read:
        found += _by_rules(view)
    found += _by_classifier(read)
    kept: list[Finding] = []
    # What is only suspicious must not hide what is not.
    for finding in sorted(found, key=lambda each: each.severity is Severity.SUSPICIOUS):
        if not any(finding.start < other.end and other.start < finding.end for other in kept):
            kept.append(finding)
    return tuple(sorted(kept, key=lambda finding: finding.start))


def pieces(text: str) -> list[tuple[int, int]]:
    """Return the places of all that the classifier reads of a text: windows, then sentences."""
    found = windows(text) if len(text) <= _DENSE else []
    if len(text) > _SHORTEST_SENTENCE:
        found += [place for place in sentences(text) if place not in found[:1]]
    return found or [(0, len(text))]


def windows(text: str) -> list[tuple[int, int]]:
    """Return the places of windows over a text, in order, each overlapping the next by half.

    They end where a word ends, if there is a space near.
    """
    found, start = [], 0
    while True:
        end = _before_word(text, start + WINDOW)
        found.append((start, end))
        if end >= len(text):
            return found
        start = max(_before_word(text, start + (end - start) // 2), start + 1)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the places of sentences and lines that say enough to be judged, in order.

    One that is longer than a window is cut.
    """
    found, start = [], 0
    for mark in _SENTENCE_ENDS:
        text = text.replace(mark, mark[0] + "\n" if len(mark) > 1 else "\n")
    for line in text.split("\n"):
        for at in range(start, start + len(line), WINDOW):
            end = min(at + WINDOW, start + len(line))
            if end - at >= _SHORTEST_SENTENCE:
                found.append((at, end))
        start += len(line) + 1
    return found


def _before_word(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    space = text.rfind(" ", at - WINDOW // 8, at)
    return space + 1 if space >= 0 else at


def _unseen(text: str) -> Iterator[Finding]:
    """Yield places of signs that are there to be read by machines only."""
    if text.isascii():
        return
    flags = [match.span() for match in patterns.compile(_FLAG).finditer(text)]
    for match in patterns.compile(_TAG).finditer(text):
        if not any(start <= match.span()[0] < end for start, end in flags):
            yield _finding(TAGS, *match.span())
    for rule, pattern in ((BIDI, _OVERRIDE), (UNSEEN, _SPLIT)):
        if (seen := patterns.compile(pattern).search(text)) is not None:
            yield _finding(rule, *seen.span())
    if len(mixed := mixed_words(text)) > 1:
        yield _finding(LOOK_ALIKES, mixed[0][0], mixed[-1][1])


def _by_rules(view: View) -> Iterator[Finding]:
    # One pass says for nearly all texts that no rule matches.
    if patterns.compile(_ANY_RULE).search(view.text) is None:
        return
    for rule in POISON_RULES:
        if (match := patterns.compile(rule.pattern).search(view.text)) is not None:
            yield _finding(rule.name, *view.place(*match.span()))


def _by_classifier(read: list[View]) -> Iterator[Finding]:
    """Yield the likeliest piece of each view, if it is likely enough.

    The longer a text, the more pieces get their chance to look bad: the odds that are asked for
    rise with the number of windows that it fills.
    """
    places = [pieces(view.text) for view in read]
    texts = [
        poison_classifier.shaped(view.text[start:end])
        for view, of_view in zip(read, places, strict=True)
        for start, end in of_view
    ]
    scores = iter(poison_classifier.probabilities(texts))
    for view, of_view in zip(read, places, strict=True):
        score, (start, end) = max(zip(islice(scores, len(of_view)), of_view, strict=True))
        if score >= poison_classifier.threshold(fills=len(view.text) / WINDOW):
            yield _finding(CLASSIFIER, *view.place(start, end), score=round(score, 3))


def _finding(rule: str, start: int, end: int, score: float = 1.0) -> Finding:
    severity = Severity.SUSPICIOUS if rule in UNSURE else Severity.HIGH
    return Finding(Concern.POISON, rule, severity, start, end, score)
