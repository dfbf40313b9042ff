"""Requests of a user about the memory: refuse a key, a category or a topic; forget a topic.

What a topic covers errs on the side of the user's wish. A turn that speaks of it among other things
stays, without the clauses that do; the request itself is never stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from simonides.change import undo
from simonides.change.forget import Redaction, forget_rows, redact, redacted
from simonides.core.clock import to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.outcome import EventType
from simonides.core.record import TURN, id_text
from simonides.core.results import Refusal
from simonides.core.scope import Principal
from simonides.core.validation import text
from simonides.recall.index import OwnerIndex
from simonides.recall.lookup import versions
from simonides.recall.view import Refusal as Refused
from simonides.recall.view import View, refusals_of
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, by_id, id_bytes
from simonides.storage.transaction import Transaction
from simonides.text.analyse import Mark, analyse
from simonides.text.topics import Topic, topic_of
from simonides.write import queue
from simonides.write.turn import owner_turn

# -- refusals --------------------------------------------------------------------------------------


def refuse(
    engine: Engine,
    who: Principal,
    *,
    key: str | None = None,
    category: str | None = None,
    about: str | None = None,
    session: str | None = None,
) -> Refusal:
    """Store nothing more of a key, a category or a topic, and show nothing of what is there.

    Of a refused conversation nothing more is stored; what is there stays.

    Raises:
        InvalidInput: If not exactly one is named, or the topic says nothing.
    """
    given = {"key": key, "category": category, "topic": about, "session": session}
    named = {kind: text(kind, value) for kind, value in given.items() if value is not None}
    if len(named) != 1:
        raise InvalidInput("about", "name one of key, category, about and session")
    [(kind, value)] = named.items()
    names = _topic(engine, who, value).names if kind == "topic" else ()
    if kind == "topic" and not topic_of(value).terms:
        raise InvalidInput("about", "names no subject, for example 'my wife' or 'my health'")
    with owner_turn(engine, who.owner, who.name) as (tx, index):
        for id, *known, at, _ in tx.connection.rows(statements.REFUSALS, {"owner": tx.owner}):
            if known == [kind, value]:
                return _refusal(id, kind, value, at)
        row = {
            "owner": tx.owner, "id": tx.new_id(), "kind": kind, "value": value, "at": tx.now,
            "data": json.dumps(sorted(names)), "salt": tx.salt(),
        }  # fmt: skip
        tx.add("consents", row, EventType.REFUSED, kind)
        _renew(tx, index)
    return _refusal(row["id"], kind, value, row["at"])


def allow(engine: Engine, who: Principal, id: str) -> bool:
    """Take a refusal back; return whether it was there."""
    with owner_turn(engine, who.owner, who.name) as (tx, index):
        rows = tx.connection.rows(statements.REFUSALS, {"owner": tx.owner})
        if text("id", id) not in {id_text(row[0]) for row in rows}:
            return False
        tx.remove("consents", id_bytes(id), EventType.ALLOWED)
        _renew(tx, index)
    return True


def refusals(engine: Engine, who: Principal) -> list[Refusal]:
    """Return what the user does not want to have remembered, oldest first."""
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.REFUSALS, {"owner": who.owner})
    return [_refusal(id, kind, value, at) for id, kind, value, at, _ in rows]


def refused(engine: Engine, who: Principal) -> tuple[list[Topic], bool]:
    """Return the topics that the user refused, and whether the whole conversation is refused."""
    with engine.db.read(who.owner) as connection:
        found = refusals_of(connection, who.owner)
    topics = [each.topic for each in found if each.topic is not None]
    return topics, _is_refused(who, found)


def unrefused(connection: Connection, who: Principal, rows: Iterable[MemoryRow]) -> list[MemoryRow]:
    """Return the memories that the user did not refuse; none if the conversation is refused."""
    found = refusals_of(connection, who.owner)
    if _is_refused(who, found):
        return []
    return [
        row
        for row in rows
        if not any(r.covers(row["key"], row["category"], row["terms"].split()) for r in found)
    ]


def _is_refused(who: Principal, found: Iterable[Refused]) -> bool:
    return any((each.kind, each.value) == ("session", who.conversation) for each in found)


def _refusal(id: bytes, kind: str, value: str, at: int) -> Refusal:
    return Refusal(id=id_text(id), kind=kind, value=value, at=to_datetime(at))  # type: ignore[arg-type]


def _renew(tx: Transaction, index: OwnerIndex) -> None:
    with index.lock:
        index.refusals = refusals_of(tx.connection, tx.owner)
        index.revision += 1


class Gone(NamedTuple):
    """What a request has removed.

    Attributes:
        number: How many memories.
        undo: The id under which it can be taken back, or None.
    """

    number: int
    undo: str | None = None


# -- forgetting a topic ----------------------------------------------------------------------------


def forget_about(engine: Engine, who: Principal, about: str) -> int:
    """Forget for good what a topic covers of the user's memories; return how many that changed."""
    gone = forget_topic(engine, who, about)
    if gone.undo is not None:
        undo.finish(engine, who.owner, id_bytes(gone.undo))
    return gone.number


def forget_topic(engine: Engine, who: Principal, about: str) -> Gone:
    """Forget what a topic covers of the user's memories; for ten minutes it can be taken back."""
    topic = _topic(engine, who, about)
    rows = _covered(engine, who, topic)
    turns = [row for row in rows if row["category"] == TURN]
    redactions = [
        redacted(engine, row, lambda clause: topic.covers(analyse(clause))) for row in turns
    ]
    other = [row["root"] for row in rows if row["category"] != TURN]
    return _forgotten(engine, who, other, redactions, topic)


def forget_session(engine: Engine, who: Principal) -> Gone:
    """Forget the whole conversation, and what was learned from it."""
    return _forgotten(engine, who, _roots(engine, who, statements.SESSION_ROOTS))


def forget_last_said(engine: Engine, who: Principal, count: int) -> Gone:
    """Forget the last messages of the user in the conversation, with what they taught."""
    roots = _roots(engine, who, statements.LAST_SAID, gap=int(Mark.GAP), limit=count)
    return _forgotten(engine, who, roots)


def _roots(engine: Engine, who: Principal, sql: str, **params: int) -> list[bytes]:
    """Return the roots of memories of the conversation."""
    params_of = {"owner": who.owner, "session": who.conversation, **params}
    with engine.db.read(who.owner) as connection:
        return [root for (root,) in connection.rows(sql, params_of)]


def _forgotten(
    engine: Engine,
    who: Principal,
    roots: Sequence[bytes],
    redactions: Sequence[Redaction] = (),
    topic: Topic | None = None,
) -> Gone:
    engine.journal.flush()
    count, kept = 0, None
    with owner_turn(engine, who.owner, who.name) as turn:
        tx, done = turn.tx, set[bytes]()
        tx.gone = []
        for root in roots:
            count += bool(forget_rows(tx, versions(tx.connection, tx.owner, root), done))
        for redaction in redactions:
            count += redact(turn, redaction, done)
        if topic is not None:
            count += queue.forget(tx, lambda text: topic.covers(analyse(text)))
        if tx.gone:
            kept = undo.keep(engine, tx, tx.gone)
    if count:
        engine.db.checkpoint()
    return Gone(count, kept)


def _topic(engine: Engine, who: Principal, words: str) -> Topic:
    """Read a topic against what the user has said: "my wife" may be Nora."""
    covered = _covered(engine, who, topic_of(words))
    return topic_of(words, [row["content"] for row in covered])


def _covered(engine: Engine, who: Principal, topic: Topic) -> list[MemoryRow]:
    """Return the user's memories that a topic covers."""

    def chosen(view: View) -> list[bytes]:
        return [
            part.ids[row]
            for part in view.parts
            for row in np.flatnonzero(part.covered(topic) & part.column("live")).tolist()
        ]

    with engine.db.read(who.owner) as connection:
        ids = engine.indexes.reading(connection, [who.owner], chosen)
        return by_id(connection, who.owner, ids)


# -- questions -------------------------------------------------------------------------------------


def ask_back(engine: Engine, who: Principal, said: str) -> None:
    """Keep a request that was not understood until the user says what is meant."""
    with owner_turn(engine, who.owner, who.name) as (tx, _):
        queue.put(tx, "privacy", {"said": said}, session=who.conversation)
