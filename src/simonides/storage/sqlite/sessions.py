"""Sessions in a SQLite database; it may be the one that holds the memories."""

import os
from collections.abc import Sequence
from typing import Any, Self

from simonides.domain.conversation.session import Observation, SessionEntry, SessionRecord
from simonides.domain.errors import StoreUnavailable
from simonides.domain.scope import Scope
from simonides.ports import Capability
from simonides.storage.schema.change_rules import next_number
from simonides.storage.schema.owner_ids import Owners
from simonides.storage.schema.session_rows import (
    in_order_of_start,
    read_sessions,
    session_body,
    session_key,
)
from simonides.storage.sqlite.file.database import SqliteDatabase
from simonides.storage.sqlite.file.schema import SQL


class SqliteSessionStore:
    """A :class:`~simonides.ports.SessionStore` over an open
    :class:`~simonides.storage.sqlite.file.database.SqliteDatabase`.

    Beside a store of memories it uses that one's writer, turn, readers and keys: opening it costs
    nothing, and a database has one of each.

    Args:
        database: What is open.
        owns_it: Whether the database is closed with it.
    """

    def __init__(self, database: SqliteDatabase, *, owns_it: bool = False) -> None:
        self._database = database
        self._owns_it = owns_it
        self._closed = False
        self.capabilities = database.capabilities & (
            SqliteDatabase.abilities | {Capability.INLINE, Capability.SEALED}
        )
        self.location = database.location

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Open a file for sessions alone, or beside memories that somebody else has open.

        Args:
            path: The database file.
            options: See :meth:`~simonides.storage.sqlite.file.database.SqliteDatabase.open`, also
            for
                what is raised.
        """
        return cls(SqliteDatabase.open(path, **options), owns_it=True)

    @classmethod
    def in_memory(cls) -> Self:
        """Return sessions in a database of their own in memory, gone when they are closed."""
        return cls(SqliteDatabase.in_memory(), owns_it=True)

    async def close(self) -> None:
        """See the port."""
        self._closed = True
        if self._owns_it:
            await self._database.close()

    async def append(
        self,
        owner: Scope,
        session: str,
        observations: Sequence[Observation],
        *,
        now: int,
        due_at: int | None = None,
        first: int | None = None,
    ) -> int:
        """See the port."""
        self._open()

        def append() -> int:
            # Only once the file is there: its keys make the digests.
            known = self._open().of(owner)
            row = {"now": now, "due_at": due_at, "body": session_body(known, session)}
            key = {"owner": known.digest, "tag": session_key(known, session)}
            return self._append(key, row, list(observations), first)

        return await self._database._writing(append)

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """See the port."""
        known = self._open().of(owner)
        key = {"owner": known.digest, "tag": session_key(known, session)}
        bound = {**key, "after": after, "limit": max(limit, 0)}
        with self._database._reading(is_transaction=False) as connection:
            return tuple(map(SessionEntry._make, connection.execute(SQL["entries"], bound)))

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """See the port."""
        bound = {"owner": self._open().of(owner).digest}
        with self._database._reading(is_transaction=False) as connection:
            found = connection.execute(SQL["sessions"], bound).fetchall()
        return in_order_of_start(read_sessions(self.location, found))

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """See the port."""
        bound = {"now": now, "limit": max(limit, 0)}
        self._open()
        with self._database._reading(is_transaction=False) as connection:
            found = connection.execute(SQL["sessions_due"], bound).fetchall()
        return tuple(read_sessions(self.location, found))

    async def drop(self, owner: Scope, session: str, *, entries: int | None = None) -> bool:
        """See the port."""
        known = self._open().of(owner)
        key = {"owner": known.digest, "tag": session_key(known, session)}
        return await self._database._changing(lambda: self._drop(key, entries), absent=False)

    def _open(self) -> Owners:
        """Return the owners of the database, whose digests change with its keys.

        Raises:
            StoreUnavailable: If the sessions are closed.
        """
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        return self._database._owners

    def _append(
        self,
        key: dict[str, Any],
        row: dict[str, Any],
        observations: Sequence[Observation],
        first: int | None,
    ) -> int:
        with self._database._turn() as connection, self._database._translating_writer:
            connection.execute(SQL["open_session"], {**key, **row})
            length = connection.execute(SQL["count_entries"], key).get
            standing: list[SessionEntry] = []
            if first is not None:
                asked = {**key, "after": first - 1, "limit": len(observations)}
                stood = connection.execute(SQL["entries"], asked)
                standing = [SessionEntry._make(columns) for columns in stood]
            begin, new = next_number(length, observations, first, standing)
            for number, said in enumerate(new, start=length):
                entry = {**key, "number": number, "at": said.at, "body": said.body}
                connection.execute(SQL["append_entry"], entry)
            return begin

    def _drop(self, key: dict[str, Any], entries: int | None) -> bool:
        with self._database._turn() as connection, self._database._translating_writer:
            if entries is not None and connection.execute(SQL["count_entries"], key).get > entries:
                return False
            connection.execute(SQL["drop_session"], key)
            connection.execute(SQL["drop_entries"], key)
            # What was said may have been forgotten.
            self._database._place.note_removal()
            return True
