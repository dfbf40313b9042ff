"""The same verbs without an event loop (DESIGN D6).

No logic lives here: each method builds the coroutine of its async namesake and drives it. Over
adapters that never suspend the coroutine runs on the caller's own thread; where an adapter needs
the network it runs on an event loop of its own (:mod:`memstrata.driving`). A test compares the
signatures.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from memstrata.agent import AgentResult, AsyncAgent, Effect
from memstrata.audit import AuditReport
from memstrata.domain.decision import Candidate, CaptureReport, Outcome
from memstrata.domain.digest import Digest, Verification
from memstrata.domain.errors import StoreUnavailable
from memstrata.domain.hindsight import DryRun
from memstrata.domain.memory import Draft, Kind, Memory
from memstrata.domain.recall import Explanation, Recall
from memstrata.domain.receipt import Receipt
from memstrata.domain.scope import DEFAULT_ORG, Grant, Principal
from memstrata.domain.trust import Source
from memstrata.driving import SharedLoop
from memstrata.manager import AsyncAdmin, AsyncMemoryManager
from memstrata.manager.services import Services
from memstrata.ports import Capability
from memstrata.strata import AsyncStrata

T = TypeVar("T")


class Driver:
    """Runs coroutines to their end for callers without an event loop."""

    def __init__(self, services: Services) -> None:
        model = services.model
        self._store_inline = Capability.INLINE in services.store.capabilities
        self._model_inline = model is None or Capability.INLINE in model.capabilities
        self._location = services.store.location
        self._lock = threading.Lock()
        self._loop: SharedLoop | None = None

    def run(self, work: Coroutine[Any, Any, T], *, asks_model: bool = False) -> T:
        """Return the coroutine's result; ``asks_model`` tells that it may wait for a model."""
        if self._store_inline and (self._model_inline or not asks_model):
            return _step(work)
        try:
            return self._shared_loop().run(work)
        except CancelledError as error:
            raise StoreUnavailable(self._location, "closed while the call was waiting") from error

    def stop(self) -> None:
        """Close the loop, if there is one; calls that wait for it end with an error."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def _shared_loop(self) -> SharedLoop:
        with self._lock:
            if self._loop is None:
                self._loop = SharedLoop()
            return self._loop


def _step(work: Coroutine[Any, Any, T]) -> T:
    try:
        work.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    work.close()
    raise RuntimeError("an adapter that declares INLINE suspended; this is a fault in it")


class MemoryManager:
    """Remembers and recalls for one principal; see :class:`memstrata.AsyncMemoryManager`."""

    def __init__(self, manager: AsyncMemoryManager, driver: Driver) -> None:
        self._manager = manager
        self._driver = driver

    @property
    def principal(self) -> Principal:
        """Who this manager acts for."""
        return self._manager.principal

    def remember(
        self,
        content: str,
        *,
        key: str | None = None,
        category: str | None = None,
        source: str = Source.USER_STATED,
        kind: str = Kind.SEMANTIC,
        confidence: float | None = None,
        importance: str = "normal",
        sensitivity: str = "private",
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        scope: str | None = None,
        at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        ttl_days: float | None = None,
        pinned: bool = False,
        quote: str | None = None,
        idempotency_key: str | None = None,
        audience: Sequence[str] | None = None,
    ) -> Outcome:
        """See :meth:`memstrata.AsyncMemoryManager.remember`."""
        return self._driver.run(
            self._manager.remember(
                content,
                key=key,
                category=category,
                source=source,
                kind=kind,
                confidence=confidence,
                importance=importance,
                sensitivity=sensitivity,
                tags=tags,
                metadata=metadata,
                scope=scope,
                at=at,
                valid_from=valid_from,
                ttl_days=ttl_days,
                pinned=pinned,
                quote=quote,
                idempotency_key=idempotency_key,
                audience=audience,
            )
        )

    def check(self, draft: Draft) -> None:
        """See :meth:`memstrata.AsyncMemoryManager.check`."""
        self._manager.check(draft)

    def remember_many(self, drafts: Sequence[Draft]) -> list[Outcome]:
        """See :meth:`memstrata.AsyncMemoryManager.remember_many`."""
        return self._driver.run(self._manager.remember_many(drafts))

    def capture(
        self,
        text: str,
        *,
        speaker: str | None = None,
        role: str = "user",
        at: datetime | str | None = None,
        turn: int | None = None,
        before: Sequence[str] = (),
    ) -> CaptureReport:
        """See :meth:`memstrata.AsyncMemoryManager.capture`."""
        work = self._manager.capture(
            text, speaker=speaker, role=role, at=at, turn=turn, before=before
        )
        return self._driver.run(work, asks_model=True)

    def propose(self, candidates: Sequence[Candidate]) -> list[Outcome]:
        """See :meth:`memstrata.AsyncMemoryManager.propose`."""
        return self._driver.run(self._manager.propose(candidates))

    def correct(self, which: str, content: str, *, quote: str | None = None) -> Outcome:
        """See :meth:`memstrata.AsyncMemoryManager.correct`."""
        return self._driver.run(self._manager.correct(which, content, quote=quote))

    def confirm(self, id: str) -> Outcome:
        """See :meth:`memstrata.AsyncMemoryManager.confirm`."""
        return self._driver.run(self._manager.confirm(id))

    def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        scope: str | None = None,
        filter: Mapping[str, Any] | None = None,
        source: str | None = None,
    ) -> Outcome:
        """See :meth:`memstrata.AsyncMemoryManager.forget`."""
        return self._driver.run(
            self._manager.forget(id, key=key, scope=scope, filter=filter, source=source)
        )

    def promote(self, id: str, to: str) -> Outcome:
        """See :meth:`memstrata.AsyncMemoryManager.promote`."""
        return self._driver.run(self._manager.promote(id, to))

    def grant(self, user: str, right: str) -> Grant:
        """See :meth:`memstrata.AsyncMemoryManager.grant`."""
        return self._driver.run(self._manager.grant(user, right))

    def revoke(self, user: str, right: str) -> bool:
        """See :meth:`memstrata.AsyncMemoryManager.revoke`."""
        return self._driver.run(self._manager.revoke(user, right))

    def grants(self) -> tuple[Grant, ...]:
        """See :meth:`memstrata.AsyncMemoryManager.grants`."""
        return self._driver.run(self._manager.grants())

    def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        layer: str = "l2",
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        floor: float | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
    ) -> Recall:
        """See :meth:`memstrata.AsyncMemoryManager.recall`."""
        return self._driver.run(
            self._manager.recall(
                query,
                limit=limit,
                filter=filter,
                kinds=kinds,
                layer=layer,
                known_at=known_at,
                valid_at=valid_at,
                floor=floor,
                scopes=scopes,
                preference_bias=preference_bias,
            )
        )

    def digest(
        self,
        query: str,
        *,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        floor: float | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
        max_items: int | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
    ) -> Digest:
        """See :meth:`memstrata.AsyncMemoryManager.digest`."""
        return self._driver.run(
            self._manager.digest(
                query,
                filter=filter,
                kinds=kinds,
                known_at=known_at,
                valid_at=valid_at,
                floor=floor,
                scopes=scopes,
                preference_bias=preference_bias,
                max_items=max_items,
                max_chars=max_chars,
                max_tokens=max_tokens,
            )
        )

    def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """See :meth:`memstrata.AsyncMemoryManager.verify`."""
        return self._driver.run(self._manager.verify(answer, receipt))

    def replay(self, receipt: Receipt) -> Digest:
        """See :meth:`memstrata.AsyncMemoryManager.replay`."""
        return self._driver.run(self._manager.replay(receipt))

    def explain(self, id: str, query: str, *, scopes: Sequence[str] | None = None) -> Explanation:
        """See :meth:`memstrata.AsyncMemoryManager.explain`."""
        return self._driver.run(self._manager.explain(id, query, scopes=scopes))

    def get(self, id: str, *, scopes: Sequence[str] | None = None) -> Memory | None:
        """See :meth:`memstrata.AsyncMemoryManager.get`."""
        return self._driver.run(self._manager.get(id, scopes=scopes))

    def list(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = 100,
        scopes: Sequence[str] | None = None,
    ) -> tuple[Memory, ...]:
        """See :meth:`memstrata.AsyncMemoryManager.list`."""
        return self._driver.run(self._manager.list(filter=filter, limit=limit, scopes=scopes))

    def history(self, which: str, *, scopes: Sequence[str] | None = None) -> tuple[Memory, ...]:
        """See :meth:`memstrata.AsyncMemoryManager.history`."""
        return self._driver.run(self._manager.history(which, scopes=scopes))

    def status(self) -> dict[str, Any]:
        """See :meth:`memstrata.AsyncMemoryManager.status`."""
        return self._driver.run(self._manager.status())


class Agent:
    """The reference agent; see :class:`memstrata.agent.AsyncAgent`."""

    def __init__(self, agent: AsyncAgent, driver: Driver) -> None:
        self._agent = agent
        self._driver = driver

    def capture(self, message: str) -> AgentResult:
        """See :meth:`memstrata.agent.AsyncAgent.capture`."""
        return self._driver.run(self._agent.capture(message), asks_model=True)

    def answer(self, request: str) -> AgentResult:
        """See :meth:`memstrata.agent.AsyncAgent.answer`."""
        return self._driver.run(self._agent.answer(request), asks_model=True)

    def run(self, message: str, request: str) -> AgentResult:
        """See :meth:`memstrata.agent.AsyncAgent.run`."""
        return self._driver.run(self._agent.run(message, request), asks_model=True)


class Admin:
    """An administrator's handle; see :class:`memstrata.AsyncAdmin`."""

    def __init__(self, admin: AsyncAdmin, driver: Driver) -> None:
        self._admin = admin
        self._driver = driver

    def grant(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> Grant:
        """See :meth:`memstrata.AsyncAdmin.grant`."""
        return self._driver.run(self._admin.grant(user, right, org=org))

    def revoke(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> bool:
        """See :meth:`memstrata.AsyncAdmin.revoke`."""
        return self._driver.run(self._admin.revoke(user, right, org=org))

    def grants(self, *, org: str = DEFAULT_ORG) -> list[Grant]:
        """See :meth:`memstrata.AsyncAdmin.grants`."""
        return self._driver.run(self._admin.grants(org=org))

    def remember(self, draft: Draft, *, scope: str = "/global/") -> Outcome:
        """See :meth:`memstrata.AsyncAdmin.remember`."""
        return self._driver.run(self._admin.remember(draft, scope=scope))

    def dry_run(self, policy: str | os.PathLike[str], *, org: str = DEFAULT_ORG) -> DryRun:
        """See :meth:`memstrata.AsyncAdmin.dry_run`."""
        return self._driver.run(self._admin.dry_run(policy, org=org))


class Strata:
    """An open memstrata; use it as a context manager. See :class:`memstrata.AsyncStrata`."""

    def __init__(self, strata: AsyncStrata) -> None:
        self._strata = strata
        self._driver = Driver(strata.services)

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
        """See :meth:`memstrata.AsyncStrata.manager`."""
        manager = self._strata.manager(
            user=user, org=org, task=task, agent=agent, session=session, purpose=purpose
        )
        return MemoryManager(manager, self._driver)

    def admin(self, *, by: str) -> Admin:
        """See :meth:`memstrata.AsyncStrata.admin`."""
        return Admin(self._strata.admin(by=by), self._driver)

    def agent(
        self,
        manager: MemoryManager,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> Agent:
        """Return the reference agent for a principal; see :class:`memstrata.agent.AsyncAgent`."""
        agent = self._strata.agent(manager._manager, needs_model=needs_model, checks=checks)
        return Agent(agent, self._driver)

    def verify_audit(self) -> AuditReport:
        """See :meth:`memstrata.AsyncStrata.verify_audit`."""
        return self._driver.run(self._strata.verify_audit())

    def deliver_outbox(self) -> int:
        """See :meth:`memstrata.AsyncStrata.deliver_outbox`."""
        return self._driver.run(self._strata.deliver_outbox())

    def close(self) -> None:
        """See :meth:`memstrata.AsyncStrata.close`."""
        self._driver.run(self._strata.close(), asks_model=True)
        self._driver.stop()

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
