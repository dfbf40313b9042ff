"""Collects once a day, by itself, what has aged out of the memories that a process reads.

Only in a process that lives long, never while somebody waits for it, and of each owner in one
process: who has done it leaves a lease until the day is over. An operator who wants all owners
collected runs ``simonides gc`` from cron.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from simonides.domain.ageing import DAY_US
from simonides.domain.operations.gc import GcReport
from simonides.domain.scope import Scope
from simonides.engine.core.periodic import PeriodicJob
from simonides.ports import (
    Alarm,
    Clock,
    Ids,
    MemoryStore,
)

FIRST_S = 600.0
"""From the opening to the first look. Chosen: what ends before that is a command, not a service."""

EVERY_S = 3_600.0
"""From one look to the next: owners come and go, and a day is over for each at its own time."""

TODAY = "gc of the day"
"""Name of the lease that whoever has collected an owner leaves behind."""

Collect: TypeAlias = Callable[[Scope, Callable[[GcReport], None]], Awaitable[GcReport]]
"""Collects one owner and tells how far it has come."""

Tidy: TypeAlias = Callable[[int], Awaitable[None]]
"""Removes, as of a clock (µs), records whose retention is over."""


class DailyGc(PeriodicJob):
    """One process's daily care for the owners that are warm in it.

    Attributes:
        is_daily: Whether owners are collected once a day, other than when asked for.
    """

    def __init__(self, alarm: Alarm | None = None, *, is_daily: bool = True) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
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
        """Say what is to be done, for whom, and by what it is remembered that it was; ``tidy`` is
        for what is of no owner.
        """

        async def look() -> None:
            """Collect those owners whose day is over."""
            for owner in owners():
                self.go_on()
                now = clock.now_us()
                lasts = {"now": now, "until": now + DAY_US}
                if await store.lease(owner, TODAY, ids.new(now), **lasts):
                    await collect(owner, lambda _: self.go_on())
            self.go_on()
            await tidy(clock.now_us())

        self.doing(look)
