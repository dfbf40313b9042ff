"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.api.admin import AsyncAdmin
from simonides.api.agent import Effect
from simonides.api.groups.data import Progress
from simonides.api.sync.agent import Agent
from simonides.api.sync.contexts import StoreContext
from simonides.api.sync.driver import Driver
from simonides.api.sync.memory import Memory
from simonides.api.sync.session import Session
from simonides.domain.conversation.session import SessionEndReport
from simonides.domain.governance.erasure import ErasureReceipt, ReceiptCheck
from simonides.domain.governance.policy_dry_run import DryRun
from simonides.domain.governance.safety_record import FeedbackRecord, RecordsPurged, SafetyRecord
from simonides.domain.memory import Draft
from simonides.domain.operations.backup import BackupReport, RestoredStore
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import StoreScan
from simonides.domain.operations.portable import ExportReport, RestoreReport
from simonides.domain.operations.reindex import KeysReport, ReindexReport
from simonides.domain.operations.sync import SyncReport, SyncStatus
from simonides.domain.reading.page import Page
from simonides.domain.scope import DEFAULT_ORG, Grant
from simonides.domain.writing.decision import Outcome
from simonides.engine.core import AuditReport, Runtime
from simonides.ports import KnowledgeSource


class Admin:
    """An administrator's handle.

    Who may open one is the host's business: in an embedded store whoever can open the file can
    administer it. Every verb is written to the audit trail under the name given.
    """

    def __init__(self, admin: AsyncAdmin, driver: Driver) -> None:
        self._admin = admin
        self._driver = driver

    def __repr__(self) -> str:
        return self._admin.__repr__()

    def grant(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> Grant:
        """Give a user of an org a right: ``org_write``, ``admin`` or ``read_user:{id}``.

        Granting twice changes nothing.

        Raises:
            InvalidInput: If the right is unknown.
            InvalidScope: If an id is malformed.
        """
        return self._driver.run(self._admin.grant(user, right, org=org))

    def revoke(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> bool:
        """Take a right away; returns whether there was one."""
        return self._driver.run(self._admin.revoke(user, right, org=org))

    def grants(self, *, org: str = DEFAULT_ORG) -> Page[Grant]:
        """Return the grants of an org, by user, then right."""
        return self._driver.run(self._admin.grants(org=org))

    def remember(self, draft: Draft, *, scope: str = "/global/") -> Outcome:
        """Store a statement in the global scope, an org, or anywhere else that is named.

        Raises:
            QuotaExceeded: If nothing gives way to it there, or it comes too soon.
        """
        return self._driver.run(self._admin.remember(draft, scope=scope))

    def gc(
        self,
        *,
        dry_run: bool = False,
        scopes: Sequence[str] | None = None,
        progress: Callable[[GcReport], None] | None = None,
    ) -> GcReport:
        """Collect what has aged out, of all owners or some, under this administrator's name; see
        :meth:`simonides.Memory.maintenance.gc`.

        Raises:
            InvalidScope: If a path is none.
            StoreError: If the store could not; what was done until then stays.
        """
        return self._driver.run(self._admin.gc(dry_run=dry_run, scopes=scopes, progress=progress))

    def erase(self, user: str, *, confirm: str, org: str = DEFAULT_ORG) -> ErasureReceipt:
        """Erase a user of an org in the user's place; the record names this administrator.

        See :meth:`simonides.Memory.erase`.

        Args:
            user: Who is erased.
            confirm: The same id, once more.
            org: The user's.

        Raises:
            InvalidInput: If ``confirm`` names somebody else; nothing was erased.
            InvalidScope: If an id is malformed.
        """
        self._driver.flush()
        return self._driver.run(self._admin.erase(user, confirm=confirm, org=org))

    def erasure(self, user: str, *, org: str = DEFAULT_ORG) -> ErasureReceipt | None:
        """Return how the last erasure of a user stands, after trying to complete it; None if there
        was none.
        """
        return self._driver.run(self._admin.erasure(user, org=org))

    def check_erasure(self, receipt: ErasureReceipt) -> ReceiptCheck:
        """Check a receipt beside this store: its seal, the subject's chain, and that no row of the
        subject is there, unless it has come back since.
        """
        return self._driver.run(self._admin.check_erasure(receipt))

    def dry_run(self, policy: str | os.PathLike[str], *, org: str = DEFAULT_ORG) -> DryRun:
        """Say what another policy would have done to an org's past writes; writes nothing.

        Each write that the trail tells of is judged again: by the boundaries, the judge and the
        guards, not by the gates that compare it with what stood, and each on its own, so that
        ``max_items`` of one turn does not count. Of what was dropped or blocked no content is
        kept, so it cannot be judged again, and the answer says so.

        Args:
            policy: A policy file or a directory of them, as in the settings; an org's own file is
                laid over ``default.yaml`` in a directory only.
            org: Whose writes; those that belong to all orgs are the default org's.

        Raises:
            InvalidScope: If the org's name is malformed.
            PolicyInvalid: If the policy is broken, with file and line.
        """
        return self._driver.run(self._admin.dry_run(policy, org=org))

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write everything of a user, or of an org itself, to a file.

        The org's trail says so. See :meth:`simonides.Data.export`.

        Args:
            path: Where to.
            user: Whose; None means what is the org's own.
            org: Which org.
            overwrite: Replace a file that is there.
            progress: Is told how far it has come.
        """
        return self._driver.run(
            self._admin.export(path, user=user, org=org, overwrite=overwrite, progress=progress)
        )

    def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """Bring a user, or an org itself, back from a file; the org's trail says so.

        See :meth:`simonides.Data.restore`.

        Args:
            path: Of the file.
            user: Whose; None means what is the org's own, its grants included.
            org: Which org.
            progress: Is told how far it has come.
        """
        return self._driver.run(self._admin.restore(path, user=user, org=org, progress=progress))

    def scan(self, *, org: str | None = None) -> StoreScan:
        """Look through what is stored of every owner; each by its own org's policy.

        Told are ids, classes and places, never words.

        Args:
            org: Only owners of this org; None means all.

        Raises:
            StoreError: If the store cannot be read.
        """
        return self._driver.run(self._admin.scan(org=org))

    def safety_events(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        kind: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> Page[SafetyRecord]:
        """Return safety records, newest first; the trail says that they were read.

        Args:
            user: Only those about this user; None means all, of every org.
            org: The user's.
            kind: Only those of this kind.
            since: None from before.
            limit: At most this many.

        Raises:
            InvalidInput: If an argument is out of range.
            InvalidScope: If an id is malformed.
            KeyUnavailable: If one is encrypted by a key that the ring lacks.
            StoreError: If they cannot be read.
        """
        return self._driver.run(
            self._admin.safety_events(user=user, org=org, kind=kind, since=since, limit=limit)
        )

    def feedback(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        label: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> Page[FeedbackRecord]:
        """Return feedback, newest first; as for :meth:`safety_events`.

        Args:
            user: Only that of this user's sessions; None means all, of every org.
            org: The user's.
            label: Only with this label.
            since: None from before.
            limit: At most this much.
        """
        return self._driver.run(
            self._admin.feedback(user=user, org=org, label=label, since=since, limit=limit)
        )

    def purge_safety(self, *, everything: bool = False) -> RecordsPurged:
        """Remove safety records whose retention is over (setting ``safety_days``), or all.

        A long-lived process does the former by itself, and whatever records something does. The
        trail says it before the first record goes.

        Args:
            everything: Whether all go, however new.

        Raises:
            StoreError: If the store could not.
        """
        return self._driver.run(self._admin.purge_safety(everything=everything))

    def purge_feedback(self, *, everything: bool = False) -> RecordsPurged:
        """Remove feedback whose retention is over (setting ``feedback_days``), or all; as for
        :meth:`purge_safety`.

        Args:
            everything: Whether all goes, however new.
        """
        return self._driver.run(self._admin.purge_feedback(everything=everything))

    def reindex(
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
        return self._driver.run(self._admin.reindex(scopes=scopes, adopt=adopt, progress=progress))

    def end_due_sessions(self) -> Page[SessionEndReport]:
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
        return self._driver.run(self._admin.end_due_sessions(), asks_model=True)

    def backup(
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
        return self._driver.run(self._admin.backup(to, keep=keep, progress=progress))

    def restore_backup(self, path: str | os.PathLike[str]) -> RestoredStore:
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
        return self._driver.run(self._admin.restore_backup(path))

    def rekey(
        self, *, scopes: Sequence[str] | None = None, adopt: bool = False, accept: bool = False
    ) -> KeysReport:
        """Bring the codes of what is stored under the current key of the ring.

        Owner by owner, each in one turn: run again after an interruption it goes on. Of the
        memories nothing changes. See docs/privacy.md.

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
        return self._driver.run(self._admin.rekey(scopes=scopes, adopt=adopt, accept=accept))

    def sweep(self) -> int:
        """Remove what nobody can read any more: of owners whose keys were destroyed when they were
        erased, and whom an older copy of the store has brought back.

        Returns:
            Of how many owners something was there.

        Raises:
            ConfigurationError: If the store is not encrypted.
        """
        return self._driver.run(self._admin.sweep())

    def check_audit(self) -> AuditReport:
        """Recompute the audit chain of every owner."""
        return self._driver.run(self._admin.check_audit())

    def metrics(self) -> dict[str, Any]:
        """Return what this process has counted, and how the owners stand whose memories it has
        warm; see :meth:`simonides.Memory.metrics`. ``scopes`` are the most
        that any of them has. For what watches a service; nothing is read from the store.
        """
        return self._driver.run(self._admin.metrics())


class Store(StoreContext):
    """An open simonides; use it as a context manager."""

    def __repr__(self) -> str:
        return self._store.__repr__()

    @property
    def runtime(self) -> Runtime:
        """The parts it is made of, for those who build on it."""
        return self._store.runtime

    def memory(
        self,
        *,
        user: str,
        org: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
        actor: str | None = None,
    ) -> Memory:
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
        return Memory(
            self._store.memory(user=user, org=org, agent=agent, purpose=purpose, actor=actor),
            self._driver,
        )

    def visitor(
        self,
        session: str,
        *,
        org: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
    ) -> Session:
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
        return Session(
            self._store.visitor(session, org=org, agent=agent, purpose=purpose), self._driver
        )

    def admin(self, *, actor: str) -> Admin:
        """Return an administrator's handle; ``actor`` is the name in the audit trail."""
        return Admin(self._store.admin(actor=actor), self._driver)

    def flush(self) -> None:
        """Wait until what was added is read for facts, and what readers did is written down.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        self._driver.flush()
        self._driver.run(self._store.flush(), asks_model=True)

    def agent(
        self,
        memory: Memory,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> Agent:
        """Return the reference agent for a principal.

        Args:
            memory: The principal's.
            needs_model: Stop with ``llm_unavailable`` instead of letting the rules work.
            checks: Effects to verify beside the built-in ones, by key.
        """
        return Agent(
            self._store.agent(memory._memory, needs_model=needs_model, checks=checks), self._driver
        )

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
        self._store.add_source(source, scope=scope)

    def remove_source(self, name: str) -> bool:
        """Take a source of documents out and close it; returns whether there was one."""
        return self._store.remove_source(name)

    def deliver_outbox(self) -> int:
        """Carry out work between owners that a stopped process left; returns how much it was.

        What cannot be carried out now stays for the next time, and ``status`` says so.
        """
        return self._driver.run(self._store.deliver_outbox())

    def sync(self, *, scopes: Sequence[str] | None = None, full: bool = False) -> SyncReport:
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
        return self._driver.run(self._store.sync(scopes=scopes, full=full))

    def sync_status(self) -> SyncStatus:
        """Return how this replica stands to its remote, without asking the remote.

        Raises:
            ConfigurationError: If the mode is another than ``synced``.
        """
        return self._driver.run(self._store.sync_status())
