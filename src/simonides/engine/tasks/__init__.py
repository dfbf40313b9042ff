"""Working memory of a task, as pure values, and the run of a task over it.

Working memory is computed from the entries in a task's log, so a stopped task can be resumed.
"""

from simonides.engine.tasks.claim import TaskLock
from simonides.engine.tasks.finish import TaskFinisher
from simonides.engine.tasks.log import TaskLog, text_of
from simonides.engine.tasks.phases import TaskPhases
from simonides.engine.tasks.run import Beginning, TaskRun
from simonides.engine.tasks.working_memory import WorkingMemory

__all__ = [
    "Beginning",
    "TaskFinisher",
    "TaskLock",
    "TaskLog",
    "TaskPhases",
    "TaskRun",
    "WorkingMemory",
    "text_of",
]
