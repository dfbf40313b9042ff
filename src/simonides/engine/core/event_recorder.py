"""Records the events of a turn, in order, under one system time."""

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
        moment: System time of the turn. It rises strictly per owner, whatever the writers' wall
            clocks do.
    """

    def __init__(
        self,
        runtime: Runtime,
        principal: Principal,
        snapshot: Snapshot,
        known_at: int | None = None,
    ) -> None:
        """Create the recorder.

        Args:
            runtime: The open simonides.
            principal: The actor.
            snapshot: The rows that the turn read.
            known_at: System time of the turn, if another part of it has one already.
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
        """The events recorded so far, in order."""
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
        """Add an event.

        Args:
            type: Of the event.
            scope: Of the event.
            subjects: Ids of the memories concerned.
            reasons: Reason codes.
            details: Never content or matched text.
            actor: Replaces the principal's name where that must not be written.
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
