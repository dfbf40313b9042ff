"""A small SQLite database with one table, kept beside the store: in a file for several processes,
or in memory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import apsw

from simonides.domain.errors import (
    ConfigurationError,
    SimonidesError,
    StoreCorrupt,
    StoreReadOnly,
    StoreUnavailable,
)
from simonides.storage.sqlite.file.errors import translated
from simonides.storage.sqlite.file.schema import IN_MEMORY

JournalMode = Literal["wal", "delete"]

FORMAT = 0
"""Number of the format of these files; one that carries a higher number is a newer program's."""


class SideKind(NamedTuple):
    """What a side file is, for whoever reads its errors.

    Attributes:
        what: What it is called.
        if_damaged: What to do where it is damaged, or a newer program's.
        if_foreign: What to do where it is another program's.
    """

    what: str
    if_damaged: str
    if_foreign: str = "name another file"


# Chosen: its transactions write one small page each.
_BUSY_TIMEOUT_MS = 10_000


class SideDatabase:
    """Such a database, open; any thread may use it.

    Args:
        location: Where it is.
        kind: What it is.
        connection: To it; closed with it.
    """

    def __init__(self, location: str, kind: SideKind, connection: apsw.Connection) -> None:
        self.location = location
        self._kind = kind
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Hold the connection.

        Raises:
            StoreError: As SQLite says, or if it is closed.
        """
        with self._lock, _told(self.location, self._kind):
            if self._connection is None:
                raise apsw.ConnectionClosedError(f"the {self._kind.what} is closed")
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


class SideFile(SideDatabase):
    """Opens such a file, or makes it, readable by its user only; any thread may use it.

    Args:
        path: The file; its directory must be there.
        kind: What it is.
        application_id: By which it is told from stores, and from other programs' files.
        table: The statement that makes its table where it is missing.
        journal_mode: SQLite's, ``wal`` or ``delete``.

    Attributes:
        location: The path, absolute.

    Raises:
        ConfigurationError: If it is another program's.
        StoreError: If it cannot be opened; ``StoreCorrupt``, with what to do, if it is damaged or a
            newer program's.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        kind: SideKind,
        application_id: int,
        table: str,
        journal_mode: JournalMode,
    ) -> None:
        file = Path(path).resolve()
        with _told(str(file), kind):
            if file.exists() and not file.is_file():
                problem = f"is no file; {kind.if_foreign}"
                raise ConfigurationError(f"{kind.what} {file}: {problem}")
            if not file.exists():
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            connection = _opened(file, kind, application_id, table, journal_mode)
        super().__init__(str(file), kind, connection)


def _opened(
    file: Path, kind: SideKind, application_id: int, table: str, journal_mode: JournalMode
) -> apsw.Connection:
    with ExitStack() as undo:
        connection = apsw.Connection(str(file))
        undo.callback(connection.close)
        connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
        # What was deleted is overwritten.
        connection.pragma("secure_delete", 1)
        connection.pragma("synchronous", "extra")
        # One after the other: whoever looks while another makes it would take it for a third's.
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            _check_ours(connection, file, kind, application_id)
            if connection.pragma("application_id") != application_id:
                connection.pragma("application_id", application_id)
            connection.execute(table)
        connection.execute("COMMIT")
        if connection.pragma("journal_mode") != journal_mode:
            connection.pragma("journal_mode", journal_mode)
        undo.pop_all()
    return connection


def _check_ours(
    connection: apsw.Connection, file: Path, kind: SideKind, application_id: int
) -> None:
    known = connection.pragma("application_id")
    is_strange = known == 0 and connection.pragma("schema_version")
    if is_strange or known not in (0, application_id):
        problem = f"belongs to another program; {kind.if_foreign}"
        raise ConfigurationError(f"{kind.what} {file}: {problem}")
    if (format_ := connection.pragma("user_version")) > FORMAT:
        newer = f"the {kind.what} has format {format_}, of a newer simonides; update this one"
        raise StoreCorrupt(str(file), newer)


class LateSideFile:
    """Such a file that is made when the first row is to be written: what was looked for and not
    found leaves nothing behind. Any thread may use it.

    Args:
        path: As for :class:`SideFile`, like the rest.
        kind: See there.
        application_id: See there.
        table: See there.
        journal_mode: See there.

    Attributes:
        path: Absolute.

    Raises:
        ConfigurationError: If it is there and another program's.
        StoreError: If it is there and cannot be opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        kind: SideKind,
        application_id: int,
        table: str,
        journal_mode: JournalMode,
    ) -> None:
        self.path = Path(path).resolve()
        self._kind = kind
        self._make = partial(
            SideFile,
            self.path,
            kind=kind,
            application_id=application_id,
            table=table,
            journal_mode=journal_mode,
        )
        self._lock = threading.Lock()
        self._is_closed = False
        self._known: SideFile | None = None
        self.found()

    def found(self) -> SideFile | None:
        """Return the file, where anybody has made it.

        Raises:
            StoreError: As for :class:`SideFile`, or if it is closed.
        """
        with self._lock:
            self._check_open()
            with _told(str(self.path), self._kind):
                is_there = self._known is not None or self.path.exists()
            if self._known is None and is_there:
                self._known = self._make()
            return self._known

    def opened(self) -> SideFile:
        """Return the file, made now if nobody has; errors as of :meth:`found`."""
        with self._lock:
            self._check_open()
            self._known = self._known or self._make()
            return self._known

    def close(self) -> None:
        """Close it; twice does no harm."""
        with self._lock:
            self._is_closed = True
            if self._known is not None:
                self._known.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreUnavailable(str(self.path), f"the {self._kind.what} is closed")


class LateSideMemory:
    """Such a database in memory, made when the first row is to be written; any thread may use it.

    Args:
        kind: What it is.
        table: The statement that makes its table.
    """

    path = None

    def __init__(self, *, kind: SideKind, table: str) -> None:
        self._kind = kind
        self._table = table
        self._lock = threading.Lock()
        self._is_closed = False
        self._known: SideDatabase | None = None

    def found(self) -> SideDatabase | None:
        """Return the database if there is one.

        Raises:
            StoreError: If it is closed.
        """
        if self._is_closed:
            raise StoreUnavailable(IN_MEMORY, f"the {self._kind.what} is closed")
        return self._known

    def opened(self) -> SideDatabase:
        """Return the database, made now if there is none; errors as of :meth:`found`."""
        with self._lock:
            if (known := self.found()) is None:
                connection = apsw.Connection(IN_MEMORY)
                connection.pragma("temp_store", "memory")
                connection.pragma("secure_delete", 1)
                connection.execute(self._table)
                known = self._known = SideDatabase(IN_MEMORY, self._kind, connection)
            return known

    def close(self) -> None:
        """Close it; all rows are gone. Twice does no harm."""
        with self._lock:
            self._is_closed = True
            if self._known is not None:
                self._known.close()


@contextmanager
def _told(location: str, kind: SideKind) -> Iterator[None]:
    """Raise errors of ours from those of vendors, each with what can be done about it."""
    try:
        yield
    except SimonidesError:
        # Some of ours are also the system's kind.
        raise
    except (apsw.Error, OSError, UnicodeDecodeError) as error:
        told = translated(location, error, what=kind.what)
        problem = str(told).removeprefix(f"{location}: ")
        if isinstance(told, StoreCorrupt):
            raise StoreCorrupt(location, f"{problem}; {kind.if_damaged}") from error
        if isinstance(told, StoreReadOnly):
            problem = f"the {kind.what} {problem}; let the user of this program read and write it"
            raise StoreReadOnly(location, problem) from error
        raise told from error
