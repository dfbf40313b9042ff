"""Cuts text into sentences, in ten languages, and sentences into main clauses."""

from __future__ import annotations

import re
from itertools import chain, islice, pairwise

from simonides.capture.wordings import is_adverbial, plain, shape
from simonides.text.patterns import spans
from simonides.text.words import listed

MAX_SENTENCES = 1_000
"""What follows so many sentences is one more sentence. Chosen: it bounds the time."""

MAX_CLAUSE_CHARS = 1_000
"""A longer sentence is not cut into clauses. Set by judgement."""

MAX_ADVERB_CHARS = 60
"""A longer part of a sentence is no mere adverbial. Set by judgement."""

MAX_CLAUSES = 7
"""What follows so many clauses of a sentence belongs to the last. Chosen: it bounds the time."""

MOST_NAMING_WORDS = 3
"""A quotation of more words says something; one of fewer is a name. Chosen."""

_QUOTE = re.compile(
    r"[“„«「『][^“”„«»「」『』]{4,}[”“»」』]|\"[^\"\n]{8,}\"|(?<![\w'])'(?! )[^'\n]{8,}'(?!\w)"
)
_END = r"([.!?…]+[\"'”’»)\]*_]*\s+|[。！？]+[”」』）\s]*|\s*\n\s*)"
_HAN_END = re.compile(r"[。！？][\"']")
_EMOJI_END = r"([\x{1F300}-\x{1FAFF}\x{2600}-\x{27BF}\x{FE0F}\x{200D}]+\s+)\p{Lu}"
_SIGN = (
    "[\u00ad\u00b7\u200b-\u200f\u2022-\u2023\u2060-\u2064\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\ufe0f\ufeff\U0001f000-\U0001faff]"
)
_BULLET = re.compile(
    rf"\A(?:\s*(?:{_SIGN}+|\d\ufe0f?\u20e3"
    rf"|(?:[-*–#]{{1,6}}|\(?\d{{1,2}}[.)]|[a-zA-Z]\)|\[[ xX✓✔]?\])\s))+\s*"
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text with their end marks, without bullets.

    Lines end sentences. Time is linear in the text.
    """
    hidden = _QUOTE.sub(_masked, text)
    ends = sorted(
        end
        for pattern in (_END, _EMOJI_END)
        for _, end in islice(spans(pattern, hidden, group=1), MAX_SENTENCES)
    )
    pieces, start = [], 0
    for end in ends[:MAX_SENTENCES]:
        goes_on = _is_wrapped if "\n" in text[max(start, end - 4) : end] else _goes_on
        if not goes_on(text, start, end):
            pieces.append(text[start:end])
            start = end
    plain = (_BULLET.sub("", each.strip()) for each in (*pieces, text[start:]))
    return [each for each in plain if any(map(str.isalnum, each))]


def without_quotations(text: str) -> str:
    """Return a text with “…” for each quotation that says something itself."""
    return _QUOTE.sub(lambda match: "“…”" if _says(match[0]) else match[0], text)


def _masked(match: re.Match[str]) -> str:
    """Return a quotation without the ends of sentences in it, of the same length."""
    if not _says(match[0]):
        return match[0]
    end = match[0][-2:]
    end = f"x{end[1]}" if _HAN_END.match(end) else end  # what stands around it may go on
    return match[0][0] + "x" * (len(match[0]) - 3) + end


def _says(quotation: str) -> bool:
    is_spaced = quotation.isascii() or " " in quotation
    return quotation.count(" ") >= MOST_NAMING_WORDS if is_spaced else len(quotation) > 8


def clauses(sentence: str) -> list[str]:
    """Return the main clauses of a sentence, verbatim: each can be true without the others.

    A clause that shares its subject with the one before ("I cook and clean") is not cut off.
    """
    if len(sentence) > MAX_CLAUSE_CHARS:
        return [sentence]
    text = plain(sentence)
    joints = [match.span() for match in islice(shape("joint").finditer(text), MAX_CLAUSES - 1)]
    if joints and shape("opening").fullmatch(text[: joints[0][1]]):
        del joints[0]
    joints = [
        (start, end)
        for number, ((start, end), (stop, _)) in enumerate(pairwise([*joints, (len(text), 0)]))
        if not (_is_added(text[end:stop]) or (number == 0 and _is_added(text[:start])))
    ]
    edges = [0, *chain.from_iterable(joints), len(sentence)]
    parts = [sentence[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [part for part in parts if any(map(str.isalnum, part))]


def clauses_of(text: str) -> list[str]:
    """Return the clauses of all sentences of a text."""
    return [clause for sentence in sentences(text) for clause in clauses(sentence)]


def _is_added(part: str) -> bool:
    return len(part) <= MAX_ADVERB_CHARS and is_adverbial(part)


def _is_wrapped(text: str, start: int, end: int) -> bool:
    """Whether a line is broken before a place within a sentence."""
    before, following = text[max(start, end - 40) : end], text[end : end + 40]
    line = before.rstrip()
    if before[len(line) :].count("\n") != 1 or not (line[-1:].isalnum() or line[-1:] == ","):
        return False
    if _BULLET.match(following):
        return False
    if line.split()[-1].lower() in listed("links") | listed("goes_on"):
        return following[:1].islower() or not shape("opens_line").match(following)
    return following[:1].islower() and not shape("opens_line").match(following)


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether the full stop before a place belongs to an abbreviation or a number."""
    before = text[max(start, end - 40) : end].rstrip()
    if not before.endswith(".") or before.endswith(".."):
        return False
    last = re.split(r"[\s(\"'“‘„«]", before[:-1])[-1].lower()
    following = text[end : end + 12]
    if last.isdecimal() and len(last) <= 2:
        is_bullet = before[:-1].strip() == last
        return is_bullet or following[:3].lower() in listed("months_begin")
    if last in listed("often_last"):
        return following[:1].islower() or following[:1].isdecimal()
    return last in listed("never_last") or (len(last) == 1 and last.isalpha() and last != "i")
