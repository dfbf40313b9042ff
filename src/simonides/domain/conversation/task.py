"""A task's life: its phases, what its session's log says of it, and what came of it.

The log is the truth: working memory is what its entries add up to, so a task that stopped goes on
from them. Entries of a task bear its name; what they decide stands in their details, under
``event``, as :class:`TaskEvent` names it.
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
"""Under this name the details of a task's entry say which event it is."""


class TaskEvent(StrEnum):
    """What a decision in a task's log decides.

    ``started``: the text is the goal; details have ``run``, ``plan``, ``constraints``, ``mode``.
    ``noted``: the text is a note; details may have ``resolved`` and ``resolves``, numbers of
    entries. ``step_done``: the current step is done; the text may say how. ``constrained``: the
    text is one more constraint. ``turn_ended``. ``flushed``: the text is the summary of all turns
    up to the first ``turns`` of those that were not summarised. ``completing``: the text is the
    learning, details have ``by``, who said it; what is to be kept is being written. ``completed``:
    it is. ``abandoned``: nothing of it is kept; details have ``by``. ``stopped``: its process went
    on to something else, or an error ended it; it may be
    resumed. ``resumed``: it was.
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
"""After these a run is over; what a handle that does not know it still logs begins no other."""


def left_open(entries: Iterable[Logged]) -> tuple[str, ...]:
    """Return the tasks of which entries tell, in their order, and not that they are over. One that
    is over is clean: what is in the scope of its name since is another run's, maybe in another
    session.
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
    return tuple(task for task, stands in is_open.items() if stands)


def run_of(entries: Sequence[Logged], run: str | None) -> tuple[Logged, ...]:
    """Return the entries of one run of a task, without that which began it.

    Args:
        entries: All of the task.
        run: Id of the run. If its beginning is in the log no more, what stands before the next
            run's is its: it went on in a log that was begun anew.
    """
    begins = [n for n, each in enumerate(entries) if each.entry.details.get("run") == run]
    own = entries[begins[0] + 1 if begins else 0 :]
    started = TaskEvent.STARTED
    return tuple(takewhile(lambda each: each.entry.details.get(EVENT) != started, own))


class TaskPhase(StrEnum):
    """Where a task is.

    ``startup`` until it is started. ``executing`` between the calls of a turn. ``tool_call`` while
    a tool runs whose result was not observed. ``turn_end`` until the next call begins a turn.
    ``complete`` for good, however it ended.
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
        # A model that is asked, a step that is done or a turn that ends before a tool's result is
        # known would leave the result out.
        TaskPhase.TOOL_CALL: (*_ALWAYS, "abandon"),
        TaskPhase.TURN_END: _BETWEEN,
        TaskPhase.COMPLETE: (),
    }
)
"""Which calls are possible in which phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport(Value):
    """What came of a task.

    Attributes:
        task: Its name.
        completed: False if it was abandoned; then nothing was learned.
        promoted: What became of each observation and note that was worth keeping, in their order.
        learning: What became of what was learned; None where nothing was said.
        removed: Versions that were removed with the task's scope.
        released: Candidates that were held back there and have been let go.
        collected: What the collecting of the day did, if it was due.
        diagnostics: What could not be done as wished, each a short name.
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
"""Step of the row of a name that a session has."""

FREE = "free"
"""Step of the row of a name that nobody has any more."""

_BEFORE = " task/"


def place_of(task: str) -> str:
    """Return the name under which the row of a task's name lies: no session can have it, as none
    begins with a space.
    """
    return _BEFORE + task


def held_by(task: str, session: str | None, at: int) -> SessionStep:
    """Return the row that says who has a task's name since a time in µs; None for nobody."""
    step = FREE if session is None else HELD
    return SessionStep(place_of(task), step, at, canonical_json({"by": session}))


def holder_of(row: SessionStep | None, location: str) -> str | None:
    """Return the session that has a task's name, or None.

    Raises:
        StoreCorrupt: If the row is not what :func:`held_by` writes; it names the place.
    """
    if row is None or row.step == FREE:
        return None
    try:
        return str(json.loads(row.body)["by"])
    except (ValueError, LookupError, TypeError) as error:
        raise StoreCorrupt(location, f"who has a task cannot be read: {error}") from error
