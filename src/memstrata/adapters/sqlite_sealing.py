"""A connection to a SQLite file in which everything that is said is encrypted (FX-13).

Statements are the same, and so is whoever runs them: what is bound to a column of
:data:`~memstrata.adapters.store_cells.SEALED` is sealed on its way in, and opened on its way out. A
statement that touches such a column is named here; a test runs all of them against a file and looks
for plain text in it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import apsw

from memstrata.adapters.sql import parameters
from memstrata.adapters.sqlite_moving import ADD, PAGES, inhabitants_in
from memstrata.adapters.sqlite_opening import TAG_KEY_BYTES, Opening, is_wrapped
from memstrata.adapters.sqlite_schema import SQL, read_secrets
from memstrata.adapters.store_cells import CODED, SEALED, Cells, owner_in
from memstrata.adapters.store_coded import CURRENT_COLUMNS, PAST_COLUMNS, coded
from memstrata.adapters.store_owners import Secrets
from memstrata.adapters.store_seals import (
    Seals,
    Unopened,
    Wrapping,
    index_key_kept,
    index_key_of,
)
from memstrata.domain.errors import ConfigurationError, KeyDestroyed, Tampered
from memstrata.domain.moving import PARTS
from memstrata.ports import KeyRing, KeyVault

Bindings = Sequence[Any] | Mapping[str, Any] | None
_Place = int | str
"""Where a value is found: the number of a column of the answer, or the name of a parameter."""

_NAME = "owners.name"


class _Cell(NamedTuple):
    """A sealed column of a statement's answer.

    Attributes:
        at: Its number.
        place: Table and column.
        row: Where the columns are that tell its row.
    """

    at: int
    place: str
    row: tuple[_Place, ...]


class _Reading(NamedTuple):
    """What of a statement's answer is sealed.

    Attributes:
        cells: The columns.
        owner: Where it is said whose rows these are; a column that holds a sealed name says so.
        is_whole: Whether the last column is the answer's too; else it was asked for only to know
            whose a row is.
    """

    cells: tuple[_Cell, ...]
    owner: _Place = "owner"
    is_whole: bool = True


class _Writing(NamedTuple):
    """What of a statement's values is sealed.

    Attributes:
        cells: By parameter: table and column, and the parameters that tell the row.
    """

    cells: Mapping[str, tuple[str, tuple[str, ...]]]


class _Plan(NamedTuple):
    """What is done to one statement.

    Attributes:
        statement: As it is run.
        names: Of its parameters, in the order in which they are bound by position.
        writing: What of its values is sealed.
        reading: What of its answer is.
    """

    statement: str
    names: tuple[str, ...]
    writing: _Writing | None
    reading: _Reading | None


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
        plan = _PLANS.get(statements)
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
        plan = None if self.cells is None else _PLANS.get(statements)
        if plan is not None and plan.writing is not None and self.cells is not None:
            named = (_by_name(plan, each) for each in sequenceofbindings)
            sequenceofbindings = [_sealed(self.cells, plan.writing, bound) for bound in named]
        return super().executemany(statements, sequenceofbindings, **kwargs)

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


def _by_name(plan: _Plan, bindings: Any) -> dict[str, Any]:
    if isinstance(bindings, Mapping):
        return dict(bindings)
    return dict(zip(plan.names, bindings or (), strict=True))


def _sealed(cells: Cells, writing: _Writing, bound: dict[str, Any]) -> dict[str, Any]:
    owner = bound["owner"]
    made = {
        name: cells.sealed(owner, place, [bound[column] for column in row], bound[name])
        for name, (place, row) in writing.cells.items()
    }
    return bound | made


def _opened(
    cells: Cells,
    reading: _Reading,
    bound: Mapping[str, Any],
    location: str,
    cursor: apsw.Cursor,
    found: tuple[Any, ...],
) -> tuple[Any, ...] | None:
    """Return a row of an answer opened; None, which leaves it out, where it tells of somebody of
    whom nothing can be read any more.
    """
    del cursor
    row = list(found)
    owner = b""
    for at, place, told in reading.cells:
        try:
            owner = owner or _owner(reading, bound, found)
            of_row = [found[at] if isinstance(at, int) else bound[at] for at in told]
            row[at] = _cell(cells, owner, place, of_row, found[at])
        except KeyDestroyed:
            if place == _NAME:
                return None
            raise
        except Unopened as error:
            if place.partition(".")[0] not in CODED and place != _NAME:
                raise Tampered(location, "content", owner.hex(), f"{place} {error}") from error
    return tuple(row if reading.is_whole else row[:-1])


def _owner(reading: _Reading, bound: Mapping[str, Any], found: Sequence[Any]) -> bytes:
    if isinstance(reading.owner, str):
        return bytes(bound[reading.owner])
    said: bytes = found[reading.owner]
    is_name = any(cell.at == reading.owner for cell in reading.cells)
    return owner_in(said)[0] if is_name and said else said


def _cell(cells: Cells, owner: bytes, place: str, row: Sequence[Any], cell: Any) -> Any:
    if place == _NAME and isinstance(cell, bytes):
        # As bytes: what somebody wrote there by hand may be no text.
        try:
            text = cell.decode("ascii")
        except UnicodeDecodeError:
            raise Unopened("is not sealed") from None
        return str(cells.opened(owner, place, row, text)).encode("utf-8", "surrogatepass")
    return cells.opened(owner, place, row, cell)


_MEMORY = (
    _Cell(2, "memories.body", (0,)),
    _Cell(3, "memories.state", (0, 1, 5)),
    _Cell(4, "index_rows.entry", (0,)),
)
_PAST = (
    _Cell(2, "memories.body", (0,)),
    _Cell(3, "states.state", (0, 1, 5)),
    _Cell(4, "index_rows.entry", (0,)),
)
_HELD = (
    _Cell(1, "held.session", (0,)),
    _Cell(2, "held.reason", (0,)),
    _Cell(3, "held.body", (0,)),
)
_NAMED = _Cell(0, _NAME, ())
_OUTBOX = _Reading(
    (_NAMED, _Cell(2, "outbox.target", (1,)), _Cell(3, "outbox.body", (1,))), owner=0
)


def _one(at: int, place: str, *row: _Place) -> _Reading:
    return _Reading((_Cell(at, place, row),))


_READS: dict[str, _Reading] = {
    **dict.fromkeys(
        ("live_rows", "changed_rows", "row", "rows_page", "rows_by_tag"), _Reading(_MEMORY)
    ),
    "rows_as_of": _Reading(_PAST),
    "states_of": _one(1, "states.state", "id", 0, 2),
    "contents": _Reading(
        (
            _Cell(3, "memories.body", (0,)),
            _Cell(7, "memories.state", (0, 5, 6)),
            _Cell(8, "states.state", (0, 5, 6)),
        )
    ),
    "codes": _one(5, "memories.state", 0, 1, 3),
    "coded_states": _one(6, "states.state", 0, 1, 4),
    "derived": _Reading((_NAMED,), owner=0),
    "derived_of_all": _Reading((_NAMED,), owner=0),
    "owner_names": _Reading((_Cell(1, _NAME, ()),), owner=0),
    "facts": _one(13, _NAME),
    "outbox": _OUTBOX,
    "outbox_of_all": _OUTBOX,
    "work": _Reading((_Cell(1, "outbox.target", (0,)), _Cell(2, "outbox.body", (0,)))),
    "links": _one(4, "event_payloads.payload", 0),
    "idempotent": _Reading(
        (_Cell(0, "idempotency.request", ("tag",)), _Cell(1, "idempotency.answer", ("tag",)))
    ),
    "held": _Reading(_HELD),
    "held_of_session": _Reading(_HELD),
    "grants": _one(0, "grants.body"),
    "tagged_grants": _one(1, "grants.body"),
    "last_policy": _one(2, "policies.body", 0, 1),
    "journal": _one(2, "read_journal.body", 1),
    "journal_from_start": _one(3, "read_journal.body", 2),
    "journal_bodies": _one(2, "read_journal.body", 1),
    "entries": _one(2, "turns.body", 0, 1),
    "sessions": _one(0, "sessions.body", 1),
    "sessions_due": _Reading((_Cell(0, "sessions.body", (1,)),), owner=4, is_whole=False),
    "reviews": _one(3, "reviews.body", 0, 1, 2),
    "consents": _one(1, "consents.body", 0),
}
# By statement: the table, the columns that it writes, and what parameters are called otherwise.
_WRITES: dict[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "add_memory": ("memories", ("body", "state"), {}),
    "restate_memory": ("memories", ("state",), {}),
    "restate_coded_memory": ("memories", ("state",), {}),
    "add_state": ("states", ("state",), {}),
    "add_coded_state": ("states", ("state",), {}),
    "add_index_row": ("index_rows", ("entry",), {}),
    "put_index_row": ("index_rows", ("entry",), {}),
    "renew_index_row": ("index_rows", ("entry",), {}),
    "code_entry": ("index_rows", ("entry",), {}),
    "add_event": ("event_payloads", ("payload",), {}),
    "add_idempotent": ("idempotency", ("request", "answer"), {}),
    "put_held": ("held", ("reason", "session", "body"), {}),
    "code_held": ("held", ("body",), {}),
    "put_grant": ("grants", ("body",), {}),
    "code_grant": ("grants", ("body",), {}),
    "put_consent": ("consents", ("body",), {}),
    "put_review": ("reviews", ("body",), {}),
    "add_policy": ("policies", ("body",), {}),
    "add_outbox": ("outbox", ("target", "body"), {}),
    "code_work": ("outbox", ("body",), {}),
    "add_journal": ("read_journal", ("body",), {}),
    "open_session": ("sessions", ("body",), {"started_at": "now"}),
    "append_entry": ("turns", ("body",), {"turn_no": "number"}),
    **dict.fromkeys(
        ("add_owner", "move_owner", "add_coded_owner", "move_coded_owner", "add_facts"),
        ("owners", ("name",), {}),
    ),
}


def _write_of(table: str, columns: Iterable[str], called: Mapping[str, str]) -> _Writing:
    told = SEALED[table]
    return _Writing(
        {
            column: (f"{table}.{column}", tuple(called.get(key, key) for key in told[column]))
            for column in columns
        }
    )


def _plan(
    statement: str, writing: _Writing | None, reading: _Reading | None, more: str = ""
) -> _Plan:
    run = coded(statement, more) if more else statement
    return _Plan(run, parameters(statement), writing, reading)


def _plans() -> dict[str, _Plan]:
    plans: dict[str, _Plan] = {}
    for name, reading in _READS.items():
        more = ", s.owner" if name == "sessions_due" else ""
        plans[SQL[name]] = _plan(SQL[name], None, reading, more)
    for name, columns in (
        *((name, CURRENT_COLUMNS) for name, found in _READS.items() if found.cells == _MEMORY),
        ("rows_as_of", PAST_COLUMNS),
    ):
        with_codes = coded(SQL[name], columns)
        plans[with_codes] = _plan(with_codes, None, _READS[name])
    for name, written in _WRITES.items():
        plans[SQL[name]] = _plan(SQL[name], _write_of(*written), None)
    for part in PARTS:
        if sealed := SEALED.get(part.name):
            plans[ADD[part.name]] = _plan(ADD[part.name], _write_of(part.name, sealed, {}), None)
            at = {column: place for place, column in enumerate(part.columns)}
            cells = tuple(
                _Cell(at[column], f"{part.name}.{column}", tuple(at[key] for key in row))
                for column, row in sealed.items()
            )
            for page in PAGES[part.name]:
                plans[page] = _plan(page, None, _Reading(cells))
    return plans


_PLANS = _plans()


class Sealing(Opening):
    """Opens a store that is encrypted, or makes one.

    Args:
        ring: Master keys.
        vault: The owners' keys.
        owns_vault: Whether the vault is closed with the store.
        as_is: Whether a store in plain is opened as one, not refused.
    """

    def __init__(
        self, ring: KeyRing, vault: KeyVault, *, owns_vault: bool = False, as_is: bool = False
    ) -> None:
        self._wrapping = Wrapping(ring)
        self._vault, self._owns_vault = vault, owns_vault
        self._as_is = as_is
        self._cells: Cells | None = None

    @property
    def seals(self) -> Seals | None:
        """The owners' keys, once the store is open."""
        return None if self._cells is None else self._cells.seals

    def connect(self, name: str, flags: int) -> apsw.Connection:
        """Return a new connection."""
        connection = SealedConnection(name, flags=flags)
        connection.cells = self._cells
        return connection

    def begin(self, writer: apsw.Connection) -> Secrets:
        """See :class:`~memstrata.adapters.sqlite_opening.Opening`.

        Raises:
            ConfigurationError: If memories are there that are not encrypted.
            KeyUnavailable: If the ring or the vault lacks a key.
        """
        kept = read_secrets(writer)
        if not is_wrapped(kept):
            if self._as_is:
                return kept
            if inhabitants_in(writer):
                raise ConfigurationError(
                    f"{writer.filename}: holds memories that are not encrypted; move them to a new "
                    "store that is, with `memstrata migrate` (docs/encryption.md)"
                )
            # The one that is there has been in the file.
            with writer:
                self.keep(writer, Secrets(kept.salt, secrets.token_bytes(TAG_KEY_BYTES)))
            kept = read_secrets(writer)
        keys = self._unwrapped(kept)
        self._cells = Cells(self._seals(writer.filename, keys))
        if isinstance(writer, SealedConnection):
            writer.cells = self._cells
        return keys

    def secrets(self, connection: apsw.Connection) -> Secrets:
        """See :class:`~memstrata.adapters.sqlite_opening.Opening`."""
        kept = read_secrets(connection)
        if not is_wrapped(kept):
            raise ConfigurationError(
                f"{connection.filename}: is not encrypted, and the store is; restore it into one "
                "that is not, and move that here with `memstrata migrate`"
            )
        return self._unwrapped(kept)

    def keep(self, connection: apsw.Connection, keys: Secrets) -> None:
        """See :class:`~memstrata.adapters.sqlite_opening.Opening`."""
        tag_key = index_key_kept(self._wrapping, keys.salt, keys.tag_key)
        super().keep(connection, Secrets(keys.salt, tag_key))

    def follow(self, keys: Secrets) -> None:
        """See :class:`~memstrata.adapters.sqlite_opening.Opening`."""
        if self._cells is not None:
            self._cells.seals = self._seals(self._cells.seals.location, keys)

    def close(self) -> None:
        """See :class:`~memstrata.adapters.sqlite_opening.Opening`."""
        if self._owns_vault:
            self._vault.close()

    def _unwrapped(self, kept: Secrets) -> Secrets:
        return Secrets(kept.salt, index_key_of(self._wrapping, kept.salt, kept.tag_key))

    def _seals(self, location: str, keys: Secrets) -> Seals:
        return Seals(location, keys.salt, self._wrapping, self._vault)
