"""What has ended or may have changed what a question found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simonides.core.clock import FOREVER
from simonides.core.engine import Engine
from simonides.core.record import Record, id_text
from simonides.core.scope import Principal
from simonides.models.threads import one_thread
from simonides.recall.index import Bools
from simonides.recall.lookup import Ending, endings_of
from simonides.recall.recall import ask_of, visible
from simonides.recall.view import View
from simonides.storage.rows import fetched, id_bytes

BESIDE = 0.35
"""Cosine from which the newer memory that is nearest to a relevant one stands before it. Measured
on six people's questions: of .3, .35 and .4 it shows .770, .762 and .749 of the evidence, in 4.52,
4.39 and 4.29 lines."""

_OWN = ("", "user")  # the index names the user so in facts and in turns


class Changes(NamedTuple):
    """What has ended some memories, and what may have.

    Attributes:
        ended: By id of a memory, where the clauses that have ended begin and stop in its line;
            (0, 0) for all of it.
        newer: By id of a memory, the newer one that ended it, else the nearest to it in meaning.
    """

    ended: Mapping[str, tuple[tuple[int, int], ...]]
    newer: Mapping[str, Record]


def changes_since(
    engine: Engine,
    who: Principal,
    records: Sequence[Record],
    sure: Collection[str],
    **options: Any,
) -> Changes:
    """Return what has ended some memories, and the newer ones that are to stand before them.

    What a reader may not see ends nothing for that reader.

    Args:
        engine: The store.
        who: The reader.
        records: The memories.
        sure: Ids of those for which the nearest newer one is wanted, too.
        options: As for `ask_of`.
    """
    now, ask = engine.clock.now_ms(), ask_of(engine, who, "", **options)
    owners = [reach.owner for reach in ask.reach]
    own = [id_bytes(each.id) for each in records if each.owner == who.owner]

    def chosen(view: View) -> tuple[list[Ending], dict[str, tuple[str, bytes]]]:
        shown = visible(view, who, ask, now)
        rows = {each.newer: view.row_of(who.owner, each.newer) for each in found if each.newer}
        seen = [
            e for e in found if e.newer is None or ((r := rows[e.newer]) is not None and shown[r])
        ]
        beside: dict[str, tuple[str, bytes]] = {}
        for record in records:
            row = view.row_of(record.owner, id_bytes(record.id)) if record.id in sure else None
            if row is not None and (nearest := _nearest(view, row, shown)) is not None:
                beside[record.id] = view.owner_and_id(nearest)
        return seen, beside

    with engine.db.read(*owners) as connection:
        found = endings_of(connection, who.owner, own, FOREVER)
        seen, beside = engine.indexes.reading(connection, owners, chosen)
        ends = [(who.owner, each.newer) for each in seen if each.newer is not None]
        known = {
            id: record
            for id, record in fetched(connection, [*ends, *beside.values()]).items()
            if record.is_current and (ask.predicate is None or ask.predicate(record))
        }
    ended: dict[str, tuple[tuple[int, int], ...]] = {}
    newer = {older: known[id] for older, (_, id) in beside.items() if id in known}
    last: dict[str, Record] = {}
    for each in seen:
        older, by = id_text(each.older), known.get(each.newer or b"")
        ended[older] = tuple(sorted({*ended.get(older, ()), (each.start, each.stop)}))
        if by is not None and (older not in last or _said(by) > _said(last[older])):
            last[older] = by
    return Changes(ended, newer | last)


def _said(record: Record) -> tuple[float, bool, str]:
    """Return the order of what ended a memory: the last first, a turn before what it taught."""
    at = record.said_at
    return at.timestamp(), record.position is not None, record.id


def _nearest(view: View, row: int, shown: Bools) -> int | None:
    """Return the newer turn of a row's speaker that is nearest to it in meaning, if near enough."""
    part, at = view.locate(row)
    first = row - at
    speakers = [part.speakers[name] for name in _OWN if name in part.speakers]
    speaker, time = part.column("speaker")[at], part.column("time")
    newer = shown[first : first + part.size] & (time > time[at]) & part.column("turn")
    newer &= np.isin(part.column("speaker"), speakers if speaker in speakers else [speaker])
    rows = np.flatnonzero(newer)
    if not len(rows):
        return None
    with one_thread():
        like = part.vectors[rows].astype(np.float32) @ part.vectors[at].astype(np.float32)
    like *= part.column("scale")[rows] * part.column("scale")[at]
    best = int(np.argmax(like))
    return int(rows[best]) + first if like[best] >= BESIDE else None
