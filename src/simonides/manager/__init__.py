"""The manager: the one place that knows the order of things (MM-1).

Rooms never import each other; the manager hands values from one to the next.
"""

from simonides.manager.admin import AsyncAdmin
from simonides.manager.memory_manager import AsyncMemoryManager
from simonides.manager.services import Services
from simonides.manager.sessions import AsyncSession
from simonides.manager.task import AsyncTask
from simonides.manager.triggers import AsyncTriggers, TriggerMode

__all__ = [
    "AsyncAdmin",
    "AsyncMemoryManager",
    "AsyncSession",
    "AsyncTask",
    "AsyncTriggers",
    "Services",
    "TriggerMode",
]
