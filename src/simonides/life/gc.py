"""Collects what has ended: expired memories, old versions, what nobody needs or believes any more.

A collection deletes the bytes of what it takes, and writes an event for each row. It works in
short turns, so that other writers wait for milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from simonides.change.forget import delete_version, leave_no_trace
from simonides.core.clock import DAY_MS, to_datetime
from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.core.policy import Policy
from simonides.core.record import DECAY_A_DAY, DOUBTFUL_BELOW, Status
from simonides.core.scope import Principal
from simonides.life.ageing import is_spared, very_stale
from simonides.life.results import Collection
from simonides.recall.lookup import versions
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow
from simonides.storage.transaction import GC, summing
from simonides.write import pending
from simonides.write.owner_write import OwnerWrite, in_turns
from simonides.write.versions import index_row

UNREAD_MS, SUPERSEDED_MS, DOUBTFUL_MS = 30 * DAY_MS, 90 * DAY_MS, 60 * DAY_MS
"""How long a softly expired memory is unread, a version out of force, and an inference doubtful
before it is collected."""

QUIET_MS = 30 * DAY_MS
"""Time without an event after which the clock may be wrong: a collection then waits for a day."""

ECHO_MS, KEY_MS, READ_MS = 30 * DAY_MS, 90 * DAY_MS, 90 * DAY_MS
"""How long echoes, idempotency keys and counts of reads are kept, but the last read of a memory.
Set by judgement."""

PAGE = 256
"""Rows that are looked for at once. Set by judgement."""

ACCEPTED = "accepted"
"""Argument of the job that collects although the clock may be wrong, before the number of events
at the time of the doubt. With another number somebody has spoken since, and it does nothing."""


Take = Callable[[OwnerWrite, MemoryRow], bool]
"""Takes a row, unless it has changed since it was found; returns whether it was taken."""


class _Step(NamedTuple):
    """One kind of what is collected.

    Attributes:
        name: Where it is counted.
        sql: Selects it.
        params: Of the statement.
        does: Takes a row.
        spares: Whether what the user stated or pinned, and what stands in prompts, is left alone.
    """

    name: str
    sql: str
    params: Mapping[str, Any]
    does: Take
    spares: bool = False


def collect(
    engine: Engine, who: Principal, *, dry_run: bool = False, accept_clock: bool = False
) -> Collection:
    """Collect what has ended of the principal's own memories.

    Args:
        engine: The store.
        who: The principal.
        dry_run: Only count.
        accept_clock: Whether a time long after the last event is taken for right.
    """
    engine.journal.flush()
    now = engine.clock.now_ms()
    if (until := waits_until(engine, who.owner)) is not None and not accept_clock:
        if not dry_run:
            wait(engine, who.owner, until)
        return Collection(dry_run=dry_run, waits_until=to_datetime(until))
    policy, counts = engine.policies.for_org(who.home.org, who.agent), Counter[str]()
    stale = very_stale(engine, who.owner, policy)
    counts["evicted"] = len(stale) if dry_run else _take(engine, who, _gone_stale, stale)
    old = {"echoes": now - ECHO_MS, "keys": now - KEY_MS, "day": (now - READ_MS) // DAY_MS}
    with engine.db.read(who.owner) as connection:  # a later step skips what an earlier one took
        found = [(each, list(_ids(connection, who.owner, each, policy))) for each in _steps(now)]
        has_old = connection.one(statements.HAS_OLD, {"owner": who.owner, **old}) is not None
    counted = set(stale)
    for step, ids in found:
        counts[step.name] = (
            len(set(ids) - counted) if dry_run else _take(engine, who, step.does, ids)
        )
        counted.update(ids)
    if has_old and not dry_run:
        _forget_old(engine, who.owner, old)
    if not dry_run and (has_old or any(counts.values())):
        engine.db.checkpoint()
    return Collection.model_validate({"dry_run": dry_run, **counts})


def is_awaited(engine: Engine, owner: str, events: str) -> bool:
    """Whether nobody has spoken since the clock was doubted, when there were so many events."""
    with engine.db.read(owner) as connection:
        state = connection.one(statements.STATE, {"owner": owner})
    return state is not None and str(state[2]) == events


def waits_until(engine: Engine, owner: str) -> int | None:
    """Return when a doubted clock of an owner is taken for right; None if it is not doubted."""
    with engine.db.read(owner) as connection:
        return doubted_until(connection, owner, engine.clock.now_ms())


def doubted_until(connection: Connection, owner: str, now: int) -> int | None:
    """Return when the time now of an owner is taken for right; None if it is not doubted.

    A clock is doubted long after the last event, and for a day from then, even if a job of the
    worker makes an event meanwhile.
    """
    state = connection.one(statements.STATE, {"owner": owner})
    if state is None:
        return None
    due = connection.one(statements.DUE_AT, {"owner": owner, "job": _accepted_job(state[2])})
    waits = due is not None and due[0] - DAY_MS <= now < due[0]
    if now - state[1] <= QUIET_MS and not waits:
        return None
    return now + DAY_MS if due is None else int(due[0])


def wait(engine: Engine, owner: str, until: int) -> None:
    """Let a collection wait until a time, as the clock may be wrong."""
    with engine.db.write(owner) as connection:
        [state] = connection.rows(statements.STATE, {"owner": owner})
        job = {"owner": owner, "job": _accepted_job(state[2])}
        if connection.one(statements.DUE_AT, job) is None:
            connection.run(statements.SET_DUE, {"at": until, **job})


def _accepted_job(events: int) -> str:
    return f"{GC} {ACCEPTED} {events}"


def set_due(engine: Engine, at: int, owner: str, job: str) -> None:
    """Let the worker do a job of an owner at a time, in milliseconds."""
    with engine.db.write(owner) as connection:
        connection.run(statements.SET_DUE, {"owner": owner, "at": at, "job": job})


def _steps(now: int) -> list[_Step]:
    unread = {"now": now, "since": now - UNREAD_MS}
    faded = {"now": now, "before": now - DOUBTFUL_MS, "least": DOUBTFUL_BELOW}
    faded["decay"] = DECAY_A_DAY / DAY_MS
    old = {"now": now, "before": now - SUPERSEDED_MS}
    return [
        _Step("hard_expired", statements.HARD_EXPIRED, {"now": now}, _expired),
        _Step("soft_expired", statements.SOFT_EXPIRED, unread, _evicted, spares=True),
        _Step("superseded_old", statements.OUT_OF_FORCE, old, _purged),
        _Step("stale_marked", statements.DOUBTFUL, faded, _marked),
    ]


def _ids(connection: Connection, owner: str, step: _Step, policy: Policy) -> Iterator[bytes]:
    after = b""
    while True:
        page = {**step.params, "owner": owner, "after": after, "limit": PAGE}
        rows = connection.rows(step.sql, page)
        yield from (row[0] for row in rows if not step.spares or not is_spared(policy, *row[1:]))
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


def _take(engine: Engine, who: Principal, does: Take, ids: list[bytes]) -> int:
    def take(write: OwnerWrite, id: bytes) -> bool:
        row = write.tx.memory(id)
        return row is not None and does(write, row)  # None: it was forgotten

    return in_turns(engine, who.owner, who.name, ids, take)


def _expired(write: OwnerWrite, row: MemoryRow) -> bool:
    hard = row["hard_expires_at"]
    if row["known_to"] is not None or hard is None or hard > write.tx.now:
        return False
    for each in versions(write.tx.connection, write.tx.owner, row["root"]):
        delete_version(write.tx, each["id"], "expired", EventType.COLLECTED)
    leave_no_trace(write.tx, row["root"])
    return True


def _gone_stale(write: OwnerWrite, row: MemoryRow) -> bool:
    if row["known_to"] is not None or row["status"] != Status.STALE:
        return False
    write.tx.end(row, "evicted", EventType.EVICTED, "stale")
    return True


def _evicted(write: OwnerWrite, row: MemoryRow) -> bool:
    soft = row["soft_expires_at"]
    is_due = row["known_to"] is None and soft is not None and soft <= write.tx.now
    if not is_due or row["pinned"]:
        return False
    if row["status"] == Status.REVIEW:
        pending.settle(write.tx, row["root"])
    write.tx.end(row, "evicted", EventType.EVICTED, "soft_expired")
    return True


def _purged(write: OwnerWrite, row: MemoryRow) -> bool:
    delete_version(write.tx, row["id"], "superseded_old", EventType.COLLECTED)
    if write.tx.latest(row["root"]) is None:
        leave_no_trace(write.tx, row["root"])
    return True


def _marked(write: OwnerWrite, row: MemoryRow) -> bool:
    is_open = row["known_to"] is None and row["status"] == Status.ACTIVE
    if not is_open or row["verified_at"] is not None:
        return False
    pending.mark(write.tx, row, Status.STALE)
    index_row(write.index, write.tx.known(row["id"]))
    return True


def _forget_old(engine: Engine, owner: str, old: Mapping[str, int]) -> None:
    now, salt = engine.clock.now_ms(), engine.ids.salt()
    with summing(engine.db, engine.audit_key, owner, now, salt) as connection:
        for sql in (statements.FORGET_OLD_ECHOES, statements.FORGET_OLD_KEYS):
            connection.run(sql, {"owner": owner, **old})
        connection.run(statements.FORGET_OLD_READS, {"owner": owner, **old})
