"""Detect prompt injection: external texts written to command a model.

Three detectors read the text and what is encoded in it: invisible characters, rules on wording, and
a classifier on its sentences. They only find. Trust labels decide what follows; texts of the user
are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from simonides.domain.writing.finding import Concern, Finding, Severity
from simonides.hygiene.injection import classifier as poison_classifier
from simonides.hygiene.injection.obfuscation import View, mixed_words, views
from simonides.hygiene.injection.patterns import ADDRESSED, POISON_RULES
from simonides.text import patterns

CLASSIFIER = "classifier"
TAGS, BIDI, UNSEEN, LOOK_ALIKES = (
    "tag-characters",
    "bidi-override",
    "unseen-characters",
    "look-alikes",
)

WINDOW = 400
"""Characters that the classifier reads at once: it judges an attack in a long page by itself."""

_MAX_WINDOWED = 8_192
"""Longer texts are classified by sentence only, to save time."""

_SHORTEST_SENTENCE = 20
_SENTENCE_ENDS = (". ", "! ", "? ", "。", "！", "？")

UNSURE = frozenset({CLASSIFIER, ADDRESSED})
"""Rules that are only suspicious: people also write like that, to thank or greet an assistant."""

_ANY_RULE = "|".join(f"(?:{rule.pattern})" for rule in POISON_RULES)

# A flag emoji is a black flag, tags and a cancel tag; other tags are invisible ASCII.
_FLAG = r"\x{1F3F4}[\x{E0020}-\x{E007E}]{1,8}\x{E007F}"
_TAG = r"[\x{E0020}-\x{E007E}]+"
_OVERRIDE = r"[\x{202D}\x{202E}][^\x{202C}]*"
# Persian letters and emoji need joiners; ASCII letters do not.
_SPLIT = r"(?:[A-Za-z]+[\x{AD}\x{200B}-\x{200F}\x{2060}-\x{2064}\x{FEFF}]+){2,}[A-Za-z]"


def find(text: str) -> tuple[Finding, ...]:
    """Return what looks like a command to a model in an external text, by position.

    Findings do not overlap: the most severe wins, then the first in the order of the rules. Time is
    linear in the text.
    """
    found = [*_hidden_characters(text)]
    read = views(text)
    for view in read:
        found += _by_rules(view)
    found += _by_classifier(read)
    kept: list[Finding] = []
    # A suspicious finding must not hide a severe one.
    for finding in sorted(found, key=lambda each: each.severity is Severity.SUSPICIOUS):
        if not any(finding.start < other.end and other.start < finding.end for other in kept):
            kept.append(finding)
    return tuple(sorted(kept, key=lambda finding: finding.start))


def pieces(text: str) -> list[tuple[int, int]]:
    """Return the spans of a text that the classifier reads: windows, then sentences."""
    found = windows(text) if len(text) <= _MAX_WINDOWED else []
    if len(text) > _SHORTEST_SENTENCE:
        found += [place for place in sentences(text) if place not in found[:1]]
    return found or [(0, len(text))]


def windows(text: str) -> list[tuple[int, int]]:
    """Return the spans of half-overlapping windows, which end at a word if a space is near."""
    found, start = [], 0
    while True:
        end = _before_word(text, start + WINDOW)
        found.append((start, end))
        if end >= len(text):
            return found
        start = max(_before_word(text, start + (end - start) // 2), start + 1)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the spans of sentences of 20 characters or more, cut at the length of a window."""
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


def _hidden_characters(text: str) -> Iterator[Finding]:
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
    # One pass rules out nearly all texts.
    if patterns.compile(_ANY_RULE).search(view.text) is None:
        return
    for rule in POISON_RULES:
        if (match := patterns.compile(rule.pattern).search(view.text)) is not None:
            yield _finding(rule.name, *view.place(*match.span()))


def _by_classifier(read: list[View]) -> Iterator[Finding]:
    """Yield the likeliest piece of each view, if it reaches the threshold.

    A longer text has more pieces that may look bad by chance. So the threshold rises with the
    number of windows in the text.
    """
    places = [pieces(view.text) for view in read]
    texts = [
        poison_classifier.classifier_text(view.text[start:end])
        for view, of_view in zip(read, places, strict=True)
        for start, end in of_view
    ]
    scores = iter(poison_classifier.probabilities(texts))
    for view, of_view in zip(read, places, strict=True):
        score, (start, end) = max(zip(islice(scores, len(of_view)), of_view, strict=True))
        if score >= poison_classifier.threshold(windows=len(view.text) / WINDOW):
            yield _finding(CLASSIFIER, *view.place(start, end), score=round(score, 3))


def _finding(rule: str, start: int, end: int, score: float = 1.0) -> Finding:
    severity = Severity.SUSPICIOUS if rule in UNSURE else Severity.HIGH
    return Finding(Concern.POISON, rule, severity, start, end, score)
