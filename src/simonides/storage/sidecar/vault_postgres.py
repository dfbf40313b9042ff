"""A vault of data keys in a PostgreSQL database of its own, which several servers share.

A key that is destroyed is in no table of that database any more. Its write-ahead log, the archive
of that, its replicas, dumps and base backups are out of reach: the key is in them, wrapped under a
master key, for as long as they are kept. Keep them short, or the vault in a file.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg

from simonides.domain.errors import ConfigurationError, StoreUnavailable
from simonides.ports import DataKey
from simonides.storage.postgres.wire.connection import SoleConnection

_Connection = psycopg.Connection[tuple[Any, ...]]

# The making of the tables holds this advisory lock: "simokeys" in ASCII.
_LOCK = 0x73696D6F6B657973

_IS_STORE = "SELECT to_regnamespace('simonides') IS NOT NULL"
_IS_THERE = "SELECT to_regclass('simonides_keys.changes') IS NOT NULL"
_TABLES = """
CREATE SCHEMA simonides_keys;
REVOKE ALL ON SCHEMA simonides_keys FROM PUBLIC;
CREATE TABLE simonides_keys.data_keys (
    store bytea NOT NULL,
    owner bytea NOT NULL,
    n bigint NOT NULL,
    id bytea NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    wrapped bytea,
    PRIMARY KEY (store, owner, n)
);
CREATE TABLE simonides_keys.changes (n bigint NOT NULL);
INSERT INTO simonides_keys.changes VALUES (0)
"""
_VERSION = "SELECT n FROM simonides_keys.changes"
# Of several who write one does at a time.
_CHANGE = "UPDATE simonides_keys.changes SET n = n + 1"
_KEYS = """
SELECT id, key_id, wrapped FROM simonides_keys.data_keys
WHERE store = %(store)s AND owner = %(owner)s ORDER BY n
"""
_HOLDS = """
SELECT EXISTS (SELECT FROM simonides_keys.data_keys WHERE store = %(store)s)
"""
# Not again, where the answer to the first attempt was lost.
_ADD = """
INSERT INTO simonides_keys.data_keys (store, owner, n, id, key_id, wrapped)
SELECT %(store)s, %(owner)s, coalesce(max(n), 0) + 1, %(id)s, %(key_id)s, %(wrapped)s
FROM simonides_keys.data_keys WHERE store = %(store)s AND owner = %(owner)s
HAVING count(*) FILTER (WHERE id = %(id)s) = 0
"""
_DESTROY = """
UPDATE simonides_keys.data_keys SET wrapped = NULL
WHERE store = %(store)s AND owner = %(owner)s AND wrapped IS NOT NULL AND n < (
    SELECT k.n FROM simonides_keys.data_keys AS k
    WHERE k.store = %(store)s AND k.owner = %(owner)s AND k.id = %(until)s)
"""
_LEFT = """
SELECT owner, id, key_id, wrapped FROM simonides_keys.data_keys
WHERE store = %(store)s AND wrapped IS NOT NULL
"""
_REWRAP = """
UPDATE simonides_keys.data_keys SET key_id = %(key_id)s, wrapped = %(wrapped)s
WHERE store = %(store)s AND owner = %(owner)s AND id = %(id)s
"""
# Written anew: what a plain VACUUM frees keeps its bytes until others come over them.
_EMPTY = "VACUUM (FULL, VERBOSE) simonides_keys.data_keys"
_STILL_SEEN = " dead row versions cannot be removed yet"


class PostgresVault:
    """A :class:`~simonides.ports.KeyVault` in a PostgreSQL database.

    Each call is a round trip on a connection that blocks, :meth:`version` with every write of the
    store: it lies best near the servers.
    """

    def __init__(self, url: str) -> None:
        """Open the vault, or make it in a database in which the role may create a schema.

        Args:
            url: ``postgresql://user@host:port/database``, of the role that owns the vault.

        Raises:
            ConfigurationError: If the URL is none, or a store is in that database: its dumps would
                hold the keys to themselves.
            StoreError: If the server cannot be reached or refuses.
        """
        self._server = SoleConnection(url, what="key vault")
        self.location = self._server.location
        with ExitStack() as undo:
            undo.callback(self.close)
            self._server.ask(self._prepare)
            undo.pop_all()

    def __repr__(self) -> str:
        """Say where, not what is in it."""
        return f"PostgresVault({self.location!r})"

    def version(self) -> int:
        """See the port."""

        def ask(connection: _Connection) -> int:
            found = connection.execute(_VERSION).fetchone()
            return 0 if found is None else int(found[0])

        return self._server.ask(ask)

    def keys(self, store: bytes, owner: bytes) -> tuple[DataKey, ...]:
        """See the port."""
        named = {"store": store, "owner": owner}
        return self._server.ask(
            lambda connection: tuple(map(DataKey._make, connection.execute(_KEYS, named)))
        )

    def holds(self, store: bytes) -> bool:
        """See the port."""
        return self._server.ask(lambda connection: _is(connection, _HOLDS, store=store))

    def add(self, store: bytes, owner: bytes, key: DataKey) -> None:
        """See the port."""

        def write(connection: _Connection) -> None:
            with connection.transaction():
                connection.execute(_CHANGE)
                connection.execute(_ADD, {"store": store, "owner": owner, **key._asdict()})

        self._server.ask(write)

    def destroy(self, store: bytes, owner: bytes, until: bytes) -> None:
        """See the port; what of the server's files is out of reach, the module says.

        Raises:
            StoreUnavailable: Also if another transaction may still see what was destroyed; do it
                again when that has ended.
        """

        def write(connection: _Connection) -> None:
            with connection.transaction():
                connection.execute(_CHANGE)
                named = {"store": store, "owner": owner, "until": until}
                connection.execute(_DESTROY, named)
            self._empty(connection)

        self._server.ask(write)

    def rewrap(self, store: bytes, change: Callable[[bytes, DataKey], DataKey]) -> int:
        """See the port."""

        def write(connection: _Connection) -> int:
            done = 0
            with connection.transaction():
                connection.execute(_CHANGE)
                for owner, *fields in connection.execute(_LEFT, {"store": store}).fetchall():
                    key = DataKey._make(fields)
                    made = change(owner, key)
                    if made != key:
                        again = made._asdict() | {"store": store, "owner": owner, "id": key.id}
                        connection.execute(_REWRAP, again)
                        done += 1
            self._empty(connection)
            return done

        return self._server.ask(write)

    def close(self) -> None:
        """See the port."""
        self._server.close()

    def _prepare(self, connection: _Connection) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if _is(connection, _IS_STORE):
                raise ConfigurationError(
                    f"key vault {self.location}: a store is in that database, and its dumps would "
                    "hold the keys to themselves; name a database of its own"
                )
            if not _is(connection, _IS_THERE):
                connection.execute(_TABLES)

    def _empty(self, connection: _Connection) -> None:
        said: list[str] = []

        def note(told: psycopg.errors.Diagnostic) -> None:
            said.extend((told.message_detail or "").splitlines())

        connection.add_notice_handler(note)
        try:
            connection.execute(_EMPTY)
        finally:
            connection.remove_notice_handler(note)
        seen = [line for line in said if _STILL_SEEN in line]
        if not seen or any(not line.startswith("0 ") for line in seen):
            raise StoreUnavailable(
                self.location,
                "keys that were destroyed may still be seen by a transaction that is open there; "
                "end it, then try again",
            )


def _is(connection: _Connection, question: str, **of: bytes) -> bool:
    found = connection.execute(question.encode(), of or None).fetchone()
    return found is not None and bool(found[0])
