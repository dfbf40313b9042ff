"""Which values and answers of statements are encrypted in a PostgreSQL store.

Each that touches a column of :data:`~simonides.storage.encryption.cells.SEALED` is named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from simonides.domain.codecs.parts import PARTS
from simonides.storage.encryption.cells import (
    NAME,
    SEALED,
    Place,
    SealedCell,
)
from simonides.storage.postgres.schema import CODED

_STATE = "states.state"


class Reading(NamedTuple):
    """What of a statement's answer is sealed.

    Attributes:
        cells: Its columns.
        owner: Where it is said whose a row is; a name says it itself.
        skips: Whether rows are left out whose key is destroyed: of those who were erased, and whom
            an older copy has brought back, or who wrote while they were being erased.
    """

    cells: tuple[SealedCell, ...]
    owner: Place = "owner"
    skips: bool = False


class Writing(NamedTuple):
    """One of a statement's values that is sealed: a value, or a list of them.

    Attributes:
        name: Of the parameter.
        place: Table and column.
        row: The parameters that tell the row, or the rows.
    """

    name: str
    place: str
    row: tuple[str, ...]


_MEMORY = Reading(
    (
        SealedCell(2, "memories.body", (0,)),
        SealedCell(3, _STATE, (0, 1, 5)),
        SealedCell(4, "index_rows.entry", (0,)),
    )
)
_HELD = Reading(
    (
        SealedCell(1, "held.session", (0,)),
        SealedCell(2, "held.reason", (0,)),
        SealedCell(3, "held.body", (0,)),
    )
)
_OUTBOX = Reading(
    (
        SealedCell(0, NAME, ()),
        SealedCell(2, "outbox.target", (1,)),
        SealedCell(3, "outbox.body", (1,)),
    ),
    owner=0,
    skips=True,
)


def _one(at: int, place: str, *row: Place, skips: bool = False) -> Reading:
    return Reading((SealedCell(at, place, row),), skips=skips)


_NAMES = Reading((SealedCell(1, NAME, ()),), owner=0, skips=True)
_JOURNAL = _one(2, "read_journal.body", 1, skips=True)


def _reads() -> dict[str, Reading]:
    of_memories = ("live_rows", "changed_rows", "rows_of_ids", "rows_page", "rows_by_tag")
    reads = {
        **dict.fromkeys((*of_memories, "rows_as_of", "restate", *CODED), _MEMORY),
        "take_turn": Reading(
            (
                SealedCell(8, "memories.body", (7,)),
                SealedCell(9, _STATE, (7, 2, 11)),
                SealedCell(10, "index_rows.entry", (7,)),
            )
        ),
        "live_entries": _one(1, "index_rows.entry", 0),
        "states_of": _one(1, _STATE, "id", 0, 2),
        "contents": Reading(
            (
                SealedCell(3, "memories.body", (0,)),
                SealedCell(7, _STATE, (0, 5, 6)),
                SealedCell(8, _STATE, (0, 5, 6)),
            )
        ),
        "codes": _one(5, _STATE, 0, 1, 3),
        "coded_story": _one(5, _STATE, "id", 0, 3),
        "coded_states": _one(6, _STATE, 0, 1, 4),
        "owner_names": _NAMES,
        "existing": _NAMES,
        "facts": _one(13, NAME),
        "outbox": _OUTBOX,
        "outbox_of_all": _OUTBOX,
        "work": Reading((SealedCell(1, "outbox.target", (0,)), SealedCell(2, "outbox.body", (0,)))),
        "links": _one(4, "event_payloads.payload", 0),
        "idempotent": Reading(
            (SealedCell(1, "idempotency.request", (0,)), SealedCell(2, "idempotency.answer", (0,)))
        ),
        "held": _HELD,
        "held_of_session": _HELD,
        "grants": _one(0, "grants.body"),
        "tagged_grants": _one(1, "grants.body"),
        "last_policy": _one(2, "policies.body", 0, 1),
        "journal": _JOURNAL,
        "journal_from_start": _JOURNAL,
        "entries": _one(2, "turns.body", 0, 1, skips=True),
        "sessions": _one(0, "sessions.body", 1, skips=True),
        "sessions_due": Reading((SealedCell(0, "sessions.body", (1,)),), owner=4, skips=True),
        **dict.fromkeys(("session_steps", "session_step"), _one(3, "session_ends.body", 0)),
        "reviews": _one(3, "reviews.body", 0, 1, 2),
        "consents": _one(1, "consents.body", 0),
        "spent": _one(1, "usage.body", 0),
        "spent_on": _one(0, "usage.body", "day"),
    }
    for part in PARTS:
        at = {column: place for place, column in enumerate(part.columns)}
        cells = tuple(
            SealedCell(at[column], _place(part.name, column), tuple(at[key] for key in row))
            for column, row in SEALED.get(part.name, {}).items()
        )
        if cells:
            reads |= dict.fromkeys((f"page_of_{part.name}", f"next_of_{part.name}"), Reading(cells))
    return reads


def _place(table: str, column: str) -> str:
    # A state is kept twice, with its memory and among all, and is sealed once for both places.
    return _STATE if column == "state" else f"{table}.{column}"


def _writes() -> dict[str, tuple[Writing, ...]]:
    entry, body, state = (
        Writing("entry", "index_rows.entry", ("id",)),
        Writing("body", "memories.body", ("id",)),
        Writing("state", _STATE, ("id", "revision", "known_from")),
    )
    moved = (
        Writing("name", NAME, ()),
        Writing("payload", "event_payloads.payload", ("seq",)),
    )
    entries = (Writing("entries", "index_rows.entry", ("ids",)),)
    grants = (Writing("bodies", "grants.body", ()),)
    work = Writing("bodies", "outbox.body", ("ids",))
    held = Writing("bodies", "held.body", ("ids",))
    writes = {
        "add_memories": (entry, body, state),
        "add_and_move": (entry, body, state, *moved),
        "move_owner": moved,
        "restate": (state,),
        **dict.fromkeys(("reindex", "renew", "code_entries"), entries),
        "add_idempotent": (
            Writing("requests", "idempotency.request", ("tags",)),
            Writing("answers", "idempotency.answer", ("tags",)),
        ),
        "put_held": (
            held,
            Writing("reasons", "held.reason", ("ids",)),
            Writing("sessions", "held.session", ("ids",)),
        ),
        "code_held": (held,),
        **dict.fromkeys(("put_grants", "code_grants"), grants),
        "put_consents": (Writing("bodies", "consents.body", ("times",)),),
        "put_session_steps": (Writing("bodies", "session_ends.body", ("tags",)),),
        "put_reviews": (Writing("bodies", "reviews.body", ("ids", "statuses", "times")),),
        "put_usage": (Writing("body", "usage.body", ("day",)),),
        "add_policy": (Writing("body", "policies.body", ("hash", "at")),),
        "add_outbox": (work, Writing("targets", "outbox.target", ("ids",))),
        "code_work": (work,),
        "add_journal": (Writing("bodies", "read_journal.body", ("kinds",)),),
        "open_session": (Writing("body", "sessions.body", ("now",)),),
        "append_entries": (Writing("bodies", "turns.body", ("numbers", "times")),),
        "add_facts": (Writing("name", NAME, ()),),
    }
    for part in PARTS:
        if sealed := SEALED.get(part.name):
            writes[f"arrive_of_{part.name}"] = tuple(
                Writing(column, _place(part.name, column), row) for column, row in sealed.items()
            )
    return writes


READS: Mapping[str, Reading] = MappingProxyType(_reads())
"""What of its answer is opened, by the name of a statement."""

WRITES: Mapping[str, tuple[Writing, ...]] = MappingProxyType(_writes())
"""What is sealed of what is bound to it, likewise."""
