"""What organisations write, where their policy limits it: in a minute, in a day, and in all.

Counts stand in memory and join those of other processes every few seconds, so they are exact to
that. An organisation without such a limit is not counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simonides.core.clock import DAY_MS, MINUTE_MS, Clock
from simonides.core.errors import QuotaExceeded
from simonides.core.scope import Scope
from simonides.storage import statements

if TYPE_CHECKING:
    from simonides.core.policy import Quotas
    from simonides.storage.database import Database

JOIN_S, SIZE_S = 5.0, 60.0
"""Seconds after which counts join those of other processes, and the size is measured again."""

WINDOWS = {"writes_per_minute": MINUTE_MS, "writes_per_day": DAY_MS}
"""Length of the windows in which writes are counted, in milliseconds, by the quota."""


@dataclass
class _Count:
    """What is known of one organisation.

    Attributes:
        known: Writes of all processes, by quota and number of the window, as of the last join.
        own: Writes of this process since.
        size: Bytes of its texts, as measured last, and written by this process since.
        joined: When counts joined, in seconds of the monotonic clock.
        measured: When the size was measured.
    """

    known: dict[tuple[str, int], int] = field(default_factory=dict)
    own: dict[tuple[str, int], int] = field(default_factory=dict)
    size: int = 0
    joined: float = float("-inf")
    measured: float = float("-inf")


class Usage:
    """Counts writes and refuses those beyond a limit. Thread-safe."""

    def __init__(
        self, db: Database, clock: Clock, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin without counts.

        Args:
            db: Where processes share their counts.
            clock: Decides the window.
            seconds: The monotonic clock.
        """
        self._db, self._clock, self._seconds = db, clock, seconds
        self.after_fork()

    def after_fork(self) -> None:
        """Begin without counts: they are the parent's."""
        self._lock = threading.RLock()
        self._counts: dict[str, _Count] = {}

    def take(self, org: str | None, quotas: Quotas, texts: Sequence[str]) -> None:
        """Count writes of an organisation.

        Args:
            org: Its id; None is the global scope.
            quotas: Its limits.
            texts: What is written.

        Raises:
            QuotaExceeded: If they go beyond a limit; none was counted.
        """
        limits = {name: getattr(quotas, name) for name in (*WINDOWS, "bytes")}
        if all(limit is None for limit in limits.values()):
            return
        owner, now = Scope(org).owner, self._clock.now_ms()
        writes, size = len(texts), sum(len(each.encode()) for each in texts)
        with self._lock:
            count = self._counts.setdefault(owner, _Count())
            if self._seconds() - count.joined > JOIN_S:
                self._join(owner, count, now)
            if limits["bytes"] is not None and self._seconds() - count.measured > SIZE_S:
                self._measure(owner, count)
            for name, length in WINDOWS.items():
                number, limit = now // length, limits[name]
                written = sum(each.get((name, number), 0) for each in (count.known, count.own))
                if limit is not None and written + writes > limit:
                    raise QuotaExceeded(name, limit, ((number + 1) * length - now) / 1_000)
            if limits["bytes"] is not None and count.size + size > limits["bytes"]:
                raise QuotaExceeded("bytes", limits["bytes"])
            count.size += size
            for name, length in WINDOWS.items():
                window = name, now // length
                count.own[window] = count.own.get(window, 0) + writes

    def flush(self) -> None:
        """Share the counts with other processes."""
        with self._lock:
            for owner, count in self._counts.items():
                if count.own:
                    self._join(owner, count, self._clock.now_ms())

    def _join(self, owner: str, count: _Count, now: int) -> None:
        own, count.own = count.own, {}
        current = [(name, now // length) for name, length in WINDOWS.items()]
        known: dict[tuple[str, int], int] = {}
        with self._db.write(owner) as connection:
            for name, number in current:
                old = {"owner": owner, "name": name, "before": number}
                connection.run(statements.FORGET_COUNTS, old)
            for (name, number), value in own.items():
                row = {"owner": owner, "day": number, "name": name, "value": value}
                connection.run(statements.COUNT, row)
            for name, number in current:
                window = {"owner": owner, "day": number, "name": name}
                if counted := connection.one(statements.COUNTED, window):
                    known[name, number] = counted[0]
        count.known = known
        count.joined = self._seconds()

    def _measure(self, owner: str, count: _Count) -> None:
        with self._db.read() as connection:
            names = [name for (name,) in connection.rows(statements.OWNERS, {})]
        own = [name for name in names if name == owner or name.startswith(f"{owner}/")]
        count.size = 0
        for name in own:
            with self._db.read(name) as connection:
                size = connection.one(statements.SIZE, {"owner": name})
            count.size += (size and size[0]) or 0
        count.measured = self._seconds()
