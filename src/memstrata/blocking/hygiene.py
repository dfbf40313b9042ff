"""The verbs about what hygiene says without an event loop; no logic lives here."""

from __future__ import annotations

from memstrata.blocking.driver import Driver
from memstrata.domain.scanning import Scan, StoreScan
from memstrata.domain.trust import Source
from memstrata.manager.hygiene_verbs import AsyncAdminHygiene, AsyncHygieneVerbs


class HygieneVerbs:
    """What a principal can ask of hygiene; see :class:`memstrata.AsyncMemoryManager`."""

    _hygiene: AsyncHygieneVerbs
    _driver: Driver

    def scan(self, text: str, *, source: str = Source.USER_STATED) -> Scan:
        """See :meth:`memstrata.AsyncMemoryManager.scan`."""
        return self._driver.run(self._hygiene.scan(text, source=source))

    def scan_memories(self) -> StoreScan:
        """See :meth:`memstrata.AsyncMemoryManager.scan_memories`."""
        return self._driver.run(self._hygiene.scan_memories())


class AdminHygiene:
    """How an administrator looks through a store; see :class:`memstrata.AsyncAdmin`."""

    _admin: AsyncAdminHygiene
    _driver: Driver

    def scan(self, *, org: str | None = None) -> StoreScan:
        """See :meth:`memstrata.AsyncAdmin.scan`."""
        return self._driver.run(self._admin.scan(org=org))
