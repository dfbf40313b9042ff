"""Reads the audit trail of an owner, newest event first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from simonides.domain.errors import InvalidInput
from simonides.domain.event import Event, EventType, Link
from simonides.domain.reading.page import Page
from simonides.domain.scope import Scope
from simonides.engine.core import Runtime

LINKS = 1_000
"""Links of the chain that are read at a time."""

MAX_CURSOR_DIGITS = 20
"""Digits of a sequence number, at most: it has 64 bits."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which events are wanted; None admits all.

    Attributes:
        subjects: Ids of memories, of which an event names at least one.
        type: Type of the event.
        actor: Name of the acting principal.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
    """

    subjects: frozenset[str] | None = None
    type: EventType | None = None
    actor: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def admits(self, event: Event) -> bool:
        """Whether an event is wanted."""
        return (
            (self.subjects is None or not self.subjects.isdisjoint(event.subjects))
            and (self.type is None or event.type is self.type)
            and (self.actor is None or event.actor == self.actor)
            and (self.since is None or event.at >= self.since)
            and (self.until is None or event.at < self.until)
        )


async def list_events(
    runtime: Runtime, home: Scope, wanted: AuditFilter, limit: int, cursor: str | None
) -> Page[Event]:
    """Return events of a scope and of the scopes below it, newest first.

    Args:
        runtime: The open store.
        home: The scope; a task sees its own events only.
        wanted: Which events.
        limit: Most events.
        cursor: Sequence number at which the page begins; None begins at the newest.

    Raises:
        InvalidInput: If the cursor is no number.
        StoreError: If the store cannot be read.
    """
    (head,) = await runtime.store.heads([home.owner])
    last = _place(cursor, 0 if head is None else head.seq)
    found: list[Event] = []
    while last > 0:
        first = max(last - LINKS, 0)
        links = await runtime.store.links(home.owner, after=first, limit=last - first)
        for link in reversed(links):
            event = _event(link)
            if event is None or not _is_below(event.scope, home) or not wanted.admits(event):
                continue
            if len(found) == limit:
                return Page(found, str(link.seq))
            found.append(event)
        last = first
    return Page(found)


def _event(link: Link) -> Event | None:
    if link.payload is None:
        return None
    fields = json.loads(link.payload)
    return Event(
        id=fields["id"],
        type=EventType(fields["type"]),
        at=datetime.fromisoformat(fields["at"]),
        scope=Scope.parse(fields["scope"]),
        actor=fields["actor"],
        subjects=tuple(fields["subjects"]),
        reasons=tuple(fields["reasons"]),
        details=fields["details"],
        salt=link.salt or bytes(16),
    )


def _is_below(scope: Scope, home: Scope) -> bool:
    return home in (scope, scope.owner)


def _place(cursor: str | None, newest: int) -> int:
    if cursor is None:
        return newest
    digits = str(cursor)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_CURSOR_DIGITS):
        raise InvalidInput("cursor", "is not of this list; begin anew without it")
    return min(int(digits), newest)
