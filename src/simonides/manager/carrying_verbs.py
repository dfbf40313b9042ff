"""The verbs that carry an owner away in a file, and bring it back (LT-10)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from simonides.domain.carried import CarryProgress, ExportReport, RestoreReport
from simonides.domain.change import Change, Snapshot, TurnRequest
from simonides.domain.errors import ScopeDenied
from simonides.domain.event import EventType
from simonides.domain.scope import DEFAULT_ORG, Principal, Scope, checked_id
from simonides.manager.exporting import export
from simonides.manager.files import absolute
from simonides.manager.restoring import restore
from simonides.manager.scribe import Scribe
from simonides.manager.services import Services
from simonides.policy.guards import administers

Progress = Callable[[CarryProgress], None]


class Carrier:
    """Carries owners in the name of one principal, and says so in the trail of their org."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    async def export(
        self,
        owner: Scope,
        path: str | os.PathLike[str],
        *,
        overwrite: bool,
        progress: Progress | None,
    ) -> ExportReport:
        """See :meth:`simonides.AsyncMemoryManager.export`."""
        await self._check(owner)
        if owner != self._principal.home:
            # Before the first byte: what cannot be recorded is not shown either.
            await self._record(EventType.EXPORTED, owner, {})
        file = absolute(path)
        return await export(self._services, owner, file, overwrite=overwrite, tell=progress)

    async def restore(
        self, owner: Scope, path: str | os.PathLike[str], *, progress: Progress | None
    ) -> RestoreReport:
        """See :meth:`simonides.AsyncMemoryManager.restore`."""
        await self._check(owner)
        report, header = await restore(
            self._services,
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
        if not administers(own, org, await self._services.store.grants(org)):
            raise ScopeDenied(owner.path, "admin", "who administers the org carries other people's")

    async def _record(self, type: EventType, owner: Scope, details: Mapping[str, Any]) -> None:
        """Say in the org's trail what was done: the owner's own is carried as it is."""
        org = Scope.of_org(DEFAULT_ORG if owner.org is None else owner.org)

        def decide(snapshot: Snapshot) -> Change:
            scribe = Scribe(self._services, self._principal, snapshot)
            scribe.record(type, owner, details=details)
            return Change(known_at=scribe.moment.known_at, events=scribe.events)

        (head,) = await self._services.store.heads([org])
        await self._services.store.commit(org, TurnRequest(since=head), decide)


class AsyncCarryingVerbs:
    """How a manager carries its principal away; see :class:`simonides.AsyncMemoryManager`, which
    has these verbs.
    """

    _services: Services
    _principal: Principal

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write everything of this principal to a file, as JSON Lines (LT-10; docs/export.md).

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
                purpose, which may not see all of it (SC-12).
            StoreError: If the store could not; no file was made.
        """
        carrier = Carrier(self._services, self._principal)
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
        carrier = Carrier(self._services, self._principal)
        return await carrier.restore(self._whose(user), path, progress=progress)

    def _whose(self, user: str | None) -> Scope:
        home = self._principal.home
        if user is None:
            return home.owner
        return Scope.of_user(home.org or DEFAULT_ORG, checked_id("user", user))


class AsyncAdminCarrying:
    """How an administrator carries owners; see :class:`simonides.AsyncAdmin`."""

    _services: Services
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

        The org's trail says so. See :meth:`simonides.AsyncMemoryManager.export`.

        Args:
            path: Where to.
            user: Whose; None means what is the org's own.
            org: Which org.
            overwrite: Replace a file that is there.
            progress: Is told how far it has come.
        """
        carrier = Carrier(self._services, self._principal)
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

        See :meth:`simonides.AsyncMemoryManager.restore`.

        Args:
            path: Of the file.
            user: Whose; None means what is the org's own, its grants included.
            org: Which org.
            progress: Is told how far it has come.
        """
        carrier = Carrier(self._services, self._principal)
        return await carrier.restore(_owner(user, org), path, progress=progress)


def _owner(user: str | None, org: str) -> Scope:
    return Scope.of_org(org) if user is None else Scope.of_user(org, user)
