"""The entries of sessions that stay in memory: how many, how long, and what gives way (SE-1).

A hot session holds entries by their numbers. Of use to a reader is its *tail*, the run without a
gap up to the newest: what lies before it is read from the store.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from memstrata.domain.scope import Scope
from memstrata.domain.session import Eviction, Logged, SessionRules


class _Kept(NamedTuple):
    logged: Logged
    since: int


class HotSession:
    """What of one session is in memory; safe to share between threads.

    Attributes:
        derived: What others made of its entries; gone once the session is another's under the same
            name, or went cold.
    """

    def __init__(self, rules: SessionRules) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        # In the order in which they give way, the first first.
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._used_at = 0
        self.derived: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, entries: Sequence[Logged], now: int) -> None:
        """Take in entries of the session, and let go of what there is no room for.

        What stands under a number already counts as written when it was first.
        """
        with self._lock:
            self._expire(now)
            for logged in entries:
                kept = self._kept.get(logged.number)
                since = now if kept is None else kept.since
                self._kept[logged.number] = _Kept(logged, since)
                if kept is not None:
                    self._touch(logged.number)
            self._used_at = now
            self._shrink(self._rules.hot_entries)

    def tail(self, now: int, after: int = -1) -> tuple[Logged, ...]:
        """Return the run of entries up to the newest, without those up to a number; a use of it."""
        with self._lock:
            self._expire(now)
            number = first = max(self._kept, default=-1) + 1
            while first - 1 > after and first - 1 in self._kept:
                first -= 1
            found = tuple(self._kept[each].logged for each in range(first, number))
            for each in found:
                self._touch(each.number)
            self._used_at = now
            return found

    @property
    def newest(self) -> int:
        """The highest number that is in memory, or -1."""
        return max(self._kept, default=-1)

    def spare(self, count: int) -> int:
        """Let go of so many entries, or of all; return how many went."""
        with self._lock:
            before = len(self._kept)
            self._shrink(max(before - count, 0))
            return before - len(self._kept)

    def clear(self) -> None:
        """Let go of everything: the session is gone, or another one has its name."""
        with self._lock:
            self._kept.clear()
            self.derived.clear()

    def _touch(self, number: int) -> None:
        if self._rules.eviction is Eviction.LRU:
            self._kept.move_to_end(number)

    def _shrink(self, most: int) -> None:
        while len(self._kept) > most:
            self._kept.popitem(last=False)

    def _expire(self, now: int) -> None:
        """Let go of what has had its time; a clock that was turned back keeps it."""
        if self._rules.eviction is not Eviction.TTL:
            if now - self._used_at >= self._rules.hot_us:
                self._kept.clear()
                self.derived.clear()
            return
        while self._kept:
            number, kept = next(iter(self._kept.items()))
            if now - kept.since < self._rules.hot_us:
                return
            del self._kept[number]


class HotSessions:
    """The hot sessions of a process, least recently used out first; safe to share between threads.

    Args:
        rules: The bounds.
    """

    def __init__(self, rules: SessionRules) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        self._hot: OrderedDict[tuple[Scope, str], HotSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._hot)

    def of(self, owner: Scope, session: str) -> HotSession:
        """Return what of a session is in memory; a use of it."""
        with self._lock:
            hot = self._hot.setdefault((owner, session), HotSession(self._rules))
            self._hot.move_to_end((owner, session))
            while len(self._hot) > self._rules.hot_sessions:
                self._hot.popitem(last=False)
            return hot

    def settle(self, owner: Scope) -> None:
        """See to it that one user has no more than the bound; what was used last stays."""
        with self._lock:
            of_user = [hot for (whose, _), hot in self._hot.items() if whose == owner]
        over = sum(map(len, of_user)) - self._rules.hot_entries_per_user
        for hot in of_user:
            if over <= 0:
                return
            over -= hot.spare(over)

    def forget(self, owner: Scope, session: str | None = None) -> None:
        """Let go of a session, or of all of an owner."""
        with self._lock:
            gone = [k for k in self._hot if k[0] == owner and session in (None, k[1])]
            dropped = [self._hot.pop(key) for key in gone]
        for hot in dropped:
            hot.clear()

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            dropped, self._hot = [*self._hot.values()], OrderedDict()
        for hot in dropped:
            hot.clear()
