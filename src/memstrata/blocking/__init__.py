"""The same verbs without an event loop (DESIGN D6).

No logic lives here: each method builds the coroutine of its async namesake and drives it
(:mod:`memstrata.blocking.driver`). A test compares the signatures.
"""

from memstrata.blocking.changing import ChangingVerbs
from memstrata.blocking.consents import ConsentVerbs
from memstrata.blocking.driver import Driver
from memstrata.blocking.echoes import EchoVerbs
from memstrata.blocking.manager import MemoryManager
from memstrata.blocking.prompt import PromptVerbs, Triggers
from memstrata.blocking.session import Session, SessionVerbs
from memstrata.blocking.strata import Admin, Agent, Strata
from memstrata.blocking.task import Task, TaskVerbs

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
