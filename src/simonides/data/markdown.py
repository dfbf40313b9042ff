"""The memories of an owner as a folder of Markdown files, for people and other tools."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.record import Record, Status
from simonides.core.scope import Principal
from simonides.data.formats.markdown import file_of
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import (
    PAGE,
    MemoryRow,
    id_bytes,
    memories,
    memory_row,
    record_of,
    rows_of,
)
from simonides.write.versions import has_expired

SLUG_CHARS = 48
"""Most characters of the words in the name of a file. Chosen: names stay short in UTF-8, too."""


@contextmanager
def new_folder(
    engine: Engine, who: Principal, target: Path, progress: Callable[[int], object]
) -> Iterator[Counter[str]]:
    """Write what is in force of the principal's owner to files; give their number.

    Verbatim turns are left out. The folder is there as a whole when the block has ended well; else
    it is not there.

    Raises:
        InvalidInput: If the folder exists.
        StoreError: If the store cannot be read.
    """
    counts, partial = Counter[str](), target.with_name(f"{target.name}.partial")
    try:
        if target.exists():
            raise FileExistsError
        partial.mkdir(mode=0o700)
    except FileExistsError:
        raise InvalidInput("path", "exists already; name a new folder") from None
    try:
        with engine.db.read(who.owner, snapshot=True) as connection:
            for record in _in_force(connection, who.owner, engine.clock.now_ms()):
                _write(partial, record, file_of(record, _before(connection, record)))
                counts["memories"] += 1
                if counts.total() % PAGE == 0:
                    progress(counts.total())
        progress(counts.total())
        yield counts
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # it is there if something failed


def _in_force(connection: Connection, owner: str, now: int) -> Iterator[Record]:
    for cells in rows_of(connection, "memories", owner):
        row = memory_row(cells)
        is_turn = row["position"] is not None
        if row["known_to"] is None and not is_turn and not has_expired(row, now):
            yield record_of(row)


def _before(connection: Connection, record: Record) -> list[Record]:
    """Return the versions of a memory that said something else than the one after them."""
    if record.version == 1:
        return []
    params = {"owner": record.owner, "root": id_bytes(record.root)}
    rows: list[MemoryRow] = memories(connection, statements.HISTORY, **params)
    every = [record_of(row) for row in rows if row["version"] <= record.version]
    ended = [one for one, after in pairwise(every) if one.content != after.content]
    return [one for one in ended if one.status is Status.SUPERSEDED]


def _write(folder: Path, record: Record, text: str) -> None:
    """Write a new file, which is named by the words of a memory and the end of its id."""
    words = re.sub(r"[\W_]+", "-", record.content[:SLUG_CHARS].lower()).strip("-") or "memory"
    names = (folder / f"{words}-{end}.md" for end in (record.root[-8:], record.root))
    path = next(name for name in names if not name.exists())
    with open(path, "x", encoding="utf-8", newline="", opener=_private) as file:
        file.write(text)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
