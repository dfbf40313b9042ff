"""An open simonides: managers for principals, a handle for administrators, the audit check."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import Self

from simonides.api.admin import AsyncAdmin
from simonides.api.agent import AsyncAgent, Effect
from simonides.api.bound import Bound
from simonides.api.memory import AsyncMemory
from simonides.api.session import AsyncSession
from simonides.api.sync_markers import waits_for_background_work, waits_for_model
from simonides.domain.errors import ConfigurationError
from simonides.domain.operations.sync import SyncReport, SyncStatus
from simonides.domain.scope import OrgRule, Principal, Scope
from simonides.engine.core import Runtime
from simonides.engine.edit import deliver
from simonides.engine.knowledge import Library
from simonides.engine.maintenance import DailyGc, ReindexWorker
from simonides.engine.operations import SafetyRecordStore
from simonides.engine.recall import ReadJournal, WarmSessions
from simonides.engine.sessions import (
    BackgroundExtraction,
    Extractor,
    IdleSessionEnder,
    ProcessSessions,
    end_process_sessions,
)
from simonides.ports import KnowledgeSource
from simonides.transfer.backup.create import Backups
from simonides.transfer.sync.replica import Replica

MAX_KEPT = 100_000
"""Backups that can be kept; chosen: ten years of one an hour."""


class AsyncStore:
    """An open simonides; use it as an async context manager."""

    def __init__(self, runtime: Runtime, closers: Sequence[Callable[[], None]] = ()) -> None:
        """Build it.

        Args:
            runtime: The parts.
            closers: Called at the end: they release what belongs to no part.
        """
        self._runtime, self._closers = runtime, closers
        self._replica = runtime.parts.get(Replica)
        self._process, self._closing = os.getpid(), asyncio.Lock()

    def __repr__(self) -> str:
        return f"<Store {self._runtime.store.location}>"

    @property
    def runtime(self) -> Runtime:
        """The parts it is made of, for those who build on it."""
        return self._runtime

    def memory(
        self,
        *,
        user: str,
        org: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
        actor: str | None = None,
    ) -> AsyncMemory:
        """Return the memory of a user; no I/O.

        Args:
            user: Whose memory it is.
            org: Organisation; None means the default one.
            agent: The agent that acts.
            purpose: What recall is for.
            actor: Who acts for the user, for the audit trail.

        Raises:
            OwnerRequired: If the setting ``require_org`` is on and no org is named.
            InvalidScope: If an id is malformed.
        """
        self._runtime.part(OrgRule).check(org)
        principal = Principal.resolve(user=user, org=org, agent=agent, purpose=purpose, actor=actor)
        return AsyncMemory(self._bound(principal))

    def visitor(
        self,
        session: str,
        *,
        org: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
    ) -> AsyncSession:
        """Return the session of somebody without a user id; it has a memory of its own.

        Args:
            session: An id for the conversation.
            org: As for :meth:`memory`, like the next two.
            agent: See there.
            purpose: See there.

        Raises:
            OwnerRequired: See there.
            InvalidScope: If an id is malformed.
        """
        self._runtime.part(OrgRule).check(org)
        principal = Principal.resolve(session=session, org=org, agent=agent, purpose=purpose)
        return AsyncSession(self._bound(principal))

    def _bound(self, principal: Principal) -> Bound:
        if self._replica is not None:
            self._replica.follow(principal.home.owner)
        return Bound(self._runtime, principal)

    def admin(self, *, actor: str) -> AsyncAdmin:
        """Return an administrator's handle; ``actor`` is the name in the audit trail."""
        return AsyncAdmin(self._runtime, actor)

    @waits_for_model
    @waits_for_background_work
    async def flush(self) -> None:
        """Wait until what was added is read for facts, and what readers did is written down.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        for principal, session in self._runtime.part(ProcessSessions).all():
            await Extractor(self._runtime, principal).catch_up(session)
        await self._runtime.part(ReadJournal).flush()

    def agent(
        self,
        memory: AsyncMemory,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> AsyncAgent:
        """Return the reference agent for a principal.

        Args:
            memory: The principal's.
            needs_model: Stop with ``llm_unavailable`` instead of letting the rules work.
            checks: Effects to verify beside the built-in ones, by key.
        """
        return AsyncAgent(self._runtime, memory, needs_model=needs_model, checks=checks)

    def add_source(self, source: KnowledgeSource, *, scope: str = "/global/") -> None:
        """Register a source of documents, which reads of layer ``l3`` ask just in time.

        Nothing is read before the first question, and nothing of it is ever stored. See
        docs/prompts.md.

        Args:
            source: A :class:`simonides.providers.knowledge.folder.FolderSource`, a
                :class:`simonides.providers.knowledge.http_search.HttpSource`, or one of your own,
                see :class:`simonides.ports.KnowledgeSource`. It is closed with this simonides.
            scope: Path of the scope whose readers may read it: ``/org/acme/`` for an
                organisation, ``/org/acme/user/ana/`` for one user.

        Raises:
            InvalidInput: If it is no source, its name cannot be one, is taken, or there are 100
                already; or if it asks others over a network and this is incognito.
            InvalidScope: If the scope is none.
        """
        self._runtime.part(Library).add(source, Scope.parse(scope))

    def remove_source(self, name: str) -> bool:
        """Take a source of documents out and close it; returns whether there was one."""
        return self._runtime.part(Library).remove(name)

    async def deliver_outbox(self) -> int:
        """Carry out work between owners that a stopped process left; returns how much it was.

        What cannot be carried out now stays for the next time, and ``status`` says so.
        """
        return len(await deliver(self._runtime))

    async def sync(self, *, scopes: Sequence[str] | None = None, full: bool = False) -> SyncReport:
        """Exchange what this replica has with its remote, both ways (docs/operations.md).

        Every other verb works without the remote. A long-lived process exchanges by itself, every
        ``sync_every_seconds``. Done twice in a row it does nothing the second time; after an
        interruption it goes on.

        Args:
            scopes: Paths of scopes whose owners are exchanged; None means those whose memories are
                here, and those for whom this process has made a manager. What belongs to all is
                exchanged only if it is named.
            full: Compare everything, not only what was changed since: after a policy was changed
                that had kept something out, for example.

        Raises:
            ConfigurationError: If the mode is another than ``synced``.
            InvalidScope: If a path is none.
            StoreError: If a store could not, the remote being away for example; what was exchanged
                until then stays.
        """
        owners = [Scope.parse(path).owner for path in scopes or ()]
        return await self._synced().sync([*dict.fromkeys(owners)], full=full)

    async def sync_status(self) -> SyncStatus:
        """Return how this replica stands to its remote, without asking the remote.

        Raises:
            ConfigurationError: If the mode is another than ``synced``.
        """
        return await self._synced().status()

    def _synced(self) -> Replica:
        if self._replica is None:
            problem = 'has no remote; open it with mode="synced" and remote=… (docs/operations.md)'
            raise ConfigurationError(f"{self._runtime.store.location} {problem}")
        return self._replica

    @waits_for_model
    async def close(self) -> None:
        """End the sessions that are to end with this process, write down what readers did, close
        the store and the models; twice does no harm, and of several tasks that close one does.
        """
        # A child that was forked meanwhile has nobody to wait for.
        async with self._closing if self._process == os.getpid() else nullcontext():
            await self._close()

    async def _close(self) -> None:
        runtime = self._runtime
        await runtime.part(BackgroundExtraction).close()
        await runtime.part(DailyGc).close()
        await runtime.part(IdleSessionEnder).close()
        await end_process_sessions(runtime)
        await runtime.part(ReindexWorker).close()
        await runtime.part(Backups).close()
        if self._replica is not None:
            await self._replica.close()
        try:
            await runtime.part(ReadJournal).close()
        finally:
            await runtime.sessions.close()
            runtime.part(SafetyRecordStore).store.close()
            await runtime.store.close()
        runtime.part(WarmSessions).clear()
        runtime.indexes.clear()  # what is warm must not answer for a store that is gone
        for close in self._closers:
            close()
        if runtime.models.meter is not None:
            await runtime.models.meter.close()
        runtime.part(Library).close()  # last: sources are the host's, and may fail to close

    async def __aenter__(self) -> Self:
        await self.deliver_outbox()
        self._runtime.part(DailyGc).begin()
        self._runtime.part(IdleSessionEnder).begin()
        self._runtime.part(Backups).begin()
        if self._replica is not None:
            self._replica.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
