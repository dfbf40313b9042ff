"""Records in a schema of their own of the PostgreSQL database that holds the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from simonides.domain.governance.erasure import Purged, Remainder
from simonides.domain.governance.safety_record import KeptRecord, Shelf
from simonides.ports import After
from simonides.storage.postgres.wire.connection import Plain, SoleConnection
from simonides.storage.schema.sql_files import load_queries
from simonides.storage.sidecar.records_codec import columns_of, records_of, sealed_anew

if TYPE_CHECKING:
    from simonides.storage.sidecar.records_codec import RecordSeal

_STATEMENTS = Path(__file__).parents[1] / "postgres" / "sql" / "records.sql"
# Bytes, which the driver takes as they are; ``str`` it takes from literals only.
_SQL = {name: text.encode() for name, text in load_queries(_STATEMENTS.read_text("utf-8")).items()}
_VACUUM = "VACUUM (VERBOSE, TRUNCATE FALSE, INDEX_CLEANUP ON) simonides_records.records"
_STILL_SEEN = " are dead but not yet removable"
_SKIPPED = "permission denied to vacuum"

STILL_SEEN = "records_old_snapshots"

_DEAD_ROWS = Remainder(
    "records_dead_rows",
    "pages of simonides_records.records: before PostgreSQL 17 only the tables' owner vacuums it",
    "until autovacuum, or the owner, has vacuumed the table",
)


class PostgresRecords:
    """A :class:`~simonides.ports.RecordStore` in a prepared database; each call is a round trip or
    two on a connection of its own, which is made with the first.

    Attributes:
        location: URL without password and parameters.
    """

    def __init__(self, url: str, *, seal: RecordSeal | None = None) -> None:
        """Note where they are.

        Args:
            url: ``postgresql://user@host:port/database``, of the application's role.
            seal: What seals bodies; None keeps them in plain.

        Raises:
            ConfigurationError: If the URL is none.
        """
        self._server = SoleConnection(url, what="records")
        self._seal = seal
        self.location = self._server.location

    def add(self, shelf: Shelf, record: KeptRecord, *, before: int) -> None:
        """See the port."""
        row = columns_of(shelf, record, self._seal)

        def write(connection: Plain) -> None:
            with connection.transaction():
                old = {"shelf": shelf.value, "before": before}
                connection.execute(_SQL["records_purge"], old)
                connection.execute(_SQL["records_add"], row)

        self._server.ask(write)

    def page(
        self,
        shelf: Shelf,
        *,
        since: int,
        subject: bytes | None = None,
        after: After | None = None,
        limit: int = 1000,
    ) -> tuple[KeptRecord, ...]:
        """See the port."""
        asked: dict[str, Any] = {
            "shelf": shelf.value,
            "since": since,
            "subject": subject,
            "after_at": None if after is None else after.at,
            "after_id": None if after is None else after.id,
            "limit": max(limit, 0),
        }
        found = self._server.ask(
            lambda connection: connection.execute(_SQL["records_page"], asked).fetchall()
        )
        return records_of(self.location, shelf, found, self._seal)

    def purge(self, shelf: Shelf, *, before: int | None) -> int:
        """See the port."""
        named = {"shelf": shelf.value, "before": before}
        return self._server.ask(
            lambda connection: connection.execute(_SQL["records_purge"], named).rowcount
        )

    def forget(self, subject: bytes) -> Purged:
        """See the port: the table is vacuumed, as far as the role may. What of the server's files
        is out of reach the store says of itself already.
        """

        def write(connection: Plain) -> list[str]:
            connection.execute(_SQL["records_forget"], {"subject": subject})
            return _vacuumed(connection)

        said = self._server.ask(write)
        is_seen = any(_is_still_seen(line) for line in said)
        skipped = any(line.startswith(_SKIPPED) for line in said)
        return Purged((), (STILL_SEEN,) if is_seen else (), (_DEAD_ROWS,) if skipped else ())

    def rewrap(self) -> int:
        """See the port."""
        seal = self._seal
        if seal is None:
            return 0

        def write(connection: Plain) -> int:
            with connection.transaction():
                asked = {"current": seal.current}
                found = connection.execute(_SQL["records_sealed_otherwise"], asked).fetchall()
                made = sealed_anew(self.location, found, seal)
                for row in made:
                    connection.execute(_SQL["records_seal"], row)
            return len(made)

        return self._server.ask(write)

    def close(self) -> None:
        """See the port."""
        self._server.close()


def _vacuumed(connection: Plain) -> list[str]:
    """Vacuum the table and return what the server said of it."""
    said: list[str] = []

    def note(told: psycopg.errors.Diagnostic) -> None:
        said.extend((told.message_primary or "").splitlines())

    connection.add_notice_handler(note)
    try:
        connection.execute(_VACUUM)
    finally:
        connection.remove_notice_handler(note)
    return said


def _is_still_seen(line: str) -> bool:
    before, told, _ = line.partition(_STILL_SEEN)
    return bool(told) and before.split()[-1] != "0"
