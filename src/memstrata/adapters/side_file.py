"""A small SQLite file with one table, kept where the store is not, for several processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import apsw

from memstrata.adapters.sqlite_errors import Translating
from memstrata.domain.errors import ConfigurationError

# Chosen: its transactions write one small page each.
_BUSY_TIMEOUT_MS = 10_000


class SideFile:
    """Opens such a file, or makes it, readable by its user only; any thread may use it.

    Args:
        path: The file; its directory must be there.
        what: What it is called in errors.
        application_id: By which it is told from stores, and from other programs' files.
        table: The statement that makes its table where it is missing.
        journal_mode: SQLite's, ``wal`` or ``delete``.

    Attributes:
        location: The path, absolute.

    Raises:
        ConfigurationError: If it is another program's.
        StoreError: If it cannot be opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        what: str,
        application_id: int,
        table: str,
        journal_mode: Literal["wal", "delete"],
    ) -> None:
        file = Path(path).resolve()
        self.location = str(file)
        self._what = what
        self._lock = threading.Lock()
        self._translating = Translating(self.location)
        with self._translating:
            if not file.exists():
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection: apsw.Connection | None = self._opened(application_id)
            self._connection.pragma("journal_mode", journal_mode)
            self._connection.execute(table)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Hold the connection.

        Raises:
            StoreError: As SQLite says, or if it is closed.
        """
        with self._lock, self._translating:
            if self._connection is None:
                raise apsw.ConnectionClosedError(f"the {self._what} is closed")
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Hold the connection, with a transaction.

        Raises:
            StoreError: As for :meth:`reading`.
        """
        with self.reading() as connection, connection:
            yield connection

    def close(self) -> None:
        """Close it; twice does no harm."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _opened(self, application_id: int) -> apsw.Connection:
        connection = apsw.Connection(self.location)
        connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
        known = connection.pragma("application_id")
        is_strange = known == 0 and connection.pragma("schema_version")
        if is_strange or known not in (0, application_id):
            connection.close()
            raise ConfigurationError(
                f"{self._what} {self.location}: belongs to another program; name another file"
            )
        connection.pragma("application_id", application_id)
        # What was deleted is overwritten.
        connection.pragma("secure_delete", 1)
        connection.pragma("synchronous", "extra")
        return connection
