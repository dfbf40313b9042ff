"""Extraction without a model: commands in ten languages, and a few keyed facts in English.

Precision is preferred to recall. Questions, suppositions, reports, quotations, pasted text and
statements for the moment do not become durable facts. A candidate of a keyed fact has the canonical
value as its content (``language`` → ``english``). A candidate of free text has the original
statement. The quote is always an exact part of the turn, and ``metadata["span"]`` is its position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from simonides.capture import lexicon
from simonides.capture.clause import Clause, Finding, Findings, Reading, Repair
from simonides.capture.rules import clauses, values
from simonides.capture.rules.evidence import gaps
from simonides.capture.rules.findings import affirmed
from simonides.capture.rules.instructions import instruction
from simonides.capture.rules.statements import statement
from simonides.capture.sentences import plain_text
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.memory import Kind
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.text import patterns

MAX_CANDIDATES = 24
"""Candidates taken from one turn; chosen: people rarely state more than a handful at once."""
MAX_FREE_TEXT_CHARS = 300
"""Longest statement proposed as free text; chosen: a longer one is a story, not a fact."""
MAX_NOTE_CHARS = 400
"""Longest turn whose "note that …" about subjects other than the user is taken; chosen by reading
real turns: in longer ones it is pasted or part of a task.
"""
IMPLICIT_CONFIDENCE = 0.8
"""Confidence of a statement that may be meant for once. It is above the 0.7 that needs no
verification and below an explicit statement, so that the latter wins.
"""

TURN_SCOPED = "turn_scoped"
"""Mark of a statement for the moment: "for now", "just today"."""
FRAGILE = "fragile"
"""Mark of a negative statement about oneself, which counts when repeated."""
LIKED_IN_PASSING = "liked_in_passing"
"""Mark of "I love X": stored only if it reverses an earlier rejection of the same thing."""
ENDING = "ending"
"""Mark of "I no longer live in Rome": stored only if that value is stored under its key."""
NOT_THE_USER = "not_the_user"
"""Diagnostic: the turn is not the user's, so it says nothing about the user."""

_NO_NOTE = (
    r"(?:it|this|that|when|how|the time|the times|what|me|us|to|him|her|them|those|these|you"
    r"|your|if"
    r"|(?:i|we) (?:was|were|had|did|felt|thought|\w+ed)|in|on|at|about|for|with|by|from|of|there"
    r"|where|why|who|which|not|all|everything|and|but|so|as)\b"
)
# A noted statement has a subject and then something like a verb; "note: see below" has not.
_VERB = (
    r"^(?:i|we|my|our|the|all|every|each|no|he|she|they|i'm|i've|we're|we've|\S+'s)\s+\S+\s+\S"
    r"|^\S+(?:\s+\S+){0,6}?\s+(?:is|are|was|were|has|have|had|must|should|can|can't|cannot|will"
    r"|won't"
    r"|need|want|go|close|open|start|don't|never|always|[a-z]+(?:s|ed))\s+\S"
)
_MINE = r"\b(?:i|i'm|i've|my|me|mine|we|our|us)\b"
_CONTRAST = r",?\s+(?:and\s+)?not\s+(?:in\s+|at\s+|from\s+)?\S+(?:\s\S+){0,3}$"
_AUXILIARY = (
    r"\b(?P<who>[\w-]+)\s+(?:will|would|can|could|shall|should|must|may"
    r"|might|does|did|was|were|has|had)\s+(?:(?:also|then|still|even|therefore)\s+)?$"
)
_SPOKEN_TO = frozenset({"you", "i", "we", "please"})
_IT_IS = r"(?:(?:it's|it is|that's|it should be|that should be|make that|i meant)\s+)?(?P<v>.+)"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of one turn.

    Attributes:
        candidates: In the order of the text.
        diagnostics: Short names of the reasons why something was left out.
    """

    candidates: tuple[Candidate, ...] = ()
    diagnostics: tuple[str, ...] = ()


def examine(turn: Turn, scope: Scope, *, before: Candidate | None = None) -> Extraction:
    """Read a turn.

    Only a turn of role ``user`` has statements about the user. Deterministic; never raises for any
    text, and costs under 50 ms for 64 KiB (the bounds are in ``sentences`` and ``clauses``).

    Args:
        turn: The turn.
        scope: Target scope of the candidates.
        before: The :func:`topic_of` the earlier turns, which "actually, it's …" corrects.

    Returns:
        Candidates with quote, speaker, origin and span, at most ``MAX_CANDIDATES``; none if the
            user asks not to remember what is said.
    """
    return _examined(turn, scope, _read(turn), before)


def examine_behind(turn: Turn, scope: Scope, earlier: Sequence[Turn]) -> Extraction:
    """Read a turn as :func:`examine`, with the :func:`topic_of` the earlier turns as ``before``.

    The earlier turns are read only if the turn repairs something; few turns do.

    Args:
        turn: The turn.
        scope: Target scope of the candidates.
        earlier: The user's earlier turns, oldest first.
    """
    reading = _read(turn)
    before = topic_of(earlier, scope) if reading.repairs else None
    return _examined(turn, scope, reading, before)


def _read(turn: Turn) -> Reading:
    return clauses.read(turn.text) if turn.role is Role.USER else Reading((), (NOT_THE_USER,))


def _examined(turn: Turn, scope: Scope, reading: Reading, before: Candidate | None) -> Extraction:
    taken: list[Candidate] = []
    last = before
    for clause in reading.clauses:
        for finding in _findings(clause, last, turn):
            candidate = _candidate(turn, scope, clause, finding)
            if candidate is None:
                continue
            _take(candidate, taken)
            if candidate.key and not candidate.retracts:
                last = candidate
        if len(taken) >= MAX_CANDIDATES:
            break
    return Extraction(tuple(taken[:MAX_CANDIDATES]), reading.notes)


def topic_of(turns: Sequence[Turn], scope: Scope) -> Candidate | None:
    """Return the keyed candidate that a repair in the next turn would be about, or None.

    It is the last statement of the last turn: after any other statement "no, it's Berlin" may be
    about anything. Earlier turns are read for what the last turn itself repairs.

    Args:
        turns: The user's earlier turns, oldest first.
        scope: As for :func:`examine`.
    """
    needed: list[tuple[Turn, Reading]] = []
    for turn in reversed(turns):
        needed.append((turn, _read(turn)))
        if not needed[-1][1].repairs:
            break
    topic: Candidate | None = None
    for turn, reading in reversed(needed):
        found = _examined(turn, scope, reading, topic).candidates
        keyed = [one for one in found if one.key and not one.retracts]
        topic = keyed[-1] if keyed else None
    return topic


def _take(candidate: Candidate, taken: list[Candidate]) -> None:
    """Add a candidate unless it is a duplicate; a continuation replaces the last one."""
    rivals = [one for one in taken if one.key == candidate.key]
    # A keyed fact may go back to an earlier value: only the last one counts.
    if any(_same(one, candidate) for one in (rivals[-1:] if candidate.key else rivals)):
        return
    # "When I say ship it, draft a request, never merge" is one rule, read in two clauses.
    before = taken[-1] if taken and taken[-1].key is None and candidate.key is None else None
    if before is not None and before.metadata["span"][0] == candidate.metadata["span"][0]:
        taken.pop()
    taken.append(candidate)


def _same(one: Candidate, other: Candidate) -> bool:
    return (one.key, one.content.casefold(), one.retracts) == (
        other.key,
        other.content.casefold(),
        other.retracts,
    )


def _findings(clause: Clause, last: Candidate | None, turn: Turn) -> Findings:
    if clause.findings:
        return clause.findings
    found: Findings = ()
    if clause.instruction and not _is_continued(clause, turn):
        found = _on_condition(clause, instruction(clause))
    elif clause.statement:
        found = statement(clause) or _repaired(clause, last)
    if not found and clause.remember and (clause.statement or clause.instruction):
        found = _noted(clause, turn)
    return found


def _on_condition(clause: Clause, found: Findings) -> Findings:
    """Return the findings of an instruction; with "when I …" before or after it, a rule."""
    limited = clause.condition or patterns.has(_ON_CONDITION, clause.text)
    return _as_rules(found) if limited else found


def _as_rules(found: Findings) -> Findings:
    """Return findings without keys: "When I write in French, answer in French" is a rule, and no
    wish for French.
    """
    return tuple(_RULE if one.key and one.retracts is None else one for one in found)


_RULE = Finding(category="constraint", kind=Kind.PROCEDURAL)
_ON_CONDITION = r"\s(?:when|whenever|every time|each time|any ?time|if)\s+(?:i|we|i'm|we're)\s"


def _is_continued(clause: Clause, turn: Turn) -> bool:
    """Whether a clause continues a statement about another subject: "the company will also never
    …".
    """
    before = plain_text(turn.text[max(clause.start - 40, 0) : clause.start])
    match = patterns.compile(_AUXILIARY, ignore_case=True).search(before)
    return match is not None and (match.group("who") or "").lower() not in _SPOKEN_TO


def _repaired(clause: Clause, last: Candidate | None) -> Findings:
    """Read "actually, it's …" as a correction of the last stated fact; its shape must fit."""
    if last is None or last.key is None or clause.repair is Repair.NONE:
        return ()
    said, _ = affirmed(clause.text)
    shape = values.SHAPES.get(last.key)
    match = patterns.compile(_IT_IS, ignore_case=True).match(said)
    value = shape(match.group("v") or "") if shape and match else None
    if value is None or len(said.split()) > 6:
        return ()
    return (Finding(category=last.category, key=last.key, value=value, corrects=True),)


def _noted(clause: Clause, turn: Turn) -> Findings:
    if (
        clause.instruction
        or patterns.starts(_NO_NOTE, clause.text)
        or not patterns.has(_VERB, clause.text)
    ):
        return ()
    # "Note that the court may …" in a long text is the text's voice, not the user's.
    if len(turn.text) > MAX_NOTE_CHARS and not patterns.has(_MINE, clause.text):
        return ()
    return (Finding(category="fact"),)


def _candidate(turn: Turn, scope: Scope, clause: Clause, finding: Finding) -> Candidate | None:
    start, end = _evidence(clause, finding)
    quote = turn.text[start:end]
    whole = clause.text if clause.given and finding.span is None else turn.text[start:end]
    content = finding.value or " ".join(whole.split())
    if finding.key is None and len(content) > MAX_FREE_TEXT_CHARS:
        return None
    if clause.condition and not _is_lasting(clause, finding, turn.text):
        return None
    source = _source(clause, finding)
    explicit = (finding.explicit or clause.remember) and not clause.passing
    once = clause.instruction and not clause.passing
    return Candidate(
        content=content,
        scope=scope,
        source=source,
        proposer=Proposer.RULES,
        label=Label(source.trust),
        # "Be brief" without more may be meant for this reply only: implicit, so procedural.
        kind=finding.kind if explicit or not once else Kind.PROCEDURAL,
        category=finding.category,
        key=finding.key,
        confidence=source.default_confidence if explicit else IMPLICIT_CONFIDENCE,
        importance=finding.importance,
        metadata=MappingProxyType({"span": (start, end)}),
        quote=quote,
        origin=turn.origin,
        speaker=turn.speaker,
        said_at=turn.said_at,
        marks=(*_marks(clause, finding), *_unproven(content, quote, finding, turn, clause)),
        explicit=explicit,
        retracts=finding.retracts,
    )


def _is_lasting(clause: Clause, finding: Finding, text: str) -> bool:
    """Whether "when I …" is a habit: not around a fact, not about "it" of this conversation."""
    if finding.key is not None and finding.kind is Kind.SEMANTIC and clause.statement:
        return False
    unquoted = " ".join(plain_text(text[clause.lead : clause.start]).split('"')[::2])
    return not patterns.has(r"\b(?:it|this|that|them|these|those)\b", unquoted)


def _marks(clause: Clause, finding: Finding) -> tuple[str, ...]:
    marks = (
        (FRAGILE, finding.fragile),
        (LIKED_IN_PASSING, finding.liked),
        (ENDING, finding.ends),
        (TURN_SCOPED, clause.passing),
    )
    return tuple(mark for mark, applies in marks if applies)


def _unproven(
    content: str, quote: str, finding: Finding, turn: Turn, clause: Clause
) -> tuple[str, ...]:
    # The checks read English words. A command takes its value from a table or the clause itself.
    if finding.retracts is not None or clause.findings:
        return ()
    return gaps(content, quote, key=finding.key, speaker=turn.speaker, said_at=turn.said_at)


def _evidence(clause: Clause, finding: Finding) -> tuple[int, int]:
    if finding.span is not None:
        start, end = (max(place - clause.given, 0) for place in finding.span)
        return clause.start + start, clause.start + end
    limited = finding.key is None and finding.retracts is None
    return (clause.lead if limited else clause.start), clause.end


def _source(clause: Clause, finding: Finding) -> Source:
    if clause.repair is Repair.WRONG:
        return Source.USER_CORRECTION
    contrast = finding.key != lexicon.OCCUPATION and patterns.has(_CONTRAST, clause.text)
    if finding.key and (finding.corrects or contrast):
        repaired = clause.repair is not Repair.NONE
        return Source.IN_SESSION_CORRECTION if repaired else Source.USER_CORRECTION
    if clause.repair is Repair.MEANT or (clause.repair is Repair.ACTUALLY and finding.key):
        return Source.IN_SESSION_CORRECTION
    return Source.USER_STATED
