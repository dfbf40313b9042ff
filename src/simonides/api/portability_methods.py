"""The verbs that carry an owner away in a file, and bring it back."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from simonides.api.sync_markers import waits_for_background_work
from simonides.capture import MAX_ORIGIN_BYTES, flag
from simonides.domain.errors import ScopeDenied
from simonides.domain.event import EventType
from simonides.domain.governance.erasure import ErasureReceipt
from simonides.domain.operations.portable import CarryProgress, ExportReport, RestoreReport
from simonides.domain.scope import (
    DEFAULT_ORG,
    Principal,
    Scope,
    checked_id,
)
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.domain.writing.decision import Outcome
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.engine.forgetting.erase import Eraser
from simonides.engine.forgetting.forget import Forgetter
from simonides.engine.recall.query import QueryBuilder
from simonides.engine.sessions.extract import Extractor
from simonides.policy import administers
from simonides.text import check_text
from simonides.transfer.files import absolute
from simonides.transfer.portable.export import export
from simonides.transfer.portable.import_ import restore

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
        """See :meth:`simonides.AsyncMemory.export`."""
        await self._check(owner)
        if owner != self._principal.home:
            # Before the first byte: what cannot be recorded is not shown either.
            await self._record(EventType.EXPORTED, owner, {})
        file = absolute(path)
        return await export(self._runtime, owner, file, overwrite=overwrite, tell=progress)

    async def restore(
        self, owner: Scope, path: str | os.PathLike[str], *, progress: Progress | None
    ) -> RestoreReport:
        """See :meth:`simonides.AsyncMemory.restore`."""
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


class AsyncCarryingVerbs:
    """How a manager carries its principal away; see :class:`simonides.AsyncMemory`, which
    has these verbs.
    """

    _runtime: Runtime
    _principal: Principal

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
        carrier = Carrier(self._runtime, self._principal)
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
        carrier = Carrier(self._runtime, self._principal)
        return await carrier.restore(self._whose(user), path, progress=progress)

    def _whose(self, user: str | None) -> Scope:
        home = self._principal.home
        if user is None:
            return home.owner
        return Scope.of_user(home.org or DEFAULT_ORG, checked_id("user", user))


class AsyncAdminCarrying:
    """How an administrator carries owners; see :class:`simonides.AsyncAdmin`."""

    _runtime: Runtime
    _principal: Principal

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

        The org's trail says so. See :meth:`simonides.AsyncMemory.export`.

        Args:
            path: Where to.
            user: Whose; None means what is the org's own.
            org: Which org.
            overwrite: Replace a file that is there.
            progress: Is told how far it has come.
        """
        carrier = Carrier(self._runtime, self._principal)
        return await carrier.export(_owner(user, org), path, overwrite=overwrite, progress=progress)

    async def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """Bring a user, or an org itself, back from a file; the org's trail says so.

        See :meth:`simonides.AsyncMemory.restore`.

        Args:
            path: Of the file.
            user: Whose; None means what is the org's own, its grants included.
            org: Which org.
            progress: Is told how far it has come.
        """
        carrier = Carrier(self._runtime, self._principal)
        return await carrier.restore(_owner(user, org), path, progress=progress)


def _owner(user: str | None, org: str) -> Scope:
    return Scope.of_org(org) if user is None else Scope.of_user(org, user)


class AsyncErasingVerbs:
    """What a manager takes back; see :class:`simonides.AsyncMemory`, which has these verbs
    and sets what they work with.
    """

    _runtime: Runtime
    _principal: Principal
    _asker: QueryBuilder
    _forgetter: Forgetter

    async def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        scope: str | None = None,
        filter: Mapping[str, Any] | None = None,
        source: str | None = None,
        origin: str | None = None,
        dry_run: bool = False,
    ) -> Outcome:
        """Delete memories of this principal with all their versions.

        Content, vectors, terms, audit payloads, receipts of digests that showed them, and copies
        that are held back or on their way elsewhere go; so does what was derived from them here,
        but for promoted copies. A tombstone without content keeps it from being learned again; the
        trail keeps ids and time.

        What came from a source or an origin goes with everything that was derived from it,
        wherever that lies: here, in one's tasks, and in copies that were promoted and what others
        made of those. Only the versions that came from there go: what they had replaced stands
        again, and what the user has stated himself stays.

        A memory that cannot be read any more goes by its id, its key or its scope
        (``unreadable:N``). Whether a filter, a source or an origin means it nobody can say: it
        stays, the rest goes, and the outcome says so (``unreadable_left:N``). Under a key ring
        what was tampered with refuses the whole (:class:`~simonides.Tampered`).

        Args:
            id: One memory.
            key: The fact under a key; the key is blocked too.
            scope: Where: this principal's own scope, or one of its tasks, as a name or a path;
                None means its own. Alone it means everything there that this agent may see, and
                every candidate that is held back for it.
            filter: All that match, see :meth:`list`.
            source: What came from one source, in this scope and its tasks if no scope is named.
            origin: Likewise what was read from one document, page or tool, by its name.
            dry_run: Only count.

        Returns:
            ``forgotten``, with ``count:N`` versions, any ``held:N`` candidates, and how many of the
            versions were ``derived:N``, among the reasons; of a source or an origin also how many
            copies of other owners go (``elsewhere:N``) and how many memories stand again
            (``revived:N``). Or ``dropped`` with ``not_found``, or with ``dry_run`` and the counts.

        Raises:
            InvalidInput: If nothing was named: forgetting everything is not a default.
            ScopeDenied: If the scope is neither this principal's own nor one of its tasks.
        """
        named = None if origin is None else check_text("origin", origin, MAX_ORIGIN_BYTES)
        wanted = self._asker.filter(filter, source=source, origin=named)
        by_source = source is not None or named is not None
        if not flag("dry_run", dry_run):
            await self._heard()
        return await self._forgetter.forget(
            id=id,
            key=key,
            scope=scope,
            wanted=wanted,
            by_source=by_source,
            dry_run=flag("dry_run", dry_run),
        )

    async def _heard(self) -> None:
        """Have what was said in open sessions looked at: what is not stored yet is forgotten too,
        and is not learned afterwards.
        """
        runtime, owner = self._runtime, self._principal.home.owner
        for one in await runtime.sessions.sessions(owner):
            principal = replace(self._principal, home=owner, session=one.id)
            await Extractor(runtime, principal).catch_up(one.id, rules_only=True)

    @waits_for_background_work
    async def erase(self, user: str | None = None) -> ErasureReceipt:
        """Erase a data subject over every layer, and prove it; there is no way back.

        Memories with all versions, their index, audit payloads, journals, receipts, sessions, what
        is held back or under way, idempotency records and the name go; copies that other owners
        have of its memories, and what was derived from those, go too. Codes of the audit chain and
        keyed tombstones stay. Called again it goes on with what was ``pending``.

        Args:
            user: Another user of this org, for who administers it; None for this principal's own.

        Returns:
            What went, where was looked for it, and what still waits.

        Raises:
            InvalidScope: If the user's id is malformed.
            ScopeDenied: If the principal is a task, or another user and not its administrator.
            StoreError: If the store could not. Nothing is erased, or it is and :meth:`erasure`
                goes on with it.
        """
        return await Eraser(self._runtime, self._principal).erase(self._subject(user))

    async def erasure(self, user: str | None = None) -> ErasureReceipt | None:
        """Return how the last erasure stands, after trying to complete it; None if there was none.

        Args:
            user: As for :meth:`erase`.

        Raises:
            ScopeDenied: As for :meth:`erase`.
        """
        return await Eraser(self._runtime, self._principal).status(self._subject(user))

    def _subject(self, user: str | None) -> Scope:
        home = self._principal.home
        return home if user is None else Scope.of_user(str(home.org), user)
