"""The verbs of consolidation without an event loop; no logic lives here."""

from __future__ import annotations

from simonides.blocking.driver import Driver
from simonides.domain.dream import Dream
from simonides.manager.dream_verbs import AsyncDreamVerbs


class DreamVerbs:
    """Consolidating what is stored; see :class:`simonides.AsyncMemoryManager`."""

    _dreaming: AsyncDreamVerbs
    _driver: Driver

    def dream(self, *, dry_run: bool = False) -> Dream:
        """See :meth:`simonides.AsyncMemoryManager.dream`."""
        return self._driver.run(self._dreaming.dream(dry_run=dry_run), asks_model=True)

    def undo_dream(self, id: str) -> Dream:
        """See :meth:`simonides.AsyncMemoryManager.undo_dream`."""
        return self._driver.run(self._dreaming.undo_dream(id))

    def dreams(self, *, limit: int = 20) -> tuple[Dream, ...]:
        """See :meth:`simonides.AsyncMemoryManager.dreams`."""
        return self._driver.run(self._dreaming.dreams(limit=limit))
