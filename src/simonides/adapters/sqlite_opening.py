"""How the connections of a SQLite store are made, and the keys of its digests read: in plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from simonides.adapters.sqlite_schema import SQL, read_secrets
from simonides.adapters.store_owners import Secrets
from simonides.domain.errors import KeyUnavailable

if TYPE_CHECKING:
    # What does the encrypting is an extra.
    from simonides.adapters.store_seals import Seals


class Opening:
    """Opens a store that is not encrypted, and refuses one that is."""

    @property
    def seals(self) -> Seals | None:
        """The owners' keys, where the store is encrypted."""
        return None

    @property
    def is_sealed(self) -> bool:
        """Whether the store is encrypted."""
        return self.seals is not None

    def connect(self, name: str, flags: int) -> apsw.Connection:
        """Return a new connection."""
        return apsw.Connection(name, flags=flags)

    def begin(self, writer: apsw.Connection) -> Secrets:
        """Return the keys of the store's digests, once the file is whole; call it under the turn.

        Raises:
            KeyUnavailable: If it is encrypted.
            StoreCorrupt: If one is missing.
        """
        return self.secrets(writer)

    def secrets(self, connection: apsw.Connection) -> Secrets:
        """Return the keys of the digests of any copy of the store."""
        secrets = read_secrets(connection)
        if secrets.is_wrapped:
            raise KeyUnavailable(
                f"{connection.filename}: is encrypted; name its key ring, and its key vault or "
                "SIMONIDES_ENCRYPT=true (docs/encryption.md)"
            )
        return secrets

    def keep(self, connection: apsw.Connection, keys: Secrets) -> None:
        """Write the keys of the digests into the file."""
        for name, value in keys._asdict().items():
            connection.execute(SQL["put_meta"], {"name": name, "value": value})

    def follow(self, keys: Secrets) -> None:
        """Go on with the keys of another store, that was moved or put back here."""
        del keys

    def close(self) -> None:
        """Let go of what was opened for it."""
