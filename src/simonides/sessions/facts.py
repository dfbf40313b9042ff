"""What a message says of facts that are known already: it corrects one, or ends it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from simonides.capture.slots import PREDICATES, Slot, folded, slots_of
from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.core.record import Record, Trust
from simonides.core.scope import Principal
from simonides.prompt.endings import SURE, Statement, probability
from simonides.recall.changes import SOON
from simonides.recall.index import STANDING
from simonides.sessions.reading import Piece
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, memory_row, record_of
from simonides.text.analyse import analyse
from simonides.text.changes import corrected, diets, search, setting
from simonides.text.statement import read
from simonides.write.gates import Turn

ENDED_KEYS = ("employer", "role", "location", "relationship", "update_channel", "language", "units")
"""Keys of facts that can end without another value."""

LEAST_LIFTED = 0.5
"""Share of the rarity of a rule's words that a clause holds which takes it back; chosen."""


def correct_facts(
    engine: Engine, who: Principal, session: str, pieces: Sequence[Sequence[Piece]]
) -> None:
    """Let "Sorry, I meant Hull" teach what it corrects, a fact of the turns before it."""
    said = [piece for each in pieces for piece in each]
    for place, piece in enumerate(said):
        for clause in piece.corrections:
            recent = [f for each in said[max(place - SOON, 0) : place] for f in each.learned]
            facts = [*reversed(recent), *_last_facts(engine, who, session)]
            fact = next(filter(None, (_corrected(each, clause) for each in facts)), None)
            piece.learned += [fact] if fact is not None else []


def _last_facts(engine: Engine, who: Principal, session: str) -> list[MemoryRow]:
    params = {"owner": who.owner, "session": session, "limit": SOON}
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.LAST_FACTS, params)
    return [memory_row(cells) for cells in rows]


def _corrected(fact: Mapping[str, Any], clause: str) -> dict[str, Any] | None:
    """Return a fact with a new value, if its sentence states the same key with that value."""
    key, old, new = fact.get("key"), fact["content"], corrected(clause)
    quote = fact.get("quote") or ""
    if key is None or not new or old not in quote:
        return None
    said = {Slot(folded(slot.key), slot.value) for slot in slots_of(quote.replace(old, new))}
    if Slot(key, new) not in said:
        return None
    return {"content": new, "key": key, "category": fact["category"], "quote": clause}


def end_facts(turn: Turn, said: Record, piece: Piece) -> list[Record]:
    """End and return the facts and rules of the user that a turn says are over.

    Args:
        turn: The owner's turn to write.
        said: The stored turn that holds the clauses.
        piece: What was read in it.
    """
    ended = []
    for each in piece.learned:
        _, predicate, value = each.get("triple") or ("", "", "")
        if predicate == PREDICATES["diet"]:
            ended += [row for row in _facts(turn, said) if _is_given_up(row, value.lower())]
    for clause in (each for each in piece.ends if search("ends_own", each)):
        new, stated = Statement(clause, said), {folded(slot.key) for slot in slots_of(clause)}
        for row in _facts(turn, said):
            if row["key"] not in stated and _is_ended(turn, new, row):
                ended.append(row)
    ended += [row for clause in piece.lifts for row in _lifted(turn, said, clause)]
    ended = list({row["id"]: row for row in ended}.values())
    for row in ended:
        by = id_bytes(said.id)
        turn.tx.end(row, "superseded", EventType.SUPERSEDED, "ended_by_user", by=by)
    return [record_of(row) for row in ended]


def _lifted(turn: Turn, said: Record, clause: str) -> Iterator[MemoryRow]:
    """Yield the rules that a clause takes back: "You can deploy on Fridays again"."""
    terms, worth = frozenset(analyse(clause)), turn.index.worth
    is_negated, no_subject = _denies(clause), set(analyse(setting("no_subject")))
    for id in turn.index.in_categories(STANDING):
        row = turn.tx.memory(id)
        if row is None or row["known_to"] is not None:
            continue
        record = record_of(row)
        mine = (record.place, record.trust) == (said.place, Trust.USER)
        if not mine or said.id in record.parents or _denies(record.content) == is_negated:
            continue
        rule = frozenset(analyse(record.content)) - no_subject
        shared = sum(map(worth, rule & terms))
        if shared and shared >= LEAST_LIFTED * sum(map(worth, rule)):
            yield row


def _denies(text: str) -> bool:
    return read(text).is_negated or search("stops", text) is not None


def _is_given_up(row: MemoryRow, diet: str) -> bool:
    """Whether a diet ends another one: "vegan" a vegetarian one, "eat meat again" both."""
    words = diet.split() if diet.startswith("eat") else [diet]
    over = {each for word in words for each in diets().get(word, "").split()}
    old = str(row["object"]).lower()
    return (
        row["predicate"] == PREDICATES["diet"]
        and old != diet
        and not over.isdisjoint(re.findall(r"\w+", old))
    )


def _facts(turn: Turn, said: Record) -> list[MemoryRow]:
    """Return what is in force and stated by the user under the keys, in the place of a turn."""
    tx = turn.tx
    ids = [id for key in ENDED_KEYS for id in turn.index.by_key.get(key, ())]
    for predicate in PREDICATES.values():
        params = {"owner": tx.owner, "subject": "user", "predicate": predicate}
        ids += [memory_row(each)["id"] for each in tx.connection.rows(statements.SLOT, params)]
    rows = [row for id in ids if (row := tx.memory(id)) is not None and row["known_to"] is None]
    mine = attrgetter("place", "speaker", "trust")
    return [row for row in rows if mine(record_of(row)) == (said.place, said.speaker, Trust.USER)]


def _is_ended(turn: Turn, new: Statement, row: MemoryRow) -> bool:
    """Whether a clause names the value of a fact and surely ends it."""
    if row["key"] in ("employer", "role") and search(f"names_{row['key']}", new.text):
        return new.is_news
    value = set(analyse(re.sub(setting("dose"), "", row["object"] or row["content"])))
    if not value or not value <= set(analyse(new.text)):
        return False
    old = Statement(row["quote"] or row["content"], record_of({**row, "key": None}))
    return probability(new, old, turn.index.worth) >= SURE
