"""A replica's side of mode ``synced``: which owners it is for, when it reaches its remote, and how
that went.

Whether the remote is there is nobody's concern but this one's: every other verb works on the
replica alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from simonides.domain.errors import SimonidesError, StoreError, StoreUnavailable
from simonides.domain.operations.sync import OwnerSync, SyncReport, SyncStatus
from simonides.domain.scope import Scope, ScopeLevel
from simonides.domain.value import from_us
from simonides.engine.core.periodic import PeriodicJob
from simonides.engine.core.runtime import Runtime
from simonides.ports import Alarm, MemoryStore

FIRST_S = 5.0
"""From the opening to the first exchange. Chosen: what was opened for one question ends before that
and leaves it to a process that lives longer, or to ``simonides sync``."""


class Reached(Protocol):
    """A remote that is open."""

    @property
    def runtime(self) -> Runtime:
        """Its parts."""

    async def close(self) -> None:
        """Let go of it."""


class Exchanging(Protocol):
    """What two stores of one owner do with each other; see
    :mod:`simonides.transfer.sync.exchange`.
    """

    async def exchange(
        self, here: Runtime, there: Runtime, owner: Scope, *, full: bool = False
    ) -> OwnerSync:
        """Bring an owner of both to the same."""

    async def erase_there(self, there: Runtime, owner: Scope, name: str) -> None:
        """Erase an owner there, once under one name."""

    async def unseen(self, store: MemoryStore, owner: Scope) -> int:
        """Return how many revisions of an owner no remote has seen."""


class Replica(PeriodicJob):
    """The exchanges of one process with one remote."""

    def __init__(
        self,
        location: str,
        reach: Callable[[], Reached],
        by: Exchanging,
        *,
        every_s: float,
        alarm: Alarm | None,
        is_inline: bool,
    ) -> None:
        """Build it; the remote is not reached before it has to be.

        Args:
            location: Of the remote, without credentials.
            reach: Opens the remote.
            by: What is done with it.
            every_s: From one exchange to the next, in seconds.
            alarm: Tells when it is time; None: only who asks for it exchanges.
            is_inline: Whether calls of the remote's store complete without waiting.
        """
        super().__init__(alarm, name="sync", first_s=FIRST_S, every_s=every_s)
        self.doing(self.work)
        self.location = location
        self.is_inline = is_inline
        self._reach, self._by = reach, by
        self._here: Runtime | None = None
        self._there: Reached | None = None
        self._followed: dict[Scope, None] = {}
        self._synced_at: datetime | None = None
        self._is_busy = False

    def serve(self, here: Runtime) -> None:
        """Say whose replica it is."""
        self._here = here

    def follow(self, owner: Scope) -> None:
        """Exchange an owner from now on, though nothing of it may be here yet."""
        self._followed[owner] = None

    async def work(self) -> None:
        """Exchange what this replica is for, unless somebody does."""
        if not self._is_busy:
            await self.sync()

    async def sync(self, owners: Sequence[Scope] = (), *, full: bool = False) -> SyncReport:
        """Exchange owners with the remote, one after the other.

        Args:
            owners: Which; none means those that this replica is for.
            full: See :func:`simonides.transfer.sync.exchange.exchange`.

        Raises:
            StoreError: If a store could not; what was done until then stays.
        """
        here = self._served()
        self._is_busy = True
        try:
            wanted = [*owners] or [*await self.owners()]
            there = await self._reached()
            done = []
            for owner in sorted(wanted, key=lambda each: each.path):
                if self._is_closed:
                    raise StoreUnavailable(here.store.location, "closed while it was exchanged")
                done.append(await self._by.exchange(here, there, owner, full=full))
        except StoreError as error:
            self._problem = type(error).__name__
            await self._let_go()
            raise
        finally:
            self._is_busy = False
        now = from_us(here.clock.now_us())
        self._problem = None
        if not owners:
            self._synced_at = now
        return SyncReport(self.location, now, tuple(done))

    async def owners(self) -> tuple[Scope, ...]:
        """Return the owners that this replica is for, by path: those who were written here, and
        those whom this process acts for. An org is written by policy alone, too, and counts only
        with memories; what belongs to all is exchanged for nobody.
        """
        store = self._served().store
        found = dict(self._followed)
        for owner in await store.owners():
            is_org = owner.level is ScopeLevel.ORG
            if owner.level is ScopeLevel.GLOBAL or (
                is_org and not await store.rows(owner, limit=1)
            ):
                continue
            found[owner] = None
        return tuple(sorted(found, key=lambda owner: owner.path))

    async def status(self) -> SyncStatus:
        """Return how this replica stands to its remote, without asking it."""
        store = self._served().store
        waiting = {o.path: await self._by.unseen(store, o) for o in await self.owners()}
        return SyncStatus(self.location, MappingProxyType(waiting), self._synced_at, self._problem)

    async def erase_there(self, owner: Scope, name: str) -> None:
        """Erase an owner at the remote too.

        Raises:
            StoreError: If the remote could not.
        """
        try:
            await self._by.erase_there(await self._reached(), owner, name)
        except StoreError:
            await self._let_go()
            raise

    async def close(self) -> None:
        """Stop, and let go of the remote."""
        await super().close()
        await self._let_go()

    async def _reached(self) -> Runtime:
        if self._there is None:
            self._there = await self._served().aside(self._reach)
        return self._there.runtime

    async def _let_go(self) -> None:
        there, self._there = self._there, None
        if there is None:
            return
        try:
            await there.close()
        except SimonidesError as error:
            # It is let go of because it fails; what it was asked to do is told already.
            self._problem = type(error).__name__

    def _served(self) -> Runtime:
        if self._here is None:
            raise AssertionError("a replica is of some store")
        return self._here
