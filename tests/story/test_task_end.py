"""Task scopes are temporary: at the end what was worth it goes up, the rest goes."""

import pytest

from conftest import World
from principals import history_of, principal_of
from simonides import Draft, InvalidScope, Memory, ScopeDenied
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import Candidate, Proposer


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


@pytest.fixture
def task(world: World) -> Memory:
    return world.store.memory(user="ana").task(name="t1").memory


def test_a_task_ends_with_what_was_worth_it_at_its_user(
    world: World, ana: Memory, task: Memory
) -> None:
    learned = task.remember("The service needs two replicas", key="replicas").record
    task.remember("Try three replicas", key="replicas")
    latest = task.remember("It needs three replicas", key="replicas").record
    task.remember(Draft("The bot's own", audience=["bot"]))
    aside = world.store.memory(user="ana").task(name="t2").memory
    aside.remember("Another task's")
    assert learned is not None
    assert latest is not None

    end = ana.maintenance.end_task("t1", promote=[latest.id])

    assert (end.ended, end.removed) == (True, 4)
    assert [outcome.kind.value for outcome in end.promoted] == ["created"]
    (kept,) = ana.list()
    assert (kept.content, kept.origin.memory) == ("It needs three replicas", latest.id)
    bot = world.store.memory(user="ana", agent="bot").task(name="t1").memory
    assert [m.content for m in bot.list()] == [kept.content]
    assert history_of(bot, "replicas", scopes=["task"]) == ()
    assert [m.content for m in aside.list(scopes=["task"])] == ["Another task's"]
    assert end.events[0].reasons == ("task_ended", "count:4", "held:0")
    assert ana.maintenance.end_task("t1").removed == 0
    assert world.store.admin(actor="root").check_audit().ok


def test_nothing_goes_while_something_could_not_be_taken_up(ana: Memory, task: Memory) -> None:
    memory = task.remember("5000 a month", key="salary").record
    other = task.remember("It needs three replicas").record
    assert memory is not None
    assert other is not None
    ana.privacy.refuse("salary")

    end = ana.maintenance.end_task("t1", promote=[other.id, memory.id])

    assert (end.ended, end.removed) == (False, 0)
    assert [outcome.kind.value for outcome in end.promoted] == ["created", "dropped"]
    assert len(task.list(scopes=["task"])) == 1


def test_the_next_task_of_the_name_may_learn_the_same(ana: Memory, task: Memory) -> None:
    said = Candidate(
        content="Prefers metric units",
        scope=principal_of(task).home,
        source=Source.USER_STATED,
        proposer=Proposer.IMPORT,
        label=Label(Trust.USER),
        key="units",
        category="preference",
    )
    assert [outcome.stored for outcome in task.pending.propose([said])] == [True]
    ana.maintenance.end_task("t1")

    assert [outcome.kind.value for outcome in task.pending.propose([said])] == ["created"]
    task.maintenance.end_task("t1")
    assert task.list() == ()


def test_a_task_is_ended_by_itself_or_its_user(world: World, task: Memory) -> None:
    task.remember("mine")

    with pytest.raises(ScopeDenied):
        world.store.memory(user="ana").task(name="t2").memory.maintenance.end_task("t1")
    with pytest.raises(InvalidScope):
        world.store.visitor("s1").maintenance.end_task("t1")
    world.store.memory(user="bob").maintenance.end_task("t1")

    assert len(task.list()) == 1
