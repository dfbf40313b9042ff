"""The verbs of one principal without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.blocking.ageing import AgeingVerbs
from simonides.blocking.carrying import CarryingVerbs
from simonides.blocking.changing import ChangingVerbs
from simonides.blocking.consents import ConsentVerbs
from simonides.blocking.cycles import CycleVerbs
from simonides.blocking.dreams import DreamVerbs
from simonides.blocking.driver import Driver
from simonides.blocking.echoes import EchoVerbs
from simonides.blocking.ending import EndingVerbs
from simonides.blocking.erasing import ErasingVerbs
from simonides.blocking.holding import HoldingVerbs
from simonides.blocking.hygiene import HygieneVerbs
from simonides.blocking.knowledge import KnowledgeVerbs
from simonides.blocking.prompt import PromptVerbs
from simonides.blocking.recording import RecordingVerbs
from simonides.blocking.session import SessionVerbs
from simonides.blocking.task import TaskVerbs
from simonides.blocking.usage import UsageVerbs
from simonides.domain.decision import Candidate, CaptureReport, Outcome
from simonides.domain.memory import Draft, Kind, Memory
from simonides.domain.recall import Explanation, Recall
from simonides.domain.scope import Grant, Principal
from simonides.domain.trust import Source
from simonides.manager import AsyncMemoryManager


class MemoryManager(
    PromptVerbs,
    AgeingVerbs,
    ErasingVerbs,
    ChangingVerbs,
    ConsentVerbs,
    CarryingVerbs,
    HygieneVerbs,
    EchoVerbs,
    CycleVerbs,
    HoldingVerbs,
    TaskVerbs,
    KnowledgeVerbs,
    RecordingVerbs,
    SessionVerbs,
    EndingVerbs,
    UsageVerbs,
    DreamVerbs,
):
    """Remembers and recalls for one principal; see :class:`simonides.AsyncMemoryManager`."""

    _manager: AsyncMemoryManager

    def __init__(self, manager: AsyncMemoryManager, driver: Driver) -> None:
        super().__init__(manager, driver)
        self._manager = self._ageing = self._changing = self._consents = manager
        self._hygiene = self._echoes = self._cycling = self._holding = self._tasks = manager
        self._hygiene = self._echoes = self._cycling = self._holding = self._knowing = manager
        self._hygiene = self._echoes = self._cycling = self._holding = self._recording = manager
        self._spending = self._dreaming = manager
        self._hygiene = self._echoes = self._cycling = self._holding = manager
        self._talking = manager
        self._ending = manager

    @property
    def principal(self) -> Principal:
        """Who this manager acts for."""
        return self._manager.principal

    def unless_erased(self) -> MemoryManager:
        """See :meth:`simonides.AsyncMemoryManager.unless_erased`."""
        return MemoryManager(self._driver.run(self._manager.unless_erased()), self._driver)

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
        origin: str | None = None,
    ) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.remember`."""
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
                origin=origin,
            )
        )

    def check(self, draft: Draft) -> None:
        """See :meth:`simonides.AsyncMemoryManager.check`."""
        self._manager.check(draft)

    def remember_many(self, drafts: Sequence[Draft]) -> list[Outcome]:
        """See :meth:`simonides.AsyncMemoryManager.remember_many`."""
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
        """See :meth:`simonides.AsyncMemoryManager.capture`."""
        work = self._manager.capture(
            text, speaker=speaker, role=role, at=at, turn=turn, before=before
        )
        return self._driver.run(work, asks_model=True)

    def propose(self, candidates: Sequence[Candidate]) -> list[Outcome]:
        """See :meth:`simonides.AsyncMemoryManager.propose`."""
        return self._driver.run(self._manager.propose(candidates))

    def correct(self, which: str, content: str, *, quote: str | None = None) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.correct`."""
        return self._driver.run(self._manager.correct(which, content, quote=quote))

    def confirm(self, id: str) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.confirm`."""
        return self._driver.run(self._manager.confirm(id))

    def promote(self, id: str, to: str) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.promote`."""
        return self._driver.run(self._manager.promote(id, to))

    def grant(self, user: str, right: str) -> Grant:
        """See :meth:`simonides.AsyncMemoryManager.grant`."""
        return self._driver.run(self._manager.grant(user, right))

    def revoke(self, user: str, right: str) -> bool:
        """See :meth:`simonides.AsyncMemoryManager.revoke`."""
        return self._driver.run(self._manager.revoke(user, right))

    def grants(self) -> tuple[Grant, ...]:
        """See :meth:`simonides.AsyncMemoryManager.grants`."""
        return self._driver.run(self._manager.grants())

    def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        layer: str | Sequence[str] = "l2",
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        floor: float | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
    ) -> Recall:
        """See :meth:`simonides.AsyncMemoryManager.recall`."""
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

    def explain(self, id: str, query: str, *, scopes: Sequence[str] | None = None) -> Explanation:
        """See :meth:`simonides.AsyncMemoryManager.explain`."""
        return self._driver.run(self._manager.explain(id, query, scopes=scopes))

    def get(self, id: str, *, scopes: Sequence[str] | None = None) -> Memory | None:
        """See :meth:`simonides.AsyncMemoryManager.get`."""
        return self._driver.run(self._manager.get(id, scopes=scopes))

    def list(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = 100,
        scopes: Sequence[str] | None = None,
    ) -> tuple[Memory, ...]:
        """See :meth:`simonides.AsyncMemoryManager.list`."""
        return self._driver.run(self._manager.list(filter=filter, limit=limit, scopes=scopes))

    def history(self, which: str, *, scopes: Sequence[str] | None = None) -> tuple[Memory, ...]:
        """See :meth:`simonides.AsyncMemoryManager.history`."""
        return self._driver.run(self._manager.history(which, scopes=scopes))

    def status(self) -> dict[str, Any]:
        """See :meth:`simonides.AsyncMemoryManager.status`."""
        return self._driver.run(self._manager.status())
