"""One session at a time has a task's name, and one handle ends a run."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import simonides
from conftest import World
from principals import erase, memory_for
from simonides import (
    InvalidInput,
    Memory,
    PhaseError,
    TaskUnderWay,
)
from simonides.domain.conversation.session import SessionStep
from simonides.domain.conversation.task import HELD, holder_of
from simonides.types import TaskPhase


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


@pytest.fixture
def scope(world: World) -> Memory:
    """What is in the scope of the task's name."""
    return world.store.memory(user="ana").task(name="up").memory


def within(ana: Memory, session: str) -> Memory:
    return ana.session(session)


def contents(memory: Memory) -> list[str]:
    return [each.content for each in memory.list(scopes=["task"])]


def test_a_name_under_way_in_another_session_is_refused_by_name(ana: Memory) -> None:
    within(ana, "one").task("Upgrade", name="up").__enter__()

    for session, given in (
        ("two", {"goal": "Upgrade too"}),
        ("two", {}),
    ):
        with pytest.raises(TaskUnderWay, match="'one'") as refused:
            within(ana, session).task(**given, name="up").__enter__()
        assert (refused.value.task, refused.value.session) == ("up", "one")
    with pytest.raises(TaskUnderWay) as refused:
        within(ana, "three").task("Upgrade", name="up").__enter__()
    assert refused.value.session == "one"

    within(ana, "two").task("Something else", name="other").__enter__()
    assert [each.name for each in ana.sessions()] == ["one", "two"]


def test_another_user_has_names_of_her_own(world: World, ana: Memory) -> None:
    ana.task("Upgrade", name="up").__enter__()

    for other in (world.store.memory(user="bea"), world.store.memory(user="ana", org="x")):
        other.task("Upgrade", name="up").__enter__()


@pytest.mark.parametrize("how", ["complete", "abandon", "session", "idle"])
def test_whatever_ends_a_run_gives_its_name_back(world: World, ana: Memory, how: str) -> None:
    task = within(ana, "one").task("Upgrade", name="up")
    task.__enter__()
    match how:
        case "complete":
            task.complete()
        case "abandon":
            task.abandon()
        case "session":
            ana.session("one").end()
        case "idle":
            world.clock.advance(seconds=21 * 60)
            world.store.admin(actor="root").end_due_sessions()

    within(ana, "two").task("Upgrade", name="up").__enter__()


@pytest.mark.parametrize("how", ["complete", "abandon", "session", "idle"])
def test_what_was_left_ends_without_touching_who_has_the_name_now(
    world: World, ana: Memory, scope: Memory, how: str
) -> None:
    left = within(ana, "one").task("Upgrade", name="up")
    left.__enter__()
    left.note("It takes an hour", importance="high", key="hours")
    scope.remember("Of the run that was left")
    world.clock.advance(seconds=21 * 60)
    running = within(ana, "two").task("Upgrade again", name="up")
    running.__enter__()
    assert contents(scope) == []
    scope.remember("Of the run that is under way")

    match how:
        case "complete":
            assert [each.stored for each in left.complete().promoted] == [True]
        case "abandon":
            left.abandon()
        case "session":
            ana.session("one").end()
        case "idle":
            world.store.admin(actor="root").end_due_sessions()

    assert contents(scope) == ["Of the run that is under way"]
    assert running.complete().removed == 1


def test_who_was_left_and_comes_back_is_told(world: World, ana: Memory) -> None:
    left = within(ana, "one").task("Upgrade", name="up")
    left.__enter__()
    world.clock.advance(seconds=21 * 60)
    within(ana, "two").task("Upgrade again", name="up").__enter__()

    with pytest.raises(TaskUnderWay, match="'two'"):
        left.note("Here I am")
    with pytest.raises(TaskUnderWay, match="'two'"):
        within(ana, "one").task(name="up").__enter__()

    ana.session("two").end()
    assert left.note("Here I am") == 1


def test_a_session_that_goes_on_keeps_the_name(world: World, ana: Memory) -> None:
    within(ana, "one").task("Upgrade", name="up").__enter__()
    for _ in range(5):
        world.clock.advance(seconds=15 * 60)
        ana.session("one").add({"role": "user", "content": "Wait, please."})

    with pytest.raises(TaskUnderWay):
        within(ana, "two").task("Upgrade again", name="up").__enter__()


def test_a_process_that_dies_while_it_begins_blocks_a_name_for_a_minute(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: object, **__: object) -> int:
        raise simonides.StoreUnavailable("here", "gone")

    with monkeypatch.context() as broken:
        broken.setattr(world.store.runtime.sessions, "append", dies)
        with pytest.raises(simonides.StoreUnavailable):
            within(ana, "one").task("Upgrade", name="up").__enter__()

    two = within(ana, "two")
    with pytest.raises(TaskUnderWay):
        two.task("Upgrade", name="up").__enter__()
    world.clock.advance(seconds=61)
    two.task("Upgrade", name="up").__enter__()


def test_who_comes_back_while_another_takes_its_name_over_keeps_it(
    world: World, ana: Memory, scope: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other has found that the session was left; before it cleans, it was not any more."""
    one = within(ana, "one").task("Upgrade", name="up")
    one.__enter__()
    world.clock.advance(seconds=21 * 60)
    store, first = world.store.runtime.store, [True]
    held = store.held

    async def meanwhile(*given: Any, **named: Any) -> Any:
        if first and first.pop():
            await one._task.note("I am back")
            await scope._memory.remember("Of the run that goes on")
        return await held(*given, **named)

    with monkeypatch.context() as slow:
        slow.setattr(store, "held", meanwhile)
        with pytest.raises(TaskUnderWay, match="'one'"):
            within(ana, "two").task("Upgrade too", name="up").__enter__()

    assert not first
    assert contents(scope) == ["Of the run that goes on"]
    assert one.note("Still mine") == 2


def test_who_begins_anew_after_it_died_has_its_minute_again(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, times = world.store.runtime.sessions, [0]
    append, theirs = sessions.append, within(ana, "two")._memory

    async def dies_once(*given: Any, **named: Any) -> int:
        times[0] += 1
        if times[0] == 1:
            raise simonides.StoreUnavailable("here", "gone")
        with pytest.raises(TaskUnderWay, match="'one'"):
            await theirs.task("Upgrade too", name="up").__aenter__()
        return await append(*given, **named)

    with monkeypatch.context() as broken:
        broken.setattr(sessions, "append", dies_once)
        with pytest.raises(simonides.StoreUnavailable):
            within(ana, "one").task("Upgrade", name="up").__enter__()
        world.clock.advance(seconds=61)
        one = within(ana, "one").task("Upgrade", name="up")
        one.__enter__()

    assert times == [2]
    assert one.note("Mine") == 1


def taken_away(ana: Memory, how: str) -> None:
    """End the session of a run, or erase its user, under its feet."""
    if how == "session":
        ana.session("one").end()
    else:
        erase(ana)


@pytest.mark.parametrize("how", ["session", "erase"])
def test_who_goes_on_after_its_session_ended_is_told_and_asks_again(ana: Memory, how: str) -> None:
    one = within(ana, "one").task("Upgrade", name="up")
    one.__enter__()
    taken_away(ana, how)
    two = within(ana, "two").task("Upgrade again", name="up")
    two.__enter__()

    for call in (
        one.note,
        one.note,
        lambda said: one.add({"role": "user", "content": said}).kept[0],
    ):
        with pytest.raises(TaskUnderWay, match="'two'"):
            call("Still here")
    assert two.note("Mine") == 1

    two.complete()
    one.note("Now it is mine")
    with pytest.raises(TaskUnderWay, match="'one'"):
        within(ana, "two").task("Upgrade once more", name="up").__enter__()


@pytest.mark.parametrize("how", ["session", "erase"])
def test_who_goes_on_after_its_session_ended_has_the_name_again(
    world: World, ana: Memory, how: str
) -> None:
    one = within(ana, "one").task("Upgrade", name="up")
    one.__enter__()
    taken_away(ana, how)

    one.note("Still here")

    world.clock.advance(seconds=120)
    with pytest.raises(TaskUnderWay, match="'one'"):
        within(ana, "two").task("Upgrade again", name="up").__enter__()
    one.note("Nobody else")


def test_what_began_to_complete_is_completed_without_its_name(
    world: World, ana: Memory, scope: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: object, **__: object) -> int:
        raise simonides.StoreUnavailable("here", "gone")

    one = within(ana, "one").task("Upgrade", name="up")
    one.__enter__()
    with monkeypatch.context() as broken:
        broken.setattr(world.store.runtime.store, "commit", dies)
        with pytest.raises(simonides.StoreUnavailable):
            one.complete("A dump takes three minutes")
    world.clock.advance(seconds=21 * 60)
    within(ana, "two").task("Upgrade again", name="up").__enter__()
    scope.remember("Of the run that is under way")

    resumed = within(ana, "one").task(name="up")
    resumed.__enter__()

    assert resumed.phase is TaskPhase.COMPLETE
    assert [each.content for each in ana.list(scopes=["user"])] == ["A dump takes three minutes"]
    assert contents(scope) == ["Of the run that is under way"]


def test_a_note_of_a_run_in_good_order_is_one_write_and_no_read(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, calls = world.store.runtime, list[str]()
    one = within(ana, "one").task("Upgrade", name="up")
    one.__enter__()

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def counting(*given: Any, **named: Any) -> Any:
            calls.append(name)
            return await call(*given, **named)

        return counting

    for store, names in (
        (runtime.store, ("commit", "heads", "session_steps", "snapshot")),
        (runtime.sessions, ("append", "entries", "sessions")),
    ):
        for name in names:
            monkeypatch.setattr(store, name, counted(name, getattr(store, name)))
    one.note("Blue-green")
    ana.session("one").add({"role": "user", "content": "Go on"})
    calls.clear()
    one.note("Green")

    assert calls == ["append"]


def test_where_a_task_of_no_session_is_resumed_is_said(world: World, ana: Memory) -> None:
    ana.task("Upgrade", name="up").__enter__()

    for given in ({"goal": "Upgrade too"}, {}):
        with pytest.raises(TaskUnderWay, match="by a memory without a session") as refused:
            within(ana, "two").task(**given, name="up").__enter__()
        assert refused.value.session == "task-up"
    within(ana, "two").task("Something else", name="other").__enter__()
    with pytest.raises(TaskUnderWay) as refused:
        ana.task("Something else", name="other").__enter__()
    assert "without" not in str(refused.value)


def test_of_two_sessions_that_begin_a_name_at_once_one_gets_it(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, first = world.store.runtime.store, [True]
    commit, theirs = store.commit, within(ana, "two")._memory

    async def late(*given: Any, **named: Any) -> Any:
        if first and first.pop():
            await theirs.task("Theirs", name="up").__aenter__()
        return await commit(*given, **named)

    monkeypatch.setattr(store, "commit", late)
    with pytest.raises(TaskUnderWay, match="'two'"):
        within(ana, "one").task("Mine", name="up").__enter__()

    monkeypatch.undo()
    assert [each.name for each in ana.sessions()] == ["two"]


def test_an_end_looks_whose_the_scope_is_under_the_turn(
    world: World, ana: Memory, scope: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a session has read that a task is left open; before it cleans, it is not."""
    one = within(ana, "one").task("Upgrade", name="up")
    one.__enter__()
    store, first = world.store.runtime.store, [True]
    held, theirs = store.held, within(ana, "two")._memory

    async def meanwhile(*given: Any, **named: Any) -> Any:
        row = await store.session_steps(one_home, session=" task/up")
        if first and row and holder_of(row[0], "") == "one" and row[0].step == HELD:
            first.pop()
            await one._task.abandon()
            await theirs.task("Upgrade again", name="up").__aenter__()
            await scope._memory.remember("Of the second run")
        return await held(*given, **named)

    one_home = simonides.types.Scope.of_user("default", "ana")
    monkeypatch.setattr(store, "held", meanwhile)
    ana.session("one").end()

    assert not first
    assert contents(scope) == ["Of the second run"]


def test_an_erasure_frees_the_names(ana: Memory) -> None:
    within(ana, "one").task("Upgrade", name="up").__enter__()

    erase(ana)

    within(ana, "two").task("Upgrade", name="up").__enter__()


def test_a_row_that_is_damaged_is_told() -> None:
    with pytest.raises(simonides.StoreCorrupt, match="the lock of a task"):
        holder_of(SessionStep(" task/up", HELD, 0, b"[]"), "here")


@pytest.mark.parametrize("before", ["complete", "abandon"])
@pytest.mark.parametrize("after", ["complete", "abandon"])
@pytest.mark.parametrize("session", [None, "thread"])
def test_of_two_handles_one_ends_the_task(
    world: World, session: str | None, before: str, after: str
) -> None:
    ana = memory_for(world.store, user="ana", session=session)
    one = ana.task("Upgrade", name="up")
    one.__enter__()
    one.observe("psql", "PostgreSQL 16.4", importance="high", key="version", verified=True)
    two = ana.task(name="up")
    two.__enter__()
    _ended(one, before, "A dump takes three minutes")
    kept = [each.id for each in ana.list()]
    inside = world.store.memory(user="ana").task(name="up").memory
    third = ana.task("Upgrade again", name="up")
    third.__enter__()
    inside.remember("Of the next run")

    with pytest.raises(PhaseError) as refused:
        _ended(two, after, "A dump takes an hour")

    assert (refused.value.call, refused.value.phase, refused.value.legal) == (after, "complete", ())
    assert two.phase is TaskPhase.COMPLETE
    with pytest.raises(PhaseError):
        two.note("late")
    assert [each.id for each in ana.list(scopes=["user"])] == kept
    assert contents(inside) == ["Of the next run"]
    assert third.complete().removed == 1


def _ended(task: simonides.Task, how: str, learning: str) -> None:
    if how == "complete":
        task.complete(learning)
    else:
        task.abandon()


def test_calls_at_once_end_a_task_once(tmp_path: Any) -> None:
    """Twice each on two handles of one task, all at the same time."""

    async def work() -> tuple[list[Any], list[str]]:
        async with simonides.aopen(tmp_path / "m.db") as store:
            ana = store.memory(user="ana")
            handles = [ana.task("Upgrade", name="up") for _ in range(2)]
            for task in handles:
                await task.__aenter__()
            calls: list[Callable[[str], Any]] = [task.complete for task in handles for _ in "ab"]
            said = [call(f"Learned by call {n}") for n, call in enumerate(calls)]
            came = await asyncio.gather(*said, return_exceptions=True)
            return came, [each.content for each in await ana.list()]

    came, kept = asyncio.run(work())

    assert sorted(type(each).__name__ for each in came) == ["PhaseError"] * 3 + ["TaskReport"]
    assert len(kept) == 1
    assert kept[0].startswith("Learned by call ")


def test_an_end_that_got_no_answer_is_not_taken_for_anothers(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = world.store.runtime.sessions
    append, answers = sessions.append, [False]

    async def unanswered(*given: Any, **named: Any) -> int:
        number = await append(*given, **named)
        if answers and not answers.pop():
            raise simonides.StoreUnavailable("here", "gone")
        return number

    for end in ("complete", "abandon"):
        task = ana.task("Upgrade", name="up")
        task.__enter__()
        answers[:] = [False]
        with monkeypatch.context() as broken:
            broken.setattr(sessions, "append", unanswered)
            with pytest.raises(simonides.StoreUnavailable):
                _ended(task, end, "A dump takes three minutes")
            _ended(task, end, "This is not heard any more")
        assert task.report is not None

    assert [each.content for each in ana.list()] == ["A dump takes three minutes"]
    with pytest.raises(InvalidInput, match="no task of this name"):
        ana.task(name="up").__enter__()
