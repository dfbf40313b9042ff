"""The two dear gates: text that is all but the same, and text that means the same.

What the owner's index finds is only a candidate. One rule decides (``language.sameness``): no
cosine makes two texts one that differ in a word which tells.
"""

from __future__ import annotations

from typing import NamedTuple

from simonides.domain.memory import Memory
from simonides.domain.policy.gates import GateRules, Shape
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import Candidate
from simonides.ports import OwnerView
from simonides.text.similarity.same_statement import (
    adds_nothing,
    are_the_same,
    mean_the_same,
    overlap,
    read,
)

NEAR_TEXT = "near_text"
NEAR_MEANING = "near_meaning"
"""Reasons: which of the two gates found a repetition."""


class Near(NamedTuple):
    """What stands near a text.

    Attributes:
        same: What it repeats, or None.
        gate: By which gate; empty if by none.
        beside: What has the same terms and yet says something else, or None.
    """

    same: Memory | None = None
    gate: str = ""
    beside: Memory | None = None


NOTHING_NEAR = Near()


def look_around(candidate: Candidate, view: OwnerView, shape: Shape, gates: GateRules) -> Near:
    """Take a text through both gates, the second only if the first does not decide.

    Args:
        candidate: Free text.
        view: What stands.
        shape: Of the candidate.
        gates: The thresholds.
    """
    place, kind = candidate.place, candidate.kind
    found = view.near_text(place, kind, shape)
    if not found:
        return NOTHING_NEAR  # and nothing nearest, which is among them
    said, alike = read(candidate.content), set[str]()
    for memory in found:
        other = read(memory.content)
        if overlap(said, other) >= gates.near_text and are_the_same(said, other):
            return Near(memory, NEAR_TEXT)
        if mean_the_same(said, other):
            alike.add(memory.id)
    # Vectors are dear: they are asked only about what the rule lets pass.
    if alike and shape.vector:
        for memory, _ in view.nearest(place, kind, shape, gates.near_meaning):
            if memory.id in alike:
                return Near(memory, NEAR_MEANING)
    return Near(beside=found[0])


def repeated(memory: Memory, view: OwnerView, shape: Shape) -> Memory | None:
    """Return an earlier memory that says the same as one that stands, or None.

    Only what the first gates hold to be one statement: equal in normal form, or in all telling
    words.
    """
    place, said = memory.place, read(memory.content)
    same = view.by_hash(place, memory.content_hash)
    for other in (*same, *view.near_text(place, memory.kind, shape)):
        earlier = (other.created_at, other.id) < (memory.created_at, memory.id)
        alike = (other.kind, other.speaker) == (memory.kind, memory.speaker)
        if earlier and alike and (other in same or are_the_same(said, read(other.content))):
            return other
    return None


def no_news(candidate: Candidate, view: OwnerView, shape: Shape, least: float) -> Memory | None:
    """Return a memory that tells all that an inferred text does, or None.

    What a user or a tool has stated is never held to be no news.

    Args:
        candidate: Free text.
        view: What stands.
        shape: Of the candidate.
        least: Jaccard index above which the two must overlap besides.
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
