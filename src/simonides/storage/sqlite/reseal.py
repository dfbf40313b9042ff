"""Looking at every code of an owner in a file, and writing all of them anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from simonides.domain.writing.change import Head, OutboxItem
from simonides.storage.integrity.codes import RowMacs
from simonides.storage.integrity.reseal import (
    Bodies,
    Examination,
    Recoded,
    Stories,
    past_codes,
    stories,
)
from simonides.storage.integrity.row_codec import (
    CURRENT_COLUMNS,
    Reader,
    Stood,
    coded,
)
from simonides.storage.integrity.set_sums import Mark, Move, whole
from simonides.storage.schema.owner_ids import Owner
from simonides.storage.sqlite.file.schema import SQL
from simonides.storage.sqlite.reads import fetch_damaged, fetch_held

_PAGE = 500
"""Rows that are held at a time."""

_ROWS = coded(SQL["rows_page"], CURRENT_COLUMNS)


def looked_through(
    connection: apsw.Connection, reader: Reader, owner: Owner, stood: Stood
) -> tuple[str, ...]:
    """Return the ids of memories that are not as they were written, or not whole; sorted.

    Raises:
        Tampered: If each that is there is, and they are not those that were.
    """
    named = {"owner": owner.digest}
    parts = [id for (id,) in connection.execute(SQL["bereft"], named)]
    unlisted = [id for (id,) in connection.execute(SQL["unlisted"], named)]
    examination = Examination(reader, stood, [*parts, *unlisted])
    for page in _pages(connection, owner):
        examination.take(page)
    _bodies(connection, owner).check(reader)
    return examination.finish(_stories(connection, owner))


def recoded(
    connection: apsw.Connection,
    reader: Reader,
    owner: Owner,
    codes: RowMacs,
    before: Stood | None,
    *,
    had_codes: bool,
    accept: bool,
) -> Move:
    """Write all codes of an owner anew, in the transaction that is open, and return its set.

    Args:
        connection: With the owner's turn.
        reader: Of the owner as it stands.
        owner: Whose.
        codes: By which is written.
        before: Where it stands and by which codes; None if it has none, or they are not looked at.
        had_codes: Whether it has any.
        accept: Whether what stands is taken for what was written, whatever its codes say.

    Raises:
        Tampered: If something is not as it was written, and that is not accepted.
    """
    if not accept:
        if before is None:
            damaged = fetch_damaged(connection, owner.digest)
        else:
            damaged = looked_through(connection, reader, owner, before)
        reader.refuse_any(damaged)
    named = {"owner": owner.digest}
    marks: dict[str, Mark] = {}
    for page in _pages(connection, owner):
        made = Recoded.of(reader, codes, page, had_codes=had_codes, accept=accept)
        for id, mark in made.marks.items():
            status, due = made.told[id]
            bound = {**named, "id": id, "mac": mark.mac, "status": status, "due_at": due}
            connection.execute(SQL["code_memory"], bound)
        entries = [{**named, "id": id, "entry": entry} for id, entry in made.entries.items()]
        connection.executemany(SQL["code_entry"], entries)
        connection.executemany(SQL["drop_index_row"], [{**named, "id": id} for id in made.dropped])
        marks |= made.marks
    bodies = _bodies(connection, owner)
    again = bodies.recoded(reader, codes, had_codes=had_codes, accept=accept)
    _write_bodies(connection, owner, again)
    connection.executemany(
        SQL["code_state"],
        [
            {**named, "revision": revision, "id": id, "status": status, "mac": mac}
            for revision, id, status, mac in past_codes(codes, _stories(connection, owner))
        ],
    )
    fields: Any = connection.execute(SQL["coded_head"], named).fetchone()
    move = whole(codes, Head._make(fields[:5]), marks)
    sealed = codes.seal(move.head, fields[5], move.total)
    bound = {**named, "key_id": codes.key_id, "set_sum": sealed}
    connection.execute(SQL["code_owner"], bound)
    if accept:
        # What contradicts itself would be refused from now on; it is, before anything is written.
        stood = Stood(move.head, fields[5], move.total, codes)
        reader = reader.under(codes)
        reader.refuse_any(looked_through(connection, reader, owner, stood))
    return move


def _pages(connection: apsw.Connection, owner: Owner) -> Iterator[list[Any]]:
    after = ""
    while True:
        bound = {"owner": owner.digest, "after": after, "limit": _PAGE}
        # All of a page before the next: what comes of it is written to the same table.
        page: list[Any] = connection.execute(_ROWS, bound).fetchall()
        if not page:
            return
        yield page
        after = page[-1][0]


def _bodies(connection: apsw.Connection, owner: Owner) -> Bodies:
    named = {"owner": owner.digest}
    grants: list[Any] = connection.execute(SQL["tagged_grants"], named).fetchall()
    work = connection.execute(SQL["work"], named)
    held = fetch_held(connection, owner.digest, None)
    return Bodies(held, [OutboxItem._make(item) for item in work], grants)


def _write_bodies(connection: apsw.Connection, owner: Owner, made: Bodies) -> None:
    named = owner.digest
    of_held = [{"owner": named, "id": each.id, "body": each.body} for each in made.held]
    of_work = [{"owner": named, "id": each.id, "body": each.body} for each in made.work]
    of_grants = [{"owner": named, "tag": tag, "body": body} for tag, body in made.grants]
    connection.executemany(SQL["code_held"], of_held)
    connection.executemany(SQL["code_work"], of_work)
    connection.executemany(SQL["code_grant"], of_grants)


def _stories(connection: apsw.Connection, owner: Owner) -> Stories:
    found: list[Any] = connection.execute(SQL["coded_states"], {"owner": owner.digest}).fetchall()
    return stories(found)
