"""An open simonides: managers for principals, a handle for administrators, the audit check."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import Any, Self

from simonides.api.admin import AsyncAdmin
from simonides.api.agent import AsyncAgent, Effect
from simonides.api.manager import AsyncMemory
from simonides.api.sync_markers import waits_for_model
from simonides.domain.conversation.session import SessionEndReport
from simonides.domain.errors import ConfigurationError
from simonides.domain.operations.backup import BackupReport, RestoredStore
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.reindex import KeysReport, ReindexReport
from simonides.domain.operations.sync import SyncReport, SyncStatus
from simonides.domain.scope import OrgRule, Principal, Scope
from simonides.engine.core.audit_chain import AuditReport, verify
from simonides.engine.core.runtime import Runtime
from simonides.engine.edit.promote import deliver
from simonides.engine.knowledge.library import Library
from simonides.engine.maintenance.daily_gc import DailyGc
from simonides.engine.maintenance.gc import SYSTEM, Collector
from simonides.engine.maintenance.reindex_worker import ReindexWorker
from simonides.engine.maintenance.rekey import rekey, sweep
from simonides.engine.operations.metrics import warm_metrics
from simonides.engine.operations.safety_records import SafetyRecordStore
from simonides.engine.recall.query import between
from simonides.engine.recall.read_journal import ReadJournal
from simonides.engine.recall.warm_sessions import WarmSessions
from simonides.engine.sessions.background_extract import BackgroundExtraction
from simonides.engine.sessions.idle import IdleSessionEnder, end_due, end_process_sessions
from simonides.ports import KnowledgeSource
from simonides.transfer.backup.create import Backups
from simonides.transfer.backup.restore import revert
from simonides.transfer.files import absolute
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

    @property
    def runtime(self) -> Runtime:
        """The parts it is made of, for those who build on it."""
        return self._runtime

    def memory(
        self,
        *,
        user: str | None = None,
        org: str | None = None,
        task: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        purpose: str | None = None,
    ) -> AsyncMemory:
        """Return the verbs of one principal.

        Args:
            user: Whose memory it is; may be left out for a principal known by its session only.
            org: Organisation; None means the default one.
            task: A task of the user, with memories of its own.
            agent: The agent that acts.
            session: Conversation; switching it keeps the memories. Beside a user any visible
                text of up to 512 bytes; alone it is an id.
            purpose: What recall is for.

        Raises:
            OwnerRequired: If neither user nor session is named, or no organisation although the
                setting ``require_org`` is on.
            InvalidScope: If an id is malformed.
        """
        self._runtime.part(OrgRule).check(org)
        principal = Principal.resolve(
            user=user, org=org, task=task, session=session, agent=agent, purpose=purpose
        )
        if self._replica is not None:
            self._replica.follow(principal.home.owner)
        return AsyncMemory(self._runtime, principal)

    def admin(self, *, by: str) -> AsyncAdmin:
        """Return an administrator's handle; ``by`` is the name in the audit trail."""
        return AsyncAdmin(self._runtime, by)

    def agent(
        self,
        memory: AsyncMemory,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> AsyncAgent:
        """Return the reference agent for a principal.

        Args:
            manager: The principal's verbs.
            needs_model: Stop with ``llm_unavailable`` instead of letting the rules work.
            checks: Effects to verify beside the built-in ones, by key.
        """
        return AsyncAgent(self._runtime, memory, needs_model=needs_model, checks=checks)

    def add_source(self, source: KnowledgeSource, *, scope: str = "/global/") -> None:
        """Register a source of documents, which reads of layer ``l3`` ask just in time.

        Nothing is read before the first question, and nothing of it is ever stored. See
        docs/knowledge.md.

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

    async def verify_audit(self) -> AuditReport:
        """Recompute the audit chain of every owner."""
        return await verify(self._runtime.store)

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

    async def reindex(
        self,
        *,
        scopes: Sequence[str] | None = None,
        adopt: bool = False,
        progress: Callable[[ReindexReport], None] | None = None,
    ) -> ReindexReport:
        """Make index entries anew that another model or analyser made, and write them back.

        Answers are the same before, meanwhile and after: a process makes what it reads anew for
        itself. Run again after an interruption it goes on. Of the memories nothing changes: no
        version, no state, no event. A long-lived process does it by itself in the background,
        unless the setting ``reindex`` is ``manual``.

        Two processes with different models do not undo each other's work: entries are written by
        the newer of the two, the one first seen in the store later, and by the other only once
        ``adopt`` was asked for there.

        Args:
            scopes: Paths of scopes whose owners' memories are looked at; None means all there are.
            adopt: Write by this process's model though the store's entries are made by a newer
                one, after going back to an older model for example.
            progress: Is told how far it has come, after each batch.

        Raises:
            InvalidScope: If a path is none.
            StoreError: If the store could not; what was written until then stays.
        """
        named = None if scopes is None else [Scope.parse(path).owner for path in scopes]
        owners = None if named is None else [*dict.fromkeys(named)]
        reindexer = self._runtime.part(ReindexWorker).reindexer
        return await reindexer.everything(owners, adopt=adopt, tell=progress)

    async def get_metrics(self) -> dict[str, Any]:
        """Return what this process has counted, and how the owners stand whose memories it has
        warm; see :meth:`simonides.AsyncMemory.get_metrics`. ``scopes`` are the most
        that any of them has. For what watches a service; nothing is read from the store.
        """
        return warm_metrics(self._runtime)

    async def gc(
        self,
        *,
        dry_run: bool = False,
        scopes: Sequence[str] | None = None,
        progress: Callable[[GcReport], None] | None = None,
    ) -> GcReport:
        """Collect what has aged out, of all owners; see
        :meth:`simonides.AsyncMemory.gc`.

        For the operator: from cron once a day, on any machine. An owner that somebody else is
        collecting at the moment is left to him. A long-lived process does it by itself for the
        owners that it reads, unless the setting ``gc`` is ``manual``.

        Args:
            dry_run: Only say what would be done.
            scopes: Paths of scopes whose owners are collected; None means all there are.
            progress: Is told how far it has come, after each turn and each owner.

        Raises:
            InvalidScope: If a path is none.
            StoreError: If the store could not; what was done until then stays.
        """
        collector = Collector(self._runtime, SYSTEM)
        return await collector.of_scopes(scopes, dry_run=dry_run, tell=progress)

    @waits_for_model
    async def end_due_sessions(self) -> tuple[SessionEndReport, ...]:
        """End every session that nobody has gone on with for ``session_idle_minutes``.

        For the operator: from cron, on any machine and on several at once; also what a stopped
        process has left in the middle of its end is finalised. A long-lived process does it by
        itself every few minutes.

        Returns:
            What came of each. One that could not be ended now has ``failed:`` and the name of the
            error among its diagnostics; it is due still.

        Raises:
            StoreError: If it cannot be read which sessions are due.
        """
        return await end_due(self._runtime)

    async def backup(
        self,
        to: str | os.PathLike[str] | None = None,
        *,
        keep: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> BackupReport:
        """Back up the whole store while it is in use, and verify the backup (docs/operations.md).

        It is of one moment and holds up nobody. It counts once it was opened and every page, audit
        chain and content of it was looked at; until then it has no name. Any simonides can open it.

        Args:
            to: A directory for backups with names by time, or a file; None means the setting
                ``backup_dir``, or a directory beside the store.
            keep: How many of the newest stay in a directory, 1 or more; None means the setting's.
                With it ``to`` names a directory, which is made where there is none.
            progress: Is told how many pages were copied, and of how many.

        Raises:
            InvalidInput: If ``keep`` is out of range, or ``to`` is then a file.
            CarryRefused: ``unsupported``, ``exists``, ``file`` or ``damaged``; no backup was made
                and none was removed.
            StoreError: If the store could not be read.
        """
        if keep is not None:
            between("keep", keep, 1, MAX_KEPT)
        return await self._runtime.part(Backups).take(to, keep, progress)

    async def restore_backup(self, path: str | os.PathLike[str]) -> RestoredStore:
        """Let the whole store go back to a backup: all owners, in the open file, in one
        transaction, or nothing changes.

        What was forgotten here since stays forgotten. Whoever has the store open, other processes
        included, goes on with what is restored. A store that was never written to takes over any
        backup, if nobody else has it open. (A file of one owner is read by ``restore`` of a
        manager.)

        Args:
            path: A file that :meth:`backup` wrote.

        Raises:
            CarryRefused: ``damaged``, ``file`` or ``unsupported``; nothing was touched.
            MoveRefused: ``other_store``: it is another store's backup, and this one has rows.
            StoreError: If the store could not; it stands as it was.
        """
        return await revert(self._runtime, self._runtime.part(Backups), absolute(path))

    async def rekey(
        self, *, scopes: Sequence[str] | None = None, adopt: bool = False, accept: bool = False
    ) -> KeysReport:
        """Bring the codes of what is stored under the current key of the ring.

        Owner by owner, each in one turn: run again after an interruption it goes on. Of the
        memories nothing changes. See docs/encryption.md.

        Args:
            scopes: Paths of scopes whose owners are meant; None means all there are.
            adopt: Whether owners without codes get them: a store from before the ring. Whoever
                asks for it vouches that nobody has edited it.
            accept: Whether what stands there is taken for what was written, after somebody has
                looked at it; takes ``scopes``.

        Raises:
            ConfigurationError: If there is no ring.
            InvalidInput: If ``accept`` names nobody.
            Tampered: If something is not as it was written, and that is not accepted.
        """
        return await rekey(self._runtime, scopes=scopes, adopt=adopt, accept=accept)

    async def sweep(self) -> int:
        """Remove what nobody can read any more: of owners whose keys were destroyed when they were
        erased, and whom an older copy of the store has brought back.

        Returns:
            Of how many owners something was there.

        Raises:
            ConfigurationError: If the store is not encrypted.
        """
        return await sweep(self._runtime)

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
