"""A ring, and stores under it, for tests."""

from memstrata.adapters.key_ring import HeldKeys
from memstrata.adapters.sqlite_coded import CodedSqliteStore

ONE, TWO = (bytes([n]) * 32 for n in (1, 2))
RING = HeldKeys({"one": ONE})


def coded_store(path, *, ring=RING, **options):
    """Open a store under a ring."""
    return CodedSqliteStore.under(ring, path, synchronous="normal", **options)
