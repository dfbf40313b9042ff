"""simonides: a memory system for LLM agents.

```python
import simonides

with simonides.open("memory.db") as store:
    memory = store.memory(user="ana")
    memory.remember("Always deploy to us-east-1", key="deploy_region", category="preference")
    print(memory.recall("where do I deploy?")[0].content)
```

Importing it is cheap: each name is loaded at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simonides._version import __version__

if TYPE_CHECKING:
    from simonides import testing, types
    from simonides.api.admin import Admin, restore
    from simonides.api.aio import (
        AsyncAdmin,
        AsyncMemory,
        AsyncSession,
        AsyncStore,
        AsyncTask,
        aopen,
    )
    from simonides.api.memory import Memory
    from simonides.api.session import Session
    from simonides.api.store import Store, open  # noqa: A004  the public name
    from simonides.api.task import Task
    from simonides.core.errors import (
        ChangedMeanwhile,
        ConfigurationError,
        IdempotencyMismatch,
        InvalidInput,
        InvalidScope,
        KeyUnavailable,
        MissingExtra,
        NotFound,
        NotReplayable,
        OwnerRequired,
        PolicyInvalid,
        QuotaExceeded,
        Refused,
        ScopeDenied,
        SimonidesError,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreUnavailable,
        Unauthenticated,
    )  # fmt: skip
    from simonides.core.outcome import Outcome, OutcomeKind, Outcomes
    from simonides.core.record import (
        Draft,
        Importance,
        Kind,
        Record,
        Sensitivity,
        Source,
        Status,
        Trust,
    )  # fmt: skip
    from simonides.core.results import AddReport, Digest, Explanation, Hit, Page, Recall, Receipt
    from simonides.core.settings import Settings
    from simonides.integrations.wrap import memory_of, wrap

_HOMES = {
    "api.admin": "Admin restore",
    "api.aio": "AsyncAdmin AsyncMemory AsyncSession AsyncStore AsyncTask aopen",
    "api.memory": "Memory",
    "api.session": "Session",
    "api.store": "Store open",
    "api.task": "Task",
    "core.errors": """
        ChangedMeanwhile ConfigurationError IdempotencyMismatch InvalidInput InvalidScope
        KeyUnavailable MissingExtra NotFound NotReplayable OwnerRequired PolicyInvalid
        QuotaExceeded Refused ScopeDenied SimonidesError StoreCorrupt StoreError StoreFull
        StoreReadOnly StoreUnavailable Unauthenticated
    """,
    "core.outcome": "Outcome OutcomeKind Outcomes",
    "core.record": "Draft Importance Kind Record Sensitivity Source Status Trust",
    "core.results": "AddReport Digest Explanation Hit Page Recall Receipt",
    "core.settings": "Settings",
    "integrations.wrap": "memory_of wrap",
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = ("testing", "types")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"simonides.{name}")
    if name not in _MODULE_OF:
        from difflib import get_close_matches

        near = (get_close_matches(name, __all__, 1) or ["open"])[0]
        raise AttributeError(f"module 'simonides' has no {name!r}; did you mean simonides.{near}?")
    value = getattr(import_module(f"simonides.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "AddReport", "Admin", "AsyncAdmin", "AsyncMemory", "AsyncSession", "AsyncStore", "AsyncTask",
    "ChangedMeanwhile", "ConfigurationError", "Digest", "Draft", "Explanation", "Hit",
    "IdempotencyMismatch", "Importance", "InvalidInput", "InvalidScope", "KeyUnavailable", "Kind",
    "Memory", "MissingExtra", "NotFound", "NotReplayable", "Outcome", "OutcomeKind", "Outcomes",
    "OwnerRequired", "Page", "PolicyInvalid", "QuotaExceeded", "Recall", "Receipt", "Record",
    "Refused", "ScopeDenied", "Sensitivity", "Session", "Settings", "SimonidesError", "Source",
    "Status", "Store", "StoreCorrupt", "StoreError", "StoreFull", "StoreReadOnly",
    "StoreUnavailable", "Task", "Trust", "Unauthenticated", "__version__", "aopen",
    "memory_of", "open", "restore", "testing", "types", "wrap",
]  # fmt: skip
