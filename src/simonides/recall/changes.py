"""Which newer memories may have changed what a question found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simonides.core.engine import Engine
from simonides.core.record import Record, id_text
from simonides.core.scope import Principal
from simonides.models.threads import one_thread
from simonides.recall.index import Bools
from simonides.recall.recall import ask_of, visible
from simonides.recall.view import View
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import batched, fetched, id_bytes
from simonides.text.analyse import Mark

MOST_PULLED = 4
"""Newer memories with words of change that are brought along for each found one; chosen."""

NEAR = 0.3
"""Cosine from which a newer memory may be about the same; chosen."""

BESIDE = 0.35
"""Cosine from which the newer memory that is nearest to a relevant one stands before it. Measured
on six people's questions: of .3, .35 and .4 it shows .770, .762 and .749 of the evidence, in 4.52,
4.39 and 4.29 lines."""

SOON = 6
"""Turns within which people correct themselves; chosen."""

_CHANGED = int(Mark.CHANGES | Mark.ENDS)
_OWN = ("", "user")  # the index names the user so in facts and in turns


class Changes(NamedTuple):
    """What may have changed some memories.

    Attributes:
        records: Newer memories.
        worth: Gives the rarity of a term.
        known: By root and clause the id of what ended the fact that the clause taught.
        beside: By id of a memory the id of the newer one that is nearest to it in meaning.
    """

    records: list[Record]
    worth: Callable[[str], float]
    known: Mapping[tuple[str, str], str]
    beside: Mapping[str, str]


def changes_since(
    engine: Engine, who: Principal, records: Sequence[Record], keys: Set[str], **options: Any
) -> Changes:
    """Return what may have changed some memories since.

    These are what is known to have ended a fact that they taught; the facts under some keys; and
    for each memory newer ones of its speaker: with words of change those near in meaning and those
    that soon follow it in its conversation, and the nearest of all.

    Args:
        engine: The store.
        who: The reader.
        records: Best first.
        keys: Keys of facts that the memories state.
        options: As for `ask_of`.
    """
    now, ask = engine.clock.now_ms(), ask_of(engine, who, "", **options)
    owners = [reach.owner for reach in ask.reach]
    beside: dict[str, str] = {}

    def chosen(view: View) -> tuple[list[tuple[str, bytes]], Callable[[str], float]]:
        shown = visible(view, who, ask, now)
        known = [view.row_of(who.owner, id) for id in over.values()]
        named = [*view.rows_of_keys(keys), *(row for row in known if row is not None)]
        rows: dict[int, None] = dict.fromkeys(row for row in named if shown[row])
        for record in records:
            row = view.row_of(record.owner, id_bytes(record.id))
            if row is not None:
                with one_thread():
                    pulled, nearest = _following(view, row, shown)
                rows |= dict.fromkeys([*pulled, *nearest])
                beside.update((record.id, id_text(view.owner_and_id(n)[1])) for n in nearest)
        # One statement is compared with many: each of its terms is weighed once.
        return [view.owner_and_id(row) for row in rows], lru_cache(None)(view.parts[0].worth)

    with engine.db.read(*owners) as connection:
        over = _known_ends(connection, who.owner, records)
        ids, worth = engine.indexes.reading(connection, owners, chosen)
        found = [
            record
            for record in fetched(connection, ids).values()
            if record.is_current and (ask.predicate is None or ask.predicate(record))
        ]
        ends = {each: id_text(by) for each, by in over.items()}
        return Changes(found, worth, ends, beside)


def _known_ends(
    connection: Connection, owner: str, records: Sequence[Record]
) -> dict[tuple[str, str], bytes]:
    """Return by memory and clause the id of what ended a fact that the clause taught."""
    roots = [id_bytes(each.root) for each in records if each.owner == owner]
    return {
        (id_text(root), quote): by
        for batch in batched(roots)
        for root, quote, by in connection.rows(
            statements.ended_of(len(batch)), {"owner": owner, **batch}
        )
    }


def _following(view: View, row: int, shown: Bools) -> tuple[list[int], list[int]]:
    """Return newer rows of a row's speaker: those that may end it, and the nearest of all.

    What may end it has words of change, and is near it in meaning or soon follows it in its
    conversation.
    """
    part, at = view.locate(row)
    first = row - at
    speakers = [part.speakers[name] for name in _OWN if name in part.speakers]
    speaker, time = part.column("speaker")[at], part.column("time")
    newer = shown[first : first + part.size] & (time >= time[at])
    newer &= np.isin(part.column("speaker"), speakers if speaker in speakers else [speaker])
    newer[at] = False
    rows = np.flatnonzero(newer)
    like = part.vectors[rows].astype(np.float32) @ part.vectors[at].astype(np.float32)
    like *= part.column("scale")[rows] * part.column("scale")[at]
    order = np.argsort(-like, kind="stable")
    rows, like = rows[order], like[order]
    changed = (part.column("marks")[rows] & _CHANGED) > 0
    near = rows[changed & (like >= NEAR)][:MOST_PULLED]
    steps = part.column("position")[rows] - part.column("position")[at]
    in_session = part.column("session")[rows] == part.column("session")[at]
    soon = rows[changed & in_session & (steps > 0) & (steps <= SOON)]
    nearest = rows[(like >= BESIDE) & (time[rows] > time[at]) & part.column("turn")[rows]][:1]
    return [int(each) + first for each in (*near, *soon)], [int(each) + first for each in nearest]
