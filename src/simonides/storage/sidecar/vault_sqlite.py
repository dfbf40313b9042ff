"""A vault of data keys in a small SQLite file of its own, which is in no copy of the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from simonides.ports import DataKey
from simonides.storage.sidecar.side_file import LateSideFile, SideKind

# "simK": neither a store nor another program's file is taken for a vault.
_APPLICATION_ID = 0x73696D4B

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
_HOLDS = "SELECT EXISTS (SELECT 1 FROM data_keys WHERE store = ?)"
_ADD = """
INSERT INTO data_keys (store, owner, n, id, key_id, wrapped)
SELECT ?1, ?2, ifnull(max(n), 0) + 1, ?3, ?4, ?5 FROM data_keys WHERE store = ?1 AND owner = ?2
"""
_DESTROY = """
UPDATE data_keys SET wrapped = NULL
WHERE store = ?1 AND owner = ?2 AND wrapped IS NOT NULL
    AND n < (SELECT n FROM data_keys WHERE store = ?1 AND owner = ?2 AND id = ?3)
"""
_LEFT = "SELECT owner, id, key_id, wrapped FROM data_keys WHERE store = ? AND wrapped IS NOT NULL"
_REWRAP = "UPDATE data_keys SET key_id = ?, wrapped = ? WHERE store = ? AND owner = ? AND id = ?"


_KIND = SideKind(
    "key vault",
    if_damaged="put a copy of it back: without it nobody reads the store (docs/privacy.md)",
)


class FileVault:
    """A :class:`~simonides.ports.KeyVault` in a file that several processes may share."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file where there is one.

        Args:
            path: The file; its directory must be there. It is made, readable by its user only, when
                the first key is put in: a vault that was not found leaves nothing behind.

        Raises:
            ConfigurationError: If it is another program's.
            StoreError: If it cannot be opened.
        """
        # No log beside it: what is destroyed here must be in no file.
        self._file = LateSideFile(
            path,
            kind=_KIND,
            application_id=_APPLICATION_ID,
            table=_TABLE,
            journal_mode="delete",
        )

    def __repr__(self) -> str:
        """Say where, not what is in it."""
        return f"FileVault({str(self._file.path)!r})"

    def version(self) -> int:
        """See the port."""
        if (file := self._file.found()) is None:
            return 0
        with file.reading() as connection:
            # The first sees what others commit, the second what this connection does.
            return int(connection.pragma("data_version")) + (connection.total_changes() << 32)

    def keys(self, store: bytes, owner: bytes) -> tuple[DataKey, ...]:
        """See the port."""
        if (file := self._file.found()) is None:
            return ()
        with file.reading() as connection:
            return tuple(map(DataKey._make, connection.execute(_KEYS, (store, owner))))

    def holds(self, store: bytes) -> bool:
        """See the port."""
        if (file := self._file.found()) is None:
            return False
        with file.reading() as connection:
            return bool(connection.execute(_HOLDS, (store,)).get)

    def add(self, store: bytes, owner: bytes, key: DataKey) -> None:
        """See the port."""
        with self._file.opened().writing() as connection:
            connection.execute(_ADD, (store, owner, *key))

    def destroy(self, store: bytes, owner: bytes, until: bytes) -> None:
        """See the port."""
        if (file := self._file.found()) is None:
            return
        with file.writing() as connection:
            connection.execute(_DESTROY, (store, owner, until))

    def rewrap(self, store: bytes, change: Callable[[bytes, DataKey], DataKey]) -> int:
        """See the port."""
        if (file := self._file.found()) is None:
            return 0
        done = 0
        with file.writing() as connection:
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
        self._file.close()
