"""From a query to candidates: filters, cues, the candidate pool."""

from __future__ import annotations

from simonides.retrieval.query.filtering import enduring, holds
from simonides.retrieval.query.overlay import overlaid, recallable, without
from simonides.retrieval.query.pool import gather
from simonides.retrieval.query.read_view import ReadView

__all__ = [
    "ReadView",
    "enduring",
    "gather",
    "holds",
    "overlaid",
    "recallable",
    "without",
]
