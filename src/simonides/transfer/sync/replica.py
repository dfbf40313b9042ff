"""The replica's side of mode ``synced``: its owners, its schedule, and the state of its exchanges.

Only this module depends on the remote being available: every other operation uses the replica
alone.
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
from simonides.engine.core import PeriodicJob, Runtime
from simonides.ports import Alarm, MemoryStore

FIRST_S = 5.0
"""From the opening to the first exchange, in seconds. Chosen: a short command ends before it and
leaves the exchange to a longer process or to ``simonides admin sync``.
"""


class OpenRemote(Protocol):
    """A remote store that is open."""

    @property
    def runtime(self) -> Runtime:
        """Its runtime."""

    async def close(self) -> None:
        """Close it."""


class Exchanger(Protocol):
    """The operations of :mod:`simonides.transfer.sync.exchange`."""

    async def exchange(
        self, here: Runtime, there: Runtime, owner: Scope, *, full: bool = False
    ) -> OwnerSync:
        """Exchange an owner between both stores."""

    async def erase_there(self, there: Runtime, owner: Scope, name: str) -> None:
        """Erase an owner at the remote, once for each name."""

    async def unseen(self, store: MemoryStore, owner: Scope) -> int:
        """Return how many revisions of an owner no remote has."""


class Replica(PeriodicJob):
    """The exchanges of one process with one remote."""

    def __init__(
        self,
        location: str,
        reach: Callable[[], OpenRemote],
        by: Exchanger,
        *,
        every_s: float,
        alarm: Alarm | None,
        is_inline: bool,
    ) -> None:
        """Build it. The remote is opened at its first use.

        Args:
            location: The remote, without credentials.
            reach: Opens the remote.
            by: The exchange operations.
            every_s: Interval between exchanges, in seconds.
            alarm: Timer of the exchanges; None exchanges on request only.
            is_inline: Whether calls of the remote's store complete without waiting.
        """
        super().__init__(alarm, name="sync", first_s=FIRST_S, every_s=every_s)
        self.doing(self.work)
        self.location = location
        self.is_inline = is_inline
        self._reach, self._by = reach, by
        self._here: Runtime | None = None
        self._there: OpenRemote | None = None
        self._followed: dict[Scope, None] = {}
        self._synced_at: datetime | None = None
        self._is_busy = False

    def serve(self, here: Runtime) -> None:
        """Set the replica's runtime."""
        self._here = here

    def follow(self, owner: Scope) -> None:
        """Add an owner to the exchanges, even if the replica has no memory of it yet."""
        self._followed[owner] = None

    async def work(self) -> None:
        """Exchange all owners of this replica, unless an exchange is running."""
        if not self._is_busy:
            await self.sync()

    async def sync(self, owners: Sequence[Scope] = (), *, full: bool = False) -> SyncReport:
        """Exchange owners with the remote, one after the other.

        Args:
            owners: The owners; none means those of :meth:`owners`.
            full: Compare everything, not only changes since the last exchange.

        Raises:
            StoreError: If a store fails. Finished work stays.
        """
        here = self._served()
        self._is_busy = True
        try:
            wanted = [*owners] or [*await self.owners()]
            there = await self._connect()
            done = []
            for owner in sorted(wanted, key=lambda each: each.path):
                if self._is_closed:
                    raise StoreUnavailable(here.store.location, "closed while it was exchanged")
                done.append(await self._by.exchange(here, there, owner, full=full))
        except StoreError as error:
            self._problem = type(error).__name__
            await self._disconnect()
            raise
        finally:
            self._is_busy = False
        now = from_us(here.clock.now_us())
        self._problem = None
        if not owners:
            self._synced_at = now
        return SyncReport(self.location, now, tuple(done))

    async def owners(self) -> tuple[Scope, ...]:
        """Return the owners of this replica by path: those in its store and those of this process.

        An org that holds a policy and no memories does not count, and global memories are not
        exchanged.
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
        """Return the state of this replica, without a call to the remote."""
        store = self._served().store
        waiting = {o.path: await self._by.unseen(store, o) for o in await self.owners()}
        return SyncStatus(self.location, MappingProxyType(waiting), self._synced_at, self._problem)

    async def erase_there(self, owner: Scope, name: str) -> None:
        """Erase an owner at the remote too.

        Raises:
            StoreError: If the remote fails.
        """
        try:
            await self._by.erase_there(await self._connect(), owner, name)
        except StoreError:
            await self._disconnect()
            raise

    async def close(self) -> None:
        """Stop, and close the remote."""
        await super().close()
        await self._disconnect()

    async def _connect(self) -> Runtime:
        if self._there is None:
            self._there = await self._served().aside(self._reach)
        return self._there.runtime

    async def _disconnect(self) -> None:
        there, self._there = self._there, None
        if there is None:
            return
        try:
            await there.close()
        except SimonidesError as error:
            # The remote is closed because it failed; the caller has that error already.
            self._problem = type(error).__name__

    def _served(self) -> Runtime:
        if self._here is None:
            raise AssertionError("serve() must run before the replica is used")
        return self._here
