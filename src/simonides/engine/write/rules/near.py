"""The two expensive gates: near-identical text, and text with the same meaning.

The owner's index only finds candidates. One rule decides
(:mod:`simonides.text.similarity.same_statement`): two texts that differ in a significant word are
never the same statement, however high their cosine.
"""

from __future__ import annotations

from typing import NamedTuple

from simonides.domain.memory import Record
from simonides.domain.policy.gates import GateRules, Shape
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import Candidate
from simonides.ports import OwnerView
from simonides.text.similarity import (
    adds_nothing,
    are_the_same,
    mean_the_same,
    overlap,
    read,
)

NEAR_TEXT = "near_text"
NEAR_MEANING = "near_meaning"
"""Reasons: the gate that found a repetition."""


class Near(NamedTuple):
    """Result of the two gates for a text.

    Attributes:
        same: The memory that it repeats, or None.
        gate: The gate that found it; empty if none did.
        different: A memory with similar terms that makes another statement, or None.
    """

    same: Record | None = None
    gate: str = ""
    different: Record | None = None


NOTHING_NEAR = Near()


def find_near(candidate: Candidate, view: OwnerView, shape: Shape, gates: GateRules) -> Near:
    """Apply both gates to a text, the second only if the first does not decide.

    Args:
        candidate: Free text.
        view: Stored memories, with this turn's changes so far.
        shape: Terms and vector of the candidate.
        gates: The thresholds.
    """
    place, kind = candidate.place, candidate.kind
    found = view.near_text(place, kind, shape)
    if not found:
        return NOTHING_NEAR  # The nearest by vector are a subset of these.
    said, alike = read(candidate.content), set[str]()
    for memory in found:
        other = read(memory.content)
        if overlap(said, other) >= gates.near_text and are_the_same(said, other):
            return Near(memory, NEAR_TEXT)
        if mean_the_same(said, other):
            alike.add(memory.id)
    # Vector search is expensive: it runs only if the rule accepts some text.
    if alike and shape.vector:
        for memory, _ in view.nearest(place, kind, shape, gates.near_meaning):
            if memory.id in alike:
                return Near(memory, NEAR_MEANING)
    return Near(different=found[0])


def repeated(memory: Record, view: OwnerView, shape: Shape) -> Record | None:
    """Return an earlier memory that makes the same statement as a stored one, or None.

    The two must be equal in normal form, or in all significant words.
    """
    place, said = memory.place, read(memory.content)
    same = view.by_hash(place, memory.content_hash)
    for other in (*same, *view.near_text(place, memory.kind, shape)):
        earlier = (other.created_at, other.id) < (memory.created_at, memory.id)
        alike = (other.kind, other.speaker) == (memory.kind, memory.speaker)
        if earlier and alike and (other in same or are_the_same(said, read(other.content))):
            return other
    return None


def no_news(candidate: Candidate, view: OwnerView, shape: Shape, least: float) -> Record | None:
    """Return a memory that contains all information of an inferred text, or None.

    It is always None for statements of a user or a tool.

    Args:
        candidate: Free text.
        view: Stored memories, with this turn's changes so far.
        shape: Terms and vector of the candidate.
        least: The Jaccard index of the two must also be above this.
    """
    if candidate.label.trust not in (Trust.AGENT, Trust.EXTERNAL):
        return None
    found = view.containing(candidate.place, candidate.kind, shape)
    said = read(candidate.content) if found else None
    for memory in found:
        other = read(memory.content)
        if said and overlap(said, other) > least and adds_nothing(said, other):
            return memory
    return None
