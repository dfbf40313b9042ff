"""What every store does that is encrypted, whatever keeps its rows: who has its keys."""

from __future__ import annotations

from simonides.ports import KeyRing, KeyVault
from simonides.storage.encryption.cells import Cells
from simonides.storage.encryption.data_keys import DataKeys, Wrapping, index_key_of
from simonides.storage.schema.owner_ids import Secrets


class HoldsKeys:
    """The half of a ``Sealing`` that does not know what a file or a database is.

    Args:
        ring: Master keys.
        vault: The owners' keys.
        owns_vault: Whether the vault is closed with the store.
        as_is: Whether a store in plain is opened as one, not refused.
    """

    def __init__(
        self, ring: KeyRing, vault: KeyVault, *, owns_vault: bool = False, as_is: bool = False
    ) -> None:
        self._ring, self._wrapping = ring, Wrapping(ring)
        self._vault, self._owns_vault = vault, owns_vault
        self._as_is = as_is
        self._cells: Cells | None = None

    @property
    def seals(self) -> DataKeys | None:
        """The owners' keys, once the store is open."""
        return None if self._cells is None else self._cells.seals

    def follow(self, keys: Secrets) -> None:
        """Go on with the keys of another store, that was moved or put back here."""
        if self._cells is not None:
            self._cells.seals = self._seals(self._cells.seals.location, keys)

    def close(self) -> None:
        """Let go of what was opened for it."""
        if self._owns_vault:
            self._vault.close()

    def _unwrapped(self, kept: Secrets) -> Secrets:
        return Secrets(kept.salt, index_key_of(self._wrapping, kept.salt, kept.tag_key))

    def _seals(self, location: str, keys: Secrets) -> DataKeys:
        return DataKeys(location, keys.salt, self._wrapping, self._vault)
