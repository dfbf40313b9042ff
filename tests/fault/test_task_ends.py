"""A task's end is exactly once, wherever in it the store or the process goes."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from principals import history_of
from simonides import (
    InvalidInput,
    Memory,
    StoreUnavailable,
    Task,
)
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.types import TaskPhase, TaskReport

CALLS = 8
"""More calls of stores than an end makes; the test checks that."""


class Gone(Exception):
    """The process is no more."""


class Breaking:
    """Breaks one call of the stores that writes, before it took effect or after."""

    def __init__(self, place: int, *, after: bool, error: Callable[[], Exception]) -> None:
        self._place = place
        self._after = after
        self._error = error
        self.calls = 0
        self.is_broken = False

    def around(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def called(*given: Any, **named: Any) -> Any:
            self.calls += 1
            here = self.calls == self._place + 1
            self.is_broken = self.is_broken or here
            if here and not self._after:
                raise self._error()
            result = await call(*given, **named)
            if here:
                raise self._error()
            return result

        return called


def begun(store: Store) -> Memory:
    ana = store.memory(user="ana")
    task = ana.task("Upgrade", plan=["a"], name="up")
    task.__enter__()
    store.memory(user="ana").task(name="up").memory.remember("Inside the task")
    task.observe("psql", "PostgreSQL 16.4", importance="high", key="version", verified=True)
    task.observe("df", "40 GB are free", importance="critical", verified=True)
    task.note("We go blue-green", importance="high", key="rollout")
    return ana


def ended(ana: Memory) -> TaskReport:
    """End it as a new process would."""
    task = ana.task(name="up")
    task.__enter__()
    return task.report or task.complete("A dump takes three minutes")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", ["store", "process"])
@pytest.mark.parametrize("place", range(CALLS))
def test_an_end_that_breaks_anywhere_is_done_once(
    place: int, error: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    made = assemble(
        ":memory:", settings=Settings(embedder="none"), inline=True, clock=clock,
        ids=CountingIds(),
    )  # fmt: skip
    with Store(made) as store:
        ana, runtime = begun(store), store.runtime
        how = Gone if error == "process" else (lambda: StoreUnavailable("here", "gone"))
        breaking = Breaking(place, after=after, error=how)
        with monkeypatch.context() as broken:
            broken.setattr(runtime.store, "commit", breaking.around(runtime.store.commit))
            broken.setattr(runtime.sessions, "append", breaking.around(runtime.sessions.append))
            with suppress(Gone, StoreUnavailable):
                ended(ana)
        assert breaking.calls < CALLS
        clock.advance(seconds=60)
        if breaking.is_broken:
            # It may have been complete but for the answer: then there is none to go on with.
            with suppress(InvalidInput):
                ended(ana)

        assert sorted((m.key or "-").split(":")[0] for m in ana.list()) == [
            "-", "observed", "rollout", "version",
        ]  # fmt: skip
        for memory in ana.list():
            assert len(history_of(ana, memory.id)) == 1
            # Nothing was said twice, so nothing was renewed.
            assert memory.updated_at == memory.created_at
        assert store.memory(user="ana").task(name="up").memory.list(scopes=["task"]) == ()
        with pytest.raises(InvalidInput, match="no task of this name"):
            ended(ana)
        assert store.admin(actor="root").check_audit().ok


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("place", range(3))
def test_giving_up_that_breaks_anywhere_leaves_nothing_behind(
    place: int, monkeypatch: pytest.MonkeyPatch, *, after: bool
) -> None:
    with memory_only() as store:
        ana, runtime = begun(store).session("one"), store.runtime
        store.memory(user="ana").task(name="up").__enter__().abandon()
        task = ana.task("Upgrade", name="up")
        task.__enter__()
        store.memory(user="ana").task(name="up").memory.remember("Inside the task")
        breaking = Breaking(place, after=after, error=Gone)
        with monkeypatch.context() as broken, suppress(Gone):
            broken.setattr(runtime.store, "commit", breaking.around(runtime.store.commit))
            broken.setattr(runtime.sessions, "append", breaking.around(runtime.sessions.append))
            task.abandon()
        assert breaking.calls < 3

        ana.end()

        assert store.memory(user="ana").task(name="up").memory.list(scopes=["task"]) == ()
        store.memory(user="ana").task("Upgrade", name="up").__enter__()


def broken_off(opened: Store, monkeypatch: pytest.MonkeyPatch) -> Task:
    """Return a task whose end wrote what it leaves and came no further."""
    begun(opened)
    task = opened.memory(user="ana").task(name="up")
    task.__enter__()
    breaking = Breaking(0, after=True, error=lambda: StoreUnavailable("here", "gone"))
    with monkeypatch.context() as broken:
        store = opened.runtime.store
        broken.setattr(store, "commit", breaking.around(store.commit))
        with pytest.raises(StoreUnavailable):
            task.complete("A dump takes three minutes")
    return task


def test_whoever_resumes_it_completes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_only() as store:
        broken_off(store, monkeypatch)
        task = store.memory(user="ana").task(name="up")

        task.__enter__()

        assert task.phase is TaskPhase.COMPLETE
        assert task.report is not None
        assert task.report.learning is not None
        assert len(task.report.promoted) == 3


def test_what_was_corrected_meanwhile_stays_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_only() as store:
        broken_off(store, monkeypatch)
        ana = store.memory(user="ana")
        ana.correct("version", "PostgreSQL 17.1")

        ended(ana)

        (version,) = ana.list(filter={"key": "version"})
        assert version.content == "PostgreSQL 17.1"


def test_what_is_told_after_the_learning_is_not_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_only() as opened:
        ana = begun(opened)
        late = ana.task(name="up")
        late.__enter__()
        task = ana.task(name="up")
        task.__enter__()
        breaking = Breaking(0, after=False, error=lambda: StoreUnavailable("here", "gone"))
        with monkeypatch.context() as broken:
            store = opened.runtime.store
            broken.setattr(store, "commit", breaking.around(store.commit))
            with pytest.raises(StoreUnavailable):
                task.complete()
        late.observe("psql", "too late", importance="critical", key="late", verified=True)

        task.complete()

        assert not ana.list(filter={"key": "late"})
        assert len(ana.list()) == 3


def memory_only() -> Store:
    made = assemble(
        ":memory:", settings=Settings(embedder="none"), inline=True, clock=ManualClock()
    )
    return Store(made)


def test_a_broken_end_is_called_again_on_the_same_task(monkeypatch: pytest.MonkeyPatch) -> None:
    made = assemble(
        ":memory:", settings=Settings(embedder="none"), inline=True, clock=ManualClock()
    )
    with Store(made) as store:
        ana = store.memory(user="ana")
        task = ana.task("Upgrade", name="up")
        task.__enter__()
        breaking = Breaking(0, after=True, error=lambda: StoreUnavailable("here", "gone"))
        with monkeypatch.context() as broken:
            broken.setattr(store.runtime.store, "commit",
                           breaking.around(store.runtime.store.commit))  # fmt: skip
            with pytest.raises(StoreUnavailable):
                task.complete("A dump takes three minutes")

        report = task.complete("This is not heard any more")

        assert report.learning is not None
        assert [memory.content for memory in ana.list()] == ["A dump takes three minutes"]
