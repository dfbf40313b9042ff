"""A ring, and stores under it, for tests."""

from simonides.storage.encryption.key_ring import HeldKeys
from simonides.storage.sidecar.vault_sqlite import FileVault
from simonides.storage.sqlite.authenticated_store import CodedSqliteStore
from simonides.storage.sqlite.sealed_connection import Sealing

ONE, TWO = (bytes([n]) * 32 for n in (1, 2))
RING = HeldKeys({"one": ONE})


def coded_store(path, *, ring=RING, **options):
    """Open a store under a ring."""
    return CodedSqliteStore.under(ring, path, synchronous="normal", **options)


def sealed_store(path, *, ring=RING, vault=None, **options):
    """Open a store that is encrypted, its vault beside it unless another is named."""
    opening = sealing(path, ring, vault)
    return CodedSqliteStore.under(ring, path, opening=opening, synchronous="normal", **options)


def sealing(path, ring=RING, vault=None, **options):
    """Return what opens a store that is encrypted."""
    return Sealing(ring, FileVault(vault or f"{path}.vault"), owns_vault=True, **options)
