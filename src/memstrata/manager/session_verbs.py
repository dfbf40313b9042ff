"""The verbs about sessions (SE)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memstrata.domain.scope import Principal
from memstrata.domain.session import OpenSession
from memstrata.domain.value import from_us
from memstrata.manager.services import Services
from memstrata.manager.sessions import AsyncSession, within

if TYPE_CHECKING:
    from memstrata.manager.memory_manager import AsyncMemoryManager


class AsyncSessionVerbs:
    """Sessions of a principal; see :class:`memstrata.AsyncMemoryManager`, which has these verbs."""

    _services: Services
    _principal: Principal

    def session(self, name: str | None = None) -> AsyncSession:
        """Return a session of this principal, to be begun or gone on with (SE).

        A user may have any number at a time: each has a log of its own, and all have one memory.

        Args:
            name: What it is called; None for the session that this manager is within.

        Raises:
            InvalidInput: If none is named, or another than that by which alone the principal is
                known.
            InvalidScope: If the name is malformed.
        """
        bound = within(self._principal, name)
        memory = type(self)(self._services, bound)  # type: ignore[call-arg]
        return AsyncSession(self._services, cast("AsyncMemoryManager", memory), str(bound.session))

    async def sessions(self) -> tuple[OpenSession, ...]:
        """Return the sessions that are open, by when they began, then by name.

        Raises:
            StoreError: If the store could not.
        """
        found = await self._services.sessions.sessions(self._principal.home.owner)
        return tuple(
            OpenSession(
                one.id,
                from_us(one.started_at),
                None if one.due_at is None else from_us(one.due_at),
                one.entries,
            )
            for one in found
        )
