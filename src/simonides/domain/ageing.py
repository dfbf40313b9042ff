"""How a memory ages: what of it a reader sees at a given time.

All of it follows from the clock and from what the state says; nothing is stored. So looking
twice ages once, and a read at an earlier clock sees what was seen then. ``retrieval.ageing`` has
the same formulas over columns; a test compares the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from simonides.domain.codecs.memory import MINUTE_US
from simonides.domain.memory import Memory, Status
from simonides.domain.trust import Trust
from simonides.domain.value import Value, from_us, to_us

DAY_US = 86_400_000_000
MONTH_US = 30 * DAY_US
YEAR_US = 365 * DAY_US
"""What age is against where there is no hard expiry."""

LOSSES = 10_000
LOSS_US = MONTH_US // 500
"""An unverified inference loses 0.05 of confidence in 30 days: counted in ten-thousandths,
so that one just made is what it was, and readers of the same minutes see the same."""

DIGITS = 1e6
"""What is left is rounded to a millionth: 0.7 less 0.4 is 0.3, and so not below it."""

AGE_WEIGHT, ACCESS_WEIGHT, CONFLICT_WEIGHT = 0.4, 0.3, 0.3
"""What staleness is made of."""

STALE_AT = 0.7
"""Staleness from which a memory counts half."""

SUMMARY_CATEGORY = "session_summary"
"""Category of which the latest of a user does not expire."""


@dataclass(frozen=True, slots=True)
class Access(Value):
    """How often a memory was read, as the journal tells.

    Attributes:
        reads: Reads so far.
        last: The last of them; None for never.
        month: Reads in the last 30 days.
    """

    reads: int = 0
    last: datetime | None = None
    month: int = 0


UNREAD = Access()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ageing(Value):
    """What time has made of a memory.

    Attributes:
        memory: As readers see it now.
        recorded_confidence: Before any of it was lost.
        age: How much of its life is over, 0 to 1.
        staleness: 0 to 1; from 0.7 on it counts half, above 0.9 it is queued for eviction.
        stale_from: When ranking begins to count it half, unless it is read, said or confirmed
            again; None for never.
        access: How it was read.
        asks_to_be_verified: Whether somebody should be asked about it now.
    """

    memory: Memory
    recorded_confidence: float
    age: float
    staleness: float
    stale_from: datetime | None
    access: Access
    asks_to_be_verified: bool


class Reach(NamedTuple):
    """From which age on a staleness is reached, 0 to 1; above 1 it never is.

    Attributes:
        unread: By a memory that nobody has read for 30 days.
        read: By one that somebody has.
    """

    unread: float
    read: float


def reach(level: float, *, contradicted: bool) -> Reach:
    """Return from which age on a memory is as stale as ``level``.

    Staleness is ``0.4·age + 0.3·unread + 0.3·contradicted``; where nothing contradicts, the other
    two weights make up the whole.
    """
    whole = 1.0 if contradicted else AGE_WEIGHT + ACCESS_WEIGHT
    wanted = level * whole - (CONFLICT_WEIGHT if contradicted else 0.0)
    # Rounded, so that the last bit of a sum does not put an age of exactly 1 out of reach.
    return Reach(round((wanted - ACCESS_WEIGHT) / AGE_WEIGHT, 9), round(wanted / AGE_WEIGHT, 9))


STALE = {contradicted: reach(STALE_AT, contradicted=contradicted) for contradicted in (False, True)}
"""By whether a contradiction is open, from which age on a memory is stale."""


def is_contradicted(memory: Memory) -> bool:
    """Whether a contradiction waits for a person: that is what puts a memory in review for good;
    a soft expiry does so by the clock alone.
    """
    return memory.status is Status.REVIEW


def decays(memory: Memory) -> bool:
    """Whether it loses confidence with time: an inference that nobody has confirmed."""
    return memory.trust is Trust.AGENT and memory.verified_at is None


def confidence_at(memory: Memory, now: datetime) -> float:
    """Return what is left of a memory's confidence: 0.05 go in 30 days, and never more than there
    is. Counted from when it was recorded; what somebody confirms has its own again.
    """
    if not decays(memory):
        return memory.confidence
    lost = max(to_us(now) - to_us(memory.created_at), 0) // LOSS_US
    left = round((memory.confidence - lost / LOSSES) * DIGITS) / DIGITS
    return max(left, 0.0) if lost else memory.confidence


def age(memory: Memory, now: datetime) -> float:
    """Return how much of its life is over, 0 to 1: since it was last said, confirmed or changed,
    against its hard expiry or else a year. What is timeless does not age.
    """
    if memory.timeless:
        return 0.0
    span, spent = span_us(memory), to_us(now) - to_us(memory.updated_at)
    if spent < 0:
        return 0.0
    return 1.0 if spent >= span else spent / span


def span_us(memory: Memory) -> int:
    """Return what age is against, µs."""
    ends = memory.hard_expires_at
    return YEAR_US if ends is None else max(to_us(ends) - to_us(memory.updated_at), 0)


def staleness(memory: Memory, now: datetime, access: Access) -> float:
    """Return how stale a memory is, 0 to 1.

    Args:
        memory: The record; in review it counts as contradicted.
        now: The clock.
        access: How it was read. One read in 30 days is what is expected.
    """
    unread = float(access.month < 1)
    known = AGE_WEIGHT * age(memory, now) + ACCESS_WEIGHT * unread
    if is_contradicted(memory):
        return known + CONFLICT_WEIGHT
    return known / (AGE_WEIGHT + ACCESS_WEIGHT)


def stale_from(memory: Memory) -> int | None:
    """Return from when on it counts as stale, µs; None for never.

    By what the state says: of reads that is the last one that was folded into it, since ranking
    looks at no journal.
    """
    if memory.timeless:
        return None
    start, span = to_us(memory.updated_at), span_us(memory)
    unread, read = STALE[is_contradicted(memory)]
    last = memory.last_accessed_at
    since = start + math.ceil(unread * span)
    if last is not None:
        since = max(since, to_us(last) + MONTH_US)
    return min(since, start + math.ceil(read * span)) if read <= 1.0 else since


def seen_at(memory: Memory, now: datetime, *, endures: bool = False) -> Memory:
    """Return a memory as readers see it at a time.

    Its confidence is what is left of it; past its soft expiry it is in review, and stale where
    by definition. A conflict that waits for a person goes before both. What does not stand (any
    more) is seen as it was left.

    Args:
        memory: The record, as its state says.
        now: The clock.
        endures: Whether it is the latest session summary, which does not expire.
    """
    if not memory.status.is_live:
        return memory
    changes: dict[str, object] = {}
    confidence = confidence_at(memory, now)
    if confidence != memory.confidence:
        changes["confidence"] = confidence
    if memory.status is Status.ACTIVE and not endures:
        status = _status_at(memory, now)
        if status is not Status.ACTIVE:
            changes["status"] = status
    return Memory.over({**memory.__dict__, **changes}) if changes else memory


def _status_at(memory: Memory, now: datetime) -> Status:
    if memory.soft_expires_at is not None and now >= memory.soft_expires_at:
        return Status.REVIEW
    since = stale_from(memory)
    return Status.ACTIVE if since is None or to_us(now) < since else Status.STALE


def access_noted(memory: Memory, now: datetime) -> Access:
    """Return what a memory's state says of how it was read: the last read that was noted."""
    last = memory.last_accessed_at
    return Access(0, last, int(last is not None and to_us(now) < to_us(last) + MONTH_US))


def last_read(access: Access) -> datetime | None:
    """Return the last read as a state keeps it: to the minute (``domain.codec``)."""
    return None if access.last is None else from_us(to_us(access.last) // MINUTE_US * MINUTE_US)
