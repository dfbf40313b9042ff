"""The public test kit: deterministic time and ids, sample values, and the store contract.

``memstrata.testing.store_contract.MemoryStoreContract`` is the definition of a store. It needs
pytest; the rest does not.
"""

from memstrata.testing.clocks import CountingIds, ManualClock
from memstrata.testing.samples import ALICE, BOB, Samples

__all__ = ["ALICE", "BOB", "CountingIds", "ManualClock", "Samples"]
