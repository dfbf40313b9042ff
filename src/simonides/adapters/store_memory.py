"""The reference store: dictionaries in this process, gone with it.

It says in the plainest way what :class:`simonides.ports.MemoryStore` means. It keeps the same
blobs as every other store, so that whatever reads rows reads the same bytes.
"""

import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import cast

from simonides.adapters.fifo import FifoLock
from simonides.adapters.memory_backups import DictBackups
from simonides.adapters.memory_shelf import Kept, Shelf
from simonides.adapters.store_rules import (
    check_edges,
    in_consent_order,
    in_grant_order,
    names_one,
    owner_digest,
)
from simonides.adapters.store_tags import tagger
from simonides.domain.ceilings import Spent, decode_counts, encode_counts, spent_after
from simonides.domain.change import (
    Change,
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
from simonides.domain.codec import by_creation, decode, status_of
from simonides.domain.consent import Consent
from simonides.domain.erasure import Purged
from simonides.domain.errors import StoreUnavailable
from simonides.domain.event import Link
from simonides.domain.memory import Memory, Status
from simonides.domain.moving import PARTS, Row
from simonides.domain.scope import Grant, Scope
from simonides.domain.session_end import SessionStep
from simonides.ports import Capability

LOCATION = ":memory:"

_USAGE = "usage"


class DictStore(DictBackups):
    """A :class:`~simonides.ports.MovableStore` in dictionaries; safe to share between threads."""

    def __init__(self) -> None:
        self.capabilities = frozenset({Capability.INLINE, *self.abilities})
        self.location = LOCATION
        self._salt = secrets.token_bytes(16)
        self._tag_key = secrets.token_bytes(32)
        self._pid = os.getpid()
        self._closed = False
        # Held for moments only; a turn is held for as long as its decision takes.
        self._mutex = threading.Lock()
        self._turns: dict[Scope, FifoLock] = {}
        self._shelves: dict[Scope, Shelf] = {}
        # By digest, as what moves is: a reader's journal is there before its owner.
        self._journals: dict[bytes, list[JournalEntry]] = {}
        self._leases: dict[tuple[bytes, str], tuple[str, int]] = {}
        self._arrivals = None
        self._unshelved = {}
        self._nameless = {}
        self._places = {}

    async def close(self) -> None:
        """Let go of everything that was stored."""
        if self._pid == os.getpid():
            with self._mutex:
                self._closed = True
                everything = (self._shelves, self._journals, self._unshelved, self._nameless)
                for kept in (*everything, self._leases):
                    kept.clear()

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port."""
        with self._open():
            return tuple(None if s is None else s.head for s in map(self._shelf, owners))

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """See the port."""
        with self._open():
            return self._snapshot(owner, TurnRequest(since=since))

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """See the port."""
        with self._open():
            requests = [(owner, TurnRequest(since=since)) for owner, since in asked.items()]
            return tuple(self._snapshot(*request) for request in requests)

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        with self._open():
            rows = [
                kept.row_in(state)
                for kept in self._kept(owner)
                for state in kept.states_at(known_at)
                if (status := status_of(state.packed)).is_live
                or (superseded and status is Status.SUPERSEDED)
            ]
        return tuple(sorted(rows))

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """See the port; turns of different owners do not wait for each other."""
        with self._open():
            digest = owner_digest(self._salt, owner)
            turn = self._turns.setdefault(owner, FifoLock())
        with turn.turn():
            with self._open():
                snapshot = self._snapshot(owner, request)
            change = decide(snapshot)
            if change is None:
                return Committed(snapshot.head, ())
            with self._open():
                shelf = self._shelf(owner) or Shelf.empty(
                    owner, digest, tagger(self._tag_key, digest)
                )
                shelf.owner = owner
                rows = shelf.write(change)
                self._shelves[owner] = shelf
                self._nameless.pop(digest, None)
                if change.erased:
                    self._journals.pop(digest, None)
                    self._unshelved.pop(digest, None)
                if change.unjournaled:
                    self._unjournal(digest, change)
                return Committed(shelf.head, rows)

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """See the port."""
        with self._open():
            owner_digest(self._salt, owner)
            turn = self._turns.setdefault(owner, FifoLock())
        with turn.turn(), self._open():
            shelf = self._shelf(owner)
            return () if shelf is None else shelf.renew(entries)

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            kept = {} if shelf is None else shelf.kept
            return tuple(kept[id].row for id in dict.fromkeys(ids) if id in kept)

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """See the port."""
        with self._open():
            chain = [kept for kept in self._kept(owner) if kept.root == root]
            return tuple(kept.row for kept in sorted(chain, key=lambda kept: kept.version))

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """See the port."""
        with self._open():
            rows = [k.row for k in self._kept(owner) if k.scope == scope and k.key == key]
        return by_creation(rows)

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        with self._open():
            rows = [kept.row for kept in self._kept(owner) if kept.id > after]
        return tuple(sorted(rows)[: max(limit, 0)])

    async def states(self, owner: Scope, id: str) -> tuple[Memory, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            kept = None if shelf is None else shelf.kept.get(id)
        rows = () if kept is None else [kept.row_in(state) for state in kept.states]
        return tuple(decode(row) for row in rows)

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            held = () if shelf is None else tuple(shelf.held.values())
        return tuple(sorted(each for each in held if session in (None, each.session)))

    async def session_steps(
        self, owner: Scope, *, session: str | None = None
    ) -> tuple[SessionStep, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            steps = () if shelf is None else tuple(shelf.session_steps.values())
        return tuple(sorted(each for each in steps if session in (None, each.session)))

    async def reviews(self, owner: Scope, *, status: str | None = None) -> tuple[ReviewRecord, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            reviews = () if shelf is None else tuple(shelf.reviews.values())
        return tuple(sorted(each for each in reviews if status in (None, each.status)))

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            return () if shelf is None else in_grant_order(shelf.grants.values())

    async def consents(self, owner: Scope) -> tuple[Consent, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            return () if shelf is None else in_consent_order(shelf.consents.values())

    async def tombstoned(self, owner: Scope, fingerprints: Sequence[bytes]) -> frozenset[bytes]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            return frozenset() if shelf is None else shelf.tombstoned(fingerprints)

    async def size(self, owner: Scope) -> Size:
        """See the port."""
        with self._open():
            rows = [kept.row for kept in self._kept(owner)]
            return Size(len(rows), sum(len(r.body) + len(r.state) + len(r.entry) for r in rows))

    async def journal(self, notes: Mapping[Scope, Sequence[JournalEntry]]) -> None:
        """See the port."""
        with self._open():
            for owner, entries in notes.items():
                digest = owner_digest(self._salt, owner)
                self._journals.setdefault(digest, []).extend(self._later(owner, entries))

    async def journaled(
        self,
        owner: Scope,
        *,
        limit: int = 1000,
        kind: str | None = None,
        oldest: bool = False,
    ) -> tuple[JournalEntry, ...]:
        """See the port."""
        with self._open():
            entries = self._journals.get(owner_digest(self._salt, owner), [])
            if kind is not None:
                entries = [entry for entry in entries if entry.kind == kind]
            limit = max(limit, 0)
            return tuple(entries[:limit] if oldest else entries[max(len(entries) - limit, 0) :])

    async def condense(
        self,
        owner: Scope,
        kind: str,
        entries: Sequence[JournalEntry],
        into: Mapping[Scope, Sequence[JournalEntry]],
    ) -> bool:
        """See the port."""
        with self._open():
            named = {owner_digest(self._salt, o): self._later(o, more) for o, more in into.items()}
            journal = self._journals.setdefault(owner_digest(self._salt, owner), [])
            places = [n for n, entry in enumerate(journal) if entry.kind == kind][: len(entries)]
            if [journal[n] for n in places] != list(entries):
                return False
            for n in reversed(places):
                del journal[n]
            for digest, more in named.items():
                self._journals.setdefault(digest, []).extend(more)
            return True

    async def lease(self, owner: Scope, name: str, holder: str, *, now: int, until: int) -> bool:
        """See the port."""
        with self._open():
            key = (owner_digest(self._salt, owner), name)
            held_by, ends = self._leases.get(key, (holder, now))
            if held_by != holder and ends > now:
                return False
            self._leases[key] = (holder, until)
            return True

    async def release(self, owner: Scope, name: str, holder: str) -> None:
        """See the port."""
        with self._open():
            key = (owner_digest(self._salt, owner), name)
            if self._leases.get(key, ("", 0))[0] == holder:
                del self._leases[key]

    async def spend(
        self,
        owner: Scope,
        day: int,
        counts: Mapping[str, int],
        *,
        most: Mapping[str, int] | None = None,
    ) -> bool:
        """See the port."""
        with self._open():
            days = self._days(owner)
            row = days.get((day,))
            if row is None and most is None:
                return False
            stood = decode_counts(b"" if row is None else cast("bytes", row[1]))
            after = spent_after(stood, counts, most or {})
            if after is None:
                return False
            kept = self._unshelved.setdefault(owner_digest(self._salt, owner), {})
            kept[_USAGE] = {**days, (day,): (day, encode_counts(after))}
            return True

    async def spent(self, owner: Scope, *, since: int = 0) -> tuple[Spent, ...]:
        """See the port."""
        with self._open():
            rows = sorted(cast("tuple[int, bytes]", row) for row in self._days(owner).values())
        return tuple(Spent(day, decode_counts(body)) for day, body in rows if day >= since)

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """See the port."""
        with self._open():
            shelves = self._shelves.values() if source is None else [self._shelf(source)]
            pending = [
                PendingOutbox(shelf.owner, item)
                for shelf in shelves
                if shelf is not None
                for item in shelf.outbox.values()
            ]
        pending.sort(key=lambda work: (work.item.id, work.source.path))
        return tuple(pending[: max(limit, 0)])

    async def settle(
        self, source: Scope, ids: Sequence[str], *, edges: Sequence[tuple[str, Scope, str]] = ()
    ) -> None:
        """See the port."""
        with self._open():
            shelf = self._shelf(source)
            check_edges(edges)
            if shelf is not None:
                for id in ids:
                    shelf.outbox.pop(id, None)
                shelf.derive(
                    [
                        (parent, owner_digest(self._salt, child_owner), child)
                        for parent, child_owner, child in edges
                    ]
                )

    async def derived(
        self, owner: Scope, parent: str | None = None
    ) -> tuple[tuple[Scope, str], ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            of_all = {} if shelf is None else shelf.children
            asked = of_all if parent is None else [parent]
            children = {child for each in asked for child in of_all.get(each, ())}
            scopes = {kept.digest: scope for scope, kept in self._shelves.items() if kept.name}
            known = [(scopes[digest], child) for digest, child in children if digest in scopes]
        return tuple(sorted(known, key=lambda child: (child[0].path, child[1])))

    async def links(self, owner: Scope, *, after: int = 0, limit: int = 1000) -> tuple[Link, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            links = [] if shelf is None else shelf.links[max(after, 0) :]
            return tuple(links[: max(limit, 0)])

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            return None if shelf is None else (shelf.digest, shelf.head.seq, shelf.mac)

    async def owners(self) -> tuple[Scope, ...]:
        """See the port."""
        with self._open():
            there = [owner for owner, shelf in self._shelves.items() if not shelf.is_erased]
            return tuple(sorted(there, key=lambda owner: owner.path))

    async def strays(self) -> tuple[str, ...]:
        """See the port; a dictionary has no names beside its keys."""
        with self._open():
            return ()

    async def purge(self, owner: Scope, needles: Sequence[bytes] = ()) -> Purged:
        """See the port; dictionaries have no files."""
        with self._open():
            self._shelf(owner)
            return Purged()

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """See the port."""
        with self._open():
            shelf = self._shelf(owner)
            return () if shelf is None else shelf.damaged()

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Hold the dictionaries still for a moment."""
        if self._pid != os.getpid():
            raise StoreUnavailable(self.location, "opened before a fork; open it in this process")
        with self._mutex:
            if self._closed:
                raise StoreUnavailable(self.location, "the store is closed")
            yield

    def _shelf(self, owner: Scope) -> Shelf | None:
        digest = owner_digest(self._salt, owner)
        return self._shelves.get(owner) or self._nameless.get(digest)

    def _days(self, owner: Scope) -> dict[Row, Row]:
        """Return the rows of what an owner used, by day; they are kept as they move."""
        return self._unshelved.get(owner_digest(self._salt, owner), {}).get(_USAGE, {})

    def _kept(self, owner: Scope) -> Iterable[Kept]:
        shelf = self._shelf(owner)
        return () if shelf is None else shelf.kept.values()

    def _snapshot(self, owner: Scope, request: TurnRequest) -> Snapshot:
        shelf = self._shelf(owner)
        if shelf is None:
            snapshot = Snapshot(head=None, complete=True, rows=())
        else:
            snapshot = shelf.snapshot(request)
        if not request.counts:
            return snapshot
        digest = owner_digest(self._salt, owner)
        counts = {part.name: len([*self._entries(digest, part)]) for part in PARTS}
        there = {name: count for name, count in counts.items() if count}
        return replace(snapshot, counts=MappingProxyType(there))

    def _later(self, owner: Scope, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return entries but those of before the owner was erased."""
        erased_at = None if (shelf := self._shelf(owner)) is None else shelf.erased_at
        return [each for each in entries if erased_at is None or each.at > erased_at]

    def _unjournal(self, digest: bytes, change: Change) -> None:
        kinds, gone = change.unjournaled, change.forgotten
        entries = self._journals.get(digest, [])
        left = [e for e in entries if e.kind not in kinds or not names_one(e.body, gone)]
        self._journals[digest] = left
