"""Conversations that were held elsewhere: stored at once, read and compared by the worker.

What they ask of a memory is not done: it was said to another program, and is over. Their text from
outside is not stored: the end of a conversation would remove it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simonides.capture.messages import Message
from simonides.conversations.parts import (
    conversation_name,
    go_on,
    keep_part,
    last_part,
    next_position,
    part_of,
    principal_of_part,
    turns_named,
    turns_of,
)
from simonides.core.clock import MINUTE_MS, local_time, to_ms
from simonides.core.engine import Engine
from simonides.core.outcome import Outcome, OutcomeKind
from simonides.core.record import Draft, Trust
from simonides.core.scope import Principal
from simonides.prompt.lines import TITLE
from simonides.sessions.add import held, placed
from simonides.sessions.reading import UNSURE, pieces_of, understood
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, record_of, time_said
from simonides.storage.transaction import Transaction
from simonides.write.candidate import candidate_of
from simonides.write.endings import note_endings
from simonides.write.judge import Commit, Drop, Hold, Judgement, judge
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.remember import decided_alone, embedded, take

LEARN = "learn"
"""The job that reads the stored turns of a part."""

LATER_MS = 10 * MINUTE_MS
"""When turns are read at the latest, should the import that stored them be killed. Chosen: longer
than an import of 100,000 turns, which the reading would slow."""

BATCH = 8
"""Turns that are read in one transaction, so that others wait for at most a third of a second."""


class Kept(NamedTuple):
    """What became of a message.

    Attributes:
        outcome: ``stored``, ``known``, ``refused`` or ``left``.
        reasons: Why, machine-readable.
    """

    outcome: str
    reasons: tuple[str, ...] = ()


def known_messages(engine: Engine, who: Principal) -> set[tuple[str, str]]:
    """Return the conversation and the id of every message of a user that is stored."""
    named = turns_named(who)
    params = {name: named[name] for name in ("owner", "task", "purpose")}
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.MESSAGE_IDS, params)
    return {(session, id) for session, id in rows}


def keep_turns(
    engine: Engine, said: Mapping[Principal, Sequence[Message]], *, dry_run: bool = False
) -> list[Kept]:
    """Store new messages as turns, screened but unread, in one transaction.

    Args:
        engine: The store.
        said: The messages by conversation, each with an id. A conversation is the session of a
            principal; all are of one user.
        dry_run: Only say what would be done.

    Returns:
        What became of each message, in their order.

    Raises:
        QuotaExceeded: If an organisation writes too much; nothing was stored.
        StoreError: If the store could not; nothing was stored.
    """
    judged = {
        who: [(message, list(_judged(engine, who, message))) for message in messages]
        for who, messages in said.items()
    }
    every = [turn for pairs in judged.values() for _, turns in pairs for turn in turns]
    if dry_run or not every:
        each = (pair for pairs in judged.values() for pair in pairs)
        return [_kept(message, _foreseen(turns)) for message, turns in each]
    take(engine, every)
    kept: list[Kept] = []
    first = next(iter(judged))
    with owner_write(engine, first.owner, first.name) as write:
        write.tx.is_bulk = write.tx.compares_later = True
        for who, pairs in judged.items():
            kept += _placed(engine, write, who, pairs)
    return kept


def _placed(
    engine: Engine,
    write: OwnerWrite,
    who: Principal,
    judged: Sequence[tuple[Message, Sequence[Judgement]]],
) -> Iterator[Kept]:
    """Store the turns of one conversation, after those that it has."""
    position = first = next_position(write.tx, who)
    for message, turns in judged:
        outcomes = []
        for turn in turns:
            at = placed(turn, position=position)
            outcomes.append(decided_alone(write, at, lifts=False))
            position += outcomes[-1].record is not None
        yield _kept(message, outcomes)
    if position > first:
        messages = [message for message, _ in judged]
        _note_part(engine, write.tx, who, first, position - first, messages)


def read_soon(engine: Engine, who: Principal) -> None:
    """Let the worker read what was stored of a conversation."""
    with engine.db.read(who.owner) as connection:
        part = last_part(connection, who)
    if part is not None:
        engine.worker.ask(LEARN, who.owner, part.id.hex())


def learn(engine: Engine, owner: str, id: str) -> int:
    """Read the turns of a part that were stored unread; return how many.

    Args:
        engine: The store.
        owner: The owner.
        id: Of the part, in hexadecimal digits.
    """
    count = 0
    while turns := _learn_some(engine, owner, bytes.fromhex(id)):
        count += turns
    engine.worker.ask("embed", owner)
    return count


def _judged(engine: Engine, who: Principal, message: Message) -> Iterator[Judgement]:
    for piece in pieces_of(message, me=None, source=None, reads=False):
        if piece.source == "external" or message.text.startswith(TITLE):
            continue
        draft = Draft(
            piece.text,
            position=0,
            session=who.conversation,
            role=piece.role,
            speaker=piece.speaker,
            source=piece.source,
            at=message.at,
            origin=piece.origin,
            message_id=message.id,
        )
        yield judge(candidate_of(engine, who, draft))


def _foreseen(turns: Sequence[Judgement]) -> list[Outcome]:
    kinds = {Commit: OutcomeKind.CREATED, Hold: OutcomeKind.HELD, Drop: OutcomeKind.BLOCKED}
    return [Outcome(kind=kinds[type(each)], reasons=each.reasons) for each in turns]


def _kept(message: Message, outcomes: Sequence[Outcome]) -> Kept:
    reasons = tuple(dict.fromkeys(reason for each in outcomes for reason in each.reasons))
    if not outcomes:
        why = "echo" if TITLE in message.text else "not_said_by_user" if message.text else "empty"
        return Kept("left", ("system" if message.role == "system" else why,))
    is_stored = any(each.kind is OutcomeKind.CREATED for each in outcomes)
    return Kept("stored" if is_stored else "refused", reasons)


def _note_part(
    engine: Engine,
    tx: Transaction,
    who: Principal,
    first: int,
    turns: int,
    messages: Sequence[Message],
) -> None:
    """Let the conversation go on, and its new turns be read by the worker."""
    said = [each.at or local_time(engine.clock, tx.now) for each in messages]
    was = go_on(engine, tx, who, first, turns, said)
    engine.worker.begun.pop((tx.owner, conversation_name(who)), None)  # closing does not end it
    part = last_part(tx.connection, who)
    if part is None:
        return
    if part.id != was.id and was.is_over(to_ms(said[0]), engine.settings.idle_minutes):
        engine.worker.ask("end", who.owner, was.id.hex())
    # A language model would cost: it does not read what was said elsewhere.
    data = {"learned": first - 1, **part.data, "read": first + turns - 1}
    keep_part(tx.connection, tx.owner, part._replace(data=data))
    due = {"owner": tx.owner, "at": tx.now + LATER_MS, "job": f"{LEARN} {part.id.hex()}"}
    tx.connection.run(statements.SET_DUE, due)


def _learn_some(engine: Engine, owner: str, id: bytes) -> int:
    with engine.db.read(owner) as connection:
        part = part_of(connection, owner, id)
        if part is None or "learned" not in part.data:
            return 0
        who = principal_of_part(part)
        after = part.data["learned"]
        last = part.data["first"] + part.turns - 1
        rows = turns_of(connection, who, after + 1, last, BATCH)
    own = [row for row in rows if row["trust"] == Trust.USER and row["role"] == "user"]
    facts = [(row, each) for row in own for each in _facts(engine, who, row)]
    ready = embedded(engine, [each for _, each in facts])
    if not rows:
        return 0
    with owner_write(engine, owner, who.name) as write:
        by_turn = {row["id"]: write.tx.memory(row["id"]) for row in own}
        for (row, _), fact in zip(facts, ready, strict=True):
            turn = by_turn[row["id"]]
            if turn is not None and turn["known_to"] is None:  # not forgotten meanwhile
                decided_alone(write, placed(fact, parents=(record_of(turn),)), lifts=False)
        for turn in by_turn.values():
            if turn is not None and turn["known_to"] is None:
                note_endings(write, turn)
        now = part_of(write.tx.connection, owner, id)
        if now is not None:
            data = {**now.data, "learned": rows[-1]["position"]}
            keep_part(write.tx.connection, owner, now._replace(data=data))
    return len(rows)


def _facts(engine: Engine, who: Principal, row: MemoryRow) -> list[Judgement]:
    """Return what the policy says of the facts that a turn of the user states."""
    piece = understood(row["content"], row["speaker"], row["origin"])
    shared: dict[str, Any] = {
        "session": row["session"], "speaker": row["speaker"], "source": "user_stated",
        "at": time_said(row), "origin": row["origin"],
    }  # fmt: skip
    drafts = (Draft(**{**shared, **fields}) for fields in piece.learned)
    judged = [judge(candidate_of(engine, who, draft)) for draft in drafts]
    return [held(each, "unsure_whose") for each in judged] if piece.origin == UNSURE else judged
