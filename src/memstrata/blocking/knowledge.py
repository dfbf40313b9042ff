"""The verb about sources of documents without an event loop; no logic lives here."""

from __future__ import annotations

from memstrata.blocking.driver import Driver
from memstrata.domain.knowledge import SourceReport
from memstrata.manager.knowledge_verbs import AsyncKnowledgeVerbs


class KnowledgeVerbs:
    """How sources of documents stand; see :class:`memstrata.AsyncMemoryManager`."""

    _knowing: AsyncKnowledgeVerbs
    _driver: Driver

    def knowledge(self, *, within_s: float = 0.0) -> tuple[SourceReport, ...]:
        """See :meth:`memstrata.AsyncMemoryManager.knowledge`."""
        return self._driver.run(self._knowing.knowledge(within_s=within_s))
