"""Selects the rows that an owner's refusals do not cover."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from simonides.domain.consent import Refusals
from simonides.retrieval.entry import tag
from simonides.retrieval.segment import Segment


def admitted(segment: Segment, refusals: Refusals) -> NDArray[np.bool_] | None:
    """Return which rows an owner has not refused, like :meth:`Refusals.against`; None for all.

    Names are compared by tag alone. A collision, one in 2^64, hides one memory too many.
    """
    if not refusals:
        return None
    keys, categories = segment.entry["key"], segment.entry["category"]
    refused = np.isin(categories, _tags(refusals.categories)) & ~np.isin(
        keys, _tags(refusals.spared)
    )
    refused |= np.isin(keys, _tags(refusals.keys))
    if refusals.tellings:
        refused |= np.array([row.id in refusals.tellings for row in segment.rows], np.bool_)
    return ~refused if refused.any() else None


def _tags(names: Iterable[str]) -> NDArray[np.uint64]:
    return np.array([tag(name) for name in names], "<u8")
