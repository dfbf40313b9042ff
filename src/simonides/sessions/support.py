"""Held statements, and what the user says besides that bears them out.

A statement that is implied, or that a model doubts, waits until its conversation ends. It becomes a
memory if two turns of the user say it, one now and one in an earlier conversation, or one and the
summary. A rule, and what must be repeated, needs the turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simonides.capture.clauses import clauses_of
from simonides.capture.slots import implied_manner, manner_of, slots_of
from simonides.conversations import parts
from simonides.core.engine import Engine
from simonides.core.outcome import Outcome, OutcomeKind
from simonides.core.policy import MANNERS, folded
from simonides.core.record import Kind, id_text
from simonides.core.scope import Principal
from simonides.recall.view import View, unrefused
from simonides.storage.rows import MemoryRow, by_id
from simonides.text.analyse import query_terms
from simonides.write import pending
from simonides.write.candidate import draft_fields
from simonides.write.judge import Hold, Judgement
from simonides.write.owner_write import OwnerWrite
from simonides.write.versions import is_beside

IMPLIED = "implied"
"""Doubt about what a user wants of one answer, and may want of all."""

SUPPORTABLE = frozenset({"model_hold", "model_repeat", IMPLIED, "not_lasting"})
"""Doubts that what the user says besides can remove; of others a person decides."""

LEAST_SUPPORT = 2
"""Turns of the user that must support a held statement."""

MOST_EARLIER = 64
"""Turns of earlier conversations that are looked at. Set by judgement."""

Says = Callable[[str], bool]


def held_once(write: OwnerWrite, who: Principal, judged: Judgement) -> Outcome | None:
    """Let an implied wish wait for the end of its conversation, once; None for anything else."""
    if not isinstance(judged, Hold) or judged.reasons != (IMPLIED,):
        return None
    candidate, tx, session = judged.candidate, write.tx, parts.conversation_name(who)
    outcome = Outcome(kind=OutcomeKind.HELD, reasons=judged.reasons)
    for entry in pending.entries(tx.connection, tx.owner):
        draft = entry.data.get("draft", {})
        same = (draft.get("key"), draft.get("content")) == (candidate.key, candidate.content)
        if same and entry.session == session:
            return outcome
    data = {"draft": draft_fields(candidate), "reasons": judged.reasons, "by": tx.actor}
    days = candidate.policy.gates.review_days
    event = pending.put(tx, "held", data, days=days, session=session)
    return outcome.model_copy(update={"events": (event,)})


def is_supported(
    engine: Engine, who: Principal, entry: pending.Entry, turns: Sequence[MemoryRow], summary: str
) -> bool:
    """Whether what the user said bears out a held statement.

    One whose turn was forgotten, or cut, is supported no more.

    Args:
        engine: The store.
        who: The user.
        entry: The statement.
        turns: Of its conversation.
        summary: Of the conversation; empty without one.
    """
    draft = entry.data["draft"]
    if not {id_text(turn["id"]) for turn in turns}.issuperset(draft["parents"]):
        return False
    says = _says(draft)
    supporting = [turn for turn in turns if turn["role"] == "user" and says(turn["content"])]
    if not supporting or len(supporting) >= LEAST_SUPPORT:
        return bool(supporting)
    is_binding = draft["kind"] == Kind.PROCEDURAL or folded(draft["key"] or "") in MANNERS
    needs_turns = is_binding or "model_repeat" in entry.data["reasons"]
    if not needs_turns and summary and says(summary):
        return True
    return _was_said_before(engine, who, supporting[0], says)


def _says(draft: dict[str, Any]) -> Says:
    """Return whether a text says a statement: wishes the same manner, or has two of its words."""
    key = folded(draft["key"] or "")
    if key in MANNERS:
        return lambda text: any(
            (folded(slot.key), slot.value.split(" (")[0]) == (key, draft["content"].split(" (")[0])
            for clause in clauses_of(text)
            for slot in (*implied_manner(clause), *manner_of(clause), *slots_of(clause))
        )
    telling = set(query_terms(draft["content"]))
    least = min(2, len(telling))
    return lambda text: len(telling.intersection(query_terms(text))) >= least


def _was_said_before(engine: Engine, who: Principal, turn: MemoryRow, says: Says) -> bool:
    """Whether the user said it in an earlier conversation, too."""
    terms = query_terms(turn["content"])

    def chosen(view: View) -> list[bytes]:
        [part] = view.parts
        rows, _, _ = part.postings(terms)
        shared = np.bincount(rows, minlength=part.size)
        shared[~(part.column("turn") & part.column("live"))] = 0
        shared[part.column("session") == part.sessions.get(turn["session"], -1)] = 0
        best = np.argsort(-shared, kind="stable")[:MOST_EARLIER].tolist()
        return [part.ids[row] for row in best if shared[row]]

    with engine.db.read(who.owner) as connection:
        ids = engine.indexes.reading(connection, [who.owner], chosen)
        found = unrefused(connection, who, by_id(connection, who.owner, ids))
    before = (row for row in found if row["role"] == "user" and is_beside(row, turn))
    return any(says(row["content"]) for row in before if row["session"] != turn["session"])
