"""The definition of a store: one pytest class, to be subclassed once for each adapter.

```python
class TestMyStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return MyStore(tmp_path)
```

Every test takes a separate, empty ``store``. A store that declares DURABLE also needs ``reopened``.
The parts are in ``contracts``, one module for each subject of the port.
"""

from simonides.testing.contracts.base import drive, verify_chain
from simonides.testing.contracts.erasure import ErasureContract
from simonides.testing.contracts.maintenance import CareContract
from simonides.testing.contracts.rows import RowsContract
from simonides.testing.contracts.small_parts import (
    ConsentsContract,
    JournalContract,
    RenewalContract,
    UsageContract,
)
from simonides.testing.contracts.turns import TurnsContract
from simonides.testing.contracts.work import WorkContract

__all__ = ["MemoryStoreContract", "drive", "verify_chain"]


class MemoryStoreContract(
    RowsContract,
    TurnsContract,
    CareContract,
    ErasureContract,
    RenewalContract,
    JournalContract,
    WorkContract,
    ConsentsContract,
    UsageContract,
):
    """Every sentence of :class:`simonides.ports.MemoryStore`, as tests."""
