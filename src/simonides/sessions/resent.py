"""Which messages of a call were said before, and which say anew what an edited message said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple

from simonides.change.correct import ended_by, withdraw
from simonides.conversations.parts import (
    SessionPart,
    keep_part,
    last_part,
    learned_from,
    turns_named,
)
from simonides.core.outcome import EventType, Outcome, OutcomeKind
from simonides.core.record import GAP, Record
from simonides.core.scope import Principal
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow
from simonides.write.gates import insert_version
from simonides.write.judge import Commit, Judgement
from simonides.write.owner_write import OwnerWrite
from simonides.write.remember import decided
from simonides.write.tombstones import lift_tombstone
from simonides.write.versions import enter, in_force

LOOKED_BACK = 400
"""Turns at the end of a conversation among which resent history is recognised. Set by judgement."""

LEAST = 2
"""Turns that repeat a conversation even if they are a small part of it, or come later. Not
measured."""


class TurnMark(NamedTuple):
    """What tells that a turn is one that is known.

    Attributes:
        role: Whose turn it is.
        hash: Of its text.
        id: The caller's id of the message, if it has one.
        at: When it was said, in milliseconds, if the message says so.
    """

    role: str
    hash: str
    id: str | None
    at: int | None


class _Logged(NamedTuple):
    hash: str
    message_id: str | None
    role: str | None
    position: int
    valid_from: int | None
    id: bytes
    is_cut: int


def known(
    said: Sequence[Sequence[TurnMark]],
    log: Sequence[_Logged],
    part: SessionPart | None,
    when: int,
    idle_minutes: float,
) -> tuple[set[int], dict[int, list[bytes]]]:
    """Return which messages are resent and which are edited.

    They are known by their ids, and without ids by their order: they repeat the end of the part of
    the conversation that goes on, or its beginning and then differ. Later than that, they must
    repeat the whole conversation and go on: an equal exchange on another day is said again.

    Args:
        said: Of each message the marks of the turns that it becomes.
        log: The last turns of the conversation.
        part: Its latest part, or None.
        when: When the first of them was said.
        idle_minutes: Quiet time after which a part is over.

    Returns:
        The places of messages that repeat what is stored, and those of messages with the id of a
        stored one and another text, with the ids of its turns.
    """
    marks = [mark for each in said for mark in each]
    first = None if part is None or part.is_over(when, idle_minutes) else part.data["first"]
    same = _repeated(marks, log, first)
    ends = accumulate(map(len, said), initial=0)
    whole = max(n for n, end in enumerate(ends) if end <= same) if log else 0
    if whole == len(said) == 1:
        whole = 0  # the user says the same again
    resent, edited = _by_id(said, log)
    return resent | set(range(whole)), edited


def last_turns(connection: Connection, who: Principal) -> list[_Logged]:
    """Return the last turns of the conversation, oldest first."""
    params = {**turns_named(who), "limit": LOOKED_BACK, "cut": f"%{GAP}%"}
    rows = connection.rows(statements.LAST_TURNS, params)
    return [_Logged._make(row) for row in reversed(rows)]


def _repeated(marks: Sequence[TurnMark], log: Sequence[_Logged], first: int | None) -> int:
    """Return how many turns at the beginning are known, in order.

    Args:
        marks: Of the turns of a call.
        log: The end of the conversation, oldest first.
        first: First position of the part that goes on; None if none does.
    """
    count = _overlap(marks, log)
    if first is None:
        return count if LEAST <= count == len(log) < len(marks) else 0
    starts = {0, next((n for n, row in enumerate(log) if row.position >= first), 0)}
    for branch in (log[start:] for start in starts):
        same = sum(1 for _ in takewhile(bool, map(_is_same, marks, branch)))
        if same < len(marks) and (same >= LEAST or 2 * same >= len(branch) > 0):
            count = max(count, same + _overlap(marks[same:], log))
    return count


def _overlap(marks: Sequence[TurnMark], log: Sequence[_Logged]) -> int:
    """Return how many turns at the beginning of some repeat the end of others."""
    most = min(len(marks), len(log))
    return next((n for n in range(most, 0, -1) if all(map(_is_same, marks[:n], log[-n:]))), 0)


def _is_same(mark: TurnMark, row: _Logged) -> bool:
    ids, times = {mark.id, row.message_id} - {None}, {mark.at, row.valid_from} - {None}
    is_one = len(ids) < 2 and (mark.at is None or len(times) < 2)
    return is_one and (mark.role, mark.hash) == (row.role or "user", row.hash)


def _by_id(
    said: Sequence[Sequence[TurnMark]], log: Sequence[_Logged]
) -> tuple[set[int], dict[int, list[bytes]]]:
    """Return the messages whose id is known: those with the stored text, and the edited ones."""
    stored: dict[tuple[str | None, str], list[_Logged]] = defaultdict(list)
    for row in log:
        stored[row.message_id, row.role or "user"].append(row)
    names = [(each[0].id, each[0].role) if each else (None, "") for each in said]
    often, resent, edited = Counter(names), set(), {}
    for number, (name, each) in enumerate(zip(names, said, strict=True)):
        rows = stored.get(name, []) if name[0] is not None else []
        old, new = [row.hash for row in rows], [mark.hash for mark in each]
        is_known = old == new or (often[name] > 1 and set(new) <= set(old))
        # What the user had cut out of a message does not come back with it.
        if rows and (is_known or any(row.is_cut for row in rows)):
            resent.add(number)
        elif rows and often[name] == 1:
            edited[number] = [row.id for row in rows]
    return resent, edited


# -- edited messages -------------------------------------------------------------------------------


def undo_edited(
    write: OwnerWrite, who: Principal, ids: Sequence[bytes]
) -> tuple[list[MemoryRow], list[Record]]:
    """Take back what the turns of an edited message taught and ended; a model reads on from there.

    Returns:
        The turns, which are still in force, and the facts that ended.
    """
    tx = write.tx
    rows = [row for id in ids if (row := in_force(tx, id)) is not None]
    taught = [tx.known(row["id"]) for row in learned_from(tx.connection, tx.owner, rows)]
    gone = [withdraw(write, row, "edited") for row in taught if row["known_to"] is None]
    for row in rows:
        for back in ended_by(write, row["id"]):
            enter(write, back, EventType.CREATED, "edited")
    part = last_part(tx.connection, who)
    before = min((row["position"] for row in rows), default=0) - 1
    if part is not None and part.data["first"] <= before + 1 <= part.data["read"]:
        keep_part(tx.connection, tx.owner, part._replace(data={**part.data, "read": before}))
    return rows, [outcome.record for outcome in gone if outcome.record is not None]


def replaced(write: OwnerWrite, judged: Judgement, old: MemoryRow, *, has_time: bool) -> Outcome:
    """Store a turn in the place of that which the edited message had.

    Args:
        write: The owner's turn to write.
        judged: The turn, at its place.
        old: The turn in force.
        has_time: Whether the message has a time; else it keeps that of the old one.
    """
    tx = write.tx
    if isinstance(judged, Commit) and lift_tombstone(tx, judged.candidate, by_user=True):
        kept = () if has_time else ("valid_from", "said_at", "utc_offset")
        cells = {name: old[name] for name in kept}
        return insert_version(write, judged, old, OutcomeKind.SUPERSEDED, **cells)
    tx.end(old, "superseded", EventType.SUPERSEDED, "edited")
    return decided(write, judged)
