"""The blocking face: the same verbs for callers without an event loop."""

from simonides.api.sync.contexts import flush_on_close
from simonides.api.sync.driver import Driver
from simonides.api.sync.generated import (
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
