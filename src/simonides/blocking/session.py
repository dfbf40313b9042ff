"""Sessions without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from simonides.blocking.driver import Driver
from simonides.domain.recall import Recall
from simonides.domain.session import LoggedEntry, OpenSession
from simonides.domain.session_end import SessionEndReport
from simonides.manager.session_verbs import AsyncSessionVerbs
from simonides.manager.sessions import AsyncSession

if TYPE_CHECKING:
    from simonides.blocking.manager import MemoryManager


class SessionVerbs:
    """Sessions of a principal; see :class:`simonides.AsyncMemoryManager`."""

    _driver: Driver
    _talking: AsyncSessionVerbs

    def session(self, name: str | None = None, *, ends_on_close: bool = False) -> Session:
        """See :meth:`simonides.AsyncMemoryManager.session`."""
        return Session(self._talking.session(name, ends_on_close=ends_on_close), self._driver)

    def sessions(self) -> tuple[OpenSession, ...]:
        """See :meth:`simonides.AsyncMemoryManager.sessions`."""
        return self._driver.run(self._talking.sessions())


class Session:
    """One conversation; see :class:`simonides.AsyncSession`."""

    def __init__(self, session: AsyncSession, driver: Driver) -> None:
        self._session = session
        self._driver = driver

    @property
    def name(self) -> str:
        """See :attr:`simonides.AsyncSession.name`."""
        return self._session.name

    @property
    def memory(self) -> MemoryManager:
        """See :attr:`simonides.AsyncSession.memory`."""
        from simonides.blocking.manager import MemoryManager

        return MemoryManager(self._session.memory, self._driver)

    def add(
        self,
        role: str,
        text: str,
        *,
        speaker: str | None = None,
        at: datetime | str | None = None,
        details: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """See :meth:`simonides.AsyncSession.add`."""
        work = self._session.add(role, text, speaker=speaker, at=at, details=details, number=number)
        return self._driver.run(work)

    def add_tool(
        self,
        name: str,
        result: Any,
        *,
        failed: bool = False,
        importance: str = "normal",
        key: str | None = None,
        at: datetime | str | None = None,
        details: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """See :meth:`simonides.AsyncSession.add_tool`."""
        work = self._session.add_tool(
            name,
            result,
            failed=failed,
            importance=importance,
            key=key,
            at=at,
            details=details,
            number=number,
        )
        return self._driver.run(work)

    def decide(
        self,
        text: str,
        *,
        importance: str = "normal",
        key: str | None = None,
        at: datetime | str | None = None,
        details: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """See :meth:`simonides.AsyncSession.decide`."""
        work = self._session.decide(
            text, importance=importance, key=key, at=at, details=details, number=number
        )
        return self._driver.run(work)

    def entries(self, *, after: int = -1) -> tuple[LoggedEntry, ...]:
        """See :meth:`simonides.AsyncSession.entries`."""
        return self._driver.run(self._session.entries(after=after))

    def search(self, query: str, *, limit: int = 5) -> Recall:
        """See :meth:`simonides.AsyncSession.search`."""
        return self._driver.run(self._session.search(query, limit=limit))

    def checkpoint(self) -> SessionEndReport:
        """See :meth:`simonides.AsyncSession.checkpoint`."""
        return self._driver.run(self._session.checkpoint(), asks_model=True)

    def end(self) -> SessionEndReport:
        """See :meth:`simonides.AsyncSession.end`."""
        return self._driver.run(self._session.end(), asks_model=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._driver.run(self._session.__aexit__(kind, error, trace), asks_model=True)
