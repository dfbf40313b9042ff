"""The one path on which sessions end, whatever ends them, once and for all (SE-4)."""

from __future__ import annotations

from memstrata.domain.scope import Principal
from memstrata.domain.session_end import EndedBy, SessionEndReport
from memstrata.manager.services import Services


class SessionEnder:
    """Ends sessions of one principal."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    async def end(self, session: str, *, ended_by: EndedBy = EndedBy.CALL) -> SessionEndReport:
        """Take a session through the steps of its end that it has not taken yet.

        Called twice, by several at once, or again after a crash it comes to the same.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        raise NotImplementedError

    async def checkpoint(self, session: str) -> SessionEndReport:
        """Promote what has found support by now; the session goes on (SE-5)."""
        raise NotImplementedError
