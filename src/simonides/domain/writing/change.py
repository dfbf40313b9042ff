"""What passes between the manager and a store: positions, rows, and one change at a time (D2).

An owner stands at a :class:`Head`. A reader asks for what changed since the head that it has and
gets a :class:`Snapshot`. A writer hands the store a function from the snapshot, taken under the
owner's write turn, to one :class:`Change`; the store writes all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from simonides.domain.conversation.session import SessionStep
from simonides.domain.event import Event
from simonides.domain.governance.consent import Consent
from simonides.domain.memory import Memory
from simonides.domain.scope import Grant, Scope


class Head(NamedTuple):
    """Where an owner stands.

    Attributes:
        incarnation: 16 random bytes, drawn anew when the owner is created, erased or restored.
        epoch: Raised when rows are physically removed: readers reload in full.
        revision: Raised by one with every commit.
        known_at: Last system time used, µs; the next is larger, whatever the wall clock says.
        seq: Last place in the audit chain.
    """

    incarnation: bytes
    epoch: int
    revision: int
    known_at: int
    seq: int


class StoredRow(NamedTuple):
    """A memory as rows keep it: three blobs that only their own codec opens.

    Attributes:
        id: UUID text.
        revision: The commit that last changed it.
        body: The content version (``domain.codec``).
        state: The state in force, or the one in force at the time asked for (``domain.codec``).
        entry: What ranking needs (``retrieval``); empty where nothing was indexed.
        known_from: Start of the state, µs.
        known_to: End of the state, µs, or None while it is in force.
    """

    id: str
    revision: int
    body: bytes
    state: bytes
    entry: bytes
    known_from: int
    known_to: int | None


class IdempotencyRecord(NamedTuple):
    """A write that was already done under a key.

    Attributes:
        key: The caller's key, unique within the owner.
        request: SHA-256 of what was asked.
        answer: The outcome to give again, canonical JSON.
    """

    key: str
    request: bytes
    answer: bytes


class HeldCandidate(NamedTuple):
    """A candidate kept back.

    Attributes:
        id: UUID text.
        session: Conversation in which it was said, or None.
        reason: ``hold`` or ``repeat``.
        body: The candidate, canonical JSON.
        held_at: µs.
    """

    id: str
    session: str | None
    reason: str
    body: bytes
    held_at: int


class OutboxItem(NamedTuple):
    """Work for another owner, committed with its cause and carried out in the target's own turn.

    Attributes:
        id: UUID text.
        target: Canonical path of the scope to write to.
        body: What is to be written, canonical JSON.
    """

    id: str
    target: str
    body: bytes


class JournalEntry(NamedTuple):
    """Something a reader did, kept off the read path.

    Attributes:
        at: µs.
        kind: For example ``access``.
        body: Canonical JSON.
    """

    at: int
    kind: str
    body: bytes


class PolicyRecord(NamedTuple):
    """A policy that came into force.

    Attributes:
        hash: SHA-256 of its rules, 32 bytes.
        at: µs.
        body: Its rules, canonical JSON.
    """

    hash: bytes
    at: int
    body: bytes


class ReviewRecord(NamedTuple):
    """A review as rows keep it.

    Attributes:
        id: UUID text.
        status: ``open`` or ``decided``.
        at: When it came to be so, µs.
        body: Canonical JSON; ids, no content.
    """

    id: str
    status: str
    at: int
    body: bytes


class NewVersion(NamedTuple):
    """A content version to be added with its first state, or one that stands, with its index row.

    Attributes:
        memory: The record.
        entry: What ``retrieval`` made of it for the index.
        analyser: Version of the analyser that made the terms.
        embedder: Model id of the vector, empty where there is none.
    """

    memory: Memory
    entry: bytes
    analyser: str
    embedder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What a writer wants to see under the turn.

    Attributes:
        since: Head of the rows that it already has, or None for all.
        idempotency_keys: Keys to look up.
        tombstones: Plain 32-byte fingerprints to look up among the tombstones.
        grants: Whether to read the owner's grants.
        policy: Whether to read the policy recorded last.
        counts: Whether to count the owner's rows, part by part.
        held: Whether to read what is held back for the owner.
        session: Name of the session whose step to read, or None.
        is_brief: Whether deciding on a few changed rows waits for nothing, takes no longer than
            ranking a recall does, and may be repeated. It may then be done where others of an event
            loop wait, and before the turn, on what should stand: that counts only if it does.
    """

    since: Head | None = None
    idempotency_keys: tuple[str, ...] = ()
    tombstones: tuple[bytes, ...] = ()
    grants: bool = False
    policy: bool = False
    counts: bool = False
    held: bool = False
    session: str | None = None
    is_brief: bool = False

    @property
    def asks(self) -> bool:
        """Whether anything is to be read beside rows and tombstones."""
        return bool(self.idempotency_keys or self.session is not None) or any(
            (self.grants, self.policy, self.counts, self.held)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """An owner as of one head.

    Attributes:
        head: None for an owner that has never been written.
        complete: True if ``rows`` are all live rows; False if they are those changed since the
            head that was asked from, the no longer live ones included.
        rows: By revision, then id.
        idempotent: The records found, by key.
        tombstoned: Those of the fingerprints that are tombstones.
        grants: The owner's grants, if asked for; by grantee, then name.
        policy: The policy recorded last, if asked for; None where none was.
        counts: Rows of each part (:data:`simonides.domain.codecs.parts.PARTS`) that has any, if
        asked
            for.
        consents: The owner's consents if ``complete``, by what they are about, then name; a change
            of them raises the epoch, so that changed rows go with the consents known before.
        held: What is held back, if asked for; by id.
        session_step: Where the session stands that was asked for, or None.
        checked: Whether the store has looked at the check sums of all states and entries while it
            read them, and found them right. Of other snapshots who uses the rows looks himself.
    """

    head: Head | None
    complete: bool
    rows: tuple[StoredRow, ...]
    idempotent: Mapping[str, IdempotencyRecord] = field(
        default_factory=lambda: MappingProxyType({})
    )
    tombstoned: frozenset[bytes] = frozenset()
    grants: tuple[Grant, ...] = ()
    policy: PolicyRecord | None = None
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    consents: tuple[Consent, ...] = ()
    held: tuple[HeldCandidate, ...] = ()
    session_step: SessionStep | None = None
    checked: bool = field(default=False, compare=False)


class NewState(NamedTuple):
    """Another state of a memory, told without opening it.

    Attributes:
        id: Of the memory.
        state: As :mod:`simonides.domain.codecs.memory` packs it.
    """

    id: str
    state: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Everything that one turn writes.

    Attributes:
        known_at: System time of the change, µs; larger than the head's.
        added: New content versions; all of one chain number without gaps.
        restated: Memories that get a new state from ``known_at`` on; content as it was.
        states: New states of other memories, likewise: for who changes many and opens none.
        reindexed: Those of the restated that get another index entry with it, because what they
            are found by has changed: their tags.
        forgotten: Ids whose rows, states, index and event payloads are physically removed.
        tombstones: Plain 32-byte fingerprints never to be learned again; the store keeps only a
            keyed digest of each.
        revived: Fingerprints that are no tombstones any more.
        held: Candidates to keep back.
        released: Ids of held candidates to let go.
        events: In order; the store links them into the chain.
        idempotency: Writes done under keys.
        outbox: Work for other owners.
        granted: Grants to add.
        revoked: Grants to remove; compared by grantee, right and subject.
        policy: A policy that came into force, to be kept behind those before it.
        blanked: Places in the chain whose salt and payload are erased, beside those of what is
            forgotten.
        unjournaled: Kinds of journal entries that go where they name a forgotten id.
        erased: Whether all that the owner has goes, but for the chain's codes and the tombstones;
            such a change brings nothing but events, tombstones and work for other owners.
        reviews: Reviews to be kept; one replaces that of its id.
        consents: A person's words about keys and categories; each replaces the one about the same.
        session_steps: Where sessions stand now; each replaces that of its session.
    """

    known_at: int
    added: tuple[NewVersion, ...] = ()
    restated: tuple[Memory, ...] = ()
    reindexed: tuple[NewVersion, ...] = ()
    forgotten: tuple[str, ...] = ()
    tombstones: tuple[bytes, ...] = ()
    revived: tuple[bytes, ...] = ()
    held: tuple[HeldCandidate, ...] = ()
    released: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    idempotency: tuple[IdempotencyRecord, ...] = ()
    outbox: tuple[OutboxItem, ...] = ()
    granted: tuple[Grant, ...] = ()
    revoked: tuple[Grant, ...] = ()
    policy: PolicyRecord | None = None
    blanked: tuple[int, ...] = ()
    unjournaled: tuple[str, ...] = ()
    erased: bool = False
    reviews: tuple[ReviewRecord, ...] = ()
    consents: tuple[Consent, ...] = ()
    states: tuple[NewState, ...] = ()
    session_steps: tuple[SessionStep, ...] = ()

    @property
    def restated_ids(self) -> tuple[str, ...]:
        """Ids of all memories that get a new state."""
        return (*[memory.id for memory in self.restated], *[each.id for each in self.states])

    @property
    def raises_epoch(self) -> bool:
        """Whether readers must read anew what they have: rows went, or are seen otherwise."""
        return bool(self.forgotten or self.consents or self.erased)

    def plus(self, other: Change) -> Change:
        """Return one change that is both, what this one brings first.

        Raises:
            ValueError: If they are of two system times, or either erases or records a policy.
        """
        apart = self.known_at != other.known_at
        if apart or any((self.erased, other.erased, self.policy, other.policy)):
            raise ValueError("these changes are not one")
        joined: dict[str, Any] = {
            each.name: (*getattr(self, each.name), *getattr(other, each.name))
            for each in fields(self)
            if each.name not in _SINGLE
        }
        return replace(self, **joined)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not any(_WRITTEN(self))


_SINGLE = frozenset({"known_at", "erased", "policy"})

BESIDE_ERASURE = frozenset({"known_at", "erased", "events", "tombstones", "outbox"})
"""What a change may bring that erases its owner."""

_WRITTEN = attrgetter(*(each.name for each in fields(Change) if each.name != "known_at"))


class Renewed(NamedTuple):
    """An index entry made anew of a memory that has not changed.

    Attributes:
        id: Of the memory.
        revision: Of the row that it was made of.
        before: The entry that stood there; empty where nothing was indexed.
        entry: The new one.
        analyser: Version of the analyser that made the terms.
        embedder: Model id of the vector, empty where there is none.
    """

    id: str
    revision: int
    before: bytes
    entry: bytes
    analyser: str
    embedder: str


Decide: TypeAlias = Callable[[Snapshot], Change | None]
"""From what stands under the turn to what is to be written; None writes nothing."""


class Committed(NamedTuple):
    """What a turn left behind.

    Attributes:
        head: Where the owner stands now; None if it never existed and nothing was written.
        rows: The rows that the change added or restated, by id.
    """

    head: Head | None
    rows: tuple[StoredRow, ...]


class Size(NamedTuple):
    """How much an owner has.

    Attributes:
        rows: Versions of memories, whatever their status.
        stored_bytes: Their contents, states in force and index entries.
    """

    rows: int
    stored_bytes: int


class PendingOutbox(NamedTuple):
    """An outbox item that has not been settled.

    Attributes:
        source: Owner that it was committed with.
        item: The work.
    """

    source: Scope
    item: OutboxItem
