"""Runs garbage collection once a day for the owners whose memories a process reads.

Runs only in a long-running process, in the background, and in one process per owner: a lease marks
the owner as done for the day. To collect all owners, an operator runs ``simonides admin gc`` from
cron.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from simonides.domain.ageing import DAY_US
from simonides.domain.operations.gc import GcReport
from simonides.domain.scope import Scope
from simonides.engine.core import PeriodicJob
from simonides.ports import Alarm, Clock, Ids, MemoryStore

FIRST_S = 600.0
"""Seconds from opening to the first check. Chosen: a process that ends earlier is a command, not a
service."""

EVERY_S = 3_600.0
"""Seconds between checks: owners are loaded and dropped, and each owner's day ends at its own time.
"""

DAILY_LEASE = "gc of the day"
"""Name of the lease that marks an owner as collected for the day."""

Collect: TypeAlias = Callable[[Scope, Callable[[GcReport], None]], Awaitable[GcReport]]
"""Collects one owner and reports progress."""

Tidy: TypeAlias = Callable[[int], Awaitable[None]]
"""Removes records whose retention has ended, as of a clock (µs)."""


class DailyGc(PeriodicJob):
    """Daily collection of the owners that are loaded in this process.

    Attributes:
        is_daily: Whether owners are collected once a day, in addition to explicit requests.
    """

    def __init__(self, alarm: Alarm | None = None, *, is_daily: bool = True) -> None:
        """Build it.

        Args:
            alarm: Timer for the checks; None disables them.
            is_daily: See the class.
        """
        super().__init__(alarm, name="gc", first_s=FIRST_S, every_s=EVERY_S)
        self.is_daily = is_daily

    def serve(
        self,
        collect: Collect,
        owners: Callable[[], Sequence[Scope]],
        store: MemoryStore,
        clock: Clock,
        ids: Ids,
        tidy: Tidy,
    ) -> None:
        """Set what is run for which owners, and the store with the leases. ``tidy`` removes records
        that belong to no owner.
        """

        async def look() -> None:
            """Collect the owners whose day has ended."""
            for owner in owners():
                self.go_on()
                now = clock.now_us()
                period = {"now": now, "until": now + DAY_US}
                if await store.lease(owner, DAILY_LEASE, ids.new(now), **period):
                    await collect(owner, lambda _: self.go_on())
            self.go_on()
            await tidy(clock.now_us())

        self.doing(look)
