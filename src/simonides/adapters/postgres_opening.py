"""How the lines of a PostgreSQL store are made, and the keys of its digests read: in plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from simonides.adapters.postgres_pool import Line, MakeLine
from simonides.adapters.store_owners import Secrets
from simonides.domain.errors import KeyUnavailable

if TYPE_CHECKING:
    # What does the encrypting is an extra.
    from simonides.adapters.sqlite_opening import Opening as OfAFile
    from simonides.adapters.store_seals import Seals


class Opening:
    """Opens a database that is not encrypted, and refuses one that is."""

    @property
    def seals(self) -> Seals | None:
        """The owners' keys, where the store is encrypted."""
        return None

    @property
    def line(self) -> MakeLine:
        """What makes a line of a connection."""
        return Line

    def begin(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        location: str,
        kept: Secrets,
        operator: str,
    ) -> Secrets | None:
        """Return the keys of the store's digests, once the database is in order; None if it was
        made another meanwhile and is to be looked at again.

        Args:
            connection: Of the application's role.
            location: Of the database.
            kept: What it keeps.
            operator: Name of the operator's role.

        Raises:
            KeyUnavailable: If it is encrypted.
        """
        del connection, operator
        if kept.is_wrapped:
            raise KeyUnavailable(
                f"{location}: is encrypted; name its key ring, and its key vault or "
                "SIMONIDES_ENCRYPT=true (docs/encryption.md)"
            )
        return kept

    def kept(self, keys: Secrets) -> Secrets:
        """Return how the keys of the digests are written into the database."""
        return keys

    def follow(self, keys: Secrets) -> None:
        """Go on with the keys of another store, that was moved here."""
        del keys

    def of_copy(self) -> OfAFile | None:
        """Return what makes a file of the store; None for a plain one."""
        return None

    def close(self) -> None:
        """Let go of what was opened for it."""
