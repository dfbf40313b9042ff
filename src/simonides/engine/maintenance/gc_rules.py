"""Pure rules: which garbage collection rule a memory's age matches, and the resulting state."""

from __future__ import annotations

from datetime import datetime, timedelta

from simonides.domain.ageing import (
    MONTH_US,
    Access,
    confidence_at,
    last_read,
    stale_from,
    staleness,
)
from simonides.domain.codecs.memory import with_read, with_status
from simonides.domain.memory import Record, Status
from simonides.domain.operations.gc import GcRules, Rule
from simonides.domain.trust import Trust
from simonides.domain.value import to_us

FORESEEN = timedelta(days=7)
"""How long before a memory counts as stale its last read is stored in its state. Chosen: a week may
pass without a run."""

OLD = {Status.SUPERSEDED: Rule.SUPERSEDED_OLD, Status.EVICTED: Rule.EVICTED_OLD}


def due(
    memory: Record, now: datetime, access: Access, rules: GcRules, *, endures: bool = False
) -> Rule | None:
    """Return the rule that applies to a memory, or None.

    Args:
        memory: The memory, by its stored state.
        now: The clock.
        access: How it was read, by the journal.
        rules: Limits.
        endures: Whether it is the latest session summary, which does not expire.
    """
    if not memory.status.is_live:
        rule = OLD.get(memory.status)
        return rule if now - memory.known_from >= timedelta(days=rules.history_days) else None
    if memory.is_expired(now):
        return Rule.HARD_EXPIRED
    is_spared = endures or spared(memory, rules)
    if memory.status is Status.STALE:
        return _after_marking(memory, now, access, rules, is_spared=is_spared)
    if memory.soft_expires_at is not None and now >= memory.soft_expires_at and not endures:
        if is_spared:
            return Rule.IN_REVIEW
        if _is_unread(memory, now, access, rules):
            return Rule.SOFT_EXPIRED
    marked = None if is_spared else _to_be_marked(memory, now, access, rules)
    return marked or (Rule.READ_NOTED if _is_worth_noting(memory, now, access) else None)


def spared(memory: Record, rules: GcRules) -> bool:
    """Whether only its hard expiry evicts it: the user stated it, it is pinned, or its category is
    spared.
    """
    said = memory.trust.rank >= Trust.USER.rank
    return said or memory.pinned or memory.category in rules.spared


def _after_marking(
    memory: Record, now: datetime, access: Access, rules: GcRules, *, is_spared: bool
) -> Rule | None:
    was_read = access.last is not None and access.last >= memory.known_from
    if is_spared or was_read or _to_be_marked(memory, now, access, rules) is None:
        return Rule.RESTORED
    has_waited = now - memory.known_from >= timedelta(days=rules.wait_days)
    return Rule.STALE_EVICTED if has_waited else None


def _to_be_marked(memory: Record, now: datetime, access: Access, rules: GcRules) -> Rule | None:
    waits = memory.verified_at is None
    waits = waits and now - memory.created_at >= timedelta(days=rules.unverified_days)
    if waits and confidence_at(memory, now) < rules.doubtful_below:
        return Rule.STALE_MARKED
    return Rule.QUEUED if staleness(memory, now, access) > rules.queue_above else None


def _is_unread(memory: Record, now: datetime, access: Access, rules: GcRules) -> bool:
    last = memory.updated_at if access.last is None else max(access.last, memory.updated_at)
    return now - last >= timedelta(days=rules.unread_days)


def _is_worth_noting(memory: Record, now: datetime, access: Access) -> bool:
    """Whether the memory is still read, but ranking is about to treat it as stale."""
    read, since = last_read(access), stale_from(memory)
    if read is None or since is None or to_us(now + FORESEEN) < since:
        return False
    # Only if the note postpones staleness; otherwise a daily reader would write a state a day.
    return to_us(read) + MONTH_US > max(since, to_us(now))


def restated(state: bytes, rule: Rule, access: Access) -> bytes:
    """Return the packed state of a memory after a rule was applied.

    The time of the last statement stays, because the memory was not stated again.
    """
    match rule:
        case Rule.HARD_EXPIRED | Rule.SOFT_EXPIRED | Rule.STALE_EVICTED:
            return with_status(state, Status.EVICTED)
        case Rule.STALE_MARKED | Rule.QUEUED:
            return with_status(state, Status.STALE)
        case Rule.RESTORED:
            return with_read(with_status(state, Status.ACTIVE), access.last)
        case Rule.READ_NOTED:
            return with_read(state, access.last)
        case Rule.IN_REVIEW | Rule.SUPERSEDED_OLD | Rule.EVICTED_OLD:
            raise ValueError(f"{rule} leaves no state")
