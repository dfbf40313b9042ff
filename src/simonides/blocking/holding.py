"""The verbs about what is kept back without an event loop; no logic lives here."""

from __future__ import annotations

from simonides.blocking.driver import Driver
from simonides.domain.decision import Outcome
from simonides.domain.held import Held
from simonides.manager.holding_verbs import AsyncHoldingVerbs


class HoldingVerbs:
    """What a manager decides about what waits; see :class:`simonides.AsyncMemoryManager`."""

    _holding: AsyncHoldingVerbs
    _driver: Driver

    def held(self, *, scope: str | None = None) -> tuple[Held, ...]:
        """See :meth:`simonides.AsyncMemoryManager.held`."""
        return self._driver.run(self._holding.held(scope=scope))

    def release(self, held_id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.release`."""
        return self._driver.run(self._holding.release(held_id, reason=reason, scope=scope))

    def discard(self, held_id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.discard`."""
        return self._driver.run(self._holding.discard(held_id, reason=reason, scope=scope))
