"""The store of memories: rows of many owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from simonides.domain.conversation.session import SessionStep
from simonides.domain.event import Link
from simonides.domain.governance.consent import Consent
from simonides.domain.governance.erasure import Purged
from simonides.domain.memory import Record
from simonides.domain.policy.ceilings import Spent
from simonides.domain.scope import Grant, Scope
from simonides.domain.writing.change import (
    Committed,
    Decide,
    Head,
    HeldCandidate,
    JournalEntry,
    PendingOutbox,
    Renewed,
    ReviewRecord,
    Size,
    Snapshot,
    StoredRow,
    TurnRequest,
)


class Capability(StrEnum):
    """What an adapter can do beyond its port.

    ``inline``: every call completes without suspending, so that a caller without an event loop may
    drive it on its own thread. For an embedder or a reranker, whose calls are no coroutines: a call
    takes well under a millisecond a text and never waits. It may then be made on an event loop and
    under an owner's turn.

    ``durable``: an acknowledged write survives the process. ``movable``, ``portable``, ``backups``,
    ``revertible``, ``coded``: the store is a :class:`MovableStore`, :class:`PortableStore`,
    :class:`BackupStore`, :class:`RevertibleStore`, :class:`CodedStore`. ``sealed``: the store
    encrypts its contents, so that a policy may say ``encrypt``.

    ``queries``: the embedder is a :class:`QueryEmbedder`. ``charged``: an embedder's texts leave
    the process and may cost something, so that ceilings count them. ``catalogue``: a source of
    documents returns all it has, whatever the query. ``remote``: it sends the query over a network.
    """

    INLINE = "inline"
    DURABLE = "durable"
    MOVABLE = "movable"
    PORTABLE = "portable"
    BACKUPS = "backups"
    REVERTIBLE = "revertible"
    QUERIES = "queries"
    CODED = "coded"
    SEALED = "sealed"
    CATALOGUE = "catalogue"
    REMOTE = "remote"
    CHARGED = "charged"


class MemoryStore(Protocol):
    """Rows of many owners; every call but the operator's names its owner.

    An owner is a scope that is its own :attr:`~simonides.domain.scope.Scope.owner`. No call returns
    or changes anything of another owner. A store knows nothing of ranking or policy.

    Every call raises :class:`~simonides.domain.errors.StoreError` subclasses and no vendor errors:
    ``StoreUnavailable`` if closed, locked past its time-out, unreachable or used in a forked child;
    ``StoreFull``, ``StoreReadOnly``, ``StoreCorrupt`` as named. After any of them the store is as
    it was before the call. A scope that is no owner (a task) raises ``ValueError``. Ids and keys to
    look up may be any text.
    """

    capabilities: frozenset[Capability]
    location: str

    async def close(self) -> None:
        """Release every resource; twice does no harm, other calls then raise. In a forked child it
        does nothing.
        """

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """Return each owner's head, in the order asked; None for one never written."""

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """Return an owner's rows as of one moment.

        With ``since`` of the same incarnation and epoch: only rows changed after its revision,
        those no longer live included. Otherwise: all live rows, and the owner's consents. Live is
        :attr:`~simonides.domain.memory.Status.is_live`. Order: revision, then id.
        """

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """Return a :meth:`snapshot` of each owner, since the given head, all as of one moment.
        Order: as asked.
        """

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """Return the rows that were live at system time ``known_at`` (µs).

        Each has the state then in force, its ``revision`` and its times: ``known_from <= known_at <
        known_to``. With ``superseded`` also those superseded by then: they may have been true at an
        earlier time of the world. Rows purged or forgotten since are missing. Order: id.
        """

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """Take the owner's write turn, show ``decide`` the current rows, write what it returns.

        Turns of one owner run one at a time, first come, first served, over all threads and
        processes. ``decide`` is synchronous, must not call the store, and sees every commit
        acknowledged before. It runs once; if the request says that it is brief it may run again,
        and only its last result is written. All of the change is written or none; on return it is
        as durable as the store promises. If ``decide`` returns None or raises, nothing is written;
        its exception is passed on.

        The owner is created with its first change. Each change raises the revision by one. One with
        ``forgotten`` ids or ``consents``, or that erases, raises the epoch too. Events are linked
        in order; a link's payload is the canonical JSON of the event.

        States: a restated memory's open state ends at ``known_at`` and the new one begins there.
        Its body stays, and so does its index entry unless the change brings another
        (``reindexed``). ``states`` without their memories are written as given; the rules for
        restated memories hold for theirs.

        Forgetting erases salt and payload of earlier events that have the id among their subjects;
        the change's own events stay. ``revived``, ``revoked`` and ``released`` are applied before
        the rest; unknown ones are ignored. A held candidate and a review replace one of their id, a
        session's step the one before. A grant replaces one of its grantee, right and subject, a
        consent one about the same key or category. A policy is always appended to those recorded
        before it, even if it equals one of them.

        ``blanked`` places of the chain lose salt and payload too; unknown ones are ignored. Of the
        kinds ``unjournaled`` the owner's journal entries go that have a forgotten id as a text of
        their JSON.

        A change that erases first removes every row of the owner in every part, its sessions
        included. The MACs of its chain and the tombstones stay. Wrapped keys are destroyed and
        recorded as such. It draws a new incarnation. The owner is then in none of :meth:`owners`
        until it is written again. Its name is kept only while work for other owners waits. The
        change's own events, tombstones and work for others are added.

        An added memory is recorded as derived from those of its parents that are this owner's own;
        for parents elsewhere, :meth:`settle` records it with their owner.

        Raises:
            ValueError: The caller is wrong and nothing was written. ``known_at`` is not after the
                head's; an added id, an outbox id or an idempotency key exists; a restated or
                forgotten id does not; an id occurs twice among these; what is reindexed is not
                restated; a memory's scope belongs to another owner; the versions added to a chain
                do not go on by one from the highest that is left of it; or a value cannot be
                written as JSON.
        """

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """Replace index entries, and change nothing else.

        An entry is derived from its memory, so no revision is raised, no state begun, no event
        linked, and no reader reloads. It takes the owner's turn: all or none, as durable as a
        commit.

        An entry is written only if its memory is at ``revision`` and its entry is ``before``; one
        changed or forgotten concurrently is left alone. Each id occurs among ``entries`` once.
        Returns the ids written, in the order given.
        """

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """Return the existing rows of ``ids``, of any status; order: as asked, each once."""

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """Return every version of a chain, by version rising, each with its latest state."""

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """Return every version ever stored under ``key`` in ``scope``, of any status. Order:
        created, then id.
        """

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """Return an owner's rows of any status by id rising, from the first id after ``after``."""

    async def states(self, owner: Scope, id: str) -> tuple[Record, ...]:
        """Return every state of one memory, oldest first, with ``known_from`` and ``known_to``."""

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """Return held candidates, of one session if named; order: id."""

    async def session_steps(
        self, owner: Scope, *, session: str | None = None
    ) -> tuple[SessionStep, ...]:
        """Return the steps of the owner's ending sessions, or of one if named; order: name."""

    async def reviews(self, owner: Scope, *, status: str | None = None) -> tuple[ReviewRecord, ...]:
        """Return the owner's reviews, of one status if named; order: id."""

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """Return the grants stored with an owner; order: grantee, then name."""

    async def consents(self, owner: Scope) -> tuple[Consent, ...]:
        """Return the consents of an owner; order: what they are about, then name."""

    async def tombstoned(self, owner: Scope, fingerprints: Sequence[bytes]) -> frozenset[bytes]:
        """Return which of some fingerprints are tombstones of an owner; waits for no turn."""

    async def size(self, owner: Scope) -> Size:
        """Return an owner's size; reads every row's length."""

    async def journal(self, notes: Mapping[Scope, Sequence[JournalEntry]]) -> None:
        """Append journal entries by owner, all or nothing. No revision is raised, no event linked,
        no owner created. Of an erased owner only later entries are kept.
        """

    async def journaled(
        self,
        owner: Scope,
        *,
        limit: int = 1000,
        kind: str | None = None,
        oldest: bool = False,
    ) -> tuple[JournalEntry, ...]:
        """Return the last entries appended, of one kind if named; oldest of them first. With
        ``oldest``, the first entries appended instead.
        """

    async def condense(
        self,
        owner: Scope,
        kind: str,
        entries: Sequence[JournalEntry],
        into: Mapping[Scope, Sequence[JournalEntry]],
    ) -> bool:
        """Replace the oldest journal entries of a kind by others.

        Only if the oldest of that kind are ``entries``, in their order: they are removed while
        those of ``into`` are appended to their owners' journals, all or nothing. After a concurrent
        change nothing is written. No revision is raised.

        Returns:
            Whether it was done.
        """

    async def lease(self, owner: Scope, name: str, holder: str, *, now: int, until: int) -> bool:
        """Acquire or renew a lease on work for an owner until a time (µs); return success.

        It succeeds if the lease is free, held by this holder, or expired at ``now`` or before. Of
        several concurrent callers one gets it. No revision is raised and no owner created. It is as
        durable as a commit; a holder that dies blocks others until it expires.
        """

    async def release(self, owner: Scope, name: str, holder: str) -> None:
        """Release a lease; without effect if this holder does not have it."""

    async def spend(
        self,
        owner: Scope,
        day: int,
        counts: Mapping[str, int],
        *,
        most: Mapping[str, int] | None = None,
    ) -> bool:
        """Add to an owner's usage of a day; all or nothing.

        With ``most`` nothing is written if a count would exceed its limit, even with concurrent
        callers in several processes. Without ``most`` the counts of a day that has any are
        corrected, by negative numbers too but never below 0. A day without counts is not written
        then, so that late corrections never recreate an erased owner. No revision is raised, no
        event linked, no owner created. It is as durable as a commit.

        Args:
            owner: Whose.
            day: Days since 1970 UTC.
            counts: By name.
            most: Limits by name; a name without one is not limited.

        Returns:
            Whether it was written.
        """

    async def spent(self, owner: Scope, *, since: int = 0) -> tuple[Spent, ...]:
        """Return an owner's usage of each day from ``since`` on that has counts; order: day."""

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """Return unsettled work, of one owner or (operator) of all; order: id, then source."""

    async def settle(
        self, source: Scope, ids: Sequence[str], *, edges: Sequence[tuple[str, Scope, str]] = ()
    ) -> None:
        """Remove outbox items whose work is done; unknown ids are ignored.

        The same transaction records what the work derived from the source's memories: each edge is
        a parent's id, the child's owner and the child's id. An edge that exists, or whose parent
        the source does not have, is ignored.
        """

    async def derived(
        self, owner: Scope, parent: str | None = None
    ) -> tuple[tuple[Scope, str], ...]:
        """Return owner and id of what was derived from a memory of this owner, or from any of them.

        Each once; order: owner's path, then id. Within an owner an edge is removed with the parent,
        and with the child. A child elsewhere outlives its parent and is returned until this owner
        is erased, which erases it too. It may have been forgotten since; one whose owner does not
        exist is left out.
        """

    async def links(self, owner: Scope, *, after: int = 0, limit: int = 1000) -> tuple[Link, ...]:
        """Return links of the owner's audit chain, by seq rising, from ``after + 1`` on."""

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """Return the owner's 16-byte digest, its last seq and last MAC; None if never written.
        Links are bound to the digest by :func:`simonides.domain.event.chain`.
        """

    async def owners(self) -> tuple[Scope, ...]:
        """For the operator: every owner ever written and not erased, by path."""

    async def purge(self, owner: Scope, needles: Sequence[bytes] = ()) -> Purged:
        """Make removed data of an owner unreadable in the store's files.

        Others' reads and writes go on, though they may wait. Call it again to resume deferred work.

        Args:
            owner: Who was erased, or has forgotten something.
            needles: Byte strings that must not be found in the files, of 8 or more bytes each; they
                are not written anywhere. A match inside another valid row does not count.
        """

    async def strays(self) -> tuple[str, ...]:
        """For the operator: rows under no owner of :meth:`owners`, because they were edited.
        Returns for each the invalid owner name, empty where it has none; sorted.
        """

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """For the operator: ids of memories whose content does not match its checksum or MAC.
        Partial ones are included; order: id. It checks every row; reads do not.
        """
