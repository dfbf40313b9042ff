"""The reference agent run: capture → store → plan → retrieve → apply (AG).

Every run ends in an explicit stop reason, whatever a model answers or fails to answer. With no
model, rules capture, plan and draft; the contract is the same.
"""

from simonides.agent.answer import DEFAULT_CHECKS
from simonides.agent.result import AgentResult, AppliedMemory, MemoryState, TraceStep, TurnNote
from simonides.agent.run import AsyncAgent
from simonides.digest.applying import Effect

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
