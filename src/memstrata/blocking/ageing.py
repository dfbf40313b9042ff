"""The verbs about how memories age without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Callable

from memstrata.blocking.driver import Driver
from memstrata.domain.ageing import Ageing
from memstrata.domain.collecting import GcReport
from memstrata.domain.memory import Memory
from memstrata.manager.ageing_verbs import AsyncAgeingVerbs


class AgeingVerbs:
    """What time does to memories; see :class:`memstrata.AsyncMemoryManager`."""

    _ageing: AsyncAgeingVerbs
    _driver: Driver

    def ageing(self, id: str) -> Ageing | None:
        """See :meth:`memstrata.AsyncMemoryManager.ageing`."""
        return self._driver.run(self._ageing.ageing(id))

    def to_verify(self) -> tuple[Memory, ...]:
        """See :meth:`memstrata.AsyncMemoryManager.to_verify`."""
        return self._driver.run(self._ageing.to_verify())

    def gc(
        self, *, dry_run: bool = False, progress: Callable[[GcReport], None] | None = None
    ) -> GcReport:
        """See :meth:`memstrata.AsyncMemoryManager.gc`."""
        return self._driver.run(self._ageing.gc(dry_run=dry_run, progress=progress))
