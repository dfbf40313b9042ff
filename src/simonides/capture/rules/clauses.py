"""Splits a turn into clauses and decides how each may be read.

A clause may be read as a statement about the speaker, as an instruction, or as neither. Questions,
suppositions, reports, quotations and pasted text are neither, so the rules never see them as
statements. The cues are English. In another language only commands are read.

Positions are characters of the turn's text. Every change of the text before matching (typographic
apostrophes, odd spaces) keeps its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from simonides.capture import cues, lexicon
from simonides.capture.clause import Clause, Lead, Reading, Repair, first_word
from simonides.capture.languages.commands import commands_of, noted
from simonides.capture.sentences import (
    TOO_LONG,
    Cues,
    at_start,
    find,
    is_question,
    length_of,
    plain_text,
    sentences,
    trimmed,
)
from simonides.text import patterns

MAX_CLAUSES_OF_SENTENCE = 12
MAX_CLAUSES = 100
MAX_LEAD_INS = 6

MEMORY_CONTROL = "memory_control"


def read(text: str) -> Reading:
    """Split a turn into clauses.

    Any text is accepted; the notes name what is left out (see ``sentences``). If any sentence asks
    not to remember what is said, nothing is read.
    """
    plain = plain_text(text)
    notes: list[str] = []
    spans = list(sentences(plain, notes))
    said = [(plain[start:end], start) for start, end in spans]
    spoken = [commands_of(sentence, start) for sentence, start in said]
    if any(one.control for one in spoken) or any(_is_control(sentence) for sentence, _ in said):
        return Reading((), (MEMORY_CONTROL,))
    clauses: list[Clause] = []
    carried = Repair.NONE
    for place, (sentence, start) in enumerate(said):
        if spoken[place]:
            carried = Repair.NONE
        if spoken[place].points_back:
            clauses += [noted(*said[place - 1])] if place and not spoken[place - 1] else []
        elif spoken[place].clauses:
            clauses += spoken[place].clauses
        else:
            clauses += _clauses_of(sentence, start, carried)
            carried = _carried(sentence)
        if len(clauses) >= MAX_CLAUSES:
            notes.append(TOO_LONG)
            break
    return Reading(tuple(clauses), tuple(dict.fromkeys(notes)))


def _is_control(sentence: str) -> bool:
    opens = rf"(?:{cues.FILLER}|{cues.GREETING}){{0,4}}{cues.CONTROL}"
    return (at_start(opens, sentence) or find(cues.CONTROL_BEHIND, sentence)) is not None


# Lead-ins ---------------------------------------------------------------------------------------


def _peel(text: str) -> Lead:
    lead = Lead()
    for _ in range(MAX_LEAD_INS):
        rest = text[lead.length :]
        if not at_start(cues.ANY_LEAD_IN, rest):
            break
        name, length = next(
            ((name, n) for name, pattern in cues.LEAD_INS if (n := length_of(pattern, rest))),
            ("", 0),
        )
        # "Remember, I …" asks to remember; "remember the movie" does not.
        if name == "remember_me" and (
            not at_start(cues.ABOUT_ME, rest[length:]) or at_start(cues.LOOKING_BACK, rest[length:])
        ):
            break
        if not length:
            break
        lead.take(name, length)
    return lead


# Clauses ----------------------------------------------------------------------------------------

_DO_NOT = r"do not\b"
_INTERROGATIVES = frozenset({cues.INTERROGATIVE, cues.WHEN_QUESTION})
_OF_SENTENCES = Cues(cues.FICTION, cues.DURABLE_INSIDE, cues.PASSING)
_OF_CLAUSES = Cues(
    _DO_NOT, cues.ABOUT_ME, cues.ASK, cues.WHEN, cues.HYPOTHETICAL, cues.REPORTED,
    *sorted(_INTERROGATIVES), at_start=True,
)  # fmt: skip


@dataclass(slots=True)
class _Flow:
    """A sentence, where it begins in the turn, and what its earlier clauses mean for the next."""

    offset: int
    question: bool
    passing: bool = False
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
    flow = _Flow(offset=offset, question=is_question(sentence), repair=carried)
    matched = _OF_SENTENCES.matching(sentence)
    flow.asserted = cues.FICTION not in matched
    if flow.question and at_start(cues.TAG, sentence[pieces[-1].start :]):
        flow.statements = False
    flow.durable = cues.DURABLE_INSIDE in matched
    flow.passing = cues.PASSING in matched
    clauses = [
        _clause(sentence, piece, flow, last=place == len(pieces) - 1)
        for place, piece in enumerate(pieces)
    ]
    return [clause for clause in clauses if clause.text]


def _clause(sentence: str, piece: _Piece, flow: _Flow, *, last: bool) -> Clause:
    start, stop, strong, subject = piece
    lead = _peel(sentence[start:stop])
    body = start + lead.length
    end = body + len(trimmed(sentence[body:stop]))
    text = subject + sentence[body:end] if end > body else ""
    _enter(flow, lead, start)
    matched = _OF_CLAUSES.matching(text)
    imperative = _DO_NOT in matched or first_word(text) in lexicon.IMPERATIVES
    opened = lead.request or flow.fresh or strong or flow.instructing or lead.durable
    asked = flow.question and last
    named = sentence[body:stop].rstrip().endswith(":") and _is_line_of(text)
    clause = Clause(
        text,
        body + flow.offset,
        end + flow.offset,
        (body if flow.limit is None else flow.limit) + flow.offset,
        statement=flow.statements and flow.asserted and not (imperative or lead.request or asked),
        instruction=flow.asserted and imperative and opened and (lead.request or not asked),
        asserted=flow.asserted,
        durable=flow.durable,
        passing=flow.passing and not flow.durable,
        # A clause after the noted statement is noted too if it is about the speaker.
        remember=flow.remember
        and not asked
        and (lead.remember or flow.fresh or cues.ABOUT_ME in matched),
        condition=flow.condition,
        repair=flow.repair,
        given=len(subject),
    )
    if named:
        flow.asserted = False
    return _leave(flow, clause, lead, matched, imperative=imperative)


def _is_line_of(text: str) -> bool:
    return at_start(cues.LINE_OF, text) is not None and not at_start(cues.OWN_LINE, text)


def _enter(flow: _Flow, lead: Lead, start: int) -> None:
    flow.durable = flow.durable or lead.durable
    flow.remember = lead.remember or (flow.remember and not lead.request)
    if lead.limit is not None:
        flow.limit = start + lead.limit
    if lead.repair is not Repair.NONE:
        flow.repair = lead.repair


def _leave(
    flow: _Flow, clause: Clause, lead: Lead, matched: Sequence[str], *, imperative: bool
) -> Clause:
    """Set what this clause means for the next; a clause that frames others states nothing."""
    text = clause.text
    flow.fresh = not text
    flow.instructing = imperative or lead.request or not text
    if not text:
        return clause
    flow.repair = Repair.NONE
    if cues.ASK in matched or cues.WHEN in matched:
        flow.condition, flow.limit, flow.instructing = True, clause.start - flow.offset, True
        flow.durable = flow.durable or cues.ASK in matched
        return replace(clause, statement=False, instruction=False)
    if cues.HYPOTHETICAL in matched or find(cues.COUNTERFACTUAL, text):
        flow.asserted = False
        return replace(clause, statement=False, instruction=False, asserted=False)
    if not imperative and clause.first not in ("i", "we") and cues.REPORTED in matched:
        flow.asserted = False
        return replace(clause, statement=False, instruction=False)
    if not lead.request and not imperative and _INTERROGATIVES.intersection(matched):
        flow.statements = flow.remember = False
        return replace(clause, statement=False, instruction=False, remember=False)
    if lead.request and flow.question:
        flow.statements = False
    return clause


class _Piece(NamedTuple):
    """A part of a sentence.

    Attributes:
        start: Its start.
        end: Its end, exclusive.
        strong: Whether the joint before it is a strong one.
        subject: The subject from the piece before it; empty if it has its own.
    """

    start: int
    end: int
    strong: bool = True
    subject: str = ""


def _pieces(sentence: str) -> list[_Piece]:
    """Return the pieces of a sentence, which may be clauses."""
    cuts: list[tuple[int, int, bool, str]] = []
    begun, subject = 0, ""
    for match in patterns.compile(cues.JOINT, ignore_case=True).finditer(sentence):
        start, end = match.span()
        rest = sentence[end : end + 120]
        taken = _taken_over(sentence[begun:start], subject, rest)
        if not taken and not at_start(cues.HEAD, rest):
            continue
        if at_start(cues.THAT_I, rest):
            end += len("that ")
        strong = (
            find(cues.STRONG_JOINT, sentence[start:end]) is not None
            or at_start(cues.POLITE, rest) is not None
        )
        # "I love to cook and write": the second verb belongs to the first subject.
        is_own = strong or at_start(cues.SUBJECT_HEAD, rest)
        if taken or is_own or not at_start(cues.TOLD, sentence[begun:]):
            cuts.append((start, end, strong, taken))
            begun, subject = end, taken
        if len(cuts) == MAX_CLAUSES_OF_SENTENCE:
            break
    # A colon belongs to the words before it: "Remember: …", "Tom: …".
    stops = [*(sentence.find(":", a, b) + 1 or a for a, b, _, _ in cuts), len(sentence)]
    starts = [(0, True, ""), *((end, strong, taken) for _, end, strong, taken in cuts)]
    return [
        _Piece(start, stop, strong, taken)
        for (start, strong, taken), stop in zip(starts, stops, strict=True)
    ]


def _taken_over(before: str, subject: str, rest: str) -> str:
    """Return the subject that a piece takes from the previous piece, with a space.

    Empty if the piece has its own, or if the previous piece leaves the subject of the verb open.

    Args:
        before: The piece before it.
        subject: The subject that piece took over itself.
        rest: The text of the piece.
    """
    if not at_start(cues.ELIDED_HEAD, rest) or find(cues.SHARED_VERB, before):
        return ""
    if not subject and not at_start(cues.OWN_HEAD, before):
        return ""
    if at_start(rf"{cues.TASTES}\b", rest) and find(rf"\bi\s+(?:\w+\s+)?{cues.TASTES}\b", before):
        return ""
    # A user who types without capitals does so throughout.
    return subject or ("i " if before.lstrip()[:1].islower() else "I ")


def _carried(sentence: str) -> Repair:
    """Return the correction announced by a sentence of nothing else ("No.", "That's wrong.")."""
    if len(sentence) > 60:
        return Repair.NONE
    lead = _peel(sentence)
    return lead.repair if lead.length >= len(sentence.rstrip()) else Repair.NONE
