"""Tasks without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from simonides.blocking.driver import Driver
from simonides.domain.digest import Digest
from simonides.domain.task import TaskPhase, TaskReport
from simonides.domain.working import Constraint, Talk
from simonides.manager import AsyncTask, TriggerMode
from simonides.manager.task_verbs import AsyncTaskVerbs


class TaskVerbs:
    """What a manager does for a task of its user; see :class:`simonides.AsyncMemoryManager`."""

    _tasks: AsyncTaskVerbs
    _driver: Driver

    def task(
        self,
        goal: str | None = None,
        plan: Sequence[str] = (),
        constraints: Sequence[str | Constraint] = (),
        *,
        name: str | None = None,
        mode: str = TriggerMode.HYBRID,
        resume: bool = False,
    ) -> Task:
        """See :meth:`simonides.AsyncMemoryManager.task`."""
        made = self._tasks.task(goal, plan, constraints, name=name, mode=mode, resume=resume)
        return Task(made, self._driver)


class Task:
    """One task; see :class:`simonides.AsyncTask`. ``with`` starts it."""

    def __init__(self, task: AsyncTask, driver: Driver) -> None:
        self._task = task
        self._driver = driver

    @property
    def name(self) -> str:
        """See :attr:`simonides.AsyncTask.name`."""
        return self._task.name

    @property
    def session(self) -> str:
        """See :attr:`simonides.AsyncTask.session`."""
        return self._task.session

    @property
    def phase(self) -> TaskPhase:
        """See :attr:`simonides.AsyncTask.phase`."""
        return self._task.phase

    @property
    def goal(self) -> str:
        """See :attr:`simonides.AsyncTask.goal`."""
        return self._task.goal

    @property
    def current_step(self) -> str | None:
        """See :attr:`simonides.AsyncTask.current_step`."""
        return self._task.current_step

    @property
    def steps_done(self) -> int:
        """See :attr:`simonides.AsyncTask.steps_done`."""
        return self._task.steps_done

    @property
    def left_out(self) -> tuple[Constraint, ...]:
        """See :attr:`simonides.AsyncTask.left_out`."""
        return self._task.left_out

    @property
    def pushed(self) -> Digest | None:
        """See :attr:`simonides.AsyncTask.pushed`."""
        return self._task.pushed

    @property
    def report(self) -> TaskReport | None:
        """See :attr:`simonides.AsyncTask.report`."""
        return self._task.report

    def __enter__(self) -> Task:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._driver.run(self._task.__aexit__(kind, error, trace))

    def start(self) -> None:
        """See :meth:`simonides.AsyncTask.start`."""
        self._driver.run(self._task.start())

    def prompt(self) -> str:
        """See :meth:`simonides.AsyncTask.prompt`."""
        return self._driver.run(self._task.prompt())

    def before_model(self) -> str:
        """See :meth:`simonides.AsyncTask.before_model`."""
        return self._driver.run(self._task.before_model())

    def before_tool(self, name: str, args: Any = None) -> Digest | None:
        """See :meth:`simonides.AsyncTask.before_tool`."""
        return self._driver.run(self._task.before_tool(name, args))

    def observe(
        self,
        name: str,
        result: Any,
        *,
        importance: str = "normal",
        key: str | None = None,
        failed: bool = False,
        verified: bool = False,
    ) -> Digest | None:
        """See :meth:`simonides.AsyncTask.observe`."""
        return self._driver.run(
            self._task.observe(
                name, result, importance=importance, key=key, failed=failed, verified=verified
            )
        )

    def note(
        self,
        text: str,
        *,
        resolved: bool = False,
        resolves: Sequence[int] = (),
        importance: str = "normal",
        key: str | None = None,
    ) -> int:
        """See :meth:`simonides.AsyncTask.note`."""
        return self._driver.run(
            self._task.note(
                text, resolved=resolved, resolves=resolves, importance=importance, key=key
            )
        )

    def step_done(self, note: str | None = None) -> str | None:
        """See :meth:`simonides.AsyncTask.step_done`."""
        return self._driver.run(self._task.step_done(note))

    def add_constraint(self, text: str, *, importance: str = "normal") -> tuple[Constraint, ...]:
        """See :meth:`simonides.AsyncTask.add_constraint`."""
        return self._driver.run(self._task.add_constraint(text, importance=importance))

    def add(self, role: str, text: str, *, speaker: str | None = None) -> Talk:
        """See :meth:`simonides.AsyncTask.add`."""
        return self._driver.run(self._task.add(role, text, speaker=speaker), asks_model=True)

    def conversation(self) -> Talk:
        """See :meth:`simonides.AsyncTask.conversation`."""
        return self._driver.run(self._task.conversation())

    def turn_end(self) -> None:
        """See :meth:`simonides.AsyncTask.turn_end`."""
        self._driver.run(self._task.turn_end())

    def complete(self, learning: str | None = None) -> TaskReport:
        """See :meth:`simonides.AsyncTask.complete`."""
        return self._driver.run(self._task.complete(learning))

    def abandon(self) -> TaskReport:
        """See :meth:`simonides.AsyncTask.abandon`."""
        return self._driver.run(self._task.abandon())
