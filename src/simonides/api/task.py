"""A task of an agent: its working memory and its loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simonides.api.call import Bound
from simonides.core.engine import Engine
from simonides.core.outcome import Outcome
from simonides.core.record import Record
from simonides.core.results import Digest, TaskReport
from simonides.core.scope import Principal
from simonides.tasks import verbs

if TYPE_CHECKING:
    from simonides.api.remote.face import Remote


class Task(Bound):
    """The working memory of a task; `Memory.task` begins or resumes it.

    It lies in the store: another process resumes it by its name.
    """

    def __init__(self, link: Engine | Remote, who: Principal, id: str) -> None:
        super().__init__(link, who)
        self._id = id

    def prompt(self) -> str:
        """Return the prompt: goal, step, observations, constraints, memories, scratchpad.

        The constraints hold those of the task, and what stands in every prompt.

        Raises:
            InvalidInput: If the task has ended.
        """
        return self._call(verbs.prompt, self._id)

    def before_model(self) -> str:
        """Return the prompt, and do not look up again what it shows until the turn ends.

        Raises:
            InvalidInput: If the task has ended.
        """
        return self._call(verbs.before_model, self._id)

    def before_tool(self, name: str, input: Any = "") -> Digest:
        """Return what is remembered for a call of a tool, and was not shown in this turn.

        Args:
            name: Of the tool.
            input: Its arguments: a text, or JSON-ready data.

        Raises:
            InvalidInput: If the task has ended.
        """
        return self._call(verbs.before_tool, self._id, name, input)

    def observe(
        self,
        tool: str,
        result: Any,
        *,
        importance: str = "normal",
        verified: bool = False,
        keep: Sequence[str] = (),
    ) -> Outcome:
        """Keep the result of a tool: shortened in the prompt, whole in the task's session.

        Args:
            tool: Its name.
            result: A text, or JSON-ready data.
            importance: ``critical`` goes first, and outlives the task under the trust of the
                tool; ``high`` does if verified.
            verified: Whether the tool is trusted; else the result counts as text from outside.
            keep: Names in the result, a dictionary of a trusted tool: their values become facts of
                the user under these keys when the task is complete.

        Raises:
            InvalidInput: If the task has ended, the importance is unknown, or a value cannot be
                kept.
            StoreError: If the store could not.
        """
        return self._call(
            verbs.observe,
            self._id,
            tool,
            result,
            importance=importance,
            verified=verified,
            keep=keep,
        )

    def note(self, text: str, *, resolves: str | Record | None = None) -> Outcome:
        """Keep a note of the agent in the scratchpad.

        Args:
            text: The note.
            resolves: An earlier note that this one settles: it leaves the scratchpad.

        Raises:
            InvalidInput: If the task has ended.
            NotFound: If the earlier note is not in the scratchpad.
            StoreError: If the store could not.
        """
        return self._call(verbs.note_in_task, self._id, text, resolves=resolves)

    def reset(self) -> None:
        """Clear observations and scratchpad; goal, plan and constraints stay.

        Raises:
            InvalidInput: If the task has ended.
        """
        return self._call(verbs.reset, self._id)

    def step_done(self) -> int:
        """Advance to the next step; return how many are done.

        Raises:
            InvalidInput: If the task has ended.
        """
        return self._call(verbs.step_done, self._id)

    def turn_end(self) -> None:
        """End a turn of the agent: what it was shown may be shown again.

        Raises:
            InvalidInput: If the task has ended.
        """
        return self._call(verbs.turn_end, self._id)

    def status(self) -> dict[str, Any]:
        """Return goal, plan, current step, how many steps are done, and the phase.

        The phase is ``started``, ``executing``, ``tool_call`` or ``turn_ended``.

        Raises:
            InvalidInput: If the task has ended.
        """
        return self._call(verbs.task_status, self._id)

    def complete(self, learning: str | None = None) -> TaskReport:
        """End the task: keep what matters and what was learned, remove the rest.

        Args:
            learning: What the next task should know.

        Raises:
            InvalidInput: If the task has ended.
            StoreError: If the store could not; the task is still open.
        """
        return self._call(verbs.complete, self._id, learning)

    def abandon(self) -> int:
        """End the task and remove all of it; return how many memories that were.

        Raises:
            InvalidInput: If the task has ended.
            StoreError: If the store could not; the task is still open.
        """
        return self._call(verbs.abandon, self._id)
