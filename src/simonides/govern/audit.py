"""The audit trail: reading it, and proving that rows and events belong together.

`verify` replays an owner's chain and compares the last digest of each row with the row. It finds an
edited, removed, re-ordered, re-scoped or rolled-back row or event; `verify_all` also an owner that
went back, is missing or was added. An old state of the whole file looks like the present one: keep
the heads of the report elsewhere, and give them as ``against``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from simonides.core.clock import FOREVER, parse_moment, to_ms
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, KeyUnavailable, ScopeDenied
from simonides.core.outcome import Event, EventType
from simonides.core.results import AuditReport, Page
from simonides.core.scope import GLOBAL, VIA, Principal, Right
from simonides.core.validation import between, enum_member, text
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.digests import (
    EMPTY,
    OwnerState,
    Root,
    added,
    event_code,
    part_of,
    row_digest,
)
from simonides.storage.rows import paged, rows_of
from simonides.storage.transaction import event_of, secret_of

Heads = Mapping[str, Sequence[Any]]
"""Length and last code of chains, by owner."""

BATCH = 1_000
"""Rows that a check reads at once."""

OWNERS_TRIED = 20
"""Owners by which a store tells whether an audit key is its own. Set by judgement."""

COMPARED = 8_192
"""Rows of a table that are compared with their last events at once. Each time, all events of the
owner are looked through. Chosen: they take about 4 MiB."""

FORM_OF_HEADS = "holds for each owner a length and a code"

_ABOVE_ALL = b"\xff" * 17
"""Comes after every id."""


def list_events(
    engine: Engine,
    who: Principal,
    *,
    type: str | None = None,
    actor: str | None = None,
    memory: str | None = None,
    since: Any = None,
    until: Any = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page[Event]:
    """Return the owner's audit events, newest first.

    Args:
        engine: The store.
        who: Whose trail it is.
        type: Only events of this type.
        actor: Only events of this actor.
        memory: Only events of the memory with this root id; it may be forgotten since.
        since: Only events from this moment on.
        until: Only events before this moment.
        limit: Maximum number of events.
        cursor: The ``next_cursor`` of the page before.

    Raises:
        InvalidInput: If an argument is out of range, or the cursor is of another list.
    """
    most = between("limit", limit, 1, BATCH)
    wanted = None if type is None else enum_member(EventType, "type", type)
    first = -FOREVER if since is None else parse_moment("since", since) or 0
    last = FOREVER if until is None else parse_moment("until", until) or 0
    if cursor is not None and not re.fullmatch("[0-9]{1,18}", text("cursor", cursor)):
        raise InvalidInput("cursor", "is not a next_cursor of this list")
    before = FOREVER if cursor is None else int(cursor)
    root = None if memory is None else text("memory", memory).replace("-", "")

    def is_chosen(event: Event) -> bool:
        return (
            wanted in (None, event.type)
            and actor in (None, event.actor, event.actor.partition(VIA)[0])
            and root in (None, event.data.get("root"))
            and first <= to_ms(event.at) < last
        )

    with engine.db.read(who.owner) as connection:
        rows = paged(connection, statements.EVENTS_BACKWARDS, who.owner, before, BATCH)
        events = (event_of(who.owner, row, json.loads(row[7])) for row in rows)
        chosen = list(islice(filter(is_chosen, events), most + 1))
    page = chosen[:most]
    return Page(page, str(page[-1].seq) if len(chosen) > most else None)


def length(engine: Engine, who: Principal) -> int:
    """Return how many events the owner has."""
    with engine.db.read(who.owner) as connection:
        state = connection.one(statements.STATE, {"owner": who.owner})
    return 0 if state is None else int(state[2])


def events_after(engine: Engine, who: Principal, seq: int, limit: int = 100) -> list[Event]:
    """Return the events that come after a number, oldest first."""
    with engine.db.read(who.owner) as connection:
        page = {"owner": who.owner, "after": seq, "limit": limit}
        rows = connection.rows(statements.EVENTS, page)
    return [event_of(who.owner, row[:8], json.loads(row[7])) for row in rows]


def verify(engine: Engine, who: Principal, against: Heads | None = None) -> AuditReport:
    """Check the owner's rows against its chain, and the chain against heads that were saved."""
    own = {owner: head for owner, head in _saved(against).items() if owner == who.owner}
    return _report(engine, [who.owner], own)


def heads(engine: Engine, who: Principal) -> dict[str, list[int | str]]:
    """Return the length and the last code of the chain of each owner.

    Raises:
        ScopeDenied: If the caller does not administer the store.
    """
    _check_whole(who)
    with engine.db.read(*engine.db.owners(), snapshot=True) as connection:
        rows = connection.rows(statements.STATES, {})
    return {owner: [events, head.hex()] for owner, _, _, events, head, *_ in rows}


def _check_whole(who: Principal) -> None:
    if not who.is_admin or who.home != GLOBAL:
        raise ScopeDenied(GLOBAL.path, Right.ADMIN, "open store.admin(actor=…)")


def verify_all(engine: Engine, who: Principal, against: Heads | None = None) -> AuditReport:
    """Check all rows against their chains, these against saved heads, and the file of the store.

    Raises:
        ScopeDenied: If the caller does not administer the store.
    """
    _check_whole(who)
    saved = _saved(against)
    report = _report(engine, sorted({*engine.db.owners(), *saved}), saved)
    found = dict.fromkeys((*_check_roots(engine), engine.db.damage()))
    together = tuple(f"store: {problem}" for problem in found if problem)
    return report.model_copy(update={"problems": report.problems + together})


def _saved(against: Heads | None) -> Heads:
    """Return saved heads, of which each names its owner."""
    saved: Any = {} if against is None else against
    if not isinstance(saved, Mapping) or not all(isinstance(owner, str) for owner in saved):
        raise InvalidInput("against", FORM_OF_HEADS)
    return saved


def _report(engine: Engine, owners: Sequence[str], against: Heads) -> AuditReport:
    problems: list[str] = []
    heads: dict[str, tuple[int, str]] = {}
    for owner in owners:
        with engine.db.read(owner, snapshot=True) as connection:
            length, head, own = _check(connection, owner, engine.audit_key)
            own += _went_back(connection, owner, against.get(owner))
        heads[owner] = (length, head.hex())
        problems += [f"{owner}: {problem}" for problem in own]
    events = sum(length for length, _ in heads.values())
    return AuditReport(owners=len(heads), events=events, problems=tuple(problems), heads=heads)


def _went_back(connection: Connection, owner: str, saved: Any) -> Iterator[str]:
    """Yield what is wrong if a chain does not go on from a head that was saved."""
    if saved is None:
        return
    try:
        length, head = int(saved[0]), bytes.fromhex(saved[1])
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InvalidInput("against", FORM_OF_HEADS) from error
    if not 0 <= length < 1 << 63:  # no chain is longer
        raise InvalidInput("against", FORM_OF_HEADS)
    page = {"owner": owner, "after": length - 1, "limit": 1}
    event = connection.one(statements.EVENTS, page)
    if length and (event is None or (event[0], event[-1]) != (length, head)):
        yield f"the chain went back behind event {length} of the saved heads, or is another"


def check_owner(connection: Connection, owner: str, key: bytes) -> list[str]:
    """Return what does not fit of an owner's rows and chain."""
    return _check(connection, owner, key)[2]


def _check(connection: Connection, owner: str, key: bytes) -> tuple[int, bytes, list[str]]:
    """Return length and head of an owner's chain, and what does not fit."""
    problems: list[str] = []
    length, head, tables = 0, EMPTY, set[str]()
    for *event, digest, code in paged(connection, statements.EVENTS, owner, 0, BATCH):
        seq = event[0]
        if seq != length + 1:
            problems.append(f"event {length + 1} is missing")
        elif code != event_code(key, head, owner, (*event, digest)):
            problems.append(f"event {seq} was changed, or the audit key is another")
        length, head = seq, code
        tables.add(event[4])
    row = connection.one(statements.STATE, {"owner": owner})
    state = None if row is None else OwnerState._make(row)
    if ((state.events, state.head) if state else (0, EMPTY)) != (length, head):
        problems.append("the chain does not end where the owner's row says")
    if state is not None and not state.fits(key, owner):
        problems.append("the owner's row was changed, or the audit key is another")
    if (state.rows if state else EMPTY) != _sum(connection, owner, key):
        problems.append(f"a row of {', '.join(statements.SUMMED)} was changed, added or removed")
    for table in (*statements.TABLES, *sorted(tables - statements.TABLES.keys())):
        problems += _check_rows(connection, owner, key, table, has_events=table in tables)
    return length, head, problems


def _sum(connection: Connection, owner: str, key: bytes) -> bytes:
    """Return the sum of an owner's rows that have no events."""
    total = EMPTY
    for table in statements.SUMMED:
        for row in rows_of(connection, table, owner):
            total = added(total, row_digest(key, table, row))
    return total


def check_key(engine: Engine) -> None:
    """Refuse an audit key that is not the store's: what is written under it would fit no history.

    A store in which some of it fits still opens, for the check to say what was changed.

    Raises:
        KeyUnavailable: If nothing fits the key.
    """
    with engine.db.read() as connection:
        rows = connection.rows(statements.ROOTS, {})
        secret = secret_of(connection) if rows else b""
    roots = [(part, Root._make(row)) for part, *row in rows]
    owners = engine.db.owners()[:OWNERS_TRIED] if roots else []
    if not owners or any(root.fits(engine.audit_key, part, secret) for part, root in roots):
        return
    for owner in owners:
        with engine.db.read(owner) as connection:
            row = connection.one(statements.STATE, {"owner": owner})
        if row is not None and OwnerState._make(row).fits(engine.audit_key, owner):
            return
    other = "another audit key" if engine.audit_key else "an audit key"
    if engine.audit_key and any(root.fits(b"", part, secret) for part, root in roots):
        other = "no audit key; a key is for a new store"
    raise KeyUnavailable(f"{engine.db.location}: the history was made under {other}")


def _check_roots(engine: Engine) -> Iterator[str]:
    """Yield what does not fit of the owners together."""
    key, db = engine.audit_key, engine.db
    with db.read(*db.owners(), snapshot=True) as connection:
        secret = secret_of(connection)
        roots = {part: Root._make(row) for part, *row in connection.rows(statements.ROOTS, {})}
        sums = dict.fromkeys(roots, (EMPTY, 0))
        for owner, *row in connection.rows(statements.STATES, {}):
            state = OwnerState._make(row)
            if not state.is_new:
                part = part_of(owner, db.parts)
                leaves, owners = sums.get(part, (EMPTY, 0))
                sums[part] = added(leaves, state.leaf(key, owner)), owners + 1
    for part, (leaves, owners) in sums.items():
        root = roots.get(part)
        if root is None or (root.leaves, root.owners) != (leaves, owners):
            yield "an owner went back, is missing or was added"
        elif not root.fits(key, part, secret):
            yield "the root of the owners or the store's secret was changed, or the audit key"


def _check_rows(
    connection: Connection, owner: str, key: bytes, table: str, *, has_events: bool
) -> Iterator[str]:
    """Yield what does not fit of a table's rows, some of them at a time."""
    found = _digests(connection, owner, key, table)
    low = b""
    while low != _ABOVE_ALL:
        rows = dict(islice(found, COMPARED))
        high = max(rows) if len(rows) == COMPARED else _ABOVE_ALL
        last = _last_digests(connection, owner, table, low, high) if has_events else {}
        for id in {**rows, **last}:
            if id not in last:
                yield f"row {id.hex()} of {table} is in no event"
            elif id not in rows:
                yield f"row {id.hex()} of {table} is missing"
            elif rows[id] != last[id]:
                yield f"row {id.hex()} of {table} was changed"
        low = high


def _digests(
    connection: Connection, owner: str, key: bytes, table: str
) -> Iterator[tuple[bytes, bytes]]:
    """Yield id and digest of each row of a table, by id; nothing of a table that is none."""
    if table in statements.TABLES:
        position = statements.TABLES[table].index("id")
        for row in rows_of(connection, table, owner):
            yield row[position], row_digest(key, table, row)


def _last_digests(
    connection: Connection, owner: str, table: str, low: bytes, high: bytes
) -> dict[bytes, bytes]:
    """Return what the last events left of a table's rows that are there, by ids within bounds."""
    last: dict[bytes, bytes] = {}
    bounds: dict[str, Any] = {"table": table, "low": low, "high": high}
    for _, id, digest in paged(connection, statements.DIGESTS, owner, 0, BATCH, **bounds):
        if digest == EMPTY:
            last.pop(id, None)
        else:
            last[id] = digest
    return last
