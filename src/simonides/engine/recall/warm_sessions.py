"""Bounded cache of session entries, with expiry and least-recently-used eviction.

A hot session holds entries by number. A reader uses its *tail*, the run without a gap up to the
newest entry. Earlier entries are read from the store.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from simonides.domain.conversation.session import Eviction, Logged, SessionRules
from simonides.domain.scope import Scope


class _Kept(NamedTuple):
    logged: Logged
    since: int


class WarmSession:
    """Cached entries of one session; safe to share between threads.

    Attributes:
        derived: Results that callers computed from the entries. Dropped when the session goes cold
            or another session takes its name.
    """

    def __init__(self, rules: SessionRules) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        # In the order of eviction, the first first.
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._newest = -1
        self._used_at = 0
        self.derived: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, entries: Sequence[Logged], now: int) -> None:
        """Cache entries of the session and evict those beyond the bound.

        A number that is cached already keeps its time of caching.
        """
        with self._lock:
            self._expire(now)
            for logged in entries:
                kept = self._kept.get(logged.number)
                since = now if kept is None else kept.since
                self._kept[logged.number] = _Kept(logged, since)
                self._newest = max(self._newest, logged.number)
                if kept is not None:
                    self._touch(logged.number)
            self._used_at = now
            self._shrink(self._rules.hot_entries)

    def tail(self, now: int, after: int = -1) -> tuple[Logged, ...]:
        """Return the tail after a number; counts as a use."""
        with self._lock:
            self._expire(now)
            number = first = self._newest + 1
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
        return self._newest

    def spare(self, count: int) -> int:
        """Evict up to ``count`` entries; return how many were evicted."""
        with self._lock:
            before = len(self._kept)
            self._shrink(max(before - count, 0))
            return before - len(self._kept)

    def clear(self) -> None:
        """Drop all entries, because the session has ended or another one has its name."""
        with self._lock:
            self._empty()

    def _touch(self, number: int) -> None:
        if self._rules.eviction is Eviction.LRU:
            self._kept.move_to_end(number)

    def _shrink(self, most: int) -> None:
        while len(self._kept) > most:
            self._evict(next(iter(self._kept)))

    def _expire(self, now: int) -> None:
        """Evict expired entries; a clock that was turned back evicts none."""
        if self._rules.eviction is not Eviction.TTL:
            if now - self._used_at >= self._rules.hot_us:
                self._empty()
            return
        while self._kept:
            number, kept = next(iter(self._kept.items()))
            if now - kept.since < self._rules.hot_us:
                return
            self._evict(number)

    def _evict(self, number: int) -> None:
        del self._kept[number]
        if number == self._newest:
            self._newest = max(self._kept, default=-1)

    def _empty(self) -> None:
        self._kept.clear()
        self._newest = -1
        self.derived.clear()


class WarmSessions:
    """The hot sessions of a process, evicted least recently used first; safe to share between
    threads.

    Args:
        rules: The bounds.
    """

    def __init__(self, rules: SessionRules) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        self._hot: OrderedDict[tuple[Scope, str], WarmSession] = OrderedDict()
        # The same by user, so that an append need not scan all users.
        self._of_user: dict[Scope, OrderedDict[str, WarmSession]] = {}

    def __len__(self) -> int:
        return len(self._hot)

    def of(self, owner: Scope, session: str) -> WarmSession:
        """Return the cached entries of a session, creating the cache if needed; counts as a use."""
        name = owner, session
        with self._lock:
            hot = self._hot.get(name)
            if hot is None:
                hot = self._hot[name] = WarmSession(self._rules)
                self._of_user.setdefault(owner, OrderedDict())[session] = hot
                while len(self._hot) > self._rules.hot_sessions:
                    self._drop(next(iter(self._hot)))
            else:
                self._hot.move_to_end(name)
                self._of_user[owner].move_to_end(session)
            return hot

    def settle(self, owner: Scope) -> None:
        """Evict one user's entries beyond the bound; the sessions used last stay."""
        most = self._rules.hot_entries_per_user
        with self._lock:
            of_user = self._of_user.get(owner, OrderedDict())
            if len(of_user) * self._rules.hot_entries <= most:
                return
            hot_ones = [*of_user.values()]
        over = sum(map(len, hot_ones)) - most
        for hot in hot_ones:
            if over <= 0:
                return
            over -= hot.spare(over)

    def forget(self, owner: Scope, session: str | None = None) -> None:
        """Drop a session, or all sessions of an owner."""
        with self._lock:
            of_user = self._of_user.get(owner, OrderedDict())
            names = [name for name in of_user if session in (None, name)]
            dropped = [self._drop((owner, name)) for name in names]
        for hot in dropped:
            hot.clear()

    def clear(self) -> None:
        """Drop all sessions."""
        with self._lock:
            dropped, self._hot, self._of_user = [*self._hot.values()], OrderedDict(), {}
        for hot in dropped:
            hot.clear()

    def _drop(self, name: tuple[Scope, str]) -> WarmSession:
        """Remove a cached session by owner and name; the caller holds the lock."""
        owner, session = name
        of_user = self._of_user[owner]
        del of_user[session]
        if not of_user:
            del self._of_user[owner]
        return self._hot.pop(name)
