"""A SQLite store as one end of a move: pages of any part, owners that arrive row by row.

That the store is closed to others while owners arrive is a row of ``meta``; who is on the way is
its value: the owner's digest and the mark of the move, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from simonides.adapters.sqlite_database import ARRIVING, SqliteDatabase, arrival_in
from simonides.adapters.sqlite_schema import SQL
from simonides.adapters.store_columns import LIVE
from simonides.adapters.store_owners import Owners, Secrets
from simonides.adapters.store_rules import OWNER_BYTES
from simonides.domain.errors import KeyDestroyed, MoveRefused
from simonides.domain.moving import PARTS, OwnerFacts, Part, Row, StoreKeys
from simonides.ports import Capability


class SqliteMoves(SqliteDatabase):
    """The calls of :class:`simonides.ports.MovableStore` that are no memory store's."""

    abilities = frozenset({Capability.DURABLE, Capability.MOVABLE})
    is_coded = False

    async def keys(self) -> StoreKeys:
        """See the port."""
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
            self._secrets = keys
            self._owners = Owners(keys)
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
