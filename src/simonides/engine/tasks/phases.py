"""The phase of a task, and the calls that it allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simonides.domain.conversation.task import LEGAL, TaskPhase
from simonides.domain.errors import PhaseError
from simonides.engine.core import Counters


class TaskPhases:
    """The phase of one task, as one handle knows it.

    Attributes:
        now: The phase.
    """

    def __init__(self, counters: Counters) -> None:
        self.now = TaskPhase.STARTUP
        self._counters = counters
        self._open: list[tuple[str, str]] = []
        self._is_ending = False

    def check(self, call: str) -> None:
        """Raise :class:`PhaseError` unless the phase allows a call."""
        if call not in LEGAL[self.now]:
            raise PhaseError(call, self.now.value, LEGAL[self.now])

    def enter(self, phase: TaskPhase) -> None:
        """Change the phase; a task that has not started, or is complete, is not counted in any."""
        ends = (TaskPhase.STARTUP, TaskPhase.COMPLETE)
        before, after = (None if each in ends else each.value for each in (self.now, phase))
        self.now = phase
        self._counters.moved(before, after)

    def goes_on(self) -> None:
        """Start a new turn with the first call after the end of one."""
        if self.now is TaskPhase.TURN_END:
            self.enter(TaskPhase.EXECUTING)

    def calls(self, tool: str, asked: str) -> None:
        """Register a running tool and its input."""
        self._open.append((tool, asked))
        self.enter(TaskPhase.TOOL_CALL)

    def observed(self, tool: str) -> str:
        """Remove a finished call from the open ones; return its input."""
        self.goes_on()
        given = next((asked for name, asked in self._open if name == tool), None)
        if given is not None:
            self._open.remove((tool, given))
        if not self._open and self.now is TaskPhase.TOOL_CALL:
            self.enter(TaskPhase.EXECUTING)
        return given or ""

    @contextmanager
    def ends(self, call: str) -> Iterator[None]:
        """Let only one call at a time end the task.

        Raises:
            PhaseError: If another call is ending it.
        """
        if self._is_ending:
            raise PhaseError(call, TaskPhase.COMPLETE.value, ())
        self._is_ending = True
        try:
            yield
        finally:
            self._is_ending = False

    def over(self, call: str) -> PhaseError:
        """Register that another handle ended the task; return the error for a call."""
        self.enter(TaskPhase.COMPLETE)
        return PhaseError(call, self.now.value, ())
