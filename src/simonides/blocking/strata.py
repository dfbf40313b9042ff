"""An open simonides without an event loop, its agents, its administrators; no logic lives here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from simonides.agent import AgentResult, AsyncAgent, Effect
from simonides.audit import AuditReport
from simonides.blocking.carrying import AdminCarrying
from simonides.blocking.driver import Driver, Flushable
from simonides.blocking.hygiene import AdminHygiene
from simonides.blocking.manager import MemoryManager
from simonides.blocking.recording import AdminRecords
from simonides.domain.backups import BackupReport, RestoredStore
from simonides.domain.coding import KeysReport
from simonides.domain.collecting import GcReport
from simonides.domain.decision import Outcome
from simonides.domain.erasure import ErasureReceipt, ReceiptCheck
from simonides.domain.hindsight import DryRun
from simonides.domain.memory import Draft
from simonides.domain.reindexing import ReindexReport
from simonides.domain.scope import DEFAULT_ORG, Grant
from simonides.domain.session_end import SessionEndReport
from simonides.domain.syncing import SyncReport, SyncStatus
from simonides.manager import AsyncAdmin
from simonides.manager.background import Background
from simonides.manager.backing_up import Backups
from simonides.manager.following import Following
from simonides.manager.housekeeping import Housekeeping
from simonides.manager.idling import Idling
from simonides.manager.journal import ReadJournal
from simonides.manager.replica import Replica
from simonides.manager.services import Services
from simonides.ports import KnowledgeSource
from simonides.strata import AsyncStrata


def flush_on_close(strata: Strata, worker: Flushable) -> None:
    """Have something flushed before a simonides is closed, for as long as anybody holds it."""
    strata._driver.flushed.add(worker)


class Agent:
    """The reference agent; see :class:`simonides.agent.AsyncAgent`."""

    def __init__(self, agent: AsyncAgent, driver: Driver) -> None:
        self._agent = agent
        self._driver = driver

    def capture(self, message: str) -> AgentResult:
        """See :meth:`simonides.agent.AsyncAgent.capture`."""
        return self._driver.run(self._agent.capture(message), asks_model=True)

    def answer(self, request: str) -> AgentResult:
        """See :meth:`simonides.agent.AsyncAgent.answer`."""
        return self._driver.run(self._agent.answer(request), asks_model=True)

    def run(self, message: str, request: str) -> AgentResult:
        """See :meth:`simonides.agent.AsyncAgent.run`."""
        return self._driver.run(self._agent.run(message, request), asks_model=True)


class Admin(AdminCarrying, AdminHygiene, AdminRecords):
    """An administrator's handle; see :class:`simonides.AsyncAdmin`."""

    _admin: AsyncAdmin

    def __init__(self, admin: AsyncAdmin, driver: Driver) -> None:
        self._admin = admin
        self._driver = driver

    def grant(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> Grant:
        """See :meth:`simonides.AsyncAdmin.grant`."""
        return self._driver.run(self._admin.grant(user, right, org=org))

    def revoke(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> bool:
        """See :meth:`simonides.AsyncAdmin.revoke`."""
        return self._driver.run(self._admin.revoke(user, right, org=org))

    def grants(self, *, org: str = DEFAULT_ORG) -> list[Grant]:
        """See :meth:`simonides.AsyncAdmin.grants`."""
        return self._driver.run(self._admin.grants(org=org))

    def remember(self, draft: Draft, *, scope: str = "/global/") -> Outcome:
        """See :meth:`simonides.AsyncAdmin.remember`."""
        return self._driver.run(self._admin.remember(draft, scope=scope))

    def gc(
        self,
        *,
        dry_run: bool = False,
        scopes: Sequence[str] | None = None,
        progress: Callable[[GcReport], None] | None = None,
    ) -> GcReport:
        """See :meth:`simonides.AsyncAdmin.gc`."""
        return self._driver.run(self._admin.gc(dry_run=dry_run, scopes=scopes, progress=progress))

    def erase(self, user: str, *, org: str = DEFAULT_ORG) -> ErasureReceipt:
        """See :meth:`simonides.AsyncAdmin.erase`."""
        self._driver.flush()  # What was said before it goes with it.
        return self._driver.run(self._admin.erase(user, org=org))

    def erasure(self, user: str, *, org: str = DEFAULT_ORG) -> ErasureReceipt | None:
        """See :meth:`simonides.AsyncAdmin.erasure`."""
        return self._driver.run(self._admin.erasure(user, org=org))

    def check_erasure(self, receipt: ErasureReceipt) -> ReceiptCheck:
        """See :meth:`simonides.AsyncAdmin.check_erasure`."""
        return self._driver.run(self._admin.check_erasure(receipt))

    def dry_run(self, policy: str | os.PathLike[str], *, org: str = DEFAULT_ORG) -> DryRun:
        """See :meth:`simonides.AsyncAdmin.dry_run`."""
        return self._driver.run(self._admin.dry_run(policy, org=org))


class Strata:
    """An open simonides; use it as a context manager. See :class:`simonides.AsyncStrata`."""

    def __init__(self, strata: AsyncStrata) -> None:
        self._strata = strata
        self._driver = Driver(strata.services)
        # What readers did is written some time later, on a thread that has no loop either.
        services, asking = strata.services, partial(self._driver.run, asks_model=True)
        services.part(ReadJournal).driven_by(self._driver.run)
        services.part(Background).driven_by(self._driver.run)
        services.part(Housekeeping).driven_by(asking)
        services.part(Idling).driven_by(asking)
        services.part(Backups).driven_by(self._driver.run)
        replica = services.parts.get(Replica)
        if replica is not None:
            replica.driven_by(self._driver.run)
        services.part(Following).driven_by(asking)

    @property
    def services(self) -> Services:
        """The parts it is made of, for those who build on it."""
        return self._strata.services

    def manager(
        self,
        *,
        user: str | None = None,
        org: str | None = None,
        task: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        purpose: str | None = None,
    ) -> MemoryManager:
        """See :meth:`simonides.AsyncStrata.manager`."""
        manager = self._strata.manager(
            user=user, org=org, task=task, agent=agent, session=session, purpose=purpose
        )
        return MemoryManager(manager, self._driver)

    def admin(self, *, by: str) -> Admin:
        """See :meth:`simonides.AsyncStrata.admin`."""
        return Admin(self._strata.admin(by=by), self._driver)

    def agent(
        self,
        manager: MemoryManager,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> Agent:
        """Return the reference agent for a principal; see :class:`simonides.agent.AsyncAgent`."""
        agent = self._strata.agent(manager._manager, needs_model=needs_model, checks=checks)
        return Agent(agent, self._driver)

    def verify_audit(self) -> AuditReport:
        """See :meth:`simonides.AsyncStrata.verify_audit`."""
        return self._driver.run(self._strata.verify_audit())

    def deliver_outbox(self) -> int:
        """See :meth:`simonides.AsyncStrata.deliver_outbox`."""
        return self._driver.run(self._strata.deliver_outbox())

    def sync(self, *, scopes: Sequence[str] | None = None, full: bool = False) -> SyncReport:
        """See :meth:`simonides.AsyncStrata.sync`."""
        return self._driver.run(self._strata.sync(scopes=scopes, full=full))

    def sync_status(self) -> SyncStatus:
        """See :meth:`simonides.AsyncStrata.sync_status`."""
        return self._driver.run(self._strata.sync_status())

    def reindex(
        self,
        *,
        scopes: Sequence[str] | None = None,
        adopt: bool = False,
        progress: Callable[[ReindexReport], None] | None = None,
    ) -> ReindexReport:
        """See :meth:`simonides.AsyncStrata.reindex`."""
        work = self._strata.reindex(scopes=scopes, adopt=adopt, progress=progress)
        return self._driver.run(work)

    def gc(
        self,
        *,
        dry_run: bool = False,
        scopes: Sequence[str] | None = None,
        progress: Callable[[GcReport], None] | None = None,
    ) -> GcReport:
        """See :meth:`simonides.AsyncStrata.gc`."""
        return self._driver.run(self._strata.gc(dry_run=dry_run, scopes=scopes, progress=progress))

    def add_source(self, source: KnowledgeSource, *, scope: str = "/global/") -> None:
        """See :meth:`simonides.AsyncStrata.add_source`."""
        self._strata.add_source(source, scope=scope)

    def remove_source(self, name: str) -> bool:
        """See :meth:`simonides.AsyncStrata.remove_source`."""
        return self._strata.remove_source(name)

    def get_metrics(self) -> dict[str, Any]:
        """See :meth:`simonides.AsyncStrata.get_metrics`."""
        return self._driver.run(self._strata.get_metrics())

    def end_due_sessions(self) -> tuple[SessionEndReport, ...]:
        """See :meth:`simonides.AsyncStrata.end_due_sessions`."""
        return self._driver.run(self._strata.end_due_sessions(), asks_model=True)

    def backup(
        self,
        to: str | os.PathLike[str] | None = None,
        *,
        keep: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> BackupReport:
        """See :meth:`simonides.AsyncStrata.backup`."""
        return self._driver.run(self._strata.backup(to, keep=keep, progress=progress))

    def restore_backup(self, path: str | os.PathLike[str]) -> RestoredStore:
        """See :meth:`simonides.AsyncStrata.restore_backup`."""
        return self._driver.run(self._strata.restore_backup(path))

    def rekey(
        self, *, scopes: Sequence[str] | None = None, adopt: bool = False, accept: bool = False
    ) -> KeysReport:
        """See :meth:`simonides.AsyncStrata.rekey`."""
        return self._driver.run(self._strata.rekey(scopes=scopes, adopt=adopt, accept=accept))

    def sweep(self) -> int:
        """See :meth:`simonides.AsyncStrata.sweep`."""
        return self._driver.run(self._strata.sweep())

    def close(self) -> None:
        """See :meth:`simonides.AsyncStrata.close`."""
        self._driver.flush()
        # Of several who close one does; the others would end what he is doing, or return before.
        with self._driver.closing:
            if self._driver.is_closing:
                return  # By a signal's handler, on the thread that closes: it goes on after it.
            self._driver.is_closing = True
            try:
                self._driver.run(self._strata.close(), asks_model=True)
                self._driver.stop()
            finally:
                self._driver.is_closing = False

    def __enter__(self) -> Self:
        self.deliver_outbox()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
