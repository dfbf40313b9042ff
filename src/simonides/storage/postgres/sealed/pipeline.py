"""A line to a PostgreSQL database in which everything that is said is encrypted.

Statements are the same, and so is whoever sends them: what is bound to a sealed column is sealed on
its way out, and opened on its way in, as :mod:`simonides.storage.postgres.sealed.statements` says.
A few
statements compare what is bound with what is kept, or number it on the spot: for these a look at
what is kept goes before them, in the same transaction.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import psycopg

from simonides.domain.errors import ConfigurationError, KeyDestroyed, Tampered
from simonides.storage.encryption.cells import (
    CODED,
    NAME,
    Cells,
    owner_in,
)
from simonides.storage.encryption.data_keys import Unopened, index_key_kept
from simonides.storage.encryption.key_holder import HoldsKeys
from simonides.storage.postgres.schema import SQL, read_secrets
from simonides.storage.postgres.sealed.statements import (
    READS,
    WRITES,
    Reading,
    Writing,
)
from simonides.storage.postgres.wire.connection import Opening
from simonides.storage.postgres.wire.pool import (
    Line,
    MakeLine,
    Row,
    Statement,
    Take,
)
from simonides.storage.postgres.wire.protocol import Wire
from simonides.storage.schema.change_rules import names_one
from simonides.storage.schema.owner_ids import KNOWN_OWNERS, TAG_KEY_BYTES, Secrets
from simonides.storage.sqlite.sealed_connection import Sealing as SealingOfAFile

_NOTHING = b"\0"
"""What no cell is: each begins with the byte of its format, or is empty."""


class _Look(NamedTuple):
    """What is asked before a statement is sent.

    Attributes:
        question: The statement that asks; takes what tells the rows that the other is about.
        answered: Makes of that answer the statement that is sent.
    """

    question: str
    answered: Callable[[Cells, dict[str, Any], Sequence[Row]], Statement]


class SealedLine(Line):
    """A line that seals and opens; see :class:`~simonides.storage.postgres.wire.pool.Line`.

    Errors beside those of a line: ``Tampered`` if a cell is not what was sealed there,
    ``KeyDestroyed`` if its owner was erased since, ``KeyUnavailable`` if a key is not to be had.

    Args:
        wire: As of a line, like the next three.
        location: See there.
        opening: See there.
        ends_at: See there.
        cells: By which.
        seen: By owner, the incarnation under which the vault was last asked; shared by all lines.
    """

    def __init__(
        self,
        wire: Wire,
        location: str,
        opening: str,
        ends_at: float,
        *,
        cells: Cells,
        seen: dict[bytes, bytes],
    ) -> None:
        super().__init__(wire, location, opening, ends_at)
        self._cells = cells
        self._seen = seen
        self._stands: tuple[bytes, bytes] | None = None
        self._is_fresh = False
        self._unanswered: list[Statement] = []

    async def run(
        self,
        *statements: Statement,
        timeout_s: float,
        pausing: bool = False,
        takes: Sequence[Take | None] = (),
    ) -> list[list[Row]]:
        """See :class:`~simonides.storage.postgres.wire.pool.Line`; rows are taken in when all are
        opened: one that cannot be is told of when the answer is at its end.
        """
        found = await self._answered(statements, timeout_s, pausing=pausing)
        for at, take in enumerate(takes, len(found) - len(statements)):
            if take is not None:
                found[at] = take(found[at])
        return found

    async def _answered(
        self, statements: Sequence[Statement], timeout_s: float, *, pausing: bool
    ) -> list[list[Row]]:
        if not any(name in _LOOKS for name, _ in statements):
            return await self._run(statements, timeout_s, pausing=pausing)
        is_one = self._is_idle and statements[0][0] not in ("begin", "begin_view")
        if not is_one:
            return await self._looking(statements, timeout_s)
        # Sent in one go these are one transaction, and in several they are to be.
        begun: Statement = ("begin", None)
        found = await self._looking((begun, *statements, ("commit", None)), timeout_s)
        return found[1:-1]

    def send(self, *statements: Statement) -> None:
        """See :class:`~simonides.storage.postgres.wire.pool.Line`."""
        super().send(*map(self._to_send, statements))
        self._unanswered += statements

    @property
    def _is_idle(self) -> bool:
        return self.wire.is_idle and not self._unanswered

    async def _looking(self, statements: Iterable[Statement], timeout_s: float) -> list[list[Row]]:
        found: list[list[Row]] = []
        waiting: list[Statement] = []
        for name, bound in statements:
            look = _LOOKS.get(name)
            if look is None or bound is None:
                waiting.append((name, bound))
                continue
            asked = look.question, _of_question(bound)
            *before, kept = await self._run((*waiting, asked), timeout_s)
            found += before
            waiting = [look.answered(self._cells, bound, kept)]
        return [*found, *await self._run(waiting, timeout_s)]

    async def _run(
        self, statements: Sequence[Statement], timeout_s: float, *, pausing: bool = False
    ) -> list[list[Row]]:
        sent = map(self._to_send, statements)
        asked, self._unanswered = (*self._unanswered, *statements), []
        found = await super().run(*sent, timeout_s=timeout_s, pausing=pausing)
        for (name, bound), rows in zip(asked, found, strict=True):
            if name == "take_turn" and bound is not None and rows:
                self._stand(bound, rows[0][0])
        return [
            self._opened(reading, bound or {}, rows) if rows and reading is not None else rows
            for (reading, bound), rows in zip(
                ((READS.get(name), bound) for name, bound in asked), found, strict=True
            )
        ]

    def _to_send(self, statement: Statement) -> Statement:
        name, bound = statement
        if name == "take_turn_as_foreseen" and bound is not None:
            # Under another incarnation nothing that goes with it is written.
            self._stand(bound, bound["known_incarnation"])
        writings = WRITES.get(name)
        if writings is None or bound is None:
            return statement
        owner = bytes.fromhex(bound["owner"])
        if not self._is_fresh:
            self._freshen(owner)
        made = {each.name: _sealed(self._cells, owner, each, bound) for each in writings}
        return name, bound | made

    def _stand(self, bound: Mapping[str, Any], incarnation: bytes) -> None:
        """Note under which incarnation of an owner is written."""
        stands = bytes.fromhex(bound["owner"]), incarnation
        self._is_fresh = self._is_fresh and self._stands == stands
        self._stands = stands

    def _freshen(self, owner: bytes) -> None:
        """Make sure of sealing by an owner's newest key, before the first time.

        By now its turn is held: whoever erases it is done, or waits. To erase draws another
        incarnation, and under one that was seen before the keys are those of then.
        """
        stood = self._stands
        if stood is None or stood[0] != owner or self._seen.get(owner) != stood[1]:
            self._cells.seals.refresh()
        if stood is not None:
            if len(self._seen) >= KNOWN_OWNERS:
                self._seen.clear()
            self._seen[stood[0]] = stood[1]
        self._is_fresh = True

    def _opened(
        self, reading: Reading, bound: Mapping[str, Any], found: Sequence[Row]
    ) -> list[Row]:
        rows = []
        for row in found:
            try:
                rows.append(self._row(reading, bound, row))
            except KeyDestroyed:
                if not reading.skips:
                    raise
        return rows

    def _row(self, reading: Reading, bound: Mapping[str, Any], found: Row) -> Row:
        row = list(found)
        owner = b""
        for at, place, told in reading.cells:
            if not found[at]:
                continue
            try:
                owner = owner or _owner(reading, bound, found)
                of_row = [found[at] if isinstance(at, int) else bound[at] for at in told]
                row[at] = self._cells.opened(owner, place, of_row, found[at])
            except Unopened as error:
                if place.partition(".")[0] not in CODED and place != NAME:
                    what = f"{place} {error}"
                    raise Tampered(self._location, "content", owner.hex(), what) from error
        return tuple(row)


def _owner(reading: Reading, bound: Mapping[str, Any], found: Row) -> bytes:
    if isinstance(reading.owner, str):
        return bytes.fromhex(bound[reading.owner])
    said: str = found[reading.owner]
    is_name = any(cell.at == reading.owner for cell in reading.cells)
    return owner_in(said)[0] if is_name else bytes.fromhex(said)


def _sealed(cells: Cells, owner: bytes, writing: Writing, bound: Mapping[str, Any]) -> Any:
    value, row = bound[writing.name], [bound[name] for name in writing.row]
    if not isinstance(value, list):
        return cells.sealed(owner, writing.place, row, value)
    told = [of if isinstance(of, list) else [of] * len(value) for of in row]
    rows = zip(*told, strict=True) if told else [()] * len(value)
    return [
        cells.sealed(owner, writing.place, of_row, each)
        for each, of_row in zip(value, rows, strict=True)
    ]


def _of_question(bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells rows, of a statement's values: nothing that is to be sealed."""
    told = {name: bound[name] for name in ("owner", "tag", "ids", "kind", "kinds") if name in bound}
    return {**told, "count": len(bound.get("bodies", ()))}


def _as_kept(
    cells: Cells, owner: bytes, place: str, row: Sequence[Any], kept: bytes, said: bytes
) -> bytes:
    """Return a cell as it is kept if it says what is expected of it; else what no cell is.

    Sealed twice, a text is another each time.
    """
    try:
        return kept if cells.opened(owner, place, row, kept) == said else _NOTHING
    except (Unopened, KeyDestroyed):
        return _NOTHING


def _renew(cells: Cells, bound: dict[str, Any], found: Sequence[Row]) -> Statement:
    owner = bytes.fromhex(bound["owner"])
    kept: dict[str, bytes] = dict(found)
    befores = [
        _as_kept(cells, owner, "index_rows.entry", (id,), kept.get(id, b""), before)
        for id, before in zip(bound["ids"], bound["befores"], strict=True)
    ]
    return "renew", {**bound, "befores": befores}


def _condense(cells: Cells, bound: dict[str, Any], found: Sequence[Row]) -> Statement:
    owner, kept = bytes.fromhex(bound["owner"]), [body for (body,) in found]
    kept += [_NOTHING] * (len(bound["bodies"]) - len(kept))
    bodies = [
        _as_kept(cells, owner, "read_journal.body", (bound["kind"],), body, said)
        for body, said in zip(kept, bound["bodies"], strict=True)
    ]
    return "condense", {**bound, "bodies": bodies}


def _drop_journal(cells: Cells, bound: dict[str, Any], found: Sequence[Row]) -> Statement:
    owner, gone = bytes.fromhex(bound["owner"]), []
    for n, kind, body in found:
        try:
            said = cells.opened(owner, "read_journal.body", (kind,), body)
            if isinstance(said, bytes) and names_one(said, bound["ids"]):
                gone.append(n)
        except (Unopened, KeyDestroyed):
            # Nobody can tell what it says any more; it is not kept for that.
            gone.append(n)
    return "drop_journal_at", {"owner": bound["owner"], "ns": gone}


def _append(cells: Cells, bound: dict[str, Any], found: Sequence[Row]) -> Statement:
    del cells
    first = found[0][0]
    numbers = list(range(first, first + len(bound["bodies"])))
    return "append_entries", {**bound, "numbers": numbers}


_LOOKS = {
    "renew": _Look("kept_entries", _renew),
    "condense": _Look("kept_journal", _condense),
    "drop_journal": _Look("journal_of_kinds", _drop_journal),
    "append_entries": _Look("count_entries", _append),
}


class Sealing(HoldsKeys, Opening):
    """Opens a database that is encrypted, or makes an empty one that is.

    Args:
        ring: Master keys.
        vault: The owners' keys.
        owns_vault: Whether the vault is closed with the store.
        as_is: Whether a database in plain is opened as one, not refused.
    """

    @property
    def line(self) -> MakeLine:
        """See :class:`~simonides.storage.postgres.wire.connection.Opening`."""
        if self._cells is None:
            return Line
        # By owner: the incarnation under which its keys were last asked for.
        return partial(SealedLine, cells=self._cells, seen={})

    def begin(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        location: str,
        kept: Secrets,
        operator: str,
    ) -> Secrets | None:
        """See :class:`~simonides.storage.postgres.wire.connection.Opening`.

        Raises:
            ConfigurationError: If memories are there that are not encrypted.
            KeyUnavailable: If the ring lacks a key, or the vault is another's.
        """
        if not kept.is_wrapped:
            if self._as_is:
                return kept
            self._make(connection, location, operator)
            return None
        keys = self._unwrapped(kept)
        seals = self._seals(location, keys)
        seals.check()
        self._cells = Cells(seals)
        return keys

    def kept(self, keys: Secrets) -> Secrets:
        """See :class:`~simonides.storage.postgres.wire.connection.Opening`. The vault knows the
        store before that is encrypted.
        """
        if self._cells is None:
            return keys
        self._seals(self._cells.seals.location, keys).claim()
        return Secrets(keys.salt, index_key_kept(self._wrapping, keys.salt, keys.tag_key))

    def of_copy(self) -> SealingOfAFile | None:
        """See :class:`~simonides.storage.postgres.wire.connection.Opening`."""
        return (
            None if self._cells is None else SealingOfAFile(self._ring, self._vault, is_copy=True)
        )

    def _make(
        self, connection: psycopg.Connection[tuple[Any, ...]], location: str, operator: str
    ) -> None:
        """Make an empty database one that is encrypted, and shut out whoever has it open."""
        _check_empty(connection, location, operator)
        # Whoever waits for the lock must hold none.
        connection.commit()
        connection.execute(SQL["lock_opening"])
        kept = read_secrets(connection, location)
        if kept.is_wrapped:
            return
        _check_empty(connection, location, operator)
        self._seals(location, kept).claim()
        # The one that is there has been in the files.
        key = index_key_kept(self._wrapping, kept.salt, secrets.token_bytes(TAG_KEY_BYTES))
        connection.execute(SQL["take_role"], {"role": operator})
        connection.execute(SQL["put_meta"], {"name": "tag_key", "value": key})
        connection.execute(SQL["take_role"], {"role": "none"})
        connection.execute(SQL["put_token"], {"token": secrets.token_hex(16)})


def _check_empty(
    connection: psycopg.Connection[tuple[Any, ...]], location: str, operator: str
) -> None:
    connection.execute(SQL["take_role"], {"role": operator})
    lives = connection.execute(SQL["inhabitants"]).fetchone()
    connection.execute(SQL["take_role"], {"role": "none"})
    if lives is not None:
        raise ConfigurationError(
            f"{location}: holds memories that are not encrypted; move them to a new database that "
            "is, with `simonides db migrate` (docs/privacy.md)"
        )
