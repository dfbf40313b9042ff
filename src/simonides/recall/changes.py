"""What has ended or may have changed what a question found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from simonides.core.clock import FOREVER, to_datetime
from simonides.core.engine import Engine
from simonides.core.record import Record, id_text
from simonides.core.results import Hit
from simonides.core.scope import Principal
from simonides.models.threads import one_thread
from simonides.recall.index import Bools
from simonides.recall.lookup import EndedClause, endings_of
from simonides.recall.recall import Ask, visible
from simonides.recall.view import View
from simonides.storage.database import Connection
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
        later: By id of a memory, the ids of all newer ones that are near it in meaning.
        sure: Ids of what surely bears on the question.
    """

    ended: Mapping[str, tuple[tuple[int, int], ...]]
    newer: Mapping[str, Record]
    later: Mapping[str, Set[str]]
    sure: Set[str]


NOTHING = Changes({}, {}, {}, frozenset())


def changes_since(
    engine: Engine, who: Principal, ask: Ask, hits: Sequence[Hit], connection: Connection
) -> Changes:
    """Return what has ended of what a question found, and the newer ones that stand before it.

    What a reader may not see ends nothing for that reader. Nothing newer stands before what was
    said on the day that is asked for.

    Args:
        engine: The store.
        who: The reader.
        ask: What the reader may see.
        hits: What was found.
        connection: A read of the owners of ``ask``.
    """
    owners, now = [reach.owner for reach in ask.reach], engine.clock.now_ms()
    relevant = engine.policies.for_org(who.home.org, who.agent).digest.relevant
    sure = {h.id for h in hits if h.relevance >= relevant and not h.why.get("date")}
    own = [id_bytes(hit.id) for hit in hits if hit.record.owner == who.owner]
    clauses = endings_of(connection, who.owner, own, FOREVER)

    later: dict[str, Set[str]] = {}

    def chosen(view: View) -> tuple[list[EndedClause], dict[str, tuple[str, bytes]]]:
        shown = visible(view, who, ask, now)
        rows = [view.row_of(who.owner, each.newer or b"") for each in clauses]
        pairs = zip(clauses, rows, strict=True)
        seen = [e for e, row in pairs if e.newer is None or (row is not None and shown[row])]
        beside: dict[str, tuple[str, bytes]] = {}
        for hit in hits if sure else ():
            row = view.row_of(hit.record.owner, id_bytes(hit.id)) if hit.id in sure else None
            near = [] if row is None else _near(view, row, shown)
            if near:
                beside[hit.id] = view.owner_and_id(near[0])
                later[hit.id] = {id_text(view.owner_and_id(each)[1]) for each in near}
        return seen, beside

    seen, beside = engine.indexes.reading(connection, owners, chosen)
    ends = [(who.owner, each.newer) for each in seen if each.newer is not None]
    known = {
        id: record.as_of(to_datetime(now))
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
    return Changes(ended, newer | last, later, sure)


def _said(record: Record) -> tuple[float, bool, str]:
    """Return the order of what ended a memory: the last first, a turn before what it taught."""
    at = record.said_at
    return at.timestamp(), record.position is not None, record.id


def _near(view: View, row: int, shown: Bools) -> list[int]:
    """Return the newer turns of a row's speaker that are near it in meaning, the nearest first."""
    part, at = view.locate(row)
    first = row - at
    speakers = [part.speakers[name] for name in _OWN if name in part.speakers]
    speaker, time = part.column("speaker")[at], part.column("time")
    newer = shown[first : first + part.size] & (time > time[at]) & part.column("turn")
    newer &= np.isin(part.column("speaker"), speakers if speaker in speakers else [speaker])
    rows = np.flatnonzero(newer)
    if not len(rows):
        return []
    with one_thread():
        like = part.vectors[rows].astype(np.float32) @ part.vectors[at].astype(np.float32)
    like *= part.column("scale")[rows] * part.column("scale")[at]
    near = rows[np.argsort(-like, kind="stable")][: np.count_nonzero(like >= BESIDE)]
    return [int(row) + first for row in near]
