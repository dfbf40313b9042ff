"""Which verbatim turns a refusal hides does not depend on when they came or were read."""

import asyncio
import threading
from pathlib import Path

import pytest

import simonides
from conftest import World
from simonides import Draft, Memory
from simonides.domain.value import from_us
from simonides.engine.screening import consent_matching as spoken

HOME, TRAM, LOVELY = "I live in Lisbon.", "The tram is late.", "Lisbon is lovely."


def turn(text: str, place: int, session: str = "s") -> Draft:
    return Draft(
        text, kind="episodic", category="turn", confidence=1.0, session=session, turn=place
    )


def found(memory: Memory) -> list[str]:
    return sorted(hit.record.content for hit in memory.recall("Lisbon tram", min_relevance=0))


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The turns that are read for what they state."""
    texts: list[str] = []
    examine = spoken.examine

    def noted(turn, *given, **named):
        texts.append(turn.text)
        return examine(turn, *given, **named)

    monkeypatch.setattr(spoken, "examine", noted)
    return texts


def test_what_comes_after_a_refusal_is_hidden_as_it_will_be_once_it_is_read_anew(
    world: World, ana: Memory
) -> None:
    ana.remember_many([turn(HOME, 0), turn(TRAM, 1)])
    ana.privacy.refuse("location")
    assert found(ana) == [TRAM]

    # By itself it states nothing: what it speaks of another turn tells.
    assert ana.remember_many([turn(LOVELY, 2)])[0].stored

    assert found(ana) == [TRAM]
    if world.is_durable:
        assert found(world.reopen().memory(user="ana")) == [TRAM]


def test_a_turn_without_a_place_is_hidden_too(ana: Memory) -> None:
    ana.remember_many(
        [Draft(text, kind="episodic", category="turn", confidence=1.0) for text in (HOME, TRAM)]
    )

    ana.privacy.refuse("location")

    assert found(ana) == [TRAM]
    assert [memory.content for memory in ana.list()] == [TRAM]


def test_of_a_time_before_what_tells_that_a_turn_is_refused_it_is_hidden_too(
    world: World, ana: Memory
) -> None:
    ana.remember_many([turn(LOVELY, 0), turn(TRAM, 1)])
    world.clock.advance(seconds=1)
    then = from_us(world.clock.now_us())
    world.clock.advance(seconds=1)
    ana.remember_many([turn(HOME, 2)])
    ana.privacy.refuse("location")
    assert found(ana) == [TRAM]

    past = ana.recall("Lisbon tram", known_at=then, min_relevance=0)

    assert [hit.record.content for hit in past] == [TRAM]


def test_a_turn_is_read_once_for_what_it_states(ana: Memory, read: list[str]) -> None:
    ana.remember_many([turn(HOME, 0), turn(TRAM, 1)])
    tea = ana.remember("Ana likes tea").record
    ana.privacy.refuse("location")
    found(ana)
    assert sorted(read) == [HOME, TRAM]
    assert tea is not None

    ana.forget(tea.id)
    ana.remember_many([turn("The bus is late.", 2)])
    read.clear()

    assert found(ana) == ["The bus is late.", TRAM]
    assert read == ["The bus is late."]


def test_a_repair_is_read_again_where_what_it_repairs_came_later(
    ana: Memory, read: list[str]
) -> None:
    ana.privacy.refuse("shoe_size")
    ana.remember_many([turn("No, it's Berlin.", 1), turn("Berlin is lovely.", 2)])
    assert len(found(ana)) == 2
    ana.remember_many([turn(HOME, 0)])
    read.clear()

    ana.privacy.refuse("location")

    assert found(ana) == []
    assert ana.list() == ()
    assert read == [HOME, "No, it's Berlin.", "Berlin is lovely."]


def test_what_is_refused_while_turns_are_read_is_hidden_in_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    examine = spoken.examine

    def slowly(*given, **named):
        begun.set()
        assert go_on.wait(20)
        return examine(*given, **named)

    async def main() -> list[str]:
        async with simonides.aopen(tmp_path / "m.db") as store:
            ana = store.memory(user="ana")
            many = [turn(f"The tram number {n} is late.", n + 2) for n in range(10)]
            await ana.remember_many([turn(HOME, 0), turn("My name is Rosalinda.", 1), *many])
            await ana.privacy.refuse("location")
            monkeypatch.setattr(spoken, "examine", slowly)
            recall = asyncio.create_task(ana.recall("Lisbon Rosalinda", min_relevance=0))
            await asyncio.to_thread(begun.wait, 20)
            await ana.privacy.refuse("name")
            go_on.set()
            return [hit.record.content for hit in await recall]

    contents = asyncio.run(main())

    assert contents
    assert not {HOME, "My name is Rosalinda."}.intersection(contents)
