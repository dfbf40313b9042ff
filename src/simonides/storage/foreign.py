"""The table of a LangGraph store, in a SQLite file or in PostgreSQL: read, and never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from simonides.core.errors import InvalidInput, shown

_ITEMS = "SELECT * FROM store ORDER BY prefix, key"
_IN_SQLITE = "SELECT name FROM pragma_table_info('store') ORDER BY cid"
_IN_POSTGRES = """SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('store')
  AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""

_HEAD, _WAL = b"SQLite format 3\0", b"\2"
"""How a file of SQLite begins, and its version for writing in WAL mode (its file format, 1.3)."""

_COLUMNS = ("prefix", "key", "value")
_TIMES = ("created_at", "updated_at", "expires_at")


def is_sqlite(path: Path) -> bool:
    """Whether a file is one of SQLite.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as stream:
        return stream.read(len(_HEAD)) == _HEAD


def items_in_file(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a LangGraph store in a SQLite file, by namespace and key.

    Raises:
        InvalidInput: If the file is damaged, or has no such table.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    place = f"file:{quote(str(path.absolute()))}?{_mode(path)}"
    try:
        with closing(apsw.Connection(place, flags)) as raw:
            names = _checked(raw.execute(_IN_SQLITE).fetchall(), path.name)
            for row in raw.execute(_ITEMS):
                yield _item(names, row)
    except apsw.Error as error:
        raise InvalidInput("path", f"cannot read {shown(path.name)}: {error}") from error


def _mode(path: Path) -> str:
    """Return how a file is opened so that nothing appears beside it.

    A reader of WAL mode makes a log if there is none; in the other mode it only locks the file.
    """
    with path.open("rb") as stream:
        version = stream.read(19)[18:]
    has_no_log = version == _WAL and not Path(f"{path}-wal").exists()
    return "immutable=1" if has_no_log else "mode=ro"


def items_in_postgres(url: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a LangGraph store in PostgreSQL, by namespace and key.

    Args:
        url: Address of its database.

    Raises:
        InvalidInput: If the database has no such table.
        MissingExtra: If the driver is not installed.
        StoreError: If the database cannot be read.
    """
    from simonides.storage import postgres

    location = postgres.without_password(url)
    with postgres.read_only(url) as connection:
        names = _checked(connection.execute(_IN_POSTGRES).fetchall(), location)
        with connection.cursor("items") as cursor:
            for row in cursor.execute(_ITEMS):
                yield _item(names, row)


def _checked(columns: Sequence[Sequence[Any]], place: str) -> list[str]:
    """Return the names of the columns of the table, in its order."""
    names = [str(name) for (name,) in columns]
    if set(_COLUMNS) <= set(names):
        return names
    problem = f"{shown(place)} has no table `store` with the columns {', '.join(_COLUMNS)}"
    raise InvalidInput("path", f"{problem}; only stores of LangGraph are read from a database")


def _item(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    cells = dict(zip(names, row, strict=True))
    return {**cells, **{name: _zoned(cells.get(name)) for name in _TIMES}}


def _zoned(cell: object) -> object:
    """Return a time with its zone: SQLite has it as text, in UTC."""
    if not isinstance(cell, str):
        return cell
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return cell  # the reader of the item refuses it
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
