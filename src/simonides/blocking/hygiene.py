"""The verbs about what hygiene says without an event loop; no logic lives here."""

from __future__ import annotations

from simonides.blocking.driver import Driver
from simonides.domain.scanning import Scan, StoreScan
from simonides.domain.trust import Source
from simonides.manager.hygiene_verbs import AsyncAdminHygiene, AsyncHygieneVerbs


class HygieneVerbs:
    """What a principal can ask of hygiene; see :class:`simonides.AsyncMemoryManager`."""

    _hygiene: AsyncHygieneVerbs
    _driver: Driver

    def scan(self, text: str, *, source: str = Source.USER_STATED) -> Scan:
        """See :meth:`simonides.AsyncMemoryManager.scan`."""
        return self._driver.run(self._hygiene.scan(text, source=source))

    def scan_memories(self) -> StoreScan:
        """See :meth:`simonides.AsyncMemoryManager.scan_memories`."""
        return self._driver.run(self._hygiene.scan_memories())


class AdminHygiene:
    """How an administrator looks through a store; see :class:`simonides.AsyncAdmin`."""

    _admin: AsyncAdminHygiene
    _driver: Driver

    def scan(self, *, org: str | None = None) -> StoreScan:
        """See :meth:`simonides.AsyncAdmin.scan`."""
        return self._driver.run(self._admin.scan(org=org))
