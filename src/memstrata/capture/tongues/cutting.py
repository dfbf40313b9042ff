"""Sentences of other languages than English cut into clauses, by the cues of each.

What :mod:`memstrata.capture.clauses` does for English, with less: what is supposed, reported or
told of no real world takes all that follows it in its sentence along.
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
MAX_WORDS_OF_WHO_SAYS = 3

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
    """What the earlier clauses of a sentence mean for the next."""

    question: bool
    durable: bool
    passing: bool
    repair: Repair
    asserted: bool = True
    statements: bool = True
    remember: bool = False
    condition: bool = False
    own: bool = True
    elides: bool = False
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


def clauses_of(sentence: str, offset: int, tongue: Tongue, repair: Repair) -> list[Clause]:
    """Cut a sentence into clauses.

    Args:
        sentence: With plain apostrophes and spaces.
        offset: Where it begins in the turn.
        tongue: The language it is in.
        repair: What the sentence before it announces.
    """
    cues = tongue.cues
    flow = _Flow(
        question=is_question(sentence),
        durable=_has(cues.durable, sentence),
        passing=_has(cues.passing, sentence),
        repair=repair,
        asserted=not (_has(cues.unreal, sentence) or _is_line_of_other(sentence, tongue)),
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
    _enter(text, tongue, flow)
    given = f"{cues.subject} " if flow.elides and _starts(cues.elided, text) else ""
    flow.elides = bool(given) or _is(cues.elides, text)
    asked = flow.question and last
    own = flow.own or not cues.own
    clause = Clause(
        given + text,
        body + offset,
        body + len(text) + offset,
        (body if flow.limit is None else flow.limit) + offset,
        statement=flow.statements and flow.asserted and own and not (asked or lead.request),
        instruction=flow.asserted and (lead.request or not asked),
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
    elif _starts(cues.asks, text):
        flow.statements = flow.remember = False
    if cues.own and _starts(cues.own, text):
        flow.own = True
    elif _starts(cues.others, text):
        flow.own = False


def _is_line_of_other(sentence: str, tongue: Tongue) -> bool:
    """Whether a sentence begins with the name of who says it: "Tom: I live in Rome"."""
    who, colon, _ = sentence.partition(": ")
    if not (colon and tongue.words.cased) or len(who.split()) > MAX_WORDS_OF_WHO_SAYS:
        return False
    # "About me: …" is no name.
    is_lead_in = _peel(f"{who.rstrip()}: ", tongue).length >= len(who.rstrip())
    return not (is_lead_in or tongue.begins(who) or tongue.begins(sentence))


def _pieces(sentence: str, tongue: Tongue) -> list[tuple[int, int]]:
    """Return the pieces of a sentence, which may be clauses."""
    cuts: list[tuple[int, int]] = []
    for match in patterns.compile(spelled(tongue.cues.joint), ignore_case=True).finditer(sentence):
        start, end = match.span()
        quoted = sentence.count('"', 0, start) % 2
        if start and not quoted and _is_head(sentence[end : end + 120], tongue):
            cuts.append((start, end))
        if len(cuts) == MAX_CLAUSES_OF_SENTENCE:
            break
    starts = [0, *(end for _, end in cuts)]
    return list(zip(starts, [*(start for start, _ in cuts), len(sentence)], strict=True))


def _is_head(rest: str, tongue: Tongue) -> bool:
    cues = tongue.cues
    heads = (cues.others, cues.elided, cues.supposes, cues.limits, cues.asks, cues.own)
    return (
        any(head and _starts(head, rest) for head in heads)
        or tongue.begins(rest)
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


def _is(pattern: str, text: str) -> bool:
    return patterns.compile(spelled(pattern), ignore_case=True).fullmatch(text) is not None


def _has(pattern: str, text: str) -> bool:
    return find(spelled(pattern), text) is not None
