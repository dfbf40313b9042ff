"""What waits for a person, as rows: contradictions, held statements, requests not understood,
memories that have grown old.

An entry of a contradiction holds ids, never text. The text of a held statement and of a request
lies here alone, so what is forgotten is looked for here, too.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from simonides.core.clock import DAY_MS, to_ms
from simonides.core.outcome import Event, EventType
from simonides.core.record import GAP, Partition, Record, Status, id_text
from simonides.core.scope import Principal, parse_scope
from simonides.govern import rights
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, id_bytes, latest_of, record_of
from simonides.storage.transaction import Transaction

_log = logging.getLogger("simonides.write")


EXPIRE = "expire"
"""The job that ends what nobody has decided in time."""

AGED = "aged"
"""The kind of a question whether a memory that has grown old is still true."""

UNDO = "undo"
"""The kind of a copy of what was forgotten in words and can still be taken back."""


class Entry(NamedTuple):
    """What waits.

    Attributes:
        id: Its id.
        kind: ``contradiction``, ``held``, ``privacy``, ``aged`` or ``undo``.
        at: When it began to wait, in milliseconds.
        expires: When it ends without a decision, or None.
        session: The name of the conversation whose user may support it, or None.
        data: What it is about.
    """

    id: bytes
    kind: Literal["contradiction", "held", "privacy", "aged", "undo"]
    at: int
    expires: int | None
    session: str | None
    data: dict[str, Any]

    @property
    def said(self) -> str:
        """The text of a request or of a held statement; empty for ids alone."""
        return str(self.data.get("said") or self.data.get("draft", {}).get("content", ""))

    @property
    def copied(self) -> list[str]:
        """The texts of deleted memories, if it is a copy of them."""
        rows = map(json.loads, self.data.get("rows", ()))
        return [text for row in rows for text in (row["content"], row["quote"]) if text]

    def is_over(self, now: int) -> bool:
        """Whether nobody has decided it in time."""
        return self.expires is not None and self.expires <= now


def entries(connection: Connection, owner: str) -> Iterator[Entry]:
    """Return what waits, oldest first."""
    for *cells, data in list(connection.rows(statements.PENDING, {"owner": owner})):
        yield Entry._make((*cells, json.loads(data)))


def records(connection: Connection, owner: str, entry: Entry, now: int) -> list[Record]:
    """Return the statements that contradict each other, as they stand, but what has expired."""
    found = map(record_of, latest_of(connection, owner, sides(entry)))
    return [each for each in found if (end := each.hard_expires_at) is None or to_ms(end) > now]


def may_see(who: Principal, entry: Entry, sides: Sequence[Record]) -> bool:
    """Whether a principal may see all that an entry shows: task, agents and purpose fit."""
    partitions = [side.partition for side in sides]
    if draft := entry.data.get("draft"):
        audience = draft["audience"]
        agents = None if audience is None else tuple(audience)
        partitions.append(Partition(parse_scope(draft["scope"]).task, agents, draft["purpose"]))
    task = who.home.task
    reach = rights.Reach(who.owner, None if task is None else frozenset({task, None}))
    return all(rights.may_see(who, reach, each) for each in partitions)


def _about(tx: Transaction, root: bytes) -> list[Entry]:
    """Return the questions about a memory, oldest first."""
    names = {"owner": tx.owner, "names": f"%{id_text(root)}%"}
    rows = tx.connection.rows(statements.PENDING_ABOUT, names)
    found = [Entry._make((*cells, json.loads(data))) for *cells, data in rows]
    return [each for each in found if root in sides(each)]


def put(
    tx: Transaction,
    kind: str,
    data: dict[str, Any],
    *,
    days: float | None = None,
    session: str | None = None,
) -> Event:
    """Let something wait, for so many days."""
    expires = None if days is None else tx.now + round(days * DAY_MS)
    row: dict[str, Any] = {
        "owner": tx.owner, "id": tx.new_id(), "kind": kind, "at": tx.now, "expires": expires,
        "session": session, "data": json.dumps(data, ensure_ascii=False), "salt": tx.salt(),
    }  # fmt: skip
    if expires is not None:
        due = {"owner": tx.owner, "at": expires, "job": expire_job(row["id"])}
        tx.connection.run(statements.SET_DUE, due)
    return tx.add("pending", row, EventType.ASKED, kind)


def expire_job(id: bytes) -> str:
    """Return the name of the job that ends an entry which nobody has decided in time."""
    return f"{EXPIRE} {id.hex()}"


def drop_expired(tx: Transaction, *, forgotten_only: bool = False) -> list[str]:
    """End what nobody has decided in time, and return the ids.

    Contradicting statements both stay. What has grown old stays marked, so it is asked once.
    """
    late = [entry for entry in entries(tx.connection, tx.owner) if entry.is_over(tx.now)]
    if forgotten_only:
        late = [entry for entry in late if entry.kind == UNDO]
    for entry in late:
        if entry.kind == UNDO:
            tx.remove("pending", entry.id, EventType.FORGOTTEN, "on_request")
            continue
        _log.warning("a %s expired without a decision: %s", entry.kind, id_text(entry.id))
        tx.remove("pending", entry.id, EventType.EXPIRED, "no_decision")
        for root in sides(entry) if entry.kind != AGED else ():
            clear_review_mark(tx, root)
    return [id_text(entry.id) for entry in late]


def sides(entry: Entry) -> tuple[bytes, ...]:
    """Return the roots of the statements that contradict each other, the newer first.

    What has grown old is one side alone.
    """
    return tuple(id_bytes(entry.data[name]) for name in ("new", "old") if name in entry.data)


def settle(tx: Transaction, root: bytes) -> None:
    """End the contradictions of a memory that was replaced or forgotten: the other one holds."""
    for entry in _about(tx, root):
        tx.remove("pending", entry.id, EventType.REVIEWED, "side_gone")
        for other in set(sides(entry)) - {root}:
            clear_review_mark(tx, other)


def standing_again(tx: Transaction, row: MemoryRow) -> Status:
    """End the question whether a memory is still true, as it is; return its status now."""
    if row["status"] == Status.ACTIVE:
        return Status.ACTIVE
    waiting = _about(tx, row["root"])
    for entry in waiting:
        if entry.kind == AGED:
            tx.remove("pending", entry.id, EventType.REVIEWED, "confirmed")
    contradicted = any(each.kind != AGED for each in waiting)
    return Status.REVIEW if contradicted else Status.ACTIVE


def clear_review_mark(tx: Transaction, root: bytes) -> MemoryRow | None:
    """Take the mark of a review from a memory, unless another contradiction of it waits."""
    row = tx.latest(root)
    if row is None or row["known_to"] is not None or row["status"] != Status.REVIEW:
        return row
    if _about(tx, root):
        return row
    mark(tx, row, Status.ACTIVE)
    return tx.known(row["id"])


def mark(tx: Transaction, row: MemoryRow, status: Status) -> Event:
    """Give a memory another status; it is not said again by that."""
    type = EventType.STALE_MARKED if status is Status.STALE else EventType.FLAGGED
    cells = {"status": status.value, "updated_at": row["updated_at"]}
    return tx.touch(row, type, f"status:{status.value}", **cells)


def forget_waiting(tx: Transaction, says: Callable[[str], bool], *, copies: bool = False) -> int:
    """Drop held statements and requests whose text is to be forgotten; return how many.

    Goals and steps of tasks whose text is to be forgotten become gaps.

    Args:
        tx: The owner's transaction.
        says: Whether a text is to be forgotten.
        copies: Whether that can no longer be taken back: what holds it comes back no more.
    """
    count = 0
    for cells in list(tx.connection.rows(statements.TASKS, {"owner": tx.owner})):
        row = dict(zip(statements.TABLES["tasks"], cells, strict=True))
        state = json.loads(row["data"])
        kept = [GAP if says(text) else text for text in (state["goal"], *state["plan"])]
        if GAP in kept:
            data = json.dumps({**state, "goal": kept[0], "plan": kept[1:]}, ensure_ascii=False)
            tx.replace("tasks", {**row, "data": data}, EventType.REDACTED, "on_request")
            count += 1
    for entry in entries(tx.connection, tx.owner):
        if any(map(says, filter(None, (entry.said, *(entry.copied if copies else ()))))):
            tx.remove("pending", entry.id, EventType.FORGOTTEN, "on_request")
            count += 1
    return count
