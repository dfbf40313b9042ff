"""What is forgotten is gone everywhere it waits, and does not come back by itself."""

import pytest

from conftest import World
from principals import capture, history_of, memory_for, principal_of
from simonides import Draft, InvalidInput, InvalidScope, ScopeDenied, StoreUnavailable
from simonides.domain.errors import NotFound

SAID = "The door code is 4711"


def turn(text: str, place: int) -> Draft:
    return Draft(text, kind="episodic", session="s1", turn=place, speaker="Ana")


def test_a_forgotten_turn_does_not_come_back_with_its_transcript(world: World) -> None:
    ana = world.store.memory(user="ana")
    transcript = [turn(SAID, 0), turn("Yes", 1), turn("Yes", 2)]
    first, second, _ = ana.remember_many(transcript)
    assert first.record
    assert second.record
    ana.forget(first.record.id)
    ana.forget(second.record.id)

    again = ana.remember_many(transcript)

    assert [outcome.kind for outcome in again] == ["blocked", "blocked", "dropped"]
    assert again[0].reasons == ("tombstoned",)
    assert [memory.origin.turn for memory in ana.list()] == [2]


def test_the_words_of_a_forgotten_turn_may_be_said_in_another(world: World) -> None:
    ana = world.store.memory(user="ana")
    first = ana.remember_many([turn("Yes", 0)])[0].record
    assert first
    ana.forget(first.id)

    assert ana.remember_many([turn("Yes", 7)])[0].kind == "created"


def test_a_corrected_turn_stays_corrected_when_its_transcript_comes_again(world: World) -> None:
    ana = world.store.memory(user="ana")
    first = ana.remember_many([turn(SAID, 0)])[0].record
    assert first
    ana.correct(first.id, "The door code is 0815")

    assert len(ana.list()) == 1
    assert ana.list()[0].content == "The door code is 0815"
    assert ana.list()[0].origin.turn == 0


def test_forgetting_takes_the_copies_that_wait_with_it(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    report = capture(ana, "Be concise.")
    assert [outcome.kind for outcome in report.outcomes] == ["held"]
    store, owner = world.store.runtime.store, principal_of(ana).home
    run = world.store._driver.run
    assert len(run(store.held(owner))) == 1
    candidate = report.proposed[0]
    kept = ana.remember(candidate.content, key=candidate.key, category=candidate.category).record
    assert kept

    ana.forget(kept.id)

    assert run(store.held(owner)) == ()


def test_forgetting_overtakes_a_promotion_that_is_on_its_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana, ben = world.store.memory(user="ana"), world.store.memory(user="ben")
    original = ana.remember(SAID).record
    assert original
    store = world.store.runtime.store
    commit = store.commit

    async def cut(owner: object, *rest: object) -> object:
        if owner != principal_of(ana).home:
            raise StoreUnavailable("here", "cut between the two commits")
        return await commit(owner, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "commit", cut)
    with pytest.raises(StoreUnavailable):
        ana.promote(original.id, "org")
    ana.forget(original.id)
    monkeypatch.undo()

    world.store.deliver_outbox()

    assert world.store._driver.run(store.outbox()) == ()
    assert ben.recall("door code").hits == ()


def test_an_id_may_be_named_without_saying_that_it_is_one(world: World) -> None:
    ana = world.store.memory(user="ana")
    kept = ana.remember(SAID).record
    assert kept

    assert ana.forget(kept.id).reasons == ("count:1",)
    assert ana.get(kept.id) is None


def rows(world: World) -> int:
    store = world.store.runtime.store
    run, owners = world.store._driver.run, world.store._driver.run(store.owners())
    return sum(len(run(store.rows(owner))) + len(run(store.held(owner))) for owner in owners)


def test_everything_in_a_scope_goes_with_its_versions_and_what_waits(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    task, beside = (memory_for(world.store, user="ana", task=name) for name in ("t1", "t2"))
    ana.remember("blue", key="color")
    ana.correct("color", "green")
    ana.remember(SAID, ttl_days=1)
    capture(ana, "Be concise.")
    task.remember("Blue deploys work", key="deploys")
    beside.remember("Red deploys do not")
    world.clock.advance(days=2)

    outcome = ana.forget_many(scope="user")

    assert (outcome.kind, outcome.reasons) == ("forgotten", ("count:3", "held:1"))
    assert ana.list() == history_of(ana, "color") == ()
    assert [m.content for m in task.list()] == ["Blue deploys work"]
    assert ana.forget_many(scope="user").reasons == ("not_found",)
    assert capture(ana, "Be concise.").outcomes[0].kind == "held", "only what was stored is banned"
    assert rows(world) == 3
    assert world.store.admin(actor="root").check_audit().ok
    assert world.reopen().memory(user="ana").list() == ()


def test_what_was_forgotten_with_its_scope_is_not_learned_again(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.add("I live in Munich.")

    ana.forget_many(scope="/user/ana/")

    assert ana.add("I live in Munich.").outcomes[0].reasons == ("tombstoned",)
    assert ana.add("I live in Berlin.").outcomes[0].kind == "created", "its key is not banned"


def test_a_user_forgets_a_task_and_in_a_task(world: World) -> None:
    ana, task = (
        world.store.memory(user="ana"),
        world.store.memory(user="ana").task(name="t1").memory,
    )
    place = "/user/ana/task/t1/"
    for memory in (ana, task):
        memory.remember("blue", key="color")
        memory.remember("Deploy on Friday")
    mine = ana.list()

    assert task.forget("color").reasons == ("count:1",)
    with pytest.raises(NotFound):
        task.forget(ana.list()[0].id)
    assert [m.content for m in task.list() if m.scope.task] == ["Deploy on Friday"]
    assert ana.forget_many(scope=place).reasons == ("count:1",)
    assert [m for m in task.list() if m.scope.task] == []
    assert ana.list() == mine
    assert task.forget_many(scope="task").reasons == ("not_found",)


@pytest.mark.parametrize(
    "scope", ["org", "global", "/user/bob/", "/user/bob/task/t1/", "/user/ana/task/t2/", "user"]
)
def test_nobody_forgets_elsewhere(world: World, scope: str) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    world.store.memory(user="ana").remember(SAID)
    task = world.store.memory(user="ana").task(name="t1").memory

    with pytest.raises(ScopeDenied):
        task.forget_many(scope=scope)
    if scope not in ("user", "/user/ana/task/t2/"):
        with pytest.raises(ScopeDenied):
            world.store.memory(user="ana").forget_many(scope=scope)
    assert len(world.store.memory(user="ana").list()) == 1


def test_a_scope_that_is_none_forgets_nothing(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(SAID)

    for scope in ("", "task", "/", "/user/", "/user/*/"):
        with pytest.raises((InvalidInput, InvalidScope)):
            ana.forget_many(scope=scope)
    with pytest.raises(InvalidInput):
        ana.forget_many()
    assert len(ana.list()) == 1


def test_what_is_for_another_agent_stays_when_a_scope_is_forgotten(world: World) -> None:
    ours = world.store.memory(user="ana", agent="a")
    ours.remember(Draft("Only for a", audience=["a"]))
    ours.remember("For all")

    assert world.store.memory(user="ana", agent="b").forget_many(scope="user").reasons == (
        "count:1",
    )
    assert [m.content for m in ours.list()] == ["Only for a"]


def test_what_comes_while_a_scope_is_being_forgotten_goes_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, store = world.store.memory(user="ana"), world.store.runtime.store
    ana.remember(SAID)
    held = store.held

    async def and_then(owner: object, **rest: object) -> object:
        monkeypatch.undo()
        # Awaited: a store with a loop of its own is asked from that loop.
        await ana._memory.remember("Said at the very last")
        return await held(owner, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "held", and_then)

    assert ana.forget_many(scope="user").reasons == ("count:2",)
    assert ana.list() == ()


def test_a_write_that_is_tried_again_after_it_was_forgotten_says_so(world: World) -> None:
    ana = world.store.memory(user="ana")
    first = ana.remember(SAID, idempotency_key="k").record
    assert first
    ana.remember("Another", idempotency_key="l")
    ana.forget(first.id)
    events = world.store.admin(actor="root").check_audit().events

    for reopened in (False, True):
        store = world.reopen() if reopened else world.store
        again, other = store.memory(user="ana").remember_many(
            [Draft(SAID, idempotency_key="k"), Draft("Another", idempotency_key="l")]
        )

        assert (again.kind, again.record, again.stored) == ("forgotten", None, False)
        assert again.reasons[:2] == ("forgotten_since", "was:created")
        assert (other.kind, other.stored) == ("created", True)
    assert [m.content for m in world.store.memory(user="ana").list()] == ["Another"]
    assert world.store.admin(actor="root").check_audit().events == events


def test_a_promotion_that_is_tried_again_after_the_copy_was_forgotten_says_so(
    world: World,
) -> None:
    task, ana = (
        world.store.memory(user="ana").task(name="t1").memory,
        world.store.memory(user="ana"),
    )
    learned = task.remember("Blue deploys work").record
    assert learned
    copy = task.promote(learned.id, "user").record
    assert copy
    ana.forget(copy.id)

    again = task.promote(learned.id, "user")

    assert (again.kind, again.record) == ("forgotten", None)
    assert again.reasons[0] == "forgotten_since"
