"""Tasks: phases, log events, name locks and reports.

The session log is authoritative: working memory is rebuilt from its entries, so a stopped task can
be resumed. Each entry of a task has the task's name. A decision has its :class:`TaskEvent` in its
details, under ``event``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from types import MappingProxyType

from simonides.domain.canonical_json import canonical_json
from simonides.domain.conversation.session import Logged, SessionStep
from simonides.domain.errors import StoreCorrupt
from simonides.domain.operations.gc import GcReport
from simonides.domain.value import Value
from simonides.domain.writing.decision import Outcome

EVENT = "event"
"""Name of the event in the details of a task's entry."""


class TaskEvent(StrEnum):
    """Event of a decision in a task's log.

    ``started``: the text is the goal; details have ``run``, ``plan``, ``constraints``, ``mode``.
    ``noted``: the text is a note; details may have ``resolved`` and ``resolves``, numbers of
    entries. ``step_done``: the current step is done; the text may say how. ``constrained``: the
    text is one more constraint. ``turn_ended``. ``flushed``: the text is the summary of all turns
    up to and including the first ``turns`` unsummarised ones. ``completing``: the text is the
    learning, details have its author as ``by``; memories are being written. ``completed``: they
    are written. ``abandoned``: nothing is kept; details have ``by``. ``stopped``: its process left
    it, or an error ended it; it may be resumed. ``resumed``.
    """

    STARTED = "started"
    NOTED = "noted"
    STEP_DONE = "step_done"
    CONSTRAINED = "constrained"
    TURN_ENDED = "turn_ended"
    FLUSHED = "flushed"
    COMPLETING = "completing"
    COMPLETED = "completed"
    ABANDONED = "abandoned"
    STOPPED = "stopped"
    RESUMED = "resumed"


OVER = (TaskEvent.COMPLETED, TaskEvent.ABANDONED)
"""These end a run; later entries of an outdated handle do not start another one."""


def left_open(entries: Iterable[Logged]) -> tuple[str, ...]:
    """Return the tasks in the log that are not over, in their order.

    A finished task needs no cleaning: its scope may belong to a later run in another session.
    """
    is_open: dict[str, bool] = {}
    for each in entries:
        if (task := each.entry.task) is None:
            continue
        event = each.entry.details.get(EVENT)
        if event in OVER:
            is_open[task] = False
        elif event in (TaskEvent.STARTED, TaskEvent.RESUMED):
            is_open[task] = True
        else:
            is_open.setdefault(task, True)
    return tuple(task for task, unfinished in is_open.items() if unfinished)


def run_of(entries: Sequence[Logged], run: str | None) -> tuple[Logged, ...]:
    """Return the entries of one run of a task, without its ``started`` entry.

    Args:
        entries: All entries of the task.
        run: Id of the run. If its ``started`` entry is missing, the run continued in a new log;
            all entries before the next ``started`` are its own.
    """
    begins = [n for n, each in enumerate(entries) if each.entry.details.get("run") == run]
    own = entries[begins[0] + 1 if begins else 0 :]
    started = TaskEvent.STARTED
    return tuple(takewhile(lambda each: each.entry.details.get(EVENT) != started, own))


class TaskPhase(StrEnum):
    """Phase of a task.

    ``startup`` until it is started. ``executing`` between the calls of a turn. ``tool_call`` from a
    tool call until its result is observed. ``turn_end`` until the next call begins a turn.
    ``complete`` after every kind of end.
    """

    STARTUP = "startup"
    EXECUTING = "executing"
    TOOL_CALL = "tool_call"
    TURN_END = "turn_end"
    COMPLETE = "complete"


_ALWAYS = ("prompt", "conversation", "observe", "note", "add", "add_constraint", "before_tool")
_BETWEEN = (*_ALWAYS, "before_model", "step_done", "complete", "abandon")

LEGAL: Mapping[TaskPhase, tuple[str, ...]] = MappingProxyType(
    {
        TaskPhase.STARTUP: ("start",),
        TaskPhase.EXECUTING: (*_BETWEEN, "turn_end"),
        # A model request, a finished step or a turn's end before the tool's result would miss it.
        TaskPhase.TOOL_CALL: (*_ALWAYS, "abandon"),
        TaskPhase.TURN_END: _BETWEEN,
        TaskPhase.COMPLETE: (),
    }
)
"""Legal calls of each phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport(Value):
    """Result of a task.

    Attributes:
        task: Name of the task.
        completed: False if it was abandoned; then nothing was learned.
        promoted: Outcome of each promoted observation and note, in their order.
        learning: Outcome of the learning; None without one.
        removed: Versions removed with the task's scope.
        released: Held candidates of that scope that were deleted.
        collected: Report of the daily garbage collection, if it was due.
        diagnostics: Short names of what failed.
    """

    task: str
    completed: bool
    promoted: tuple[Outcome, ...] = ()
    learning: Outcome | None = None
    removed: int = 0
    released: int = 0
    collected: GcReport | None = None
    diagnostics: tuple[str, ...] = ()


HELD = "held"
"""Step of a task-name lock held by a session."""

FREE = "free"
"""Step of a released task-name lock."""

_BEFORE = " task/"


def place_of(task: str) -> str:
    """Return the session name of a task-name lock's row.

    It begins with a space, so no session can have it.
    """
    return _BEFORE + task


def held_by(task: str, session: str | None, at: int) -> SessionStep:
    """Return the lock row of a task's name since a time in µs; without a session it is free."""
    step = FREE if session is None else HELD
    return SessionStep(place_of(task), step, at, canonical_json({"by": session}))


def holder_of(row: SessionStep | None, location: str) -> str | None:
    """Return the session that holds the lock on a task's name, or None.

    Raises:
        StoreCorrupt: If :func:`held_by` did not write the row; names the location.
    """
    if row is None or row.step == FREE:
        return None
    try:
        return str(json.loads(row.body)["by"])
    except (ValueError, LookupError, TypeError) as error:
        raise StoreCorrupt(location, f"the lock of a task cannot be read: {error}") from error
