"""What a program notes in a conversation, and what was said in it."""

from __future__ import annotations

from collections.abc import Callable

from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.outcome import Outcome
from simonides.core.record import Draft, Importance, Record, Source
from simonides.core.results import Page
from simonides.core.scope import Principal
from simonides.core.validation import between, enum_member, text
from simonides.recall.lookup import MAX_LISTED
from simonides.sessions.add import next_position, placed
from simonides.storage.rows import record_of
from simonides.storage.transaction import Transaction
from simonides.write.candidate import candidate_of
from simonides.write.gates import Turn
from simonides.write.judge import judge
from simonides.write.log import go_on, turns_of
from simonides.write.remember import decided, vectors_of_commits
from simonides.write.turn import owner_turn


def note(
    engine: Engine,
    who: Principal,
    said: str,
    *,
    key: str | None = None,
    importance: str = "normal",
) -> Outcome:
    """Keep a note as a turn of the conversation; it is the agent's, not the user's."""
    weight = enum_member(Importance, "importance", importance)
    draft = Draft(
        text("text", said), position=0, session=who.conversation, role="assistant",
        source=Source.AGENT_INFERRED.value, importance=weight.value, origin="note",
        metadata=None if key is None else {"key": text("key", key)},
    )  # fmt: skip
    return logged(engine, who, draft, lambda tx, _, position: go_on(engine, tx, who, position, 1))


def logged(
    engine: Engine,
    who: Principal,
    draft: Draft,
    then: Callable[[Transaction, Outcome, int], object],
) -> Outcome:
    """Write a turn of the conversation, and in the same transaction what follows from it.

    Args:
        engine: The store.
        who: The principal of the conversation.
        draft: The turn.
        then: Called with the transaction, the outcome, and the place of the turn.
    """
    judged = judge(candidate_of(engine, who, draft))
    [vector] = vectors_of_commits(engine, [judged])
    with owner_turn(engine, who.owner, who.name) as (tx, index):
        position = next_position(tx, who.conversation)
        turn = Turn(tx, index, engine.indexes.embedder)
        outcome = decided(turn, placed(judged, position=position), vector)
        then(tx, outcome, position)
    return outcome


def messages(
    engine: Engine, who: Principal, *, limit: int = 100, cursor: str | None = None
) -> Page[Record]:
    """Return what was said and noted in a conversation, oldest first.

    Raises:
        InvalidInput: If an argument is out of range, or the cursor is none of this list.
    """
    most = between("limit", limit, 1, MAX_LISTED)
    if cursor is not None and not cursor.isdecimal():
        raise InvalidInput("cursor", "is none of this list")
    first = 0 if cursor is None else int(cursor)
    with engine.db.read(who.owner) as connection:
        rows = turns_of(connection, who, first, limit=most + 1)
    more = str(rows[most]["position"]) if len(rows) > most else None
    return Page([record_of(row) for row in rows[:most]], more)
