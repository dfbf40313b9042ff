"""The values that the engine and a store exchange: heads, rows, snapshots and changes.

A :class:`Head` is an owner's version. A reader passes its last head and gets the rows changed
since, as a :class:`Snapshot`. A writer passes a function from a snapshot to one :class:`Change`.
The store takes the snapshot under the owner's write turn and writes the change atomically.
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
from simonides.domain.memory import Record
from simonides.domain.scope import Grant, Scope


class Head(NamedTuple):
    """An owner's version.

    Attributes:
        incarnation: 16 random bytes, new when the owner is created, erased or restored.
        epoch: Raised when rows are physically removed: readers reload in full.
        revision: Raised by one with every commit.
        known_at: Last system time used, µs; strictly increasing even if the wall clock is not.
        seq: Last sequence number in the audit chain.
    """

    incarnation: bytes
    epoch: int
    revision: int
    known_at: int
    seq: int


class StoredRow(NamedTuple):
    """A memory as stored: three blobs that only their own codecs read.

    Attributes:
        id: UUID text.
        revision: The commit that last changed it.
        body: The content version (``domain.codecs.memory``).
        state: The state in force now or at the requested time (``domain.codecs.memory``).
        entry: Index entry for ranking (``retrieval``); empty if not indexed.
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
    """A write that was already done under an idempotency key.

    Attributes:
        key: The caller's key, unique within the owner.
        request: SHA-256 of the request.
        answer: The outcome to return again, canonical JSON.
    """

    key: str
    request: bytes
    answer: bytes


class HeldCandidate(NamedTuple):
    """A held candidate as stored.

    Attributes:
        id: UUID text.
        session: Conversation that it comes from, or None.
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
    """Work for another owner, committed with its cause and done in the target's write turn.

    Attributes:
        id: UUID text.
        target: Canonical path of the scope to write to.
        body: The write, canonical JSON.
    """

    id: str
    target: str
    body: bytes


class JournalEntry(NamedTuple):
    """A record of a read, written off the read path.

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
    """A review as stored.

    Attributes:
        id: UUID text.
        status: ``open``, ``decided`` or ``expired``.
        at: Time of that status, µs.
        body: Canonical JSON; ids, no content.
    """

    id: str
    status: str
    at: int
    body: bytes


class NewVersion(NamedTuple):
    """A memory with its index entry: a new content version, or a stored one to be reindexed.

    Attributes:
        memory: The record.
        entry: Index entry made by ``retrieval``.
        analyser: Version of the analyser that made the terms.
        embedder: Model id of the vector, empty without one.
    """

    memory: Record
    entry: bytes
    analyser: str
    embedder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What a writer reads under its write turn.

    Attributes:
        since: Head of the rows that the writer already has, or None for all.
        idempotency_keys: Keys to look up.
        tombstones: Plain 32-byte fingerprints to look up among the tombstones.
        grants: Whether to read the owner's grants.
        policy: Whether to read the last recorded policy.
        counts: Whether to count the owner's rows, part by part.
        held: Whether to read the owner's held candidates.
        session: Name of the session whose step to read, or None.
        is_brief: Whether the decision on a few changed rows blocks on nothing, takes no longer
            than ranking a recall, and may be repeated. It may then run on the event loop, and
            before the turn on the expected snapshot; that result counts only if the snapshot is
            still current.
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
        """Whether to read more than rows and tombstones."""
        return bool(self.idempotency_keys or self.session is not None) or any(
            (self.grants, self.policy, self.counts, self.held)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """An owner as of one head.

    Attributes:
        head: None for an owner that has never been written.
        complete: True if ``rows`` are all live rows. False if they are the rows changed since the
            requested head, including those that are not live any more.
        rows: By revision, then id.
        idempotent: The records found, by key.
        tombstoned: The requested fingerprints that are tombstones.
        grants: The owner's grants, if requested; by grantee, then name.
        policy: The last recorded policy, if requested; None if there is none.
        counts: Row counts of the non-empty parts, if requested
            (:data:`simonides.domain.codecs.parts.PARTS`).
        consents: The owner's consents if ``complete``, by subject, then name. A changed consent
            raises the epoch, so cached consents stay valid for an incremental snapshot.
        held: Held candidates, if requested; by id.
        session_step: Step of the requested session, or None.
        checked: Whether the store has verified the checksums of all states and entries. If not,
            the user of the rows verifies them.
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
    """A new state of a memory, made without decoding the memory.

    Attributes:
        id: Id of the memory.
        state: As :mod:`simonides.domain.codecs.memory` packs it.
    """

    id: str
    state: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Everything that one write turn writes.

    Attributes:
        known_at: System time of the change, µs; larger than the head's.
        added: New content versions; version numbers of a chain have no gaps.
        restated: Memories that get a new state from ``known_at`` on, with unchanged content.
        states: New packed states, for bulk changes that do not decode the memories.
        reindexed: The restated memories that also get a new index entry, because their tags
            changed.
        forgotten: Ids whose rows, states, index and event payloads are physically removed.
        tombstones: Plain 32-byte fingerprints never to be learned again; the store keeps only a
            keyed digest of each.
        revived: Fingerprints whose tombstones are removed.
        held: Candidates to hold.
        released: Ids of held candidates to delete.
        events: In order; the store links them into the chain.
        idempotency: Writes done under idempotency keys.
        outbox: Work for other owners.
        granted: Grants to add.
        revoked: Grants to remove; compared by grantee, right and subject.
        policy: A policy that came into force; appended to the history.
        blanked: Sequence numbers whose salt and payload are erased, in addition to those of
            forgotten memories.
        unjournaled: Kinds of journal entries that are removed if they name a forgotten id.
        erased: Whether to erase everything of the owner except the chain's codes and the
            tombstones. Such a change holds only events, tombstones and outbox items.
        reviews: Reviews to upsert by id.
        consents: Consents to upsert by subject and name.
        session_steps: Session steps to upsert by session.
    """

    known_at: int
    added: tuple[NewVersion, ...] = ()
    restated: tuple[Record, ...] = ()
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
        """Whether readers must reload: rows were removed, or their visibility changed."""
        return bool(self.forgotten or self.consents or self.erased)

    def plus(self, other: Change) -> Change:
        """Return both changes merged, this one first.

        Raises:
            ValueError: If the system times differ, or either erases or records a policy.
        """
        apart = self.known_at != other.known_at
        if apart or any((self.erased, other.erased, self.policy, other.policy)):
            raise ValueError("changes cannot be merged: other system time, an erasure or a policy")
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

ALLOWED_WITH_ERASURE = frozenset({"known_at", "erased", "events", "tombstones", "outbox"})
"""Fields that a change with ``erased`` may set."""

_WRITTEN = attrgetter(*(each.name for each in fields(Change) if each.name != "known_at"))


class Renewed(NamedTuple):
    """A rebuilt index entry of an unchanged memory.

    Attributes:
        id: Id of the memory.
        revision: Revision of the row that it was built from.
        before: The previous entry; empty if not indexed.
        entry: The new entry.
        analyser: Version of the analyser that made the terms.
        embedder: Model id of the vector, empty without one.
    """

    id: str
    revision: int
    before: bytes
    entry: bytes
    analyser: str
    embedder: str


Decide: TypeAlias = Callable[[Snapshot], Change | None]
"""Computes the change from the snapshot taken under the turn; None writes nothing."""


class Committed(NamedTuple):
    """The result of a write turn.

    Attributes:
        head: The owner's head; None if it never existed and nothing was written.
        rows: The rows that the change added or restated, by id.
    """

    head: Head | None
    rows: tuple[StoredRow, ...]


class Size(NamedTuple):
    """Size of an owner's data.

    Attributes:
        rows: Versions of memories, of any status.
        stored_bytes: Bytes of their contents, current states and index entries.
    """

    rows: int
    stored_bytes: int


class PendingOutbox(NamedTuple):
    """An outbox item that has not been processed.

    Attributes:
        source: Owner that committed it.
        item: The work.
    """

    source: Scope
    item: OutboxItem
