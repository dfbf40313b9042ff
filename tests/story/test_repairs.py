""" "No, it's Berlin": what a turn takes back that was said in the turn before."""

import json
from pathlib import Path

import pytest

from conftest import World
from principals import capture, history_of
from simonides import InvalidInput
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.settings import Settings
from simonides.testing.models import ScriptedModel
from simonides.types import CaptureReport

MUNICH, BERLIN = "I live in Munich.", "No, it's Berlin."


def captured(report: CaptureReport) -> list[tuple[str | None, str, str]]:
    pairs = zip(report.proposed, report.outcomes, strict=True)
    return [(said.key, said.content, outcome.kind.value) for said, outcome in pairs]


def test_a_repair_replaces_what_was_said_in_the_turn_before(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    capture(ana, MUNICH)

    report = capture(ana, BERLIN, before=[MUNICH])

    assert captured(report) == [("location", "Berlin", "superseded")]
    assert report.proposed[0].quote == "it's Berlin"
    (standing,) = ana.list()
    assert (standing.content, standing.source) == ("Berlin", "in_session_correction")
    assert [m.content for m in history_of(ana, "location")] == ["Munich", "Berlin"]


def test_without_what_was_said_before_it_is_about_nothing(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    capture(ana, MUNICH)

    assert captured(capture(ana, BERLIN)) == []
    assert [m.content for m in ana.list()] == ["Munich"]


@pytest.mark.parametrize(
    ("before", "said", "found"),
    [
        ([MUNICH, BERLIN], "Sorry, I meant Bremen.", ["Bremen"]),
        ([MUNICH, "The server is in Frankfurt."], BERLIN, []),
        ([MUNICH, "What is the weather like?"], BERLIN, []),
        (["Don't remember this: I live in Munich."], BERLIN, []),
        (["Forget my location."], BERLIN, []),
        ([MUNICH], "No, it's raining.", []),
        ([MUNICH], "It's Berlin.", []),
        ([MUNICH], "No, call me Ben.", ["Ben"]),
        ([MUNICH, "x", "y", "z"], BERLIN, []),
        ([], BERLIN, []),
    ],
)
def test_a_repair_is_about_the_last_fact_of_the_last_turn(
    world: World, before: list[str], said: str, found: list[str]
) -> None:
    report = capture(world.store.memory(user="ana"), said, before=before)

    assert [one.content for one in report.proposed] == found


def test_a_repair_meets_the_same_policy(world: World) -> None:
    ana = world.store.memory(user="ana")
    before = [MUNICH, "I am on the enterprise tier."]

    report = capture(ana, "No, it's pro.", before=before)

    assert captured(report) == [("declared_tier", "pro", "blocked")]
    assert report.outcomes[0].reasons == ("key_denied_execution",)
    assert ana.list() == (), "nothing is stored of what was said before"


def test_only_the_user_repairs_what_the_user_said(world: World) -> None:
    ana = world.store.memory(user="ana")

    assert capture(ana, BERLIN, role="assistant", before=[MUNICH]).proposed == ()


@pytest.mark.parametrize("before", ["I live in Munich", None, [1], ["\0"], [" "]])
def test_what_was_said_before_is_a_sequence_of_texts(world: World, before: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        capture(world.store.memory(user="ana"), BERLIN, before=before)  # type: ignore[arg-type]

    assert caught.value.field == "before"


def test_an_agent_knows_what_it_was_told_before(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    agent = world.store.agent(ana)
    agent.capture(MUNICH)

    repaired = agent.run(BERLIN, "Where do I live?")

    assert repaired.trace[0].written == ("location",)
    assert [m.content for m in ana.list()] == ["Berlin"]
    assert agent.capture("Sorry, I meant Bremen.").trace[0].written == ("location",)
    assert [m.content for m in ana.list()] == ["Bremen"]
    other = world.store.agent(world.store.memory(user="ana").session("s2"))
    assert other.capture(BERLIN).trace[0].written == ()


def over(model: ScriptedModel, tmp_path: Path) -> Store:
    return Store(assemble(tmp_path / "m.db", settings=Settings(), inline=True, model=model))


def item(value: str, quote: str) -> dict[str, list[dict[str, object]]]:
    named = {"key": "location", "value": value, "quote": quote, "confidence": 0.9}
    return {"items": [named]}


def test_a_model_is_shown_what_was_said_before_and_its_repair_wins(tmp_path: Path) -> None:
    model = ScriptedModel(item("Munich", "I live in Munich"), item("Berlin", "it's Berlin"))
    with over(model, tmp_path) as store:
        ana = store.memory(user="ana").session("s1")
        ana.remember("Munich", key="location", category="entity_fact")
        agent = store.agent(ana)
        agent.capture(MUNICH)
        agent.capture(BERLIN)

        (standing,) = ana.list()

    first, second = (json.loads(question.user) for question in model.asked)
    assert "earlier" not in first
    assert second["earlier"] == [MUNICH]
    assert second["turn"]["text"] == BERLIN
    assert (standing.content, standing.source) == ("Berlin", "in_session_correction")


def test_a_model_is_not_shown_what_the_user_asked_not_to_keep(tmp_path: Path) -> None:
    model = ScriptedModel({"items": []})
    with over(model, tmp_path) as store:
        hidden = "Don't remember this: I live in Munich."
        capture(store.memory(user="ana"), BERLIN, before=[hidden])

    assert "Munich" not in model.asked[0].user
