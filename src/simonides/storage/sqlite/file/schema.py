"""Opening a database file: is it ours, is it safe to write, is its schema the one that we know.

Nothing here depends on how much is stored. A path at which nothing is becomes a store that only
its user may read; a file that holds anything else is left as it is.
"""

import os
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import apsw

from simonides.domain.errors import StoreCorrupt, StoreReadOnly, StoreUnavailable
from simonides.storage.schema.owner_ids import TAG_KEY_BYTES, Secrets
from simonides.storage.schema.sql_files import Migration, load_migrations, load_queries
from simonides.storage.sqlite.file.errors import READ_ONLY

Synchronous = Literal["full", "normal"]

Connect = Callable[[str, int], apsw.Connection]
"""From the name of a file and the flags of :class:`apsw.Connection` to a connection."""

SQL_DIRECTORY = Path(__file__).parents[1] / "sql"

IN_MEMORY = ":memory:"
"""Where a store is that lies in memory: SQLite's own name for it."""

# "simo" in the header of every store, so that another program's database is never taken for one.
APPLICATION_ID = 0x73696D6F

# A write touches a page of eight tables, and logs each whole: 16 KiB took a tenth longer to commit.
# An owner's rows are read as fast as at 16 KiB; at 4 KiB, where many need a second page, a half
# slower (measured).
PAGE_BYTES = 8192

# What the writer keeps of the file. Each write touches a page of eight tables: with SQLite's 2 MB
# the pages of a hundred owners did not fit, and a write took 0.2 ms longer (measured).
CACHE_KIB = 16 * 1024

# Prepared statements kept by the one connection of a store in memory: all that there are. With
# apsw's 100 a session's end prepared twenty of them anew (measured).
STATEMENTS = 512

_SALT_BYTES = 16
_SYNCHRONOUS: Mapping[str, int] = {"normal": 1, "full": 2}
_creating = threading.Lock()


SQL = load_queries((SQL_DIRECTORY / "queries.sql").read_text("utf-8"))


def holds_bytes(path: Path) -> bool:
    """Whether anything is at ``path``, but for an empty file: no store begins as one.

    Raises:
        OSError: If the system refuses to say.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return status.st_size > 0 or not path.is_file()


def check_possible(path: Path) -> None:
    """Check that a file can be made at a path at which nothing is, but for directories' rights.

    Raises:
        StoreUnavailable: If something above it is not a directory.
    """
    above = next(parent for parent in path.parents if parent.exists())
    if not above.is_dir():
        raise StoreUnavailable(str(path), f"{above} is not a directory; name a path in one")


def prepare_file(path: Path) -> None:
    """See to it that a store, or an empty file, is at ``path`` and can be written.

    Missing directories are made; a new file can be read by its user only. An existing file is
    looked at through SQLite alone: opening and closing it otherwise would drop the record locks
    that other connections of this process hold on it.

    Raises:
        StoreCorrupt: If something else is there; it is not touched.
        StoreReadOnly: If the file may not be read and written.
        OSError: If the system refuses.
        apsw.Error: As SQLite says.
    """
    check_possible(path)
    _make_directory(path)
    with _creating:
        if not path.exists():
            try:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            except OSError as error:
                _refuse(
                    error,
                    path,
                    f"no file can be made in {path.parent}; let the user of this program write "
                    "there, or name another path",
                )
                raise
    if not path.is_file():
        raise StoreUnavailable(str(path), "there is something that is not a file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise StoreReadOnly(str(path), "the file may not be read and written")
    if path.stat().st_size:
        _check_ours(path)


def _make_directory(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"its directory cannot be made; make {path.parent} yourself, or name another path"
        _refuse(error, path, problem)
        raise


def _refuse(error: OSError, path: Path, problem: str) -> None:
    """Say what to do about an error of the system if the place may not be written.

    Raises:
        StoreReadOnly: If it may not.
    """
    if error.errno in READ_ONLY:
        raise StoreReadOnly(str(path), problem) from error


def _check_ours(path: Path) -> None:
    # Immutable: without locks, and without the files that SQLite would lay beside a log.
    name = f"file:{quote(str(path))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(name, flags=flags)) as connection:
        try:
            check_application(connection, path)
        except apsw.CorruptError:
            # A process that was killed while it copied the log leaves the file cut: the log has the
            # rest, and is read without ``immutable`` only.
            if not holds_bytes(Path(f"{path}-wal")):
                raise
        else:
            return
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        check_application(connection, path)


def check_application(connection: apsw.Connection, path: Path) -> None:
    """Check that a file is a store.

    Raises:
        StoreCorrupt: If it is something else.
    """
    if connection.pragma("application_id") != APPLICATION_ID:
        raise StoreCorrupt(str(path), "the file belongs to another program")


def open_writer(
    path: Path,
    connect: Connect,
    *,
    synchronous: Synchronous,
    busy_timeout_s: float,
    keys: Secrets | None = None,
) -> apsw.Connection:
    """Open the connection that writes, making or migrating the schema; call it under the turn.

    Args:
        path: The file.
        connect: Makes connections.
        synchronous: SQLite's.
        busy_timeout_s: Seconds that a write waits for its turn.
        keys: Of the digests of a new store; None draws them.

    Raises:
        StoreCorrupt: If the schema is newer than this program, or not ours.
        apsw.Error: As SQLite says.
    """
    with ExitStack() as undo:
        connection = _opened(path, connect, busy_timeout_s)
        undo.callback(connection.close)
        if connection.readonly("main"):
            raise StoreReadOnly(str(path), "the file cannot be written")
        if connection.pragma("page_count") == 0:
            _set(connection, "page_size", PAGE_BYTES)
            # The first write to the file: from here on it can be told from a stranger's.
            _set(connection, "application_id", APPLICATION_ID)
        check_application(connection, path)
        _set(connection, "journal_mode", "wal")
        _set(connection, "synchronous", synchronous, _SYNCHRONOUS[synchronous])
        _set(connection, "secure_delete", 1)
        connection.pragma("cache_size", -CACHE_KIB)
        _migrate(connection, str(path), keys or draw_secrets())
        undo.pop_all()
    return connection


def open_reader(path: Path, connect: Connect, *, busy_timeout_s: float) -> apsw.Connection:
    """Open a connection that only reads.

    Raises:
        apsw.Error: As SQLite says.
    """
    connection = _opened(path, connect, busy_timeout_s)
    _set(connection, "query_only", 1)
    return connection


def open_in_memory(keys: Secrets) -> apsw.Connection:
    """Open a new, empty store in the memory of this process.

    Args:
        keys: Of its digests.

    Raises:
        apsw.Error: As SQLite says.
    """
    with ExitStack() as undo:
        connection = apsw.Connection(IN_MEMORY, statementcachesize=STATEMENTS)
        undo.callback(connection.close)
        _configure(connection)
        # Sorting and VACUUM would use temporary files otherwise.
        _set(connection, "temp_store", 2)
        _set(connection, "page_size", PAGE_BYTES)
        with closing(apsw.Connection(IN_MEMORY)) as empty:
            empty.deserialize("main", _empty_store())
            with connection.backup("main", empty, "main") as copying:
                copying.step()
        _set(connection, "secure_delete", 1)
        for name, value in keys._asdict().items():
            connection.execute(SQL["put_meta"], {"name": name, "value": value})
        undo.pop_all()
    return connection


@cache
def _empty_store() -> bytes:
    """Return an empty store as the bytes of a file: copying it is ten times as fast as running the
    migrations (measured).
    """
    with closing(apsw.Connection(IN_MEMORY)) as connection:
        _set(connection, "page_size", PAGE_BYTES)
        _set(connection, "application_id", APPLICATION_ID)
        _migrate(connection, IN_MEMORY, draw_secrets())
        return connection.serialize("main")


def draw_secrets() -> Secrets:
    """Return random keys for the digests of a new store."""
    return Secrets(secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(TAG_KEY_BYTES))


def read_secrets(connection: apsw.Connection) -> Secrets:
    """Return the keys of the store's digests.

    Raises:
        StoreCorrupt: If one is missing: without it no row of any owner can be found again.
    """
    named = {name: connection.execute(SQL["meta"], {"name": name}).get for name in Secrets._fields}
    lost = [name for name, value in named.items() if not isinstance(value, bytes)]
    if lost:
        raise StoreCorrupt(connection.filename, f"the store has lost its {lost[0]}; restore it")
    return Secrets(**named)


def _opened(path: Path, connect: Connect, busy_timeout_s: float) -> apsw.Connection:
    connection = connect(str(path), apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(int(busy_timeout_s * 1000))
    _configure(connection)
    return connection


def _configure(connection: apsw.Connection) -> None:
    _set(connection, "trusted_schema", 0)
    _set(connection, "cell_size_check", 1)
    # Statements are planned once. Else one that joins is planned anew for each value bound to it:
    # four times what looking a row up takes (measured).
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _set(connection: apsw.Connection, name: str, value: str | int, shown: Any = None) -> None:
    """Set one pragma and read it back: SQLite ignores what it does not like without a word."""
    connection.pragma(name, value)
    wanted, got = value if shown is None else shown, connection.pragma(name)
    if got != wanted:
        raise StoreUnavailable(
            connection.filename, f"SQLite keeps {name} at {got!r}, {wanted!r} is needed"
        )


def _migrate(connection: apsw.Connection, location: str, keys: Secrets) -> None:
    known = load_migrations(SQL_DIRECTORY)
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = _check_done(connection, location, known)
        for migration in known[done:]:
            _run(connection, migration, keys)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_done(connection: apsw.Connection, location: str, known: tuple[Migration, ...]) -> int:
    """Return how many migrations were run, all of them the ones that we know."""
    format_ = connection.pragma("user_version")
    if format_ > len(known):
        raise StoreCorrupt(
            location, f"format {format_} is newer than {len(known)}; use a newer simonides"
        )
    if format_ == 0:
        if connection.pragma("schema_version"):
            raise StoreCorrupt(location, "there are tables, but no migration was recorded")
        return 0
    recorded = connection.execute(SQL["migrations"]).fetchall()
    if recorded != [migration[:3] for migration in known[:format_]]:
        raise StoreCorrupt(location, "the recorded migrations are not those of this program")
    return int(format_)


def _run(connection: apsw.Connection, migration: Migration, keys: Secrets) -> None:
    for _ in connection.execute(migration.sql):
        pass
    if migration.number == 1:
        for name, value in keys._asdict().items():
            connection.execute(SQL["add_meta"], {"name": name, "value": value})
    recorded = {
        "number": migration.number,
        "name": migration.name,
        "checksum": migration.checksum,
    }
    connection.execute(SQL["add_migration"], recorded)
    _set(connection, "user_version", migration.number)
