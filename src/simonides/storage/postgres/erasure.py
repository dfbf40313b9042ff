"""What can be done about copies that PostgreSQL keeps of deleted rows, and what cannot.

A deleted row stays in its page until the table is vacuumed; from version 17 on the application may
do that. Everything behind it is the server's: it is listed, not claimed to be gone.
"""

from __future__ import annotations

from dataclasses import replace

from simonides.domain.governance.erasure import Purged, Remainder
from simonides.storage.postgres.errors import Translating
from simonides.storage.postgres.parts import TABLES
from simonides.storage.postgres.schema import SQL
from simonides.storage.postgres.wire.pool import Connection, Pool

_VACUUM = "VACUUM (VERBOSE, TRUNCATE FALSE, INDEX_CLEANUP ON)"
_STILL_SEEN = " are dead but not yet removable"
_SKIPPED = ("permission denied to vacuum", "skipping vacuum")

_TABLES = [table for table in TABLES if table != "tombstones"]  # from which nothing is deleted


async def purge(pool: Pool, erased_at: int | None) -> Purged:
    """Vacuum the tables, and say what the server may keep beyond them.

    Args:
        pool: Of the database.
        erased_at: Since when rows are gone, µs, if it is known: where the application may not
            vacuum, somebody else has to have done it since, by the server's clock.

    Raises:
        StoreError: As the server says.
    """
    connection = await pool.alone()
    said: list[str] = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    try:
        with Translating(pool.location):
            for table in _TABLES:
                # Truncating would lock readers out; the pages are emptied anyhow.
                await connection.execute(f"{_VACUUM} simonides.{table}".encode())
            left = await _not_vacuumed(connection, erased_at)
            remains = await _remains(connection)
    finally:
        await connection.close()
    waits = []
    if left and any(text.startswith(_SKIPPED) for text in said):
        waits.append("vacuum_not_permitted")
    if any(map(_leaves_dead, said)):
        waits.append("old_snapshots")
    return Purged((), tuple(waits), remains)


def unreadable(purged: Purged) -> Purged:
    """Return what was purged of a subject whose key was destroyed: where copies remain they cannot
    be read, and the key may remain with copies of its vault.
    """
    told = (
        "; what it holds of the subject is encrypted by a key that is destroyed, but for digests, "
        "ids and times"
    )
    remains = tuple(replace(each, where=each.where + told) for each in purged.remains)
    return replace(purged, remains=(*remains, _OF_VAULT))


_OF_VAULT = Remainder(
    "key_vault_copies",
    "copies of the key vault from before: of its file, or dumps, replicas and the write-ahead log "
    "of its database; they hold the subject's key, wrapped under a master key",
    "as long as they are kept, and the ring has that master key",
)


def _leaves_dead(said: str) -> bool:
    """Whether a report of VACUUM says that somebody may still see rows that are gone."""
    before, told, _ = said.partition(_STILL_SEEN)
    return bool(told) and before.split()[-1] != "0"


async def _not_vacuumed(connection: Connection, since: int | None) -> bool:
    if since is None:
        return True
    asked = {"tables": _TABLES, "since": since}
    found = await connection.execute(SQL["not_vacuumed_since"], asked)
    return await found.fetchone() is not None


async def _remains(connection: Connection) -> tuple[Remainder, ...]:
    found = await (await connection.execute(SQL["log_settings"])).fetchone()
    archive, keep, most, slots = found or ("unknown", "unknown", "unknown", 0)
    return (
        Remainder(
            "free_space",
            "the free space of pages: VACUUM gives the room of deleted rows back without "
            "overwriting it, and indexes likewise",
            "until new rows take the room; VACUUM FULL by the tables' owner rewrites them",
        ),
        Remainder(
            "write_ahead_log",
            f"segments of the write-ahead log (wal_keep_size {keep}, max_wal_size {most}, "
            f"{slots} replication slots)",
            "until the server recycles them, some checkpoints later; a slot that nobody reads "
            "keeps them for good",
        ),
        Remainder(
            "log_archive",
            f"archived segments (archive_mode {archive})",
            "as long as the archive keeps them",
        ),
        Remainder(
            "replicas",
            "standby servers and logical subscribers",
            "until they have replayed the deletion and vacuumed, and recycled their own logs",
        ),
        Remainder(
            "server_backups",
            "base backups and dumps, which the store does not know of",
            "as long as they are kept; with encryption the subject's keys are destroyed and what "
            "they hold of it cannot be read",
        ),
        Remainder(
            "server_log",
            "the server's own log, if it logs statements with their values",
            "as long as it is kept",
        ),
    )
