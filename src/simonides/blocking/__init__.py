"""The API for callers without an event loop.

``scripts/generate_sync.py`` writes the classes from the async ones. Each method drives the
coroutine of the async method of the same name (:mod:`simonides.blocking.driver`). Only opening and
closing are written by hand (:mod:`simonides.blocking.contexts`).
"""

from simonides.blocking.contexts import flush_on_close
from simonides.blocking.driver import Driver
from simonides.blocking.generated import (
    Admin,
    Agent,
    MemoryManager,
    Session,
    Strata,
    Task,
    Triggers,
)

__all__ = [
    "Admin",
    "Agent",
    "Driver",
    "MemoryManager",
    "Session",
    "Strata",
    "Task",
    "Triggers",
    "flush_on_close",
]
