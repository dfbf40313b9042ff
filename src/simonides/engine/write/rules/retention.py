"""Retention value of memories, and the states of evicted and archived ones."""

from __future__ import annotations

from dataclasses import replace

from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.policy.quotas import Eviction, Numbers, Uses

# Chosen: use and confidence outweigh a mark of importance; no weight exceeds the sum of two others.
FRESHNESS_WEIGHT, CONFIDENCE_WEIGHT, IMPORTANCE_WEIGHT, ACCESS_WEIGHT = 0.3, 0.3, 0.25, 0.15

HALF_LIFE_DAYS = 30
"""Days without use after which access counts half; one read in 30 days is expected."""


def retention_value(uses: Uses) -> Numbers:
    """Return the retention value of a memory, 0 to 1; for arrays, elementwise.

    ``0.3·(1 − staleness) + 0.3·confidence + 0.25·importance + 0.15·access``, where access is
    ``30 / (30 + days since the last use)``.
    """
    access = HALF_LIFE_DAYS / (HALF_LIFE_DAYS + uses.idle_days)
    return (
        FRESHNESS_WEIGHT * (1 - uses.staleness)
        + CONFIDENCE_WEIGHT * uses.confidence
        + IMPORTANCE_WEIGHT * uses.importance
        + ACCESS_WEIGHT * access
    )


def worth(uses: Uses, eviction: Eviction) -> Numbers:
    """Return the eviction order value of memories; the least is evicted first."""
    match eviction:
        case Eviction.VALUE:
            return retention_value(uses)
        case Eviction.LRU:
            return -uses.idle_days
        case Eviction.FIFO:
            return -uses.age_days
        case Eviction.TTL:
            return uses.left_days


def evicted(standing: Record, moment: Moment) -> Record:
    """Return the state of an evicted memory; ``updated_at`` does not change."""
    return replace(standing, status=Status.EVICTED, known_from=moment.now)


def archived(standing: Record, moment: Moment) -> Record:
    """Return the state of an archived memory, which is kept but excluded from prompts."""
    return replace(standing, status=Status.ARCHIVED, known_from=moment.now)
