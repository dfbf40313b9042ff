"""The blocking face: the same verbs for callers without an event loop."""

from simonides.api.sync.contexts import capture_turn, flush_on_close, unless_erased
from simonides.api.sync.driver import Driver
from simonides.api.sync.generated import (
    Admin,
    Agent,
    Audit,
    Data,
    Maintenance,
    Memory,
    Pending,
    Privacy,
    Prompting,
    Receipts,
    Session,
    Store,
    Task,
    Tools,
    Triggers,
)

__all__ = [
    "Admin",
    "Agent",
    "Audit",
    "Data",
    "Driver",
    "Maintenance",
    "Memory",
    "Pending",
    "Privacy",
    "Prompting",
    "Receipts",
    "Session",
    "Store",
    "Task",
    "Tools",
    "Triggers",
    "capture_turn",
    "flush_on_close",
    "unless_erased",
]
