"""Enforces quotas: memories and turns per scope, writes per minute, and bytes per org.

Scope quotas are checked under the owner's turn, where the index is current, so they are exact for
concurrent writers too. The index keeps the rows of each scope, so counting is cheap.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from simonides.domain.errors import QuotaExceeded
from simonides.domain.event import Event, EventType
from simonides.domain.memory import Record
from simonides.domain.policy.gates import Shape
from simonides.domain.policy.quotas import QUOTA_EXCEEDED, Quotas
from simonides.domain.scope import Scope
from simonides.domain.value import to_us
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import EventRecorder
from simonides.engine.write.rules.pending import Pending
from simonides.engine.write.rules.resolution import Resolution
from simonides.engine.write.rules.retention import evicted, worth
from simonides.ports import Clock, MemoryStore
from simonides.retrieval.index import (
    KEPT_CATEGORY,
    SMALL_OWNER,
    EvictionCandidate,
    OwnerIndex,
    eviction_candidates,
    turn_of,
)

LIVE_TASKS = 50
"""Most live task scopes of a user before an alert; more suggest that tasks are not cleaned up."""

CROWDED = "live_task_scopes"
"""Reason and problem: the user has more live task scopes than :data:`LIVE_TASKS`."""


DAY_US = 86_400_000_000


class _Queue(NamedTuple):
    """Cached eviction candidates, the first to evict first; ``until``: end of validity, µs."""

    candidates: list[EvictionCandidate]
    until: int


_NO_QUEUE = _Queue([], 0)


@dataclass(slots=True)
class ScopeQuotas:
    """Checks the scope quotas under one turn, and evicts memories to stay within them.

    Attributes:
        index: The owner's current index.
        quotas: The quotas in force.
        recorder: Records the turn's events.
    """

    index: OwnerIndex
    quotas: Quotas
    recorder: EventRecorder
    _added: dict[tuple[Scope, bool], int] = field(default_factory=dict)

    def admit(
        self, resolution: Resolution, pending: Pending, shape: Shape | None
    ) -> tuple[Event, ...] | None:
        """Add a resolution to the turn, and evict memories if its scope is over quota.

        Returns:
            The eviction events; None if nothing may be evicted for it. Then nothing was added.
        """
        grown = self._growth(resolution, pending)
        if grown <= 0:
            self._add(resolution, pending, shape, grown)
            return ()
        (memory,) = {m.id: m for m in resolution.added if m.status.is_live}.values()
        group = _group(memory)
        limit = self.limit(is_turn=group[1])
        standing = self._standing(group)
        to_evict = self._to_evict(memory, max(standing + grown - limit, 0), pending)
        if to_evict is None:
            return None
        self._alert_if_crowded(memory, is_first=standing == 0)
        self._add(resolution, pending, shape, grown)
        return tuple(self._evict(each, pending) for each in to_evict)

    def admit_restored(self, states: Sequence[Record], pending: Pending) -> tuple[Event, ...]:
        """Add the states of an undo to the turn, and evict memories if a scope is over quota.

        Args:
            states: All states that the undo sets, those of replaced memories included.
            pending: The turn's changes; receives these states and those of evicted memories.

        Returns:
            The eviction events.

        Raises:
            QuotaExceeded: If nothing may be evicted for a restored memory.
        """
        for state in states:
            pending.restate(state)
        events: tuple[Event, ...] = ()
        for group in dict.fromkeys(map(_group, states)):
            here = [state for state in states if _group(state) == group]
            back = [m for m in here if m.status.is_live and not self.index.holds(m.id)]
            gone = [m for m in here if not m.status.is_live and self.index.holds(m.id)]
            grown, limit = len(back) - len(gone), self.limit(is_turn=group[1])
            if grown <= 0:
                continue
            # Kept memories may be evicted only if every restored one is a kept one.
            least = min(back, key=is_kept)
            to_evict = self._to_evict(least, max(self._standing(group) + grown - limit, 0), pending)
            if to_evict is None:
                raise QuotaExceeded(_what(is_turn=group[1]), limit, None)
            events += tuple(self._evict(each, pending) for each in to_evict)
        return events

    def limit(self, *, is_turn: bool) -> int:
        """Return the quota of a scope: turns, or other memories."""
        limit = self.quotas.turns if is_turn else self.quotas.memories
        return 2**63 if limit is None else limit

    def _add(
        self, resolution: Resolution, pending: Pending, shape: Shape | None, grown: int
    ) -> None:
        pending.take(resolution, shape)
        if grown:
            group = _group(resolution.record)
            self._added[group] = self._added.get(group, 0) + grown

    def _growth(self, resolution: Resolution, pending: Pending) -> int:
        """Return by how many a resolution changes the number of live memories."""
        new = sum(memory.status.is_live for memory in resolution.added)
        gone = [m for m in resolution.restated if not m.status.is_live]
        return new - sum(pending.has_added_live(m.id) or self.index.holds(m.id) for m in gone)

    def _standing(self, group: tuple[Scope, bool]) -> int:
        return self.index.count(*group) + self._added.get(group, 0)

    def _to_evict(self, newcomer: Record, wanted: int, pending: Pending) -> list[Record] | None:
        if not wanted:
            return []
        first = self._eviction_candidates(_group(newcomer), wanted, pending)
        if len(first) < wanted or (any(s.is_kept for s in first) and not is_kept(newcomer)):
            return None
        memories = (self.index.found(spare.id) for spare in first)
        return [memory for memory in memories if memory is not None]

    def _eviction_candidates(
        self, group: tuple[Scope, bool], wanted: int, pending: Pending
    ) -> list[EvictionCandidate]:
        """Return the first eviction candidates. Memories changed by this turn are never evicted.

        For a large scope, 1 % of it is cached as candidates. They are computed again once they
        were evicted or changed, or after a day.
        """
        index, eviction = self.index, self.quotas.eviction
        now_us = to_us(self.recorder.moment.now)
        queue: _Queue = index.queues.get((group, eviction), _NO_QUEUE)
        ready = [] if now_us >= queue.until else queue.candidates
        left = [s for s in ready if index.revision_of(s.id) == s.revision]
        left = [s for s in left if not pending.touched(s.id)]
        if len(left) < wanted:
            rows = [row for row in index.rows_of(*group) if not pending.touched(row.id)]
            cached = len(rows) // 100 if len(rows) > SMALL_OWNER else 0
            left = eviction_candidates(
                rows, now_us, partial(worth, eviction=eviction), wanted + cached
            )
            queue = _Queue([], now_us + DAY_US)
        # Evicted candidates need no removal here: this turn has touched them, and after it they
        # are not in the index.
        index.queues[group, eviction] = queue._replace(candidates=left)
        return left[:wanted]

    def _evict(self, memory: Record, pending: Pending) -> Event:
        group = _group(memory)
        pending.restate(evicted(memory, self.recorder.moment))
        self._added[group] = self._added.get(group, 0) - 1
        return self.recorder.record(
            EventType.EVICTED,
            memory.scope,
            subjects=(memory.id,),
            reasons=(f"quota:{_what(is_turn=group[1])}", f"by:{self.quotas.eviction.value}"),
        )

    def _alert_if_crowded(self, memory: Record, *, is_first: bool) -> None:
        """Record an alert if a new task exceeds the limit.

        The outcome does not show it: a task must not learn of other tasks.
        """
        scope = memory.scope
        if scope.task is None or not is_first or self._standing((scope, not _group(memory)[1])):
            return
        began = {s for (s, _), n in self._added.items() if n > 0 and not self.index.is_live(s)}
        tasks = self.index.live_scopes(scope.owner) + len(began - {scope.owner}) + 1
        if reasons := too_many_tasks(tasks):
            self.recorder.record(EventType.ALERTED, scope.owner, reasons=reasons)


def too_many_tasks(tasks: int) -> tuple[str, ...]:
    """Return the reason that a user has too many live task scopes; empty if not."""
    return (f"{CROWDED}:{tasks}",) if tasks > LIVE_TASKS else ()


def over_quota(memory: Record, quotas: ScopeQuotas) -> tuple[str, ...]:
    """Return the reasons of a write that its scope's quota blocks."""
    is_turn = turn_of(memory) is not None
    return exceeded(_what(is_turn=is_turn), quotas.limit(is_turn=is_turn))


def exceeded(what: str, limit: int, retry_after_s: float | None = None) -> tuple[str, ...]:
    """Return the reasons of a write over a quota, for an outcome."""
    retry = () if retry_after_s is None else (f"retry_after_s:{retry_after_s:.3f}",)
    return (f"{QUOTA_EXCEEDED}:{what}", f"limit:{limit}", *retry)


def raise_if_over_quota(outcome: Outcome) -> Outcome:
    """Return the outcome of a single write.

    Raises:
        QuotaExceeded: If the write was over a quota.
    """
    named = _named(outcome.reasons) if outcome.kind is OutcomeKind.BLOCKED else {}
    if QUOTA_EXCEEDED not in named:
        return outcome
    retry = named.get("retry_after_s")
    raise QuotaExceeded(
        named[QUOTA_EXCEEDED], int(named["limit"]), None if retry is None else float(retry)
    )


def _named(reasons: Sequence[str]) -> dict[str, str]:
    parted = (reason.partition(":") for reason in reasons)
    return {name: value for name, _, value in parted}


def _what(*, is_turn: bool) -> str:
    return "turns" if is_turn else "memories"


def _group(memory: Record) -> tuple[Scope, bool]:
    return memory.scope, turn_of(memory) is not None


def is_kept(memory: Record) -> bool:
    """Whether only a kept memory may evict this one: it is pinned, or a constraint."""
    return memory.pinned or memory.category == KEPT_CATEGORY


MINUTE_US = 60_000_000

SWEEP_US = 15 * MINUTE_US
"""Time between two sweeps of an org, µs; chosen: each sweep reads the sizes of all its rows."""

MANY_OWNERS = 1_000
"""Owners with write counts in memory; at this number, those idle for a minute are dropped."""


class Taken(NamedTuple):
    """How many of the requested writes are within a quota.

    Attributes:
        granted: Number of writes.
        retry_after_s: Seconds until another write may be granted.
    """

    granted: int
    retry_after_s: float = 0.0


@dataclass(slots=True)
class _Org:
    """Cached size of an org: bytes, and the end of the cache entry's validity, µs."""

    stored: int
    until: int


@dataclass(slots=True)
class Rates:
    """Writes of the last minute and sizes of orgs in this process; write counts are thread-safe."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _writes: dict[Scope, deque[tuple[int, int]]] = field(default_factory=dict)
    _orgs: dict[str | None, _Org] = field(default_factory=dict)

    def take(self, owner: Scope, wanted: int, limit: int, now_us: int) -> Taken:
        """Count an owner's writes, at most ``limit`` in any 60 seconds.

        Args:
            owner: Owner of the writes.
            wanted: Number of writes requested.
            limit: Most writes in 60 seconds.
            now_us: The clock, µs; a clock that goes back frees nothing.
        """
        with self._lock:
            if len(self._writes) >= MANY_OWNERS:
                self._drop_idle(now_us)
            recent = self._writes.setdefault(owner, deque())
            while recent and recent[0][0] <= now_us - MINUTE_US:
                recent.popleft()
            granted = max(min(wanted, limit - sum(number for _, number in recent)), 0)
            if granted:
                recent.append((now_us, granted))
            if granted == wanted:
                return Taken(granted)
            return Taken(granted, (recent[0][0] + MINUTE_US - now_us) / 1_000_000)

    def _drop_idle(self, now_us: int) -> None:
        lately = now_us - MINUTE_US
        idle = [o for o, recent in self._writes.items() if not recent or recent[-1][0] <= lately]
        for owner in idle:
            del self._writes[owner]

    async def take_bytes(
        self, store: MemoryStore, org: str | None, limit: int, sizes: Sequence[int], clock: Clock
    ) -> Taken:
        """Count an org's writes in order, as many as fit into its bytes.

        Args:
            store: Holds the org's owners.
            org: The org.
            limit: Most bytes of the org.
            sizes: Sizes of the writes, bytes.
            clock: Decides whether the last sweep is still valid.

        Returns:
            How many fit, and the time until the org's next sweep.

        Raises:
            StoreError: If the sizes cannot be read.
        """
        now_us = clock.now_us()
        known = self._orgs.get(org)
        if known is None or known.until <= now_us:
            stored = 0
            for owner in await store.owners():
                if owner.org == org:
                    stored += (await store.size(owner)).stored_bytes
            known = self._orgs[org] = _Org(stored, now_us + SWEEP_US)
        granted = 0
        for size in sizes:
            if known.stored + size > limit:
                break
            known.stored += size
            granted += 1
        return Taken(granted, (known.until - now_us) / 1_000_000)


def is_limited(quotas: Quotas) -> bool:
    """Whether a policy limits the rate or the org's bytes; most policies limit neither."""
    return quotas.writes_per_minute is not None or quotas.org_bytes is not None
