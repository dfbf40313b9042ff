"""Exempts the latest session summary of each reader from expiry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from simonides.retrieval.segment import RECALLED, Frozen, Segment

Enduring: TypeAlias = Sequence[tuple[Segment, int]]
"""Segments, each with the place of a row that does not expire."""


def enduring(index: Frozen) -> Enduring:
    """Return the places of the latest session summary of each reader.

    Only live summaries without a hard expiry count; the latest is by time of recording, then by id.
    Filters of a cue are ignored, so that no filter makes an older summary the latest.
    """
    newest: dict[int, tuple[int, str, Segment, int]] = {}
    for segment, alive in zip(index.segments, index.alive, strict=True):
        for place in segment.summaries.tolist():
            is_live = RECALLED[segment.state["status"][place]]
            if not is_live or not (alive is None or alive[place]):
                continue
            reader, created = (
                int(segment.entry["place"][place]),
                int(segment.entry["created"][place]),
            )
            row = (created, segment.rows[place].id, segment, place)
            if reader not in newest or newest[reader][:2] < row[:2]:
                newest[reader] = row
    return [row[2:] for row in newest.values()]
