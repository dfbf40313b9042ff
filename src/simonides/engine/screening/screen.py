"""Screens each candidate for hygiene findings before it is judged.

``candidate → findings → (policy) → candidate with marks, a joined label, struck-out places``. What
policy blocks is struck out as well, so its words reach no event, error, report or file.
``policy/guards.py`` refuses the candidate, under the owner's turn.

To add a detector, add it to :data:`DETECTORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from simonides.capture import without_digests
from simonides.domain.event import Event, EventType
from simonides.domain.governance.held import HYGIENE_HELD
from simonides.domain.memory import Record, Triple
from simonides.domain.policy.hygiene import STRUCK_OUT, TEXT_FIELDS, Action
from simonides.domain.trust import Label, Sensitivity, Trust, join
from simonides.domain.writing.decision import Candidate
from simonides.domain.writing.finding import Concern, Finding, Severity
from simonides.hygiene import injection as poison
from simonides.hygiene import pii as sensitive
from simonides.policy import DEFAULT_POLICY, HYGIENE_BLOCKED, Policy

if TYPE_CHECKING:
    from simonides.engine.core import EventRecorder

FLAGGED = "hygiene_flagged"
REDACTED = "hygiene_redacted"
_REASONS = {
    Action.BLOCK: HYGIENE_BLOCKED,
    Action.HOLD: HYGIENE_HELD,
    Action.REDACT: REDACTED,
    Action.ENCRYPT: "hygiene_encrypted",
    Action.FLAG: FLAGGED,
}
"""Action names in events, written before the mark; an allowed finding leaves no trace."""

_SENSITIVE = (Action.HOLD, Action.ENCRYPT, Action.FLAG)
"""Actions under which a text may be stored unchanged, but appears in no digest."""


class Detector(NamedTuple):
    """A detector of one concern.

    Attributes:
        find: Pure, in time linear in the text; findings by position, without overlap.
        binds: Whether it applies to a statement of this trust; None for any. The label decides: a
            user's own statement is legitimate, whatever a detector of poison reports.
    """

    find: Callable[[str], tuple[Finding, ...]]
    binds: Callable[[Trust], bool] | None = None


def is_from_outside(trust: Trust) -> bool:
    """Whether a statement of this trust is neither from a user nor from the operator."""
    return trust.rank < Trust.USER.rank


DETECTORS: tuple[Detector, ...] = (
    Detector(sensitive.find),
    Detector(poison.find, binds=is_from_outside),
)
"""Every detector, in the order of their findings."""

SHORTEST = 5
"""Length of the shortest text that any detector could match, in characters."""


_WHOLE = ("content", "quote")
"""Fields of one text each, in which positions are those of that text."""

NAMES = "names"
"""Field of findings in ids and in the names of a session, agent, model or document (its URL)."""


SHORTEST_NAME = 12
"""Length of the shortest screened id, in characters: no token is shorter, and each turn has ids."""


class _Part(NamedTuple):
    """A text of a candidate, and where in it the field begins.

    A name precedes its value as in ``password = "…"``, because neither alone may match.
    """

    field: str
    text: str
    name: str = ""


def look(text: str, trust: Trust = Trust.USER) -> tuple[Finding, ...]:
    """Return the findings of every detector in a text, by detector, then position."""
    found: tuple[Finding, ...] = ()
    if len(text) >= SHORTEST:
        for detector in DETECTORS:
            if detector.binds is None or detector.binds(trust):
                found += detector.find(text)
    return found


def screened(
    candidate: Candidate, policy: Policy, found: Sequence[Finding] | None = None
) -> Candidate:
    """Screen a candidate and return it as policy lets it continue.

    Findings that policy allows are left out, except those that a second opinion cleared, which go
    to the trail. If none is left the candidate is returned unchanged.

    Args:
        candidate: The proposal.
        policy: In force for its scope.
        found: Findings in it, with second opinions; None to screen it here.
    """
    found = findings_of(candidate) if found is None else found
    rules = policy.hygiene
    minded = [f for f in found if rules.action_on(f) is not Action.ALLOW]
    reported = tuple(f for f in found if f.second is not None or f in minded)
    if not reported:
        return replace(candidate, findings=()) if candidate.findings else candidate
    marks = dict.fromkeys((*candidate.marks, *(finding.mark for finding in minded)))
    struck = {f.mark for f in reported if rules.action_on(f) in (Action.BLOCK, Action.REDACT)}
    label = candidate.label
    done = {rules.action_on(f) for f in reported if not _only_marks(f, candidate)}
    if not done.isdisjoint(_SENSITIVE):
        label = join((label, Label(label.trust, Sensitivity.SENSITIVE, label.audience)))
    marked = replace(candidate, marks=tuple(marks), findings=reported, label=label)
    return _Striker(marked, struck).struck() if struck else marked


def _only_marks(finding: Finding, candidate: Candidate) -> bool:
    """Whether a finding leaves the sensitivity unchanged: possible poison in a verbatim turn.

    The turn's label already has it quoted as data. Marked as sensitive, a transcript would have
    gaps.
    """
    unsure = finding.concern is Concern.POISON and finding.severity is Severity.SUSPICIOUS
    return unsure and candidate.is_turn


def cleaned_for_log(candidate: Candidate, policy: Policy) -> tuple[Candidate, tuple[str, ...]]:
    """Return a candidate as a session's log may keep it, and the actions taken.

    What policy blocks or redacts is struck out. Poison is not: a log is a record, and each entry
    keeps its origin.
    """
    rules = policy.hygiene
    reported = [f for f in findings_of(candidate) if rules.action_on(f) is not Action.ALLOW]
    if not reported:
        return candidate, ()
    marks = tuple(dict.fromkeys((*candidate.marks, *(finding.mark for finding in reported))))
    struck = set(blocked_in(candidate, policy))
    reasons = tuple(
        dict.fromkeys(
            f"{_REASONS[rules.action_on(f)] if f.mark in struck else FLAGGED}:{f.mark}"
            for f in reported
        )
    )
    marked = replace(candidate, marks=marks)
    return _Striker(marked, struck).struck() if struck else marked, reasons


def findings_of(said: Candidate | Record) -> tuple[Finding, ...]:
    """Return the hygiene findings in a candidate or memory; positions count per field."""
    trust = said.label.trust
    # Most candidates and memories are a single text.
    found = look(said.content, trust) if said.key is None else ()
    for part in _parts(said):
        found += tuple(_found_in(part, trust))
    return found


def strike(text: str, found: Iterable[Finding]) -> str:
    """Return a text with the places of findings struck out; overlapping places count as one."""
    kept: list[str] = []
    at = 0
    for finding in sorted(found, key=lambda each: (each.start, -each.end)):
        if finding.start >= at:
            kept += (text[at : finding.start], STRUCK_OUT.format(finding.mark))
        at = max(at, finding.end)
    return "".join((*kept, text[at:]))


def blocked_in(said: Candidate | Record, policy: Policy) -> tuple[str, ...]:
    """Return the marks of findings that policy blocks or redacts in an import or a log, each once.

    Poison is not among them. An external text keeps its label wherever it is imported. A better
    detector must not cost a user the whole file. Findings that would be held here are not either,
    as a person may have decided about them at the source.
    """
    kept_out = (Action.BLOCK, Action.REDACT)
    found = (f for f in findings_of(said) if policy.hygiene.action_on(f) in kept_out)
    marks = (finding.mark for finding in found if finding.concern is not Concern.POISON)
    return tuple(dict.fromkeys(marks))


def note_flags(
    candidate: Candidate, memory: Record, policy: Policy, recorder: EventRecorder
) -> tuple[Event, ...]:
    """Record the findings in a memory that is stored all the same."""
    reported: list[str] = []
    for finding in candidate.findings:
        done = _REASONS.get(policy.hygiene.action_on(finding))
        reported += [] if done is None else [f"{done}:{finding.mark}"]
        reported += [] if finding.second is None else [finding.second.reason(finding.mark)]
    reasons = tuple(dict.fromkeys(reported))
    event = recorder.record(
        EventType.FLAGGED,
        candidate.scope,
        subjects=(memory.id,),
        reasons=reasons,
        details=scores_of(candidate),
    )
    return (event,)


def scores_of(candidate: Candidate) -> Mapping[str, Any]:
    """Return the scores of the poison detectors as details of an event; empty without such a
    finding.

    ``scores`` has the highest score of each mark, to two places. The details also name the
    classifier of the second opinion.
    """
    scores: dict[str, float] = {}
    for finding in candidate.findings:
        if finding.concern is Concern.POISON:
            scores[finding.mark] = max(scores.get(finding.mark, 0.0), round(finding.score, 2))
    again = {f.mark: f.second.to_dict() for f in candidate.findings if f.second is not None}
    reported = {"scores": scores} if scores else {}
    return {**reported, "second_look": again} if again else reported


def _found_in(part: _Part, trust: Trust) -> Iterator[Finding]:
    if not part.name:
        found = look(part.text, trust)
        yield from found if part.field == "content" else _relevant(found, part.field)
        return
    head = f'{part.name} = "'
    for finding in look(f'{head}{part.text}"', trust):
        if finding.end <= len(head):
            # The finding is in the name: for a key it has a position, for metadata it has none.
            yield replace(finding, field="key" if part.field == "content" else part.field)
            continue
        start, end = max(finding.start - len(head), 0), finding.end - len(head)
        yield replace(finding, start=start, end=min(end, len(part.text)), field=part.field)


def _relevant(found: Iterable[Finding], field: str) -> Iterator[Finding]:
    for finding in found:
        # Names are ids chosen by others: an address in one says nothing about the statement.
        if field in TEXT_FIELDS or field == "key" or finding.severity is Severity.HIGH:
            yield replace(finding, field=field)


def _parts(said: Candidate | Record) -> Iterator[_Part]:
    """Yield every text that would be kept, except a content without a key."""
    if said.key is not None:
        yield _Part("content", said.content, said.key)
    if said.quote is not None and said.quote != said.content:
        yield _Part("quote", said.quote)
    if said.speaker is not None:
        yield _Part("speaker", said.speaker)
    for tag in said.tags:
        yield _Part("tags", tag)
    if said.metadata:
        yield from _named("metadata", said.metadata)
    if said.triple is not None:
        yield _Part("triple", said.triple.subject)
        yield _Part("triple", said.triple.object, said.triple.predicate)
    if said.category not in DEFAULT_POLICY.categories:
        yield _Part("category", said.category)
    for name in _names(said):
        if name is not None and len(name) >= SHORTEST_NAME:
            yield _Part(NAMES, name)


def _names(said: Candidate | Record) -> tuple[str | None, ...]:
    origin = said.origin
    names: tuple[str | None, ...] = (said.purpose, origin.session, origin.tool_call)
    names += (origin.model, origin.name, *said.parents)
    if said.audience is not None:
        names += tuple(said.audience)
    if isinstance(said, Candidate):
        names += (said.idempotency_key, said.retracts)
    return names


def _named(name: str, value: Any) -> Iterator[_Part]:
    """Yield the texts and whole numbers of metadata, each under the nearest name above it."""
    if isinstance(value, Mapping):
        for inner, below in value.items():
            yield _Part("metadata", inner)
            yield from _named(inner, below)
    elif isinstance(value, (list, tuple)):
        for below in value:
            yield from _named(name, below)
    elif isinstance(value, str):
        yield _Part("metadata", value, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield _Part("metadata", str(value), name)


class _Striker:
    """Rebuilds a candidate without the text of the given marks."""

    def __init__(self, candidate: Candidate, marks: Collection[str]) -> None:
        self._candidate = candidate
        self._marks = marks

    def struck(self) -> Candidate:
        candidate, clean = self._candidate, self._clean
        triple, origin, audience = candidate.triple, candidate.origin, candidate.audience
        return replace(
            candidate,
            content=clean("content", candidate.content, candidate.key or ""),
            key=None if candidate.key is None else self._clean_key(candidate.key),
            quote=self._clean_name(candidate.quote, "quote"),
            speaker=self._clean_name(candidate.speaker, "speaker"),
            tags=tuple(clean("tags", tag) for tag in candidate.tags),
            metadata=MappingProxyType(self._clean_value("metadata", candidate.metadata)),
            triple=triple
            and Triple(
                clean("triple", triple.subject),
                clean("triple", triple.predicate),
                clean("triple", triple.object, triple.predicate),
            ),
            category=clean("category", candidate.category),
            idempotency_key=self._clean_name(candidate.idempotency_key),
            purpose=self._clean_name(candidate.purpose),
            retracts=self._clean_name(candidate.retracts),
            origin=replace(
                origin,
                session=self._clean_name(origin.session),
                tool_call=self._clean_name(origin.tool_call),
                model=self._clean_name(origin.model),
                name=self._clean_name(origin.name),
            ),
            parents=tuple(clean(NAMES, parent) for parent in candidate.parents),
            label=candidate.label
            if audience is None
            else replace(candidate.label, audience=frozenset(clean(NAMES, a) for a in audience)),
        )

    def _found(self, part: _Part, field: str) -> list[Finding]:
        found = [*_found_in(part, self._candidate.label.trust)]
        if field in _WHOLE:
            # External checkers may have found more in it.
            found += self._candidate.findings
        return [each for each in found if each.field == field and each.mark in self._marks]

    def _clean(self, field: str, text: str, name: str = "") -> str:
        return strike(text, self._found(_Part(field, text, name), field))

    def _clean_name(self, text: str | None, field: str = NAMES) -> str | None:
        return None if text is None else self._clean(field, text)

    def _clean_key(self, key: str) -> str:
        return strike(key, self._found(_Part("content", self._candidate.content, key), "key"))

    def _clean_value(self, name: str, value: Any) -> Any:
        match value:
            case Mapping():
                cleaned = {self._clean("metadata", n): (n, below) for n, below in value.items()}
                return {n: self._clean_value(*below) for n, below in cleaned.items()}
            case list() | tuple():
                return [self._clean_value(name, below) for below in value]
            case str():
                return self._clean("metadata", value, name)
            case int() if not isinstance(value, bool):
                text = self._clean("metadata", str(value), name)
                return value if text == str(value) else text
            case _:
                return value


def masked(text: str, policy: Policy) -> str:
    """Return a text for a model: pasted digests blanked, and what policy blocks or redacts struck
    out.

    All other text keeps its position and characters, so that a quote of it can be found.
    """
    plain = without_digests(text)
    found = (
        each
        for each in look(plain)
        if policy.hygiene.action_on(each) in (Action.BLOCK, Action.REDACT)
    )
    return strike(plain, found)
