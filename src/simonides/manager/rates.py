"""How fast is written, and how much an org has: quotas that are no scope's (PO-6).

Both are kept in this process. Writes per minute are counted exactly and for this process alone: to
count them over all would cost every write a statement. What an org has is summed up owner by owner
now and then, and known between two sweeps by what this process has added.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from simonides.domain.retaining import Quotas
from simonides.domain.scope import Scope
from simonides.ports import Clock, MemoryStore

MINUTE_US = 60_000_000

SWEEP_US = 15 * MINUTE_US
"""Between two sweeps of an org; chosen: each reads the sizes of all its rows."""

MANY_OWNERS = 1_000
"""Owners whose writes are remembered before those that have not written lately are let go."""


class Taken(NamedTuple):
    """What of some writes is within a quota.

    Attributes:
        granted: How many of them.
        retry_after_s: Seconds until another one is; 0 where all are.
    """

    granted: int
    retry_after_s: float = 0.0


@dataclass(slots=True)
class _Org:
    """What an org has: bytes, and until when that counts, µs."""

    stored: int
    until: int


@dataclass(slots=True)
class Rates:
    """Writes of the last minute and sizes of orgs; safe to share between threads."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _writes: dict[Scope, deque[tuple[int, int]]] = field(default_factory=dict)
    _orgs: dict[str | None, _Org] = field(default_factory=dict)

    def take(self, owner: Scope, wanted: int, limit: int, now_us: int) -> Taken:
        """Count writes of an owner, as many as are within a limit in any 60 seconds.

        Args:
            owner: Whose.
            wanted: How many.
            limit: How many there may be.
            now_us: The clock; one that goes back frees nothing.
        """
        with self._lock:
            if len(self._writes) >= MANY_OWNERS:
                self._forget(now_us)
            recent = self._writes.setdefault(owner, deque())
            while recent and recent[0][0] <= now_us - MINUTE_US:
                recent.popleft()
            granted = max(min(wanted, limit - sum(number for _, number in recent)), 0)
            if granted:
                recent.append((now_us, granted))
            if granted == wanted:
                return Taken(granted)
            return Taken(granted, (recent[0][0] + MINUTE_US - now_us) / 1_000_000)

    def _forget(self, now_us: int) -> None:
        lately = now_us - MINUTE_US
        idle = [o for o, recent in self._writes.items() if not recent or recent[-1][0] <= lately]
        for owner in idle:
            del self._writes[owner]

    async def room_of(
        self, store: MemoryStore, org: str | None, limit: int, sizes: Sequence[int], clock: Clock
    ) -> Taken:
        """Say how many writes an org has room for, the first of them first, and count them.

        Args:
            store: Where the org's owners are.
            org: Which.
            limit: Bytes that it may have.
            sizes: Of the writes, bytes.
            clock: Says whether the last sweep still counts.

        Returns:
            How many, and when the org is swept again.

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
    """Whether a policy asks for either; most do not, and pay nothing."""
    return quotas.writes_per_minute is not None or quotas.org_bytes is not None
