"""What does not expire though it says that it does: the latest session summary (LT-5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from simonides.retrieval.segment import RECALLED, Frozen, Segment

Enduring: TypeAlias = Sequence[tuple[Segment, int]]
"""Segments, each with the place of a row that endures."""


def enduring(index: Frozen) -> Enduring:
    """Return where the latest session summary of each reader stands in an index (LT-5).

    Of what stands and has no hard end, by when it was recorded, then by id; whatever a cue asks
    for, so that no filter makes an older one the latest.
    """
    newest: dict[int, tuple[int, str, Segment, int]] = {}
    for segment, alive in zip(index.segments, index.alive, strict=True):
        for place in segment.summaries.tolist():
            stands = RECALLED[segment.state["status"][place]]
            if not stands or not (alive is None or alive[place]):
                continue
            reader, created = (
                int(segment.entry["place"][place]),
                int(segment.entry["created"][place]),
            )
            row = (created, segment.rows[place].id, segment, place)
            if reader not in newest or newest[reader][:2] < row[:2]:
                newest[reader] = row
    return [row[2:] for row in newest.values()]
