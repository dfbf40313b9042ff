"""The blocking face: the same verbs for callers without an event loop."""

from simonides.api.sync.agent import Agent
from simonides.api.sync.contexts import capture_turn, flush_on_close, unless_erased
from simonides.api.sync.driver import Driver
from simonides.api.sync.maintenance import Maintenance
from simonides.api.sync.memory import Memory
from simonides.api.sync.personal import Data, Privacy
from simonides.api.sync.prompting import Prompting, Triggers
from simonides.api.sync.review import Audit, Pending, Receipts
from simonides.api.sync.session import Session, Task
from simonides.api.sync.store import Admin, Store
from simonides.api.sync.tools import Tools

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
