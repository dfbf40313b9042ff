"""Work that a long-lived process does by itself from time to time, while nobody waits for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from simonides.domain.errors import StoreError
from simonides.manager.alarmed import Alarmed, Drive
from simonides.ports import Alarm


class Closing(Exception):
    """The store is about to be closed: what is under way ends with its turn."""


class Rounds(Alarmed):
    """One kind of such work."""

    def __init__(
        self, alarm: Alarm | None = None, *, name: str, first_s: float, every_s: float
    ) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
            name: Of the work, as ``status`` calls it.
            first_s: From the opening to the first round.
            every_s: From the end of one round to the next.
        """
        super().__init__(alarm)
        self._name = name
        self._first_s, self._every_s = first_s, every_s
        self._work: Callable[[], Awaitable[None]] | None = None
        self._is_armed = False

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong when last tried, for ``status``; no content, no scope."""
        return () if self._problem is None else (f"{self._name}:{self._problem}",)

    def doing(self, work: Callable[[], Awaitable[None]]) -> None:
        """Say what is done in a round; it calls :meth:`go_on` between its turns."""
        self._work = work

    def driven_by(self, drive: Drive) -> None:
        """Begin, in a process that has no event loop."""
        super().driven_by(drive)
        self.begin()

    def begin(self) -> None:
        """Have the alarm set, once; returns at once."""
        if not self._is_armed:
            self._is_armed = True
            self._wake_in(self._first_s)

    def go_on(self) -> None:
        """Return, unless the store is about to be closed.

        Raises:
            Closing: If it is.
        """
        if self._is_closed:
            raise Closing

    async def _woken(self) -> None:
        """Do the work once, then have the alarm set again."""
        if self._work is None:
            return
        self._note_task()
        try:
            self.go_on()
            await self._work()
            self._problem = None
        except Closing:
            return
        except StoreError as error:
            self._problem = type(error).__name__
        finally:
            self._task = None
        self._wake_in(self._every_s)
