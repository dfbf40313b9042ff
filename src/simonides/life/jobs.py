"""The jobs of the worker by name, and the round that does what time has made due.

A row of the table ``due`` names a job of an owner, and its time. Of several workers the one that
moves the row does the job: the new time is its lease. A killed job is due again after the lease.
Vectors of another embedder are made anew here, while reads stay correct.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simonides.change.review import drop_late, look_again
from simonides.core.clock import DAY_MS, FOREVER, MINUTE_MS
from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.core.scope import Principal, scope_of
from simonides.life import gc, hygiene
from simonides.life.consolidate import reflect_if_due
from simonides.models.embedder import EmbedderFailed, embed
from simonides.safety import records
from simonides.sessions.end import end_idle, read_idle
from simonides.sessions.imported import LEARN, learn
from simonides.storage import statements
from simonides.storage.database import Row
from simonides.storage.rows import MemoryRow, memories, record_of
from simonides.storage.transaction import GC
from simonides.tasks.verbs import too_many, warn_of_many
from simonides.write import pending
from simonides.write.candidate import analysed_as
from simonides.write.owner_write import owner_write
from simonides.write.versions import index_row, vector_cells

Job = Callable[[Engine, str, Any], object]
"""A job: a function of the store, an owner, and an argument. It may be run twice."""

JOBS: Mapping[str, Job] = {
    "end": end_idle,
    "read": read_idle,
    LEARN: learn,
    pending.EXPIRE: lambda engine, owner, _: _expire(engine, owner),
    GC: lambda engine, owner, argument: _daily(engine, owner, argument),
    records.EXPIRE: lambda engine, owner, _: records.expire(engine, owner),
    "embed": lambda engine, owner, _: embed_owner(engine, owner),
    "look": lambda engine, _, held: look_again(engine, *held),
}
"""Every job by its name. Rows of ``due`` hold a name and an id in hexadecimal digits."""

LEASE_MS = 10 * MINUTE_MS
"""Time that a job has before another worker takes it; chosen, longer than a model's answer."""

FIRST_DELAY_MS, MOST_DELAY_MS = 15_000, 360 * MINUTE_MS
"""Delay of a job that failed once, which doubles with each failure, and the longest. Not
measured."""

SLICE = 64
"""Memories of one transaction that are embedded anew."""

UNKNOWN_DELAY_MS = 60 * MINUTE_MS
"""Delay of a job that this version does not know, as a newer one may. Set by judgement."""

_log = logging.getLogger("simonides.life")


class Due(NamedTuple):
    """A row of ``due``.

    Attributes:
        at: When it is due, in milliseconds.
        owner: The owner.
        job: Name and argument.
        tries: How often the job was begun since it was set.
    """

    at: int
    owner: str
    job: str
    tries: int = 0


def run_due(engine: Engine, goes_on: Callable[[], bool]) -> Counter[str]:
    """Do the jobs that are due now, of all owners; a failure stops no other job.

    Args:
        engine: The store.
        goes_on: Whether another job may begin.

    Returns:
        How many jobs are ``done``, ``put_off`` as unknown, ``failed`` and put off, or ``taken`` by
        another worker.

    Raises:
        StoreError: If the database fails.
    """
    now, last, tally = engine.clock.now_ms(), Due(-FOREVER, "", ""), Counter[str]()
    while True:
        with engine.db.read() as connection:
            page = connection.rows(statements.DUE, {"now": now, **last._asdict()})
            ahead = connection.rows(statements.DUE_AHEAD, {"from": now + 2 * DAY_MS})
        if not page and not ahead:
            return tally
        _come_back(engine, ahead, now)
        for last in map(Due._make, page):
            if not goes_on():
                return tally
            tally[_run(engine, last)] += 1


def _run(engine: Engine, due: Due) -> str:
    kind, _, argument = due.job.partition(" ")
    now, tries = engine.clock.now_ms(), due.tries + 1
    does = JOBS.get(kind)
    if does is None:
        if not due.tries:
            _log.warning("%s of %s is put off: no such job in this version", kind, due.owner)
        return "put_off" if _moved(engine, due, now + UNKNOWN_DELAY_MS, tries) else "taken"
    delay = min(FIRST_DELAY_MS << min(due.tries, 16), MOST_DELAY_MS)
    leased = due._replace(at=now + max(LEASE_MS, delay), tries=tries)
    if not _moved(engine, due, leased.at, tries):
        return "taken"
    doubted = None if kind == GC else gc.waits_until(engine, due.owner)
    if not attempt(f"{kind} {due.owner}", lambda: does(engine, due.owner, argument)):
        _moved(engine, leased, engine.clock.now_ms() + delay, tries)
        return "failed"
    if doubted is not None:  # what the job did is no sign of the user
        gc.wait(engine, due.owner, doubted)
    with engine.db.write(due.owner) as connection:  # unless the job, or a call, has moved it
        connection.run(statements.DONE_DUE, leased._asdict())
    return "done"


def _moved(engine: Engine, due: Due, to: int, tries: int) -> bool:
    """Move a row unless it was moved since it was read; return whether it is moved now."""
    params = {**due._asdict(), "to": to, "begun": tries}
    with engine.db.write(due.owner) as connection:
        return bool(connection.rows(statements.MOVE_DUE, params))


def attempt(name: str, work: Callable[[], object]) -> bool:
    """Do some work, and return whether it succeeded; a failure is logged without content."""
    try:
        work()
    except Exception as error:  # noqa: BLE001  outermost loop of a worker: others go on
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        _log.warning("%s failed: %s at %s", name, type(error).__name__, where)
        return False
    return True


# -- once a day ------------------------------------------------------------------------------------


def _daily(engine: Engine, owner: str, argument: str) -> None:
    """Collect an owner's memories, look through the rest, and again a day later."""
    who, accepted = Principal(scope_of(owner, None), actor="collection"), argument != ""
    if accepted and not gc.is_awaited(engine, owner, argument.rpartition(" ")[2]):
        return
    was_loaded = owner in engine.indexes
    if gc.collect(engine, who, accept_clock=accepted).waits_until is None:
        if accepted:  # what was not to end while the clock was doubted
            drop_late(engine, owner, who.name)
        hygiene.look_through(engine, who)
        reflect_if_due(engine, owner)
        with engine.db.read(owner) as connection:
            are_many = too_many(connection, owner)
        if are_many:
            with owner_write(engine, owner, who.name) as (tx, _):
                warn_of_many(tx)
    if not was_loaded:  # most owners say nothing today, and each has its turn here
        engine.indexes.drop(owner)
    if not accepted:
        gc.set_due(engine, engine.clock.now_ms() + DAY_MS, owner, GC)


def _expire(engine: Engine, owner: str) -> None:
    """End what nobody has decided in time; if the clock is doubted, what was forgotten alone."""
    is_doubted = gc.waits_until(engine, owner) is not None
    drop_late(engine, owner, "expiry", forgotten_only=is_doubted)


def _come_back(engine: Engine, ahead: Sequence[Row], now: int) -> None:
    """Let daily jobs run that a clock far ahead has put off; the doubt of then is over."""
    for owner, job in ahead:
        if job == GC:
            gc.set_due(engine, now, owner, job)
            continue
        with engine.db.write(owner) as connection:
            connection.run(statements.NOT_DUE, {"owner": owner, "job": job})


# -- vectors of another embedder -------------------------------------------------------------------


def embed_owner(engine: Engine, owner: str) -> int:
    """Give the memories of an owner vectors of the embedder in use; return how many got one.

    Until then they are found by their words. What the embedder fails on is left for later.
    """
    done = 0
    while engine.embedder is not None and (rows := _lacking(engine, owner)):
        try:
            vectors = embed(engine.embedder, [_text(row) for row in rows])
        except EmbedderFailed as error:
            _log.warning("not embedded: %s", error)
            return done
        name = engine.embedder.model_id
        with owner_write(engine, owner, "embedding") as (tx, index):
            for row, vector in zip(rows, vectors, strict=True):
                now = tx.memory(row["id"])
                if now is None or now["known_to"] is not None:
                    continue  # replaced or forgotten meanwhile
                cells = {"embedder": name, "updated_at": now["updated_at"], **vector_cells(vector)}
                tx.touch(now, EventType.EMBEDDED, **cells)
                index_row(index, tx.known(row["id"]))
                done += 1
    return done


def _lacking(engine: Engine, owner: str) -> list[MemoryRow]:
    params = {"owner": owner, "embedder": engine.indexes.embedder, "limit": SLICE}
    with engine.db.read(owner) as connection:
        return memories(connection, statements.NOT_EMBEDDED, **params)


def _text(row: MemoryRow) -> str:
    record = record_of(row)
    fields = (record.content, record.speaker, record.key, record.tags, record.category)
    return analysed_as(*fields).text
