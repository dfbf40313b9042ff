"""How an SQL store writes a session's row, and reads it back."""

import json
from collections.abc import Iterable
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.conversation.session import SessionRecord
from simonides.domain.errors import InvalidScope, StoreCorrupt
from simonides.domain.scope import Scope
from simonides.storage.schema.change_rules import is_storable
from simonides.storage.schema.lookup_tags import session_tag
from simonides.storage.schema.owner_ids import Owner

KNOWN_SESSIONS = 8
"""Sessions of an owner whose names are remembered; a talk has the same one all the time."""


def session_key(owner: Owner, session: str) -> bytes:
    """Return what a session is found by.

    Raises:
        ValueError: If its name has no UTF-8.
    """
    return _named(owner, session)[0]


def session_body(owner: Owner, session: str) -> bytes:
    """Return what a session's row says of whose it is and what it is called.

    Raises:
        ValueError: As for :func:`session_key`.
    """
    return _named(owner, session)[1]


def _named(owner: Owner, session: str) -> tuple[bytes, bytes]:
    known = owner.sessions.get(session)
    if known is None:
        if not is_storable(session):
            raise ValueError(f"session {session!r} has a name that has no UTF-8")
        body = canonical_json({"owner": owner.scope.path, "session": session})
        known = session_tag(owner.tag, session), body
        if len(owner.sessions) >= KNOWN_SESSIONS:
            owner.sessions.clear()
        owner.sessions[session] = known
    return known


def read_sessions(
    location: str, rows: Iterable[tuple[Any, ...]]
) -> list[tuple[Scope, SessionRecord]]:
    """Read rows of body, start, due time and number of entries.

    Raises:
        StoreCorrupt: If one is not what :func:`session_body` writes.
    """
    read = []
    for body, started_at, due_at, entries in rows:
        try:
            named = json.loads(body)
            owner, id = Scope.parse(named["owner"]), str(named["session"])
        except (ValueError, LookupError, TypeError, InvalidScope) as error:
            raise StoreCorrupt(location, f"the row of a session cannot be read: {error}") from error
        read.append((owner, SessionRecord(id, started_at, due_at, entries)))
    return read


def in_order_of_start(read: Iterable[tuple[Scope, SessionRecord]]) -> tuple[SessionRecord, ...]:
    """Return the sessions of one owner by start, then id."""
    return tuple(sorted((record for _, record in read), key=lambda r: (r.started_at, r.id)))
