"""When a turn happens and what the trail says of it: one moment, events in order."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from simonides.domain.event import Event, EventType
from simonides.domain.moment import Moment
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Snapshot
from simonides.engine.core.runtime import Runtime


class EventRecorder:
    """Records what one principal does in one turn.

    Attributes:
        moment: System time of the turn, strictly rising per owner whatever the wall clocks of
            its writers do.
    """

    def __init__(
        self,
        runtime: Runtime,
        principal: Principal,
        snapshot: Snapshot,
        known_at: int | None = None,
    ) -> None:
        """Build it.

        Args:
            runtime: The open simonides.
            principal: Who acts.
            snapshot: What stands under the turn.
            known_at: System time of the turn, where something else of it has one already.
        """
        if known_at is None:
            last = snapshot.head.known_at if snapshot.head is not None else 0
            known_at = max(runtime.clock.now_us(), last + 1)
        embedder = runtime.indexes.indexer.embedder or None
        self.moment = Moment(known_at, runtime.ids, embedder)
        self._salt = runtime.ids.salt
        self._principal = principal
        self._events: list[Event] = []

    @property
    def events(self) -> tuple[Event, ...]:
        """What was recorded so far, in order."""
        return tuple(self._events)

    def record(
        self,
        type: EventType,
        scope: Scope,
        *,
        subjects: tuple[str, ...] = (),
        reasons: tuple[str, ...] = (),
        details: Mapping[str, Any] = MappingProxyType({}),
        actor: str | None = None,
    ) -> Event:
        """Add an event; ``details`` never hold content or matched text. ``actor`` stands for
        the principal's name where that must not be written.
        """
        event = Event(
            id=self.moment.new_id(),
            type=type,
            at=self.moment.now,
            scope=scope,
            actor=self._principal.name if actor is None else actor,
            subjects=subjects,
            reasons=reasons,
            details=details,
            salt=self._salt(),
        )
        self._events.append(event)
        return event
