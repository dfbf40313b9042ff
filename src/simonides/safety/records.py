"""Safety records and feedback of an organisation, for its operators.

No recall and no prompt reads them. Instead of the user and the conversation they hold codes: the
records of one user belong together and do not say whose they are. The codes are keyed with the
store's secret: only a reader of the whole store can test a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from simonides.core.clock import DAY_MS, FOREVER, parse_moment, to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import ScopeDenied
from simonides.core.outcome import EventType
from simonides.core.record import id_text
from simonides.core.scope import DEFAULT_ORG, Principal, Right, Scope, checked_id
from simonides.core.validation import between, one_of
from simonides.safety.results import Feedback, FeedbackSource, Level, SafetyRecord
from simonides.safety.screen import checked_name, screened
from simonides.storage import statements
from simonides.storage.digests import blake, packed
from simonides.storage.transaction import Transaction, changing

SAFETY_MS, FEEDBACK_MS = 90 * DAY_MS, 180 * DAY_MS
"""How long safety records and feedback are kept. Set by judgement: a quarter, and two."""

EXPIRE = "safety"
"""The job that deletes what has expired, a day after an organisation's first record, then daily."""

MOST = 1_000
"""Maximum number of records of one list."""

_KEPT_MS = {"safety": SAFETY_MS, "feedback": FEEDBACK_MS}

_ACTOR = "safety"
"""Who records, for the audit trail of the organisation; the caller's name would say whose it is."""

_SLICE = 64
"""Rows of a table that one transaction deletes."""


def record_safety(
    engine: Engine, who: Principal, kind: str, *, level: str = "high", note: str | None = None
) -> SafetyRecord:
    """Record that something unsafe was said or done; nothing of it is ever recalled.

    Raises:
        InvalidInput: If the kind, the level or the note is not accepted; nothing was recorded.
    """
    named = checked_name(who, "kind", kind)
    cells = {"kind": named, "level": one_of("level", level, get_args(Level))}
    return SafetyRecord.model_validate(_record(engine, who, "safety", cells, note))


def record_feedback(
    engine: Engine, who: Principal, label: str, *, source: str = "user", note: str | None = None
) -> Feedback:
    """Record what somebody thought of an answer or a conversation.

    Raises:
        InvalidInput: If the label, the source or the note is not accepted; nothing was recorded.
    """
    named = checked_name(who, "label", label)
    cells = {"label": named, "source": one_of("source", source, get_args(FeedbackSource))}
    return Feedback.model_validate(_record(engine, who, "feedback", cells, note))


def list_safety(
    engine: Engine, who: Principal, *, org: str, since: Any = None, limit: int = 100
) -> list[SafetyRecord]:
    """Return an organisation's safety records, newest first.

    Raises:
        ScopeDenied: If the caller does not administer the organisation.
        InvalidInput: If an argument is out of range.
    """
    rows = _listed(engine, who, "safety", org, since, limit)
    return [SafetyRecord.model_validate(row) for row in rows]


def list_feedback(
    engine: Engine, who: Principal, *, org: str, since: Any = None, limit: int = 100
) -> list[Feedback]:
    """Return an organisation's feedback, newest first.

    Raises:
        ScopeDenied: If the caller does not administer the organisation.
        InvalidInput: If an argument is out of range.
    """
    rows = _listed(engine, who, "feedback", org, since, limit)
    return [Feedback.model_validate(row) for row in rows]


def expire(engine: Engine, owner: str) -> None:
    """Delete what has expired of an organisation, with its bytes, and again a day later."""
    is_left, gone = True, 0
    while is_left:
        with changing(engine, owner, _ACTOR) as tx:
            found = _delete_expired(tx)
            _set_due(tx)
            tx.flush()
        is_left, gone = found > 0, gone + found
    if gone:
        engine.db.checkpoint()


def _record(
    engine: Engine, who: Principal, table: str, cells: Mapping[str, str], note: str | None
) -> dict[str, Any]:
    """Store a record, and delete what has expired; return the fields of its value."""
    owner = Scope(who.home.org or DEFAULT_ORG).owner
    said = None if note is None else screened(who, note)
    with changing(engine, owner, _ACTOR) as tx:
        row = {
            "owner": owner, "id": tx.new_id(), "at": tx.now, "expires": tx.now + _KEPT_MS[table],
            **cells, "note": said, **_codes(tx.secret(), who), "salt": tx.salt(),
        }  # fmt: skip
        tx.add(table, row, EventType.RECORDED)
        gone = _delete_expired(tx)
        if tx.connection.one(statements.DUE_AT, {"owner": owner, "job": EXPIRE}) is None:
            _set_due(tx)
        tx.flush()
    if gone:
        engine.db.checkpoint()
    return _fields(row)


def _codes(secret: bytes, who: Principal) -> dict[str, str | None]:
    """Return what stands for the user and the conversation of a principal."""
    session = who.session
    return {
        "user_code": user_code(secret, who),
        "session_code": (None if session is None else _code(secret, "session", who.owner, session)),
    }


def user_code(secret: bytes, who: Principal) -> str | None:
    """Return what stands for the user of a principal."""
    return None if who.home.user is None else _code(secret, "user", who.owner)


def _code(secret: bytes, *names: str) -> str:
    return blake(secret, packed((EXPIRE, *names))).hex()[:32]


def _delete_expired(tx: Transaction) -> int:
    """Delete some of what has expired; return how many rows."""
    gone = 0
    for table in _KEPT_MS:
        params = {"owner": tx.owner, "now": tx.now, "limit": _SLICE}
        for (id,) in tx.connection.rows(statements.expired(table), params):
            # Not `tx.remove`: indexes of memories hold nothing of it and need not be built anew.
            tx.connection.run(statements.delete(table), {"owner": tx.owner, "id": id})
            tx.note(EventType.COLLECTED, table, id, reason="expired")
            gone += 1
    return gone


def _set_due(tx: Transaction) -> None:
    due = {"owner": tx.owner, "at": tx.now + DAY_MS, "job": EXPIRE}
    tx.connection.run(statements.SET_DUE, due)


def _listed(
    engine: Engine, who: Principal, table: str, org: str, since: Any, limit: int
) -> Iterator[dict[str, Any]]:
    """Yield the fields of what has not expired, newest first."""
    scope = Scope(checked_id("org", org))
    if not who.is_admin or who.home.org not in (None, scope.org):
        raise ScopeDenied(scope.path, Right.ADMIN, "open store.admin(actor=…)")
    first = parse_moment("since", since)
    params = {
        "owner": scope.owner, "now": engine.clock.now_ms(),
        "since": -FOREVER if first is None else first, "limit": between("limit", limit, 1, MOST),
    }  # fmt: skip
    with engine.db.read(scope.owner) as connection:
        rows = connection.rows(statements.unexpired(table), params)
    for row in rows:
        yield _fields(dict(zip(statements.TABLES[table], row, strict=True)))


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row's value; what has no field is left out by the value."""
    times = {"at": to_datetime(row["at"]), "expires_at": to_datetime(row["expires"])}
    return {**row, **times, "id": id_text(row["id"])}
