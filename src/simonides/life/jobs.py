"""The jobs of the worker by name, and the round that does what time has made due.

A row of the table ``due`` names a job of an owner, and its time. Of several workers the one that
moves the row does the job: the new time is its lease. A killed job is due again after the lease.
Vectors of another embedder are made anew here, while reads stay correct. The backup of the whole
store is a job of the owner ``/``.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from simonides.change.review import drop_late, look_again
from simonides.core.clock import DAY_MS, FOREVER, MINUTE_MS, to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import ConfigurationError, StoreError
from simonides.core.outcome import EventType
from simonides.core.scope import GLOBAL, Principal, scope_of
from simonides.govern import audit
from simonides.govern.alerts import CHANGED
from simonides.life import gc, hygiene
from simonides.life.consolidate import reflect_if_due
from simonides.models.embedder import EmbedderFailed, embed
from simonides.safety import records
from simonides.sessions.end import end_idle, read_idle
from simonides.sessions.imported import LEARN, learn
from simonides.storage import statements
from simonides.storage.database import Connection, Row
from simonides.storage.rows import MemoryRow, memories, record_of
from simonides.storage.transaction import GC
from simonides.tasks.verbs import too_many, warn_of_many
from simonides.write import pending
from simonides.write.candidate import analysed_as
from simonides.write.owner_write import owner_write
from simonides.write.versions import index_row, vector_cells

BACKUP = "backup"

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
    BACKUP: lambda engine, _, __: make_backup(engine),
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
    schedule_backup(engine)
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
    doubted = None if kind in (GC, BACKUP) else gc.waits_until(engine, due.owner)
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
    if is_sure := gc.collect(engine, who, accept_clock=accepted).waits_until is None:
        if accepted:  # what was not to end while the clock was doubted
            drop_late(engine, owner, who.name)
        hygiene.look_through(engine, who)
        reflect_if_due(engine, owner)
    with engine.db.read(owner, snapshot=True) as connection:
        are_many = is_sure and too_many(connection, owner)
        misfits = _misfits(engine, connection, owner)
    if are_many:
        with owner_write(engine, owner, who.name) as (tx, _):
            warn_of_many(tx)
    if misfits is not None:
        with engine.db.write(owner) as connection:
            value = {"owner": owner, "name": CHANGED, "value": misfits}
            connection.run(statements.SET_COUNTER, value)
    if not was_loaded:  # most owners say nothing today, and each has its turn here
        engine.indexes.drop(owner)
    if not accepted:
        gc.set_due(engine, engine.clock.now_ms() + DAY_MS, owner, GC)


def _misfits(engine: Engine, connection: Connection, owner: str) -> int | None:
    """Return how much of an owner's rows does not fit its trail; None if that is as yesterday.

    Without a key it is not looked at: whoever changes a row can make it fit.
    """
    if not engine.audit_key:
        return None
    found = len(audit.check_owner(connection, owner, engine.audit_key))
    if found:
        _log.error("the audit trail of %s does not fit in %d places", owner, found)
    counters: dict[str, int] = dict(connection.rows(statements.COUNTERS, {"owner": owner}))
    return None if found == counters.get(CHANGED, 0) else found


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


# -- backups ---------------------------------------------------------------------------------------


def schedule_backup(engine: Engine) -> None:
    """Make the backup due where the settings ask for one and none is due in time."""
    settings, where = engine.settings, {"owner": GLOBAL.owner, "job": BACKUP}
    if settings.backup_to is None:
        return
    if engine.db.backend == "postgresql":
        if settings.owner_url is None:
            _warn_of_no_backup(engine.db.location)
            return
    elif not Path(engine.db.location).is_file():  # in memory, or nothing was written yet
        return
    now = engine.clock.now_ms()
    latest = now + int(settings.backup_hours * 60 * MINUTE_MS)
    with engine.db.read() as connection:
        due = connection.one(statements.DUE_AT, where)
    if due is None or due[0] > latest:
        with engine.db.write(GLOBAL.owner) as connection:
            if connection.one(statements.DUE_AT, where) == due:  # else another worker was faster
                at = now if due is None else latest
                connection.run(statements.SET_DUE, {"at": at, **where})


@lru_cache
def _warn_of_no_backup(location: str) -> None:
    problem = StoreError(location, "backup_to needs the setting owner_url for PostgreSQL")
    _log.warning("not backed up: %s", problem)


def make_backup(engine: Engine) -> None:
    """Copy the store to the folder of the settings, delete old copies, and set the next time.

    Raises:
        StoreError: If there is no such folder, or the store cannot be copied.
        ConfigurationError: If a setting or a program is missing or does not fit.
    """
    settings, now = engine.settings, engine.clock.now_ms()
    folder = settings.backup_to
    if folder is None:  # a worker with other settings asked for it
        return
    try:
        if not folder.is_dir():
            raise StoreError(str(folder), "is no folder; make it, or change backup_to")
        name = f"{engine.db.name}-{to_datetime(now):%Y%m%dT%H%M%SZ}.db"
        engine.db.backup(folder / name)
    except (StoreError, ConfigurationError) as error:
        _log.warning("not backed up: %s", error)
        raise
    for old in backups(engine)[settings.backup_keep :]:
        old.unlink(missing_ok=True)
    for left in _made(engine, r"\.partial(?:-\w+)?"):
        if left.name < name:  # a kill left it
            left.unlink(missing_ok=True)
    gc.set_due(engine, now + int(settings.backup_hours * 60 * MINUTE_MS), GLOBAL.owner, BACKUP)


def backups(engine: Engine) -> list[Path]:
    """Return the backups that the worker has made of this store, the newest first."""
    return _made(engine)


def _made(engine: Engine, ending: str = "") -> list[Path]:
    """Return files that have the names of scheduled backups, the newest first."""
    folder, stem = engine.settings.backup_to, re.escape(engine.db.name)
    if folder is None or not folder.is_dir():
        return []
    name = re.compile(rf"{stem}-\d{{8}}T\d{{6}}Z\.db{ending}")
    return sorted((each for each in folder.iterdir() if name.fullmatch(each.name)), reverse=True)


# -- vectors of another embedder -------------------------------------------------------------------


def embed_owner(engine: Engine, owner: str) -> int:
    """Give the memories of an owner vectors of the embedder in use; return how many got one.

    Until then they are found by their words. What the embedder fails on is left for later.
    """
    done = 0
    while engine.embedder is not None and (rows := lacking(engine, owner)):
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


def lacking(engine: Engine, owner: str) -> list[MemoryRow]:
    """Return some memories of an owner that have no vector of the embedder in use."""
    params = {"owner": owner, "embedder": engine.indexes.embedder, "limit": SLICE}
    with engine.db.read(owner) as connection:
        return memories(connection, statements.NOT_EMBEDDED, **params)


def _text(row: MemoryRow) -> str:
    record = record_of(row)
    fields = (record.content, record.speaker, record.key, record.tags, record.category)
    return analysed_as(*fields).text
