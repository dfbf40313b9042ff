"""The blocking face: the same verbs for callers without an event loop."""

from simonides.api.sync.contexts import flush_on_close
from simonides.api.sync.driver import Driver
from simonides.api.sync.generated import (
    Admin,
    Agent,
    Memory,
    Session,
    Store,
    Task,
    Triggers,
)

__all__ = [
    "Admin",
    "Agent",
    "Driver",
    "Memory",
    "Session",
    "Store",
    "Task",
    "Triggers",
    "flush_on_close",
]
