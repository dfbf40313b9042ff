"""What a program notes in a conversation, and what was said in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from simonides.capture.messages import read_messages
from simonides.conversations.parts import go_on, last_part, next_position, turns_of
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.outcome import Outcome
from simonides.core.record import Draft, Importance, Record, Source, id_text
from simonides.core.results import Buffer, Digest, Page
from simonides.core.scope import Principal
from simonides.core.validation import between, enum_member, one_of
from simonides.core.validation import text as checked_text
from simonides.prompt.digest import digest
from simonides.prompt.lines import estimated_tokens
from simonides.recall.lookup import MAX_LISTED
from simonides.recall.view import unrefused
from simonides.sessions.add import placed
from simonides.sessions.model import summed_up
from simonides.sessions.resent import LOOKED_BACK, last_turns
from simonides.sessions.summary import summarised
from simonides.storage.rows import MemoryRow, record_of
from simonides.storage.transaction import Transaction
from simonides.text.statement import content_hash
from simonides.write.candidate import candidate_of, check_key
from simonides.write.judge import judge
from simonides.write.owner_write import owner_write
from simonides.write.remember import decided, embedded


def note(
    engine: Engine,
    who: Principal,
    text: str,
    *,
    key: str | None = None,
    category: str | None = None,
    importance: str = "normal",
) -> Outcome:
    """Keep a note as a turn of the conversation; it is the agent's, not the user's."""
    weight = enum_member(Importance, "importance", importance)
    policy = engine.policies.for_org(who.home.org, who.agent)
    if key is not None:
        check_key(checked_text("key", key), policy)
    if category is not None:
        one_of("category", category, policy.categories)
    named = {"key": key, "category": category}
    draft = Draft(
        checked_text("text", text),
        position=0,
        session=who.conversation,
        role="assistant",
        source=Source.AGENT_INFERRED.value,
        importance=weight.value,
        origin="note",
        metadata={name: value for name, value in named.items() if value is not None} or None,
    )
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
    [ready] = embedded(engine, [judged])
    with owner_write(engine, who.owner, who.name) as write:
        position = next_position(write.tx, who)
        outcome = decided(write, placed(ready, position=position))
        then(write.tx, outcome, position)
    return outcome


def buffer(engine: Engine, who: Principal, *, max_tokens: int = 8_000) -> Buffer:
    """Return what was said in the part that goes on: the oldest half summed up until it fits.

    The language model sums up where there is one. What the user refused is left out.

    Raises:
        InvalidInput: If the budget is out of range.
    """
    most, count = between("max_tokens", max_tokens, 100, 10**7), engine.tokens or estimated_tokens
    with engine.db.read(who.owner) as connection:
        part = last_part(connection, who)
        is_over = part is None or part.status != "open"
        rows = [] if part is None or is_over else turns_of(connection, who, part.data["first"])
        turns = unrefused(connection, who, rows)
    said = [_message(turn) for turn in turns]
    costs = [count(each["content"]) for each in said]
    cut, summary = 0, list[dict[str, str]]()
    while sum(costs[cut:], sum(count(each["content"]) for each in summary)) > most:
        if cut == len(said) - 1:
            break  # the last turn is never summed up
        cut = min(cut + max((len(said) - cut) // 2, 1), len(said) - 1)
        text, _ = summarised(turns[:cut], ())
        summary = [{"role": "system", "content": f"Summary of {cut} earlier turns. {text}"}]
    gist = summed_up(engine, who, part, turns[:cut]) if part is not None and cut else ""
    if gist and count(gist) <= count(summary[0]["content"]):
        summary = [{"role": "system", "content": f"Summary of {cut} earlier turns. {gist}"}]
    shown = (*summary, *said[cut:])
    return Buffer(
        messages=shown,
        tokens=sum(count(each["content"]) for each in shown),
        summed_up=cut,
        pressure=sum(costs) / most,
    )


def _message(turn: MemoryRow) -> dict[str, str]:
    speaker = f"{turn['speaker']}: " if turn["speaker"] else ""
    return {"role": str(turn["role"]), "content": f"{speaker}{turn['content']}"}


def turns_saying(engine: Engine, who: Principal, said: Sequence[object]) -> list[str]:
    """Return the ids of the conversation's last turns that are among some messages."""
    hashes = set()
    for each in said[-LOOKED_BACK:]:
        with suppress(InvalidInput):  # it is no message that `add` would keep
            hashes |= {content_hash(message.text) for message in read_messages(each)}
    with engine.db.read(who.owner) as connection:
        turns = last_turns(connection, who)
    return [id_text(turn.id) for turn in turns if turn.hash in hashes]


def digest_beside(
    engine: Engine,
    who: Principal,
    /,
    about: object = None,
    *,
    beside: Sequence[object],
    **options: Any,
) -> Digest:
    """Return the digest for a prompt that holds some messages already; see `digest`."""
    return digest(engine, who, about, shown=turns_saying(engine, who, beside), **options)


def messages(
    engine: Engine, who: Principal, *, limit: int = 100, cursor: str | None = None
) -> Page[Record]:
    """Return what was said and noted in a conversation, oldest first.

    Raises:
        InvalidInput: If an argument is out of range, or the cursor is of another list.
    """
    most = between("limit", limit, 1, MAX_LISTED)
    if cursor is not None and not cursor.isdecimal():
        raise InvalidInput("cursor", "is not a next_cursor of this list")
    first = 0 if cursor is None else int(cursor)
    with engine.db.read(who.owner) as connection:
        rows = turns_of(connection, who, first, limit=most + 1)
    more = str(rows[most]["position"]) if len(rows) > most else None
    return Page([record_of(row) for row in rows[:most]], more)
