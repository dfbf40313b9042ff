"""The verbs about sessions (SE)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simonides.domain.scope import Principal
from simonides.domain.session import OpenSession
from simonides.domain.value import from_us
from simonides.manager.services import Services
from simonides.manager.sessions import AsyncSession, within

if TYPE_CHECKING:
    from simonides.manager.memory_manager import AsyncMemoryManager


class AsyncSessionVerbs:
    """Sessions of a principal; see :class:`simonides.AsyncMemoryManager`, which has these verbs."""

    _services: Services
    _principal: Principal

    def session(self, name: str | None = None, *, ends_on_close: bool = False) -> AsyncSession:
        """Return a session of this principal, to be begun or gone on with (SE).

        A user may have any number at a time: each has a log of its own, and all have one memory.

        Args:
            name: What it is called; None for the session that this manager is within.
            ends_on_close: Whether it ends with this simonides, if it was gone on with here and is
                open then: for a process whose talks do not outlive it (SE-4).

        Raises:
            InvalidInput: If none is named, or another than that by which alone the principal is
                known.
            InvalidScope: If the name is malformed.
        """
        bound = within(self._principal, name)
        memory = type(self)(self._services, bound)  # type: ignore[call-arg]
        talks = cast("AsyncMemoryManager", memory)
        return AsyncSession(self._services, talks, str(bound.session), ends_on_close=ends_on_close)

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
