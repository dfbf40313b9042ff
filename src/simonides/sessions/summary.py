"""What a part of a conversation comes to, in its own sentences: nothing in it is invented.

First come prohibitions, rules and what was noted as important, then what was decided and what stays
open, then the sentences that tell most: people say them of themselves, and they hold names, amounts
or dates. Praise of the other, answers without their question and long answers of assistants count
less. The sentences stand in the order in which they were said, each with its speaker.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from simonides.capture.clauses import sentences
from simonides.core.clock import to_datetime
from simonides.core.record import GAP, Importance
from simonides.hygiene.injection import find_injection
from simonides.storage.rows import MemoryRow
from simonides.text.analyse import query_terms
from simonides.text.changes import search, wordings_in
from simonides.text.statement import read

MOST_CHARS, SENTENCE_CHARS = 1_200, 240
"""Most characters of a summary and of a sentence in it; chosen: it fits into a prompt."""

LEAST_TURNS, LEAST_CHARS = 2, 200
"""Turns of the user, and characters of all, for a summary to be worth it."""

REPEATS = 0.6
"""Share of a sentence's words in one that was taken, from which it says nothing new; chosen."""

LEAST_TERMS = 3
"""Words of a sentence that tells something; chosen."""

LONG = 4
"""Sentences of an answer from which each of them tells less; chosen."""

LEAST_SHARE = 0.35
"""Least share of the greatest weight for which a sentence is worth a line; chosen."""

_NEWS = frozenset(("decides", "ends", "changes"))
_FIGURE = re.compile(r"\d")
_NAME = re.compile(r"(?<=[\w,;] )(?!I\b|I')[A-Z][\w'-]+")
_TAIL = re.compile(
    r"(?i)^(?=[^?]*\?$)((?:i|we|my|our)\b[^?]*?), (?:(?:and|but|so) )*"
    r"(?:can|could|would|should|do|does|is|how|what|why|any)\b[^?]*\?$"
)
_BOUND = re.compile(r"\b(?:must|never|don't|do not|at most|at least|only|no more than)\b", re.I)
_MARKUP = re.compile(r"^\s*[<{|#`]|</?\w+>|```|\[shares |[:(][*\s]*$|\s[\"“]$|^[\"”] ")


class Line(NamedTuple):
    """A sentence of a conversation.

    Attributes:
        place: Its place in the conversation.
        turn: The turn that says it.
        text: The sentence.
        terms: Its analysed words.
        weight: How much it tells; infinite for what must not be missed.
    """

    place: int
    turn: MemoryRow
    text: str
    terms: frozenset[str]
    weight: float


def is_substantive(turns: Sequence[MemoryRow]) -> bool:
    """Whether enough was said for a summary to be worth it."""
    said = [turn for turn in turns if turn["role"] == "user"]
    return len(said) >= LEAST_TURNS and sum(len(turn["content"]) for turn in turns) >= LEAST_CHARS


def summarised(turns: Sequence[MemoryRow], binding: Collection[str]) -> tuple[str, list[MemoryRow]]:
    """Return the summary of some turns, and the turns that it quotes.

    Args:
        turns: Of the user, of assistants and named speakers, oldest first.
        binding: Texts of rules and facts with a key that were learned from them: they must not be
            missed.
    """
    lines = sorted(_weighed(turns, binding), key=lambda line: (-line.weight, len(line.text)))
    best = max((line.weight for line in lines if line.weight < math.inf), default=0)
    head = _head(turns)
    left, taken = MOST_CHARS - len(head), list[Line]()
    for line in (line for line in lines if line.weight >= LEAST_SHARE * best):
        cost = len(_cut(line.text)) + len(_speaker(line.turn)) + 3
        if cost <= left and not any(_repeats(line, other) for other in taken):
            left -= cost
            taken.append(line)
    taken.sort(key=lambda line: line.place)
    text = head
    for before, line in zip([None, *taken], taken, strict=False):
        is_same = before is not None and before.turn is line.turn
        text += f" {_cut(line.text)}" if is_same else f"\n{_speaker(line.turn)}: {_cut(line.text)}"
    quoted = {line.turn["id"]: line.turn for line in taken}
    return text if taken else "", list(quoted.values())


def _weighed(turns: Sequence[MemoryRow], binding: Collection[str]) -> Iterator[Line]:
    said = [(turn, _TAIL.sub(r"\1", each)) for turn in turns for each in sentences(turn["content"])]
    speakers = {str(turn["speaker"]) for turn in turns}
    terms = [frozenset(query_terms(sentence)) for _, sentence in said]
    known = Counter(term for each in terms for term in each)
    lengths = Counter(turn["id"] for turn, _ in said)
    for place, ((turn, sentence), own) in enumerate(zip(said, terms, strict=True)):
        is_user, is_last = turn["role"] == "user", turn is turns[-1]
        names = set(_NAME.findall(sentence)) - speakers
        if GAP in sentence or len(own) < LEAST_TERMS or _MARKUP.search(sentence):
            continue
        if not is_user and find_injection(sentence):
            continue
        found, plain = wordings_in(sentence), sentence.replace("’", "'")
        is_person = is_user or bool(turn["speaker"])
        is_own = is_person and bool(search("own", plain))
        is_reply = "replies" in found or ("reacts" in found and not is_own)
        often = math.fsum(math.log2(known[term]) for term in own) / math.sqrt(len(own) + 3)
        weight = min(often / 8, 0.5) + bool(_FIGURE.search(sentence)) + bool(names)
        weight += is_own + is_person + bool(found & _NEWS) + place / len(said) / 2
        weight += 0 if is_reply else ("remains" in found) + bool(_BOUND.search(plain))
        weight *= 0.3 if is_reply else 1.0
        if not is_user:
            weight /= math.sqrt(max(1, lengths[turn["id"]] / LONG))
        if sentence.rstrip("\"' ").endswith("?"):
            weight = weight + 2 if is_last else weight * 0.4  # the last one stays open
        learned = [text for text in binding if is_user and (sentence in text or text in sentence)]
        if learned or turn["importance"] != Importance.NORMAL:
            weight = math.inf
        inside = [(at, at + len(text)) for text in learned if (at := sentence.find(text)) >= 0]
        if inside:
            sentence = sentence[min(inside)[0] : max(end for _, end in inside)]
            own = frozenset(query_terms(sentence))
        yield Line(place, turn, sentence, own, weight)


def _repeats(line: Line, other: Line) -> bool:
    """Whether a sentence says nothing that another one does not say, figures and denials too."""
    if len(line.terms & other.terms) < len(line.terms) * (REPEATS if line.weight < math.inf else 1):
        return False
    new = line.terms - other.terms
    is_same = read(line.text).is_negated == read(other.text).is_negated
    return is_same and not any(map(str.isdecimal, "".join(new)))


def _head(turns: Sequence[MemoryRow]) -> str:
    ends = (turns[0], turns[-1])
    first, last = (to_datetime(turn["valid_from"] or turn["created_at"]) for turn in ends)
    names = ", ".join(dict.fromkeys(_speaker(turn) for turn in turns))
    days = f"{first:%Y-%m-%d}" + (f" to {last:%Y-%m-%d}" if first.date() != last.date() else "")
    return f"Conversation of {days} ({names}; {len(turns)} turns):"


def _speaker(turn: MemoryRow) -> str:
    return turn["speaker"] or str(turn["role"]).capitalize()


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SENTENCE_CHARS else f"{plain[: SENTENCE_CHARS - 1]}…"
