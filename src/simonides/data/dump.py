"""An owner as a file of JSON lines, and back: every row of every table, with history and trail.

The first line says what it is, each other line holds a row of a table, and the last line counts and
digests all of them. docs/data.md describes the tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, KeyUnavailable, StoreCorrupt, shown
from simonides.core.outcome import EventType
from simonides.core.scope import Principal
from simonides.core.validation import text
from simonides.data.erase import above_of, erased_digest
from simonides.data.markdown import new_folder
from simonides.data.results import Dump
from simonides.govern.audit import check_owner
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.digests import EMPTY, OwnerState, blake, part_of, replace_leaf
from simonides.storage.rows import PAGE, rows_of
from simonides.storage.transaction import begin, changing, secret_of

FORMAT, VERSION = "simonides export", 1

Progress = Callable[[int], object] | None


def export(
    engine: Engine,
    who: Principal,
    path: str | os.PathLike[str],
    *,
    format: str = "jsonl",
    progress: Progress = None,
) -> Dump:
    """Write what is stored of the principal's owner, as of one moment, to a new file or folder.

    Args:
        engine: The store.
        who: The owner.
        path: Of the file, or of the folder for ``markdown``.
        format: ``jsonl`` writes everything; ``markdown`` a file for each memory in force.
        progress: Called with the number of rows or memories so far, at times and at the end.

    Raises:
        InvalidInput: If the path exists, its folder does not, or the format is not known.
        StoreError: If the store cannot be read.
    """
    if format not in ("jsonl", "markdown"):
        raise InvalidInput("format", f"{shown(format)} is neither jsonl nor markdown")
    target = Path(text("path", os.fspath(path)))
    if not target.parent.is_dir():
        raise InvalidInput("path", "its folder does not exist; make it first")
    engine.journal.flush()
    new = new_folder if format == "markdown" else _new_file
    with new(engine, who, target, progress or _unseen) as counts:
        _note(engine, who, EventType.EXPORTED, counts)
    return Dump(path=target, rows=counts)


@contextmanager
def _new_file(
    engine: Engine, who: Principal, target: Path, progress: Callable[[int], object]
) -> Iterator[Counter[str]]:
    """Write all rows; give their number by table. The file is there when the block has ended."""
    counts, partial = Counter[str](), target.with_name(f"{target.name}.partial")
    try:
        with partial.open("x", encoding="utf-8") as file:
            partial.chmod(0o600)
            lines = _Lines(file)
            head = {"format": FORMAT, "version": VERSION, "owner": who.owner}
            lines.write({**head, "key": _key_id(engine)})
            with engine.db.read(who.owner, snapshot=True) as connection:
                for table, row in _rows(connection, who.owner):
                    lines.write(_line(table, row))
                    counts[table] += 1
                    if lines.count % PAGE == 0:
                        progress(lines.count)
            file.write(json.dumps({"rows": lines.count - 1, "digest": lines.digest}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        progress(lines.count - 1)
        yield counts
        os.link(partial, target)
    except FileExistsError:
        raise InvalidInput("path", "exists already; name a new file") from None
    finally:
        partial.unlink(missing_ok=True)


def _unseen(rows: int) -> None:
    """Show no progress."""


def restore(
    engine: Engine,
    who: Principal,
    path: str | os.PathLike[str],
    *,
    progress: Progress = None,
) -> Dump:
    """Read an export into the principal's owner, which has nothing yet.

    The trail is checked before anything is stored: all is stored, or nothing.

    Args:
        engine: The store.
        who: The owner.
        path: Of the file.
        progress: Called with the number of rows so far, at times and at the end.

    Raises:
        InvalidInput: If it is no export, is of another owner, or something is stored already.
        KeyUnavailable: If it was made under another audit key.
        StoreCorrupt: If it was cut or changed.
    """
    source = Path(text("path", os.fspath(path)))
    if not source.is_file():
        raise InvalidInput("path", "is no file; name one that `export` made")
    counts, key, owner = Counter[str](), engine.audit_key, who.owner
    tell = progress or _unseen
    engine.journal.flush()
    with source.open(encoding="utf-8") as file, engine.db.write(owner) as connection:
        state = begin(connection, owner, engine.clock.now_ms(), engine.ids.salt())
        if not state.is_new:
            raise InvalidInput("path", "this user has memories already; erase them first")
        for table in statements.OWNED:
            connection.run(statements.delete_all(table), {"owner": owner})
        lines = _read(file, source)
        _check_head(next(lines), engine, owner)
        batch: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            table, row = _row(line, source, owner)
            counts[table] += 1
            batch.setdefault(table, []).append(row)
            if sum(map(len, batch.values())) >= PAGE:
                _insert(connection, batch)
                tell(counts.total())
        _insert(connection, batch)
        tell(counts.total())
        problems = check_owner(connection, owner, key)
        if problems or not counts["owners"]:
            raise StoreCorrupt(str(source), f"was changed: {(*problems, 'no owner')[0]}")
        restored = OwnerState._make(connection.rows(statements.STATE, {"owner": owner})[0])
        leaf, part = restored.leaf(key, owner), part_of(owner, engine.db.parts)
        replace_leaf(connection, key, part, secret_of(connection), EMPTY, leaf)
    engine.indexes.drop(owner)
    _note(engine, who, EventType.RESTORED, counts)
    return Dump(path=source, rows=counts)


def _note(engine: Engine, who: Principal, type: EventType, counts: Mapping[str, int]) -> None:
    """Note in the trail of the organisation who took out or brought in how much of whom."""
    with changing(engine, above_of(who.owner), who.name) as tx:
        subject = erased_digest(tx.secret(), who.owner).hex()  # a name would outlive the user
        tx.note(type, "owners", b"", data={"subject": subject, "rows": dict(counts)})
        tx.flush()


class _Lines:
    """Lines that are written, counted and digested."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._hash, self.count = file, hashlib.blake2b(digest_size=32), 0

    def write(self, line: Mapping[str, Any]) -> None:
        said = json.dumps(line, ensure_ascii=False) + "\n"
        self._hash.update(said.encode())
        self._file.write(said)
        self.count += 1

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def _key_id(engine: Engine) -> str:
    """Return what tells audit keys apart, and nothing of the key."""
    return blake(engine.audit_key, b"key").hex()[:16]


def _rows(connection: Connection, owner: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of an owner, those of each table in the order of their keys."""
    for table in statements.OWNED:
        for row in rows_of(connection, table, owner):
            yield table, dict(zip(statements.COLUMNS[table], row, strict=True))


def _line(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON; bytes stand apart, in base64."""
    plain = {k: v for k, v in row.items() if v is not None and not isinstance(v, bytes)}
    coded = {k: base64.b64encode(v).decode() for k, v in row.items() if isinstance(v, bytes)}
    return {"table": table, "row": plain, **({"bytes": coded} if coded else {})}


def _read(file: IO[str], source: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines but the last; an error follows if one is missing or was changed."""
    digest = hashlib.blake2b(digest_size=32)
    for number, line in enumerate(file, 1):
        try:
            read = json.loads(line)
        except ValueError as error:
            raise StoreCorrupt(str(source), f"line {number} is no JSON; it was cut") from error
        if isinstance(read, dict) and read.keys() == {"rows", "digest"}:
            if (read["rows"], read["digest"]) != (number - 2, digest.hexdigest()):
                raise StoreCorrupt(str(source), "was changed: it does not fit its last line")
            return
        digest.update(line.encode())
        yield read
    raise StoreCorrupt(str(source), "was cut: its last line is missing")


def _check_head(head: Mapping[str, Any], engine: Engine, owner: str) -> None:
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise InvalidInput("path", "is no export of simonides; `import` reads others")
    if head.get("version") != VERSION:
        raise InvalidInput("path", f"has version {head.get('version')}; this reads {VERSION}")
    if head.get("owner") != owner:
        raise InvalidInput("path", f"is of {head.get('owner')}, not of {owner}")
    if head.get("key") != _key_id(engine):
        raise KeyUnavailable("the export was made under another audit key; give that one")


def _row(line: Mapping[str, Any], source: Path, owner: str) -> tuple[str, dict[str, Any]]:
    """Return the table and the row of a line."""
    try:
        table = line["table"]
        coded = {k: base64.b64decode(v, validate=True) for k, v in line.get("bytes", {}).items()}
        row = dict.fromkeys(statements.COLUMNS[table]) | line["row"] | coded
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(str(source), "has a line of no table; it was changed") from error
    if row.keys() != set(statements.COLUMNS[table]) or row["owner"] != owner:
        raise StoreCorrupt(str(source), f"has a row of another kind or owner in {table}")
    return table, row


def _insert(connection: Connection, batch: dict[str, list[dict[str, Any]]]) -> None:
    for table, rows in batch.items():
        connection.run_many(statements.insert_row(table), rows)
    batch.clear()
