"""Imports transcripts in JSON Lines as verbatim episodic memories.

One turn a line: ``{"session_id", "timestamp", "speaker", "role", "text"}``. ``role`` is ``user``,
``assistant``, ``tool`` or ``other`` (the default). ``turn``, its number in the session, is optional
and follows the order of the lines. Other fields are ignored.

A turn is identified by session and number: a repeated import adds nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Draft, Kind
from simonides.domain.value import Value
from simonides.domain.writing.decision import TURN_CATEGORY, Outcome

BATCH = 500
"""Turns of one transaction; chosen: a kill loses at most these, and progress shows often."""

MAX_LINE_CHARS = 1_000_000
"""Longest line that is looked at; far above the longest turn that can be stored."""

# Fields with another name in a draft.
_FIELDS = {"content": "text", "session": "session_id", "at": "timestamp"}

NumberedDraft: TypeAlias = tuple[int, Draft]
"""A line number of the file, from 1, and its turn."""


@dataclass(frozen=True, slots=True)
class ImportedTurn(Value):
    """The result of one turn.

    Attributes:
        line: Line of the file, from 1.
        session: Its session.
        turn: Its number there, from 0.
        speaker: Its speaker.
        outcome: What the store did; ``dropped`` with ``turn_already_stored`` for a known turn.
    """

    line: int
    session: str
    turn: int
    speaker: str | None
    outcome: Outcome

    def to_dict(self) -> dict[str, Any]:
        """Return the turn with a short outcome."""
        memory = self.outcome.record
        return {
            "line": self.line,
            "session": self.session,
            "turn": self.turn,
            "speaker": self.speaker,
            "outcome": self.outcome.kind.value,
            "reasons": list(self.outcome.reasons),
            "id": None if memory is None else memory.id,
        }


def parse_transcript(
    lines: Iterable[str], check: Callable[[Draft], object]
) -> tuple[NumberedDraft, ...]:
    """Read turns, each with its line number.

    Args:
        lines: The file.
        check: Raises :class:`InvalidInput` for a draft that cannot be stored. All lines are checked
            before the first one is stored.

    Raises:
        InvalidInput: Naming line and field of the first error.
    """
    turns = []
    for number, draft in _numbered(lines, Counter()):
        try:
            check(draft)
        except InvalidInput as error:
            problem = str(error).removeprefix(f"{error.field}: ")
            field = _FIELDS.get(error.field, error.field)
            raise InvalidInput(f"line {number}: {field}", problem) from error
        turns.append((number, draft))
    return tuple(turns)


def batches(turns: Sequence[NumberedDraft]) -> Iterator[Sequence[NumberedDraft]]:
    """Cut turns into the batches that are stored in one transaction each."""
    for start in range(0, len(turns), BATCH):
        yield turns[start : start + BATCH]


def report(batch: Sequence[NumberedDraft], outcomes: Sequence[Outcome]) -> tuple[ImportedTurn, ...]:
    """Return the result of each turn of a batch."""
    return tuple(
        ImportedTurn(line, str(draft.session), int(draft.turn or 0), draft.speaker, outcome)
        for (line, draft), outcome in zip(batch, outcomes, strict=True)
    )


def _numbered(lines: Iterable[str], counted: Counter[str]) -> Iterator[NumberedDraft]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        fields = _parsed(number, line)
        session = _text(number, fields, "session_id")
        place = fields.get("turn", counted[session])
        if isinstance(place, bool) or not isinstance(place, int) or place < 0:
            raise InvalidInput(f"line {number}: turn", "must be a whole number from 0")
        counted[session] = max(counted[session], place) + 1
        role = _role(number, fields)
        yield (
            number,
            Draft(
                _text(number, fields, "text"),
                kind=Kind.EPISODIC,
                category=TURN_CATEGORY,
                source=role.source,
                # A transcript records that something was said, which is certain.
                confidence=1.0,
                session=session,
                turn=place,
                speaker=_speaker(number, fields),
                at=_text(number, fields, "timestamp") if fields.get("timestamp") else None,
                metadata={"role": role.value},
            ),
        )


def _parsed(number: int, line: str) -> Mapping[str, Any]:
    if len(line) > MAX_LINE_CHARS:
        raise InvalidInput(f"line {number}", f"is longer than {MAX_LINE_CHARS:,} characters")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"line {number}", f"is not JSON: {error}") from error
    if not isinstance(fields, Mapping):
        raise InvalidInput(f"line {number}", "must be a JSON object")
    return fields


def _text(number: int, fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"line {number}: {name}", "must be text and not blank")
    return value


def _speaker(number: int, fields: Mapping[str, Any]) -> str | None:
    if fields.get("speaker") is None:
        return None
    return _text(number, fields, "speaker")


def _role(number: int, fields: Mapping[str, Any]) -> Role:
    named = fields.get("role", Role.OTHER)
    if named not in list(Role):
        allowed = ", ".join(Role)
        raise InvalidInput(f"line {number}: role", f"must be one of {allowed}")
    return Role(named)
