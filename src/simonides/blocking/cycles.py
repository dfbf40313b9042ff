"""The verb that looks through what is stored without an event loop; no logic lives here."""

from __future__ import annotations

from simonides.blocking.driver import Driver
from simonides.domain.cycle import HygieneReport
from simonides.manager.cycle_verbs import AsyncCycleVerbs


class CycleVerbs:
    """Looking through what is stored; see :class:`simonides.AsyncMemoryManager`."""

    _cycling: AsyncCycleVerbs
    _driver: Driver

    def hygiene(self, *, dry_run: bool = False) -> HygieneReport:
        """See :meth:`simonides.AsyncMemoryManager.hygiene`."""
        return self._driver.run(self._cycling.hygiene(dry_run=dry_run), asks_model=True)
