"""From what a session's log says to candidates, off the way of the answer (CO-1)."""

from __future__ import annotations

from memstrata.domain.decision import CaptureReport
from memstrata.domain.scope import Principal
from memstrata.manager.services import Services


class Extractor:
    """Looks at the entries of one principal's sessions that nobody has looked at yet."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    async def catch_up(self, session: str, *, rules_only: bool = False) -> CaptureReport:
        """Extract from all entries after the last one that was looked at, each once.

        How far it has come is committed with what came of it, so that it is neither lost nor done
        twice. Support that turns give to held candidates is noted (SE-5).

        Args:
            session: Its name.
            rules_only: Ask no model now; where there is one its lanes look at the same entries
                later.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        raise NotImplementedError
