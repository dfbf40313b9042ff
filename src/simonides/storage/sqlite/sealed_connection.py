"""A connection to a SQLite file in which everything that is said is encrypted.

Statements are the same, and so is whoever runs them: what is bound to a column that is encrypted is
sealed on its way in, and opened on its way out (:mod:`simonides.storage.sqlite.sealed_statements`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import apsw

from simonides.domain.errors import ConfigurationError, KeyDestroyed, Tampered
from simonides.ports import KeyRing, KeyVault
from simonides.storage.encryption.cells import (
    CODED,
    NAME,
    Cells,
    owner_in,
)
from simonides.storage.encryption.data_keys import Unopened, index_key_kept
from simonides.storage.encryption.key_holder import HoldsKeys
from simonides.storage.schema.owner_ids import TAG_KEY_BYTES, Secrets
from simonides.storage.sqlite.file.connection import Opening
from simonides.storage.sqlite.file.schema import SQL, read_secrets
from simonides.storage.sqlite.sealed_statements import (
    PLANS,
    Plan,
    Reading,
    Writing,
)
from simonides.storage.sqlite.transfer import inhabitants_in


class SealedConnection(apsw.Connection):
    """A connection that seals and opens.

    Attributes:
        cells: By which; None until the keys are known, and then nothing of an owner is touched.
    """

    cells: Cells | None = None

    def execute(self, statements: str, bindings: Any = None, **kwargs: Any) -> apsw.Cursor:
        """Run a statement; see :class:`apsw.Connection`.

        Raises:
            Tampered: If a cell is not what was sealed there.
            KeyDestroyed: If its owner was erased since.
            KeyUnavailable: If a key is not to be had.
        """
        cells = self.cells
        if cells is None:
            return super().execute(statements, bindings, **kwargs)
        if statements == _BEGIN:
            cells.seals.refresh()
        plan = PLANS.get(statements)
        if plan is None:
            return super().execute(statements, bindings, **kwargs)
        bound = _by_name(plan, bindings)
        if statements == _RENEW and not self._stood(cells, bound):
            return super().execute(_NOTHING)
        if plan.writing is not None:
            bound = _sealed(cells, plan.writing, bound)
        cursor = super().execute(plan.statement, bound, **kwargs)
        if plan.reading is not None:
            cursor.row_trace = partial(_opened, cells, plan.reading, bound, self.filename)
        return cursor

    def executemany(
        self, statements: str, sequenceofbindings: Iterable[Any], **kwargs: Any
    ) -> apsw.Cursor:
        """Run a statement for each of many bindings."""
        cells, plan = self.cells, PLANS.get(statements)
        if cells is None or plan is None:
            return super().executemany(statements, sequenceofbindings, **kwargs)
        bound = [_by_name(plan, each) for each in sequenceofbindings]
        if plan.writing is not None:
            bound = [_sealed(cells, plan.writing, each) for each in bound]
        cursor = super().executemany(plan.statement, bound, **kwargs)
        if plan.reading is not None and bound:
            # All are of one owner; what else tells a row is in the answer.
            told = {"owner": bound[0]["owner"]}
            cursor.row_trace = partial(_opened, cells, plan.reading, told, self.filename)
        return cursor

    def _stood(self, cells: Cells, bound: dict[str, Any]) -> bool:
        """Whether an index entry is the one that is to be renewed, which is then bound as it is
        stored: sealed twice, a text is another each time.
        """
        owner, id = bound["owner"], bound["id"]
        stored = super().execute(_STORED_ENTRY, {"owner": owner, "id": id}).get or b""
        place = ("index_rows.entry", (id,))
        try:
            plain = cells.opened(owner, *place, stored)
        except Unopened:
            return False
        if plain != bound["before"]:
            return False
        bound["before"] = stored
        return True


_BEGIN = "BEGIN IMMEDIATE"
_RENEW = SQL["renew_index_row"]
_NOTHING = "UPDATE meta SET value = value WHERE 0"
_STORED_ENTRY = "SELECT entry FROM index_rows WHERE owner = :owner AND id = :id"


def _by_name(plan: Plan, bindings: Any) -> dict[str, Any]:
    if isinstance(bindings, Mapping):
        return dict(bindings)
    return dict(zip(plan.names, bindings or (), strict=True))


def _sealed(cells: Cells, writing: Writing, bound: dict[str, Any]) -> dict[str, Any]:
    owner = bound["owner"]
    made = {
        name: cells.sealed(owner, place, [bound[column] for column in row], bound[name])
        for name, (place, row) in writing.cells.items()
    }
    return bound | made


def _opened(
    cells: Cells,
    reading: Reading,
    bound: Mapping[str, Any],
    location: str,
    cursor: apsw.Cursor,
    found: tuple[Any, ...],
) -> tuple[Any, ...] | None:
    """Return a row of an answer opened; None leaves it out."""
    del cursor
    row = list(found)
    owner = b""
    for at, place, told in reading.cells:
        try:
            owner = owner or _owner(reading, bound, found)
            of_row = [found[at] if isinstance(at, int) else bound[at] for at in told]
            row[at] = _cell(cells, owner, place, of_row, found[at])
        except KeyDestroyed:
            if reading.is_of_many:
                return None
            raise
        except Unopened as error:
            if place.partition(".")[0] not in CODED and place != NAME:
                raise Tampered(location, "content", owner.hex(), f"{place} {error}") from error
    return tuple(row if reading.is_whole else row[:-1])


def _owner(reading: Reading, bound: Mapping[str, Any], found: Sequence[Any]) -> bytes:
    if isinstance(reading.owner, str):
        return bytes(bound[reading.owner])
    said: bytes = found[reading.owner]
    is_name = any(cell.at == reading.owner for cell in reading.cells)
    return owner_in(said)[0] if is_name and said else said


def _cell(cells: Cells, owner: bytes, place: str, row: Sequence[Any], cell: Any) -> Any:
    if place == NAME and isinstance(cell, bytes):
        # As bytes: what somebody wrote there by hand may be no text.
        try:
            text = cell.decode("ascii")
        except UnicodeDecodeError:
            raise Unopened("is not sealed") from None
        return str(cells.opened(owner, place, row, text)).encode("utf-8", "surrogatepass")
    return cells.opened(owner, place, row, cell)


class Sealing(HoldsKeys, Opening):
    """Opens a store that is encrypted, or makes one.

    Args:
        ring: Master keys.
        vault: The owners' keys.
        owns_vault: Whether the vault is closed with the store.
        as_is: Whether a store in plain is opened as one, not refused.
        is_copy: Whether what is made is a copy of a store that the vault knows already.
    """

    seals_new = True

    def __init__(
        self,
        ring: KeyRing,
        vault: KeyVault,
        *,
        owns_vault: bool = False,
        as_is: bool = False,
        is_copy: bool = False,
    ) -> None:
        super().__init__(ring, vault, owns_vault=owns_vault, as_is=as_is)
        self._is_copy = is_copy

    def connect(self, name: str, flags: int) -> apsw.Connection:
        """Return a new connection."""
        connection = SealedConnection(name, flags=flags)
        connection.cells = self._cells
        return connection

    def begin(self, writer: apsw.Connection) -> Secrets:
        """See :class:`~simonides.storage.sqlite.file.connection.Opening`.

        Raises:
            ConfigurationError: If memories are there that are not encrypted.
            KeyUnavailable: If the ring or the vault lacks a key.
        """
        kept = read_secrets(writer)
        if not kept.is_wrapped:
            if self._as_is:
                return kept
            if inhabitants_in(writer):
                raise ConfigurationError(
                    f"{writer.filename}: holds memories that are not encrypted; move them to a new "
                    "store that is, with `simonides db migrate` (docs/privacy.md)"
                )
            # The one that is there has been in the file.
            with writer:
                self.keep(writer, Secrets(kept.salt, secrets.token_bytes(TAG_KEY_BYTES)))
            kept = read_secrets(writer)
        keys = self._unwrapped(kept)
        seals = self._seals(writer.filename, keys)
        if not self._is_copy:
            seals.check()
        self._cells = Cells(seals)
        if isinstance(writer, SealedConnection):
            writer.cells = self._cells
        return keys

    def secrets(self, connection: apsw.Connection) -> Secrets:
        """See :class:`~simonides.storage.sqlite.file.connection.Opening`."""
        kept = read_secrets(connection)
        if not kept.is_wrapped:
            raise ConfigurationError(
                f"{connection.filename}: is not encrypted, and the store is; restore it into one "
                "that is not, and move that here with `simonides db migrate`"
            )
        keys = self._unwrapped(kept)
        self._seals(connection.filename, keys).check()
        return keys

    def keep(self, connection: apsw.Connection, keys: Secrets) -> None:
        """See :class:`~simonides.storage.sqlite.file.connection.Opening`. The vault knows the store
        before that is encrypted.
        """
        if not self._is_copy:
            self._seals(connection.filename, keys).claim()
        tag_key = index_key_kept(self._wrapping, keys.salt, keys.tag_key)
        Opening.keep(self, connection, Secrets(keys.salt, tag_key))
