"""The public test kit: a store to test agents with, deterministic time and ids, a scripted model,
sample values, and the store contract.

``simonides.testing.store_contract.MemoryStoreContract`` is the definition of a store. It needs
pytest; the rest does not.
"""

import sys

if "pytest" in sys.modules:
    # Must run before the contract's modules are imported: it adds values to their assertion errors.
    sys.modules["pytest"].register_assert_rewrite(
        *(
            f"{__name__}.contracts.{part}"
            for part in (
                "backups",
                "base",
                "erasure",
                "knowledge",
                "maintenance",
                "moving",
                "records",
                "rows",
                "session_store",
                "small_parts",
                "turns",
                "work",
            )
        )
    )

from simonides.testing.clocks import CountingIds, ManualClock
from simonides.testing.models import ScriptedModel
from simonides.testing.opening import open  # noqa: A004 - `testing.open` reads as `simonides.open`
from simonides.testing.samples import ALICE, BOB, Samples

__all__ = ["ALICE", "BOB", "CountingIds", "ManualClock", "Samples", "ScriptedModel", "open"]
