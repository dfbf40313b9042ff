"""A turn cut into clauses, each with what the words around it say about how it is meant.

Rules look at one clause from its first word on, so that what is asked, supposed, reported,
quoted or pasted never reaches them as a statement: here is decided which clauses may be read as
a statement about the speaker, which as an instruction, and which as neither.

Positions are characters of the turn's text throughout; everything that changes the text before
matching (typographic apostrophes, odd spaces) keeps its length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice

from memstrata.capture import cues, lexicon
from memstrata.language import patterns

# Bounds of the work on one turn; they keep 64 KiB of any text under 50 ms. A sentence that is
# longer is not how people state a fact; a turn with more is mostly pasted, and what people say
# about themselves stands at its head or its tail.
MAX_SENTENCE_CHARS = 600
HEAD_CHARS = 6_000
TAIL_CHARS = 3_000
MAX_HEAD_SENTENCES = 40
MAX_TAIL_SENTENCES = 20
MAX_CLAUSES_OF_SENTENCE = 12
MAX_CLAUSES = 100
MAX_LEAD_INS = 6

MEMORY_CONTROL = "memory_control"
PASTED = "pasted_material"
TOO_LONG = "too_long"

_PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00b4": "'", "\u201c": '"', "\u201d": '"',
     "\u00ab": '"', "\u00bb": '"', "\u00a0": " ", "\u202f": " ", "\t": " ", "\r": " ",
     "\0": "\n"} | {chr(code): "\n" for code in range(0xD800, 0xE000)}
)  # fmt: skip


class Repair(Enum):
    """How a clause presents itself as a correction."""

    NONE = 0
    ACTUALLY = 1
    """Mild: corrects a keyed fact, means nothing before a free statement."""
    MEANT = 2
    """Takes back what was said here: "no, I meant"."""
    WRONG = 3
    """Takes back what is on record: "that's wrong"."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence and how it may be read.

    Attributes:
        text: The clause without lead-ins, plain apostrophes and spaces.
        start: Where it begins in the turn.
        end: Where it ends in the turn, exclusive.
        lead: Where the words begin that limit it ("for future updates, …", "when I travel, …");
            equal to ``start`` where there are none.
        statement: May be read as a statement about the speaker.
        instruction: May be read as an instruction.
        asserted: The speaker's own words about the real world, not quoted, reported or supposed;
            true of questions too, which presuppose ("a present for my wife Olga?").
        durable: Said for the future: "from now on", "for future …", "remember that".
        passing: Said for the moment: "for now", "just today".
        remember: Introduced by "remember that", "note that" or the like.
        condition: Limited by "when I …".
        repair: How it presents itself as a correction.
    """

    text: str
    start: int
    end: int
    lead: int
    statement: bool = True
    instruction: bool = True
    asserted: bool = True
    durable: bool = False
    passing: bool = False
    remember: bool = False
    condition: bool = False
    repair: Repair = Repair.NONE

    @property
    def first(self) -> str:
        """The first word, lower case."""
        return first_word(self.text)


@dataclass(frozen=True, slots=True)
class Reading:
    """The clauses of a turn and what was not read.

    Attributes:
        clauses: In the order of the text; empty under memory control (CO-5).
        notes: What was left out and why, each a short name.
    """

    clauses: tuple[Clause, ...]
    notes: tuple[str, ...] = ()


def read(text: str) -> Reading:
    """Cut a turn into clauses.

    Any text is accepted. Code, block quotes, material pasted for a task and sentences over
    ``MAX_SENTENCE_CHARS`` are left out; of a text longer than ``HEAD_CHARS + TAIL_CHARS`` only
    head and tail are read. If any sentence asks not to remember what is said, nothing is read.
    """
    plain = text.translate(_PLAIN)
    notes: list[str] = []
    clauses: list[Clause] = []
    carried = Repair.NONE
    for start, end in _sentences(plain, notes):
        sentence = plain[start:end]
        if _is_control(sentence):
            return Reading((), (MEMORY_CONTROL,))
        clauses += _clauses_of(sentence, start, carried)
        carried = _carried(sentence)
        if len(clauses) >= MAX_CLAUSES:
            notes.append(TOO_LONG)
            break
    return Reading(tuple(clauses), tuple(dict.fromkeys(notes)))


def first_word(text: str) -> str:
    """Return the first word in lower case, without punctuation at its end."""
    return text[:24].lower().split(" ", 1)[0].rstrip(",.;:!")


# Sentences --------------------------------------------------------------------------------------


def _sentences(plain: str, notes: list[str]) -> Iterator[tuple[int, int]]:
    masked = _masked(plain)
    for start, end in _windows(plain, notes):
        if end - start > MAX_SENTENCE_CHARS:
            notes.append(TOO_LONG)
            continue
        start += len(plain[start:end]) - len(plain[start:end].lstrip())
        start += _length(cues.BULLET, plain[start:end])
        if _is_material(plain, start, end):
            notes.append(PASTED)
            return
        colon = _length(cues.INLINE_MATERIAL, plain[start:end])
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
        if mark == "." and _is_abbreviation(window[max(begun, stop - 8) : stop]):
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


def _is_material(plain: str, start: int, end: int) -> bool:
    # "Proofread this:" and then a text in somebody's voice: what follows is no statement.
    if not plain[start:end].endswith(":") or end >= len(plain):
        return False
    return _at_start(cues.MATERIAL, plain[start:end]) is not None


def _masked(plain: str) -> list[tuple[int, int]]:
    """Return the disjoint spans of code and quotations, by start, in the parts that are read."""
    spans: list[tuple[int, int]] = []
    tail = len(plain) - TAIL_CHARS
    windows = [(0, len(plain))] if tail <= HEAD_CHARS else [(0, HEAD_CHARS), (tail, len(plain))]
    for low, high in windows:
        window = plain[low:high]
        for pattern, group in cues.MASKS:
            for match in patterns.compile(pattern).finditer(window):
                start, end = match.span(group)
                spans.append((low + start, low + end))
    if len(windows) > 1 and plain.count("```", 0, tail) % 2:
        closing = plain.find("```", tail)
        spans.append((tail, closing if closing >= 0 else len(plain)))
    return _merged(sorted(spans))


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


def _is_control(sentence: str) -> bool:
    return (
        _at_start(rf"(?:{cues.FILLER}|{cues.GREETING}){{0,4}}{cues.CONTROL}", sentence) is not None
    )


# Lead-ins ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Lead:
    """What was peeled off the front of a clause."""

    length: int = 0
    limit: int | None = None
    durable: bool = False
    remember: bool = False
    request: bool = False
    repair: Repair = Repair.NONE


def _peel(text: str) -> _Lead:
    lead = _Lead()
    for _ in range(MAX_LEAD_INS):
        rest = text[lead.length :]
        if not _at_start(cues.ANY_LEAD_IN, rest):
            break
        name, length = next(
            ((name, n) for name, pattern in cues.LEAD_INS if (n := _length(pattern, rest))),
            ("", 0),
        )
        if name == "remember_me":
            # "Remember, I …" asks to remember; "remember the movie" does not.
            if not _at_start(cues.ABOUT_ME, rest[length:]):
                break
        if not length:
            break
        _note(lead, name)
        lead.length += length
    return lead


def _note(lead: _Lead, name: str) -> None:
    match name:
        case "durable":
            lead.limit = lead.length if lead.limit is None else lead.limit
            lead.durable = True
        case "remember" | "remember_me":
            lead.remember = lead.durable = True
        case "remember_to":
            lead.request = lead.remember = True
        case "request":
            lead.request = True
        case "wrong":
            lead.repair = Repair.WRONG
        case "meant":
            lead.repair = max(lead.repair, Repair.MEANT, key=lambda repair: repair.value)
        case "actually":
            lead.repair = max(lead.repair, Repair.ACTUALLY, key=lambda repair: repair.value)
        case _:
            pass


# Clauses ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Flow:
    """What earlier clauses of a sentence mean for the next."""

    question: bool
    fresh: bool = True
    asserted: bool = True
    statements: bool = True
    instructing: bool = True
    remember: bool = False
    durable: bool = False
    condition: bool = False
    limit: int | None = None
    repair: Repair = Repair.NONE


def _clauses_of(sentence: str, offset: int, carried: Repair) -> list[Clause]:
    pieces = _pieces(sentence)
    flow = _Flow(question=_is_question(sentence), repair=carried)
    flow.asserted = not _find(cues.FICTION, sentence)
    if flow.question and _at_start(cues.TAG, sentence[pieces[-1][0] :]):
        flow.statements = False
    flow.durable = _find(cues.DURABLE_INSIDE, sentence) is not None
    passing = _find(cues.PASSING, sentence) is not None
    clauses: list[Clause] = []
    for place, (start, end, strong) in enumerate(pieces):
        last = place == len(pieces) - 1
        clause = _clause(sentence, start, end, flow, strong=strong, last=last)
        clauses.append(replace(
            clause,
            start=clause.start + offset,
            end=clause.end + offset,
            lead=clause.lead + offset,
            passing=passing and not clause.durable,
        ))  # fmt: skip
    return [clause for clause in clauses if clause.text]


def _clause(
    sentence: str, start: int, end: int, flow: _Flow, *, strong: bool, last: bool
) -> Clause:
    lead = _peel(sentence[start:end])
    body = start + lead.length
    end = body + len(_trimmed(sentence[body:end]))
    text = sentence[body:end]
    _enter(flow, lead, start)
    imperative = first_word(text) in lexicon.IMPERATIVES or _at_start(r"do not\b", text) is not None
    opened = lead.request or flow.fresh or strong or flow.instructing or lead.durable
    asked = flow.question and last
    clause = Clause(
        text,
        body,
        end,
        body if flow.limit is None else flow.limit,
        statement=flow.statements and flow.asserted and not (imperative or lead.request or asked),
        instruction=flow.asserted and imperative and opened and (lead.request or not asked),
        asserted=flow.asserted,
        durable=flow.durable,
        remember=flow.remember and not asked,
        condition=flow.condition,
        repair=flow.repair,
    )
    return _leave(flow, clause, lead, imperative=imperative)


def _enter(flow: _Flow, lead: _Lead, start: int) -> None:
    flow.durable = flow.durable or lead.durable
    flow.remember = lead.remember or (flow.remember and not lead.request)
    if lead.limit is not None:
        flow.limit = start + lead.limit
    if lead.repair is not Repair.NONE:
        flow.repair = lead.repair


def _leave(flow: _Flow, clause: Clause, lead: _Lead, *, imperative: bool) -> Clause:
    """Note what this clause means for the next; a frame around others states nothing itself."""
    text = clause.text
    flow.fresh = not text
    flow.instructing = imperative or lead.request or not text
    if not text:
        return clause
    flow.repair = Repair.NONE
    if _at_start(cues.ASK, text) or _at_start(cues.WHEN, text):
        flow.condition, flow.limit, flow.instructing = True, clause.start, True
        flow.durable = flow.durable or _at_start(cues.ASK, text) is not None
        return replace(clause, statement=False, instruction=False)
    if _at_start(cues.HYPOTHETICAL, text) or _find(cues.COUNTERFACTUAL, text):
        flow.asserted = False
        return replace(clause, statement=False, instruction=False, asserted=False)
    if not imperative and clause.first not in ("i", "we") and _at_start(cues.REPORTED, text):
        flow.asserted = False
        return replace(clause, statement=False, instruction=False)
    if not lead.request and not imperative and _is_interrogative(text):
        flow.statements = flow.remember = False
        return replace(clause, statement=False, instruction=False, remember=False)
    if lead.request and flow.question:
        flow.statements = False
    return clause


def _pieces(sentence: str) -> list[tuple[int, int, bool]]:
    """Return start, end and whether the joint before it is a strong one, for each piece."""
    cuts: list[tuple[int, int, bool]] = []
    begun = 0
    for match in patterns.compile(cues.JOINT, ignore_case=True).finditer(sentence):
        start, end = match.span()
        rest = sentence[end : end + 120]
        if not _at_start(cues.HEAD, rest):
            continue
        strong = (
            _find(cues.STRONG_JOINT, sentence[start:end]) is not None
            or _at_start(cues.POLITE, rest) is not None
        )
        # "I love to cook and write": the second verb belongs to the first subject.
        if (
            strong
            or _at_start(cues.SUBJECT_HEAD, rest)
            or not _at_start(cues.TOLD, sentence[begun:])
        ):
            cuts.append((start, end, strong))
            begun = end
        if len(cuts) == MAX_CLAUSES_OF_SENTENCE:
            break
    starts = [(0, True), *((end, strong) for _, end, strong in cuts)]
    stops = [*(start for start, _, _ in cuts), len(sentence)]
    return [(start, stop, strong) for (start, strong), stop in zip(starts, stops, strict=True)]


def _carried(sentence: str) -> Repair:
    """Return the correction that a sentence of nothing else ("No.", "That's wrong.") announces."""
    if len(sentence) > 60:
        return Repair.NONE
    lead = _peel(sentence)
    return lead.repair if lead.length >= len(sentence.rstrip()) else Repair.NONE


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"')*]!").endswith(("?", "？"))


def _is_interrogative(text: str) -> bool:
    return bool(_at_start(cues.INTERROGATIVE, text) or _at_start(cues.WHEN_QUESTION, text))


def _trimmed(text: str) -> str:
    end = len(text)
    while end and not (text[end - 1].isalnum() or text[end - 1] in ")\"'%+#/]"):
        end -= 1
    # A quotation mark that was opened before the clause is not its own.
    if (
        end
        and text[end - 1] in "\"')"
        and text.count(text[end - 1], 0, end) == 1
        and (text[end - 1] != ")" or "(" not in text)
    ):
        end -= 1
    return text[:end].rstrip(" .,;:!?")


def _find(pattern: str, text: str) -> patterns.Match | None:
    return patterns.compile(pattern, ignore_case=True).search(text)


def _at_start(pattern: str, text: str) -> patterns.Match | None:
    return patterns.compile(pattern, ignore_case=True).match(text)


def _length(pattern: str, text: str) -> int:
    match = _at_start(pattern, text)
    return match.span()[1] if match else 0
