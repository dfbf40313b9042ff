"""The public verbs, as async classes over the engine.

Each method checks its arguments, calls one entry of the engine and returns its result. No decision
about memories is made here. ``api/sync`` holds the blocking face, ``api/open`` puts a store
together.
"""

from simonides.api.admin import AsyncAdmin
from simonides.api.memory import AsyncMemory
from simonides.api.session import AsyncSession
from simonides.api.task import AsyncTask
from simonides.engine.core import Runtime
from simonides.engine.prompting import AsyncTriggers, TriggerMode

__all__ = [
    "AsyncAdmin",
    "AsyncMemory",
    "AsyncSession",
    "AsyncTask",
    "AsyncTriggers",
    "Runtime",
    "TriggerMode",
]
