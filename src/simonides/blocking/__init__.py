"""The same verbs without an event loop (DESIGN D6).

No logic lives here: each method builds the coroutine of its async namesake and drives it
(:mod:`simonides.blocking.driver`). A test compares the signatures.
"""

from simonides.blocking.changing import ChangingVerbs
from simonides.blocking.consents import ConsentVerbs
from simonides.blocking.driver import Driver
from simonides.blocking.echoes import EchoVerbs
from simonides.blocking.manager import MemoryManager
from simonides.blocking.prompt import PromptVerbs, Triggers
from simonides.blocking.session import Session, SessionVerbs
from simonides.blocking.strata import Admin, Agent, Strata
from simonides.blocking.task import Task, TaskVerbs

__all__ = [
    "Admin",
    "Agent",
    "ChangingVerbs",
    "ConsentVerbs",
    "Driver",
    "EchoVerbs",
    "MemoryManager",
    "PromptVerbs",
    "Session",
    "SessionVerbs",
    "Strata",
    "Task",
    "TaskVerbs",
    "Triggers",
]
