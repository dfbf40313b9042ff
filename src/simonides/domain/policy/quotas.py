"""What a scope may hold, and by what it is decided which of its memories goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from simonides.domain.value import Value

Numbers: TypeAlias = Any
"""A number, or an array with one for each memory; what is done with it is arithmetic only."""

QUOTA_EXCEEDED = "quota_exceeded"
"""Reason of a write for which there is no room; what is full follows a colon."""


class Eviction(StrEnum):
    """Which memory goes first where a quota is full.

    ``value``: the one of the least retention value. ``lru``: the one not used for the longest
    time. ``fifo``: the one recorded first. ``ttl``: the one that would expire first.
    """

    VALUE = "value"
    LRU = "lru"
    FIFO = "fifo"
    TTL = "ttl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas(Value):
    """What may be written; None is no limit.

    Attributes:
        memories: Memories that stand in one scope, verbatim turns not counted.
        turns: Verbatim turns that stand in one scope.
        eviction: What gives way to a newcomer where one of these is full.
        writes_per_minute: Writes of one owner in one process within 60 seconds.
        org_bytes: Content of an org and all its users, in bytes, by the last sweep.
    """

    memories: int | None = 10_000
    turns: int | None = 100_000
    eviction: Eviction = Eviction.VALUE
    writes_per_minute: int | None = None
    org_bytes: int | None = None


class Uses(NamedTuple):
    """What of a memory, or of many, says whether it is worth keeping.

    Attributes:
        staleness: 0 to 1.
        confidence: 0 to 1.
        importance: 0.5 to 1.
        idle_days: Since it was last said, confirmed, changed or read.
        age_days: Since it was recorded.
        left_days: Until it expires for good; infinite for never.
    """

    staleness: Numbers
    confidence: Numbers
    importance: Numbers
    idle_days: Numbers
    age_days: Numbers
    left_days: Numbers
