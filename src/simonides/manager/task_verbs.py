"""The verb about tasks (MM-1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.capture.drafts import flag
from simonides.domain.errors import InvalidInput, InvalidScope, ScopeDenied
from simonides.domain.given import enum_member
from simonides.domain.memory import Importance
from simonides.domain.scope import Principal, Scope, checked_id
from simonides.domain.working import Constraint
from simonides.language.normalise import check_text
from simonides.manager.asking import sequence
from simonides.manager.services import Services
from simonides.manager.task import MAX_LINE_BYTES, AsyncTask
from simonides.manager.task_log import TaskLog
from simonides.manager.task_run import Beginning
from simonides.manager.triggers import TriggerMode


class AsyncTaskVerbs:
    """What a manager does for a task of its user; see :class:`simonides.AsyncMemoryManager`, which
    has this verb.
    """

    _services: Services
    _principal: Principal

    def task(
        self,
        goal: str | None = None,
        plan: Sequence[str] = (),
        constraints: Sequence[str | Constraint] = (),
        *,
        name: str | None = None,
        mode: str = TriggerMode.HYBRID,
        resume: bool = False,
    ) -> AsyncTask:
        """Return a task: working memory in front of a model, with what is remembered for it (MM-1).

        ``async with`` starts it. Its memories have a scope of their own below the user's, its log
        is in this principal's session, or without one in the session ``task-`` and its name.

        Args:
            goal: What it is for; may be left out where it is to be resumed.
            plan: Its steps in order; any number.
            constraints: What it must hold to, as texts or with their importance.
            name: An id under which it can be resumed; None makes one.
            mode: What reads memory for it: ``push`` before model calls, ``pull`` around tool
                calls, or both, ``hybrid``.
            resume: Whether to go on with the task of this name where it stopped; goal, plan,
                constraints and mode are what they were then. If there is none it is begun.

        Raises:
            InvalidInput: If a value is not storable, or neither goal nor a name to resume is given.
            InvalidScope: If the name is no id, or the principal has no user.
            ScopeDenied: If the principal is another task.
        """
        given = Beginning(
            goal=None if goal is None else check_text("goal", goal, MAX_LINE_BYTES),
            plan=_lines("plan", plan),
            constraints=tuple(map(_constraint, sequence("constraints", constraints))),
            mode=enum_member(TriggerMode, "mode", mode).value,
            resume=flag("resume", resume),
        )
        if goal is None and not (given.resume and name is not None):
            raise InvalidInput("goal", "say what the task is for, or the name of one to resume")
        scope = self._task_scope(name)
        log = TaskLog(self._services, self._principal, str(scope.task))
        acting = replace(self._principal, home=scope, session=log.session)
        return AsyncTask(self._services, acting, log, given)

    def _task_scope(self, name: str | None) -> Scope:
        home = self._principal.home
        if home.org is None or home.user is None:
            raise InvalidScope("task", "a task belongs to a user; name the user too")
        if home.task is not None:
            if name not in (None, home.task):
                raise ScopeDenied(home.path, "write", "a task has no tasks; ask its user's manager")
            return home
        if name is None:
            name = self._services.ids.new(self._services.clock.now_us())
        return Scope.of_task(home.org, home.user, checked_id("name", name))


def _lines(field: str, raw: Sequence[str]) -> tuple[str, ...]:
    return tuple(check_text(field, each, MAX_LINE_BYTES) for each in sequence(field, raw))


def _constraint(given: object) -> Constraint:
    if not isinstance(given, Constraint):
        return Constraint(check_text("constraints", given, MAX_LINE_BYTES))
    text = check_text("constraints", given.text, MAX_LINE_BYTES)
    return Constraint(text, enum_member(Importance, "constraints.importance", given.importance))
