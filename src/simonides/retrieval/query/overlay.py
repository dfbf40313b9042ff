"""Overlays an owner's columns with rows that only one reader sees.

Stored rows and their segments do not change. Replaced rows are masked out for that read, and the
overlay is one more segment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simonides.domain.memory import Record
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index.entry import slot_of, slot_tag, tag
from simonides.retrieval.index.segment import RECALLED, Frozen, Segment


def recallable(
    frozen: Sequence[Frozen],
    keys: Collection[str],
    slots: Collection[tuple[str, str]] = (),
    hashes: Collection[str] = (),
) -> list[Record]:
    """Return the recallable memories that have one of some keys, slots or texts.

    Args:
        frozen: Columns of the owners.
        keys: Of facts.
        slots: Normalised subjects and predicates.
        hashes: Of the normalised content of free texts.
    """
    wanted = {
        "key": [tag(key) for key in keys],
        "slot": [slot_tag(*slot) for slot in slots],
        "hash": [tag(one) for one in hashes],
    }
    # Tags may collide, so the memory itself is compared too.
    return [
        memory
        for segment, place in _found(frozen, wanted)
        if (memory := segment.memory(place)).key in keys
        or (memory.key is None and memory.content_hash in hashes)
        or (memory.triple is not None and slot_of(memory.triple) in slots)
    ]


def _found(frozen: Sequence[Frozen], wanted: dict[str, list[int]]) -> Iterator[tuple[Segment, int]]:
    for index in frozen:
        for segment, alive in zip(index.segments, index.alive, strict=True):
            mask = np.zeros(len(segment), np.bool_)
            for column, tags in wanted.items():
                for one in tags:
                    mask |= segment.entry[column] == np.uint64(one)
            mask &= RECALLED[segment.state["status"]]
            if alive is not None:
                mask &= alive
            for place in np.flatnonzero(mask).tolist():
                yield segment, place


def without(index: Frozen, ids: Collection[str]) -> Frozen:
    """Return the columns of an owner without some memories; ``index`` itself if it has none of
    them.
    """
    masks = [_masked(*pair, ids) for pair in zip(index.segments, index.alive, strict=True)]
    if all(mask is alive for mask, alive in zip(masks, index.alive, strict=True)):
        return index
    return Frozen(index.segments, tuple(masks), {})


def _masked(
    segment: Segment, alive: NDArray[np.bool_] | None, ids: Collection[str]
) -> NDArray[np.bool_] | None:
    places = [place for place, row in enumerate(segment.rows) if row.id in ids]
    if not places:
        return alive
    mask = np.ones(len(segment), np.bool_) if alive is None else alive.copy()
    mask[places] = False
    return mask


def overlaid(index: Frozen | None, rows: Sequence[StoredRow], dimensions: int) -> Frozen:
    """Return the columns of an owner with more rows on top, of the current recipe.

    Args:
        index: The stored columns; None for an owner without any.
        rows: The overlay.
        dimensions: Length of the vectors of the recipe.
    """
    upper = Segment(sorted(rows, key=lambda row: row.id), dimensions)
    if index is None:
        return Frozen((upper,), (None,), {})
    return Frozen((*index.segments, upper), (*index.alive, None), {})
