"""What the prompt was told is not learned when it comes back; what people say again is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import World
from principals import capture, principal_of
from simonides import InvalidInput, Memory
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.event import EventType
from simonides.domain.memory import Draft, Kind
from simonides.domain.writing.decision import CaptureReport
from simonides.engine.recall import shown_ledger as showing
from simonides.engine.recall.shown_ledger import ECHO, LEDGER, TRIMMED_AFTER
from simonides.prompting import Prompting
from simonides.settings import Settings
from simonides.testing.models import ScriptedModel
from simonides.types import Scope

ANA = Scope.of_user("default", "ana")
PEANUTS = "I am allergic to peanuts"


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    ana = world.store.memory(user="ana").session("monday")
    ana.remember(PEANUTS)
    ana.remember("I love my two cats, Tom and Kit")
    ana.remember("I don't like coffee")
    yield ana
    assert world.store.admin(actor="root").check_audit().ok


def fates(report: CaptureReport) -> list[tuple[str, str]]:
    return [(outcome.kind.value, outcome.reasons[0]) for outcome in report.outcomes]


def journaled(world: World, kind: str = ECHO) -> list[Any]:
    store = world.store.runtime.store
    found = world.store._driver.run(store.journaled(ANA, kind=kind))
    return [json.loads(entry.body) for entry in found]


def said(ana: Memory) -> set[str]:
    return {memory.content for memory in ana.list()}


@pytest.mark.parametrize(
    "text",
    [
        f"{PEANUTS}.",
        "I'm allergic to PEANUTS!!",
        "I love my cats Kit and Tom, two",
        "I enjoy my 2 cats, Tom and Kit",
    ],
)
def test_what_was_shown_is_not_learned_again(ana: Memory, text: str) -> None:
    shown = ana.digest("what am I allergic to, and which cats do I love?", min_relevance=0)
    before = [(m.content, m.confidence, m.updated_at) for m in ana.list()]

    report = capture(ana, text)

    assert shown.items
    assert fates(report) == [("dropped", "echo")] * len(report.outcomes) != []
    assert [(m.content, m.confidence, m.updated_at) for m in ana.list()] == before


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I am allergic to hazelnuts.", "I am allergic to hazelnuts"),
        (f"{PEANUTS} and milk.", f"{PEANUTS} and milk"),
        ("Remember that I love my three cats, Tom and Kit", "I love my three cats, Tom and Kit"),
        ("Remember that I love my two cats, Tom and Max", "I love my two cats, Tom and Max"),
        ("I like coffee", "I like coffee"),
    ],
)
def test_news_beside_what_was_shown_is_learned(ana: Memory, text: str, content: str) -> None:
    ana.digest("what am I allergic to, which cats, which coffee do I love?", min_relevance=0)

    capture(ana, text)

    assert content in said(ana)


def test_who_says_it_in_another_session_means_it(world: World, ana: Memory) -> None:
    ana.digest("what am I allergic to?")
    tuesday = world.store.memory(user="ana").session("tuesday")

    assert fates(capture(ana, PEANUTS)) == [("dropped", "echo")]
    assert fates(capture(tuesday, PEANUTS))[0][0] != "dropped"


def test_without_sessions_it_is_an_echo_for_some_hours(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(PEANUTS)
    ana.digest("what am I allergic to?")

    world.clock.advance(seconds=5 * 3600)
    assert fates(capture(ana, PEANUTS)) == [("dropped", "echo")]
    world.clock.advance(seconds=2 * 3600)
    assert fates(capture(ana, PEANUTS))[0][0] != "dropped"


def test_an_agent_that_writes_what_it_was_shown_adds_nothing(world: World, ana: Memory) -> None:
    Prompting(ana).search("what am I allergic to?")
    agent = world.store.memory(user="ana", agent="bot").session("tuesday")

    echoed = agent.remember(Draft("The user is allergic to peanuts", source="agent_inferred"))
    meant = agent.remember(Draft("The user is allergic to peanuts", source="user_stated"))

    assert (echoed.kind, echoed.reasons) == ("dropped", ("echo",))
    assert [event.type for event in echoed.events] == [EventType.DROPPED]
    assert meant.kind == "created"


def test_who_goes_back_to_what_was_superseded_means_it(world: World) -> None:
    ana = world.store.memory(user="ana").session("monday")
    capture(ana, "I live in Berlin.")
    ana.digest("where do I live?", min_relevance=0)

    assert fates(capture(ana, "I live in Berlin.")) == [("dropped", "echo")]
    capture(ana, "I live in Munich.")
    capture(ana, "I live in Berlin.")

    (place,) = ana.list(filter={"key": "location"})
    assert place.content == "Berlin"


def test_a_correction_is_no_echo(ana: Memory) -> None:
    ana.digest("what am I allergic to?")

    outcome = ana.correct(ana.recall("peanuts")[0].record.id, PEANUTS)

    assert "echo" not in outcome.reasons


def test_a_digest_that_is_pasted_back_says_nothing(world: World, tmp_path: Path) -> None:
    model = ScriptedModel()
    core = assemble(tmp_path / "m.db", inline=True, settings=Settings(), model=model)
    with Store(core) as store:
        ana = store.memory(user="ana")
        ana.remember("I am allergic to peanuts")
        digest = ana.digest("what am I allergic to?").text
        line = digest.split("\n")[3]

        whole = capture(ana, digest)
        model.then({"items": []})
        part = store.memory(user="bob").add(f"> {line}\nI love my job.")

    assert (whole.proposed, whole.diagnostics) == ((), ("echo",))
    assert len(model.asked) == 1, "of nothing but a digest no model is asked"
    assert "peanuts" not in model.asked[0].user
    (love,) = part.proposed
    assert love.content == "I love my job"
    assert love.metadata["span"][0] == len(f"> {line}\n"), "places are those of the whole turn"


def test_a_transcript_that_is_imported_brings_nothing_back(ana: Memory) -> None:
    ana.digest("what am I allergic to?")

    def turn(place: int, text: str, source: str, session: str, at: str | None = None) -> Draft:
        return Draft(text, kind=Kind.EPISODIC, category="turn", source=source, session=session,
                     turn=place, at=at)  # fmt: skip

    outcomes = ana.remember_many(
        [
            turn(0, f"You said: {PEANUTS}.", "agent_inferred", "monday"),
            turn(1, f"{PEANUTS}.", "user_stated", "monday"),
            turn(2, f"{PEANUTS}, and I moved to Rome.", "user_stated", "monday"),
            turn(3, f"{PEANUTS}.", "user_stated", "sunday"),
            turn(4, f"{PEANUTS}.", "user_stated", "monday", at="2020-01-01T00:00:00Z"),
        ]
    )

    echoed = [outcome.reasons == ("echo",) for outcome in outcomes]
    assert echoed == [True, True, False, False, False]


def test_hits_count_once_the_caller_says_they_were_shown(ana: Memory) -> None:
    hits = ana.recall("what am I allergic to?", limit=1)
    assert fates(capture(ana, PEANUTS))[0][0] != "dropped"

    Prompting(ana).note_shown(hits)
    assert fates(capture(ana, PEANUTS)) == [("dropped", "echo")]
    assert fates(capture(ana, "I prefer chess on Sundays"))[0][0] == "created"
    Prompting(ana).note_shown("Notes of mine: the user prefers tennis on Fridays")
    assert fates(capture(ana, "I prefer tennis on Fridays")) == [("dropped", "echo")]
    for wrong in (3, [3], " "):
        with pytest.raises(InvalidInput, match="what"):
            Prompting(ana).note_shown(wrong)  # type: ignore[arg-type]


def test_the_ledger_outlives_the_process(tmp_path: Path) -> None:
    def opened() -> Store:
        return Store(assemble(tmp_path / "m.db", inline=True, settings=Settings()))

    with opened() as store:
        ana = store.memory(user="ana").session("monday")
        ana.remember(PEANUTS)
        ana.digest("what am I allergic to?")
    with opened() as store:
        report = capture(store.memory(user="ana").session("monday"), PEANUTS)

    assert fates(report) == [("dropped", "echo")]


def test_it_holds_no_words_and_goes_with_what_is_forgotten(world: World, ana: Memory) -> None:
    shown = ana.digest("what am I allergic to?", min_relevance=0)
    world.clock.advance(seconds=5)
    (entry,) = journaled(world)
    assert "peanut" not in json.dumps(entry)
    assert entry["session"] == "monday"

    ana.forget(shown.items[0].record.id)

    assert journaled(world) == []


def test_it_goes_with_its_owner(world: World, ana: Memory) -> None:
    ana.digest("what am I allergic to?")
    world.clock.advance(seconds=5)

    world.store.admin(actor="root").erase(confirm="ana", user="ana")

    assert journaled(world) == []


def test_of_anothers_memories_nothing_is_kept(world: World, ana: Memory) -> None:
    world.store.admin(actor="root").grant("boss", "read_user:ana")
    boss = world.store.memory(user="boss")

    boss.digest("allergic", scopes=["/org/default/user/ana/"], min_relevance=0)
    world.clock.advance(seconds=5)

    store = world.store.runtime.store
    owner = principal_of(boss).home.owner
    assert world.store._driver.run(store.journaled(owner, kind=ECHO)) == ()


def test_it_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "LEDGER", 4)
    monkeypatch.setattr(showing, "TRIMMED_AFTER", 8)
    ana = world.store.memory(user="ana")

    for place in range(17):
        Prompting(ana).note_shown(f"text number {place}")
        world.clock.advance(seconds=5)

    assert len(journaled(world)) == 5
    assert LEDGER > TRIMMED_AFTER > 8
