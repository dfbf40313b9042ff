"""An open memstrata: managers for principals, a handle for administrators, the audit check."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from memstrata.agent import AsyncAgent, Effect
from memstrata.audit import AuditReport, verify
from memstrata.domain.scope import Principal
from memstrata.manager.admin import AsyncAdmin
from memstrata.manager.memory_manager import AsyncMemoryManager
from memstrata.manager.promotion import deliver
from memstrata.manager.services import Services


class AsyncStrata:
    """An open memstrata; use it as an async context manager."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def services(self) -> Services:
        """The parts it is made of, for those who build on it."""
        return self._services

    def manager(
        self,
        *,
        user: str | None = None,
        org: str | None = None,
        task: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        purpose: str | None = None,
    ) -> AsyncMemoryManager:
        """Return the verbs of one principal.

        Args:
            user: Whose memory it is; may be left out for a principal known by its session only.
            org: Organisation; None means the default one.
            task: A task of the user, with memories of its own.
            agent: The agent that acts (SC-12).
            session: Conversation; switching it keeps the memories (SC-8).
            purpose: What recall is for (FX-15).

        Raises:
            OwnerRequired: If neither user nor session is named.
            InvalidScope: If an id is malformed.
        """
        principal = Principal.resolve(
            user=user, org=org, task=task, session=session, agent=agent, purpose=purpose
        )
        return AsyncMemoryManager(self._services, principal)

    def admin(self, *, by: str) -> AsyncAdmin:
        """Return an administrator's handle; ``by`` is the name in the audit trail."""
        return AsyncAdmin(self._services, by)

    def agent(
        self,
        manager: AsyncMemoryManager,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> AsyncAgent:
        """Return the reference agent for a principal.

        Args:
            manager: The principal's verbs.
            needs_model: Stop with ``llm_unavailable`` instead of letting the rules work.
            checks: Effects to verify beside the built-in ones, by key (AG-3).
        """
        return AsyncAgent(self._services, manager, needs_model=needs_model, checks=checks)

    async def verify_audit(self) -> AuditReport:
        """Recompute the audit chain of every owner (OB-1)."""
        return await verify(self._services.store)

    async def deliver_outbox(self) -> int:
        """Carry out work between owners that a stopped process left; returns how much it was.

        What cannot be carried out now stays for the next time, and ``status`` says so.
        """
        return len(await deliver(self._services))

    async def close(self) -> None:
        """Write down what readers did, close the store and the models; twice does no harm."""
        try:
            await self._services.journal.close()
        finally:
            await self._services.store.close()
        self._services.indexes.clear()  # what is warm must not answer for a store that is gone
        for close in self._services.closers:
            close()
        if self._services.model is not None:
            await self._services.model.close()

    async def __aenter__(self) -> Self:
        await self.deliver_outbox()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
