"""What of each statement on a SQLite file is encrypted where the file is.

A statement that touches a column of :data:`~simonides.storage.encryption.cells.SEALED` is named
here; a test looks into every such column for what is not sealed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from simonides.domain.codecs.parts import PARTS
from simonides.storage.encryption.cells import (
    NAME,
    SEALED,
    Place,
    SealedCell,
)
from simonides.storage.integrity.row_codec import CURRENT_COLUMNS, PAST_COLUMNS, coded
from simonides.storage.schema.sql_files import parameters
from simonides.storage.sqlite.file.schema import SQL
from simonides.storage.sqlite.transfer import ADD, PAGES


class Reading(NamedTuple):
    """What of a statement's answer is sealed.

    Attributes:
        cells: The columns.
        owner: Where it is said whose rows these are; a column that holds a sealed name says so.
        is_whole: Whether the last column is the answer's too; else it was asked for only to know
            whose a row is.
        is_of_many: Whether a row is left out whose owner nobody can read any more.
    """

    cells: tuple[SealedCell, ...]
    owner: Place = "owner"
    is_whole: bool = True
    is_of_many: bool = False


class Writing(NamedTuple):
    """What of a statement's values is sealed.

    Attributes:
        cells: By parameter: table and column, and the parameters that tell the row.
    """

    cells: Mapping[str, tuple[str, tuple[str, ...]]]


class Plan(NamedTuple):
    """What is done to one statement.

    Attributes:
        statement: As it is run.
        names: Of its parameters, in the order in which they are bound by position.
        writing: What of its values is sealed.
        reading: What of its answer is.
    """

    statement: str
    names: tuple[str, ...]
    writing: Writing | None
    reading: Reading | None


_MEMORY = (
    SealedCell(2, "memories.body", (0,)),
    SealedCell(3, "memories.state", (0, 1, 5)),
    SealedCell(4, "index_rows.entry", (0,)),
)
_PAST = (
    SealedCell(2, "memories.body", (0,)),
    SealedCell(3, "states.state", (0, 1, 5)),
    SealedCell(4, "index_rows.entry", (0,)),
)
_HELD = (
    SealedCell(1, "held.session", (0,)),
    SealedCell(2, "held.reason", (0,)),
    SealedCell(3, "held.body", (0,)),
)
_NAMED = SealedCell(0, NAME, ())
_OUTBOX = Reading(
    (_NAMED, SealedCell(2, "outbox.target", (1,)), SealedCell(3, "outbox.body", (1,))),
    owner=0,
    is_of_many=True,
)


def _one(at: int, place: str, *row: Place) -> Reading:
    return Reading((SealedCell(at, place, row),))


_READS: dict[str, Reading] = {
    **dict.fromkeys(
        ("live_rows", "changed_rows", "rows_of_ids", "rows_page", "rows_by_tag"), Reading(_MEMORY)
    ),
    "rows_as_of": Reading(_PAST),
    "states_of": _one(1, "states.state", "id", 0, 2),
    "contents": Reading(
        (
            SealedCell(3, "memories.body", (0,)),
            SealedCell(7, "memories.state", (0, 5, 6)),
            SealedCell(8, "states.state", (0, 5, 6)),
        )
    ),
    "codes": _one(5, "memories.state", 0, 1, 3),
    "coded_states": _one(6, "states.state", 0, 1, 4),
    "derived": Reading((_NAMED,), owner=0, is_of_many=True),
    "derived_of_all": Reading((_NAMED,), owner=0, is_of_many=True),
    "owner_names": Reading((SealedCell(1, NAME, ()),), owner=0, is_of_many=True),
    "facts": _one(13, NAME),
    "outbox": _OUTBOX,
    "outbox_of_all": _OUTBOX,
    "work": Reading((SealedCell(1, "outbox.target", (0,)), SealedCell(2, "outbox.body", (0,)))),
    "links": _one(4, "event_payloads.payload", 0),
    "idempotent": Reading(
        (
            SealedCell(0, "idempotency.request", ("tag",)),
            SealedCell(1, "idempotency.answer", ("tag",)),
        )
    ),
    "held": Reading(_HELD),
    "held_of_session": Reading(_HELD),
    "grants": _one(0, "grants.body"),
    "tagged_grants": _one(1, "grants.body"),
    "last_policy": _one(2, "policies.body", 0, 1),
    "journal": _one(2, "read_journal.body", 1),
    "journal_from_start": _one(3, "read_journal.body", 2),
    "journal_bodies": _one(2, "read_journal.body", 1),
    "entries": _one(2, "turns.body", 0, 1),
    "sessions": _one(0, "sessions.body", 1),
    "sessions_due": Reading(
        (SealedCell(0, "sessions.body", (1,)),), owner=4, is_whole=False, is_of_many=True
    ),
    **dict.fromkeys(("session_steps", "session_step"), _one(3, "session_ends.body", 0)),
    "reviews": _one(3, "reviews.body", 0, 1, 2),
    "consents": _one(1, "consents.body", 0),
    "spent": _one(1, "usage.body", 0),
    "spent_on": _one(0, "usage.body", "day"),
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
    "put_session_step": ("session_ends", ("body",), {}),
    "put_review": ("reviews", ("body",), {}),
    "put_usage": ("usage", ("body",), {}),
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


def _write_of(table: str, columns: Iterable[str], called: Mapping[str, str]) -> Writing:
    told = SEALED[table]
    return Writing(
        {
            column: (f"{table}.{column}", tuple(called.get(key, key) for key in told[column]))
            for column in columns
        }
    )


def _plan(statement: str, writing: Writing | None, reading: Reading | None, more: str = "") -> Plan:
    run = coded(statement, more) if more else statement
    return Plan(run, parameters(statement), writing, reading)


def _plans() -> dict[str, Plan]:
    plans: dict[str, Plan] = {}
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
                SealedCell(at[column], f"{part.name}.{column}", tuple(at[key] for key in row))
                for column, row in sealed.items()
            )
            for page in PAGES[part.name]:
                plans[page] = _plan(page, None, Reading(cells))
    return plans


PLANS = _plans()
"""By statement."""
