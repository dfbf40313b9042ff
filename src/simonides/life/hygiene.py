"""A look through the memories once a day: what repeats, contradicts, has grown old, or leaks.

What neither time nor a new rule changes is looked at only after the owner's memories changed.
Nothing is deleted here. Of two that say the same, the better supported one stays. Of two that
contradict each other the surer or later one holds, or a person is asked. What is stale counts half.
What the user stated, pinned or made a rule is asked about once, when it has grown old.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from simonides._version import __version__
from simonides.change.review import drop_late
from simonides.core.clock import DAY_MS, in_steps
from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.core.policy import Policy
from simonides.core.record import Sensitivity, Status, id_text
from simonides.core.scope import Principal
from simonides.govern.alerts import STALE_P50, STALE_P95
from simonides.life.ageing import (
    MONTH_MS,
    STALE_FROM,
    VERY_STALE_OVER,
    YEAR_MS,
    Aged,
    aged,
    quantile,
)
from simonides.life.consolidate import unfounded
from simonides.life.gc import doubted_until
from simonides.life.repeats import SLICE, Act, contradicting, flagging, repeated
from simonides.life.results import HygieneReport
from simonides.life.second_look import second_look
from simonides.storage import statements
from simonides.storage.digests import blake
from simonides.storage.rows import MemoryRow, memories, record_of
from simonides.write import pending
from simonides.write.judge import findings_in
from simonides.write.owner_write import OwnerWrite, in_turns
from simonides.write.versions import index_row

MOST_ASKED = 100
"""Maximum number of questions about old memories that wait at once. Set by judgement."""

Find = Callable[[Engine, str, Policy, int], Iterator[Act]]
"""Finds what is to be done with an owner's memories, given the time of the last look."""

_log = logging.getLogger("simonides.life")


def look_through(engine: Engine, who: Principal, *, dry_run: bool = False) -> HygieneReport:
    """Look through the principal's own memories.

    Args:
        engine: The store.
        who: The principal.
        dry_run: Only count.
    """
    engine.journal.flush()
    owner, counts, now = who.owner, Counter[str](), engine.clock.now_ms()
    last = _last_look(engine, owner)
    if last is None or last.is_doubted:
        return HygieneReport(dry_run=dry_run, waits=last is not None)
    policy = engine.policies.for_org(who.home.org, who.agent)
    late = [each for each in last.waiting if each.is_over(now) and each.kind != pending.UNDO]
    counts["reviews_expired"] = len(late)
    screened = f"screened {__version__} {policy.hygiene.model_dump_json()}"
    compared = f"compared {_digest(__version__, engine.indexes.embedder, policy)}"
    ages: list[float] = []
    finds: list[Find] = [partial(_grown_old, ages=ages), _ending_turns]
    compares = last.known.get(compared) != last.events or bool(late)
    if compares:
        finds = [repeated, contradicting, second_look, unfounded, *finds]
    if screened not in last.known:
        finds = [_exposed, *finds]
    for find in finds:
        acts = find(engine, owner, policy, last.known.get("looked", 0))
        counts += _done(engine, who, acts, dry_run=dry_run)
    if late and not dry_run:  # after the look, that would ask the same again
        drop_late(engine, owner, who.name)
    if not dry_run:
        engine.figures.aged(ages)
        noted = {screened: 1, compared: last.events, **_ages_of(ages)}
        if compares:
            noted["looked"] = now
        _note_look(engine, owner, last, noted)
    return HygieneReport.model_validate({"dry_run": dry_run, **counts})


def _done(engine: Engine, who: Principal, acts: Iterable[Act], *, dry_run: bool) -> Counter[str]:
    """Do what is to be done in slices, unless a memory has changed since; return the counts."""
    counts, rest = Counter[str](), iter(acts)
    while part := list(islice(rest, SLICE)):
        if dry_run:
            counts.update(name for act in part for name in act.names)
            continue
        in_turns(engine, who.owner, who.name, part, partial(_act, counts=counts))
    return counts


def _act(write: OwnerWrite, act: Act, *, counts: Counter[str]) -> None:
    row = write.tx.memory(act.id)
    if row is not None and row["known_to"] is None and act.does(write, row) is not None:
        counts.update(act.names)


class _Look(NamedTuple):
    """What the last look has left.

    Attributes:
        is_doubted: Whether the clock may be wrong.
        events: Length of the owner's chain now.
        known: The owner's counters. ``looked`` is the time of the last look at what was new, and a
            name of ``compared`` and rules is the length of the chain then.
        waiting: What waits for a decision.
    """

    is_doubted: bool
    events: int
    known: dict[str, int]
    waiting: list[pending.Entry]


def _last_look(engine: Engine, owner: str) -> _Look | None:
    """Return what the last look has left; None without memories."""
    with engine.db.read(owner) as connection:
        state = connection.one(statements.STATE, {"owner": owner})
        if state is None:
            return None
        events = state[2]
        known: dict[str, int] = dict(connection.rows(statements.COUNTERS, {"owner": owner}))
        is_doubted = doubted_until(connection, owner, engine.clock.now_ms()) is not None
        return _Look(is_doubted, events, known, list(pending.entries(connection, owner)))


def _digest(version: str, embedder: str | None, policy: Policy) -> str:
    """Return a short name of the rules by which memories are compared."""
    return blake(b"", f"{version} {embedder} {policy.model_dump_json()}".encode()).hex()[:16]


def _ages_of(ages: Sequence[float]) -> dict[str, int]:
    middle, worst = (round(quantile(ages, share) * 100) for share in (0.5, 0.95))
    return {STALE_P50: middle, STALE_P95: worst}


def _note_look(engine: Engine, owner: str, last: _Look, noted: Mapping[str, int]) -> None:
    """Keep what the next look needs, as far as it is new: most owners have no work on most days."""
    rows = [
        {"owner": owner, "name": name, "value": value}
        for name, value in noted.items()
        if last.known.get(name) != value
    ]
    if rows:
        with engine.db.write(owner) as connection:
            connection.run_many(statements.SET_COUNTER, rows)


# -- what should not be there ----------------------------------------------------------------------


def _exposed(engine: Engine, owner: str, policy: Policy, since: int) -> Iterator[Act]:
    """Yield memories that today's rules would not store so."""
    del since  # other rules find other things in old memories
    now, after = engine.clock.now_ms(), b""
    while True:
        with engine.db.read(owner) as connection:
            page = {"owner": owner, "now": now, "after": after, "limit": SLICE}
            rows = memories(connection, statements.IN_FORCE, **page)
        for row in in_steps(rows):
            record = record_of(row)
            reasons = findings_in(record, policy.hygiene)
            if reasons and record.sensitivity is not Sensitivity.SENSITIVE:
                yield Act(("sensitivity_flagged",), row["id"], flagging(",".join(reasons)))
        if len(rows) < SLICE:
            return
        after = rows[-1]["id"]


# -- what has grown old ----------------------------------------------------------------------------


def _grown_old(
    engine: Engine, owner: str, policy: Policy, since: int, *, ages: list[float]
) -> Iterator[Act]:
    """Yield what is stale now, what is not any more, and what a person is to be asked about.

    The staleness of each memory is added to ``ages``.
    """
    del since  # everything grows old
    room, now = _room(engine, owner), engine.clock.now_ms()
    for each in aged(engine, owner, policy, statements.AGES_OF_FACTS):
        ages.append(each.staleness)
        is_stale = each.staleness >= STALE_FROM
        soft = each.soft_expires_at is not None and each.soft_expires_at <= now
        if each.is_spared:
            if each.status == Status.ACTIVE and (soft or is_stale) and next(room, None):
                yield Act(("asked",), each.id, _asking("soft_expired" if soft else "stale"))
        elif is_stale and each.status != Status.STALE:
            is_worst = each.staleness > VERY_STALE_OVER
            names = ("stale_marked", "evicted") if is_worst else ("stale_marked",)
            yield Act(names, each.id, _marking(Status.STALE))
        elif each.status == Status.STALE and not is_stale and not each.is_doubtful:
            yield Act(("restored",), each.id, _marking(Status.ACTIVE))


def _ending_turns(engine: Engine, owner: str, policy: Policy, since: int) -> Iterator[Act]:
    """Yield turns of the user about the user that end within a month.

    What was shown in its last year is kept for another one; a person is asked about the rest.
    """
    del since
    room, soon = _room(engine, owner), engine.clock.now_ms() + MONTH_MS
    for each in aged(engine, owner, policy, statements.AGES_OF_ENDING_TURNS, soon=soon):
        if each.content.rstrip().endswith(("?", "？")):
            continue
        if each.was_shown:
            yield Act(("lengthened",), each.id, _lengthening(YEAR_MS))
        elif next(room, None):
            yield Act(("asked",), each.id, _asking("ends", each))
        else:
            yield Act((), each.id, _lengthening(MONTH_MS))


def _room(engine: Engine, owner: str) -> Iterator[int]:
    """Yield a count down of the questions that may be asked."""
    with engine.db.read(owner) as connection:
        waiting = sum(e.kind == pending.AGED for e in pending.entries(connection, owner))
    yield from range(MOST_ASKED - waiting, 0, -1)


def _asking(reason: str, turn: Aged | None = None) -> Callable[[OwnerWrite, MemoryRow], object]:
    """Return what asks whether a memory is still true; a turn is asked about until it ends."""

    def ask(write: OwnerWrite, row: MemoryRow) -> object:
        days = write.tx.policy.gates.review_days
        if turn is not None and row["hard_expires_at"] is not None:
            days = max((row["hard_expires_at"] - write.tx.now) / DAY_MS, 0.0)
        data = {"new": id_text(row["root"]), "reasons": [reason]}
        pending.mark(write.tx, row, Status.REVIEW)
        return pending.put(write.tx, pending.AGED, data, days=days)

    return ask


def _marking(status: Status) -> Callable[[OwnerWrite, MemoryRow], object]:
    def mark(write: OwnerWrite, row: MemoryRow) -> object:
        event = pending.mark(write.tx, row, status)
        index_row(write.index, write.tx.known(row["id"]))
        return event

    return mark


def _lengthening(ms: int) -> Callable[[OwnerWrite, MemoryRow], object]:
    def lengthen(write: OwnerWrite, row: MemoryRow) -> object:
        if row["hard_expires_at"] is None:
            return None
        cells = {"hard_expires_at": row["hard_expires_at"] + ms, "updated_at": row["updated_at"]}
        event = write.tx.touch(row, EventType.REFRESHED, "lengthened", **cells)
        index_row(write.index, write.tx.known(row["id"]))
        return event

    return lengthen
