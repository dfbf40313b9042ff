"""Reading an owner's rows over one connection; every function runs inside a transaction."""

import json
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import apsw

from simonides.domain.codecs.memory import decode
from simonides.domain.conversation.session import SessionStep
from simonides.domain.errors import StoreCorrupt
from simonides.domain.event import CHAIN_START, Link
from simonides.domain.governance.consent import Consent
from simonides.domain.memory import Record
from simonides.domain.scope import Grant, Scope
from simonides.domain.writing.change import (
    Head,
    HeldCandidate,
    IdempotencyRecord,
    JournalEntry,
    OutboxItem,
    PendingOutbox,
    PolicyRecord,
    ReviewRecord,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.storage.schema.change_rules import content_code, is_storable
from simonides.storage.schema.columns import (
    GIVEN_WAY,
    LIVE,
    read_consents,
    read_grants,
    read_steps,
    scope_named,
    sort_by_revision,
    stored_rows,
)
from simonides.storage.schema.lookup_tags import (
    Tag,
    idempotency_tag,
    session_tag,
    tombstone_tag,
)
from simonides.storage.sqlite.file.erasure import fetch_counts
from simonides.storage.sqlite.file.schema import SQL

OWNERS_AT_ONCE = 3
"""How many owners the statement ``heads`` binds."""

_NO_OWNERS = (None,) * OWNERS_AT_ONCE

_by_id = itemgetter(0)


def fetch_head(connection: apsw.Connection, owner: bytes) -> tuple[Head | None, bytes]:
    """Return where an owner stands, and the last code of its chain."""
    found = connection.execute(SQL["head"], (owner,)).fetchone()
    return (None, CHAIN_START) if found is None else (Head._make(found[:-1]), found[-1])


def fetch_heads(connection: apsw.Connection, owners: Sequence[bytes]) -> tuple[Head | None, ...]:
    """Return where several owners stand, in the order asked."""
    found: dict[bytes, Head] = {}
    for start in range(0, len(owners), OWNERS_AT_ONCE):
        asked = (*owners[start : start + OWNERS_AT_ONCE], *_NO_OWNERS)[:OWNERS_AT_ONCE]
        rows: list[tuple[Any, ...]] = connection.execute(SQL["heads"], asked).fetchall()
        found |= {row[0]: Head._make(row[1:]) for row in rows}
    return tuple(map(found.get, owners))


def fetch_snapshot(connection: apsw.Connection, owner: bytes, since: Head | None) -> Snapshot:
    """Return an owner's rows, or those that changed since it stood elsewhere."""
    return _snapshot(connection, owner, fetch_head(connection, owner)[0], since, dict)


def _snapshot(
    connection: apsw.Connection,
    owner: bytes,
    head: Head | None,
    since: Head | None,
    more: Callable[[], dict[str, Any]],
) -> Snapshot:
    """Return the rows; ``more`` gives further fields of an owner that exists."""
    if head is None:
        return Snapshot(head=None, complete=True, rows=())
    if since is None or since[:2] != head[:2]:
        rows = _rows(connection, "live_rows", {"owner": owner, **LIVE})
        counted = connection.execute(SQL["live"], {"owner": owner}).get
        if counted not in (None, len(rows)):
            raise StoreCorrupt(
                connection.filename,
                f"{len(rows)} memories of an owner stand there, and {counted} were written; see "
                "`simonides admin check-audit`, then restore a backup",
            )
        sort_by_revision(rows)
        told = more() | {"consents": fetch_consents(connection, owner)}
        return Snapshot(head=head, complete=True, rows=tuple(rows), **told)
    rows = []
    if since.revision < head.revision:
        rows = _rows(connection, "changed_rows", {"owner": owner, "revision": since.revision})
    return Snapshot(head=head, complete=False, rows=tuple(rows), **more())


def fetch_for_turn(
    connection: apsw.Connection, owner: bytes, tag: Tag, request: TurnRequest
) -> tuple[Snapshot, bytes]:
    """Return what a writer wants to see under the turn, and the last code of the chain."""

    def more() -> dict[str, Any]:
        return {
            "idempotent": _idempotent(connection, owner, tag, request.idempotency_keys),
            "tombstoned": fetch_tombstoned(connection, owner, tag, request.tombstones),
            "grants": fetch_grants(connection, owner) if request.grants else (),
            "policy": fetch_policy(connection, owner) if request.policy else None,
            "counts": fetch_counts(connection, owner) if request.counts else {},
            "held": fetch_held(connection, owner, None) if request.held else (),
            "session_step": _step(connection, owner, tag, request.session),
        }

    head, mac = fetch_head(connection, owner)
    if head is None and request.counts:
        # Who only reads, or only has sessions, has rows before it is written.
        counts = fetch_counts(connection, owner)
        return Snapshot(head=None, complete=True, rows=(), counts=counts), mac
    return _snapshot(connection, owner, head, request.since, more), mac


def _step(
    connection: apsw.Connection, owner: bytes, tag: Tag, session: str | None
) -> SessionStep | None:
    if session is None:
        return None
    found = fetch_steps(connection, owner, session_tag(tag, session))
    return found[0] if found else None


def fetch_as_of(
    connection: apsw.Connection, owner: bytes, known_at: int, *, superseded: bool
) -> list[StoredRow]:
    """Return the rows live, or also those superseded, at a system time, by id."""
    bound = {"owner": owner, "known_at": known_at, **LIVE}
    rows = _rows(connection, "rows_as_of", bound | {"given_way": GIVEN_WAY[superseded]})
    rows.sort(key=_by_id)
    return rows


def fetch_by_ids(connection: apsw.Connection, owner: bytes, ids: Iterable[str]) -> list[StoredRow]:
    """Return the rows of the ids that exist, in the order asked."""
    return stored_rows(each_of(connection, SQL["rows_of_ids"], owner, ids))


def each_of(
    connection: apsw.Connection, statement: str, owner: bytes, ids: Iterable[str]
) -> list[tuple[Any, ...]]:
    """Run a statement of ``:owner`` and ``:ids`` that looks at memories for those of some ids that
    can be any; return what it tells of each that exists, its id first, in the order asked.
    """
    asked = list(filter(is_storable, dict.fromkeys(ids)))
    found = connection.execute(statement, {"owner": owner, "ids": json.dumps(asked)})
    told = {each[0]: each for each in found}
    return [told[id] for id in asked if id in told]


def fetch_by_tag(connection: apsw.Connection, owner: bytes, tag: bytes) -> list[StoredRow]:
    """Return the rows that are looked up by a tag, by place, then id."""
    return _rows(connection, "rows_by_tag", {"owner": owner, "tag": tag})


def fetch_page(
    connection: apsw.Connection, owner: bytes, after: str, limit: int
) -> list[StoredRow]:
    """Return up to ``limit`` rows by id, after one."""
    bound = {"owner": owner, "after": after, "limit": max(limit, 0)}
    return _rows(connection, "rows_page", bound)


def fetch_states(connection: apsw.Connection, owner: bytes, id: str) -> tuple[Record, ...]:
    """Return every state of one memory, oldest first."""
    return tuple(
        decode(row._replace(revision=revision, state=state, known_from=begun, known_to=ended))
        for row in fetch_by_ids(connection, owner, (id,))
        for revision, state, begun, ended in connection.execute(
            SQL["states_of"], {"owner": owner, "id": id}
        )
    )


def fetch_held(
    connection: apsw.Connection, owner: bytes, session_tag: bytes | None
) -> tuple[HeldCandidate, ...]:
    """Return held candidates, of one session if its tag is given."""
    if session_tag is None:
        found = connection.execute(SQL["held"], {"owner": owner})
    else:
        bound = {"owner": owner, "session_tag": session_tag}
        found = connection.execute(SQL["held_of_session"], bound)
    return tuple(map(HeldCandidate._make, found))


def fetch_steps(
    connection: apsw.Connection, owner: bytes, session_tag: bytes | None
) -> tuple[SessionStep, ...]:
    """Return where an owner's sessions stand, or the one whose tag is given."""
    if session_tag is None:
        found = connection.execute(SQL["session_steps"], {"owner": owner})
    else:
        bound = {"owner": owner, "session_tag": session_tag}
        found = connection.execute(SQL["session_step"], bound)
    return read_steps((step, at, body) for _, step, at, body in found)


def fetch_reviews(
    connection: apsw.Connection, owner: bytes, status: str | None
) -> tuple[ReviewRecord, ...]:
    """Return an owner's reviews, of one status if it is given."""
    found = connection.execute(SQL["reviews"], {"owner": owner, "status": status})
    return tuple(map(ReviewRecord._make, found))


def fetch_grants(connection: apsw.Connection, owner: bytes) -> tuple[Grant, ...]:
    """Return the grants kept with an owner."""
    found = connection.execute(SQL["grants"], {"owner": owner})
    return read_grants(body for (body,) in found)


def fetch_consents(connection: apsw.Connection, owner: bytes) -> tuple[Consent, ...]:
    """Return the consents of an owner."""
    return read_consents(connection.execute(SQL["consents"], {"owner": owner}))


def fetch_policy(connection: apsw.Connection, owner: bytes) -> PolicyRecord | None:
    """Return the policy recorded last with an owner."""
    found = connection.execute(SQL["last_policy"], {"owner": owner}).fetchone()
    return None if found is None else PolicyRecord._make(found)


def fetch_journal(
    connection: apsw.Connection, owner: bytes, limit: int, kind: str | None
) -> tuple[JournalEntry, ...]:
    """Return the newest journal entries, of one kind if it is named, oldest of them first."""
    bound = {"owner": owner, "limit": max(limit, 0), "kind": kind}
    found = connection.execute(SQL["journal"], bound).fetchall()
    return tuple(map(JournalEntry._make, reversed(found)))


def fetch_oldest_journal(
    connection: apsw.Connection, owner: bytes, limit: int, kind: str | None
) -> list[tuple[int, JournalEntry]]:
    """Return the oldest journal entries, of one kind if it is named, each with its number."""
    bound = {"owner": owner, "limit": max(limit, 0), "kind": kind}
    found = connection.execute(SQL["journal_from_start"], bound)
    return [(n, JournalEntry(*entry)) for n, *entry in found]


def fetch_outbox(
    connection: apsw.Connection, owner: bytes | None, limit: int
) -> tuple[PendingOutbox, ...]:
    """Return unsettled work of one owner or of all, by id."""
    if owner is None:
        found = connection.execute(SQL["outbox_of_all"], {"limit": max(limit, 0)})
    else:
        found = connection.execute(SQL["outbox"], {"owner": owner, "limit": max(limit, 0)})
    named = ((_scope(name), OutboxItem(*item)) for name, *item in found)
    return tuple(PendingOutbox(scope, item) for scope, item in named if scope is not None)


def fetch_owners(connection: apsw.Connection) -> list[tuple[bytes, str]]:
    """Return digest and name of every owner; what is no text in a name is replaced."""
    found = connection.execute(SQL["owner_names"])
    return [(owner, name.decode("utf-8", "replace")) for owner, name in found]


def fetch_derived(
    connection: apsw.Connection, owner: bytes, parent: str | None
) -> tuple[tuple[Scope, str], ...]:
    """Return what was derived from a memory, or any, by the path of its owner, then id."""
    if parent is not None and not is_storable(parent):
        return ()
    if parent is None:
        found = connection.execute(SQL["derived_of_all"], {"owner": owner})
    else:
        found = connection.execute(SQL["derived"], {"owner": owner, "parent": parent})
    named = ((_scope(name), child) for name, child in found)
    known = ((scope, child) for scope, child in named if scope is not None)
    return tuple(sorted(known, key=lambda each: (each[0].path, each[1])))


def fetch_damaged(connection: apsw.Connection, owner: bytes) -> tuple[str, ...]:
    """Return the ids of memories that are not whole or not as they were written."""
    damaged = {id for (id,) in connection.execute(SQL["bereft"], {"owner": owner})}
    found = connection.execute(SQL["contents"], {"owner": owner})
    for id, version, code, body, is_whole, _, _, state, in_force in found:
        is_whole = is_whole and state == in_force
        if not is_whole or code != content_code(owner, id, version, body):
            damaged.add(id)
    return tuple(sorted(damaged))


def fetch_links(
    connection: apsw.Connection, owner: bytes, after: int, limit: int
) -> tuple[Link, ...]:
    """Return links of the audit chain after a place."""
    bound = {"owner": owner, "after": after, "limit": max(limit, 0)}
    return tuple(Link(*found) for found in connection.execute(SQL["links"], bound))


def _scope(name: bytes) -> Scope | None:
    """Return the scope of an owner's name, or None if it is one of nothing, or no text."""
    try:
        return scope_named(name.decode("utf-8"))
    except UnicodeDecodeError:
        return None


def _rows(connection: apsw.Connection, name: str, bound: dict[str, Any]) -> list[StoredRow]:
    return stored_rows(connection.execute(SQL[name], bound))


def _idempotent(
    connection: apsw.Connection, owner: bytes, tag: Tag, keys: Sequence[str]
) -> MappingProxyType[str, IdempotencyRecord]:
    found = {}
    for key in keys:
        bound = {"owner": owner, "tag": idempotency_tag(tag, key)}
        for request, answer in connection.execute(SQL["idempotent"], bound):
            found[key] = IdempotencyRecord(key, request, answer)
    return MappingProxyType(found)


def fetch_tombstoned(
    connection: apsw.Connection, owner: bytes, tag: Tag, fingerprints: Sequence[bytes]
) -> frozenset[bytes]:
    """Return those of some fingerprints that are tombstones of an owner."""
    tags = {tombstone_tag(tag, fingerprint): fingerprint for fingerprint in fingerprints}
    found = connection.executemany(SQL["tombstone"], [(owner, tagged) for tagged in tags])
    return frozenset(tags[tagged] for (tagged,) in found)
