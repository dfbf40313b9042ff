"""The store of memories: rows of many owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from simonides.domain.ceilings import Spent
from simonides.domain.change import (
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
from simonides.domain.consent import Consent
from simonides.domain.erasure import Purged
from simonides.domain.event import Link
from simonides.domain.memory import Memory
from simonides.domain.scope import Grant, Scope
from simonides.domain.session_end import SessionStep
from simonides.ports.capability import Capability


class MemoryStore(Protocol):
    """Rows of many owners; every call but the operator's names the owner it is about.

    An owner is a scope that is its own :attr:`~simonides.domain.scope.Scope.owner`. No call
    returns or changes anything of another owner. A store knows nothing of ranking or policy.

    Every call raises :class:`~simonides.domain.errors.StoreError` subclasses and nothing of a
    vendor: ``StoreUnavailable`` if closed, locked past its time-out, unreachable or used in a
    forked child; ``StoreFull``, ``StoreReadOnly``, ``StoreCorrupt`` as their names say. After
    any of them the store is as it was before the call. A scope that is no owner (a task) is the
    caller's mistake: ``ValueError``. Ids and keys to be looked up may be any text.
    """

    capabilities: frozenset[Capability]
    location: str

    async def close(self) -> None:
        """Release every resource; twice does no harm, other calls then raise. In a forked child
        it does nothing.
        """

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """Return where each owner stands, in the order asked; None for one never written."""

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """Return an owner's rows as of one moment.

        With ``since`` of the same incarnation and epoch only rows changed after its revision are
        returned, those that are no longer live included; otherwise all live rows. Live is
        :attr:`~simonides.domain.memory.Status.is_live`. Order: revision, then id. With all live
        rows come the owner's consents.
        """

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """Return what :meth:`snapshot` does of several owners, all as of one moment and in the
        order asked; each by its owner and the head since which rows are wanted.
        """

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """Return the rows that were live at system time ``known_at`` (µs), each with the state
        then in force, its ``revision`` and its times: ``known_from <= known_at < known_to``.
        With ``superseded`` also those that had been superseded by then: they may have been true
        at an earlier time of the world. Order: id. Rows purged or forgotten since are not among
        them.
        """

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """Take the owner's write turn, show ``decide`` what stands, write what it returns.

        Turns of one owner are served first come, first served, over all threads and processes,
        and one at a time. ``decide`` is synchronous, must not call the store, and sees every
        commit that was acknowledged before. It runs once; if the request says that it is brief it
        may run again, and what it returned before that is not written. All of the change is
        written or none; when the call returns it is as durable as the store promises. If
        ``decide`` returns None nothing is written; what it raises is passed on and nothing is
        written.

        The owner is created with its first change. Each change raises the revision by one; one
        with ``forgotten`` ids or ``consents``, or that erases, raises the epoch too. Events are
        linked in order; a link's payload is the canonical JSON of the event. States: a restated
        memory's open state ends at ``known_at`` and the new one begins there; its body stays as it
        was, and so does its index entry unless the change brings another (``reindexed``). States
        that are told without their memories (``states``) are written as they come, and what is
        said of restated memories holds of theirs.

        Forgetting erases salt and payload of the events so far that have the id among their
        subjects; the change's own events stay. What a change lifts (``revived``, ``revoked``,
        ``released``; unknown ones are ignored) is lifted before the rest is set. A held
        candidate and a review replace one of their id, a grant one of its grantee, right and
        subject, a consent one about the same key or category, a session's step the one before. A
        policy is kept behind those recorded before it, be it one of them or not.

        ``blanked`` places of the chain lose salt and payload likewise; unknown ones are ignored.
        Of the kinds ``unjournaled`` the owner's journal entries go that have a forgotten id as a
        text of their JSON.

        A change that erases (FX-3) first removes every row of the owner in every part, those of
        its sessions included, but the codes of its chain and the tombstones; wrapped keys are
        destroyed and remembered as such. It draws a new incarnation. The owner is then in none of
        :meth:`owners` until it is written again, and its name is kept no longer than work for other
        owners waits. Events, tombstones and work for others that the change brings are added.

        An added memory is kept as derived from those of its parents that are this owner's own;
        of parents elsewhere :meth:`settle` tells their owner.

        Raises:
            ValueError: The caller is wrong and nothing was written. ``known_at`` is not after
                the head's; an added id, an outbox id or an idempotency key exists; a restated
                or forgotten id does not; an id stands twice among these; what is reindexed is not
                restated; a memory's scope lives
                with another owner; the versions added to a chain do not go on by one from the
                highest that is left of it; or a value cannot be written as JSON.
        """

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """Put index entries in the place of others, and change nothing else (LT-11).

        An entry says nothing that its memory does not say; so no revision is raised, no state
        begun, no event linked, and no reader need read again. It takes the owner's turn: what is
        written is all of it or none, and as durable as a commit.

        An entry is written only if its memory stands at ``revision`` and its entry is ``before``.
        What was changed, forgotten or made anew by another meanwhile is left alone. Each id
        stands among ``entries`` once. Returns the ids written, in the order given.
        """

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """Return the rows of those of ``ids`` that exist, whatever their status; order: as
        asked, each once.
        """

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """Return every version of a chain, by version rising, each with its latest state."""

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """Return every version ever stored under ``key`` in ``scope``, whatever its status;
        order: created, then id.
        """

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """Page through all rows of an owner, whatever their status, by id rising, from the first
        id greater than ``after``.
        """

    async def states(self, owner: Scope, id: str) -> tuple[Memory, ...]:
        """Return every state of one memory, oldest first, with ``known_from`` and ``known_to``."""

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """Return held candidates, of one session if named; order: id."""

    async def session_steps(
        self, owner: Scope, *, session: str | None = None
    ) -> tuple[SessionStep, ...]:
        """Return where the owner's sessions stand, or the one that is named; order: name."""

    async def reviews(self, owner: Scope, *, status: str | None = None) -> tuple[ReviewRecord, ...]:
        """Return the owner's reviews, those of one status if it is named; order: id."""

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """Return the grants kept with an owner; order: grantee, then name."""

    async def consents(self, owner: Scope) -> tuple[Consent, ...]:
        """Return the consents of an owner; order: what they are about, then name."""

    async def tombstoned(self, owner: Scope, fingerprints: Sequence[bytes]) -> frozenset[bytes]:
        """Return those of some fingerprints that are tombstones of an owner, as a snapshot under
        the turn does; a reader waits for no turn.
        """

    async def size(self, owner: Scope) -> Size:
        """Return how much an owner has; it looks at every row's length."""

    async def journal(self, notes: Mapping[Scope, Sequence[JournalEntry]]) -> None:
        """Append what readers did, by owner, all of it or nothing; no revision is raised, no event
        linked, no owner created. Of an owner that was erased only what came later is kept.
        """

    async def journaled(
        self,
        owner: Scope,
        *,
        limit: int = 1000,
        kind: str | None = None,
        oldest: bool = False,
    ) -> tuple[JournalEntry, ...]:
        """Return the entries appended last, of one kind if it is named; oldest of them first.

        With ``oldest`` those appended first instead.
        """

    async def condense(
        self,
        owner: Scope,
        kind: str,
        entries: Sequence[JournalEntry],
        into: Mapping[Scope, Sequence[JournalEntry]],
    ) -> bool:
        """Put other journal entries in the place of the oldest of a kind (LT-9).

        Only if the oldest of that kind are ``entries``, in their order, which then go while those
        of ``into`` are appended to their owners' journals: all of it or nothing. If somebody else
        has been there, nothing is written. As for :meth:`journal` no revision is raised.

        Returns:
            Whether it was done.
        """

    async def lease(self, owner: Scope, name: str, holder: str, *, now: int, until: int) -> bool:
        """Take work on an owner, or go on with it, until a time (µs); True if it is the holder's.

        It is if nobody holds the lease of that name, if this holder does, or if whoever does held
        it until ``now`` or before. Of several who ask at once one gets it. No revision is raised
        and no owner created; it is as durable as a commit, so that who dies keeps it for no longer
        than was said.
        """

    async def release(self, owner: Scope, name: str, holder: str) -> None:
        """Give a lease back; nothing happens if it is not this holder's (any more)."""

    async def spend(
        self,
        owner: Scope,
        day: int,
        counts: Mapping[str, int],
        *,
        most: Mapping[str, int] | None = None,
    ) -> bool:
        """Add to what an owner used on a day; all of it or nothing (FX-11).

        With ``most`` nothing is written if one of the counts would then be more than it says
        there; of several who ask at once, in whatever process, no two get the same room. Without,
        the counts of a day that has any are put right, by negative numbers too but never below 0;
        of another day nothing is written, so that what is settled late never brings back an owner
        who was erased. No revision is raised, no event linked, no owner created; it is as durable
        as a commit.

        Args:
            owner: Whose.
            day: Days since 1970 UTC.
            counts: By name.
            most: By name the most that there may be then; names that it does not have are free.

        Returns:
            Whether it was written.
        """

    async def spent(self, owner: Scope, *, since: int = 0) -> tuple[Spent, ...]:
        """Return what an owner used on each day from ``since`` on that has counts; order: day."""

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """Return unsettled work, of one owner or (for the operator) of all; order: id, then
        source.
        """

    async def settle(
        self, source: Scope, ids: Sequence[str], *, edges: Sequence[tuple[str, Scope, str]] = ()
    ) -> None:
        """Remove outbox items whose work is done; unknown ids are ignored.

        In the same transaction keep what the work derived from the source's memories: each edge
        is a parent's id, the child's owner and the child's id. An edge that is kept already, or
        whose parent the source does not have (any more), is ignored.
        """

    async def derived(
        self, owner: Scope, parent: str | None = None
    ) -> tuple[tuple[Scope, str], ...]:
        """Return owner and id of what was derived from a memory of this owner, or from any of them,
        each once; order: owner's path, then id.

        Within an owner it is gone with the parent, and with the child. A child elsewhere outlives
        its parent, and is told until this owner is erased, which takes it along (FX-3); it may have
        been forgotten since, and one whose owner does not exist is left out.
        """

    async def links(self, owner: Scope, *, after: int = 0, limit: int = 1000) -> tuple[Link, ...]:
        """Return links of the owner's audit chain, by seq rising, from ``after + 1`` on."""

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """Return the owner's 16-byte digest, its last seq and last code; None if never written.

        The digest is what :func:`simonides.domain.event.chain` binds links to.
        """

    async def owners(self) -> tuple[Scope, ...]:
        """For the operator: every owner ever written and not erased, by path."""

    async def purge(self, owner: Scope, needles: Sequence[bytes] = ()) -> Purged:
        """See to it that what was removed of an owner cannot be read in the store's files.

        Reads and writes of others go on, though they may wait. Called again it goes on with what
        had to wait.

        Args:
            owner: Who was erased, or has forgotten something.
            needles: Bytes that nobody should find any more, of 8 or more each; they are written
                nowhere. What another row rightly holds is no finding.
        """

    async def strays(self) -> tuple[str, ...]:
        """For the operator: whose rows stand under no owner of :meth:`owners`, because somebody
        edited them: for each the wrong name that stands there, empty where none does; sorted.
        """

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """For the operator: ids of memories whose stored content does not match its code, or of
        which only a part is there; order: id. Reads do not look; this looks at every row.
        """
