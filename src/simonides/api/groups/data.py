"""What a principal has, as a whole: export, restore, import, erasure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simonides.api.groups.group import AsyncGroup
from simonides.api.sync_markers import waits_for_background_work, waits_for_model
from simonides.capture import flag
from simonides.domain.errors import InvalidInput, ScopeDenied
from simonides.domain.event import EventType
from simonides.domain.governance.erasure import ErasureReceipt
from simonides.domain.operations.portable import CarryProgress, ExportReport, RestoreReport
from simonides.domain.scope import DEFAULT_ORG, Principal, Scope, checked_id
from simonides.domain.value import shown
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.forgetting import Eraser
from simonides.policy import administers
from simonides.transfer.files import absolute
from simonides.transfer.portable.export import export
from simonides.transfer.portable.import_ import restore
from simonides.transfer.transcript_import import ImportReport, TranscriptImport

Progress = Callable[[CarryProgress], None]


class Carrier:
    """Carries owners in the name of one principal, and says so in the trail of their org."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal

    async def export(
        self,
        owner: Scope,
        path: str | os.PathLike[str],
        *,
        overwrite: bool,
        progress: Progress | None,
    ) -> ExportReport:
        """See :meth:`AsyncData.export`."""
        await self._check(owner)
        if owner != self._principal.home:
            # Before the first byte: what cannot be recorded is not shown either.
            await self._record(EventType.EXPORTED, owner, {})
        file = absolute(path)
        return await export(self._runtime, owner, file, overwrite=overwrite, tell=progress)

    async def restore(
        self, owner: Scope, path: str | os.PathLike[str], *, progress: Progress | None
    ) -> RestoreReport:
        """See :meth:`AsyncData.restore`."""
        await self._check(owner)
        report, header = await restore(
            self._runtime,
            owner,
            absolute(path),
            tell=progress,
            reaches_out=self._principal.by is not None,
        )
        if report.restored:
            left = {
                "owner": header.chain_owner.hex(),
                "code": header.chain_code.hex(),
                "seq": header.standing.seq,
            }
            details = {"sha256": report.sha256, "exported_at": header.exported_at, "chain": left}
            await self._record(EventType.BROUGHT_BACK, owner, details)
        return report

    async def _check(self, owner: Scope) -> None:
        """Check that the principal may carry an owner.

        Raises:
            ScopeDenied: If it may not.
        """
        own = self._principal
        if own.home.task is not None or own.agent is not None or own.purpose is not None:
            raise ScopeDenied(
                owner.path,
                "export",
                "a file holds all that the owner has, what other agents, tasks and purposes may "
                "see included; ask as the owner, without an agent, task or purpose",
            )
        if owner == own.home or own.by is not None:
            return
        org = Scope.of_org(DEFAULT_ORG if owner.org is None else owner.org)
        if not administers(own, org, await self._runtime.store.grants(org)):
            raise ScopeDenied(owner.path, "admin", "who administers the org carries other people's")

    async def _record(self, type: EventType, owner: Scope, details: Mapping[str, Any]) -> None:
        """Say in the org's trail what was done: the owner's own is carried as it is."""
        org = Scope.of_org(DEFAULT_ORG if owner.org is None else owner.org)

        def decide(snapshot: Snapshot) -> Change:
            recorder = EventRecorder(self._runtime, self._principal, snapshot)
            recorder.record(type, owner, details=details)
            return Change(known_at=recorder.moment.known_at, events=recorder.events)

        (head,) = await self._runtime.store.heads([org])
        await self._runtime.store.commit(org, TurnRequest(since=head), decide)


FORMATS = ("transcript",)
"""Formats that :meth:`AsyncData.import_from` reads."""


class AsyncData(AsyncGroup):
    """All that a principal has; ``memory.data``."""

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write everything of this principal to a file, as JSON Lines (docs/operations.md).

        As of one moment, while others write: every version and state of every memory, the audit
        trail, what is held back, tombstones, consents, sessions. The file is at its place only when
        it is whole, and only its user may read it.

        Args:
            path: Where to.
            user: Somebody else of this org; takes the ``admin`` right, and the org's trail says so.
            overwrite: Replace a file that is there.
            progress: Is told how far it has come.

        Raises:
            CarryRefused: ``exists``, ``file`` or ``unsupported``, see there; no file was made.
            ScopeDenied: If the right is missing, or the principal names an agent, a task or a
                purpose, which may not see all of it.
            StoreError: If the store could not; no file was made.
        """
        carrier = Carrier(self._bound.runtime, self._bound.principal)
        owner = self._whose(user)
        return await carrier.export(owner, path, overwrite=overwrite, progress=progress)

    async def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """Bring this principal back from a file that :meth:`export` wrote, history included.

        All of it is checked before anything is written, and then written in one transaction, or
        nothing is. It comes to a store that this principal never wrote to; where exactly this
        stands already, nothing is done. Vectors are made anew.

        Args:
            path: Of the file.
            user: Somebody else of this org; takes the ``admin`` right.
            progress: Is told how far it has come.

        Raises:
            CarryRefused: ``damaged``, ``version``, ``other_owner`` or ``file``, with the line;
                ``exists``, if the principal has memories or a trail of its own here. Nothing was
                written.
            ScopeDenied: As for :meth:`export`.
            StoreError: If the store could not; nothing was written.
        """
        carrier = Carrier(self._bound.runtime, self._bound.principal)
        return await carrier.restore(self._whose(user), path, progress=progress)

    @waits_for_model
    async def import_from(
        self,
        path: str | os.PathLike[str] | Sequence[str],
        *,
        format: str | None = None,
        dry_run: bool = False,
        learn: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:
        """Keep the turns of a transcript as verbatim memories; importing twice adds nothing.

        Args:
            path: A file of JSON Lines, one turn a line: ``session_id``, ``timestamp``,
                ``speaker``, ``role`` and ``text``; or its lines.
            format: ``transcript``; None takes it.
            dry_run: Only check every line.
            learn: Take what is new through the end of its session, too: extraction, summary,
                promotion.
            progress: Is told how many turns are stored, and of how many.

        Returns:
            What became of each turn and of each session.

        Raises:
            InvalidInput: If the format is unknown, the file cannot be read, or a line is wrong,
                with its number; nothing was written.
            StoreError: If the store could not; earlier batches are stored, and importing again
                goes on from there.
        """
        if format not in (None, *FORMATS):
            known = ", ".join(FORMATS)
            raise InvalidInput("format", f"must be one of {known}, not {shown(format)}")
        bound = self._bound
        work = TranscriptImport(bound.runtime, bound.principal, bound.writer)
        return await work.run(
            path,
            dry_run=flag("dry_run", dry_run),
            learn=flag("learn", learn),
            progress=progress,
        )

    @waits_for_background_work
    async def erase(self, *, confirm: str, user: str | None = None) -> ErasureReceipt:
        """Erase a data subject over every layer, and prove it; there is no way back.

        Memories with all versions, their index, audit payloads, journals, receipts, sessions, what
        is held back or under way, idempotency records and the name go; copies that other owners
        have of its memories, and what was derived from those, go too. Codes of the audit chain and
        keyed tombstones stay. Called again it goes on with what was ``pending``.

        Args:
            confirm: The id of the user (of a visitor: the session) that is erased, once more.
            user: Another user of this org, for who administers it; None for this principal's own.

        Returns:
            What went, where was looked for it, and what still waits.

        Raises:
            InvalidInput: If ``confirm`` names somebody else; nothing was erased.
            InvalidScope: If the user's id is malformed.
            ScopeDenied: If the principal is a task, or another user and not its administrator.
            StoreError: If the store could not. Nothing is erased, or it is and :meth:`erasure`
                goes on with it.
        """
        subject = self._subject(user)
        if confirm != (subject.user or subject.session):
            raise InvalidInput("confirm", "must be the id of whoever is erased")
        return await Eraser(self._bound.runtime, self._bound.principal).erase(subject)

    async def erasure(self, user: str | None = None) -> ErasureReceipt | None:
        """Return how the last erasure stands, after trying to complete it; None if there was none.

        Args:
            user: As for :meth:`erase`.

        Raises:
            ScopeDenied: As for :meth:`erase`.
        """
        subject = self._subject(user)
        return await Eraser(self._bound.runtime, self._bound.principal).status(subject)

    def _whose(self, user: str | None) -> Scope:
        home = self._bound.principal.home
        if user is None:
            return home.owner
        return Scope.of_user(home.org or DEFAULT_ORG, checked_id("user", user))

    def _subject(self, user: str | None) -> Scope:
        home = self._bound.principal.home
        return home if user is None else Scope.of_user(str(home.org), user)
