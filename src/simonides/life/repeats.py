"""Memories that say the same as another one, and pairs that cannot both be true."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from simonides.core.clock import in_steps, to_datetime
from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.core.policy import Policy
from simonides.core.record import Sensitivity, Status, Trust, id_text
from simonides.recall.view import View
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, by_id, memories, partition_of, record_of
from simonides.write import pending
from simonides.write.compare import cannot_both_hold, said_in, say_the_same
from simonides.write.gates import LEAST_ALIKE, MOST_COMPARED, MOST_CONTRADICTED
from simonides.write.owner_write import OwnerWrite
from simonides.write.versions import changed_version, enter, has_expired, is_beside

SLICE = 64
"""Memories that are read at once."""

_log = logging.getLogger("simonides.life")


class Act(NamedTuple):
    """What is to be done with a memory.

    Attributes:
        names: Where it is counted.
        id: Of the version.
        does: Does it; None says that there was nothing to do any more.
    """

    names: tuple[str, ...]
    id: bytes
    does: Callable[[OwnerWrite, MemoryRow], object]


def repeated(engine: Engine, owner: str, policy: Policy, since: int) -> Iterator[Act]:
    """Yield memories that another one says, too; the better supported one stays."""
    del since  # an embedder or a policy that changed finds other repeats
    now = engine.clock.now_ms()
    with engine.db.read(owner) as connection:
        groups = engine.indexes.reading(connection, [owner], _by_fingerprint)
    for ids in in_steps(groups):
        with engine.db.read(owner) as connection:
            rows = [row for row in by_id(connection, owner, ids) if not has_expired(row, now)]
        gone = set[bytes]()
        for one, other in combinations(rows, 2):
            if not gone.isdisjoint((one["id"], other["id"])) or not is_beside(one, other):
                continue
            said = said_in(one, policy), said_in(other, policy)
            if say_the_same(policy.gates, *said, _cosine(one, other)):
                kept, repeat = sorted((one, other), key=_support, reverse=True)
                gone.add(repeat["id"])
                yield Act(("duplicates_found",), repeat["id"], _merging(kept["id"]))


def _by_fingerprint(view: View) -> list[list[bytes]]:
    groups = (ids[-MOST_COMPARED:] for part in view.parts for ids in part.by_fingerprint.values())
    return [list(ids) for ids in groups if len(ids) > 1]


def _cosine(one: MemoryRow, other: MemoryRow) -> float:
    if one["vector"] is None or one["embedder"] != other["embedder"]:
        return 0.0
    mine, theirs = (
        np.frombuffer(row["vector"], np.int8).astype(np.float32) for row in (one, other)
    )
    return float(mine @ theirs) * float(one["scale"]) * float(other["scale"])


def _support(row: MemoryRow) -> tuple[bool, int, float, int, bytes]:
    """Return how well a memory is supported; the later of two that are equal wins."""
    trust = Trust(row["trust"]).rank + (row["verified_at"] is not None)
    return bool(row["pinned"]), trust, row["confidence"], row["said_at"], row["id"]


def _merging(kept: bytes) -> Callable[[OwnerWrite, MemoryRow], object]:
    def merge(write: OwnerWrite, row: MemoryRow) -> object:
        return _ended(write, row, kept, EventType.MERGED, "repeat")

    return merge


def _ended(write: OwnerWrite, row: MemoryRow, by: bytes, type: EventType, reason: str) -> object:
    """End a memory for another one that is still in force; questions about it are over."""
    better = write.tx.memory(by)
    if better is None or better["known_to"] is not None:
        return None
    if row["status"] == Status.REVIEW:
        pending.settle(write.tx, row["root"])
    return write.tx.end(row, "superseded", type, reason, by=by)


# -- what contradicts ------------------------------------------------------------------------------


def contradicting(engine: Engine, owner: str, policy: Policy, since: int) -> Iterator[Act]:
    """Yield pairs that cannot both be true, of which one came since the last look."""
    seen, slots = set[frozenset[bytes]](), dict[tuple[object, ...], MemoryRow]()
    now, after = engine.clock.now_ms(), b""
    while True:
        with engine.db.read(owner) as connection:
            page = {"owner": owner, "now": now, "since": since, "after": after, "limit": SLICE}
            rows, acts = memories(connection, statements.COMPARABLE, **page), list[Act]()
            for row in in_steps(rows):
                others = [each for each in (_in_slot(slots, row, policy),) if each is not None]
                if row["known_from"] >= since:
                    others += _against(engine, owner, policy, row, connection)
                for other in others:
                    pair = frozenset((row["id"], other["id"]))
                    if pair not in seen and not is_decided(row, other):
                        seen.add(pair)
                        acts.append(_settled(engine, policy, row, other))
        yield from acts  # the read has ended: what is done with them is a write
        if len(rows) < SLICE:
            return
        after = rows[-1]["id"]


def _in_slot(
    slots: dict[tuple[object, ...], MemoryRow], row: MemoryRow, policy: Policy
) -> MemoryRow | None:
    """Return another value in a slot that has one value at a time; note the row otherwise."""
    predicate = row["predicate"]
    is_single = predicate in policy.functional_predicates
    if predicate is None or row["key"] is not None:
        return None
    if not is_single and predicate in policy.multi_valued_predicates:
        return None
    place = partition_of(row["task"], row["audience"], row["purpose"])
    other = slots.setdefault((row["subject"], predicate, place), row)
    return None if other is row else other


def _against(
    engine: Engine, owner: str, policy: Policy, row: MemoryRow, connection: Connection
) -> list[MemoryRow]:
    """Return what cannot be true beside a memory."""
    mine = said_in(row, policy)
    if mine.is_named or mine.key is not None:
        return []
    place = partition_of(row["task"], row["audience"], row["purpose"])

    def alike(view: View) -> list[bytes]:
        [part] = view.parts
        shares = part.overlapping(place, mine.terms)
        best = np.argsort(-shares, kind="stable")[: MOST_CONTRADICTED + 1].tolist()
        return [part.ids[n] for n in best if shares[n] >= LEAST_ALIKE]

    ids = engine.indexes.reading(connection, [owner], alike)
    now, rows = engine.clock.now_ms(), by_id(connection, owner, ids)
    others = [each for each in rows if each["id"] != row["id"] and not has_expired(each, now)]
    return [each for each in others if cannot_both_hold(mine, said_in(each, policy))]


def is_decided(one: MemoryRow, other: MemoryRow) -> bool:
    """Whether a person is asked about a pair, or has let both stand."""
    waits = Status.REVIEW in (one["status"], other["status"])
    looked = [row["verified_at"] for row in (one, other)]
    return waits or (
        None not in looked and min(looked) >= max(one["known_from"], other["known_from"])
    )


def _settled(engine: Engine, policy: Policy, one: MemoryRow, other: MemoryRow) -> Act:
    """Let the later said of one source hold, or the clearly surer one; else ask a person."""
    later, earlier = sorted((one, other), key=lambda row: (row["said_at"], row["id"]), reverse=True)
    if one["source"] == other["source"]:
        return Act(("contradictions_found",), earlier["id"], _losing(later["id"]))
    now = to_datetime(engine.clock.now_ms())
    sure = {row["id"]: record_of(row).confidence_at(now) for row in (one, other)}
    surer, weaker = sorted((one, other), key=lambda row: sure[row["id"]], reverse=True)
    least = min(Trust(weaker["trust"]).rank, Trust.TOOL.rank)
    gap = sure[surer["id"]] - sure[weaker["id"]]
    if gap >= policy.gates.clear_gap and Trust(surer["trust"]).rank >= least:
        return Act(("contradictions_found",), weaker["id"], _losing(surer["id"]))
    return Act(("contradictions_found",), later["id"], asking(earlier["id"]))


def _losing(by: bytes) -> Callable[[OwnerWrite, MemoryRow], object]:
    def lose(write: OwnerWrite, row: MemoryRow) -> object:
        return _ended(write, row, by, EventType.SUPERSEDED, "contradiction")

    return lose


def asking(earlier: bytes) -> Callable[[OwnerWrite, MemoryRow], object]:
    """Return what asks a person which of two memories holds."""

    def ask(write: OwnerWrite, row: MemoryRow) -> object:
        tx, old = write.tx, write.tx.memory(earlier)
        if old is None or old["known_to"] is not None:
            return None
        for each in (row, old):
            pending.mark(tx, each, Status.REVIEW)
        roots = {"new": id_text(row["root"]), "old": id_text(old["root"]), "by": ""}
        return pending.put(tx, "contradiction", roots, days=tx.policy.gates.review_days)

    return ask


def flagging(reason: str) -> Callable[[OwnerWrite, MemoryRow], object]:
    """Return what keeps a memory out of prompts, as it is sensitive."""

    def flag(write: OwnerWrite, row: MemoryRow) -> object:
        changed = changed_version(write.tx, row, sensitivity=Sensitivity.SENSITIVE.value)
        write.tx.end(row, "superseded", EventType.SUPERSEDED, reason, by=changed["id"])
        _log.warning("a memory is sensitive by today's rules: %s", reason)
        return enter(write, changed, EventType.FLAGGED, reason)

    return flag
