"""A look through the memories once a day: what repeats, contradicts, has grown old, or leaks.

Nothing is deleted here. Of two that say the same, the better supported one stays. Of two that
contradict each other the surer or later one holds, or a person is asked. What is stale counts half.
What the user stated, pinned or made a rule is asked about once, when it has grown old.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice

from simonides._version import __version__
from simonides.change.review import drop_late
from simonides.core.clock import DAY_MS, to_datetime
from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.core.policy import Policy
from simonides.core.record import Record, Sensitivity, Status, id_text
from simonides.core.scope import Principal
from simonides.govern.alerts import STALE_P50, STALE_P95
from simonides.life.ageing import SLICE, STALE_FROM, VERY_STALE_OVER, Aged, aged, quantile
from simonides.life.consolidate import unfounded
from simonides.life.gc import QUIET_MS, quiet_ms
from simonides.life.repeats import Act, contradicting, flagging, repeated
from simonides.life.results import HygieneReport
from simonides.life.second_look import second_look
from simonides.storage import statements
from simonides.storage.rows import MemoryRow
from simonides.write import pending
from simonides.write.judge import findings_in
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.versions import index_row

MOST_ASKED = 100
"""Maximum number of questions about old memories that wait at once. Set by judgement."""

YEAR_MS, MONTH_MS = 365 * DAY_MS, 30 * DAY_MS
"""How much longer a turn is kept that was shown, and one that finds no room among the questions;
the last month of a turn is when it is looked at."""

_log = logging.getLogger("simonides.life")


def look_through(engine: Engine, who: Principal, *, dry_run: bool = False) -> HygieneReport:
    """Look through the principal's own memories.

    Args:
        engine: The store.
        who: The principal.
        dry_run: Only count.
    """
    engine.journal.flush()
    owner, counts = who.owner, Counter[str]()
    quiet = quiet_ms(engine, owner)
    if quiet is None or quiet > QUIET_MS:
        return HygieneReport(dry_run=dry_run, waits=quiet is not None)
    policy = engine.policies.for_org(who.home.org, who.agent)
    counts["reviews_expired"] = _late_reviews(engine, who, dry_run=dry_run)
    rules = f"screened {__version__} {policy.hygiene.model_dump_json()}"
    since, screened = _last_look(engine, owner, rules)
    ages: list[float] = []
    grown_old = partial(_grown_old, ages=ages)
    finders = (_exposed, repeated, contradicting, second_look, unfounded, grown_old, _ending_turns)
    for find in finders:
        acts = () if find is _exposed and screened else find(engine, owner, policy, since)
        counts += _done(engine, who, acts, dry_run=dry_run)
    if not dry_run:
        _note_look(engine, owner, rules, ages)
    return HygieneReport.model_validate({"dry_run": dry_run, **counts})


def _done(engine: Engine, who: Principal, acts: Iterable[Act], *, dry_run: bool) -> Counter[str]:
    """Do what is to be done in slices, unless a memory has changed since; return the counts."""
    counts, rest = Counter[str](), iter(acts)
    while part := list(islice(rest, SLICE)):
        if dry_run:
            counts.update(name for act in part for name in act.names)
            continue
        with owner_write(engine, who.owner, who.name) as write:
            for act in part:
                row = write.tx.memory(act.id)
                if row is not None and row["known_to"] is None and act.does(write, row) is not None:
                    counts.update(act.names)
    return counts


def _late_reviews(engine: Engine, who: Principal, *, dry_run: bool) -> int:
    now = engine.clock.now_ms()
    with engine.db.read(who.owner) as connection:
        entries = list(pending.entries(connection, who.owner))
    late = sum(each.is_over(now) and each.kind != pending.UNDO for each in entries)
    if late and not dry_run:
        drop_late(engine, who.owner, who.name)
    return late


def _last_look(engine: Engine, owner: str, rules: str) -> tuple[int, bool]:
    """Return the time of the last look, and whether it was with the rules of today."""
    with engine.db.read(owner) as connection:
        known: dict[str, int] = dict(connection.rows(statements.COUNTERS, {"owner": owner}))
    return known.get("looked", 0), rules in known


def _note_look(engine: Engine, owner: str, rules: str, ages: list[float]) -> None:
    engine.figures.aged(ages)
    middle, worst = (round(quantile(ages, share) * 100) for share in (0.5, 0.95))
    noted = {"looked": engine.clock.now_ms(), rules: 1, STALE_P50: middle, STALE_P95: worst}
    with engine.db.write(owner) as connection:
        for name, value in noted.items():
            row = {"owner": owner, "name": name, "value": value}
            connection.run(statements.SET_COUNTER, row)


# -- what should not be there ----------------------------------------------------------------------


def _exposed(engine: Engine, owner: str, policy: Policy, since: int) -> Iterator[Act]:
    """Yield memories that today's rules would not store so."""
    del since  # other rules find other things in old memories
    for each in aged(engine, owner, policy, statements.IN_FORCE):
        record = each.record
        reasons = findings_in(record, policy.hygiene)
        if reasons and record.sensitivity is not Sensitivity.SENSITIVE:
            yield Act(("sensitivity_flagged",), each.id, flagging(",".join(reasons)))


# -- what has grown old ----------------------------------------------------------------------------


def _grown_old(
    engine: Engine, owner: str, policy: Policy, since: int, *, ages: list[float]
) -> Iterator[Act]:
    """Yield what is stale now, what is not any more, and what a person is to be asked about.

    The staleness of each memory is added to ``ages``.
    """
    del since  # everything grows old
    room, now = _room(engine, owner), to_datetime(engine.clock.now_ms())
    for each in aged(engine, owner, policy, statements.FACTS):
        ages.append(each.staleness)
        record, is_stale = each.record, each.staleness >= STALE_FROM
        soft = record.soft_expires_at is not None and record.soft_expires_at <= now
        if each.is_spared:
            if record.status is Status.ACTIVE and (soft or is_stale) and next(room, None):
                yield Act(("asked",), each.id, _asking("soft_expired" if soft else "stale"))
        elif is_stale and record.status is not Status.STALE:
            is_worst = each.staleness > VERY_STALE_OVER
            names = ("stale_marked", "evicted") if is_worst else ("stale_marked",)
            yield Act(names, each.id, _marking(Status.STALE))
        elif record.status is Status.STALE and not is_stale and not record.as_of(now).is_doubtful:
            yield Act(("restored",), each.id, _marking(Status.ACTIVE))


def _ending_turns(engine: Engine, owner: str, policy: Policy, since: int) -> Iterator[Act]:
    """Yield turns of the user about the user that end within a month.

    What was shown in its last year is kept for another one; a person is asked about the rest.
    """
    del since
    room, soon = _room(engine, owner), engine.clock.now_ms() + MONTH_MS
    for each in aged(engine, owner, policy, statements.ENDING_TURNS, soon=soon):
        if each.record.content.rstrip().endswith(("?", "？")):
            continue
        if _was_shown(each.record):
            yield Act(("lengthened",), each.id, _lengthening(YEAR_MS))
        elif next(room, None):
            yield Act(("asked",), each.id, _asking("ends", each))
        else:
            yield Act((), each.id, _lengthening(MONTH_MS))


def _was_shown(turn: Record) -> bool:
    """Whether a turn was shown in the year before it ends, or in the month before that year, when
    it may have been lengthened.
    """
    shown, ends = turn.last_accessed_at, turn.hard_expires_at
    year = timedelta(milliseconds=YEAR_MS + MONTH_MS)
    return shown is not None and ends is not None and shown > ends - year


def _room(engine: Engine, owner: str) -> Iterator[int]:
    """Return a count down of the questions that may be asked."""
    with engine.db.read(owner) as connection:
        waiting = sum(e.kind == pending.AGED for e in pending.entries(connection, owner))
    return iter(range(MOST_ASKED - waiting, 0, -1))


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
