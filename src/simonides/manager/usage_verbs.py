"""The verb that tells what models have cost (FX-11)."""

from __future__ import annotations

from simonides.domain.ceilings import DayUsage, Spent, UsageReport, day_of
from simonides.domain.scope import Principal
from simonides.manager.asking import between
from simonides.manager.services import Services

MAX_DAYS = 3_650


class AsyncUsageVerbs:
    """Telling what models have cost; see :class:`simonides.AsyncMemoryManager`, which has this
    verb.
    """

    _services: Services
    _principal: Principal

    async def usage(self, *, days: int = 30) -> UsageReport:
        """Return what models have cost this principal's owner by day, and the ceilings in force.

        What a question under way may come to at the most is counted until it is answered.

        Args:
            days: So many days back, today included.

        Raises:
            InvalidInput: If that is out of range.
            StoreError: If the store cannot be read.
        """
        services, owner = self._services, self._principal.home.owner
        today = day_of(services.clock.now_us())
        since = today - between("days", days, 1, MAX_DAYS) + 1
        found = [each for each in await services.store.spent(owner, since=since) if each.counts]
        told = [_told(each) for each in found if each.day <= today]
        return UsageReport(
            owner=owner.path,
            today=next(
                (_told(each) for each in found if each.day == today), _told(Spent(today, {}))
            ),
            days=tuple(reversed(told)),
            ceilings=services.policies.policy_for(owner.org).ceilings,
        )


def _told(spent: Spent) -> DayUsage:
    counts = {name: spent.counts.get(name, 0) for name in ("calls", "tokens", "embedded")}
    return DayUsage(day=spent.on.isoformat(), **counts)
