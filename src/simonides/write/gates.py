"""Compares a candidate with what is there, in order of cost, and stages what becomes of it.

1. The key within the place, or the slot of the triple.
2. The hash of the normalised text.
3. Nearly the same words (Jaccard index).
4. Nearly the same meaning (cosine).

What passes may still contradict a statement of another source. The clearly surer one holds; else
both stay, marked, and a person decides. Of two statements of one source that a program gave, and
that deny each other, the later said holds.

Where a model says that a candidate repeats a known statement, or replaces it, that counts like the
same key; figures, names, dangers and rules are not its to merge.

Gates 2 to 4 compare only texts of one fingerprint, so they take no longer in a large store. Gates
compare within one place. Texts that differ in a number, date, name or negation are never the
same. Verbatim turns are identified by session and position instead, and pass no gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simonides.core.clock import DAY_MS, to_datetime
from simonides.core.errors import QuotaExceeded
from simonides.core.outcome import Event, EventType, Outcome, OutcomeKind
from simonides.core.policy import SEVERAL, Eviction
from simonides.core.record import Importance, Kind, Source, Status, Trust, id_text
from simonides.hygiene.contradiction import names_in
from simonides.recall.index import KINDS, Floats, Ints, OwnerIndex
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, batched, record_of
from simonides.storage.transaction import Transaction
from simonides.text.statement import (
    adds_nothing,
    overlap,
    read,
    same_figures,
)
from simonides.write import pending
from simonides.write.candidate import Candidate, succeeding
from simonides.write.compare import cannot_both_hold, said_by, said_in, say_the_same
from simonides.write.endings import note_endings, note_taught
from simonides.write.judge import Commit, Drop, judge
from simonides.write.owner_write import OwnerWrite
from simonides.write.versions import (
    enter,
    has_expired,
    in_force,
    in_slot,
    link_parents,
    new_version,
    partition_cells,
    renew,
    said_at,
    standing,
    under_key,
)

MOST_COMPARED = 8
"""Maximum number of statements whose texts are read and compared. Set by judgement."""

MOST_CONTRADICTED, LEAST_ALIKE = 5, 0.3
"""Maximum statements that are looked at for a contradiction, and the share of words (Jaccard) that
they have in common with the newcomer. Set by judgement: another value of one thing shares the
rest."""


CONTRADICTION = "contradiction"
"""Reason of events by which one of two statements that deny each other goes, or both wait."""


def store(write: OwnerWrite, commit: Commit) -> Outcome:
    """Stage what becomes of a judged candidate, and return its outcome.

    Raises:
        QuotaExceeded: If the scope is full and nothing may give way.
    """
    candidate = commit.candidate
    if candidate.is_turn:
        return _store_turn(write, commit)
    named, gate = _under_key(write, commit), "key"
    old = named or _meant(write, commit)
    if old is not None:
        gate = gate if named else "model"
        same = old["hash"] == candidate.hash and same_figures(old["content"], candidate.content)
        same |= _is_meant(commit, old, "same")
        return _repeat(write, commit, old, gate) if same else _conflict(write, commit, old)
    slot = _in_slot(write, commit)
    policy, predicate = candidate.policy, slot[0]["predicate"] if slot else None
    is_declared = predicate in policy.functional_predicates
    multi_valued = not is_declared and predicate in policy.multi_valued_predicates
    for row in slot:
        if candidate.triple is not None and row["object"] == candidate.triple.object:
            return _repeat(write, commit, row, "slot")
    if slot and not multi_valued:
        return _conflict(write, commit, slot[0])
    known = None if multi_valued else _same_text(write, commit)
    if known is not None:
        return _repeat(write, commit, *known)
    if candidate.label.trust is Trust.AGENT and _is_no_news(write, commit):
        return rejected(write.tx, Drop(candidate, ("no_news",), blocked=False))
    against = _contradicted(write, commit)
    if against is not None:
        if against["source"] == candidate.source:
            return _conflict(write, commit, against, CONTRADICTION)
        return _against(write, commit, against)
    is_beside = multi_valued or commit.relation == "beside"
    kind = OutcomeKind.COEXISTS if is_beside else OutcomeKind.CREATED
    return insert_version(write, commit, None, kind)


# -- what is there ---------------------------------------------------------------------------------


def _unexpired(write: OwnerWrite, id: bytes) -> MemoryRow | None:
    """Return the row of an id, if it is in force and has not expired."""
    row = in_force(write.tx, id)
    return None if row is None or _has_expired(write, row) else row


def _is_in_place(candidate: Candidate, row: MemoryRow) -> bool:
    return partition_cells(candidate).items() <= row.items()


def _has_expired(write: OwnerWrite, row: MemoryRow) -> bool:
    # The user does not see an expired memory, so it neither is repeated nor stands against another.
    return has_expired(row, write.tx.now)


def _under_key(write: OwnerWrite, commit: Commit) -> MemoryRow | None:
    candidate = commit.candidate
    ids = () if candidate.key in SEVERAL else write.index.by_key.get(candidate.key or "", ())
    for id in tuple(ids):
        row = in_force(write.tx, id)
        if row is None or not _is_in_place(candidate, row):
            continue
        if not _has_expired(write, row):
            return row
        # It gives up the key; its history and what was said of it do not go on.
        write.tx.end(row, "evicted", EventType.EVICTED, "expired")
    return None


def _meant(write: OwnerWrite, commit: Commit) -> MemoryRow | None:
    """Return the memory that a model says a candidate repeats or replaces."""
    row = None if commit.about is None else standing(write.tx, commit.about)
    if row is None or not _is_in_place(commit.candidate, row):
        return None
    may = any(_is_meant(commit, row, each) for each in ("same", "replaces"))
    return row if may and not _has_expired(write, row) else None


def _is_meant(commit: Commit, old: MemoryRow, relation: str) -> bool:
    """Whether a model may relate a candidate to a memory so: it decides on no rule, no danger."""
    candidate, critical = commit.candidate, Importance.CRITICAL
    if (commit.relation, commit.about) != (relation, old["root"]):
        return False
    if old["pinned"] or candidate.policy.rules(old["category"]):
        return False
    if critical in (old["importance"], candidate.importance):
        return False
    if Trust(old["trust"]).rank > candidate.label.trust.rank:
        return False
    if old["key"] not in (None, candidate.key):
        return False
    mine, theirs = candidate.content, old["content"]
    if relation == "same":
        new = names_in(mine) - names_in(f"- {theirs}") - {"i"}
        return same_figures(mine, theirs) and not new
    said = candidate.valid_from
    is_older = said is not None and said < (old["valid_from"] or old["created_at"])
    shares = set(candidate.analysed.terms) & set(old["terms"].split())
    return not is_older and bool(shares or old["key"])


def _in_slot(write: OwnerWrite, commit: Commit) -> list[MemoryRow]:
    """Return what is in force in the slot of a triple: same subject and predicate."""
    candidate = commit.candidate
    if candidate.triple is None or candidate.key not in (None, *SEVERAL):
        return []
    rows = in_slot(write.tx, candidate.triple.subject, candidate.triple.predicate)
    return [row for row in rows if _is_in_place(candidate, row) and not _has_expired(write, row)]


def _same_text(write: OwnerWrite, commit: Commit) -> tuple[MemoryRow, str] | None:
    """Return a memory that says the same, and the gate: by its text, words or meaning."""
    candidate, policy = commit.candidate, commit.candidate.policy
    mine, meaning = said_by(candidate), None if commit.vector is None else commit.vector.whole
    ids = write.index.by_fingerprint.get(candidate.analysed.fingerprint, ())
    for id in reversed(ids[-MOST_COMPARED:]):
        row = _unexpired(write, id)
        if row is None or not _is_in_place(candidate, row):
            continue
        theirs, cosine = said_in(row, policy), write.index.cosine(id, meaning)
        if gate := say_the_same(policy.gates, mine, theirs, cosine):
            return row, gate
    return None


def _is_no_news(write: OwnerWrite, commit: Commit) -> bool:
    """Whether an inference adds nothing to a statement that is there."""
    mine, least = read(commit.candidate.content), commit.candidate.policy.gates.no_news
    # The index counts stems of all names, so it is only a first look.
    for row in _alike(write, commit, MOST_COMPARED, least / 2):
        theirs = read(row["content"])
        if overlap(mine, theirs) > least and adds_nothing(mine, theirs):
            return True
    return False


def _alike(write: OwnerWrite, commit: Commit, most: int, least: float) -> Iterator[MemoryRow]:
    """Yield what has at least this share of a candidate's words, that with the most first."""
    alike = write.index.overlapping(commit.candidate.partition, commit.candidate.analysed.terms)
    for number in np.argsort(-alike, kind="stable")[:most].tolist():
        row = _unexpired(write, write.index.ids[number]) if alike[number] >= least else None
        if row is not None:
            yield row


def _contradicted(write: OwnerWrite, commit: Commit) -> MemoryRow | None:
    """Return a statement that cannot be true beside a newcomer."""
    candidate = commit.candidate
    mine = said_by(candidate)
    if mine.is_named or not (mine.is_told or write.index.sources - {mine.source}):
        return None
    for row in _alike(write, commit, MOST_CONTRADICTED, LEAST_ALIKE):
        if cannot_both_hold(mine, said_in(row, candidate.policy)):
            return row
    return None


# -- what becomes of it ----------------------------------------------------------------------------


def _store_turn(write: OwnerWrite, commit: Commit) -> Outcome:
    candidate, tx = commit.candidate, write.tx
    at = {"session": candidate.session, "position": candidate.position}
    cells = {name: cell or "" for name, cell in partition_cells(candidate).items()}
    hit = tx.connection.one(statements.TURN_AT, {"owner": tx.owner, **at, **cells})
    old = tx.inserted_turn(**at, **cells) if hit is None else tx.known(hit[0])
    if old is not None and _has_expired(write, old):
        tx.end(old, "evicted", EventType.EVICTED, "expired")
        old = None
    if old is None:
        return insert_version(write, commit, None, OutcomeKind.CREATED)
    if old["hash"] == candidate.hash:
        return _outcome(OutcomeKind.REFRESHED, old, commit, [])
    event = tx.note_memory(old, EventType.DROPPED, "turn_already_stored")
    refusal = replace(commit, reasons=("turn_already_stored", *commit.reasons))
    return _outcome(OutcomeKind.DROPPED, old, refusal, [event])


def _why(tx: Transaction, *words: str) -> str:
    """Return the reason of an event: its words, and whether one call stores several statements."""
    return ",".join(word for word in ("bulk" if tx.is_bulk else "", *words) if word)


def _repeat(write: OwnerWrite, commit: Commit, old: MemoryRow, gate: str) -> Outcome:
    """Renew what is said again; strengthen it by a better source, confirm it by another one."""
    why = f"repeat:{gate}"
    candidate, tx = commit.candidate, write.tx
    known = record_of(old)
    believed = known.confidence_at(to_datetime(tx.now))
    trust = candidate.label.trust.rank
    more_trusted = trust > known.trust.rank and candidate.confidence >= believed
    as_trusted = trust >= known.trust.rank and candidate.confidence >= known.confidence
    surer = as_trusted and candidate.confidence > known.confidence
    said, parents = said_at(tx, candidate), tuple(each.id for each in candidate.parents)
    is_other = (candidate.hash, parents) != (old["hash"], known.parents)
    is_other = is_other and said > old["said_at"]  # the later words stand
    is_other |= said >= old["said_at"] and _says_more(succeeding(candidate, known), old)
    says_more = as_trusted and is_other
    if candidate.source.is_correction or more_trusted or surer or says_more:
        return insert_version(write, commit, old, OutcomeKind.BUMPED, why)
    rules = candidate.policy.categories.get(old["category"], candidate.rules)
    cells: dict[str, Any] = {}
    if said > old["said_at"]:
        cells = {"said_at": said, "utc_offset": candidate.utc_offset}
    independent = candidate.source is not known.source and trust >= Trust.TOOL.rank
    if independent:
        cells["verified_at"] = tx.now
    kind = OutcomeKind.BUMPED if independent else OutcomeKind.REFRESHED
    type = EventType(kind.value)
    row, event = renew(write, old, type, rules, _why(tx, why), **cells)
    return _outcome(kind, row, commit, [event])


def _says_more(candidate: Candidate, old: MemoryRow) -> bool:
    """Whether a repeat says how the memory is to be kept, other than it is."""
    ttl = candidate.ttl_ms is not None and candidate.ttl_ms != old["ttl"]
    kept = (candidate.key, candidate.category, int(candidate.pinned), int(candidate.timeless))
    was = (old["key"], old["category"], old["pinned"], old["timeless"])
    return ttl or kept != was or candidate.importance != old["importance"]


def _conflict(write: OwnerWrite, commit: Commit, old: MemoryRow, why: str = "") -> Outcome:
    """Let the later said replace the earlier value, unless that one is better supported."""
    candidate, tx = commit.candidate, write.tx
    is_late = said_at(tx, candidate) < old["said_at"]
    trusted, gap = _compared(write, candidate, old)
    in_talk = candidate.source is Source.IN_SESSION_CORRECTION  # of what was said until then
    wins = candidate.source.is_correction and not (in_talk and is_late)
    wins |= _is_meant(commit, old, "replaces")
    wins |= candidate.label.trust is Trust.USER and not is_late
    # Of two values the later said holds, whichever is stored first, unless it is less supported;
    # the user is obeyed however sure a model is of having understood.
    if wins or (gap > 0 if is_late else trusted and gap >= 0):
        return insert_version(write, commit, old, OutcomeKind.SUPERSEDED, why)
    # It is kept in history, where it was never in force, and the old value stands.
    weaker = new_version(write, candidate, commit.vector, old)
    weaker |= {"known_to": tx.now + is_late, "ended": "superseded", "ended_by": old["id"]}
    reason = "said_before" if is_late else "better_supported"
    events = [tx.insert(weaker, EventType.TOUCHED, _why(tx, reason, why))]
    link_parents(tx, weaker, candidate)
    if is_late:
        note_taught(tx, weaker, old)
    refusal = replace(commit, reasons=(reason, *commit.reasons))
    return _outcome(OutcomeKind.TOUCHED, tx.known(old["id"]), refusal, events)


def _compared(write: OwnerWrite, candidate: Candidate, old: MemoryRow) -> tuple[bool, float]:
    """Return whether a newcomer is trusted enough to end a memory, and how much surer it is."""
    known = record_of(old)
    trusted = candidate.label.trust.rank >= min(known.trust.rank, Trust.TOOL.rank)
    return trusted, candidate.confidence - known.confidence_at(to_datetime(write.tx.now))


def _against(write: OwnerWrite, commit: Commit, old: MemoryRow) -> Outcome:
    """Let the clearly surer of two contradicting statements hold, or ask a person."""
    candidate, tx, gates = commit.candidate, write.tx, commit.candidate.policy.gates
    trusted, gap = _compared(write, candidate, old)
    is_clear = gap <= -gates.clear_gap or (trusted and gap >= gates.clear_gap)
    if candidate.source.is_correction or is_clear:
        return _conflict(write, commit, old, CONTRADICTION)
    outcome = insert_version(write, commit, None, OutcomeKind.REVIEW, status=Status.REVIEW.value)
    if outcome.record is None:
        return outcome
    roots = {"new": outcome.record.root, "old": id_text(old["root"]), "by": tx.actor}
    events = (
        pending.mark(tx, old, Status.REVIEW),
        pending.put(tx, CONTRADICTION, roots, days=gates.review_days),
    )
    return outcome.model_copy(update={"events": (*outcome.events, *events)})


def insert_version(
    write: OwnerWrite,
    commit: Commit,
    before: MemoryRow | None,
    kind: OutcomeKind,
    why: str = "",
    **cells: Any,
) -> Outcome:
    """Stage a new memory, or the next version of one, whatever it said before.

    Args:
        write: The owner's turn.
        commit: The judged candidate.
        before: The version in force, or None.
        kind: What becomes of it.
        why: For the audit trail: the gate of a repeat, or a contradiction.
        cells: Further columns to change, for example ``parents``.
    """
    tx, candidate = write.tx, commit.candidate
    made: list[Event] = []
    if before is None:
        made += [*make_room(write, candidate), *_archived(write, candidate)]
    else:
        # What it takes over from the version before must be allowed for its source, too.
        judged = judge(succeeding(candidate, record_of(before)), after=candidate)
        if isinstance(judged, Drop):
            return rejected(tx, judged)
        candidate = judged.candidate
    row = new_version(write, candidate, commit.vector, before) | cells
    type = EventType.CREATED
    if before is not None:
        type = EventType.BUMPED if kind is OutcomeKind.BUMPED else EventType.SUPERSEDED
        for same in (before, *_with_object(write, row, before)):
            made.append(tx.end(same, "superseded", type, by=row["id"]))
        if before["status"] == Status.REVIEW and kind is OutcomeKind.BUMPED:
            row["status"] = before["status"]  # said again, which decides nothing
        elif before["status"] == Status.REVIEW:
            pending.settle(tx, before["root"])
        type = EventType.CORRECTED if candidate.source.is_correction else EventType.CREATED
    made.append(enter(write, row, type, _why(tx, "turn" if candidate.is_turn else "", why)))
    if commit.reasons:
        made.append(tx.note_memory(row, EventType.FLAGGED, ",".join(commit.reasons)))
    link_parents(tx, row, candidate)
    if before is not None and candidate.is_turn:  # edited
        tx.connection.run(statements.FORGET_ENDINGS, {"owner": tx.owner, "root": row["root"]})
    elif before is not None and kind is OutcomeKind.SUPERSEDED:
        note_taught(tx, before, row)
    note_endings(write, row)
    return _outcome(kind, tx.known(row["id"]), commit, made)


def _with_object(write: OwnerWrite, row: MemoryRow, before: MemoryRow) -> list[MemoryRow]:
    """Return what states under a key of several values what a version of another memory states."""
    rows = under_key(write, row) if row["key"] in SEVERAL else []
    same = [each for each in rows if each["object"] == row["object"]]
    return [each for each in same if each["id"] != before["id"]]


def rejected(tx: Transaction, drop: Drop) -> Outcome:
    """Note in the audit trail that a candidate was refused, and return the outcome."""
    kind = OutcomeKind.BLOCKED if drop.blocked else OutcomeKind.DROPPED
    event = tx.note(EventType(kind.value), "memories", b"", reason=",".join(drop.reasons))
    return Outcome(kind=kind, reasons=drop.reasons, events=(event,))


def _outcome(kind: OutcomeKind, row: MemoryRow, commit: Commit, events: Sequence[Event]) -> Outcome:
    record, made = record_of(row), tuple(events)
    return Outcome.model_construct(kind=kind, record=record, reasons=commit.reasons, events=made)


BATCH = 64
"""Memories whose reads are looked up at once; a power of two."""


def make_room(write: OwnerWrite, candidate: Candidate) -> list[Event]:
    """Evict what is least useful where a candidate's scope is full.

    Returns:
        The audit events; none where there is room.

    Raises:
        QuotaExceeded: If everything there is pinned or a constraint, or the quota is 0.
    """
    tx, index = write
    turns, quotas = candidate.is_turn, candidate.policy.quotas
    limit = quotas.turns if turns else quotas.memories
    if limit is None or len(index) < limit:
        return []
    name = "turns" if turns else "memories"
    with index.lock:
        here = index.in_scope(candidate.scope.task, turns=turns)
        here[index.rows_of(tx.ended)] = False
        spare = int(np.count_nonzero(here)) - limit + 1
        if spare <= 0:
            return []
        expired = index.column("until") <= tx.now
        spared = [name for name, each in candidate.policy.categories.items() if each.spared]
        here &= expired | ~(index.column("pinned") | index.of_categories(spared))
        # What this turn inserts does not give way to what it inserts next.
        here[index.rows_of(tx.inserted)] = False
        rows = np.flatnonzero(here)
        if limit == 0 or len(rows) < spare:
            raise QuotaExceeded(name, limit)
        bound = np.where(expired, -np.inf, _bound(quotas.eviction, index, tx.now))
        ids = (index.column("id_low")[rows], index.column("id_high")[rows])
        order = rows[np.lexsort((*ids, bound[rows]))]
        least = _least(write, order, bound, quotas.eviction, spare)
    reason = f"quota:{name}"
    return [tx.end(tx.known(id), "evicted", EventType.EVICTED, reason) for id in least]


def _archived(write: OwnerWrite, candidate: Candidate) -> list[Event]:
    """End the oldest rules where a candidate is one too many; they stay in the history."""
    tx, index = write
    most = candidate.policy.quotas.rules
    if most is None or candidate.kind is not Kind.PROCEDURAL:
        return []
    with index.lock:
        here = index.in_scope(candidate.scope.task, turns=False)
        here &= index.column("kind") == KINDS.index(Kind.PROCEDURAL)
        here[index.rows_of(tx.ended)] = False
        over = int(np.count_nonzero(here)) - most + 1
        rows = np.flatnonzero(here & ~index.column("pinned"))
        oldest = rows[np.argsort(index.column("updated")[rows], kind="stable")][: max(over, 0)]
        ids = [index.ids[row] for row in oldest.tolist()]
    return [tx.end(tx.known(id), "archived", EventType.EVICTED, "quota:rules") for id in ids]


def _bound(eviction: Eviction, index: OwnerIndex, now: int) -> Any:
    """Return how useful each row is at least: without the times when it was read."""
    updated = index.column("updated")
    match eviction:
        case Eviction.FIFO:
            return 0.0
        case Eviction.LRU:
            return updated
        case Eviction.TTL:
            return np.minimum(index.column("until"), index.column("soft"))
        case Eviction.VALUE:
            # Importance, confidence, freshness and use count alike.
            freshness = np.exp2((updated - now) / (90 * DAY_MS))
            return (index.column("importance") + index.column("confidence") + freshness) / 4


def _least(
    write: OwnerWrite, order: Ints, bound: Floats, eviction: Eviction, count: int
) -> list[bytes]:
    """Return the ids of the least useful rows, worst first."""
    tx, index = write
    ranked: list[tuple[float, bytes]] = []
    for first in range(0, len(order), BATCH):
        rows = order[first : first + BATCH].tolist()
        # Reads only add to a bound, so later rows are more useful than these.
        if len(ranked) >= count and ranked[count - 1][0] <= bound[rows[0]]:
            break
        ids = [index.ids[row] for row in rows]
        [named] = batched(ids)
        params = {"owner": tx.owner, **named}
        read: dict[Any, Any] = dict(tx.connection.rows(statements.last_reads(len(named)), params))
        for row, id in zip(rows, ids, strict=True):
            ranked.append((_with_reads(eviction, float(bound[row]), read.get(id), tx.now), id))
        ranked.sort()
    return [id for _, id in ranked[:count]]


def _with_reads(eviction: Eviction, bound: float, read_at: int | None, now: int) -> float:
    if read_at is None:
        return bound
    if eviction is Eviction.LRU:
        return max(bound, read_at)
    use: float = 0.5 ** ((now - read_at) / (30 * DAY_MS))
    return bound + use / 4 if eviction is Eviction.VALUE else bound
