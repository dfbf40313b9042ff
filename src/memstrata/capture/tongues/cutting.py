"""Sentences of other languages than English cut into clauses, by the cues of each.

What :mod:`memstrata.capture.clauses` does for English, with less: no subject is carried over a
joint where a language needs one, and what is supposed, reported or told of no real world takes all
that follows it in its sentence along. Where no verb tells who is meant, whom the clause before was
about is whom a clause without a subject is about, beyond the end of a sentence too.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.capture.clause import Clause, Repair
from memstrata.capture.sentences import at_start, find, is_question, length_of, trimmed
from memstrata.capture.tongues.tongue import Tongue
from memstrata.capture.tongues.values import spelled
from memstrata.language import patterns

MAX_CLAUSES_OF_SENTENCE = 12
MAX_LEAD_INS = 6
MAX_REPAIR_CHARS = 60

_REPAIRS = {"wrong": Repair.WRONG, "meant": Repair.MEANT, "actually": Repair.ACTUALLY}


@dataclass(slots=True)
class _Lead:
    """What was peeled off the front of a clause."""

    length: int = 0
    limit: int | None = None
    durable: bool = False
    passing: bool = False
    remember: bool = False
    request: bool = False
    repair: Repair = Repair.NONE


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
    limit: int | None = None


def is_control(sentence: str, tongue: Tongue) -> bool:
    """Whether a sentence asks not to remember what is said."""
    lead = _peel(sentence, tongue, only=("filler", "request"))
    return _starts(tongue.cues.control, sentence[lead.length :])


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
        asserted=not _has(cues.unreal, sentence),
        own=_left_open(before, tongue) if cues.goes_on and before else None,
    )
    pieces = _pieces(sentence, tongue)
    made = (
        _clause(sentence, start, stop, offset, tongue, flow, last=place == len(pieces) - 1)
        for place, (start, stop) in enumerate(pieces)
    )
    return [clause for clause in made if clause.text]


def _clause(
    sentence: str,
    start: int,
    stop: int,
    offset: int,
    tongue: Tongue,
    flow: _Flow,
    *,
    last: bool,
) -> Clause:
    cues = tongue.cues
    lead = _peel(sentence[start:stop], tongue)
    body = start + lead.length
    text = trimmed(sentence[body:stop])
    flow.durable = flow.durable or lead.durable
    flow.passing = flow.passing or lead.passing
    flow.remember = flow.remember or lead.remember
    if lead.limit is not None:
        flow.limit = start + lead.limit
    if lead.repair is not Repair.NONE:
        flow.repair = lead.repair
    if not text:
        return Clause("", body + offset, body + offset, body + offset)
    given = _given(text, tongue, flow)
    may_be = bool(cues.goes_on) and _may_be_own(text, tongue, own=flow.own)
    _enter(text, tongue, flow)
    if flow.condition and flow.limit is None:
        flow.limit = body
    asked = flow.question and last
    requested = lead.request or _has(cues.requested, text)
    own = flow.own is not False or not cues.own or may_be
    clause = Clause(
        given + text,
        body + offset,
        body + len(text) + offset,
        (body if flow.limit is None else flow.limit) + offset,
        statement=flow.statements and flow.asserted and own and not (asked or requested),
        instruction=flow.asserted and (requested or not asked),
        asserted=flow.asserted,
        durable=flow.durable,
        passing=flow.passing and not flow.durable,
        remember=flow.remember and not asked,
        condition=flow.condition,
        repair=flow.repair,
        given=len(given),
        tongue=tongue,
    )
    flow.repair = Repair.NONE
    return clause


def _enter(text: str, tongue: Tongue, flow: _Flow) -> None:
    """Note what the beginning of a clause says of it and of what follows."""
    cues = tongue.cues
    if _starts(cues.limits, text):
        flow.condition, flow.statements = True, False
    elif _starts(cues.supposes, text) or _starts(cues.reports, text):
        flow.asserted = False
    elif _starts(cues.asks, text) or _has(cues.asked, text):
        flow.statements = flow.remember = False
    if cues.goes_on:
        flow.own = _own_behind(text, tongue, own=flow.own)
    elif cues.own and _starts(cues.own, text):
        flow.own = True
    elif _starts(cues.others, text):
        flow.own = False


# Where no verb tells who is meant -----------------------------------------------------------------


def _own_behind(text: str, tongue: Tongue, *, own: bool | None) -> bool | None:
    """Return whether what follows a clause without a subject is the speaker's own."""
    mine = length_of(spelled(tongue.cues.own), text)
    # "My", and then whose it is: the longer of both tells.
    others = length_of(spelled(tongue.cues.others), text)
    if mine or others:
        return mine >= others
    if _is_phrase(text, tongue) or not _has(tongue.cues.topics, text):
        return own
    return False


def _left_open(before: Clause, tongue: Tongue) -> bool | None:
    """Return whom a sentence without a subject is about, as :class:`_Flow` has it."""
    own = _own_behind(before.text, tongue, own=None)
    return own if before.asserted and (before.statement or own) else False


def _given(text: str, tongue: Tongue, flow: _Flow) -> str:
    """Return the subject that a clause takes over; nothing where it has one."""
    cues = tongue.cues
    if not (cues.subject and flow.own) or _starts(cues.own, text) or _starts(cues.others, text):
        return ""
    return cues.subject if tongue.statements.begins(cues.subject + text) else ""


def _may_be_own(text: str, tongue: Tongue, *, own: bool | None) -> bool:
    """Whether a clause may tell something of the speaker, though what follows is about somebody
    else: it says itself whose it is, "my wife", or may be what is to be remembered.
    """
    if _starts(tongue.cues.own, text):
        return True
    return own is not False and not _starts(tongue.cues.others, text)


def _is_phrase(text: str, tongue: Tongue) -> bool:
    if tongue.statements.begins(text) or tongue.instructions.begins(text):
        return True
    subject = tongue.cues.subject
    return bool(subject) and tongue.statements.begins(subject + text)


# Pieces and lead-ins ------------------------------------------------------------------------------


def _pieces(sentence: str, tongue: Tongue) -> list[tuple[int, int]]:
    """Return the pieces of a sentence, which may be clauses."""
    cuts: list[tuple[int, int]] = []
    for match in patterns.compile(spelled(tongue.cues.joint), ignore_case=True).finditer(sentence):
        start, end = match.span()
        quoted = sentence.count('"', 0, start) % 2
        if start and not quoted and _parts(match.group() or "", sentence[end : end + 120], tongue):
            cuts.append((start, end))
        if len(cuts) == MAX_CLAUSES_OF_SENTENCE:
            break
    starts = [0, *(end for _, end in cuts)]
    return list(zip(starts, [*(start for start, _ in cuts), len(sentence)], strict=True))


def _parts(joint: str, rest: str, tongue: Tongue) -> bool:
    """Whether a joint ends a clause, by what follows."""
    goes_on = tongue.cues.goes_on
    if not goes_on:
        return _is_head(rest, tongue)
    if not joint.isspace():
        return not _starts(goes_on, rest)
    return _is_head(rest.split(maxsplit=1)[0] if rest else rest, tongue)


def _is_head(rest: str, tongue: Tongue) -> bool:
    cues = tongue.cues
    heads = (cues.others, cues.supposes, cues.limits, cues.asks, cues.own)
    return (
        any(head and _starts(head, rest) for head in heads)
        or _is_phrase(rest, tongue)
        or any(_starts(cue, rest) for name, cue in cues.lead_ins if name != "filler")
    )


def _peel(text: str, tongue: Tongue, *, only: tuple[str, ...] = ()) -> _Lead:
    lead = _Lead()
    for _ in range(MAX_LEAD_INS):
        rest = text[lead.length :]
        found = ((name, length_of(spelled(cue), rest)) for name, cue in tongue.cues.lead_ins)
        name, length = next(
            ((name, n) for name, n in found if n and (not only or name in only)), ("", 0)
        )
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
        case "remember":
            lead.remember = lead.durable = True
        case "passing":
            lead.passing = True
        case "request":
            lead.request = True
        case "wrong" | "meant" | "actually":
            lead.repair = max(lead.repair, _REPAIRS[name], key=lambda repair: repair.value)
        case _:
            pass


def _starts(pattern: str, text: str) -> bool:
    return at_start(spelled(pattern), text) is not None


def _has(pattern: str, text: str) -> bool:
    return find(spelled(pattern), text) is not None
