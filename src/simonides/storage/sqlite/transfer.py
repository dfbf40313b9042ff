"""A SQLite store as one end of a move: pages of any part, owners that arrive row by row.

That the store is closed to others while owners arrive is a row of ``meta``; who is on the way is
its value: the owner's digest and the mark of the move, or nothing.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

from simonides.domain.codecs.parts import (
    PARTS,
    OwnerFacts,
    Part,
    Row,
    StoreKeys,
)
from simonides.domain.codecs.portable import Carried, Standing
from simonides.domain.errors import CarryRefused, KeyDestroyed, MoveRefused, StoreUnavailable
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Head
from simonides.ports import Capability
from simonides.ports.store_extras import Pages
from simonides.storage.schema.change_rules import OWNER_BYTES
from simonides.storage.schema.columns import LIVE
from simonides.storage.schema.owner_ids import Owner, Secrets
from simonides.storage.schema.portable_rows import (
    Arriving,
    PortraitRows,
    Story,
    batches,
)
from simonides.storage.sqlite.file.connection import Opening, copy_pages
from simonides.storage.sqlite.file.database import ARRIVING, SqliteDatabase, arrival_in
from simonides.storage.sqlite.file.schema import SQL, check_application
from simonides.storage.sqlite.file.wal import is_written


class SqliteMoves(SqliteDatabase):
    """The calls of :class:`simonides.ports.MovableStore` that are no memory store's."""

    abilities = frozenset({Capability.DURABLE, Capability.MOVABLE})
    is_coded = False

    async def keys(self, *, lasting: bool = False) -> StoreKeys:
        """See the port."""
        if lasting:
            await self._writing(lambda: None)
        self._look()
        return StoreKeys(*self._secrets)

    async def inhabitants(self) -> tuple[bytes, ...]:
        """See the port."""
        with self._reading() as connection:
            return inhabitants_in(connection)

    async def facts(self, owner: bytes) -> OwnerFacts | None:
        """See the port."""
        with self._reading() as connection:
            return facts_in(connection, owner)

    async def page(
        self, owner: bytes, part: Part, *, after: Row | None = None, limit: int = 500
    ) -> tuple[Row, ...]:
        """See the port."""
        with self._reading() as connection:
            return page_of(connection, owner, part, after, limit)

    async def last_key(self, owner: bytes, part: Part) -> Row | None:
        """See the port."""
        with self._reading() as connection:
            found = connection.execute(_LAST_KEY[part.name], {"owner": owner}).fetchone()
        return None if found is None else tuple(found)

    async def begin_arrivals(self, keys: StoreKeys) -> None:
        """See the port."""
        await self._writing(lambda: self._begin_arrivals(keys))

    async def begin_arrival(self, owner: bytes, mark: bytes) -> None:
        """See the port."""
        await self._writing(lambda: self._begin_arrival(owner, mark))

    async def arrive(self, owner: bytes, rows: Sequence[tuple[Part, Sequence[Row]]]) -> None:
        """See the port."""
        await self._writing(lambda: self._arrive(owner, rows))

    async def end_arrival(self, owner: bytes, facts: OwnerFacts | None) -> None:
        """See the port."""
        await self._writing(lambda: self._end_arrival(owner, facts))

    async def end_arrivals(self) -> None:
        """See the port."""
        await self._writing(self._end_arrivals)

    def _begin_arrivals(self, keys: StoreKeys) -> None:
        with self._place.sole_turn():
            # Opening a store takes the turn, so no process comes between the look and the note.
            with self._translating_writer, self._place.alone() as connection, connection:
                if keys != StoreKeys(*self._secrets):
                    self._check_empty(connection)
                    self._opening.keep(connection, Secrets(*keys))
                if arrival_in(connection) is None:
                    connection.execute(SQL["put_meta"], {"name": ARRIVING, "value": b""})
            self._follow_keys(Secrets(*keys))

    def _follow_keys(self, keys: Secrets) -> None:
        if keys != self._secrets:
            self._stand_on(self._place, keys)
            self._opening.follow(keys)

    def _check_empty(self, connection: apsw.Connection) -> None:
        if connection.execute(_INHABITANTS).fetchone() is not None:
            raise MoveRefused(
                "other_store",
                self.location,
                "holds rows of another store, and those of two cannot be told apart by one set "
                "of keys; move to an empty store",
            )

    def _begin_arrival(self, owner: bytes, mark: bytes) -> None:
        with self._turn() as connection, self._translating_writer:
            before = arrival_in(connection)
            if before == owner + mark:
                return
            if before:
                self._clear(connection, before[:OWNER_BYTES])
            if connection.execute(_LIVES_HERE, {"owner": owner}).fetchone() is not None:
                facts = facts_in(connection, owner)
                name = None if facts is None else facts.name
                raise MoveRefused(
                    "exists",
                    self.location,
                    f"{name or 'an owner'} is there already with other content; it was not "
                    "touched, move to an empty store",
                    name,
                )
            connection.execute(SQL["put_meta"], {"name": ARRIVING, "value": owner + mark})

    def _arrive(self, owner: bytes, rows: Sequence[tuple[Part, Sequence[Row]]]) -> None:
        with self._turn() as connection, self._translating_writer:
            _checkarrival_in(connection, owner)
            for part, of_part in rows:
                try:
                    connection.executemany(
                        ADD[part.name],
                        ({"owner": owner, **dict(_named(part, row))} for row in of_part),
                    )
                except apsw.ConstraintError as error:
                    raise ValueError(f"rows of {part.name} do not fit: {error}") from error

    def _end_arrival(self, owner: bytes, facts: OwnerFacts | None) -> None:
        with self._turn() as connection, self._translating_writer:
            _checkarrival_in(connection, owner)
            if facts is not None:
                connection.execute(SQL["add_facts"], {"owner": owner, **facts._asdict()})
                connection.execute(SQL["count_live"], {"owner": owner, **LIVE})
            connection.execute(SQL["put_meta"], {"name": ARRIVING, "value": b""})

    def _end_arrivals(self) -> None:
        with self._turn() as connection, self._translating_writer:
            before = arrival_in(connection)
            if before:
                self._clear(connection, before[:OWNER_BYTES])
            connection.execute(SQL["drop_meta"], {"name": ARRIVING})

    def _clear(self, connection: apsw.Connection, owner: bytes) -> None:
        for clear in _CLEAR.values():
            connection.execute(clear, {"owner": owner})
        # What came may have been forgotten meanwhile where it came from.
        self._place.note_removal()


def page_of(
    connection: apsw.Connection, owner: bytes, part: Part, after: Row | None, limit: int
) -> tuple[Row, ...]:
    """Return what :meth:`SqliteMoves.page` does, read over one connection."""
    bound = {"owner": owner, "limit": max(limit, 0)}
    statement = _FIRST_PAGE[part.name]
    if after is not None:
        statement = _NEXT_PAGE[part.name]
        bound |= dict(zip(part.columns, after, strict=False))
    return tuple(connection.execute(statement, bound))


def inhabitants_in(connection: apsw.Connection) -> tuple[bytes, ...]:
    """Return what :meth:`SqliteMoves.inhabitants` does, read over one connection."""
    return tuple(sorted(owner for (owner,) in connection.execute(_INHABITANTS)))


def lives_in(connection: apsw.Connection, owner: bytes) -> bool:
    """Whether anything of an owner is here beside what it read."""
    return connection.execute(_LIVES, {"owner": owner}).fetchone() is not None


def is_lost(connection: apsw.Connection, owner: bytes) -> bool:
    """Whether what is here of an owner was encrypted by a key that is destroyed."""
    try:
        facts_in(connection, owner)
        for part in _LOOSE:
            page_of(connection, owner, part, None, 1)
    except KeyDestroyed:
        return True
    return False


def _checkarrival_in(connection: apsw.Connection, owner: bytes) -> None:
    if (arrival_in(connection) or b"")[:OWNER_BYTES] != owner:
        raise ValueError(f"the owner {owner.hex()} is not on its way here; begin its arrival first")


def facts_in(connection: apsw.Connection, owner: bytes) -> OwnerFacts | None:
    """Return what :meth:`SqliteMoves.facts` does, read over one connection."""
    found = connection.execute(SQL["facts"], {"owner": owner}).fetchone()
    if found is None:
        return None
    return OwnerFacts._make((*found[:-1], found[-1].decode("utf-8", "replace")))


def _named(part: Part, row: Row) -> zip[tuple[str, object]]:
    return zip(part.columns, row, strict=True)


# What an owner may have who was never written; of others the name tells.
_LOOSE = [part for part in PARTS if part.name in ("read_journal", "sessions")]


# One statement for each part and use. They differ in nothing but names, which are those of PARTS.
def _first_page(part: Part) -> str:
    columns, keys = ", ".join(part.columns), ", ".join(part.columns[: part.key])
    return (
        f"SELECT {columns} FROM {part.name} WHERE owner = :owner "  # noqa: S608 - from PARTS
        f"ORDER BY {keys} LIMIT :limit"
    )


def _next_page(part: Part) -> str:
    keys = part.columns[: part.key]
    after = f"({', '.join(keys)}) > ({', '.join(f':{key}' for key in keys)})"
    return _first_page(part).replace("ORDER BY", f"AND {after} ORDER BY")


def _last_key(part: Part) -> str:
    keys = part.columns[: part.key]
    return (
        f"SELECT {', '.join(keys)} FROM {part.name} WHERE owner = :owner "  # noqa: S608 - from PARTS
        f"ORDER BY {', '.join(f'{key} DESC' for key in keys)} LIMIT 1"
    )


def _add(part: Part) -> str:
    columns, values = ", ".join(part.columns), ", ".join(f":{c}" for c in part.columns)
    return f"INSERT INTO {part.name} (owner, {columns}) VALUES (:owner, {values})"  # noqa: S608 - from PARTS


def _owners_in(table: str) -> str:
    # From each owner to the next by the key, past all of its rows: a table is never walked through.
    return (
        f"SELECT owner FROM (WITH RECURSIVE o (owner) AS (SELECT min(owner) FROM {table} UNION "  # noqa: S608 - from PARTS
        f"ALL SELECT (SELECT min(owner) FROM {table} WHERE owner > o.owner) FROM o "
        "WHERE o.owner IS NOT NULL) SELECT owner FROM o WHERE owner IS NOT NULL)"
    )


def _owner_in(table: str) -> str:
    return f"SELECT owner FROM {table} WHERE owner = :owner"  # noqa: S608 - from PARTS


# Payloads lie in the rows of their events here: where those go, or are found, these are too.
_STORED = [part for part in PARTS if part.name != "event_payloads"]
_TABLES = ("owners", *(part.name for part in _STORED))
_FIRST_PAGE = {part.name: _first_page(part) for part in PARTS}
_NEXT_PAGE = {part.name: _next_page(part) for part in PARTS}
_LAST_KEY = {part.name: _last_key(part) for part in PARTS}
PAGES = {part.name: (_FIRST_PAGE[part.name], _NEXT_PAGE[part.name]) for part in PARTS}
ADD = {part.name: _add(part) for part in PARTS}
_CLEAR = {part.name: f"DELETE FROM {part.name} WHERE owner = :owner" for part in _STORED}  # noqa: S608 - from PARTS
_INHABITANTS = " UNION ".join(map(_owners_in, _TABLES))
_LIVES = " UNION ".join(_owner_in(table) for table in _TABLES if table != "read_journal")
_LIVES_HERE = " UNION ".join(map(_owner_in, _TABLES))


T = TypeVar("T")


class _Portrait(PortraitRows):
    """One owner at one moment, over a connection of its own."""

    def __init__(
        self, store: SqliteCarrying, connection: apsw.Connection, owner: Owner, facts: OwnerFacts
    ) -> None:
        counted = connection.execute(SQL["count_memories"], {"owner": owner.digest}).get
        super().__init__(owner.digest, facts, counted)
        self._store = store
        self._owner = owner
        self._connection = connection

    async def page(self, part: Part, after: Row | None, limit: int) -> Sequence[Row]:
        def read() -> Sequence[Row]:
            rows = page_of(self._connection, self.digest, part, after, limit)
            return self._store._carried(self._connection, self._owner, part, rows)

        return await self._store._on_connection(read)

    async def stories(self, ids: Sequence[str]) -> Mapping[str, Story]:
        def read() -> dict[str, Story]:
            bound = ({"owner": self.digest, "id": id} for id in ids)
            run = self._connection.execute
            return {each["id"]: run(SQL["states_of"], each).fetchall() for each in bound}  # type: ignore[misc]

        return await self._store._on_connection(read)

    async def names(self, owners: Sequence[bytes]) -> Mapping[bytes, str]:
        named = ((owner, facts_in(self._connection, owner)) for owner in owners)
        return {owner: facts.name for owner, facts in named if facts is not None}


class SqliteCarrying(SqliteMoves):
    """The calls of :class:`simonides.ports.PortableStore` that are no memory store's."""

    abilities = frozenset({*SqliteMoves.abilities, Capability.PORTABLE})

    @asynccontextmanager
    async def portrait(self, owner: Scope) -> AsyncIterator[_Portrait | None]:
        """See the port."""
        known = self._owners.of(owner)
        with self._place.frozen() as connection:
            with self._translating:
                facts = facts_in(connection, known.digest)
                is_there = facts is not None and not facts.is_erased
                shown = _Portrait(self, connection, known, facts) if is_there and facts else None
            yield shown
            if shown is not None:
                await shown.close()

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """See the port."""
        self._owners.of(owner)
        return await self._writing(lambda: self._adopt(owner, standing, items))

    def _carried(
        self, connection: apsw.Connection, owner: Owner, part: Part, rows: Sequence[Row]
    ) -> Sequence[Row]:
        """Return rows as they leave the store."""
        del connection, owner, part
        return rows

    async def _on_connection(self, read: Callable[[], T]) -> T:
        def translating() -> T:
            with self._translating:
                return read()

        return await self._on(self._readers, translating)

    def _adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        digest = self._owners.of(owner).digest
        with self._turn() as connection:
            with self._translating_writer:
                if lives_in(connection, digest):
                    raise CarryRefused(
                        "exists",
                        self.location,
                        f"{owner.path} was written to here already; it was not touched",
                    )
                last = connection.execute(SQL["last_journal"], {"owner": digest}).get
            arriving = Arriving(self._owners, owner, last)
            for batch in batches(arriving.rows(items)):
                with self._translating_writer:
                    for part, rows in batch:
                        _sqlite_carrying_add(connection, digest, part, rows)
            facts = arriving.facts(secrets.token_bytes(16), standing)
            with self._translating_writer:
                connection.execute(SQL["add_facts"], {"owner": digest, **facts._asdict()})
                connection.execute(SQL["count_live"], {"owner": digest, **LIVE})
        return Head(*facts[:5])


def _sqlite_carrying_add(
    connection: apsw.Connection, owner: bytes, part: Part, rows: Iterable[Row]
) -> None:
    bound = ({"owner": owner, **dict(zip(part.columns, row, strict=True))} for row in rows)
    try:
        connection.executemany(ADD[part.name], bound)
    except apsw.ConstraintError as error:
        raise ValueError(f"rows of {part.name} do not fit: {error}") from error


class SqliteBackups(SqliteCarrying):
    """The calls of :class:`simonides.ports.RevertibleStore` that are no movable store's."""

    abilities = frozenset({*SqliteCarrying.abilities, Capability.BACKUPS, Capability.REVERTIBLE})

    async def note_place(self, place: str, name: str) -> None:
        """See the port; it is noted beside the file, which is made if it is not there."""
        await self._writing(lambda: None)
        await self._on(self._readers, lambda: self._place.note_backups(Path(place), name))

    async def backups(self) -> tuple[str, ...]:
        """See the port."""
        found = await self._on(self._readers, self._place.backups)
        return tuple(map(str, found))

    async def copy_to(self, path: str, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        """See the port."""
        # A copy has the keys of the store, which come with its file.
        await self._writing(lambda: None)
        return await self._on(self._readers, lambda: self._copy_to(Path(path), tell))

    async def unsound(self) -> tuple[str, ...]:
        """See the port."""

        def look(connection: apsw.Connection) -> tuple[str, ...]:
            found = [text for (text,) in connection.execute("PRAGMA integrity_check(20)")]
            return () if found == ["ok"] else tuple(found)

        return await self._reading_much(look)

    async def rebirth(self) -> None:
        """See the port."""
        await self._changing(self._rebirth, absent=None)

    async def become(self, path: str) -> None:
        """See the port."""
        await self._writing(lambda: self._become(Path(path)))

    def _copy_to(self, path: Path, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        # Made first, and readable by its user only: SQLite would ask the umask.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with self._translating, self._place.frozen() as source:
            stood = {owner: facts_in(source, owner) for owner in inhabitants_in(source)}
            self._place.copy(source, path, tell)
        return {owner: facts for owner, facts in stood.items() if facts is not None}

    def _rebirth(self) -> None:
        with self._turn() as connection, self._translating_writer:
            for owner in inhabitants_in(connection):
                bound = {"owner": owner, "incarnation": secrets.token_bytes(16)}
                connection.execute(SQL["rebirth"], bound)

    def _become(self, path: Path) -> None:
        with self._place.sole_turn():
            with self._translating_writer:
                source = backup_opened(path, self._opening)
                try:
                    check_application(source, path)
                    keys = self._opening.secrets(source)
                    if keys != self._secrets:
                        with self._place.alone() as connection:
                            self._check_empty(connection)
                    copy_pages(self._place.writer, source, lambda *_: None)
                finally:
                    source.close()
            self._follow_keys(keys)
            # What stood here was not to be kept.
            self._place.note_removal()
            self._place.remove_traces()


def backup_opened(path: Path, opening: Opening) -> apsw.Connection:
    """Open a copy of a store that nobody writes to, to be read as it lies there.

    Raises:
        StoreUnavailable: If it is in use.
        apsw.Error: As SQLite says.
    """
    if is_written(path):
        raise StoreUnavailable(str(path), "is open, or was not closed well; restore from a copy")
    # Immutable: nothing is laid beside it, and a file that may only be read is read.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return opening.connect(f"file:{quote(str(path))}?immutable=1", flags)
