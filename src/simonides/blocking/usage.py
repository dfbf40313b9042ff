"""The verb that tells what models have cost without an event loop; no logic lives here."""

from __future__ import annotations

from simonides.blocking.driver import Driver
from simonides.domain.ceilings import UsageReport
from simonides.manager.usage_verbs import AsyncUsageVerbs


class UsageVerbs:
    """Telling what models have cost; see :class:`simonides.AsyncMemoryManager`."""

    _spending: AsyncUsageVerbs
    _driver: Driver

    def usage(self, *, days: int = 30) -> UsageReport:
        """See :meth:`simonides.AsyncMemoryManager.usage`."""
        return self._driver.run(self._spending.usage(days=days))
