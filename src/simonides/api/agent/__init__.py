"""The reference agent: capture, store, plan, retrieve, apply.

Every run ends with an explicit stop reason, whatever a model answers.
"""

from simonides.api.agent.answer import DEFAULT_CHECKS
from simonides.api.agent.result import AgentResult, AppliedMemory, MemoryState, TraceStep, TurnNote
from simonides.api.agent.run import AsyncAgent
from simonides.engine.prompting import Effect

__all__ = [
    "DEFAULT_CHECKS",
    "AgentResult",
    "AppliedMemory",
    "AsyncAgent",
    "Effect",
    "MemoryState",
    "TraceStep",
    "TurnNote",
]
