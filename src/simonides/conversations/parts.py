"""The parts of conversations: since when one goes on, how far it is read, how far its end is.

A conversation goes on under its name; a part of it ends by a call, or after a quiet time. The rows
hold times and places, never what was said: that lies in the turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from simonides.core.clock import FOREVER, MINUTE_MS, local_time, offset_of, to_datetime, to_ms
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.record import SUMMARY
from simonides.core.results import Conversation, Page
from simonides.core.scope import Principal, parse_scope
from simonides.core.validation import between, text
from simonides.recall.lookup import MAX_LISTED
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, batched, memories
from simonides.storage.transaction import Transaction

QUIET_MS = MINUTE_MS
"""Quiet time after which the model reads what waits. Set by judgement."""

MOST_BEGUN = 1_000
"""Conversations that a program notes as begun, the latest ones: closing ends no more of them in
time. The others end after their quiet time. Set by judgement."""

NEWEST = (FOREVER, b"\xff" * 16)
"""Comes after every part: when its latest turn was said, and its id."""


class SessionPart(NamedTuple):
    """A part of a conversation.

    Attributes:
        id: Its id.
        name: Of the conversation, with its place; see `name_of`.
        part: Its number, from 1.
        status: ``open``, ``ending`` or ``ended``.
        step: The last step of its end that was taken.
        begun: When its first turn was said, in milliseconds.
        last: When its latest one was said.
        ended: When its end was finished, or None.
        turns: How many turns it has.
        purpose: Of the principal, or empty.
        summary: The root of its summary, or None.
        failed: Why the model could not read what waits, or None.
        data: ``first`` and ``last``, its first and last position, the latter once its end has
            begun; ``read``, the last one that the model has read;
            ``who``, the principal; ``utc_offset``, of the zone of its first turn, in minutes.
    """

    id: bytes
    name: str
    part: int
    status: str
    step: str
    begun: int
    last: int
    ended: int | None
    turns: int
    purpose: str
    summary: bytes | None
    failed: str | None
    data: dict[str, Any]

    def is_over(self, said: int, idle_minutes: float) -> bool:
        """Whether a turn that is said at a moment begins another part."""
        return self.status != "open" or said - self.last > idle_minutes * MINUTE_MS


def conversation_name(who: Principal) -> str:
    """Return the name of a principal's conversation; those for a task or a purpose are apart."""
    return f"{who.home.task or ''} {who.apart} {who.conversation}"  # ids have no spaces


def last_part(connection: Connection, who: Principal) -> SessionPart | None:
    """Return the latest part of a principal's conversation, or None."""
    parts = _parts(connection, statements.LAST_PART, owner=who.owner, name=conversation_name(who))
    return next(iter(parts), None)


def unread_parts(connection: Connection, who: Principal) -> list[SessionPart]:
    """Return the parts that the model could not read, the latest first."""
    return _parts(connection, statements.UNREAD, owner=who.owner, purpose=who.apart)


def part_of(connection: Connection, owner: str, id: bytes) -> SessionPart | None:
    """Return a part by its id, or None."""
    return next(iter(_parts(connection, statements.PART, owner=owner, id=id)), None)


def ending_parts(engine: Engine, owner: str, name: str) -> list[SessionPart]:
    """Return the parts of a conversation whose end has begun, oldest first."""
    with engine.db.read(owner) as connection:
        return _parts(connection, statements.ENDING, owner=owner, name=name)


def keep_part(connection: Connection, owner: str, part: SessionPart) -> None:
    """Keep the summary, the failure and the data of a part."""
    params = {**part._asdict(), "owner": owner, "data": json.dumps(part.data)}
    connection.run(statements.KEEP_PART, params)


def _parts(connection: Connection, sql: str, **params: Any) -> list[SessionPart]:
    rows = connection.rows(sql, params)
    return [SessionPart._make((*cells, json.loads(data))) for *cells, data in rows]


def begin_end(engine: Engine, tx: Transaction, part: SessionPart, last: int) -> None:
    """Begin the end of an open part. What is said from now on belongs to the next one.

    Args:
        engine: The store.
        tx: The turn to write.
        part: The part as this turn reads it.
        last: Its last position.
    """
    data = json.dumps({**part.data, "last": last})
    tx.connection.run(statements.BEGIN_END, {"owner": tx.owner, "id": part.id, "data": data})
    engine.worker.begun.pop((tx.owner, part.name), None)


def go_on(
    engine: Engine,
    tx: Transaction,
    who: Principal,
    position: int,
    turns: int,
    said: Sequence[datetime] = (),
) -> SessionPart:
    """Note that turns are said; if that is a quiet time after the last one, another part begins.

    A part also ends when nothing is added for that time, whenever its turns were said.

    Args:
        engine: The store.
        tx: The turn to write in which they are stored.
        who: The user.
        position: Of the first of them.
        turns: How many they are.
        said: When they were said; now, if it is empty.

    Returns:
        The part as it was before; another one than theirs if it is over.
    """
    latest, idle = last_part(tx.connection, who), engine.settings.idle_minutes
    said = said or [local_time(engine.clock, tx.now)]
    begun, last = to_ms(said[0]), max(map(to_ms, said))
    if latest is not None and latest.status == "open" and latest.is_over(begun, idle):
        begin_end(engine, tx, latest, position - 1)
    _note_begun(engine, who)
    if latest is not None and not latest.is_over(begun, idle):
        params = {"owner": tx.owner, "id": latest.id, "last": last, "turns": turns}
        tx.connection.run(statements.GO_ON, params)
        _let_end(engine, tx, latest.id)
        return latest
    data = {
        "first": position, "read": position - 1, "utc_offset": offset_of(said[0]),
        "who": {
            "scope": who.home.path, "session": who.session, "agent": who.agent,
            "is_private": who.is_private,
        },
    }  # fmt: skip
    number = 1 if latest is None else latest.part + 1
    new = SessionPart(
        tx.new_id(),
        conversation_name(who),
        number,
        "open",
        "",
        begun,
        last,
        None,
        turns,
        who.apart,
        None,
        None,
        data,
    )
    row = {**new._asdict(), "owner": tx.owner, "data": json.dumps(data), "salt": tx.salt()}
    tx.connection.run(statements.BEGIN_PART, row)
    _let_end(engine, tx, new.id)
    return new if latest is None else latest


def _note_begun(engine: Engine, who: Principal) -> None:
    """Note that this program began a conversation, and let the worker begin."""
    begun, name = engine.worker.begun, (who.owner, conversation_name(who))
    begun[name] = who
    begun.move_to_end(name)
    if len(begun) > MOST_BEGUN:
        begun.popitem(last=False)
    engine.worker.begin()


def next_position(tx: Transaction, who: Principal) -> int:
    """Return the place of the next turn of a conversation; that of a forgotten turn stays empty."""
    params = {"owner": tx.owner, "session": who.conversation}
    [[last]] = tx.connection.rows(statements.LAST_POSITION, params)
    part = last_part(tx.connection, who)
    following = 0 if part is None else part.data["first"] + part.turns
    return max(0 if last is None else int(last) + 1, following)


def _let_end(engine: Engine, tx: Transaction, id: bytes) -> None:
    """Let the model read a part, and the part end, after a quiet time."""
    jobs = {end_job(id): round(engine.settings.idle_minutes * MINUTE_MS) + 1}
    if engine.models is not None:
        jobs[read_job(id)] = QUIET_MS
    for job, later in jobs.items():
        tx.connection.run(statements.SET_DUE, {"owner": tx.owner, "at": tx.now + later, "job": job})


def read_job(id: bytes) -> str:
    """Return the name of the job that lets the model read a part."""
    return f"read {id.hex()}"


def end_job(id: bytes) -> str:
    """Return the name of the job that ends a part after a quiet time."""
    return f"end {id.hex()}"


def principal_of_part(part: SessionPart) -> Principal:
    """Return the principal that a part belongs to."""
    who = dict(part.data["who"])
    home, purpose = parse_scope(who.pop("scope")), part.purpose.split(" ")[0] or None
    return Principal(home, **who, purpose=purpose, actor="session end")


def turns_of(
    connection: Connection, who: Principal, first: int, last: int | None = None, limit: int = 2**31
) -> list[MemoryRow]:
    """Return the turns of a principal's conversation between two positions, oldest first."""
    between = {"first": first, "last": 2**53 if last is None else last, "limit": limit}
    return memories(connection, statements.TURNS_BETWEEN, **turns_named(who), **between)


def turns_named(who: Principal) -> dict[str, str]:
    """Return the parameters that name the turns of a principal's conversation."""
    task, purpose = who.home.task or "", who.purpose or ""
    return {"owner": who.owner, "session": who.conversation, "task": task, "purpose": purpose}


def conversations(
    engine: Engine, who: Principal, *, limit: int = 100, cursor: str | None = None
) -> Page[Conversation]:
    """Return the principal's conversations, that with the latest turn first.

    Raises:
        InvalidInput: If an argument is out of range, or the cursor is of another list.
    """
    most, before = between("limit", limit, 1, MAX_LISTED), NEWEST
    if cursor is not None:
        match = re.fullmatch(r"(-?\d{1,18})\.([0-9a-f]{32})", text("cursor", cursor))
        if match is None:
            raise InvalidInput("cursor", "is not a next_cursor of this list")
        before = int(match[1]), bytes.fromhex(match[2])
    with engine.db.read(who.owner) as connection:
        parts = parts_of_page(connection, who, most + 1, before)
    every = [list(own) for _, own in groupby(parts, key=lambda part: part.name)]
    page, last = every[:most], every[most - 1][0] if len(every) > most else None
    return Page(map(_conversation, page), last and f"{last.last}.{last.id.hex()}")


def parts_of_page(
    connection: Connection, who: Principal, limit: int, before: tuple[int, bytes] = NEWEST
) -> list[SessionPart]:
    """Return all parts of a principal's latest conversations, each with its latest part first."""
    params = {"owner": who.owner, "purpose": who.apart, "limit": limit}
    last, id = before
    return _parts(connection, statements.CONVERSATIONS, **params, last=last, id=id)


def _conversation(own: Sequence[SessionPart]) -> Conversation:
    return Conversation(
        name=principal_of_part(own[0]).conversation_title,
        parts=len(own),
        is_open=any(each.status == "open" for each in own),
        begun=min(to_datetime(each.begun, each.data["utc_offset"]) for each in own),
        last=to_datetime(own[0].last, own[0].data["utc_offset"]),
        turns=sum(each.turns for each in own),
    )


def learned_from(connection: Connection, owner: str, turns: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Return the rules and facts in force that were learned from some turns."""
    roots = [turn["root"] for turn in turns if turn["role"] == "user"]
    by_id: dict[bytes, MemoryRow] = {}
    for batch in batched(roots):
        rows = memories(connection, statements.learned_from(len(batch)), owner=owner, **batch)
        by_id.update((row["id"], row) for row in rows)
    return [row for row in by_id.values() if row["category"] != SUMMARY]
