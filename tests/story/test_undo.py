"""What was done by mistake is taken back by new states, and the past stays what it was."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import World
from principals import history_of
from simonides import Draft, Memory, Outcome, Record, UndoRefused
from simonides.domain.value import from_us

KEY = "deploy_region"


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


def stored(outcome: Outcome) -> Record:
    assert outcome.record is not None, outcome.reasons
    return outcome.record


def event_of(outcome: Outcome) -> str:
    return outcome.events[0].id


def standing(own: Memory) -> list[str]:
    return sorted(memory.content for memory in own.list())


def refusal(memory: Memory, event: str) -> str:
    with pytest.raises(UndoRefused) as caught:
        memory.undo(event)
    assert caught.value.event == event
    assert re.search(r"\(\w+\): \w", str(caught.value))
    return caught.value.reason


@pytest.mark.parametrize("how", ["corrected", "replaced"])
def test_what_was_displaced_stands_again_as_it_did(world: World, ana: Memory, how: str) -> None:
    first = stored(ana.remember("eu-west-1", key=KEY, tags=["cloud"], importance="high"))
    world.clock.advance(days=1)
    do = ana.correct if how == "corrected" else lambda key, text: ana.remember(text, key=key)
    changed = do(KEY, "us-east-1")
    mistaken_at = world.clock.now_us()
    world.clock.advance(days=1)

    undone = ana.undo(event_of(changed))

    again = stored(undone)
    assert (undone.kind, undone.reasons) == ("undone", ("was:superseded",))
    assert (again.id, again.content, again.status) == (first.id, "eu-west-1", "active")
    assert (again.tags, again.importance, again.valid_to) == (first.tags, "high", None)
    assert [hit.record.id for hit in ana.recall(KEY)] == [first.id]
    story = {m.content: (m.version, m.status, m.superseded_by) for m in history_of(ana, KEY)}
    assert story["us-east-1"] == (2, "superseded", first.id)
    then = ana.recall(KEY, known_at=from_us(mistaken_at))
    assert [hit.record.content for hit in then] == ["us-east-1"]
    (event,) = undone.events
    assert (event.type, event.details["undoes"]) == ("undone", event_of(changed))


def test_the_chain_goes_on_after_an_undo(ana: Memory) -> None:
    ana.remember("eu-west-1", key=KEY)
    ana.undo(event_of(ana.remember("us-east-1", key=KEY)))

    third = stored(ana.remember("ap-south-1", key=KEY))

    assert third.version == 3
    assert [memory.content for memory in history_of(ana, KEY)] == [
        "eu-west-1",
        "us-east-1",
        "ap-south-1",
    ]


def test_an_undone_write_is_cold_too(world: World, ana: Memory) -> None:
    ana.remember("I drink tea", key="drink")
    ana.undo(event_of(ana.correct("drink", "I drink coffee")))

    cold = world.reopen().memory(user="ana")

    assert standing(cold) == ["I drink tea"]
    assert [hit.record.content for hit in cold.recall("what do I drink?")] == ["I drink tea"]


def test_all_values_of_a_slot_stand_again(new_world: Callable[..., World], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("multi_valued_predicates: [lives_in]\n", encoding="utf-8")
    ana = new_world(policy=policy).store.memory(user="ana")

    def lives(where: str) -> Outcome:
        said = Draft(f"Ana lives in {where}", triple=("Ana", "lives_in", where))
        (outcome,) = ana.remember_many([said])
        return outcome

    lives("Rome")
    lives("Oslo")
    policy.write_text(
        "functional_predicates: [lives_in]\nmulti_valued_predicates: []\n", encoding="utf-8"
    )
    moved = lives("Lima")
    assert moved.kind == "superseded"
    assert standing(ana) == ["Ana lives in Lima"]

    ana.undo(event_of(moved))

    assert standing(ana) == ["Ana lives in Oslo", "Ana lives in Rome"]


def test_a_repetition_that_was_none_is_taken_back(world: World, ana: Memory) -> None:
    before = stored(
        ana.remember(Draft("I like strong green tea with mint", source="agent_inferred"))
    )
    world.clock.advance(days=3)
    again = ana.remember("I really like strong green tea with mint", tags=["drinks"])
    assert again.kind == "bumped"

    undone = ana.undo(event_of(again))

    after = stored(undone)
    assert (after.source, after.tags) == ("agent_inferred", ())
    assert after.confidence == pytest.approx(0.6 - 0.05 * 3 / 30)  # decayed by three days, once
    assert (after.verified_at, after.soft_expires_at) == (None, before.soft_expires_at)
    assert not ana.recall("drinks", filter={"tags": ["drinks"]})


def test_a_decision_is_taken_back_and_may_be_taken_again(ana: Memory) -> None:
    for where, source in (("Oslo", "user_stated"), ("Rome", "tool_verified")):
        said = f"Ana lives in {where}"
        ana.remember_many([Draft(said, source=source, triple=("Ana", "lives_in", where))])
    (review,) = ana.pending.list(kind="review")
    decided = ana.pending.resolve(review.id, "new")

    undone = ana.undo(event_of(decided))

    assert undone.kind == "undone"
    assert {memory.status for memory in ana.list()} == {"review"}
    assert [again.id for again in ana.pending.list(kind="review")] == [review.id]
    assert stored(ana.pending.resolve(review.id, "old")).content == "Ana lives in Oslo"


def test_each_side_of_a_decision_keeps_the_count_of_its_own_chain(ana: Memory) -> None:
    for where, source in (("Oslo", "user_stated"), ("Rome", "tool_verified")):
        said = f"Ana lives in {where}"
        ana.remember_many([Draft(said, source=source, triple=("Ana", "lives_in", where))])
    (review,) = ana.pending.list(kind="review")
    bergen = stored(ana.correct(review.a, "Ana lives in Bergen"))
    ana.correct(bergen.id, "Ana lives in Bodø")

    ana.undo(event_of(ana.pending.resolve(review.id, "old")))

    versions = {memory.content: memory.versions for memory in ana.list()}
    assert versions == {"Ana lives in Bodø": 3, "Ana lives in Rome": 1}
    assert stored(ana.correct(review.b, "Ana lives in Turin")).version == 2


def test_what_changes_while_an_undo_looks_is_noticed(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana.remember("one", key=KEY)
    event = event_of(ana.remember("two", key=KEY))
    store = world.store.runtime.store
    states = store.states

    async def meanwhile(owner: object, id: str) -> object:
        found = await states(owner, id)  # type: ignore[arg-type]
        monkeypatch.setattr(store, "states", states)
        ana.remember("three", key=KEY)
        return found

    monkeypatch.setattr(store, "states", meanwhile)

    assert refusal(ana, event) == "changed_since"
    assert standing(ana) == ["three"]


def test_one_batch_that_corrected_itself_goes_back_to_its_first_word(ana: Memory) -> None:
    _, second = ana.remember_many([Draft("one", key=KEY), Draft("two", key=KEY)])

    again = stored(ana.undo(event_of(second)))

    assert (again.content, again.status) == ("one", "active")
    assert standing(ana) == ["one"]


# -- refusals -----------------------------------------------------------------------------------


def test_nothing_is_undone_twice(ana: Memory) -> None:
    ana.remember("eu-west-1", key=KEY)
    event = event_of(ana.remember("us-east-1", key=KEY))
    undone = ana.undo(event)

    assert refusal(ana, event) == "already_undone"
    assert refusal(ana, event_of(undone)) == "not_undoable"
    assert standing(ana) == ["eu-west-1"]


def test_what_others_did_is_unknown(world: World, ana: Memory) -> None:
    ana.remember("eu-west-1", key=KEY)
    event = event_of(ana.remember("us-east-1", key=KEY))
    private = {"key": "ward", "audience": ["nurse"]}
    nurse = world.store.memory(user="ana", agent="nurse")
    nurse.remember(Draft("three", **private))
    hidden = event_of(nurse.remember(Draft("four", **private)))

    for other in (
        world.store.memory(user="bob"),
        world.store.memory(user="ana", org="acme"),
        world.store.memory(user="ana").task(name="t1").memory,
    ):
        assert refusal(other, event) == "unknown_event"
    assert refusal(ana, hidden) == "unknown_event"
    assert refusal(ana, "no such event") == "unknown_event"
    assert standing(ana) == ["us-east-1"]


def test_what_was_superseded_since_is_undone_from_the_end(ana: Memory) -> None:
    ana.remember("one", key=KEY)
    second, third = (event_of(ana.remember(text, key=KEY)) for text in ("two", "three"))

    assert refusal(ana, second) == "changed_since"
    ana.undo(third)
    ana.undo(second)

    assert standing(ana) == ["one"]


def test_a_refresh_that_was_refreshed_since_is_left(world: World, ana: Memory) -> None:
    ana.remember("I drink tea")
    first = event_of(ana.remember("I drink tea"))
    world.clock.advance(days=1)
    ana.remember("I drink tea")

    assert refusal(ana, first) == "changed_since"


def test_what_was_forgotten_has_no_event(ana: Memory) -> None:
    ana.remember("one", key=KEY)
    event = event_of(ana.remember("two", key=KEY))
    ana.forget(KEY)

    assert refusal(ana, event) == "unknown_event"


def test_what_replaced_nothing_is_not_undone(ana: Memory) -> None:
    created = ana.remember("one", key=KEY)
    touched = ana.remember(Draft("two", key=KEY, source="agent_inferred"))

    assert refusal(ana, event_of(created)) == "not_undoable"
    assert refusal(ana, event_of(touched)) == "not_undoable"


def test_what_has_expired_meanwhile_stays_gone(world: World, ana: Memory) -> None:
    ana.remember("one", key=KEY, ttl_days=1)
    event = event_of(ana.remember("two", key=KEY, ttl_days=10))
    world.clock.advance(days=2)

    assert refusal(ana, event) == "expired"
    assert standing(ana) == ["two"]


def test_nothing_stands_twice_after_an_undo(ana: Memory) -> None:
    first = stored(ana.remember("I drink tea"))
    event = event_of(ana.correct(first.id, "I drink coffee"))
    ana.remember("I drink tea")

    assert refusal(ana, event) == "place_taken"
    assert standing(ana) == ["I drink coffee", "I drink tea"]
