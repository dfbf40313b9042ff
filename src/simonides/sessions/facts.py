"""What a message corrects of facts that are known already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simonides.capture.slots import Slot, slots_of
from simonides.core.engine import Engine
from simonides.core.policy import folded
from simonides.core.scope import Principal
from simonides.sessions.reading import Piece
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, latest_of, memories
from simonides.text.analyse import Mark
from simonides.text.changes import corrected
from simonides.write.statement import SOON


def correct_facts(engine: Engine, who: Principal, said: Sequence[Piece]) -> None:
    """Let "Sorry, I meant Hull" teach what it corrects, a fact of the turns before it."""
    for place, piece in enumerate(said):
        for clause in piece.corrections:
            recent = [f for each in said[max(place - SOON, 0) : place] for f in each.learned]
            facts = [*reversed(recent), *_last_facts(engine, who)]
            fact = next(filter(None, (_corrected(each, clause) for each in facts)), None)
            piece.learned += [fact] if fact is not None else []


def keep_last(engine: Engine, who: Principal, said: Sequence[Piece]) -> None:
    """Let "Remember that." keep what the user said last, in this call or before."""
    for place, piece in enumerate(said):
        if not piece.keeps_last:
            continue
        own = [each.text for each in said[:place] if each.source == "user_stated"]
        params = {"owner": who.owner, "session": who.conversation, "gap": int(Mark.GAP), "limit": 1}
        with engine.db.read(who.owner) as connection:
            roots = [root for (root,) in connection.rows(statements.LAST_SAID, params)]
            own = own or [row["content"] for row in latest_of(connection, who.owner, roots)]
        piece.learned += [{"content": text, "category": "fact"} for text in own[-1:]]


def _last_facts(engine: Engine, who: Principal) -> list[MemoryRow]:
    params = {"owner": who.owner, "session": who.conversation, "limit": SOON}
    with engine.db.read(who.owner) as connection:
        return memories(connection, statements.LAST_FACTS, **params)


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
