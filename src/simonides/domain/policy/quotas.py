"""Quotas of a scope, and the order of eviction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from simonides.domain.value import Value

Numbers: TypeAlias = Any
"""A number, or an array with one for each memory; used for arithmetic only."""

QUOTA_EXCEEDED = "quota_exceeded"
"""Reason of a write refused by a quota; a colon and the quota's name follow."""


class Eviction(StrEnum):
    """Eviction order at a full quota.

    ``value``: least retention value first. ``lru``: least recently used first. ``fifo``: first
    recorded first. ``ttl``: earliest expiry first.
    """

    VALUE = "value"
    LRU = "lru"
    FIFO = "fifo"
    TTL = "ttl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas(Value):
    """Limits of writes; None is no limit.

    Attributes:
        memories: Live memories in one scope, without verbatim turns.
        turns: Live verbatim turns in one scope.
        eviction: Eviction order when ``memories`` or ``turns`` is full.
        writes_per_minute: Writes of one owner in one process within 60 seconds.
        org_bytes: Content of an org and all its users, in bytes, by the last sweep.
    """

    memories: int | None = 10_000
    turns: int | None = 100_000
    eviction: Eviction = Eviction.VALUE
    writes_per_minute: int | None = None
    org_bytes: int | None = None


class Uses(NamedTuple):
    """Inputs of the retention value, of one memory or of many.

    Attributes:
        staleness: 0 to 1.
        confidence: 0 to 1.
        importance: 0.5 to 1.
        idle_days: Days since it was last said, confirmed, changed or read.
        age_days: Days since it was recorded.
        left_days: Days until hard expiry; infinite for never.
    """

    staleness: Numbers
    confidence: Numbers
    importance: Numbers
    idle_days: Numbers
    age_days: Numbers
    left_days: Numbers
