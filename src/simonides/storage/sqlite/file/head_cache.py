"""Where owners stand, asked before every recall: a database that nobody wrote to is not searched.

Every commit changes a mark that is cheap to read. In a file it is the header of SQLite's index of
its log, the ``-shm`` file: every commit changes it, whoever makes it, before it is acknowledged
(https://sqlite.org/walformat.html, "The WAL-Index Header"). To read those bytes takes one system
call and no transaction. In memory the mark is a counter of commits.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from simonides.domain.writing.change import Head
from simonides.storage.sqlite.file.write_queue import WriteQueue

MAX_OWNERS = 4096
"""Owners that are remembered; chosen: about 2 MB."""

HEADER_BYTES = 48
"""The header stands there twice, one after the other; who commits writes the first copy last."""

_FORMAT = (3_007_000).to_bytes(4, sys.byteorder)

Mark = bytes | int | None
"""What the next commit changes; None if nothing can be remembered by it."""


def header_mark(database: Path, turns: WriteQueue) -> Callable[[], Mark]:
    """Return what reads the mark of a file; hold the turn.

    The descriptor is the write queue's: closing one of its own would drop SQLite's locks. There is
    no mark on systems that do not promise to show at once what is written to a mapped file.

    Args:
        database: Open in WAL mode, and read from since it is.
        turns: Its own.

    Raises:
        OSError: If the file is not there or may not be read.
    """
    if sys.platform not in ("linux", "darwin"):
        return lambda: None
    index = turns.descriptor(database.with_name(database.name + "-shm"))
    return lambda: read_header(index)


def read_header(index: int) -> bytes | None:
    """Return the header of an index; None if it is not of the known format.

    Args:
        index: Descriptor of the ``-shm`` file.
    """
    try:
        header = os.pread(index, HEADER_BYTES, 0)
    except OSError:
        # Other files were put in the place of those that are open.
        return None
    return header if header.startswith(_FORMAT) and len(header) == HEADER_BYTES else None


class Heads:
    """Where the owners of a database stood at its last mark; any thread may ask."""

    def __init__(self, mark: Callable[[], Mark]) -> None:
        """Remember by a mark.

        Args:
            mark: Reads it. A commit must change it before it is acknowledged, and after its rows
                can be read.
        """
        self._mark = mark
        self._seen: tuple[Mark, dict[bytes, Head | None]] = (None, {})

    def of(
        self, owners: Sequence[bytes], fetch: Callable[[], tuple[Head | None, ...]]
    ) -> tuple[Head | None, ...]:
        """Return where several owners stand, in the order asked.

        Args:
            owners: Their digests.
            fetch: Asks the database for the same.
        """
        mark = self._mark()
        then, known = self._seen
        if mark is None:
            return fetch()
        if then != mark or len(known) > MAX_OWNERS:
            self._seen = mark, (known := {})
        try:
            return tuple([known[owner] for owner in owners])
        except KeyError:
            heads = fetch()
            # Read after the mark was: at worst they are newer, and the next mark differs.
            known.update(zip(owners, heads, strict=True))
            return heads
