"""The embedded store: memories of all owners in one SQLite database, in a file or in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from simonides.domain.codecs.memory import by_creation
from simonides.domain.conversation.session import SessionStep
from simonides.domain.errors import InvalidScope
from simonides.domain.event import Link
from simonides.domain.governance.consent import Consent
from simonides.domain.governance.erasure import Purged
from simonides.domain.memory import Record
from simonides.domain.policy.ceilings import (
    Spent,
    decode_counts,
    encode_counts,
    spent_after,
)
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
from simonides.storage.schema.change_rules import check_edges, is_storable, owner_digest
from simonides.storage.schema.lookup_tags import chain_tag, key_tag, session_tag
from simonides.storage.schema.owner_ids import Owner
from simonides.storage.sqlite import reads as rows_of
from simonides.storage.sqlite.file.schema import SQL
from simonides.storage.sqlite.transfer import SqliteBackups
from simonides.storage.sqlite.writes import write_change, write_journal, write_renewed


class SqliteStore(SqliteBackups):
    """A :class:`~simonides.ports.MovableStore` in one database; see
    :class:`~simonides.storage.sqlite.file.database.SqliteDatabase`.
    """

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port."""
        self._place.check_usable()
        digests = [self._owners.of(owner).digest for owner in owners]

        def fetch() -> tuple[Head | None, ...]:
            is_long = len(digests) > rows_of.OWNERS_AT_ONCE
            with self._reading(is_transaction=is_long) as connection:
                return rows_of.fetch_heads(connection, digests)

        return self._place.heads.of(digests, fetch)

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """See the port."""
        digest = self._owners.of(owner).digest

        if since is None:
            return await self._reading_much(
                lambda connection: rows_of.fetch_snapshot(connection, digest, None)
            )
        with self._reading() as connection:
            return rows_of.fetch_snapshot(connection, digest, since)

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """See the port."""
        named = [(self._owners.of(owner).digest, since) for owner, since in asked.items()]

        return await self._reading_much(
            lambda connection: tuple(rows_of.fetch_snapshot(connection, *each) for each in named)
        )

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest

        found = await self._reading_much(
            lambda connection: rows_of.fetch_as_of(
                connection, digest, known_at, superseded=superseded
            )
        )
        return tuple(found)

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """See the port."""
        return await self._writing(lambda: self._commit(self._owners.of(owner), request, decide))

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        return await self._changing(lambda: self._renew(digest, entries), absent=())

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            return tuple(rows_of.fetch_by_ids(connection, digest, ids))

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """See the port."""
        known = self._owners.of(owner)
        with self._reading() as connection:
            tag = chain_tag(known.tag, root)
            return tuple(rows_of.fetch_by_tag(connection, known.digest, tag))

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """See the port."""
        known = self._owners.of(owner)
        with self._reading() as connection:
            tag = key_tag(known.tag, scope, key)
            rows = rows_of.fetch_by_tag(connection, known.digest, tag)
        return by_creation(rows)

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest

        found = await self._reading_much(
            lambda connection: rows_of.fetch_page(connection, digest, after, limit)
        )
        return tuple(found)

    async def states(self, owner: Scope, id: str) -> tuple[Record, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_states(connection, digest, id)

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """See the port."""
        known = self._owners.of(owner)
        tag = None if session is None else session_tag(known.tag, session)
        with self._reading() as connection:
            return rows_of.fetch_held(connection, known.digest, tag)

    async def session_steps(
        self, owner: Scope, *, session: str | None = None
    ) -> tuple[SessionStep, ...]:
        """See the port."""
        known = self._owners.of(owner)
        tag = None if session is None else session_tag(known.tag, session)
        with self._reading() as connection:
            return rows_of.fetch_steps(connection, known.digest, tag)

    async def reviews(self, owner: Scope, *, status: str | None = None) -> tuple[ReviewRecord, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_reviews(connection, digest, status)

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_grants(connection, digest)

    async def consents(self, owner: Scope) -> tuple[Consent, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_consents(connection, digest)

    async def tombstoned(self, owner: Scope, fingerprints: Sequence[bytes]) -> frozenset[bytes]:
        """See the port."""
        known = self._owners.of(owner)
        with self._reading() as connection:
            return rows_of.fetch_tombstoned(connection, known.digest, known.tag, fingerprints)

    async def size(self, owner: Scope) -> Size:
        """See the port."""
        digest = self._owners.of(owner).digest
        return await self._reading_much(
            lambda connection: Size._make(connection.execute(SQL["size"], {"owner": digest}).get)
        )

    async def journal(self, notes: Mapping[Scope, Sequence[JournalEntry]]) -> None:
        """See the port; it makes no file, for reads alone make none."""
        noted = {owner: tuple(entries) for owner, entries in notes.items()}

        def append() -> None:
            self._append_journal({self._owners.of(o).digest: each for o, each in noted.items()})

        await self._noting(append)

    async def journaled(
        self,
        owner: Scope,
        *,
        limit: int = 1000,
        kind: str | None = None,
        oldest: bool = False,
    ) -> tuple[JournalEntry, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            if oldest:
                found = rows_of.fetch_oldest_journal(connection, digest, limit, kind)
                return tuple(entry for _, entry in found)
            return rows_of.fetch_journal(connection, digest, limit, kind)

    async def condense(
        self,
        owner: Scope,
        kind: str,
        entries: Sequence[JournalEntry],
        into: Mapping[Scope, Sequence[JournalEntry]],
    ) -> bool:
        """See the port."""
        passed_on = {scope: tuple(more) for scope, more in into.items()}

        def condense() -> bool:
            digest = self._owners.of(owner).digest
            named = {self._owners.of(scope).digest: more for scope, more in passed_on.items()}
            return self._condense(digest, kind, entries, named)

        return await self._noting(condense)

    async def lease(self, owner: Scope, name: str, holder: str, *, now: int, until: int) -> bool:
        """See the port; it makes no file, for work on nothing makes none."""
        named = {"name": name, "holder": holder, "now": now, "until": until}

        def take() -> bool:
            return self._changes("take_lease", {"owner": self._owners.of(owner).digest, **named})

        return await self._noting(take)

    async def release(self, owner: Scope, name: str, holder: str) -> None:
        """See the port; likewise."""
        named = {"name": name, "holder": holder}

        def drop() -> bool:
            return self._changes("drop_lease", {"owner": self._owners.of(owner).digest, **named})

        await self._noting(drop)

    async def spend(
        self,
        owner: Scope,
        day: int,
        counts: Mapping[str, int],
        *,
        most: Mapping[str, int] | None = None,
    ) -> bool:
        """See the port. Without a limit it makes no file, for a read may spend too; under one other
        processes must see it at once.
        """
        spent, limits = dict(counts), None if most is None else dict(most)

        def spend() -> bool:
            return self._spend(self._owners.of(owner).digest, day, spent, limits)

        return await (self._noting if most is None else self._writing)(spend)

    async def spent(self, owner: Scope, *, since: int = 0) -> tuple[Spent, ...]:
        """See the port."""
        bound = {"owner": self._owners.of(owner).digest, "since": since}
        with self._reading() as connection:
            found: list[tuple[Any, ...]] = connection.execute(SQL["spent"], bound).fetchall()
        return tuple(Spent(day, decode_counts(body)) for day, body in found)

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """See the port."""
        digest = None if source is None else self._owners.of(source).digest
        with self._reading() as connection:
            return rows_of.fetch_outbox(connection, digest, limit)

    async def settle(
        self, source: Scope, ids: Sequence[str], *, edges: Sequence[tuple[str, Scope, str]] = ()
    ) -> None:
        """See the port."""
        digest = self._owners.of(source).digest
        check_edges(edges)
        await self._changing(lambda: self._settle(digest, ids, edges), absent=None)

    async def derived(
        self, owner: Scope, parent: str | None = None
    ) -> tuple[tuple[Scope, str], ...]:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_derived(connection, digest, parent)

    async def links(self, owner: Scope, *, after: int = 0, limit: int = 1000) -> tuple[Link, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest

        return await self._reading_much(
            lambda connection: rows_of.fetch_links(connection, digest, after, limit)
        )

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """See the port."""
        digest = self._owners.of(owner).digest
        with self._reading() as connection:
            found = connection.execute(SQL["chain_head"], {"owner": digest}).fetchone()
        return None if found is None else (digest, *found)

    async def owners(self) -> tuple[Scope, ...]:
        """See the port."""
        with self._reading() as connection:
            named = sorted(
                name for o, name in rows_of.fetch_owners(connection) if self._is(o, name)
            )
        return tuple(Scope.parse(name) for name in named)

    async def strays(self) -> tuple[str, ...]:
        """See the port."""
        with self._reading() as connection:
            named = rows_of.fetch_owners(connection)
            nameless = connection.execute(SQL["nameless"]).fetchall()
        wrong = [name for owner, name in named if not self._is(owner, name)]
        return tuple(sorted([*wrong, *("" for _ in nameless)]))

    async def purge(self, owner: Scope, needles: Sequence[bytes] = ()) -> Purged:
        """See the port."""
        digest = self._owners.of(owner).digest
        return await self._on(self._readers, lambda: self._purge(digest, needles))

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """See the port."""
        digest = self._owners.of(owner).digest

        return await self._reading_much(
            lambda connection: rows_of.fetch_damaged(connection, digest)
        )

    def _is(self, owner: bytes, name: str) -> bool:
        """Whether a name is that of the owner of a digest."""
        try:
            return owner_digest(self._secrets.salt, Scope.parse(name)) == owner
        except (InvalidScope, ValueError):
            return False

    def _commit(self, owner: Owner, request: TurnRequest, decide: Decide) -> Committed:
        with self._place.turn() as turn:
            with self._translating_writer, turn.reading() as connection:
                snapshot, mac = rows_of.fetch_for_turn(connection, owner.digest, owner.tag, request)
            change = decide(snapshot)
            if change is None:
                return Committed(snapshot.head, ())
            with self._translating_writer, turn.writing() as connection:
                head, rows = write_change(connection, owner, snapshot.head, mac, change)
            if change.forgotten or change.released or change.blanked or change.erased:
                self._place.note_removal()
        return Committed(head, rows)

    def _purge(self, owner: bytes, needles: Sequence[bytes]) -> Purged:
        return self._place.purge(owner, needles)

    def _renew(self, owner: bytes, entries: Sequence[Renewed]) -> tuple[str, ...]:
        with self._turn() as connection, self._translating_writer:
            return write_renewed(connection, owner, entries)

    def _append_journal(self, notes: Mapping[bytes, Sequence[JournalEntry]]) -> None:
        with self._turn() as connection, self._translating_writer:
            write_journal(connection, notes)

    def _condense(
        self,
        owner: bytes,
        kind: str,
        entries: Sequence[JournalEntry],
        into: Mapping[bytes, Sequence[JournalEntry]],
    ) -> bool:
        with self._turn() as connection, self._translating_writer:
            found = rows_of.fetch_oldest_journal(connection, owner, len(entries), kind)
            if [entry for _, entry in found] != list(entries):
                return False
            # Before any goes: numbers are never given twice.
            write_journal(connection, into)
            for n, _ in found:
                connection.execute(SQL["drop_journal"], {"owner": owner, "n": n})
            return True

    def _changes(self, statement: str, bound: dict[str, Any]) -> bool:
        """Run a statement of its own and tell whether it changed a row."""
        with self._turn() as connection, self._translating_writer:
            connection.execute(SQL[statement], bound)
            return connection.changes() > 0

    def _spend(
        self, owner: bytes, day: int, counts: Mapping[str, int], most: Mapping[str, int] | None
    ) -> bool:
        with self._turn() as connection, self._translating_writer:
            place = {"owner": owner, "day": day}
            row = connection.execute(SQL["spent_on"], place).fetchone()
            if row is None and most is None:
                return False
            after = spent_after(decode_counts(row[0] if row else b""), counts, most or {})
            if after is not None:
                connection.execute(SQL["put_usage"], {**place, "body": encode_counts(after)})
            return after is not None

    def _settle(
        self, owner: bytes, ids: Sequence[str], edges: Sequence[tuple[str, Scope, str]]
    ) -> None:
        with self._turn() as connection, self._translating_writer:
            for id in filter(is_storable, ids):
                connection.execute(SQL["drop_outbox"], {"owner": owner, "id": id})
            connection.execute(SQL["unname_owner"], {"owner": owner})
            # What was on its way may have been forgotten meanwhile.
            if ids:
                self._place.note_removal()
            for parent, scope, child in edges:
                if is_storable(parent):
                    elsewhere = {"child_owner": self._owners.of(scope).digest, "child": child}
                    bound = {"owner": owner, "parent": parent, **elsewhere}
                    connection.execute(SQL["add_derivation"], bound)
