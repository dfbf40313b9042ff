"""Sentences of other languages than English cut into clauses, by the cues of each.

What :mod:`simonides.capture.clauses` does for English, with less: what is supposed, reported or
told of no real world takes all that follows it in its sentence along. Where no verb tells who is
meant, whom the clause before was about is whom a clause without a subject is about, beyond the end
of a sentence too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from simonides.capture.clause import Clause, Lead, Repair
from simonides.capture.cues import OWN_LINE
from simonides.capture.sentences import at_start, find, is_question, length_of, trimmed
from simonides.capture.tongues.tongue import Tongue
from simonides.language import patterns

MAX_CLAUSES_OF_SENTENCE = 12
MAX_JOINTS_OF_SENTENCE = 30
"""Places of a sentence where a clause might end that are looked at; chosen: beyond them it is a
list, and 64 KiB of nothing else take no longer than they may."""
MAX_LEAD_INS = 6
MAX_REPAIR_CHARS = 60
MAX_WORDS_OF_WHO_SAYS = 3

# They part what stands in them as commas do.
_BRACKETS = str.maketrans("()（）", ",,，，")


@dataclass(slots=True)
class _Flow:
    """What the earlier clauses of a sentence mean for the next; ``own`` is None where none has told
    whom it is about.
    """

    question: bool
    durable: bool
    passing: bool
    repair: Repair
    asserted: bool = True
    statements: bool = True
    remember: bool = False
    condition: bool = False
    own: bool | None = None
    told: bool = False
    lent: bool = False
    elides: bool = False
    limit: int | None = None


class _Piece(NamedTuple):
    """A part of a sentence: where it begins and ends, and the joint before it."""

    start: int
    stop: int
    joint: str


def is_control(sentence: str, tongue: Tongue) -> bool:
    """Whether a sentence asks not to remember what is said, itself or what it ends with: "I live
    in Rome, but do not remember that", "… (do not note this)".
    """
    control = tongue.cues.control
    plain = sentence.translate(_BRACKETS)
    if not _has(control, plain):
        return False
    ends = (match.span()[1] for match in _matches(tongue.cues.joint, plain))
    for place in (0, *islice(ends, MAX_JOINTS_OF_SENTENCE)):
        said = plain[place:]
        led = _peel(said, tongue, only=("filler", "request")).length
        # What somebody else is quoted with is no request.
        if not plain.count('"', 0, place) % 2 and any(_starts(control, said[n:]) for n in (0, led)):
            return True
    return False


def carried(sentence: str, tongue: Tongue) -> Repair:
    """Return the correction that a sentence of nothing else announces: "No.", "That's wrong."."""
    if len(sentence) > MAX_REPAIR_CHARS:
        return Repair.NONE
    lead = _peel(sentence, tongue)
    return lead.repair if not trimmed(sentence[lead.length :]) else Repair.NONE


def clauses_of(
    sentence: str, offset: int, tongue: Tongue, repair: Repair, before: Clause | None = None
) -> list[Clause]:
    """Cut a sentence into clauses.

    Args:
        sentence: With plain apostrophes and spaces.
        offset: Where it begins in the turn.
        tongue: The language it is in.
        repair: What the sentence before it announces.
        before: The last clause before it in the turn.
    """
    cues = tongue.cues
    flow = _Flow(
        question=is_question(sentence),
        durable=_has(cues.durable, sentence),
        passing=_has(cues.passing, sentence),
        repair=repair,
        asserted=not (_has(cues.unreal, sentence) or _is_line_of(sentence, tongue)),
        own=_left_open(before, tongue) if cues.goes_on and before else None,
    )
    pieces = _pieces(sentence, tongue)
    made = (
        _clause(sentence, piece, following.start if following else None, offset, tongue, flow)
        for piece, following in pairwise([*pieces, None])
        if piece
    )
    return [clause for clause in made if clause.text]


def _clause(
    sentence: str, piece: _Piece, then: int | None, offset: int, tongue: Tongue, flow: _Flow
) -> Clause:
    """Return a clause.

    Args:
        sentence: That it is of.
        piece: Where it is.
        then: Where the next one begins; None for the last.
        offset: Where the sentence begins in the turn.
        tongue: Its language.
        flow: What the clauses before it mean for it; is changed to what it means for the next.
    """
    cues = tongue.cues
    lead = _peel(sentence[piece.start : piece.stop], tongue)
    body = piece.start + lead.length
    text = trimmed(sentence[body : piece.stop])
    _lead(flow, lead, piece.start)
    if not text:
        return Clause("", body + offset, body + offset, body + offset)
    given = _given(text, tongue, flow)
    may_be = bool(cues.goes_on) and _may_be_own(text, tongue, own=flow.own)
    limits = _starts(cues.limits, text)
    if limits:
        flow.condition, flow.limit = True, body if flow.limit is None else flow.limit
    else:
        _enter(text, tongue, flow)
    # "Can you remember that I am vegan?" is no question about it.
    noted = lead.request and lead.remember
    asked = flow.question and then is None and not noted
    requested = lead.request or _has(cues.requested, text)
    own = flow.own is not False or not cues.own or may_be
    shared = flow.told and not lead.length and _starts(cues.shared, piece.joint)
    flow.told = shared or (bool(cues.own) and _starts(cues.own, text))
    limited = then is not None and _is_limited(text, sentence[then:], tongue)
    clause = Clause(
        given + text,
        body + offset,
        (len(trimmed(sentence)) if limited else body + len(text)) + offset,
        (body if flow.limit is None else flow.limit) + offset,
        statement=flow.statements
        and flow.asserted
        and own
        and not (limits or asked or (requested and not noted)),
        instruction=flow.asserted
        and (requested or not (asked or flow.lent))
        and not (shared or limits),
        asserted=flow.asserted,
        durable=flow.durable,
        passing=flow.passing and not flow.durable,
        # What follows the noted statement is noted too if it is about the speaker.
        remember=flow.remember and not asked and (lead.remember or own),
        condition=flow.condition or limited,
        repair=flow.repair,
        given=len(given),
        tongue=tongue,
    )
    flow.repair = Repair.NONE
    return clause


def _lead(flow: _Flow, lead: Lead, start: int) -> None:
    """Note what was peeled off a clause that begins at ``start``."""
    flow.durable = flow.durable or lead.durable
    flow.passing = flow.passing or lead.passing
    flow.remember = flow.remember or lead.remember
    if lead.limit is not None:
        flow.limit = start + lead.limit
    if lead.repair is not Repair.NONE:
        flow.repair = lead.repair


def _enter(text: str, tongue: Tongue, flow: _Flow) -> None:
    """Note what the beginning of a clause says of it and of what follows."""
    cues = tongue.cues
    if _starts(cues.supposes, text) or _starts(cues.reports, text):
        flow.asserted = False
    elif _starts(cues.asks, text) or _has(cues.asked, text):
        flow.statements = flow.remember = False
    flow.lent = flow.lent or _starts(cues.lends, text)
    if cues.goes_on:
        flow.own = _own_behind(text, tongue, own=flow.own)
    elif cues.own and _starts(cues.own, text):
        flow.own = True
    elif _starts(cues.others, text):
        flow.own = False


def _is_limited(text: str, rest: str, tongue: Tongue) -> bool:
    """Whether what follows limits an instruction: "Answer in French, if I write in French"."""
    follows = _starts(tongue.cues.limits, rest) or _starts(tongue.cues.supposes, rest)
    # "S'il te plaît" limits nothing.
    polite = _peel(rest, tongue).length >= len(trimmed(rest))
    return follows and not polite and tongue.instructions.begins(text)


def _is_line_of(sentence: str, tongue: Tongue) -> bool:
    """Whether a sentence is somebody's line: "Tom: I live in Rome"; not "Remember: …"."""
    who, colon, _ = sentence.partition(": ")
    who = who.rstrip()
    if not colon or not tongue.words.cased or not 0 < len(who.split()) <= MAX_WORDS_OF_WHO_SAYS:
        return False
    known = tongue.words.given_names
    if known:
        return who.split()[0].lower() in known
    # "About me: …" is no name.
    is_lead_in = bool(at_start(OWN_LINE, who)) or _peel(f"{who}: ", tongue).length >= len(who)
    return not (is_lead_in or tongue.begins(who) or tongue.begins(sentence))


# Subjects that are left out ---------------------------------------------------------------------


def _given(text: str, tongue: Tongue, flow: _Flow) -> str:
    """Return the subject that a clause takes over; nothing where it has one."""
    cues = tongue.cues
    subject = f"{cues.subject} " if cues.subject and tongue.words.cased else cues.subject
    if not cues.goes_on:
        given = subject if flow.elides and _starts(cues.elided, text) else ""
        flow.elides = bool(given) or _is(cues.elides, text)
        return given
    if not (subject and flow.own) or _starts(cues.own, text) or _starts(cues.others, text):
        return ""
    return subject if tongue.statements.begins(subject + text) else ""


def _own_behind(text: str, tongue: Tongue, *, own: bool | None) -> bool | None:
    """Return whether what follows a clause without a subject is the speaker's own."""
    mine = length_of(tongue.cues.own, text)
    # "My", and then whose it is: the longer of both tells.
    others = length_of(tongue.cues.others, text)
    if mine or others:
        return mine >= others
    if _is_phrase(text, tongue) or not _has(tongue.cues.topics, text):
        return own
    return False


def _left_open(before: Clause, tongue: Tongue) -> bool | None:
    """Return whom a sentence without a subject is about, as :class:`_Flow` has it."""
    own = _own_behind(before.text, tongue, own=None)
    return own if before.asserted and (before.statement or own) else False


def _may_be_own(text: str, tongue: Tongue, *, own: bool | None) -> bool:
    """Whether a clause may tell something of the speaker, though what follows is about somebody
    else: it says itself whose it is, "my wife", or may be what is to be remembered.
    """
    if _starts(tongue.cues.own, text):
        return True
    return own is not False and not _starts(tongue.cues.others, text)


def _is_phrase(text: str, tongue: Tongue) -> bool:
    if tongue.begins(text):
        return True
    subject = tongue.cues.subject if tongue.cues.goes_on else ""
    return bool(subject) and tongue.statements.begins(subject + text)


# Pieces and lead-ins ----------------------------------------------------------------------------


def _pieces(sentence: str, tongue: Tongue) -> list[_Piece]:
    """Return the pieces of a sentence, which may be clauses."""
    cuts: list[tuple[int, int]] = []
    found = islice(_matches(tongue.cues.joint, sentence), MAX_JOINTS_OF_SENTENCE)
    joints = [match.span() for match in found]
    for (start, end), (stop, _) in pairwise([*joints, (len(sentence), 0)]):
        # Within a quotation nothing begins.
        if start and not sentence.count('"', 0, end) % 2:
            rest, piece = sentence[end : end + 120], trimmed(sentence[end:stop])
            if piece and _parts(sentence[start:end], rest, piece, tongue):
                cuts.append((start, end))
        if len(cuts) == MAX_CLAUSES_OF_SENTENCE:
            break
    begins = [(0, ""), *((end, sentence[start:end]) for start, end in cuts)]
    stops = [*(start for start, _ in cuts), len(sentence)]
    return [_Piece(start, stop, joint) for (start, joint), stop in zip(begins, stops, strict=True)]


def _parts(joint: str, rest: str, piece: str, tongue: Tongue) -> bool:
    """Whether a joint ends a clause, by what follows: the rest, and the rest up to the next one."""
    goes_on = tongue.cues.goes_on
    if not goes_on:
        return _is_head(rest, piece, tongue)
    if not joint.isspace():
        return not _starts(goes_on, rest)
    first = rest.split(maxsplit=1)[0] if rest.strip() else rest
    return _is_head(first, first, tongue)


def _is_head(rest: str, piece: str, tongue: Tongue) -> bool:
    cues = tongue.cues
    behind = _peel(rest, tongue, only=("adverb",)).length
    rest, piece = rest[behind:], piece[behind:]
    # Of some phrases the end tells, of which the sentence's own is no part.
    texts = {rest, trimmed(rest), piece}
    return _starts(cues.heads, rest) or any(_is_phrase(text, tongue) for text in texts)


def _peel(text: str, tongue: Tongue, *, only: tuple[str, ...] = ()) -> Lead:
    lead = Lead()
    for _ in range(MAX_LEAD_INS):
        rest = text[lead.length :]
        cues = (each for each in tongue.cues.lead_ins if not only or each[0] in only)
        name, length = next(
            ((name, n) for name, cue in cues if (n := length_of(cue, rest))), ("", 0)
        )
        if not length:
            break
        lead.take(name, length)
    return lead


def _starts(pattern: str, text: str) -> bool:
    return at_start(pattern, text) is not None


def _has(pattern: str, text: str) -> bool:
    return find(pattern, text) is not None


def _matches(pattern: str, text: str) -> Iterator[patterns.Match]:
    return patterns.compile(pattern, ignore_case=True).finditer(text)


def _is(pattern: str, text: str) -> bool:
    return patterns.compile(pattern, ignore_case=True).fullmatch(text) is not None
