"""Splits a turn into sentences, without code, quotations, pasted text and very long parts.

Positions are characters of the turn's text; plain text has the same length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from simonides.capture import cues
from simonides.text import patterns

# Bounds of the work on one turn; they keep 64 KiB of any text under 50 ms. A longer sentence rarely
# states a fact. A longer turn is mostly pasted, and statements about the user are at its head or
# tail.
MAX_SENTENCE_CHARS = 600
HEAD_CHARS = 6_000
TAIL_CHARS = 3_000
MAX_HEAD_SENTENCES = 40
MAX_TAIL_SENTENCES = 20

PASTED = "pasted_material"
TOO_LONG = "too_long"

_PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00b4": "'", "\u201c": '"', "\u201d": '"',
     "\u00ab": '"', "\u00bb": '"', "\u300c": '"', "\u300d": '"', "\u300e": '"', "\u300f": '"',
     "\u00a0": " ", "\u202f": " ", "\t": " ", "\r": " ",
     "\0": "\n"} | {chr(code): "\n" for code in range(0xD800, 0xE000)}
)  # fmt: skip


class Cues:
    """Patterns that are searched for together in one pass, ignoring case."""

    def __init__(self, *cues: str, at_start: bool = False) -> None:
        """Set the patterns; they are compiled at the first search.

        Args:
            cues: Patterns in RE2 syntax.
            at_start: As for :class:`~simonides.text.patterns.Hints`.
        """
        self._cues = cues
        self._at_start = at_start

    @cached_property
    def _hints(self) -> patterns.Hints:
        return patterns.Hints(self._cues, at_start=self._at_start)

    def matching(self, text: str) -> list[str]:
        """Return the patterns that match a text."""
        return [self._cues[place] for place in self._hints.in_text(text)]


_OPENINGS = Cues(cues.BULLET, cues.INLINE_MATERIAL, at_start=True)


def plain_text(text: str) -> str:
    """Return the text with plain apostrophes and spaces, character for character."""
    # Only the parts that are read are translated: on 64 KiB a full pass is a third of all the work.
    tail = len(text) - TAIL_CHARS
    if tail <= HEAD_CHARS:
        return text.translate(_PLAIN)
    head = text[:HEAD_CHARS].translate(_PLAIN)
    return head + text[HEAD_CHARS:tail] + text[tail:].translate(_PLAIN)


def sentences(plain: str, notes: list[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence to read, and note the reasons for omissions.

    Of a long text only head and tail are read; after "proofread this:" nothing is.
    """
    masked = _masked(plain)
    for start, end in _windows(plain, notes):
        if end - start > MAX_SENTENCE_CHARS:
            notes.append(TOO_LONG)
            continue
        start += len(plain[start:end]) - len(plain[start:end].lstrip())
        matching = _OPENINGS.matching(plain[start:end])
        if cues.BULLET in matching:
            start += length_of(cues.BULLET, plain[start:end])
            matching = _OPENINGS.matching(plain[start:end])
        if _is_material(plain, start, end):
            notes.append(PASTED)
            return
        inline = cues.INLINE_MATERIAL in matching
        colon = length_of(cues.INLINE_MATERIAL, plain[start:end]) if inline else 0
        if start < end and not _covered(masked, start):
            yield start, start + colon if colon else end
        if colon:
            notes.append(PASTED)
            return


def _windows(plain: str, notes: list[str]) -> Iterator[tuple[int, int]]:
    if len(plain) <= HEAD_CHARS + TAIL_CHARS:
        yield from _cut(plain, 0, len(plain), notes)
        return
    notes.append(TOO_LONG)
    yield from islice(_spans(plain, 0, HEAD_CHARS), MAX_HEAD_SENTENCES)
    tail = plain.rfind("\n", 0, len(plain) - TAIL_CHARS // 2)
    tail = max(tail, len(plain) - TAIL_CHARS)
    yield from deque(_spans(plain, tail, len(plain)), MAX_TAIL_SENTENCES)


def _cut(plain: str, start: int, end: int, notes: list[str]) -> Iterator[tuple[int, int]]:
    limit = MAX_HEAD_SENTENCES + MAX_TAIL_SENTENCES
    spans = list(islice(_spans(plain, start, end), 8 * limit))
    if len(spans) > limit:
        notes.append(TOO_LONG)
        spans = spans[:MAX_HEAD_SENTENCES] + spans[-MAX_TAIL_SENTENCES:]
    yield from spans


def _spans(plain: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    window = plain[start:end]
    begun = 0
    for match in patterns.compile(cues.SENTENCE_END).finditer(window):
        stop, after = match.span()
        mark = window[stop : stop + 1]
        if mark == "." and (
            _is_abbreviation(window[max(begun, stop - 8) : stop])
            or _is_day(window[max(begun, stop - 3) : stop], window[after : after + 12])
        ):
            continue
        closing = stop + 1 if mark and mark in ".!?…。！？" else stop
        if window[begun:closing].strip():
            yield start + begun, start + closing
        begun = after
    if window[begun:].strip():
        yield start + begun, start + len(window.rstrip())


def _is_abbreviation(before: str) -> bool:
    word = before.replace("(", " ").rsplit(maxsplit=1)[-1:] or [""]
    return word[0].lower() in cues.ABBREVIATIONS or (len(word[0]) == 1 and word[0].isupper())


def _is_day(before: str, after: str) -> bool:
    """Whether a full stop belongs to a day: "am 3. Mai"."""
    day = before.rsplit(maxsplit=1)[-1:] or [""]
    month = after.split(maxsplit=1)[:1] or [""]
    return day[0].isdecimal() and month[0].lower().rstrip(".,;:!?") in cues.MONTHS_OF_DAYS


def _is_material(plain: str, start: int, end: int) -> bool:
    # "Proofread this:" announces another author's text, so that no statement follows.
    if not plain[start:end].endswith(":") or end >= len(plain):
        return False
    return at_start(cues.MATERIAL, plain[start:end]) is not None


def _masked(plain: str) -> list[tuple[int, int]]:
    """Return the disjoint spans of code and quotations, by start, in the parts that are read."""
    tail = len(plain) - TAIL_CHARS
    if tail <= HEAD_CHARS:
        return _merged(sorted(_marked(plain, 0, len(plain))))
    spans = _marked(plain, 0, HEAD_CHARS)
    if plain.count("```", 0, tail) % 2:
        # Code that begins in the skipped part masks the text up to its end.
        closing = plain.find("```", tail)
        closing = closing + 3 if closing >= 0 else len(plain)
        spans.append((tail, closing))
        tail = closing
    return _merged(sorted(spans + _marked(plain, tail, len(plain))))


def _marked(plain: str, low: int, high: int) -> list[tuple[int, int]]:
    window = plain[low:high]
    return [
        (low + span[0], low + span[1])
        for pattern, group in cues.MASKS
        for span in (match.span(group) for match in patterns.compile(pattern).finditer(window))
    ]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _covered(spans: list[tuple[int, int]], place: int) -> bool:
    last = bisect_right(spans, (place, len(_PLAIN) << 32)) - 1
    return last >= 0 and spans[last][0] <= place < spans[last][1]


def find(pattern: str, text: str) -> patterns.Match | None:
    """Return the first match anywhere, in any case."""
    return patterns.compile(pattern, ignore_case=True).search(text)


def at_start(pattern: str, text: str) -> patterns.Match | None:
    """Return the match at the start, in any case."""
    return patterns.compile(pattern, ignore_case=True).match(text)


def length_of(pattern: str, text: str) -> int:
    """Return how long the match at the start is, 0 without one."""
    match = at_start(pattern, text)
    return match.span()[1] if match else 0


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question does."""
    return sentence.rstrip(" \"')*]!").endswith(("?", "？"))


def trimmed(text: str) -> str:
    """Return a clause without its closing marks."""
    end = len(text)
    while end and not (text[end - 1].isalnum() or text[end - 1] in ")\"'%+#/]》"):
        end -= 1
    # A quotation mark opened before the clause does not belong to it.
    if (
        end
        and text[end - 1] in "\"')"
        and text.count(text[end - 1], 0, end) == 1
        and (text[end - 1] != ")" or "(" not in text)
    ):
        end -= 1
    return text[:end].rstrip(" .,;:!?")
