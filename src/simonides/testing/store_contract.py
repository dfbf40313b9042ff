"""The definition of a store: one pytest class, to be subclassed once for each adapter.

```python
class TestMyStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return MyStore(tmp_path)
```

Every test takes a ``store`` that is empty and its own. A store that declares DURABLE also needs
``reopened``. The parts lie in ``contract_*.py``, one for each subject of the port.
"""

from simonides.testing.contract_base import drive, verify_chain
from simonides.testing.contract_care import CareContract
from simonides.testing.contract_consents import ConsentsContract
from simonides.testing.contract_erasure import ErasureContract
from simonides.testing.contract_journal import JournalContract
from simonides.testing.contract_renewal import RenewalContract
from simonides.testing.contract_rows import RowsContract
from simonides.testing.contract_turns import TurnsContract
from simonides.testing.contract_usage import UsageContract
from simonides.testing.contract_work import WorkContract

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
