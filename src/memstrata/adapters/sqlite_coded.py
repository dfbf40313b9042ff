"""The embedded store under a key ring: what was edited in the file is not served (FX-7).

The statements are those of the store without a ring; those that give rows of memories give the
columns that codes bind as well. Codes are written in the transaction of what they are about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import apsw

from memstrata.adapters import sqlite_rows as rows_of
from memstrata.adapters.sqlite_change import write_change, write_renewed
from memstrata.adapters.sqlite_coding import CodedWriting
from memstrata.adapters.sqlite_file import arrival_in
from memstrata.adapters.sqlite_recoding import looked_through, recoded
from memstrata.adapters.sqlite_schema import SQL
from memstrata.adapters.store_coded import (
    CURRENT_COLUMNS,
    PAST_COLUMNS,
    Reader,
    Stood,
    coded,
    renewed_with_codes,
    touched,
    with_codes,
)
from memstrata.adapters.store_columns import GIVEN_WAY, LIVE
from memstrata.adapters.store_keeper import Keeper
from memstrata.adapters.store_owners import Owner
from memstrata.adapters.store_rules import is_storable
from memstrata.adapters.store_sqlite import SqliteStore
from memstrata.adapters.store_tags import chain_tag, key_tag
from memstrata.adapters.store_watch import Mark, Move
from memstrata.domain.change import (
    Change,
    Committed,
    Decide,
    Head,
    Renewed,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from memstrata.domain.codec import decode
from memstrata.domain.memory import Memory
from memstrata.domain.scope import Scope
from memstrata.ports import Alarm, Anchor, Capability, KeyRing

_CURRENT = ("live_rows", "changed_rows", "row", "rows_page", "rows_by_tag")
CODED = {name: coded(SQL[name], CURRENT_COLUMNS) for name in _CURRENT}
CODED["rows_as_of"] = coded(SQL["rows_as_of"], PAST_COLUMNS)
_NONE = {"live_1": -1, "live_2": -1, "live_3": -1}

_Read = Callable[[apsw.Connection, Reader, bytes], list[StoredRow]]


class CodedSqliteStore(SqliteStore):
    """A :class:`~memstrata.adapters.store_sqlite.SqliteStore` whose rows have codes.

    Every call that reads memories raises :class:`~memstrata.domain.errors.Tampered` where
    something is not as it was written, and ``KeyUnavailable`` where the ring lacks a key.
    """

    abilities = SqliteStore.abilities | {Capability.CODED}
    is_coded = True

    _keeper: Keeper

    @classmethod
    def under(
        cls,
        ring: KeyRing,
        path: str | os.PathLike[str],
        *,
        anchor: Anchor | None = None,
        owns_anchor: bool = False,
        alarm: Alarm | None = None,
        **options: Any,
    ) -> Self:
        """Open a store under a key ring, or make one.

        Args:
            ring: The keys.
            path: See :meth:`~memstrata.adapters.sqlite_file.SqliteFile.open`, like ``options``.
            anchor: Where it is noted how far owners have come.
            owns_anchor: Whether the anchor is closed with the store.
            alarm: Wakes who notes it; None notes each commit at once.
            options: Of ``open``.
        """
        store = cls.open(path, **options)
        store._keeper = Keeper.of(
            store.location,
            store._secrets.salt,
            ring,
            anchor=anchor,
            owns_anchor=owns_anchor,
            alarm=alarm,
        )
        return store

    @property
    def key_id(self) -> str:
        """See :class:`~memstrata.ports.CodedStore`."""
        return self._keeper.ring.current

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be done beside a call, for ``status``."""
        return self._keeper.problems

    async def close(self) -> None:
        """See the port."""
        was_closed = self._closed or self._pid != os.getpid()
        await super().close()
        if not was_closed:
            self._keeper.close()

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port; what a head says is checked when it makes somebody read."""
        heads = await super().heads(owners)
        if None in heads:
            for scope, head in zip(owners, heads, strict=True):
                self._keeper.missed(self._owners.of(scope), head)
        return heads

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """See the port."""
        (found,) = await self.snapshots({owner: since})
        return found

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """See the port."""
        named = [(self._owners.of(owner), since) for owner, since in asked.items()]
        # Before the transaction begins: it then sees at least as much.
        known = [self._keeper.seen(owner) for owner, _ in named]
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
            return _rows_of(connection, reader, digest, ids)

        return tuple(await self._of(owner, read))

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """See the port."""
        rows = await self._tagged(owner, chain_tag(self._owners.of(owner).tag, root))
        return tuple(sorted(rows, key=lambda row: decode(row).version))

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """See the port."""
        rows = await self._tagged(owner, key_tag(self._owners.of(owner).tag, scope, key))
        return tuple(sorted(rows, key=lambda row: (decode(row).created_at, row.id)))

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        bound = {"after": after, "limit": max(limit, 0)}

        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            found = connection.execute(CODED["rows_page"], {"owner": digest, **bound})
            return reader.current(found)[0]

        return tuple(await self._of(owner, read))

    async def states(self, owner: Scope, id: str) -> tuple[Memory, ...]:
        """See the port."""

        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            named = {"owner": digest, "id": id}
            if not is_storable(id):
                return []
            rows, _ = reader.current(connection.execute(CODED["row"], named))
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
            reader = self._keeper.reader(known, stood.codes)
            return looked_through(connection, reader, known, stood)

        return await self._reading_much(read)

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """See the port."""
        known = self._owners.of(owner)

        def write() -> tuple[str, ...]:
            with self._turn() as connection, self._translating_writer:
                stood = self._stood(connection, known)
                if stood is None:
                    return ()
                made = renewed_with_codes(stood.codes, entries)
                return write_renewed(connection, known.digest, made)

        return await self._writing(write)

    async def recode(self, owner: Scope, *, adopt: bool = False, accept: bool = False) -> bool:
        """See :class:`~memstrata.ports.CodedStore`."""
        known = self._owners.of(owner)
        return await self._writing(lambda: self._recode(known, adopt=adopt, accept=accept))

    def _recode(self, owner: Owner, *, adopt: bool, accept: bool) -> bool:
        codes = self._keeper.codes(owner, None)
        with self._turn() as connection, self._translating_writer:
            found = _found(connection, owner)
            if found is None:
                return False
            key_id, is_coded = found[-2], found[-1] is not None
            if not (adopt if not is_coded else accept or key_id != codes.key_id):
                return False
            before = self._stood(connection, owner) if is_coded and not accept else None
            reader = self._keeper.reader(owner, None if before is None else before.codes)
            move = recoded(connection, reader, owner, codes, before, accept=accept)
        self._keeper.recoded(owner, move)
        return True

    def _commit(self, owner: Owner, request: TurnRequest, decide: Decide) -> Committed:
        with self._turn() as connection:
            with self._translating_writer:
                snapshot, mac, stood = self._seen_under_turn(connection, owner, request)
            change = decide(snapshot)
            if change is None:
                return Committed(snapshot.head, ())
            with self._translating_writer:
                rows, move = self._written(connection, owner, mac, stood, change)
            if change.forgotten:
                self._log_holds_forgotten = True
        self._keeper.committed(owner, move)
        return Committed(move.head, rows)

    def _written(
        self,
        connection: apsw.Connection,
        owner: Owner,
        mac: bytes,
        stood: Stood | None,
        change: Change,
    ) -> tuple[tuple[StoredRow, ...], Move]:
        """Write a change with its codes; return its rows, and how the owner's set moves."""
        codes = self._keeper.codes(owner, stood)
        before, total = (None, 0) if stood is None else (stood.head, stood.total)
        old = self._marks(connection, owner, stood, touched(change))
        begun: list[CodedWriting] = []

        def begin(*fields: Any) -> CodedWriting:
            begun.append(CodedWriting(*fields).under(codes, before, total, old, change.forgotten))
            return begun[0]

        sent = with_codes(codes, change)
        _, rows = write_change(connection, owner, before, mac, sent, begin)
        (writing,) = begun
        if writing.move is None:
            raise AssertionError("a change moves its owner")
        restated = {memory.id for memory in change.restated}
        reader = self._keeper.reader(owner, codes)
        # What a restated memory said before was not looked at; now all of it is.
        read = [
            *_rows_of(connection, reader, owner.digest, [*restated]),
            *(reader.opened(row) for row in rows if row.id not in restated),
        ]
        return tuple(sorted(read)), writing.move

    def _stood(
        self, connection: apsw.Connection, owner: Owner, seen: Head | None = None
    ) -> Stood | None:
        def is_inhabited() -> bool:
            # Of one on its way here the rows come first.
            if arrival_in(connection) is not None:
                return False
            return bool(connection.execute(SQL["is_inhabited"], {"owner": owner.digest}).get)

        return self._keeper.stood(owner, _found(connection, owner), seen, is_inhabited)

    def _snapshot(
        self, connection: apsw.Connection, owner: Owner, since: Head | None, seen: Head | None
    ) -> Snapshot:
        stood = self._stood(connection, owner, seen)
        if stood is None:
            return Snapshot(head=None, complete=True, rows=())
        complete, rows = self._rows_since(connection, owner, stood, since)
        return Snapshot(head=stood.head, complete=complete, rows=tuple(rows))

    def _rows_since(
        self, connection: apsw.Connection, owner: Owner, stood: Stood, since: Head | None
    ) -> tuple[bool, list[StoredRow]]:
        """Return whether all live rows or those that changed, and these, once the owner's set of
        memories was found to be the one that was sealed.
        """
        named = {"owner": owner.digest}
        reader = self._keeper.reader(owner, stood.codes)
        if since is None or since[:2] != stood.head[:2]:
            rows, marks = reader.current(connection.execute(CODED["live_rows"], {**named, **LIVE}))
            rows.sort(key=lambda row: (row.revision, row.id))
            marks |= reader.standing(connection.execute(SQL["codes"], {**named, **LIVE}))
            self._keeper.follow(owner, stood, marks, None)
            return True, rows
        rows, marks = [], {}
        if since.revision < stood.head.revision:
            bound = {**named, "revision": since.revision}
            rows, marks = reader.current(connection.execute(CODED["changed_rows"], bound))
        if not self._keeper.follow(owner, stood, marks, since):
            self._keeper.follow(owner, stood, _all_marks(connection, reader, owner), None)
        return False, rows

    def _marks(
        self, connection: apsw.Connection, owner: Owner, stood: Stood | None, ids: Sequence[str]
    ) -> dict[str, Mark]:
        """Return the marks of those of some memories that stand under the turn."""
        if stood is None or not ids:
            return {}
        known = self._keeper.watches.marks(owner.digest, stood.head, ids)
        if known is not None:
            return known
        reader = self._keeper.reader(owner, stood.codes)
        of_all = _all_marks(connection, reader, owner)
        return {id: of_all[id] for id in ids if id in of_all}

    def _seen_under_turn(
        self, connection: apsw.Connection, owner: Owner, request: TurnRequest
    ) -> tuple[Snapshot, bytes, Stood | None]:
        """Return what a writer wants to see, the last code of the chain, and where that stands."""
        stood = self._stood(connection, owner, self._keeper.seen(owner))
        # All but the rows, which come with their codes.
        rest = replace(request, since=None if stood is None else stood.head)
        snapshot, mac = rows_of.fetch_for_turn(connection, owner.digest, owner.tag, rest)
        if stood is not None:
            complete, rows = self._rows_since(connection, owner, stood, request.since)
            snapshot = replace(snapshot, complete=complete, rows=tuple(rows))
        return snapshot, mac, stood

    async def _of(self, owner: Scope, read: _Read) -> list[StoredRow]:
        """Read rows of an owner that stands where it was sealed; nothing of one never written."""
        known = self._owners.of(owner)
        seen = self._keeper.seen(known)

        def reading(connection: apsw.Connection) -> list[StoredRow]:
            stood = self._stood(connection, known, seen)
            if stood is None:
                return []
            reader = self._keeper.reader(known, stood.codes)
            return read(connection, reader, known.digest)

        return await self._reading_much(reading)

    async def _tagged(self, owner: Scope, tag: bytes) -> list[StoredRow]:
        def read(connection: apsw.Connection, reader: Reader, digest: bytes) -> list[StoredRow]:
            bound = {"owner": digest, "tag": tag}
            return reader.tagged(connection.execute(CODED["rows_by_tag"], bound), tag)

        return await self._of(owner, read)


def _found(connection: apsw.Connection, owner: Owner) -> tuple[Any, ...] | None:
    bound = {"owner": owner.digest}
    found: tuple[Any, ...] | None = connection.execute(SQL["coded_head"], bound).fetchone()
    return found


def _rows_of(
    connection: apsw.Connection, reader: Reader, owner: bytes, ids: Sequence[str]
) -> list[StoredRow]:
    """Return the memories of those of some ids that exist, in the order asked."""
    rows = []
    for id in filter(is_storable, dict.fromkeys(ids)):
        found = connection.execute(CODED["row"], {"owner": owner, "id": id})
        rows += reader.current(found)[0]
    return rows


def _all_marks(connection: apsw.Connection, reader: Reader, owner: Owner) -> dict[str, Mark]:
    return reader.standing(connection.execute(SQL["codes"], {"owner": owner.digest, **_NONE}))


def _code_of(
    connection: apsw.Connection, named: Mapping[str, Any], revision: int
) -> tuple[Any, ...]:
    bound = {**named, "revision": revision}
    found: tuple[Any, ...] | None = connection.execute(SQL["code_of_state"], bound).fetchone()
    return found or (None, None, None)
