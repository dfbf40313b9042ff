"""The verb about sources of documents without an event loop; no logic lives here."""

from __future__ import annotations

from simonides.blocking.driver import Driver
from simonides.domain.knowledge import SourceReport
from simonides.manager.knowledge_verbs import AsyncKnowledgeVerbs


class KnowledgeVerbs:
    """How sources of documents stand; see :class:`simonides.AsyncMemoryManager`."""

    _knowing: AsyncKnowledgeVerbs
    _driver: Driver

    def knowledge(self, *, within_s: float = 0.0) -> tuple[SourceReport, ...]:
        """See :meth:`simonides.AsyncMemoryManager.knowledge`."""
        return self._driver.run(self._knowing.knowledge(within_s=within_s))
