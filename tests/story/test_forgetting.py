"""What is forgotten is gone everywhere it waits, and does not come back by itself (LT-10, FX-3)."""

import pytest

from conftest import World
from memstrata import Draft, StoreUnavailable

SAID = "The door code is 4711"


def turn(text: str, place: int) -> Draft:
    return Draft(text, kind="episodic", session="s1", turn=place, speaker="Ana")


def test_a_forgotten_turn_does_not_come_back_with_its_transcript(world: World) -> None:
    ana = world.strata.manager(user="ana")
    transcript = [turn(SAID, 0), turn("Yes", 1), turn("Yes", 2)]
    first, second, _ = ana.remember_many(transcript)
    assert first.memory
    assert second.memory
    ana.forget(id=first.memory.id)
    ana.forget(id=second.memory.id)

    again = ana.remember_many(transcript)

    assert [outcome.kind for outcome in again] == ["blocked", "blocked", "dropped"]
    assert again[0].reasons == ("tombstoned",)
    assert [memory.origin.turn for memory in ana.list()] == [2]


def test_the_words_of_a_forgotten_turn_may_be_said_in_another(world: World) -> None:
    ana = world.strata.manager(user="ana")
    first = ana.remember_many([turn("Yes", 0)])[0].memory
    assert first
    ana.forget(id=first.id)

    assert ana.remember_many([turn("Yes", 7)])[0].kind == "created"


def test_a_corrected_turn_stays_corrected_when_its_transcript_comes_again(world: World) -> None:
    ana = world.strata.manager(user="ana")
    first = ana.remember_many([turn(SAID, 0)])[0].memory
    assert first
    ana.correct(first.id, "The door code is 0815")

    assert len(ana.list()) == 1
    assert ana.list()[0].content == "The door code is 0815"
    assert ana.list()[0].origin.turn == 0


def test_forgetting_takes_the_copies_that_wait_with_it(world: World) -> None:
    ana = world.strata.manager(user="ana", session="s1")
    report = ana.capture("Be concise.")
    assert [outcome.kind for outcome in report.outcomes] == ["held"]
    store, owner = world.strata.services.store, ana.principal.home
    run = world.strata._driver.run
    assert len(run(store.held(owner))) == 1
    candidate = report.proposed[0]
    kept = ana.remember(candidate.content, key=candidate.key, category=candidate.category).memory
    assert kept

    ana.forget(id=kept.id)

    assert run(store.held(owner)) == ()


def test_forgetting_overtakes_a_promotion_that_is_on_its_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.strata.admin(by="root").grant("ana", "org_write")
    ana, ben = world.strata.manager(user="ana"), world.strata.manager(user="ben")
    original = ana.remember(SAID).memory
    assert original
    store = world.strata.services.store
    commit = store.commit

    async def cut(owner: object, *rest: object) -> object:
        if owner != ana.principal.home:
            raise StoreUnavailable("here", "cut between the two commits")
        return await commit(owner, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "commit", cut)
    with pytest.raises(StoreUnavailable):
        ana.promote(original.id, "org")
    ana.forget(id=original.id)
    monkeypatch.undo()

    world.strata.deliver_outbox()

    assert world.strata._driver.run(store.outbox()) == ()
    assert ben.recall("door code").hits == ()
