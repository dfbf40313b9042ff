"""The log of a conversation and the steps of its end."""

from simonides.engine.sessions.background_extract import BackgroundExtraction
from simonides.engine.sessions.close_tasks import TaskEnd, TaskEnder
from simonides.engine.sessions.end import SessionEnder
from simonides.engine.sessions.extract import Extractor
from simonides.engine.sessions.idle import (
    IdleSessionEnder,
    ProcessSessions,
    end_due,
    end_process_sessions,
    schedule_idle_end,
)
from simonides.engine.sessions.progress import SessionTurns

__all__ = [
    "BackgroundExtraction",
    "Extractor",
    "IdleSessionEnder",
    "ProcessSessions",
    "SessionEnder",
    "SessionTurns",
    "TaskEnd",
    "TaskEnder",
    "end_due",
    "end_process_sessions",
    "schedule_idle_end",
]
