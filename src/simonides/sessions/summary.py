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
from simonides.core.record import GAP, Importance
from simonides.hygiene.injection import find_injection
from simonides.prompt.lines import one_line
from simonides.storage.rows import MemoryRow, time_said
from simonides.text.analyse import query_terms
from simonides.text.changes import search, wordings_in
from simonides.text.statement import read

MOST_CHARS, SENTENCE_CHARS = 1_200, 240
"""Maximum characters of a summary and of a sentence in it. Set by judgement: it fits into a
prompt."""

LEAST_TURNS, LEAST_CHARS = 2, 200
"""Turns of the user, and characters of all, for a summary to be worth it."""

REPEATS = 0.6
"""Share of a sentence's words in one that was taken, from which it says nothing new. Not
measured."""

LEAST_TERMS = 3
"""Words of a sentence that tells something. Set by judgement."""

LEAST_SHARE = 0.05
"""Minimum share of the greatest weight for which a sentence is worth a line. Set by judgement."""

TELLS, PLANS, REACTS, REPLIES, NAMES, ASSISTANT_NAMES, MOST_NAMES = 3.0, 2.0, 0.6, 0.25, 1.3, 0.8, 3
"""Factors of a sentence's weight: it is of the speaker, has a figure, says what is new; plans or
binds; reacts to the other; for each name. Near what a logistic regression finds in 1,852 sentences
of 20 conversations, of which a person had marked what a summary must hold."""

DENSITY, SAME_TURN = 0.7, 0.7
"""Power of the length by which a weight is divided, and factor for each line of the same turn;
chosen on the same conversations."""

_NEWS = frozenset(("decides", "ends", "changes"))
_FIGURE = re.compile(r"\d")
_NAME = re.compile(r"(?<=[\w,;] )(?!I\b|I')[A-Z][\w'-]+")
_TAIL = re.compile(
    r"(?i)^(?=[^?]*\?$)((?:i|we|my|our)\b[^?]*?), (?:(?:and|but|so) )*"
    r"(?:can|could|would|should|do|does|is|how|what|why|any)\b[^?]*\?$"
)
_PLANS = re.compile(
    r"\b(?:(?:I|we)(?:'ll| will)|going to|plan\w* (?:to|on)|next (?:week|month|year|\w+day)"
    r"|tomorrow|will be|deadline|due|thinking (?:of|about)|(?:want|need)(?:s|ed)? to|hop(?:e|ing)"
    r"|aim)\b",
    re.IGNORECASE,
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

    @property
    def cost(self) -> int:
        """Characters that it takes in a summary."""
        return len(one_line(self.text, SENTENCE_CHARS)) + len(_speaker(self.turn)) + 3

    @property
    def worth(self) -> float:
        """How much it tells for its length."""
        return float(self.weight / self.cost**DENSITY)


def is_substantive(turns: Sequence[MemoryRow]) -> bool:
    """Whether enough was said for a summary to be worth it."""
    own = [turn for turn in turns if turn["role"] == "user"]
    return len(own) >= LEAST_TURNS and sum(len(turn["content"]) for turn in turns) >= LEAST_CHARS


def summarised(turns: Sequence[MemoryRow], binding: Collection[str]) -> tuple[str, list[MemoryRow]]:
    """Return the summary of some turns, and the turns that it quotes.

    Args:
        turns: Of the user, of assistants and named speakers, oldest first.
        binding: Texts of rules and facts with a key that were learned from them: they must not be
            missed.
    """
    lines = list(_weighed(turns, binding))
    least = LEAST_SHARE * max((each.weight for each in lines if each.weight < math.inf), default=0)
    lines = [line for line in lines if line.weight >= least]
    head = _head(turns)
    left, taken = MOST_CHARS - len(head), list[Line]()
    while lines:
        counts = Counter(line.turn["id"] for line in taken)
        line = max(lines, key=lambda line: line.worth * SAME_TURN ** counts[line.turn["id"]])
        lines.remove(line)
        if line.cost <= left and not any(_repeats(line, other) for other in taken):
            left -= line.cost
            taken.append(line)
    taken.sort(key=lambda line: line.place)
    text = head
    for before, line in zip([None, *taken], taken, strict=False):
        is_same = before is not None and before.turn is line.turn
        lead = " " if is_same else f"\n{_speaker(line.turn)}: "
        text += lead + one_line(line.text, SENTENCE_CHARS)
    quoted = {line.turn["id"]: line.turn for line in taken}
    return text if taken else "", list(quoted.values())


def _weighed(turns: Sequence[MemoryRow], binding: Collection[str]) -> Iterator[Line]:
    said = [(turn, _TAIL.sub(r"\1", each)) for turn in turns for each in sentences(turn["content"])]
    speakers = {str(turn["speaker"]) for turn in turns}
    terms = [frozenset(query_terms(sentence)) for _, sentence in said]
    known = Counter(term for each in terms for term in each)
    for number, ((turn, sentence), own) in enumerate(zip(said, terms, strict=True)):
        is_user, is_last = turn["role"] == "user", turn is turns[-1]
        if GAP in sentence or len(own) < LEAST_TERMS or _MARKUP.search(sentence):
            continue
        if not is_user and find_injection(sentence):
            continue
        wordings, plain = wordings_in(sentence), sentence.replace("’", "'")
        names = min(len(set(_NAME.findall(sentence)) - speakers), MOST_NAMES)
        is_person = is_user or bool(turn["speaker"])
        often = math.fsum(math.log2(known[term]) for term in own) / math.sqrt(len(own) + 3)
        weight = 2 ** (often / 4) * (NAMES if is_person else ASSISTANT_NAMES) ** names
        weight *= TELLS if search("own", plain) else 1
        weight *= TELLS if _FIGURE.search(sentence) else 1
        weight *= TELLS if wordings & _NEWS else 1
        weight *= PLANS if _PLANS.search(plain) or _BOUND.search(plain) else 1
        is_reply = "replies" in wordings or ("reacts" in wordings and not search("own", plain))
        weight *= REPLIES if is_reply else REACTS if "reacts" in wordings else 1
        if sentence.rstrip("\"' ").endswith("?"):
            weight *= TELLS if is_last else 1 / TELLS  # the last one stays open
        learned = [text for text in binding if is_user and (sentence in text or text in sentence)]
        if learned or turn["importance"] != Importance.NORMAL:
            weight = math.inf
        inside = [(at, at + len(text)) for text in learned if (at := sentence.find(text)) >= 0]
        if inside:
            sentence = sentence[min(inside)[0] : max(end for _, end in inside)]
            own = frozenset(query_terms(sentence))
        yield Line(number, turn, sentence, own, weight)


def _repeats(line: Line, other: Line) -> bool:
    """Whether a sentence says nothing that another one does not say, figures and denials too."""
    if len(line.terms & other.terms) < len(line.terms) * (REPEATS if line.weight < math.inf else 1):
        return False
    new = line.terms - other.terms
    is_same = read(line.text).is_negated == read(other.text).is_negated
    return is_same and not any(map(str.isdecimal, "".join(new)))


def _head(turns: Sequence[MemoryRow]) -> str:
    ends = (turns[0], turns[-1])
    first, last = (time_said(turn) for turn in ends)
    names = ", ".join(dict.fromkeys(_speaker(turn) for turn in turns))
    days = f"{first:%Y-%m-%d}" + (f" to {last:%Y-%m-%d}" if first.date() != last.date() else "")
    return f"Conversation of {days} ({names}; {len(turns)} turns):"


def _speaker(turn: MemoryRow) -> str:
    return turn["speaker"] or str(turn["role"]).capitalize()
