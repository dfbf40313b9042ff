"""The verbs about how memories age without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Callable

from simonides.blocking.driver import Driver
from simonides.domain.ageing import Ageing
from simonides.domain.collecting import GcReport
from simonides.domain.memory import Memory
from simonides.manager.ageing_verbs import AsyncAgeingVerbs


class AgeingVerbs:
    """What time does to memories; see :class:`simonides.AsyncMemoryManager`."""

    _ageing: AsyncAgeingVerbs
    _driver: Driver

    def ageing(self, id: str) -> Ageing | None:
        """See :meth:`simonides.AsyncMemoryManager.ageing`."""
        return self._driver.run(self._ageing.ageing(id))

    def to_verify(self) -> tuple[Memory, ...]:
        """See :meth:`simonides.AsyncMemoryManager.to_verify`."""
        return self._driver.run(self._ageing.to_verify())

    def gc(
        self, *, dry_run: bool = False, progress: Callable[[GcReport], None] | None = None
    ) -> GcReport:
        """See :meth:`simonides.AsyncMemoryManager.gc`."""
        return self._driver.run(self._ageing.gc(dry_run=dry_run, progress=progress))
