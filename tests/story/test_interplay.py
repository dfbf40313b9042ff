"""What goes wrong only between the parts: sessions beside erasure, consent, trust and tasks."""

from typing import Any

import pytest

from principals import Ending, erase, principal_of
from simonides import Memory, StoreUnavailable
from simonides.domain.conversation.task import EVENT, TaskEvent
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Origin
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.engine.forgetting.erase import Eraser
from simonides.engine.sessions.progress import SessionTurns
from simonides.engine.tasks.run import TaskRun
from simonides.prompting import Prompting

ANA = Scope.of_user("default", "ana")


@pytest.fixture
def world(new_world: Any) -> Any:
    return new_world()


@pytest.fixture
def ana(world: Any) -> Memory:
    return world.store.memory(user="ana")  # type: ignore[no-any-return]


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_what_was_read_of_a_session_before_an_erasure_is_not_written_after_it(
    world: Any, ana: Memory, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    if is_known:
        ana.remember("Ana reads on a phone")
    session = ana.session("s")
    session.add({"role": "user", "content": "I live in Zorbville."})
    take, left = SessionTurns.take, [True]

    async def erased_before(turns: SessionTurns, *given: Any, **named: Any) -> Any:
        if left and left.pop():
            await Eraser(world.store.runtime, principal_of(ana)).erase(ANA)
        return await take(turns, *given, **named)

    monkeypatch.setattr(SessionTurns, "take", erased_before)
    session.end()

    assert ana.list() == ()
    assert ana.sessions() == ()


@pytest.mark.parametrize(
    "source", [Source.EXTERNAL, Source.UNKNOWN, Source.AGENT_INFERRED, Source.TOOL_VERIFIED]
)
def test_what_others_said_is_no_correction_of_the_user_while_it_waits(
    ana: Memory, source: Source
) -> None:
    ana.remember("Berlin", key="location")
    session = ana.session("s")
    proposed = Candidate(
        content="Zorbville",
        scope=ANA,
        source=source,
        proposer=Proposer.MODEL,
        label=Label(source.trust),
        category="session_note",
        key="location",
        quote="Zorbville",
        confidence=0.9,
        origin=Origin(session="s"),
    )
    (outcome,) = session.pending.propose([proposed])
    assert outcome.reasons == ("session_only_category",)

    found = session.recall("location", limit=50)

    assert [hit.record.content for hit in found] == ["Berlin"]


def test_while_recall_is_off_a_session_is_not_searched_either(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "I live in Zorbville."})
    assert session.recall("Zorbville", layer="session").hits

    ana.privacy.pause_recall()

    found = session.recall("Zorbville", layer="session")
    assert (found.hits, found.degraded) == ((), (RECALL_OFF,))
    reply = session.tools("search").call("search_memory", {"query": "Zorbville", "layer": "l1"})
    assert "Zorbville" not in reply.text
    assert session.recall("Zorbville", layer=["l2", "l3"]).degraded == (RECALL_OFF,)


def test_what_is_refused_leaves_the_prompt_though_it_was_only_said(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Please answer in French."})
    triggers = Prompting(session).triggers("In which language?")
    shown = triggers.before_model()
    assert shown is not None
    assert "french" in shown.text

    ana.privacy.refuse(key=str(shown.items[0].record.key))

    left = triggers.before_model()
    assert left is not None
    assert "french" not in left.text


def test_a_task_under_way_writes_nothing_of_before_its_user_was_erased(
    world: Any, ana: Memory
) -> None:
    task = ana.task(
        "Find flights to Zorbville", plan=["ask Zorba"], constraints=["never Zorbair"], name="trip"
    )
    task.__enter__()
    task.note("zorbium is dear")
    task.add({"role": "user", "content": f"I said zorbcheese. {'word ' * 2_000}"})
    task.add({"role": "user", "content": f"I said zorbtalk. {'word ' * 2_000}"})

    erase(ana)
    shown = task.prompt()
    for _ in range(6):
        task.add({"role": "user", "content": f"All is well. {'word ' * 2_000}"})
    report = task.complete("Trains are quicker")

    assert "zorb" not in shown.lower()
    assert report.learning is not None
    assert [memory.content for memory in ana.list()] == ["Trains are quicker"]
    said = ana.session("task-trip").messages()
    assert any(entry.entry.details.get(EVENT) == TaskEvent.FLUSHED for entry in said)
    assert not any("zorb" in entry.entry.text.lower() for entry in said)
    tool = ana.task("Book", name="trip")
    tool.__enter__()
    assert tool.goal == "Book"


def told_of_zorb(ana: Memory) -> Any:
    task = ana.task("Find flights", name="trip")
    task.__enter__()
    task.observe("search", "Zorbair flies at noon", importance="high", key="noon", verified=True)
    task.note("Zorbville is far", importance="high")
    return task


@pytest.mark.parametrize("place", range(5))
def test_what_a_task_read_of_its_log_before_an_erasure_is_not_written_after_it(
    world: Any, ana: Memory, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Another process erases the user before any commit or append that the end makes."""
    task, runtime = told_of_zorb(ana), world.store.runtime
    world.store.memory(user="ana").task(name="trip").memory.remember("Zorbcheese")
    calls = [0]

    def erasing(call: Any) -> Any:
        async def called(*given: Any, **named: Any) -> Any:
            calls[0] += 1
            if calls[0] == place + 1:
                patched.undo()
                await Eraser(runtime, principal_of(ana)).erase(ANA)
            return await call(*given, **named)

        return called

    with monkeypatch.context() as patched:
        patched.setattr(runtime.store, "commit", erasing(runtime.store.commit))
        patched.setattr(runtime.sessions, "append", erasing(runtime.sessions.append))
        report = task.complete("Zorbair is dear")

    assert report.completed
    assert calls[0] > place
    # What is said to a call that the erasure comes into is said, if its entry came after it.
    left = ["Zorbair is dear"] if place == 0 else []
    everything = [
        *ana.list(),
        *world.store.memory(user="ana").task(name="trip").memory.list(scopes=["task"]),
    ]
    assert [memory.content for memory in everything] == left
    said = ana.session("task-trip").messages()
    assert not any("zorb" in e.entry.text.lower() for e in said[len(left) :])
    ana.task("Find flights again", name="trip").__enter__()


def test_an_end_that_broke_is_not_gone_on_with_after_an_erasure(
    world: Any, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = told_of_zorb(ana)

    async def fails(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("here", "gone")

    with monkeypatch.context() as broken:
        broken.setattr(world.store.runtime.store, "commit", fails)
        with pytest.raises(StoreUnavailable):
            task.complete("Zorbair is dear")
    erase(ana)

    report = task.complete()

    assert (report.promoted, report.learning) == ((), None)
    assert ana.list() == ()


def test_a_summary_of_the_talk_that_was_on_its_way_is_not_written_after_an_erasure(
    world: Any, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = ana.task("Talk", name="trip")
    task.__enter__()
    summarised, erased = TaskRun._summary, [False]

    async def erased_meanwhile(run: TaskRun, *given: Any) -> Any:
        made = await summarised(run, *given)
        if not erased[0]:
            erased[0] = True
            await Eraser(world.store.runtime, principal_of(ana)).erase(ANA)
        return made

    monkeypatch.setattr(TaskRun, "_summary", erased_meanwhile)
    for _ in range(5):
        task.add({"role": "user", "content": f"I said zorbcheese. {'word ' * 2_000}"})
        if erased[0]:
            break

    assert erased[0]
    assert ana.session("task-trip").messages() == ()
    assert "zorb" not in str(task.conversation().to_dict())


def test_a_task_goes_on_with_what_is_before_it_when_only_its_session_ended(
    ana: Memory,
) -> None:
    session = ana.session("s")
    task = session.task("Find flights", name="trip")
    task.__enter__()
    session.add({"role": "user", "content": "Look for the cheapest one."})
    session.end()
    again = session

    task.observe("search", "flight 7 is at noon", importance="critical")
    report = task.complete()

    assert "Find flights" not in again.messages()[0].entry.text
    assert [outcome.stored for outcome in report.promoted] == [True]


def test_a_task_that_was_over_is_not_cleaned_again_with_its_session(
    world: Any, ana: Memory
) -> None:
    first = ana.session("one")
    done = first.task("Deploy", name="deploy")
    done.__enter__()
    done.complete()
    running = ana.session("two").task("Deploy again", name="deploy")
    running.__enter__()
    scope = world.store.memory(user="ana").task(name="deploy").memory
    scope.remember("The second run waits for approval")

    first.end()

    assert [memory.content for memory in scope.list()] == ["The second run waits for approval"]


@pytest.mark.parametrize("how", ["call", "idle", "background"])
def test_a_session_of_a_task_leaves_its_user_the_same_whoever_ends_it(world: Any, how: str) -> None:
    within = world.store.memory(user="ana").task(name="trip").memory.session("s")
    session = within
    session.add({"role": "user", "content": "I live in Lisbon."})

    if how == "idle":
        world.clock.advance(days=1)
        world.store.admin(actor="root").end_due_sessions()
    elif how == "background":
        world.clock.advance(seconds=5)
        session.end()
    else:
        session.end()

    found = world.store.memory(user="ana").list()
    assert [(memory.content, memory.scope) for memory in found] == [("Lisbon", ANA)]


def test_what_the_user_refused_is_in_no_summary_of_a_session(ana: Memory) -> None:
    ana.privacy.refuse(key="location")
    with Ending(ana.session("s")) as session:
        session.add(
            {
                "role": "user",
                "content": "I live in Zorbville, quite near the old harbour and its fish market.",
            }
        )
        session.add(
            {
                "role": "user",
                "content": "My name is Ana, and I have two dogs, who are called Rex and Luna.",
            }
        )
        session.add(
            {
                "role": "user",
                "content": "We walk a good deal, for half the day where the weather lets us do so.",
            }
        )
        session.add({"role": "assistant", "content": "How is life in Zorbville?"})
        session.add(
            {
                "role": "user",
                "content": "I'm planning a trip to the Dolomites in June, with crowded huts.",
            }
        )
        session.add(
            {
                "role": "user",
                "content": "Please always answer in short sentences, for I read on my phone.",
            }
        )

    (summary,) = ana.list(filter={"category": "session_summary"})
    assert "Dolomites" in summary.content
    assert "Zorbville" not in summary.content


def test_what_was_only_said_so_far_is_forgotten_and_not_learned_later(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "I live in Zorbville."})

    outcome = session.forget("location")

    assert outcome.kind == "forgotten"
    assert not session.recall("where does the user live?").hits
    session.end()
    assert ana.list(filter={"key": "location"}) == ()


def test_what_the_user_tells_a_task_is_looked_at_soon_after(world: Any, ana: Memory) -> None:
    within = ana.session("s")
    task = within.task("Book a trip", name="trip")
    task.__enter__()
    task.add({"role": "user", "content": "I live in Lisbon."})

    world.clock.advance(seconds=5)

    assert [memory.content for memory in ana.list(filter={"key": "location"})] == ["Lisbon"]
