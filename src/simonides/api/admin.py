"""What an administrator does: grants, and writes to the global scope; all audited."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from simonides.api.groups.data import Carrier, Progress
from simonides.api.sync_markers import waits_for_background_work, waits_for_model
from simonides.capture import flag
from simonides.domain.conversation.session import SessionEndReport
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.erasure import ErasureReceipt, ReceiptCheck
from simonides.domain.governance.policy_dry_run import DryRun
from simonides.domain.governance.safety_record import (
    FeedbackRecord,
    RecordsPurged,
    SafetyRecord,
    Shelf,
)
from simonides.domain.memory import Draft
from simonides.domain.operations.backup import BackupReport, RestoredStore
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import StoreScan
from simonides.domain.operations.portable import ExportReport, RestoreReport
from simonides.domain.operations.reindex import KeysReport, ReindexReport
from simonides.domain.reading.page import Page
from simonides.domain.scope import DEFAULT_ORG, Grant, Principal, Scope
from simonides.domain.value import shown
from simonides.domain.writing.decision import Outcome
from simonides.engine.core import AuditReport, Runtime, verify, verify_erasure
from simonides.engine.forgetting import Eraser
from simonides.engine.governance import Granter, dry_run
from simonides.engine.hygiene_scan import found_in, stored_memories
from simonides.engine.maintenance import Collector, ReindexWorker, rekey, sweep
from simonides.engine.operations import RecordKeeper, warm_metrics
from simonides.engine.recall import MAX_LISTED, between
from simonides.engine.sessions import end_due
from simonides.engine.write import Writer, raise_if_over_quota
from simonides.policy import PolicyBook
from simonides.text import check_text
from simonides.transfer.backup.create import Backups
from simonides.transfer.backup.restore import revert
from simonides.transfer.files import absolute

MAX_KEPT = 100_000
"""Backups that can be kept; chosen: ten years of one an hour."""


class AsyncAdmin:
    """An administrator's handle.

    Who may open one is the host's business: in an embedded store whoever can open the file can
    administer it. Every verb is written to the audit trail under the name given.
    """

    def __init__(self, runtime: Runtime, actor: str) -> None:
        self._runtime = runtime
        name = check_text("actor", actor, 512)
        self._principal = Principal(Scope.of_global(), by=f"admin:{name}")
        self._granter = Granter(runtime, self._principal)
        self._eraser = Eraser(runtime, self._principal)

    def __repr__(self) -> str:
        return f"<Admin {self._principal.by}>"

    async def grant(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> Grant:
        """Give a user of an org a right: ``org_write``, ``admin`` or ``read_user:{id}``.

        Granting twice changes nothing.

        Raises:
            InvalidInput: If the right is unknown.
            InvalidScope: If an id is malformed.
        """
        return await self._granter.grant(Scope.of_org(org), user, right)

    async def revoke(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> bool:
        """Take a right away; returns whether there was one."""
        return await self._granter.revoke(Scope.of_org(org), user, right)

    async def grants(self, *, org: str = DEFAULT_ORG) -> Page[Grant]:
        """Return the grants of an org, by user, then right."""
        return Page(await self._granter.seen(Scope.of_org(org)))

    async def remember(self, draft: Draft, *, scope: str = "/global/") -> Outcome:
        """Store a statement in the global scope, an org, or anywhere else that is named.

        Raises:
            QuotaExceeded: If nothing gives way to it there, or it comes too soon.
        """
        if not isinstance(draft, Draft):
            raise InvalidInput("draft", f"must be a Draft, not {shown(draft)}")
        writer = Writer(self._runtime, self._principal)
        candidate = writer.candidate(replace(draft, scope=scope))
        (outcome,) = await writer.write([candidate])
        return raise_if_over_quota(outcome)

    async def gc(
        self,
        *,
        dry_run: bool = False,
        scopes: Sequence[str] | None = None,
        progress: Callable[[GcReport], None] | None = None,
    ) -> GcReport:
        """Collect what has aged out, of all owners or some, under this administrator's name; see
        :meth:`simonides.AsyncMemory.maintenance.gc`.

        Raises:
            InvalidScope: If a path is none.
            StoreError: If the store could not; what was done until then stays.
        """
        collector = Collector(self._runtime, self._principal)
        return await collector.of_scopes(scopes, dry_run=dry_run, tell=progress)

    @waits_for_background_work
    async def erase(self, user: str, *, confirm: str, org: str = DEFAULT_ORG) -> ErasureReceipt:
        """Erase a user of an org in the user's place; the record names this administrator.

        See :meth:`simonides.AsyncMemory.erase`.

        Args:
            user: Who is erased.
            confirm: The same id, once more.
            org: The user's.

        Raises:
            InvalidInput: If ``confirm`` names somebody else; nothing was erased.
            InvalidScope: If an id is malformed.
        """
        if confirm != user:
            raise InvalidInput("confirm", "must be the id of whoever is erased")
        return await self._eraser.erase(Scope.of_user(org, user))

    async def erasure(self, user: str, *, org: str = DEFAULT_ORG) -> ErasureReceipt | None:
        """Return how the last erasure of a user stands, after trying to complete it; None if there
        was none.
        """
        return await self._eraser.status(Scope.of_user(org, user))

    async def check_erasure(self, receipt: ErasureReceipt) -> ReceiptCheck:
        """Check a receipt beside this store: its seal, the subject's chain, and that no row of the
        subject is there, unless it has come back since.
        """
        return await verify_erasure(self._runtime.store, receipt)

    async def dry_run(self, policy: str | os.PathLike[str], *, org: str = DEFAULT_ORG) -> DryRun:
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
        return await dry_run(self._runtime, PolicyBook(policy).policy_for(org), org)

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write everything of a user, or of an org itself, to a file.

        The org's trail says so. See :meth:`simonides.AsyncData.export`.

        Args:
            path: Where to.
            user: Whose; None means what is the org's own.
            org: Which org.
            overwrite: Replace a file that is there.
            progress: Is told how far it has come.
        """
        carrier = Carrier(self._runtime, self._principal)
        return await carrier.export(_whole(user, org), path, overwrite=overwrite, progress=progress)

    async def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """Bring a user, or an org itself, back from a file; the org's trail says so.

        See :meth:`simonides.AsyncData.restore`.

        Args:
            path: Of the file.
            user: Whose; None means what is the org's own, its grants included.
            org: Which org.
            progress: Is told how far it has come.
        """
        carrier = Carrier(self._runtime, self._principal)
        return await carrier.restore(_whole(user, org), path, progress=progress)

    async def scan(self, *, org: str | None = None) -> StoreScan:
        """Look through what is stored of every owner; each by its own org's policy.

        Told are ids, classes and places, never words.

        Args:
            org: Only owners of this org; None means all.

        Raises:
            StoreError: If the store cannot be read.
        """
        looked_at, found = 0, []
        for owner in await self._runtime.store.owners():
            if org is not None and owner.org != org:
                continue
            policy = self._runtime.policies.policy_for(owner.org)
            async for memory in stored_memories(self._runtime, owner):
                looked_at += 1
                found += found_in(memory, policy)
        return StoreScan(looked_at, tuple(found))

    async def safety_events(
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
        most = between("limit", limit, 1, MAX_LISTED)
        return Page(await self._verifier.safety_events(_owner(user, org), kind, since, most))

    async def feedback(
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
        most = between("limit", limit, 1, MAX_LISTED)
        return Page(await self._verifier.feedback(_owner(user, org), label, since, most))

    async def purge_safety(self, *, everything: bool = False) -> RecordsPurged:
        """Remove safety records whose retention is over (setting ``safety_days``), or all.

        A long-lived process does the former by itself, and whatever records something does. The
        trail says it before the first record goes.

        Args:
            everything: Whether all go, however new.

        Raises:
            StoreError: If the store could not.
        """
        return await self._verifier.purge(Shelf.SAFETY, everything=flag("everything", everything))

    async def purge_feedback(self, *, everything: bool = False) -> RecordsPurged:
        """Remove feedback whose retention is over (setting ``feedback_days``), or all; as for
        :meth:`purge_safety`.

        Args:
            everything: Whether all goes, however new.
        """
        return await self._verifier.purge(Shelf.FEEDBACK, everything=flag("everything", everything))

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

    @waits_for_model
    async def end_due_sessions(self) -> Page[SessionEndReport]:
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
        return Page(await end_due(self._runtime))

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

    async def check_audit(self) -> AuditReport:
        """Recompute the audit chain of every owner."""
        return await verify(self._runtime.store)

    async def metrics(self) -> dict[str, Any]:
        """Return what this process has counted, and how the owners stand whose memories it has
        warm; see :meth:`simonides.AsyncMemory.metrics`. ``scopes`` are the most
        that any of them has. For what watches a service; nothing is read from the store.
        """
        return warm_metrics(self._runtime)

    @property
    def _verifier(self) -> RecordKeeper:
        return RecordKeeper(self._runtime, self._principal)


def _owner(user: str | None, org: str) -> Scope | None:
    return None if user is None else Scope.of_user(org, user)


def _whole(user: str | None, org: str) -> Scope:
    return Scope.of_org(org) if user is None else Scope.of_user(org, user)
