"""The verbs about conflicts and mistakes without an event loop; no logic lives here."""

from __future__ import annotations

from typing import Any

from memstrata.blocking.driver import Driver
from memstrata.domain.decision import Outcome
from memstrata.domain.review import Review, ReviewStatus
from memstrata.manager.changing_verbs import AsyncChangingVerbs


class ChangingVerbs:
    """What a manager decides and takes back; see :class:`memstrata.AsyncMemoryManager`."""

    _changing: AsyncChangingVerbs
    _driver: Driver

    def reviews(self, *, status: str = ReviewStatus.OPEN) -> tuple[Review, ...]:
        """See :meth:`memstrata.AsyncMemoryManager.reviews`."""
        return self._driver.run(self._changing.reviews(status=status))

    def decide(self, review_id: str, keep: str, *, reason: str = "") -> Outcome:
        """See :meth:`memstrata.AsyncMemoryManager.decide`."""
        return self._driver.run(self._changing.decide(review_id, keep, reason=reason))

    def undo(self, event_id: str) -> Outcome:
        """See :meth:`memstrata.AsyncMemoryManager.undo`."""
        return self._driver.run(self._changing.undo(event_id))

    def get_metrics(self) -> dict[str, Any]:
        """See :meth:`memstrata.AsyncMemoryManager.get_metrics`."""
        return self._driver.run(self._changing.get_metrics())
