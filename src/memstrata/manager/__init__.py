"""The manager: the one place that knows the order of things (MM-1).

Rooms never import each other; the manager hands values from one to the next.
"""

from memstrata.manager.admin import AsyncAdmin
from memstrata.manager.memory_manager import AsyncMemoryManager
from memstrata.manager.services import Services
from memstrata.manager.sessions import AsyncSession
from memstrata.manager.task import AsyncTask
from memstrata.manager.triggers import AsyncTriggers, TriggerMode

__all__ = [
    "AsyncAdmin",
    "AsyncMemoryManager",
    "AsyncSession",
    "AsyncTask",
    "AsyncTriggers",
    "Services",
    "TriggerMode",
]
