"""The verbs about conflicts and mistakes without an event loop; no logic lives here."""

from __future__ import annotations

from typing import Any

from simonides.blocking.driver import Driver
from simonides.domain.decision import Outcome
from simonides.domain.review import Review, ReviewStatus
from simonides.manager.changing_verbs import AsyncChangingVerbs


class ChangingVerbs:
    """What a manager decides and takes back; see :class:`simonides.AsyncMemoryManager`."""

    _changing: AsyncChangingVerbs
    _driver: Driver

    def reviews(self, *, status: str = ReviewStatus.OPEN) -> tuple[Review, ...]:
        """See :meth:`simonides.AsyncMemoryManager.reviews`."""
        return self._driver.run(self._changing.reviews(status=status))

    def decide(self, review_id: str, keep: str, *, reason: str = "") -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.decide`."""
        return self._driver.run(self._changing.decide(review_id, keep, reason=reason))

    def undo(self, event_id: str) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.undo`."""
        return self._driver.run(self._changing.undo(event_id))

    def get_metrics(self) -> dict[str, Any]:
        """See :meth:`simonides.AsyncMemoryManager.get_metrics`."""
        return self._driver.run(self._changing.get_metrics())
