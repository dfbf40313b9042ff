"""The files of a SQLite store: its mark, its copies, and what takes its place.

SQLite applies any whole log to any file, so that a file which somebody puts back by hand is mixed
with the log of the one before. The first write of a process that finds no log gives the file a new
mark, in its header (``user_version``), and notes it in the lock file. A backup is made while others
write, and put back while nobody has the store open.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from simonides.core.errors import (
    ConfigurationError,
    KeyUnavailable,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from simonides.storage.line import LockFile

BESIDE = ("-wal", "-shm")
"""Endings of the files of a write-ahead log."""


class Swap(NamedTuple):
    """A store that gets another content: files, or databases of a server.

    Attributes:
        place: The store's file, or its address without credentials.
        moved_to: What is called so later is what was there; None if nothing was.
        old: What opens that meanwhile; None without one.
        new: What opens that which takes its place.
        is_whole: Whether the old one can be read: it has its own log, or none, and this schema.
    """

    place: Path | str
    moved_to: Path | str | None
    old: Path | str | None
    new: Path | str
    is_whole: bool


_PAGE, _AT = 4096, 60
"""Bytes of the first page that are read, and where SQLite has the user version (its file format,
1.3)."""


def key_pragma(key: str | None) -> str | None:
    """Return the statement that gives a connection its key, or None without one.

    Raises:
        KeyUnavailable: If the key is empty.
        ConfigurationError: If the cipher is not installed.
    """
    if key is None:
        return None
    if not key:
        raise KeyUnavailable("the encryption key is empty")
    if not hasattr(apsw, "mc_version"):
        raise ConfigurationError(
            "encryption needs the package apsw-sqlite3mc, but apsw without a cipher is "
            "installed over it; run: pip uninstall apsw && "
            "pip install --force-reinstall apsw-sqlite3mc"
        )
    raw = f"raw:{key}" if re.fullmatch(r"[0-9a-fA-F]{64}", key) else key
    return "key = '{}'".format(raw.replace("'", "''"))


def raw_connection(path: Path | str, key_pragma: str | None) -> apsw.Connection:
    """Return a connection of the driver, with the key, which has read nothing yet."""
    raw = apsw.Connection(str(path))
    if key_pragma is not None:
        raw.execute(f"PRAGMA {key_pragma}")
    return raw


def copy(source: apsw.Connection, path: Path, key_pragma: str | None) -> None:
    """Copy everything to a new file under the same key, and check it before it gets its name.

    Raises:
        StoreCorrupt: If what was copied is damaged.
        OSError: If the file cannot be made.
    """
    partial = path.with_name(f"{path.name}.partial")
    _remove(partial)
    try:
        with closing(raw_connection(partial, key_pragma)) as target:
            partial.chmod(0o600)
            with target.backup("main", source, "main") as steps:
                while not steps.done:
                    steps.step(256)
            target.pragma("user_version", new_mark())
            [[found]] = target.execute("PRAGMA integrity_check(1)").fetchall()
            if found != "ok":
                raise StoreCorrupt(str(path), f"the copy is damaged: {found}")
        give_name(partial, path)
    finally:
        _remove(partial)


def give_name(partial: Path, path: Path) -> None:
    """Give a file that is whole its name; a power cut leaves all of it there, or nothing."""
    _sync(partial)
    partial.replace(path)
    _sync(path.parent)


def check_copy(path: Path, key_pragma: str | None) -> None:
    """Open a backup, without a change of its file or folder, and read all of it.

    Raises:
        StoreCorrupt: If it is damaged, or no store.
        KeyUnavailable: If the key is not that of the backup.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags)) as raw:
            if key_pragma is not None:
                raw.execute(f"PRAGMA {key_pragma}")
            [[found]] = raw.execute("PRAGMA integrity_check(1)").fetchall()
    except apsw.NotADBError:
        if key_pragma is not None:
            raise KeyUnavailable(f"{path}: the encryption key is wrong") from None
        raise StoreCorrupt(str(path), "is encrypted, or no SQLite database") from None
    except (apsw.CorruptError, apsw.IOError, apsw.CantOpenError) as error:
        raise StoreCorrupt(str(path), "is damaged; use another backup") from error
    if found != "ok":
        raise StoreCorrupt(str(path), f"is damaged: {found}")


@contextmanager
def swap(path: Path, backup: Path, key_pragma: str | None, wait_s: float) -> Iterator[Swap]:
    """Put a copy of a backup in the place of a store when the block has ended well.

    Nobody else opens the store meanwhile; a kill leaves the old one, or the new one.

    Args:
        path: The store's file; it need not be there.
        backup: Made by `copy`, or a whole store that was closed.
        key_pragma: Of both.
        wait_s: How long to wait for a writer, in seconds.

    Raises:
        StoreUnavailable: If others have the store open; nothing is changed.
        StoreCorrupt: If the backup is damaged, or no store.
        KeyUnavailable: If the key is not that of the backup.
    """
    new, lock = path.with_name(f"{path.name}.restored"), LockFile(str(path), wait_s)
    try:
        lock.acquire()
        old = _free_name(path) if path.exists() else None
        _copy_back(backup, new, key_pragma)
        with _at_rest(path, old, key_pragma, lock) as is_whole:
            yield Swap(path, old, old, new, is_whole)
        with closing(raw_connection(new, key_pragma)) as raw:
            mark = mark_of(raw)
        _sync(new)
        lock.marks = (lock.marks[1], mark)
        new.replace(path)
        _sync(path.parent)
        lock.marks = (mark, mark)
    finally:
        _remove(new)
        lock.close()


def _free_name(path: Path) -> Path:
    """Return a name beside a store that no file has, for the file that was there before."""
    names = (path.with_name(f"{path.name}.before-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _copy_back(backup: Path, new: Path, key_pragma: str | None) -> None:
    with closing(raw_connection(backup, key_pragma)) as source:
        try:
            source.pragma("schema_version")
            copy(source, new, key_pragma)
        except apsw.CorruptError as error:
            raise StoreCorrupt(str(backup), "is damaged; use another backup") from error
        except apsw.NotADBError:
            if key_pragma is None:
                problem = "is not a SQLite database, or it is encrypted and needs a key"
                raise StoreCorrupt(str(backup), problem) from None
            raise KeyUnavailable(f"{backup}: the encryption key is wrong") from None


@contextmanager
def _at_rest(
    path: Path, old: Path | None, key_pragma: str | None, lock: LockFile
) -> Iterator[bool]:
    """Let a store have no log, nobody who has it open, and a second name, for a block.

    The log of another file is moved aside. If the block fails, all is as it was.

    Returns:
        Whether what was there can be read: with its own log, or without any.
    """
    if old is None:
        yield True
        return
    is_kept, moved = False, list[str]()
    try:
        with closing(raw_connection(path, key_pragma)) as raw:
            is_own = not has_log(str(path)) or belongs(raw, lock)
            raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(not is_own))
        for ending in () if is_own else BESIDE:
            with suppress(FileNotFoundError):
                Path(f"{path}{ending}").rename(f"{old}{ending}.other")
                moved.append(ending)
        is_readable = _is_let_go(path, key_pragma)
        os.link(path, old)
        yield is_own and is_readable
        is_kept = True
    finally:
        _remove(old, itself=not is_kept)
        for ending in () if is_kept else moved:
            Path(f"{old}{ending}.other").rename(f"{path}{ending}")


def _is_let_go(path: Path, key_pragma: str | None) -> bool:
    """Return whether a store can be read, once nobody else has it open.

    Raises:
        StoreUnavailable: If others have it open.
    """
    with closing(raw_connection(path, key_pragma)) as raw:
        try:
            raw.pragma("journal_mode", "delete")  # only the last connection can
        except (apsw.NotADBError, apsw.CorruptError):
            return False  # damaged, or under another key
        except (apsw.BusyError, apsw.LockedError):
            problem = "others have it open: stop programs, `simonides serve` and `simonides mcp`"
            raise StoreUnavailable(str(path), problem) from None
    return True


def _remove(path: Path, *, itself: bool = True) -> None:
    """Remove what lies beside a file that was closed, and the file itself."""
    for ending in ("", *BESIDE, "-lock") if itself else (*BESIDE, "-lock"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def count_in(raw: apsw.Connection, marks: Mapping[int, bytearray]) -> int:
    """Return how many of some bytes are in a file, whatever its tables say.

    Args:
        raw: A connection of the file.
        marks: By a length, a multiple of 8, the bytes of that length, joined; they get sorted.
    """
    import numpy as np  # imported on first use: few commands need it here

    found = set[bytes]()
    for length, joined in marks.items():
        np.frombuffer(joined, f"S{length}").sort()
        heads = np.frombuffer(joined, ">u8")[:: length // 8].astype(np.uint64)
        for chunk in _chunks(raw) if joined else ():
            for shift in range(8):
                words = np.frombuffer(chunk, ">u8", (len(chunk) - shift) // 8, shift)
                words = words.astype(np.uint64)
                near = heads.searchsorted(words)
                is_near = heads[np.minimum(near, len(heads) - 1)] == words
                for place in np.flatnonzero(is_near).tolist():
                    at, first = 8 * place + shift, int(near[place])
                    last = int(heads.searchsorted(words[place], "right"))
                    same = (bytes(joined[n * length :][:length]) for n in range(first, last))
                    found.update(mark for mark in same if chunk.startswith(mark, at))
    return len(found)


def _chunks(raw: apsw.Connection) -> Iterator[bytes]:
    """Yield the pages of a file, some at a time, as they are under its cipher."""
    pages, size = raw.pragma("page_count"), raw.pragma("page_size")
    for first in range(0, pages, 256):
        numbers = range(first, min(first + 256, pages))
        yield b"".join(raw.read("main", 0, number * size, size)[1] for number in numbers)


# -- errors ----------------------------------------------------------------------------------------


def error_of(
    error: Exception, location: str, *, wait_s: float, has_key: bool
) -> StoreError | KeyUnavailable:
    """Return our error for one of SQLite's or the system's."""
    match error:
        case apsw.ConnectionClosedError():
            return StoreUnavailable(location, "the store is closed")
        case apsw.FullError() | OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return StoreFull(location, "no space is left")
        case apsw.BusyError() | apsw.LockedError():
            problem = f"another process held it for {wait_s:g} s"
            return StoreUnavailable(location, problem)
        case apsw.ReadOnlyError() | PermissionError() | OSError(errno=errno.EROFS):
            return StoreReadOnly(location, "the location is not writable")
        case apsw.NotADBError() if has_key:
            return KeyUnavailable(f"{location}: the encryption key is wrong")
        case apsw.NotADBError():
            problem = "is not a SQLite database, or it is encrypted and needs a key"
            return StoreCorrupt(location, problem)
        case apsw.CorruptError() | UnicodeDecodeError():
            return StoreCorrupt(location, "is damaged; restore a backup")
        case _:
            return StoreError(location, f"cannot be read or written: {error}")


# -- marks -----------------------------------------------------------------------------------------


def new_mark() -> int:
    """Return a mark that no file has yet."""
    return secrets.randbelow(2**31 - 1) + 1


def mark_of(raw: apsw.Connection) -> int:
    """Return the mark that is in the file itself, whatever a log says."""
    _, page = raw.read("main", 0, 0, _PAGE)
    return int.from_bytes(page[_AT : _AT + 4], "big")


def has_log(path: str) -> bool:
    """Whether a write-ahead log with content lies beside a file."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def belongs(raw: apsw.Connection, lock: LockFile) -> bool:
    """Whether a file has the mark that was noted last."""
    for _ in range(3):  # another process may renew it meanwhile
        noted = lock.marks
        try:
            if not any(noted) or mark_of(raw) in noted:
                return True
        except apsw.NotADBError:
            return False  # encrypted anew
    return False


def note(raw: apsw.Connection, lock: LockFile) -> None:
    """Note the mark of a file that had no log, wherever it came from."""
    if (mark := mark_of(raw)) == 0:
        renew(raw, lock)
    else:
        lock.marks = (mark, mark)


def renew(raw: apsw.Connection, lock: LockFile) -> None:
    """Give a file without a log a new mark; a kill meanwhile leaves both marks noted."""
    old, new = mark_of(raw), new_mark()
    lock.marks = (old, new)
    raw.pragma("user_version", new)
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if mark_of(raw) == new:
        lock.marks = (new, new)
