"""Records in a small SQLite database of their own: in a file beside the store, or in memory."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import apsw

from simonides.domain.governance.erasure import Look, LookedAt, Purged
from simonides.domain.governance.safety_record import KeptRecord, Shelf
from simonides.ports import After
from simonides.storage.schema.byte_search import Needles
from simonides.storage.schema.sql_files import load_queries
from simonides.storage.sidecar.records_codec import columns_of, records_of, sealed_anew
from simonides.storage.sidecar.side_file import (
    LateSideFile,
    LateSideMemory,
    SideDatabase,
    SideKind,
)
from simonides.storage.sqlite.file.schema import IN_MEMORY

if TYPE_CHECKING:
    from simonides.storage.sidecar.records_codec import RecordSeal

# "simS": neither a store nor another program's file is taken for records.
_APPLICATION_ID = 0x73696D53

_STATEMENTS = Path(__file__).parents[1] / "sqlite" / "sql" / "records.sql"
_SQL = load_queries(_STATEMENTS.read_text("utf-8"))

RESIDUE = "records_residue"

_AWAY = (
    "move it away and open the store again: the memories are in the store's own file, and a new "
    "file of records begins with the next one (docs/privacy.md)"
)
_KIND = SideKind("file of safety records", if_damaged=_AWAY, if_foreign=_AWAY)


class SqliteRecords:
    """A :class:`~simonides.ports.RecordStore` in a file that several processes may share, or in
    memory.

    Attributes:
        location: The path, absolute; or ``:memory:``.
    """

    def __init__(self, file: LateSideFile | LateSideMemory, seal: RecordSeal | None) -> None:
        """For :meth:`open` and :meth:`in_memory`."""
        self._file = file
        self._seal = seal
        self.location = IN_MEMORY if file.path is None else str(file.path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, seal: RecordSeal | None = None) -> Self:
        """Open the file where there is one; the first record makes it, readable by its user only.

        Args:
            path: The file; its directory must be there.
            seal: What seals bodies; None keeps them in plain.

        Raises:
            ConfigurationError: If it is another program's.
            StoreError: If it cannot be opened; ``StoreCorrupt`` says what to do with a damaged one.
        """
        # No log beside it: what goes must be in no file.
        file = LateSideFile(
            path,
            kind=_KIND,
            application_id=_APPLICATION_ID,
            table=_SQL["records_table"],
            journal_mode="delete",
        )
        return cls(file, seal)

    @classmethod
    def in_memory(cls) -> Self:
        """Return records in the memory of this process, gone when they are closed."""
        return cls(LateSideMemory(kind=_KIND, table=_SQL["records_table"]), None)

    def add(self, shelf: Shelf, record: KeptRecord, *, before: int) -> None:
        """See the port."""
        row = columns_of(shelf, record, self._seal)
        with self._file.opened().writing() as connection:
            connection.execute(_SQL["records_purge"], {"shelf": shelf.value, "before": before})
            connection.execute(_SQL["records_add"], row)

    def page(
        self,
        shelf: Shelf,
        *,
        since: int,
        subject: bytes | None = None,
        after: After | None = None,
        limit: int = 1000,
    ) -> tuple[KeptRecord, ...]:
        """See the port."""
        if (file := self._file.found()) is None:
            return ()
        asked: dict[str, Any] = {
            "shelf": shelf.value,
            "since": since,
            "subject": subject,
            "after_at": None if after is None else after.at,
            "after_id": None if after is None else after.id,
            "limit": max(limit, 0),
        }
        with file.reading() as connection:
            found: list[Any] = connection.execute(_SQL["records_page"], asked).fetchall()
        return records_of(self.location, shelf, found, self._seal)

    def purge(self, shelf: Shelf, *, before: int | None) -> int:
        """See the port."""
        if (file := self._file.found()) is None:
            return 0
        with file.writing() as connection:
            connection.execute(_SQL["records_purge"], {"shelf": shelf.value, "before": before})
            return connection.changes()

    def forget(self, subject: bytes) -> Purged:
        """See the port."""
        if (file := self._file.found()) is None:
            return Purged()
        with file.writing() as connection:
            named = {"subject": subject}
            bodies = [body for (body,) in connection.execute(_SQL["records_of_subject"], named)]
            connection.execute(_SQL["records_forget"], named)
        if self._file.path is None:
            return Purged()
        sought = Needles([subject, *bodies])
        looked = self._looked(file, sought)
        if looked.found:
            # SQLite overwrites what it deletes; a copy may stay where it moved rows.
            with file.reading() as connection:
                connection.execute("VACUUM")
            looked = self._looked(file, sought)
        return Purged((looked,), (RESIDUE,) if looked.found else ())

    def rewrap(self) -> int:
        """See the port."""
        if self._seal is None or (file := self._file.found()) is None:
            return 0
        asked = {"current": self._seal.current}
        with file.writing() as connection:
            found: list[Any] = [*connection.execute(_SQL["records_sealed_otherwise"], asked)]
            made = sealed_anew(self.location, found, self._seal)
            connection.executemany(_SQL["records_seal"], made)
        return len(made)

    def close(self) -> None:
        """See the port."""
        self._file.close()

    def _looked(self, file: SideDatabase, sought: Needles) -> LookedAt:
        with file.reading(), closing(_Bytes(self.location)) as read:
            found = sought.found_by(read, read.size).total()
        return LookedAt(self.location, read.size, Look.RESIDUE if found else Look.CLEAN, found)


class _Bytes:
    """A file read as SQLite reads it: closing it leaves alone the locks that other connections of
    this process hold on it, which closing it otherwise would drop.
    """

    def __init__(self, path: str) -> None:
        flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
        self._file = apsw.VFSFile("", path, flags)
        self.size = self._file.xFileSize()

    def __call__(self, place: int, length: int) -> bytes:
        return self._file.xRead(max(min(length, self.size - place), 0), place)

    def close(self) -> None:
        self._file.xClose()
