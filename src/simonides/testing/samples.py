"""Valid test values: each different from the last, and all the same in every run."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.conversation.session import SessionStep
from simonides.domain.event import Event, EventType
from simonides.domain.governance.consent import About, Consent
from simonides.domain.memory import Kind, Record, Status
from simonides.domain.scope import Scope
from simonides.domain.trust import Source, Trust
from simonides.domain.value import from_us
from simonides.domain.writing.change import (
    Change,
    HeldCandidate,
    NewVersion,
    OutboxItem,
    ReviewRecord,
)
from simonides.testing.clocks import CountingIds, ManualClock

ALICE = Scope.of_user("acme", "alice")
BOB = Scope.of_user("acme", "bob")


class Samples:
    """Makes memories, events and changes for one test.

    Attributes:
        clock: Source of times; every change takes a later one.
        ids: Source of ids and salts.
    """

    def __init__(self, clock: ManualClock | None = None, ids: CountingIds | None = None) -> None:
        self.clock = clock or ManualClock()
        self.ids = ids or CountingIds()

    def memory(
        self, content: str = "Deploys go to us-east-1", *, scope: Scope = ALICE, **fields: Any
    ) -> Record:
        """Return the first version of a memory; ``fields`` replaces sample values."""
        now = from_us(self.clock.now_us())
        given = fields.pop("id", None)
        id = self.ids.new(self.clock.now_us()) if given is None else given
        # Content that cannot be encoded is a sample too.
        text = content.casefold().encode("utf-8", "surrogatepass")
        sample = Record(
            id=id,
            root=id,
            version=1,
            scope=scope,
            kind=Kind.SEMANTIC,
            category="fact",
            content=content,
            content_hash=hashlib.sha256(text).hexdigest(),
            source=Source.USER_STATED,
            trust=Trust.USER,
            created_at=now,
            updated_at=now,
            known_from=now,
        )
        return replace(sample, **fields)

    def successor(self, old: Record, content: str = "Deploys go to eu-west-1") -> Record:
        """Return the next version of a memory's chain."""
        return self.memory(
            content,
            scope=old.scope,
            key=old.key,
            root=old.root,
            version=old.version + 1,
            supersedes=old.id,
        )

    def superseded(self, old: Record, by: Record) -> Record:
        """Return the state of ``old`` once ``by`` replaced it."""
        return replace(old, status=Status.SUPERSEDED, superseded_by=by.id)

    def event(self, *subjects: str, scope: Scope = ALICE, **fields: Any) -> Event:
        """Return an event about memories."""
        now_us = self.clock.now_us()
        sample = Event(
            id=self.ids.new(now_us),
            type=EventType.CREATED,
            at=from_us(now_us),
            scope=scope,
            actor=scope.path,
            subjects=subjects,
            salt=self.ids.salt(),
        )
        return replace(sample, **fields)

    def held(self, *, session: str | None = None) -> HeldCandidate:
        """Return a held candidate."""
        now_us = self.clock.now_us()
        return HeldCandidate(self.ids.new(now_us), session, "hold", b"{}", now_us)

    def review(self, *, status: str = "open") -> ReviewRecord:
        """Return a review."""
        now_us = self.clock.now_us()
        return ReviewRecord(self.ids.new(now_us), status, now_us, b"{}")

    def session_step(self, session: str = "s", step: str = "open", **told: object) -> SessionStep:
        """Return a step of a session."""
        return SessionStep(session, step, self.clock.now_us(), canonical_json(told))

    def consent(self, name: str, about: About = About.KEY, *, allowed: bool = False) -> Consent:
        """Return a user's consent about a key or a category."""
        return Consent(about, name, allowed, from_us(self.clock.now_us()), ALICE.path)

    def outbox_item(self, target: Scope = BOB) -> OutboxItem:
        """Return work for another owner."""
        return OutboxItem(self.ids.new(self.clock.now_us()), target.path, b"{}")

    def change(self, *added: Record, restated: Iterable[Record] = (), **fields: Any) -> Change:
        """Return a change one µs later than the last, with one event for each memory.

        Args:
            added: New versions.
            restated: Memories that get a new state.
            fields: Other fields of the change, which replace sample values.
        """
        restated = tuple(restated)
        sample = Change(
            known_at=self.clock.advance(us=1),
            added=tuple(NewVersion(m, b"entry " + m.id.encode(), "a1", "e1") for m in added),
            restated=restated,
            events=tuple(self.event(m.id, scope=m.scope) for m in (*added, *restated)),
        )
        return replace(sample, **fields)
