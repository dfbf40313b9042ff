"""Looking at every code of an owner in a file, and writing all of them anew (FX-7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import apsw

from memstrata.adapters.sqlite_rows import fetch_damaged
from memstrata.adapters.sqlite_schema import SQL
from memstrata.adapters.store_coded import CURRENT_COLUMNS, Reader, Stood, Unread, coded
from memstrata.adapters.store_codes import ENTRY_CODE_BYTES, Codes
from memstrata.adapters.store_owners import Owner
from memstrata.adapters.store_watch import Mark, Move, whole
from memstrata.domain.change import Head
from memstrata.domain.errors import Tampered

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
    damaged = {id for (id,) in connection.execute(SQL["bereft"], named)}
    damaged |= {id for (id,) in connection.execute(SQL["unlisted"], named)}
    marks: dict[str, Mark] = {}
    for row in _rows(connection, owner):
        try:
            marks |= reader.current([row])[1]
        except Tampered:
            damaged.add(row[0])
    for id, states in _stories(connection, owner).items():
        try:
            reader.story(id, states)
        except Tampered:
            damaged.add(id)
        if id in marks and marks[id].revision != states[-1][0]:
            damaged.add(id)
    if not damaged and whole(stood.codes, stood.head, marks).total != stood.total:
        reader.refuse("rows", "a memory was removed, added or put back")
    return tuple(sorted(damaged))


def recoded(
    connection: apsw.Connection,
    location: str,
    owner: Owner,
    codes: Codes,
    before: Stood | None,
    *,
    accept: bool,
) -> Move:
    """Write all codes of an owner anew, in the transaction that is open, and return its set.

    Args:
        connection: With the owner's turn.
        location: Of the store.
        owner: Whose.
        codes: By which is written.
        before: Where it stands and by which codes; None if it has none.
        accept: Whether what stands is taken for what was written, whatever its codes say.

    Raises:
        Tampered: If something is not as it was written, and that is not accepted.
    """
    _check(connection, location, owner, before, accept=accept)
    named = {"owner": owner.digest}
    marks: dict[str, Mark] = {}
    for row in _rows(connection, owner):
        made = Unread.of(row)
        mac, bound = made.mac(codes), {**named, "id": made.row.id}
        marks[made.row.id] = Mark(mac, made.row.revision)
        connection.execute(SQL["code_memory"], {**bound, "mac": mac})
        if accept:
            # Nobody can look at an index entry and say that it is right; without one, it is made
            # anew when it is read.
            connection.execute(SQL["drop_index_row"], bound)
        elif made.row.entry:
            entry = made.row.entry if before is None else made.row.entry[:-ENTRY_CODE_BYTES]
            coded_entry = codes.entry(made.row.id, entry)
            connection.execute(SQL["code_entry"], {**bound, "entry": coded_entry})
    for id, states in _stories(connection, owner).items():
        for revision, previous, _, known_from, _, state, _ in states:
            mac = codes.past(codes.state(id, revision, known_from, state), previous)
            bound = {**named, "id": id, "revision": revision}
            connection.execute(SQL["code_state"], {**bound, "mac": mac})
    fields: Any = connection.execute(SQL["coded_head"], named).fetchone()
    move = whole(codes, Head._make(fields[:5]), marks)
    seal_owner(connection, owner.digest, codes, move)
    return move


def seal_owner(connection: apsw.Connection, owner: bytes, codes: Codes, move: Move) -> None:
    """Seal where an owner stands, in the transaction that moved it there."""
    found: Any = connection.execute(SQL["chain_head"], {"owner": owner}).fetchone()
    sealed = codes.seal(move.head, found[1], move.total)
    bound = {"owner": owner, "key_id": codes.key_id, "set_sum": sealed}
    connection.execute(SQL["code_owner"], bound)


def _check(
    connection: apsw.Connection,
    location: str,
    owner: Owner,
    before: Stood | None,
    *,
    accept: bool,
) -> None:
    if accept:
        return
    reader = Reader(location, owner, None if before is None else before.codes)
    if before is None:
        damaged = fetch_damaged(connection, owner.digest)
    else:
        damaged = looked_through(connection, reader, owner, before)
    if damaged:
        reader.refuse("content", "is not as it was written, or not whole", damaged[0])


def _rows(connection: apsw.Connection, owner: Owner) -> Iterator[tuple[Any, ...]]:
    after = ""
    while True:
        bound = {"owner": owner.digest, "after": after, "limit": _PAGE}
        # All of a page before the next: what comes of it is written to the same table.
        page: list[Any] = connection.execute(_ROWS, bound).fetchall()
        if not page:
            return
        yield from page
        after = page[-1][0]


def _stories(connection: apsw.Connection, owner: Owner) -> dict[str, list[tuple[Any, ...]]]:
    stories: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    found: list[Any] = connection.execute(SQL["coded_states"], {"owner": owner.digest}).fetchall()
    for id, *state in found:
        stories[id].append(tuple(state))
    return stories
