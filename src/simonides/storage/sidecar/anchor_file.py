"""An anchor in a small SQLite file of its own, which lies where the store does not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from simonides.domain.errors import ConfigurationError
from simonides.ports import Anchored
from simonides.storage.sidecar.side_file import LateSideFile, SideKind

# "simA": neither a store nor another program's file is taken for an anchor.
_APPLICATION_ID = 0x73696D41

_TABLE = """
CREATE TABLE IF NOT EXISTS anchors (
    store BLOB NOT NULL,
    owner BLOB NOT NULL,
    incarnation BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (store, owner)
) STRICT, WITHOUT ROWID
"""
_LAST = "SELECT incarnation, epoch, revision FROM anchors WHERE store = ? AND owner = ?"
_PUT = "REPLACE INTO anchors (store, owner, incarnation, epoch, revision) VALUES (?, ?, ?, ?, ?)"
_ADVANCE = """
INSERT INTO anchors (store, owner, incarnation, epoch, revision) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (store, owner) DO UPDATE SET incarnation = excluded.incarnation,
    epoch = excluded.epoch, revision = excluded.revision
WHERE anchors.incarnation <> excluded.incarnation
    OR (excluded.epoch, excluded.revision) > (anchors.epoch, anchors.revision)
"""


_KIND = SideKind(
    "anchor",
    if_damaged="put back a copy of it, or, if nobody can have put back an older store, move it "
    "away: a new one begins where owners stand now (docs/privacy.md)",
)


class FileAnchor:
    """An :class:`~simonides.ports.Anchor` in a file that several processes may share."""

    def __init__(self, path: str | os.PathLike[str], *, beside: Path | None = None) -> None:
        """Open the file where there is one.

        Args:
            path: The file; its directory must be there. It is made, readable by its user only, when
                the first owner has come somewhere.
            beside: The store's file, or None where it has none here.

        Raises:
            ConfigurationError: If it would lie in the store's directory: whoever puts an older copy
                of that back would put the anchor back with it.
            StoreError: If it cannot be opened, or is another program's.
        """
        file = Path(path).resolve()
        if beside is not None and beside.resolve().parent in (file.parent, *file.parents):
            raise ConfigurationError(
                f"anchor {file}: lies with the store, and would be put back with an older copy of "
                "it; name a place elsewhere, on another disk or machine if there is one"
            )
        self._file = LateSideFile(
            file,
            kind=_KIND,
            application_id=_APPLICATION_ID,
            table=_TABLE,
            journal_mode="wal",
        )

    def last(self, store: bytes, owner: bytes) -> Anchored | None:
        """See the port."""
        if (file := self._file.found()) is None:
            return None
        with file.reading() as connection:
            found = connection.execute(_LAST, (store, owner)).fetchone()
        return None if found is None else Anchored._make(found)

    def advance(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """See the port."""
        self._write(_ADVANCE, store, stands)

    def put(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """See the port."""
        self._write(_PUT, store, stands)

    def close(self) -> None:
        """See the port."""
        self._file.close()

    def _write(self, statement: str, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        with self._file.opened().writing() as connection:
            rows = [(store, owner, *stood) for owner, stood in stands.items()]
            connection.executemany(statement, rows)
