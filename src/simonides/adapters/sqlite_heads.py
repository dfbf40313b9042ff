"""Where owners stand, asked before every recall: a file that nobody wrote to need not be searched.

SQLite's index of its log, the ``-shm`` file, begins with a header that every commit changes,
whoever makes it, before it is acknowledged (https://sqlite.org/walformat.html, "The WAL-Index
Header"). To read those bytes takes one system call and no transaction.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from simonides.adapters.sqlite_turn import Turnstile
from simonides.domain.change import Head

MAX_OWNERS = 4096
"""Owners that are remembered; chosen: about 2 MB."""

HEADER_BYTES = 48
"""The header stands there twice, one after the other; who commits writes the first copy last."""

_FORMAT = (3_007_000).to_bytes(4, sys.byteorder)


def watched(database: Path, turns: Turnstile) -> int | None:
    """Return a descriptor of the file whose header is compared; hold the turn.

    It is the turnstile's, for one that is closed takes SQLite's own locks with it. None where a
    file is not promised to show at once what is written to a mapping of it.

    Args:
        database: Open in WAL mode, and read from since it is.
        turns: Its own.

    Raises:
        OSError: If the file is not there or may not be read.
    """
    if sys.platform not in ("linux", "darwin"):
        return None
    return turns.descriptor(database.with_name(database.name + "-shm"))


class Heads:
    """Where the owners of one file stood when its header was read last; any thread may ask."""

    def __init__(self, index: int | None) -> None:
        """Remember by a header.

        Args:
            index: From :func:`watched`; None remembers nothing.
        """
        self._index = index
        self._seen: tuple[bytes, dict[bytes, Head | None]] = (b"", {})

    def of(
        self, owners: Sequence[bytes], fetch: Callable[[], tuple[Head | None, ...]]
    ) -> tuple[Head | None, ...]:
        """Return where several owners stand, in the order asked.

        Args:
            owners: Their digests.
            fetch: Asks the file for the same.
        """
        header = self._header()
        then, known = self._seen
        if header is None:
            return fetch()
        if then != header or len(known) > MAX_OWNERS:
            self._seen = header, (known := {})
        try:
            return tuple([known[owner] for owner in owners])
        except KeyError:
            heads = fetch()
            # Read after the header was: at worst they are newer, and the next header differs.
            known.update(zip(owners, heads, strict=True))
            return heads

    def _header(self) -> bytes | None:
        """Return the bytes that the next commit changes, None if there are none to go by."""
        if self._index is None:
            return None
        try:
            header = os.pread(self._index, HEADER_BYTES, 0)
        except OSError:
            # Somebody put other files in the place of those that are open.
            return None
        return header if header.startswith(_FORMAT) and len(header) == HEADER_BYTES else None
