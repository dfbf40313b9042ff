"""Sentences of other languages than English cut into clauses, by the cues of each.

What :mod:`memstrata.capture.clauses` does for English, with less: no subject is carried over a
joint where a language needs one, and what is supposed, reported or told of no real world takes all
that follows it in its sentence along.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.capture.clause import Clause, Repair
from memstrata.capture.sentences import at_start, find, is_question, length_of, trimmed
from memstrata.capture.tongues.tongue import Tongue
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
    told: bool = False
    before: str = ""
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
        asserted=not _has(cues.unreal, sentence),
    )
    pieces = _pieces(sentence, tongue)
    made = (_clause(sentence, place, pieces, offset, tongue, flow) for place in range(len(pieces)))
    return [clause for clause in made if clause.text]


def _clause(
    sentence: str,
    place: int,
    pieces: list[tuple[int, int]],
    offset: int,
    tongue: Tongue,
    flow: _Flow,
) -> Clause:
    cues = tongue.cues
    start, stop = pieces[place]
    joint = sentence[pieces[place - 1][1] : start] if place else ""
    rest = sentence[pieces[place + 1][0] :] if place + 1 < len(pieces) else ""
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
    if joint.lstrip().startswith(":") and _is_name(flow.before, tongue):
        # "Tom: I live in Rome" is Tom's line.
        flow.asserted = False
    flow.before = text
    _enter(text, tongue, flow)
    if flow.condition and flow.limit is None:
        flow.limit = body
    # "Can you remember that I am vegan?" is no question about it.
    noted = lead.request and lead.remember
    asked = flow.question and not rest and not noted
    own = flow.own or not cues.own
    shared = flow.told and not lead.length and _starts(cues.shared, joint)
    flow.told = shared or (bool(cues.own) and _starts(cues.own, text))
    # "Answer in French, if I write in French": with what limits it.
    limited = bool(rest) and (_starts(cues.limits, rest) or _starts(cues.supposes, rest))
    limited = limited and tongue.instructions.begins(text)
    clause = Clause(
        text,
        body + offset,
        (len(trimmed(sentence)) if limited else body + len(text)) + offset,
        (body if flow.limit is None else flow.limit) + offset,
        statement=flow.statements
        and flow.asserted
        and own
        and not (asked or (lead.request and not noted)),
        instruction=flow.asserted and (lead.request or not asked) and not shared,
        asserted=flow.asserted,
        durable=flow.durable,
        passing=flow.passing and not flow.durable,
        # What follows the noted statement is noted too if it is about the speaker.
        remember=flow.remember and not asked and (lead.remember or own),
        condition=flow.condition or limited,
        repair=flow.repair,
        tongue=tongue,
    )
    flow.repair = Repair.NONE
    return clause


def _is_name(text: str, tongue: Tongue) -> bool:
    words = text.lower().split()
    return 0 < len(words) <= 3 and words[0] in tongue.words.given_names


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


def _pieces(sentence: str, tongue: Tongue) -> list[tuple[int, int]]:
    """Return the pieces of a sentence, which may be clauses."""
    cuts: list[tuple[int, int]] = []
    for match in patterns.compile(tongue.cues.joint, ignore_case=True).finditer(sentence):
        start, end = match.span()
        # Without the sentence's end, as clauses are read.
        if start and _is_head(trimmed(sentence[end : end + 120]), tongue):
            cuts.append((start, end))
        if len(cuts) == MAX_CLAUSES_OF_SENTENCE:
            break
    starts = [0, *(end for _, end in cuts)]
    return list(zip(starts, [*(start for start, _ in cuts), len(sentence)], strict=True))


def _is_head(rest: str, tongue: Tongue) -> bool:
    cues = tongue.cues
    heads = (cues.others, cues.supposes, cues.limits, cues.asks, cues.own)
    return (
        any(head and _starts(head, rest) for head in heads)
        or tongue.statements.begins(rest)
        or tongue.instructions.begins(rest)
        or any(_starts(cue, rest) for name, cue in cues.lead_ins if name != "filler")
    )


def _peel(text: str, tongue: Tongue, *, only: tuple[str, ...] = ()) -> _Lead:
    lead = _Lead()
    for _ in range(MAX_LEAD_INS):
        rest = text[lead.length :]
        found = ((name, length_of(cue, rest)) for name, cue in tongue.cues.lead_ins)
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
    return at_start(pattern, text) is not None


def _has(pattern: str, text: str) -> bool:
    return find(pattern, text) is not None
