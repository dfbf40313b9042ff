"""An anchor in a small SQLite file of its own, which lies where the store does not."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

import apsw

from memstrata.adapters.sqlite_errors import Translating
from memstrata.domain.errors import ConfigurationError
from memstrata.ports import Anchored

# "mstA": neither a store nor another program's file is taken for an anchor.
_APPLICATION_ID = 0x6D737441

# Chosen: its transactions write one small page each.
_BUSY_TIMEOUT_MS = 10_000

_TABLE = """
CREATE TABLE IF NOT EXISTS anchors (
    store BLOB NOT NULL,
    owner BLOB NOT NULL,
    incarnation BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (store, owner)
) STRICT, WITHOUT ROWID
"""
_LAST = "SELECT incarnation, epoch, revision FROM anchors WHERE store = ? AND owner = ?"
_PUT = "REPLACE INTO anchors (store, owner, incarnation, epoch, revision) VALUES (?, ?, ?, ?, ?)"
_ADVANCE = """
INSERT INTO anchors (store, owner, incarnation, epoch, revision) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (store, owner) DO UPDATE SET incarnation = excluded.incarnation,
    epoch = excluded.epoch, revision = excluded.revision
WHERE anchors.incarnation <> excluded.incarnation
    OR (excluded.epoch, excluded.revision) > (anchors.epoch, anchors.revision)
"""


class FileAnchor:
    """An :class:`~memstrata.ports.Anchor` in a file that several processes may share."""

    def __init__(self, path: str | os.PathLike[str], *, beside: Path | None = None) -> None:
        """Open the file, or make it, readable by its user only.

        Args:
            path: The file; its directory must be there.
            beside: The store's file, or None where it has none here.

        Raises:
            ConfigurationError: If it would lie in the store's directory: whoever puts an older copy
                of that back would put the anchor back with it.
            StoreError: If it cannot be opened, or is another program's.
        """
        file = Path(path).resolve()
        if beside is not None and beside.resolve().parent in (file.parent, *file.parents):
            raise ConfigurationError(
                f"anchor {file}: lies with the store, and would be put back with an older copy of "
                "it; name a place elsewhere, on another disk or machine if there is one"
            )
        self._lock = threading.Lock()
        self._translating = Translating(str(file))
        with self._translating:
            if not file.exists():
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection: apsw.Connection | None = _opened(file)

    def last(self, store: bytes, owner: bytes) -> Anchored | None:
        """See the port."""
        with self._lock, self._translating:
            found = self._open.execute(_LAST, (store, owner)).fetchone()
        return None if found is None else Anchored._make(found)

    def advance(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """See the port."""
        self._write(_ADVANCE, store, stands)

    def put(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """See the port."""
        self._write(_PUT, store, stands)

    def close(self) -> None:
        """See the port."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _write(self, statement: str, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        with self._lock, self._translating:
            connection = self._open
            with connection:
                rows = [(store, owner, *stood) for owner, stood in stands.items()]
                connection.executemany(statement, rows)

    @property
    def _open(self) -> apsw.Connection:
        if self._connection is None:
            raise apsw.ConnectionClosedError("the anchor is closed")
        return self._connection


def _opened(file: Path) -> apsw.Connection:
    connection = apsw.Connection(str(file))
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    known = connection.pragma("application_id")
    if known not in (0, _APPLICATION_ID) or (known == 0 and connection.pragma("schema_version")):
        connection.close()
        raise ConfigurationError(f"anchor {file}: belongs to another program; name another file")
    connection.pragma("application_id", _APPLICATION_ID)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.execute(_TABLE)
    return connection
