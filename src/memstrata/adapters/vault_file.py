"""A vault of data keys in a small SQLite file of its own, which is in no copy of the store."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from memstrata.adapters.sqlite_errors import Translating
from memstrata.domain.errors import ConfigurationError
from memstrata.ports import DataKey

# "mstK": neither a store nor another program's file is taken for a vault.
_APPLICATION_ID = 0x6D73744B

# Chosen: its transactions write one small page each.
_BUSY_TIMEOUT_MS = 10_000

_TABLE = """
CREATE TABLE IF NOT EXISTS data_keys (
    store BLOB NOT NULL,
    owner BLOB NOT NULL,
    n INTEGER NOT NULL,
    id BLOB NOT NULL,
    key_id TEXT NOT NULL,
    wrapped BLOB,
    PRIMARY KEY (store, owner, n)
) STRICT, WITHOUT ROWID
"""
_KEYS = "SELECT id, key_id, wrapped FROM data_keys WHERE store = ? AND owner = ? ORDER BY n"
_ADD = """
INSERT INTO data_keys (store, owner, n, id, key_id, wrapped)
SELECT ?1, ?2, ifnull(max(n), 0) + 1, ?3, ?4, ?5 FROM data_keys WHERE store = ?1 AND owner = ?2
"""
_DESTROY = """
UPDATE data_keys SET wrapped = NULL
WHERE store = ?1 AND owner = ?2 AND wrapped IS NOT NULL AND n < ifnull(
    (SELECT n FROM data_keys WHERE store = ?1 AND owner = ?2 AND id = ?3), 9223372036854775807)
"""
_LEFT = "SELECT owner, id, key_id, wrapped FROM data_keys WHERE store = ? AND wrapped IS NOT NULL"
_REWRAP = "UPDATE data_keys SET key_id = ?, wrapped = ? WHERE store = ? AND owner = ? AND id = ?"


class FileVault:
    """A :class:`~memstrata.ports.KeyVault` in a file that several processes may share."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file, or make it, readable by its user only.

        Args:
            path: The file; its directory must be there.

        Raises:
            ConfigurationError: If it is another program's.
            StoreError: If it cannot be opened.
        """
        file = Path(path).resolve()
        self.location = str(file)
        self._lock = threading.Lock()
        self._translating = Translating(str(file))
        with self._translating:
            if not file.exists():
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection: apsw.Connection | None = _opened(file)

    def __repr__(self) -> str:
        """Say where, not what is in it."""
        return f"FileVault({self.location!r})"

    def version(self) -> int:
        """See the port."""
        with self._lock, self._translating:
            connection = self._open
            # The first sees what others commit, the second what this connection does.
            return int(connection.pragma("data_version")) + (connection.total_changes() << 32)

    def keys(self, store: bytes, owner: bytes) -> tuple[DataKey, ...]:
        """See the port."""
        with self._lock, self._translating:
            return tuple(map(DataKey._make, self._open.execute(_KEYS, (store, owner))))

    def add(self, store: bytes, owner: bytes, key: DataKey) -> None:
        """See the port."""
        with self._lock, self._translating, self._open as connection:
            connection.execute(_ADD, (store, owner, *key))

    def destroy(self, store: bytes, owner: bytes, until: bytes) -> None:
        """See the port."""
        with self._lock, self._translating, self._open as connection:
            connection.execute(_DESTROY, (store, owner, until))

    def rewrap(self, store: bytes, change: Callable[[bytes, DataKey], DataKey]) -> int:
        """See the port."""
        done = 0
        with self._lock, self._translating, self._open as connection:
            found: list[Any] = connection.execute(_LEFT, (store,)).fetchall()
            for owner, *fields in found:
                key = DataKey._make(fields)
                made = change(owner, key)
                if made != key:
                    again = (made.key_id, made.wrapped, store, owner, key.id)
                    connection.execute(_REWRAP, again)
                    done += 1
        return done

    def close(self) -> None:
        """See the port."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def _open(self) -> apsw.Connection:
        if self._connection is None:
            raise apsw.ConnectionClosedError("the vault is closed")
        return self._connection


def _opened(file: Path) -> apsw.Connection:
    connection = apsw.Connection(str(file))
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    known = connection.pragma("application_id")
    if known not in (0, _APPLICATION_ID) or (known == 0 and connection.pragma("schema_version")):
        connection.close()
        raise ConfigurationError(f"key vault {file}: belongs to another program; name another file")
    connection.pragma("application_id", _APPLICATION_ID)
    # No log beside it, and a journal that goes once it was of use: what is destroyed here must be
    # in no file.
    connection.pragma("journal_mode", "delete")
    connection.pragma("secure_delete", 1)
    connection.pragma("synchronous", "extra")
    connection.execute(_TABLE)
    return connection
