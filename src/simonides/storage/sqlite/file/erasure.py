"""Erasing an owner's rows from a SQLite file, and making sure that no byte of them is left in it.

SQLite overwrites what it deletes (``secure_delete``), in the log at first; the log is copied and
cut to nothing. When SQLite shifts rows between pages a copy may stay in a page's free space: so the
files are read as bytes, and if anything is found the database is written anew (``VACUUM``).
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import apsw

from simonides.domain.codecs.parts import PARTS
from simonides.domain.governance.erasure import (
    Look,
    LookedAt,
    Purged,
    Remainder,
)
from simonides.storage.schema.byte_search import Needles
from simonides.storage.schema.known_backups import known_backups
from simonides.storage.sqlite.file.schema import SQL
from simonides.storage.sqlite.file.write_queue import WriteQueue

STAYS = frozenset({"events", "event_payloads", "tombstones", "owner_keys"})
"""Parts of which rows stay: codes of the chain, fingerprints, and which
key was the first after an erasure."""

SUFFIXES = ("", "-wal", "-shm", "-journal", "-turn")
"""What SQLite and the line of writers lay beside a database, and the database itself."""

REMAINS = (
    Remainder(
        "device",
        "blocks that the file system or the drive gave up without overwriting them: copy-on-write "
        "file systems, snapshots, flash memory, and the temporary file of a rewrite",
        "until the device reuses them; full-disk encryption closes this",
    ),
    Remainder(
        "unknown_copies",
        "copies of the file that this store does not know of: backups made with other tools, "
        "exports, what was sent elsewhere",
        "until whoever made them deletes them",
    ),
)
"""What is out of the store's reach, whatever the file."""


def erase_rows(connection: apsw.Connection, owner: bytes) -> None:
    """Remove an owner's rows in every part, in the transaction that is open.

    Args:
        connection: With the transaction.
        owner: Digest.
    """
    for drop in _DROP:
        connection.execute(drop, {"owner": owner})
    connection.execute(SQL["blank_events"], {"owner": owner})


def fetch_counts(connection: apsw.Connection, owner: bytes) -> MappingProxyType[str, int]:
    """Return how many rows each part has that has any."""
    found = connection.execute(_COUNTS, {"owner": owner})
    return MappingProxyType({name: count for name, count in found if count})


_seeking = threading.Lock()  # a descriptor has one place, whoever reads


class Files:
    """The files of a store, open to be read byte by byte; see :meth:`WriteQueue.descriptor`."""

    def __init__(self, path: Path, turns: WriteQueue) -> None:
        """Open what is there; hold the turn."""
        named = [path.with_name(path.name + suffix) for suffix in SUFFIXES]
        self._open = {file: turns.descriptor(file) for file in named if file.exists()}

    def look(self, sought: Needles, rows: apsw.Connection) -> list[LookedAt]:
        """Look for needles in every file; without any, files are not read.

        Args:
            sought: What nobody should find any more.
            rows: Shows what is rightly there: that is no residue.
        """
        found = {file: _found(descriptor, sought) for file, descriptor in self._open.items()}
        hits: Counter[bytes] = sum((hits for _, hits in found.values()), Counter())
        too_many = hits - _in_rows(Needles(hits), rows) if hits else hits
        result = Look.CLEAN if sought else Look.EMPTIED
        looked = []
        for file, (size, of_file) in found.items():
            bad = sum((of_file & too_many).values())
            looked.append(LookedAt(str(file), size, Look.RESIDUE if bad else result, bad))
        return looked


def fetch_told(connection: apsw.Connection, owner: bytes) -> frozenset[tuple[int, bytes]]:
    """Return number and code of each event of an owner of which it is still known what it says."""
    return frozenset(connection.execute(_TOLD, {"owner": owner}))


def has_residue(looked: Sequence[LookedAt]) -> bool:
    """Whether anything was found in files."""
    return any(each.result is Look.RESIDUE for each in looked)


def purged(
    path: Path,
    owner: bytes,
    sought: Needles,
    looked: Sequence[LookedAt],
    *,
    told: frozenset[tuple[int, bytes]],
    is_empty: bool,
) -> Purged:
    """Return what came of it, with a look at the backups.

    Args:
        path: Of the database.
        owner: Digest, for backups: they are asked for its rows.
        sought: What nobody should find any more.
        looked: What was found in the files.
        told: Events of the owner that may say what they say, as that of the erasure does.
        is_empty: Whether the log was cut.
    """
    waits = [] if is_empty else ["log_in_use"]
    if is_empty and has_residue(looked):
        waits.append("residue")
    backups = [_backup(backup, owner, sought, told) for backup in known_backups(path)]
    waits += [f"backup:{each.path}" for each in backups if each.result is not Look.CLEAN]
    return Purged((*looked, *backups), tuple(waits), REMAINS)


def _found(descriptor: int, sought: Needles) -> tuple[int, Counter[bytes]]:
    size = os.fstat(descriptor).st_size

    def read(place: int, length: int) -> bytes:
        with _seeking:
            os.lseek(descriptor, place, os.SEEK_SET)
            return os.read(descriptor, length)

    return size, sought.found_by(read, size) if sought else Counter()


def _in_rows(sought: Needles, connection: apsw.Connection) -> Counter[bytes]:
    """Return how often needles stand in rows that are there."""
    found: Counter[bytes] = Counter()
    for table in _TABLES:
        for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - from PARTS
            for cell in row:
                if isinstance(cell, (bytes, str)):
                    text = cell if isinstance(cell, bytes) else cell.encode()
                    found += sought.found_in(text)
    return found


def _backup(
    path: Path, owner: bytes, sought: Needles, told: frozenset[tuple[int, bytes]]
) -> LookedAt:
    """Look at a backup: none of our connections has it open, so it may be opened and closed."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:

            def read(place: int, length: int) -> bytes:
                file.seek(place)
                return file.read(length)

            found = sum(sought.found_by(read, size).values()) if sought else 0
        rows = _rows_in(path, owner, told)
    except (OSError, apsw.Error):
        return LookedAt(str(path), 0, Look.UNREAD)
    if rows or found:
        return LookedAt(str(path), size, Look.RESIDUE, max(rows, found))
    return LookedAt(str(path), size, Look.CLEAN)


def _rows_in(path: Path, owner: bytes, told: frozenset[tuple[int, bytes]]) -> int:
    with path.open("rb") as file:
        if not file.read(16).startswith(b"SQLite format 3"):
            return 0
    name = f"file:{quote(str(path.resolve()))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(name, flags=flags)) as connection:
        counts = fetch_counts(connection, owner)
        left = sum(count for name, count in counts.items() if name not in STAYS)
        return left + len(fetch_told(connection, owner) - told)


# They differ in nothing but names, which are those of PARTS.
_TABLES = ("meta", "owners", *(p.name for p in PARTS if p.name != "event_payloads"), "leases")
_DROP = tuple(
    f"DELETE FROM {part.name} WHERE owner = :owner"  # noqa: S608 - from PARTS
    for part in PARTS
    if part.name not in STAYS
)
_TOLD = "SELECT seq, commitment FROM events WHERE owner = :owner AND payload IS NOT NULL"
_COUNTS = " UNION ALL ".join(
    f"SELECT '{part.name}', count(*) FROM {part.name} WHERE owner = :owner"  # noqa: S608 - from PARTS
    for part in PARTS
    if part.name != "owner_keys"  # says which key, and nothing of anybody
)
