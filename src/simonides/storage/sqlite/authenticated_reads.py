"""Reads of the embedded store under a key ring: what was edited in the file is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apsw

from simonides.domain.codecs.memory import by_creation, decode
from simonides.domain.codecs.parts import Part, Row
from simonides.domain.memory import Record
from simonides.domain.scope import Grant, Scope
from simonides.domain.writing.change import (
    Head,
    HeldCandidate,
    PendingOutbox,
    Snapshot,
    StoredRow,
)
from simonides.storage.integrity.row_codec import (
    CURRENT_COLUMNS,
    PAST_COLUMNS,
    Reader,
    Stood,
    coded,
)
from simonides.storage.integrity.set_sums import Mark
from simonides.storage.integrity.verifier import IntegrityVerifier
from simonides.storage.schema.change_rules import is_storable
from simonides.storage.schema.columns import GIVEN_WAY, LIVE, sort_by_revision
from simonides.storage.schema.lookup_tags import chain_tag, key_tag
from simonides.storage.schema.owner_ids import Owner
from simonides.storage.sqlite.file.database import arrival_in
from simonides.storage.sqlite.file.schema import SQL
from simonides.storage.sqlite.reads import each_of, fetch_consents
from simonides.storage.sqlite.reseal import looked_through
from simonides.storage.sqlite.store import SqliteStore

_CURRENT = ("live_rows", "changed_rows", "rows_of_ids", "rows_page", "rows_by_tag")

CODED = {name: coded(SQL[name], CURRENT_COLUMNS) for name in _CURRENT}
CODED["rows_as_of"] = coded(SQL["rows_as_of"], PAST_COLUMNS)

_NONE = {"live_1": -1, "live_2": -1, "live_3": -1}

_Read = Callable[[apsw.Connection, Reader, bytes], list[StoredRow]]


class CodedReads(SqliteStore):
    """The calls of a store under a key ring that change nothing."""

    _verifier: IntegrityVerifier

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port; what a head says is checked when it makes somebody read."""
        heads = await super().heads(owners)
        if None in heads:
            for scope, head in zip(owners, heads, strict=True):
                self._verifier.missed(self._owners.of(scope), head)
        return heads

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """See the port."""
        (found,) = await self.snapshots({owner: since})
        return found

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """See the port."""
        named = [(self._owners.of(owner), since) for owner, since in asked.items()]
        # Before the transaction begins: it then sees at least as much.
        known = [self._verifier.seen(owner) for owner, _ in named]
        return await self._reading_much(
            lambda connection: tuple(
                self._snapshot(connection, owner, since, seen)
                for (owner, since), seen in zip(named, known, strict=True)
            )
        )

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        bound = {"known_at": known_at, **LIVE, "given_way": GIVEN_WAY[superseded]}

        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            found = connection.execute(CODED["rows_as_of"], {"owner": digest, **bound})
            return sorted(reader.past(found), key=lambda row: row.id)

        return tuple(await self._of(owner, read))

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """See the port."""

        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            return these_rows(connection, reader, digest, ids)

        return tuple(await self._of(owner, read))

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """See the port."""
        rows = await self._tagged(owner, chain_tag(self._owners.of(owner).tag, root))
        return tuple(sorted(rows, key=lambda row: decode(row).version))

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """See the port."""
        rows = await self._tagged(owner, key_tag(self._owners.of(owner).tag, scope, key))
        return by_creation(rows)

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        bound = {"after": after, "limit": max(limit, 0)}

        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            found = connection.execute(CODED["rows_page"], {"owner": digest, **bound})
            return reader.current(found)[0]

        return tuple(await self._of(owner, read))

    async def states(self, owner: Scope, id: str) -> tuple[Record, ...]:
        """See the port."""

        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            named = {"owner": digest, "id": id}
            if not is_storable(id):
                return []
            rows = these_rows(connection, reader, digest, (id,))
            if not rows:
                return []
            story: list[Any] = connection.execute(SQL["states_of"], named).fetchall()
            told = [
                (revision, *_code_of(connection, named, revision), begun, ended, state)
                for revision, state, begun, ended in story
            ]
            reader.story(id, [(r, p, s, b, e, state, mac) for r, p, s, mac, b, e, state in told])
            return [
                rows[0]._replace(revision=revision, state=state, known_from=begun, known_to=ended)
                for revision, state, begun, ended in story
            ]

        return tuple(map(decode, await self._of(owner, read)))

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """See the port."""
        found = await super().held(owner, session=session)
        return self._of_one(owner).held(found) if found else ()

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """See the port."""
        known = self._owners.of(owner)
        with self._reading() as connection:
            stood = self._stood(connection, known)
            if stood is None:
                return ()
            reader = self._verifier.reader(known, stood.codes)
            return coded_grants(connection, reader, known.digest)

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """See the port."""
        found = await super().outbox(source=source, limit=limit)
        readers = {owner: self._of_one(owner) for owner in {work.source for work in found}}
        return tuple(work._replace(item=readers[work.source].work(work.item)) for work in found)

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """See the port."""
        known = self._owners.of(owner)
        with self._reading() as connection:
            stood = self._stood(connection, known)
        return None if stood is None else (known.digest, stood.head.seq, stood.mac)

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """See the port; raises ``Tampered`` where no memory by itself is damaged, and one is
        missing.
        """
        known = self._owners.of(owner)

        def read(connection: apsw.Connection) -> tuple[str, ...]:
            stood = self._stood(connection, known)
            if stood is None:
                return ()
            reader = self._verifier.reader(known, stood.codes)
            return looked_through(connection, reader, known, stood)

        return await self._reading_much(read)

    def _carried(
        self, connection: apsw.Connection, owner: Owner, part: Part, rows: Sequence[Row]
    ) -> Sequence[Row]:
        stood = self._stood(connection, owner) if part.name in ("held", "grants") else None
        if stood is None:
            return rows
        return self._verifier.reader(owner, stood.codes).carried(part.name, rows)

    def _stood(
        self, connection: apsw.Connection, owner: Owner, seen: Head | None = None
    ) -> Stood | None:
        def is_inhabited() -> bool:
            # Of one on its way here the rows come first.
            if arrival_in(connection) is not None:
                return False
            return bool(connection.execute(SQL["is_inhabited"], {"owner": owner.digest}).get)

        return self._verifier.stood(owner, found_head(connection, owner), seen, is_inhabited)

    def _snapshot(
        self, connection: apsw.Connection, owner: Owner, since: Head | None, seen: Head | None
    ) -> Snapshot:
        stood = self._stood(connection, owner, seen)
        if stood is None:
            return Snapshot(head=None, complete=True, rows=())
        complete, rows = self._rows_since(connection, owner, stood, since)
        consents = fetch_consents(connection, owner.digest) if complete else ()
        return Snapshot(head=stood.head, complete=complete, rows=tuple(rows), consents=consents)

    def _rows_since(
        self, connection: apsw.Connection, owner: Owner, stood: Stood, since: Head | None
    ) -> tuple[bool, list[StoredRow]]:
        """Return whether all live rows or those that changed, and these, once the owner's set of
        memories was found to be the one that was sealed.
        """
        named = {"owner": owner.digest}
        reader = self._verifier.reader(owner, stood.codes)
        if since is None or since[:2] != stood.head[:2]:
            rows, marks = reader.current(connection.execute(CODED["live_rows"], {**named, **LIVE}))
            sort_by_revision(rows)
            marks |= reader.standing(connection.execute(SQL["codes"], {**named, **LIVE}))
            self._verifier.follow(owner, stood, marks, None)
            return True, rows
        rows, marks = [], {}
        if since.revision < stood.head.revision:
            bound = {**named, "revision": since.revision}
            rows, marks = reader.current(connection.execute(CODED["changed_rows"], bound))
        if not self._verifier.follow(owner, stood, marks, since):
            self._verifier.follow(owner, stood, all_marks(connection, reader, owner), None)
        return False, rows

    def _of_one(self, owner: Scope) -> Reader:
        """Return what reads an owner of whom something was found."""
        known = self._owners.of(owner)
        with self._reading() as connection:
            stood = self._stood(connection, known)
        return self._verifier.reader(known, None if stood is None else stood.codes)

    async def _of(self, owner: Scope, read: _Read) -> list[StoredRow]:
        """Read rows of an owner that stands where it was sealed; nothing of one never written."""
        known = self._owners.of(owner)
        seen = self._verifier.seen(known)

        def reading(connection: apsw.Connection) -> list[StoredRow]:
            stood = self._stood(connection, known, seen)
            if stood is None:
                return []
            reader = self._verifier.reader(known, stood.codes)
            return read(connection, reader, known.digest)

        return await self._reading_much(reading)

    async def _tagged(self, owner: Scope, tag: bytes) -> list[StoredRow]:
        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            bound = {"owner": digest, "tag": tag}
            rows = reader.tagged(connection.execute(CODED["rows_by_tag"], bound), tag)
            # What is looked up by name is missing where its name is.
            reader.listed(id for (id,) in connection.execute(SQL["unlisted"], {"owner": digest}))
            return rows

        return await self._of(owner, read)


def found_head(connection: apsw.Connection, owner: Owner) -> tuple[Any, ...] | None:
    """Return the row that says where an owner stands, with its seal, or None."""
    bound = {"owner": owner.digest}
    found: tuple[Any, ...] | None = connection.execute(SQL["coded_head"], bound).fetchone()
    return found


def coded_grants(connection: apsw.Connection, reader: Reader, owner: bytes) -> tuple[Grant, ...]:
    """Return the grants kept with an owner."""
    return reader.grants(body for (body,) in connection.execute(SQL["grants"], {"owner": owner}))


def these_rows(
    connection: apsw.Connection, reader: Reader, owner: bytes, ids: Sequence[str]
) -> list[StoredRow]:
    """Return the memories of those of some ids that exist, in the order asked."""
    return reader.current(each_of(connection, CODED["rows_of_ids"], owner, ids))[0]


def all_marks(connection: apsw.Connection, reader: Reader, owner: Owner) -> dict[str, Mark]:
    """Return the marks of all memories of an owner."""
    return reader.standing(connection.execute(SQL["codes"], {"owner": owner.digest, **_NONE}))


def _code_of(
    connection: apsw.Connection, named: Mapping[str, Any], revision: int
) -> tuple[Any, ...]:
    bound = {**named, "revision": revision}
    found: tuple[Any, ...] | None = connection.execute(SQL["code_of_state"], bound).fetchone()
    return found or (None, None, None)
