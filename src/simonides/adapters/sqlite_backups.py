"""A SQLite store as a file that is copied while it is in use, and that goes back to a copy.

Both ways go through SQLite's backup API, page by page. A copy is read in one transaction: those
who write go on, and what they write is not in it. Going back is one transaction of the open file:
who reads meanwhile sees what was there, and who is killed leaves what was there.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import apsw

from simonides.adapters.sqlite_carrying import SqliteCarrying
from simonides.adapters.sqlite_file import copy_pages
from simonides.adapters.sqlite_log import is_written
from simonides.adapters.sqlite_moving import facts_in, inhabitants_in
from simonides.adapters.sqlite_opening import Opening
from simonides.adapters.sqlite_schema import SQL, check_application
from simonides.domain.errors import StoreUnavailable
from simonides.domain.moving import OwnerFacts
from simonides.ports import Capability
from simonides.ports.backups import Pages


class SqliteBackups(SqliteCarrying):
    """The calls of :class:`simonides.ports.RevertibleStore` that are no movable store's."""

    abilities = frozenset({*SqliteCarrying.abilities, Capability.BACKUPS, Capability.REVERTIBLE})

    async def note_place(self, place: str, name: str) -> None:
        """See the port."""
        await self._on(self._readers, lambda: self._place.note_backups(Path(place), name))

    async def backups(self) -> tuple[str, ...]:
        """See the port."""
        found = await self._on(self._readers, self._place.backups)
        return tuple(map(str, found))

    async def copy_to(self, path: str, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        """See the port."""
        return await self._on(self._readers, lambda: self._copy_to(Path(path), tell))

    async def unsound(self) -> tuple[str, ...]:
        """See the port."""

        def look(connection: apsw.Connection) -> tuple[str, ...]:
            found = [text for (text,) in connection.execute("PRAGMA integrity_check(20)")]
            return () if found == ["ok"] else tuple(found)

        return await self._reading_much(look)

    async def rebirth(self) -> None:
        """See the port."""
        await self._writing(self._rebirth)

    async def become(self, path: str) -> None:
        """See the port."""
        await self._writing(lambda: self._become(Path(path)))

    def _copy_to(self, path: Path, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        # Made first, and readable by its user only: SQLite would ask the umask.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with self._translating, self._place.frozen() as source:
            stood = {owner: facts_in(source, owner) for owner in inhabitants_in(source)}
            self._place.copy(source, path, tell)
        return {owner: facts for owner, facts in stood.items() if facts is not None}

    def _rebirth(self) -> None:
        with self._turn() as connection, self._translating_writer:
            for owner in inhabitants_in(connection):
                bound = {"owner": owner, "incarnation": secrets.token_bytes(16)}
                connection.execute(SQL["rebirth"], bound)

    def _become(self, path: Path) -> None:
        with self._place.sole_turn():
            with self._translating_writer:
                source = backup_opened(path, self._opening)
                try:
                    check_application(source, path)
                    keys = self._opening.secrets(source)
                    if keys != self._secrets:
                        with self._place.alone() as connection:
                            self._check_empty(connection)
                    copy_pages(self._place.writer, source, lambda *_: None)
                finally:
                    source.close()
            self._follow_keys(keys)
            # What stood here was not to be kept.
            self._place.note_removal()
            self._place.remove_traces()


def backup_opened(path: Path, opening: Opening) -> apsw.Connection:
    """Open a copy of a store that nobody writes to, to be read as it lies there.

    Raises:
        StoreUnavailable: If it is in use.
        apsw.Error: As SQLite says.
    """
    if is_written(path):
        raise StoreUnavailable(str(path), "is open, or was not closed well; restore from a copy")
    # Immutable: nothing is laid beside it, and a file that may only be read is read.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return opening.connect(f"file:{quote(str(path))}?immutable=1", flags)
