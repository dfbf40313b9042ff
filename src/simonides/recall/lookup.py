"""Reads of named memories: get, list, history, and what an id or a key means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from simonides.core.clock import to_datetime, to_ms
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound
from simonides.core.filter import predicate_of
from simonides.core.record import (
    FULL_ID,
    SHORT_ID,
    Record,
    id_text,
    is_gap,
    looks_like_id,
)
from simonides.core.results import Hit, Page
from simonides.core.scope import Principal
from simonides.core.validation import between, text
from simonides.govern.rights import Reach, may_see, readable
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import (
    MemoryRow,
    id_bytes,
    latest_of,
    memories,
    memory_row,
    paged,
    partition_of,
    record_of,
    rows_of_ids,
)

MAX_LISTED = 1_000
"""Maximum number of records of one page."""

BATCH = 256
"""Rows that a list reads at once."""

_LAST = b"\xff" * 16
_ID = statements.MEMORY.index("id")


def name_of(which: object) -> str:
    """Return what a caller names a memory by: an id or a key.

    Raises:
        InvalidInput: If it is neither text, a record nor a hit.
    """
    if isinstance(which, (Record, Hit)):
        return which.id
    if not isinstance(which, str):
        kind = type(which).__name__
        raise InvalidInput("which", f"must be a key, an id, a record or a hit, not {kind}")
    return text("which", which)


def get(
    engine: Engine, who: Principal, which: object, scopes: Sequence[str] | None = None
) -> Record | None:
    """Return one memory, or None if there is none that the reader may read.

    An id returns that very version, with its status. A key returns the memory in force under it in
    the nearest scope that has one.
    """
    name, reach = name_of(which), readable(engine, who, scopes)
    with engine.db.read(*(each.owner for each in reach)) as connection:
        record = _named(connection, engine, who, name, reach)
        if record is None:
            return None
        now = to_datetime(engine.clock.now_ms())
        return with_reads(connection, [record.as_of(now)])[0]


def find(engine: Engine, who: Principal, which: object, reach: Sequence[Reach]) -> Record:
    """Return the memory that a name means, as it is now.

    Raises:
        NotFound: If there is none that the reader may read; it names the nearest key.
    """
    name = name_of(which)
    with engine.db.read(*(each.owner for each in reach)) as connection:
        record = _named(connection, engine, who, name, reach)
        if record is None:
            raise NotFound(name, _nearest_key(connection, engine, who, name, reach))
        return latest(connection, record)


def history(
    engine: Engine, who: Principal, which: object, scopes: Sequence[str] | None = None
) -> tuple[Record, ...]:
    """Return every version of a memory, oldest first.

    Raises:
        NotFound: If there is none that the reader may read.
    """
    reach = readable(engine, who, scopes)
    record = find(engine, who, which, reach)
    now = engine.clock.now_ms()
    with engine.db.read(record.owner) as connection:
        rows = versions(connection, record.owner, id_bytes(record.root))
    records = map(record_of, rows)
    return tuple(each for each in records if "expired" not in exclusions(who, each, reach, now))


def versions(connection: Connection, owner: str, root: bytes) -> list[MemoryRow]:
    """Return the rows of all versions of a memory, oldest first."""
    return memories(connection, statements.HISTORY, owner=owner, root=root)


def list_memories(
    engine: Engine,
    who: Principal,
    *,
    filter: Mapping[str, Any] | None = None,
    limit: int = 100,
    cursor: str | None = None,
    scopes: Sequence[str] | None = None,
) -> Page[Record]:
    """Return what a reader may read, newest first, nearest owner first.

    Turns of which nothing was kept are left out.

    Raises:
        InvalidInput: If an argument is out of range, or the cursor is of another list.
    """
    most = between("limit", limit, 1, MAX_LISTED)
    predicate = predicate_of(filter, org=who.home.org or "default")
    reach, now = readable(engine, who, scopes), engine.clock.now_ms()
    moment = to_datetime(now)
    position, after = _parse_cursor(cursor, reach)

    def shown(connection: Connection) -> Iterator[Record]:
        for n, each in enumerate(reach[position:]):
            first = _LAST if n else after
            for row in paged(connection, statements.LIST, each.owner, first, BATCH, _ID):
                record = record_of(memory_row(row)).as_of(moment)
                if not exclusions(who, record, [each], now) and not is_gap(record.content):
                    yield record

    with engine.db.read(*(each.owner for each in reach)) as connection:
        kept = (r for r in shown(connection) if predicate is None or predicate(r))
        records = list(islice(kept, most + 1))
        page = with_reads(connection, records[:most])
    if len(records) <= most:
        return Page(page)
    owners = [each.owner for each in reach]
    return Page(page, f"{owners.index(page[-1].owner)}.{id_bytes(page[-1].id).hex()}")


def _parse_cursor(cursor: object, reach: Sequence[Reach]) -> tuple[int, bytes]:
    if cursor is None:
        return 0, _LAST
    parts = re.fullmatch(r"(\d{1,2})\.([0-9a-f]{32})", cursor) if isinstance(cursor, str) else None
    if parts is None or int(parts[1]) >= len(reach):
        raise InvalidInput("cursor", "is not a next_cursor of this list")
    return int(parts[1]), bytes.fromhex(parts[2])


def exclusions(who: Principal, record: Record, reach: Sequence[Reach], now: int) -> tuple[str, ...]:
    """Return why a record is not shown to a reader; empty if it is."""
    mine = next((each for each in reach if each.owner == record.owner), None)
    expired = record.hard_expires_at is not None and to_ms(record.hard_expires_at) <= now
    over = record.valid_to is not None and to_ms(record.valid_to) <= now
    reasons = {
        "out_of_scope": mine is None,
        "other_reader": mine is not None and not may_see(who, mine, record.partition),
        record.status.value: not record.is_current,
        "expired": expired,
        "no_longer_valid": over,
    }
    return tuple(name for name, holds in reasons.items() if holds)


def _named(
    connection: Connection, engine: Engine, who: Principal, name: str, reach: Sequence[Reach]
) -> Record | None:
    from simonides.core.policy import canonical

    now, sql = engine.clock.now_ms(), statements.BY_KEY
    named: dict[str, str | bytes] = {"key": canonical(name)}
    if FULL_ID.fullmatch(name):
        sql, named = statements.BY_ID, {"id": id_bytes(name)}
    elif SHORT_ID.fullmatch(name):
        sql, named = statements.BY_SHORT_ID, {"tail": bytes.fromhex(name)}
    for each in reach:
        rows = memories(connection, sql, owner=each.owner, **named)
        records = [record_of(row) for row in rows]
        # The task's own comes before its user's; of several values the last.
        records.sort(key=lambda r: (r.said_at, r.id), reverse=True)
        records.sort(key=lambda r: (r.task != who.home.task, r.audience is None, r.purpose is None))
        for record in records:
            is_over = "expired" in exclusions(who, latest(connection, record), [each], now)
            if not is_over and set(exclusions(who, record, [each], now)) <= {record.status.value}:
                return record
    return None


def latest(connection: Connection, record: Record) -> Record:
    """Return the version in force of a memory, else its last one."""
    if record.is_current:
        return record
    rows = latest_of(connection, record.owner, [id_bytes(record.root)])
    return next(map(record_of, rows), record)


def _nearest_key(
    connection: Connection, engine: Engine, who: Principal, name: str, reach: Sequence[Reach]
) -> str | None:
    """Return the most similar key that the reader may see."""
    now = engine.clock.now_ms()
    keys: dict[str, None] = {}
    for each in reach:
        rows = connection.rows(statements.KEYS, {"owner": each.owner})
        for key, task, audience, purpose, ends in rows:
            partition = partition_of(task, audience, purpose)
            if (ends is None or ends > now) and may_see(who, each, partition):
                keys[key] = None
    return next(iter(difflib.get_close_matches(name, keys, n=1)), None)


def with_reads(connection: Connection, records: Sequence[Record]) -> list[Record]:
    """Return records with how often and when they were last recalled."""
    by_root: dict[tuple[str, str], dict[str, Any]] = {}
    for owner in {record.owner for record in records}:
        roots = [id_bytes(each.root) for each in records if each.owner == owner]
        for root, count, last in rows_of_ids(connection, statements.reads_of, roots, owner=owner):
            reads = {"access_count": count, "last_accessed_at": to_datetime(last)}
            by_root[owner, id_text(root)] = reads
    return [each.model_copy(update=by_root.get((each.owner, each.root))) for each in records]


def own(engine: Engine, who: Principal, which: object) -> Record:
    """Return the memory that a name means in the principal's own scope.

    A key means the principal's own; an id also reaches the tasks of a user.
    """
    task = who.home.task
    by_id = task is None and looks_like_id(name_of(which))
    reach = Reach(who.owner, None if by_id else frozenset({task}))
    return find(engine, who, which, [reach])


class EndedClause(NamedTuple):
    """What a newer memory ended.

    Attributes:
        older: Id of the version that states it.
        start: Where the clause begins in its line.
        stop: Where it stops; both are 0 for all of it.
        newer: Id of what ended it as it is in force; None if it is in force no more.
    """

    older: bytes
    start: int
    stop: int
    newer: bytes | None


def endings_of(
    connection: Connection, owner: str, ids: Sequence[bytes], known_at: int
) -> list[EndedClause]:
    """Return what had ended at a moment of some memories, of what ended it, and so on."""
    named = {"owner": owner, "known_at": known_at}
    return [
        EndedClause(*cells) for cells in rows_of_ids(connection, statements.ended_of, ids, **named)
    ]
