"""Questions with known answers: a user's own, or made of the memories themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Record
from simonides.domain.value import shown

LEAST_WORDS = 4
"""Shorter contents make no question: half of their words would say nothing."""

_NAMES = ("id", "key", "session", "turn")

T = TypeVar("T")


class Question(NamedTuple):
    """A query and its evidence.

    Attributes:
        text: The query.
        evidence: Ids of the memories that answer it; at least one.
    """

    text: str
    evidence: frozenset[str]


def known_items(memories: Sequence[Record], most: int) -> tuple[Question, ...]:
    """Make questions from every second word of some memories; each should find its memory again.

    Known-item search shows whether recall works on these texts and how rankings compare. It is
    easier than real questions: every word of the question is in the answer.

    Args:
        memories: All memories.
        most: Number of questions, spread evenly over all memories that are long enough.
    """
    worded = [(m.id, words) for m in memories if len(words := m.content.split()) >= LEAST_WORDS]
    return tuple(
        Question(" ".join(words[::2]), frozenset({id})) for id, words in spread(worded, most)
    )


def read_questions(lines: Iterable[str], memories: Sequence[Record]) -> tuple[Question, ...]:
    """Read questions from JSON Lines.

    One question a line: ``{"question": "…", "evidence": [{"key": "deploy_region"}, …]}``. A piece
    of evidence names memories by ``id``, by ``key``, or by ``session`` and ``turn``.

    Args:
        lines: Of the file; blank ones are skipped.
        memories: Memories that the evidence may name.

    Raises:
        InvalidInput: If a line is malformed, or names an unknown memory.
    """
    made = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            made.append(_question(f"line {number}", line, memories))
    if not made:
        raise InvalidInput("questions", "there are none")
    return tuple(made)


def _question(where: str, line: str, memories: Sequence[Record]) -> Question:
    try:
        raw: Any = json.loads(line)
    except ValueError as error:
        raise InvalidInput(where, f"is not JSON: {error}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("question"), str):
        raise InvalidInput(where, 'must be {"question": "…", "evidence": […]}')
    evidence = raw.get("evidence")
    if not isinstance(evidence, list) or not evidence:
        raise InvalidInput(where, "evidence must be a list that names at least one memory")
    found = [_named(where, piece, memories) for piece in evidence]
    return Question(raw["question"], frozenset().union(*found))


def _named(where: str, piece: object, memories: Sequence[Record]) -> frozenset[str]:
    if not isinstance(piece, Mapping) or not piece or not piece.keys() <= set(_NAMES):
        raise InvalidInput(where, f"evidence is named by {', '.join(_NAMES)}, not {shown(piece)}")
    found = frozenset(
        memory.id
        for memory in memories
        if all(_value(memory, name) == wanted for name, wanted in piece.items())
    )
    if not found:
        raise InvalidInput(where, f"no memory here has {json.dumps(dict(piece))}")
    return found


def _value(memory: Record, name: str) -> object:
    return getattr(memory.origin if name in ("session", "turn") else memory, name)


def spread(all_: Sequence[T], most: int) -> Sequence[T]:
    """Return at most ``most`` elements of a sequence, evenly spaced."""
    if len(all_) <= most:
        return all_
    return [all_[place * len(all_) // most] for place in range(most)]
