"""Ageing: a memory's confidence, status and staleness at a given time.

All values are computed from the clock and the state; nothing is stored. So a repeated read changes
nothing, and a read at an earlier clock returns the values of that time. ``retrieval`` has the same
formulas over columns; a test compares the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from simonides.domain.codecs.memory import MINUTE_US
from simonides.domain.memory import Record, Status
from simonides.domain.trust import Trust
from simonides.domain.value import Value, from_us, to_us

DAY_US = 86_400_000_000
MONTH_US = 30 * DAY_US
YEAR_US = 365 * DAY_US
"""Full lifetime for the computation of age without a hard expiry."""

LOSSES = 10_000
LOSS_US = MONTH_US // 500
"""An unverified inference loses 0.05 of confidence in 30 days. The loss is counted in
ten-thousandths, so that a new memory loses nothing and reads within minutes agree."""

DIGITS = 1e6
"""Confidence is rounded to a millionth, so that 0.7 - 0.4 is 0.3 and not below it."""

AGE_WEIGHT, ACCESS_WEIGHT, CONFLICT_WEIGHT = 0.4, 0.3, 0.3
"""Weights of the parts of staleness."""

STALE_AT = 0.7
"""Staleness from which a memory's score is halved."""

SUMMARY_CATEGORY = "session_summary"
"""Category whose latest memory of a user does not expire."""


@dataclass(frozen=True, slots=True)
class Access(Value):
    """Reads of a memory, from the read journal.

    Attributes:
        reads: Reads so far.
        last: Time of the last read; None for never.
        month: Reads in the last 30 days.
    """

    reads: int = 0
    last: datetime | None = None
    month: int = 0


UNREAD = Access()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ageing(Value):
    """Effect of time on a memory.

    Attributes:
        record: As readers see it now.
        recorded_confidence: Confidence before decay.
        age: Used share of its lifetime, 0 to 1.
        staleness: 0 to 1; from 0.7 on its score is halved, above 0.9 it is queued for eviction.
        stale_from: When ranking starts to halve its score, unless it is read, said or confirmed
            again; None for never.
        access: Its reads.
        asks_to_be_verified: Whether to ask the user about it now.
    """

    record: Record
    recorded_confidence: float
    age: float
    staleness: float
    stale_from: datetime | None
    access: Access
    asks_to_be_verified: bool


class Reach(NamedTuple):
    """Ages at which a staleness level is reached, 0 to 1; above 1 it is never reached.

    Attributes:
        unread: Age for a memory without reads in the last 30 days.
        read: Age for a memory with reads.
    """

    unread: float
    read: float


def reach(level: float, *, contradicted: bool) -> Reach:
    """Return the ages at which a memory reaches the staleness ``level``.

    Staleness is ``0.4·age + 0.3·unread + 0.3·contradicted``. Without a contradiction the other two
    weights are normalised to 1.
    """
    whole = 1.0 if contradicted else AGE_WEIGHT + ACCESS_WEIGHT
    wanted = level * whole - (CONFLICT_WEIGHT if contradicted else 0.0)
    # Rounded, because the last bit of a sum could make an age of exactly 1 unreachable.
    return Reach(round((wanted - ACCESS_WEIGHT) / AGE_WEIGHT, 9), round(wanted / AGE_WEIGHT, 9))


STALE = {contradicted: reach(STALE_AT, contradicted=contradicted) for contradicted in (False, True)}
"""Ages at which a memory is stale, by whether a contradiction is open."""


def is_contradicted(memory: Record) -> bool:
    """Whether an open contradiction waits for a person.

    Only that stores the status ``review``; a soft expiry sets it at read time.
    """
    return memory.status is Status.REVIEW


def decays(memory: Record) -> bool:
    """Whether it loses confidence with time: an unconfirmed inference."""
    return memory.trust is Trust.AGENT and memory.verified_at is None


def confidence_at(memory: Record, now: datetime) -> float:
    """Return a memory's confidence after decay: 0.05 less per 30 days since recording, at least 0.

    A confirmed memory has its full confidence again.
    """
    if not decays(memory):
        return memory.confidence
    lost = max(to_us(now) - to_us(memory.created_at), 0) // LOSS_US
    left = round((memory.confidence - lost / LOSSES) * DIGITS) / DIGITS
    return max(left, 0.0) if lost else memory.confidence


def age(memory: Record, now: datetime) -> float:
    """Return the used share of its lifetime, 0 to 1.

    The lifetime runs from when it was last said, confirmed or changed to its hard expiry, or for a
    year. A timeless memory does not age.
    """
    if memory.timeless:
        return 0.0
    span, spent = span_us(memory), to_us(now) - to_us(memory.updated_at)
    if spent < 0:
        return 0.0
    return 1.0 if spent >= span else spent / span


def span_us(memory: Record) -> int:
    """Return what age is against, µs."""
    ends = memory.hard_expires_at
    return YEAR_US if ends is None else max(to_us(ends) - to_us(memory.updated_at), 0)


def staleness(memory: Record, now: datetime, access: Access) -> float:
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


def stale_from(memory: Record) -> int | None:
    """Return the time from which it counts as stale, µs; None for never.

    Only the last read folded into the state counts, because ranking does not read the journal.
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


def seen_at(memory: Record, now: datetime, *, endures: bool = False) -> Record:
    """Return a memory as readers see it at a time.

    Its confidence is decayed. Its status is ``review`` past its soft expiry, else ``stale`` from
    :func:`stale_from` on. A stored ``review`` or ``stale`` takes precedence. A memory that is not
    live is returned unchanged.

    Args:
        memory: The stored record.
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
    return Record.over({**memory.__dict__, **changes}) if changes else memory


def _status_at(memory: Record, now: datetime) -> Status:
    if memory.soft_expires_at is not None and now >= memory.soft_expires_at:
        return Status.REVIEW
    since = stale_from(memory)
    return Status.ACTIVE if since is None or to_us(now) < since else Status.STALE


def access_noted(memory: Record, now: datetime) -> Access:
    """Return the reads known from a memory's state: only the last recorded one."""
    last = memory.last_accessed_at
    return Access(0, last, int(last is not None and to_us(now) < to_us(last) + MONTH_US))


def last_read(access: Access) -> datetime | None:
    """Return the last read cut to the minute, as states store it (``domain.codecs.memory``)."""
    return None if access.last is None else from_us(to_us(access.last) // MINUTE_US * MINUTE_US)
